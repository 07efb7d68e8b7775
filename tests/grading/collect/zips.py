"""Make zip archives in memory."""

import io
import zipfile


def zipped(*entries, method=zipfile.ZIP_DEFLATED):
    """Return a zip archive of pairs of a name, or what zipfile takes for one, and a content."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return buffer.getvalue()
