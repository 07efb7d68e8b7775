"""Build the site into build/site: `make site`, or `python -m website`."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat

from attention_lib.grading.replacing import HoldsOtherFiles, replace_written
from attention_lib.lessons import LESSONS
from website.colab import with_repository
from website.execution import ROOT, executed, released
from website.pages import page
from website.pictures import move_pictures
from website.screens import FOLDER, draw_changed
from website.texts import DOCS, index, with_sections, with_site_links

SITE = ROOT / "build" / "site"
WORK = ROOT / "build" / "site-work"  # cache of executed lessons, Sphinx's sources, images
MOST_MEGABYTES = 25


def main() -> int:
    """Draw and execute what has changed, write Sphinx's sources, and run Sphinx; return its exit status.

    Pages replace those of an earlier site. What else lies in that folder, such as .git, stays.
    """
    repository = os.environ.get("SITE_REPOSITORY", "").rstrip("/")
    source, static, pages = WORK / "source", WORK / "static", WORK / "pages"
    for folder in (source, pages):
        shutil.rmtree(folder, ignore_errors=True)
    (source / "lessons").mkdir(parents=True)
    draw_changed()
    _write_lessons(source / "lessons", static / "figures", repository)
    _write_texts(source, repository)
    _copy_mathjax(static / "mathjax")
    options = [
        "-W",
        "--keep-going",
        "-q",
        "-E",
        "-c",
        str(ROOT / "website"),
        "-d",
        str(WORK / "doctrees"),
    ]
    status = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(source), str(pages)]
    ).returncode
    if status:
        return status
    try:
        replace_written(SITE, pages)
    except HoldsOtherFiles as problem:
        print(problem, file=sys.stderr)
        return 1
    return _report_size()


def _write_lessons(folder: Path, figures: Path, repository: str) -> None:
    names: set[str] = set()
    for lesson in LESSONS:
        lesson_page = page(
            released(lesson), executed(lesson, WORK / "executed"), lesson, repository
        )
        names |= move_pictures(lesson_page, figures, "../_static/figures")
        nbformat.write(lesson_page, folder / f"{lesson}.ipynb")
    for old in figures.glob("*.webp"):
        if old.name not in names:
            old.unlink()


def _write_texts(source: Path, repository: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    start = index(readme, list(LESSONS), list(DOCS), repository)
    (source / "index.md").write_text(start, encoding="utf-8")
    for name in DOCS:
        text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        if name == "glossary":
            text = with_sections(text, {lesson: _prose(lesson) for lesson in LESSONS})
        text = with_site_links(with_repository(text, repository), "docs/", repository)
        (source / f"{name}.md").write_text(text, encoding="utf-8")
    shutil.copytree(FOLDER, source / "pictures")


def _prose(lesson: str) -> str:
    return "\n\n".join(c.source for c in released(lesson).cells if c.cell_type == "markdown")


def _copy_mathjax(folder: Path) -> None:
    """Copy the one script and the fonts that the pages use; the package holds ten times as much."""
    package = importlib.util.find_spec("sphinx-mathjax-offline")
    mathjax = Path(str(package.origin)).parent / "static" / "mathjax"
    fonts = Path("output") / "chtml" / "fonts"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(mathjax / "tex-chtml.js", folder)
    shutil.copytree(mathjax / fonts, folder / fonts, dirs_exist_ok=True)


def _report_size() -> int:
    """Print the site's size; return 1 if it is too large."""
    megabytes = sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file()) / 1e6
    print(f"The site is in {SITE.relative_to(ROOT)}: {megabytes:.1f} MB. Open index.html.")
    if megabytes > MOST_MEGABYTES:
        print(f"It should have {MOST_MEGABYTES} MB or less.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
