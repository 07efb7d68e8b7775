"""Make zip archives in memory."""

import io
import zipfile


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
