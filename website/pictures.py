"""Move the images of a page from data URIs into files, as lossless WebP."""

from __future__ import annotations

import base64
import hashlib
import io
import re
from pathlib import Path

from nbformat import NotebookNode
from PIL import Image

DATA_URI = re.compile(r'src="data:image/png;base64,([^"]+)"')


def move_pictures(page: NotebookNode, folder: Path, address: str) -> set[str]:
    """Write the images of all HTML outputs into `folder`, and refer to them below `address`.

    Returns
    -------
    set of str
        The names of the files. A file is named after its content, so equal images share one.
    """
    names: set[str] = set()

    def write(match: re.Match[str]) -> str:
        name = _write_webp(base64.b64decode(match[1]), folder)
        names.add(name)
        return f'src="{address}/{name}"'

    for cell in page.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "text/html" in data:
                data["text/html"] = DATA_URI.sub(write, data["text/html"])
    return names


def _write_webp(png: bytes, folder: Path) -> str:
    """Write an image unless it is there, and return its file's name."""
    name = f"{hashlib.sha256(png).hexdigest()[:16]}.webp"
    path = folder / name
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        Image.open(io.BytesIO(png)).convert("RGB").save(path, lossless=True, method=4)
    return name
