"""Shows pictures of a few kilobytes and hundreds of millions of pixels, in each way that there is.

The answers are right: it deserves full marks. Its page is read in a browser, which would draw them for
minutes.
"""

LESSON = "01_softmax"
DESERVES = "full"
ABOVE = """
import base64, struct, zlib
from IPython.display import HTML, Markdown, display

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

def png(width, height):
    pack = zlib.compressobj(9)
    row = bytes(1 + width // 8)
    rows = b"".join(pack.compress(row * 100) for _ in range(height // 100)) + pack.flush()
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return (b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows)
            + chunk(b"IEND", b""))

huge = base64.b64encode(png(22_000, 22_000)).decode()
display({"image/png": huge}, raw=True)
display({"image/jpeg": huge}, raw=True)
display(HTML(f"<img src='data:image/gif;base64,{huge}' width=99999999 height=99999999>"))
display(Markdown(f"![x](data:image/png;base64,{huge})"))
"""
TOLD = ("[A picture is left out. It has more than 20 megapixels.]",)
