"""Make zip archives in memory, and read what was collected from them."""

import io
import zipfile

from tests.grading.sample_class import LESSONS


def zipped(*entries, method=zipfile.ZIP_DEFLATED):
    """Return a zip archive of pairs of a name, or what zipfile takes for one, and a content.

    Its bytes do not depend on the time.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in entries:
            info = zipfile.ZipInfo(name) if isinstance(name, str) else name
            archive.writestr(info, content, compress_type=method)
    return buffer.getvalue()


def submitted(course):
    """Return what was collected of the first lesson, by path below the folder of submissions."""
    top = course.submission(LESSONS[0], "x").parent.parent
    files = (path for path in sorted(top.rglob("*")) if path.is_file())
    return {path.relative_to(top).as_posix(): path.read_bytes() for path in files}
