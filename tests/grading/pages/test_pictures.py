"""Pictures that would take a browser too long are left out of feedback and formgrader, and said so."""

import base64
import io
import struct
import zlib

import pytest
from bs4 import BeautifulSoup
from nbconvert.exporters import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image

from attention_lib.grading import limits
from attention_lib.grading.pages.feedback import FeedbackExporter
from tests.grading.sample_class import ROOT, Course

CONFIG = Course(ROOT).nbgrader().config


def saved(width, height, kind="PNG", frames=1, **options):
    """Save a picture of one color, or an animation of some."""
    file = io.BytesIO()
    pictures = [Image.new("RGB", (width, height), (color, 0, 0)) for color in range(frames)]
    if kind == "JPEG":
        pictures[0].save(file, kind, **options)
    else:
        more = {"save_all": True, "append_images": pictures[1:]} if frames > 1 else {}
        pictures[0].save(file, kind, **more, **options)
    return base64.b64encode(file.getvalue()).decode()


def header_of_png(width, height):
    """Write a PNG that only says how large it is."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    data = b"IDAT" + zlib.compress(b"")
    content = b"\x89PNG\r\n\x1a\n"
    for chunk in (header, data, b"IEND"):
        content += struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return base64.b64encode(content).decode()


SMALL = saved(300, 200)
WAYS = {
    "output": lambda kind, data: new_code_cell("", outputs=[new_output("display_data", {kind: data})]),
    "HTML": lambda kind, data: new_code_cell(
        "",
        outputs=[
            new_output(
                "display_data", {"text/html": f"<img alt='a > b' src=data:{kind};base64,{data}>"}
            )
        ],
    ),
    "Markdown": lambda kind, data: new_markdown_cell(f"![a](data:{kind};base64,{data})"),
    "attachment": lambda kind, data: new_markdown_cell(
        "![a](attachment:p)", attachments={"p": {kind: data}}
    ),
}  # fmt: skip


@pytest.fixture(params=["formgrader", "feedback"])
def show(request):
    """Return the pictures and the text of a page that shows some cells."""
    if request.param == "formgrader":
        exporter = HTMLExporter(config=CONFIG, template_name="classic")
    else:
        exporter = FeedbackExporter(config=CONFIG)

    def pictures_and_text(*cells):
        for cell in cells:
            cell.metadata["feedback_page"] = {}
        book = new_notebook(cells=list(cells))
        about = {"feedback_page": [], "nbgrader": {"score": 1, "max_score": 5, "late_penalty": 0}}
        page = BeautifulSoup(exporter.from_notebook_node(book, about)[0], "html.parser").body
        return page.select("img"), " ".join(page.text.split())

    return pictures_and_text


@pytest.mark.parametrize("way", WAYS)
def test_picture_is_shown_and_one_that_is_too_large_is_a_sentence(show, way):
    (picture,), text = show(WAYS[way]("image/png", SMALL))
    assert picture["src"] == f"data:image/png;base64,{SMALL}"
    assert "left out" not in text
    pictures, text = show(WAYS[way]("image/png", header_of_png(5_000, 4_001)))
    assert pictures == []
    assert "[A picture is left out. It has more than 20 megapixels.]" in text


@pytest.mark.parametrize("way", ["output", "HTML", "attachment"])
@pytest.mark.parametrize(
    "data",
    [
        header_of_png(22_000, 22_000),
        header_of_png(2**31 - 1, 2**31 - 1),
        saved(4_500, 4_500, "JPEG"),
        saved(300, 200, "WEBP"),  # which browsers recognize under any type
        saved(300, 200, "BMP"),
    ],
    ids=["huge PNG", "largest PNG", "JPEG", "WebP", "BMP"],
)
def test_picture_is_judged_by_its_content(show, way, data):
    pictures, text = show(WAYS[way]("image/jpeg", data))
    assert pictures == []
    assert "[A picture is left out. It " in text


def test_pictures_of_a_page_have_a_limit_together(show, monkeypatch):
    monkeypatch.setattr(limits, "PAGE_PIXELS", 250_000)
    ways = [way("image/png", SMALL) for way in 2 * list(WAYS.values())]
    pictures, text = show(*ways)
    assert len(pictures) == 4
    assert text.count("more pixels than a page shows") == 4


@pytest.mark.parametrize(
    "data",
    [
        saved(300, 200, "GIF", 50),
        saved(300, 200, "PNG", 50),
        saved(900, 900, "JPEG", progressive=1),
    ],
    ids=["GIF", "animated PNG", "progressive JPEG"],
)
def test_every_frame_of_a_picture_counts(show, data, monkeypatch):
    monkeypatch.setattr(limits, "PAGE_PIXELS", 2_500_000)
    cell = WAYS["HTML"]("image/gif", data)
    assert show(cell)[0] == []
    monkeypatch.setattr(limits, "PAGE_PIXELS", 20_000_000)
    assert len(show(cell)[0]) == 1


@pytest.mark.parametrize(
    "address",
    [
        "data&#58;image/png;base64,{}",
        "data:image/png;base64,%69{}",
        "data:image/png;base64,\n{}",
        "data:image/png;charset=x;base64,{}",
        "DATA:image/png;base64,{}",
    ],
)
def test_picture_whose_address_is_written_otherwise_is_not_shown(show, address):
    data = header_of_png(22_000, 22_000)
    data = data[1:] if "%" in address else data  # which begins with an i
    html = f"<img src='{address.format(data)}'>"
    cell = new_code_cell("", outputs=[new_output("display_data", {"text/html": html})])
    assert [picture for picture in show(cell)[0] if picture.get("src")] == []


SVG = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><rect width='9' height='9'/></svg>"


@pytest.mark.parametrize("way", WAYS)
def test_drawing_that_may_repeat_itself_is_not_shown(show, way):
    data = SVG if way == "output" else base64.b64encode(SVG.encode()).decode()
    pictures, text = show(WAYS[way]("image/svg+xml", data))
    assert not [picture for picture in pictures if picture.get("src")]
    assert way != "output" or "It is not a PNG, JPEG or GIF" in text


def test_address_in_a_text_stays_a_text(show):
    address = f"data:image/png;base64,{SMALL}"
    pictures, text = show(new_markdown_cell(f"I tried `{address}`."))
    assert pictures == []
    assert address in text
