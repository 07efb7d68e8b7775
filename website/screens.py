"""Draw the README's pictures into docs/pictures, of what the course shows now: `python -m website.screens`.

A picture's file holds the words that it shows, so that tests can compare them with what is shown now.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from nbclient import NotebookClient
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook
from PIL import Image, ImageChops, ImageOps
from PIL.PngImagePlugin import PngInfo

from attention_lib.commands import SEED_VARIABLE
from attention_lib.grading import demo
from attention_lib.grading.classroom.course import CONFIG, Course
from attention_lib.model import STORED
from website.execution import ROOT

FOLDER = ROOT / "docs" / "pictures"
KEY = "Description"  # of the words in a picture's file
WIDTH, TALLEST, SCALE, EDGE = 880, 2000, 2, "#c8c8c8"  # the first two in CSS pixels
LOOK = """<style>
body { padding: 0 14px 0 0 !important; --jp-content-font-size1: 15px; --jp-code-font-size: 14px }
.jp-InputPrompt, .jp-OutputPrompt { display: none }
</style>"""
WRONG = '''\
def softmax(scores, axis=-1):
    """Turn scores of any shape into weights of the same shape that sum to 1 along axis."""
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum()'''
STORY = "Once upon a time there was a little girl who"
FAULTS = ["right", "nothing rotated", "keys not rotated", "no 1/√d"]
SETUP = """\
from attention_lib import plots
from attention_lib.model import _Continuation

losses = {fault: loss for fault, (loss, _) in FAULTS.items()}
texts = {fault: text for fault, (_, text) in FAULTS.items()}


def tell(temperature, p):
    return _Continuation(STORY, SAID, "")"""


def notebook_pages() -> dict[str, str]:
    """Return the notebooks that are drawn, as HTML."""
    return {"check": _check(), "model": _model()}


def _check() -> str:
    """Return the notebook of a learner who sums over the whole array."""
    setup = "import numpy as np\nfrom attention_lib import check"
    return _notebook(setup, WRONG, 'check("softmax", softmax)')


def _model() -> str:
    """Return a notebook with stored results of lesson 09: what the model says, right and wrong."""
    stored = json.loads(STORED.read_text("utf-8"))
    story, faults = stored["a story at T = 1.5, p = 0.5"], stored["broken models"]
    assert story.startswith(STORY)
    names = {
        "STORY": STORY,
        "SAID": story.removeprefix(STORY),
        "FAULTS": {fault: faults[fault] for fault in FAULTS},
    }
    return _notebook(
        "\n".join([*(f"{name} = {value!r}" for name, value in names.items()), SETUP]),
        "tell(temperature=1.5, p=0.5)  # with your model_scores, draw_word and generate",
        "# What it says with one mistake in its attention\n"
        'plots.losses_by_fault(losses, texts, "right")',
    )


def _notebook(setup: str, *shown: str) -> str:
    """Run cells, and return all but the first as JupyterLab shows them."""
    notebook = new_notebook(cells=[new_code_cell(source) for source in (setup, *shown)])
    NotebookClient(notebook, kernel_name="python3", allow_errors=True).execute()
    assert notebook.cells.pop(0).outputs == []
    page, _ = HTMLExporter(template_name="lab").from_notebook_node(notebook)
    return page.replace("</head>", f"{LOOK}</head>")


def class_pages(root: Path) -> dict[str, str]:
    """Return what is drawn of the pages that `make demo` has made in a course's folder.

    It is the summary of a feedback page, and of the report what is said of one exercise.
    """
    folder = root / f"classroom-{demo.NAME}"
    feedback = folder / "feedback" / "cem" / demo.LESSON / f"{demo.LESSON}.html"
    report = folder / "reports" / f"{demo.LESSON}.html"
    exercises = re.split("(?=<h2>)", report.read_text("utf-8"))
    return {
        "feedback": feedback.read_text("utf-8").partition("</table>")[0] + "</table>",
        "report": exercises[0]
        + exercises[1].partition("<details")[0]  # of each exercise, its bar
        + next(one for one in exercises if one.startswith("<h2>softmax")),
    }


def _graded_class() -> dict[str, str]:
    with tempfile.TemporaryDirectory() as name:
        lesson = Course(Path(name)).written(demo.LESSON)
        lesson.parent.mkdir()
        shutil.copy(ROOT / CONFIG, name)
        shutil.copy(Course(ROOT).written(demo.LESSON), lesson)
        changed = {"DISPLAY": "", "WAYLAND_DISPLAY": "", SEED_VARIABLE: "0"}
        command = [sys.executable, "-m", demo.__name__]
        _run(command, cwd=name, env=os.environ | changed)
        return class_pages(Path(name))


def words(page: str) -> str:
    """Return what a page says, times left out."""
    body = re.sub(r"<(style|script)\b.*?</\1>", " ", page.partition("<body")[2], flags=re.DOTALL)
    text = re.sub(r'<img\b[^>]*\balt="([^"]*)"[^>]*>', r" \1 ", f"<body{body}")
    text = html.unescape(re.sub("<[^>]*>", " ", text))
    return " ".join(re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", text).split())


def words_in(picture: str) -> str:
    """Return the words that a picture's file says it shows, or nothing if there is no file."""
    file = FOLDER / f"{picture}.png"
    if not file.is_file():
        return ""
    with Image.open(file) as image:
        return str(image.info[KEY])


def draw_changed() -> None:
    """Draw each picture whose words have changed, or say why it cannot be drawn here."""
    for make in (notebook_pages, _graded_class):
        try:
            for name, page in make().items():
                if words(page) != words_in(name):
                    _draw(page, FOLDER / f"{name}.png")
        except (OSError, subprocess.CalledProcessError) as problem:  # no browser, or no sandbox
            said = getattr(problem, "stderr", "") or problem
            print(f"Pictures in docs/pictures stay as they are: {said}", file=sys.stderr)


def _draw(page: str, file: Path) -> None:
    """Let Chromium draw a page, and cut off what is empty below."""
    with tempfile.TemporaryDirectory() as name:
        source, shot = Path(name, "page.html"), Path(name, "shot.png")
        source.write_text(page, "utf-8")
        options = [
            "--headless",
            "--hide-scrollbars",
            f"--force-device-scale-factor={SCALE}",
            f"--window-size={WIDTH},{TALLEST}",
            f"--screenshot={shot}",
            *([] if os.name != "posix" or os.geteuid() else ["--no-sandbox"]),
        ]
        _run(["chromium", *options, source.as_uri()])
        image = Image.open(shot).convert("RGB")
    ground = Image.new("RGB", image.size, image.getpixel((0, image.height - 1)))
    _, top, _, bottom = ImageChops.difference(image, ground).getbbox()
    image = image.crop((0, max(top - 16 * SCALE, 0), image.width, bottom + 16 * SCALE))
    about = PngInfo()
    about.add_itxt(KEY, words(page), zip=True)
    framed = ImageOps.expand(image, SCALE, EDGE).quantize(128)
    framed.save(file, pnginfo=about, optimize=True)
    print(f"Drawn: {file.relative_to(ROOT)}.")


def _run(command: list[str], **options) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, **options)


if __name__ == "__main__":
    draw_changed()
