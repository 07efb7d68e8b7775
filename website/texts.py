"""Build the site's pages from README.md and docs/, and rewrite their links."""

from __future__ import annotations

import re
from collections.abc import Mapping

DOCS = ("install", "teaching", "glossary", "assistants", "colab")  # the pages of docs/ on the site
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
TERM_ROW = re.compile(r"^\| \*\*(.+?)\*\* \|.*/(\d\d_\w+)\.ipynb(?=\))", re.MULTILINE)
HEADING = re.compile(r"^#{2,3} (.+)$", re.MULTILINE)
TOCTREE = """\
```{{toctree}}
:hidden:
:caption: {caption}
{pages}
```"""


def index(readme: str, lessons: list[str], pages: list[str], repository: str) -> str:
    """Return the start page: the first lesson, the README's first pictures and its parts, and the menu."""
    title, what_it_is = readme.split("\n\n")[:2]
    pictures_with_captions = re.findall(r"^!\[.*\)\n\n\*.*\*$", readme, re.MULTILINE)
    parts = [
        title,
        what_it_is,
        f"**[Start with lesson 01](lessons/{lessons[0]}.ipynb)**",
        section(readme, "The lessons"),
        *pictures_with_captions,
        section(readme, "Learn"),
        section(readme, "Teach a class"),
    ]
    menu = [
        TOCTREE.format(caption="Lessons", pages="\n".join(f"lessons/{name}" for name in lessons)),
        TOCTREE.format(caption="More", pages="\n".join(pages)),
    ]
    return "\n\n".join([*(with_site_links(part, "", repository) for part in parts), *menu]) + "\n"


def section(readme: str, title: str) -> str:
    """Return a section of a Markdown text with its heading.

    Raises
    ------
    ValueError
        If there is none with that title.
    """
    found = re.search(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", readme, re.MULTILINE | re.DOTALL)
    if found is None:
        raise ValueError(f"README.md has no section {title!r}, which the site's start page shows.")
    return found[0].rstrip()


def with_site_links(text: str, folder: str, repository: str) -> str:
    """Turn links to files of the repository into links to the site's pages.

    `folder` is where the text stands, with a slash at its end. Links to other files lead to the
    repository. If its address is not known, only the link's text stays.
    """

    def turn(match: re.Match[str]) -> str:
        bang, words, target = match.groups()
        if "://" in target or target.startswith(("#", "lessons/")):
            return match[0]
        path, hash_sign, anchor = f"{folder}{target}".partition("#")
        path = re.sub(r"[^/]+/\.\./", "", path)
        if bang:
            return f"![{words}](pictures/{path.rpartition('/')[2]})"
        if lesson := re.fullmatch(r"notebooks/(\w+)/\1\.ipynb", path):
            return f"[{words}](lessons/{lesson[1]}.ipynb{hash_sign}{anchor})"
        if path in [f"docs/{page}.md" for page in DOCS]:
            return f"[{words}]({path.removeprefix('docs/')}{hash_sign}{anchor})"
        return f"[{words}]({repository}/blob/HEAD/{path})" if repository else words

    return LINK.sub(turn, text)


def with_sections(glossary: str, lessons: Mapping[str, str]) -> str:
    """Point the links of the glossary's terms at the sections that introduce them.

    `lessons` has the Markdown of each lesson. A term that comes before the first section keeps its
    link to the lesson.
    """

    def turn(match: re.Match[str]) -> str:
        term, lesson = match.groups()
        anchor = _anchor(section_of(term, lessons[lesson]))
        return f"{match[0]}#{anchor}" if anchor else match[0]

    return TERM_ROW.sub(turn, glossary)


def section_of(term: str, text: str) -> str:
    """Return the heading above the term's first mention in bold, or else above its first mention.

    Empty if there is no heading above it, or no mention.
    """
    name = re.escape(term)
    found = re.search(rf"\*\*{name}s?\*\*", text, re.I) or re.search(name, text, re.I)
    headings = HEADING.findall(text[: found.start()]) if found else []
    return headings[-1] if headings else ""


def _anchor(heading: str) -> str:
    """Return the anchor that MyST gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
