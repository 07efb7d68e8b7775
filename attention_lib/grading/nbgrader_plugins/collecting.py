"""nbgrader's collect, which brings files from the exchange, and nothing that a link leads to."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nbgrader.exchange.default import ExchangeCollect

from attention_lib.grading.intake.folder import NotTaken, read_file, walk
from attention_lib.grading.intake.submission import MOST_ENTRIES, MOST_FOLDERS_DEEP, NOTEBOOK_BYTES
from attention_lib.grading.intake.timestamps import TIMESTAMP, read_name


class CollectFiles(ExchangeCollect):
    """Copy what students put into the exchange, where they may still be at work on it.

    The instructor copies it, with the instructor's rights: a link to the solution would arrive
    as the solution. The time in timestamp.txt is the one that the exchange recorded.
    """

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        with TemporaryDirectory() as folder:
            self._copy_files(Path(src), Path(folder, "copy"))
            record = read_name(Path(src), self.coursedir.assignment_id)
            if record:
                Path(folder, "copy", TIMESTAMP).write_text(f"{record.time.isoformat(' ')} UTC\n")
            super().do_copy(str(Path(folder, "copy")), dest, log)

    def _copy_files(self, src: Path, dest: Path) -> None:
        dest.mkdir()
        for folder, path, reason in walk(src, src.parent, MOST_ENTRIES, MOST_FOLDERS_DEEP):
            try:
                if reason:
                    raise reason
                content = read_file(folder, path.name, NOTEBOOK_BYTES)
            except NotTaken as why:
                self.log.warning("Left out of %s as %s: %r", src.name, why, str(path))
                continue
            (dest / path).parent.mkdir(parents=True, exist_ok=True)
            (dest / path).write_bytes(content)
