"""Hides scripts in attachments, in the notebook's title and in the metadata of cells and outputs.

The answers are right: it deserves full marks, and no page contains its scripts.
"""

import base64

from nbformat.v4 import new_markdown_cell

LESSON = "01_softmax"
DESERVES = "full"


def change(notebook):
    script = "</title></script><script>stolen()</script>"
    picture = base64.b64encode(b"<svg onload='stolen()'><script>stolen()</script></svg>").decode()
    bundles = {
        "x.svg": {"image/svg+xml": picture},
        "x.png": {"image/png": "x' onerror='stolen()'", "text/html": script},
        "x' onerror='stolen()": {"image/png": picture},
    }
    text = "![x](attachment:x.svg) ![x](attachment:x.png) ![x](attachment:x' onerror='stolen())"
    notebook.cells.append(new_markdown_cell(text, attachments=bundles))
    notebook.metadata.update(title=script, authors=[{"name": script}], widgets={script: script})
    notebook.metadata.celltoolbar = notebook.metadata.kernelspec.display_name = script
    for cell in notebook.cells:
        cell.metadata.update(tags=[script, 'x" onload="stolen()'], name=script, collapsed=script)
