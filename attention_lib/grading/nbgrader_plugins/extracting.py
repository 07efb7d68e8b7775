"""Unpack downloads for `nbgrader zip_collect`, as bounded as `make collect` does."""

from __future__ import annotations

from pathlib import Path

from nbgrader.plugins import ExtractorPlugin

from attention_lib.grading.collect.archives import NotCollected
from attention_lib.grading.collect.downloads import Download, find_downloads, not_collected
from attention_lib.grading.intake.folder import NotTaken


class ExtractDownloads(ExtractorPlugin):
    """Writes one notebook a student, in a folder that has the name of the download.

    nbgrader's own plugin unpacks whatever is in an archive, and the names in it then say whose it
    is. A student who has handed in already is left out, unless --force says to replace the work:
    zip_collect would end there.
    """

    def extract(self, archive_path: str, extracted_path: str) -> None:
        coursedir = self.parent.coursedir
        lesson = coursedir.assignment_id
        try:
            downloads, refused = find_downloads(Path(archive_path), lesson)
        except (NotCollected, NotTaken) as why:
            downloads, refused = [], [f"Nothing is collected: {why}."]
        for download in downloads:
            folder = coursedir.format_path(coursedir.submitted_directory, download.student, lesson)
            try:
                if Path(folder).exists() and not (self.force or self.parent.force):
                    raise NotCollected("the student has handed in already; --force replaces it")
                self._write(download, lesson, Path(extracted_path))
            except NotCollected as why:
                refused.append(not_collected(download.path.name, str(why)))
            except Exception as problem:  # whatever it is, the other downloads are collected
                refused.append(not_collected(download.path.name, f"it is unreadable ({problem!r})"))
        for sentence in refused:
            self.log.warning("%s", sentence)

    def _write(self, download: Download, lesson: str, extracted: Path) -> None:
        work = download.read(lesson)
        folder = extracted / download.student
        folder.mkdir()
        (folder / f"{lesson}.ipynb").write_bytes(work.notebook)
        self.log.info("Extracted: %s", download.path.name)
