"""Expand a hand-written lesson, Markdown with a few marks, to nbgrader's source notebook."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import jupytext
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from attention_lib.checks.exercise import Exercise
from attention_lib.grading.classroom.course import CourseError
from attention_lib.grading.lesson.cell_ids import id_of
from attention_lib.grading.lesson.clashes import refuse_clashes, refuse_taken

BEGIN_SOLUTION, END_SOLUTION = "### BEGIN SOLUTION", "### END SOLUTION"
HEADING = re.compile(
    r"^#+ Exercise: `?(?P<name>\w+)`? "
    r"\((?P<points>\d+) points?, about (?P<minutes>\d+) minutes?\)[ ]*$",
    re.MULTILINE,
)
FIRST_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
LANGUAGE = {
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
}
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
IMPORT = "import attention_lib as lib\n"  # a comment after it is in the traceback
IF_MISSING = "missing? Choose the kernel .venv; Colab: docs/colab.md"  # fits a page of 1,280 pixels
GOES_ON = ["raises-exception"]  # Jupyter runs the cells below even if this one raises an error
LICENSE_LINE = (
    "Text and figures by the Attention Course contributors, "
    "[CC BY 4.0](https://creativecommons.org/licenses/by/4.0/). "
    "Code: [BSD 3-Clause](https://opensource.org/license/bsd-3-clause)."
)


class Part(NamedTuple):
    """A cell that belongs to an exercise or to a teacher's own question: its position and role."""

    position: int
    role: str
    name: str
    points: float | None = None  # of an own question, on the cell that is graded


def read_lesson(path: Path, exercises: Mapping[str, Exercise]) -> NotebookNode:
    """Expand the lesson at `path` (solutions/NN_name.md) to nbgrader's source notebook.

    A last cell, which the Markdown does not have, names the licenses.

    Raises
    ------
    CourseError
        If the lesson does not match the declarations of its exercises, or two cells have one name;
        the text says where, and what to change.
    """
    cells = jupytext.reads(path.read_text(encoding="utf-8"), fmt="md").cells
    declared = {name: e for name, e in exercises.items() if e.lesson == path.stem}
    try:
        parts = _find_parts(cells)
        points = {part.name: part.points for part in parts if part.points is not None}
        refuse_taken(points, exercises)
        _require_declared([one for one in parts if one.name not in points], declared, exercises)
        for name, exercise in declared.items():
            _require_exercise(cells, [part for part in parts if part.name == name], exercise)
        _refuse_stray_marks(cells, parts)
        points |= {name: exercise.points for name, exercise in declared.items()}
        roles = {part.position: part for part in parts}
        expanded = [
            _expand(cell, roles[i], points[roles[i].name]) if i in roles else _plain_cell(cell)
            for i, cell in enumerate(cells)
        ]
        refuse_clashes(expanded, path.stem, exercises)
    except CourseError as problem:
        raise CourseError(f"{path.parent.name}/{path.name}: {problem}") from None
    expanded.append(new_markdown_cell(LICENSE_LINE))
    _give_ids(expanded, path.stem)
    return new_notebook(
        cells=expanded, metadata={"kernelspec": dict(KERNEL), "language_info": dict(LANGUAGE)}
    )


def _find_parts(cells: list[NotebookNode]) -> list[Part]:
    parts = []
    for position, cell in enumerate(cells):
        roles = [role for role in ("exercise", "check", "written") if role in cell.metadata]
        if len(roles) > 1:
            raise CourseError(f"a cell is both {' and '.join(roles)}: {_start_of(cell)}")
        if roles:
            expected = "markdown" if roles[0] == "written" else "code"
            if cell.cell_type != expected:
                raise CourseError(
                    f"{roles[0]}= marks a {expected} cell, not this: {_start_of(cell)}"
                )
            name, points = str(cell.metadata[roles[0]]), cell.metadata.get("points")
            if points is not None and (type(points) not in (int, float) or points < 0):
                raise CourseError(f"points={points!r} of {name} is no number such as points=2.")
            parts.append(Part(position, roles[0], name, points))
    return parts


def _require_declared(
    parts: list[Part], declared: Mapping[str, Exercise], exercises: Mapping[str, Exercise]
) -> None:
    """Require that the answer cells are the declared exercises, each once, in their order."""
    for part in parts:
        if part.name not in declared:
            other = exercises.get(part.name)
            if other is not None:
                raise CourseError(f"{part.name} is an exercise of {other.lesson}.")
            near = difflib.get_close_matches(part.name, declared, n=2, cutoff=0.5)
            meant = f"Did you mean {' or '.join(near)}?" if near else f"Has: {', '.join(declared)}."
            raise CourseError(
                f"there is no exercise {part.name!r} in this lesson. {meant} A question of your own "
                "says its points: points=2 on its check or written cell."
            )
    answers = [part.name for part in parts if part.role != "check"]
    for name in declared:
        if answers.count(name) != 1:
            raise CourseError(
                f"{name} has {answers.count(name) or 'no'} answer cells; it needs one, marked "
                f'{"written" if declared[name].kind == "written" else "exercise"}="{name}".'
            )
    if answers != list(declared):
        raise CourseError(
            f"its exercises come in the order {', '.join(answers)}; "
            f"they are declared in the order {', '.join(declared)}."
        )


def _require_exercise(cells: list[NotebookNode], parts: list[Part], exercise: Exercise) -> None:
    """Require a heading that matches, an answer between marks, and a check cell after it."""
    name = exercise.name
    answer = next(part for part in parts if part.role != "check")
    checks = [part for part in parts if part.role == "check"]
    source = cells[answer.position].source
    if (answer.role == "written") != (exercise.kind == "written"):
        raise CourseError(f"{name} is declared as {exercise.kind}, but marked {answer.role}=.")
    _require_heading(cells[: answer.position], exercise)
    if answer.role == "written":
        if checks:
            raise CourseError(f"{name} is graded by hand; it has a check cell.")
        if not source.strip():
            raise CourseError(f"{name} has no model answer.")
        return
    marks = re.findall(r"^[ \t]*(### (?:BEGIN|END) SOLUTION)[ \t]*$", source, re.MULTILINE)
    if marks != [BEGIN_SOLUTION, END_SOLUTION]:
        raise CourseError(
            f"the answer of {name} must stand between one line {BEGIN_SOLUTION} "
            f"and one line {END_SOLUTION}."
        )
    opening = f"def {name}(" if exercise.kind == "function" else f"{name} = None"
    lines = source.partition(BEGIN_SOLUTION)[0].splitlines()
    if not any(line.startswith(opening) for line in lines):
        raise CourseError(f"the answer cell of {name} needs a line {opening!r} before its marks.")
    if len(checks) != 1 or checks[0].position < answer.position:
        raise CourseError(f"{name} needs one check cell, after its answer cell.")
    if cells[checks[0].position].source.strip() != _check_call(name):
        raise CourseError(f"the check cell of {name} must be exactly: {_check_call(name)}")


def _require_heading(before: list[NotebookNode], exercise: Exercise) -> None:
    """Require that the last exercise heading above the answer states its points and minutes."""
    text = "\n".join(cell.source for cell in before if cell.cell_type == "markdown")
    headings = list(HEADING.finditer(text))
    points = f"{exercise.points} point{'s' * (exercise.points != 1)}"
    minutes = f"{exercise.minutes} minute{'s' * (exercise.minutes != 1)}"
    if not headings or headings[-1].group().strip().lstrip("#").replace("`", "") != (
        f" Exercise: {exercise.name} ({points}, about {minutes})"
    ):
        raise CourseError(
            f"above the answer cell of {exercise.name} there must be a heading "
            f'"### Exercise: {exercise.name} ({points}, about {minutes})"'
            + (f", not {headings[-1].group().strip()!r}." if headings else ".")
        )


def _refuse_stray_marks(cells: list[NotebookNode], parts: list[Part]) -> None:
    answers = {part.position for part in parts if part.role == "exercise"}
    tests = {part.position for part in parts if part.role == "check" and part.points is not None}
    for position, cell in enumerate(cells):
        words = [
            word
            for word, may_have in (("SOLUTION", answers), ("HIDDEN TESTS", tests))
            if position not in may_have
        ]
        if words and re.search(rf"(BEGIN|END) ({'|'.join(words)})", cell.source):
            raise CourseError(f"nbgrader's marks stand in a cell that may not: {_start_of(cell)}")


def _expand(cell: NotebookNode, part: Part, points: float | None) -> NotebookNode:
    """Give an exercise's cell nbgrader's metadata, and a check of the course its hidden part."""
    role, name = part.role, part.name
    metadata = {
        "grade": role != "exercise",
        "grade_id": name,
        "locked": role == "check",
        "schema_version": 3,
        "solution": role != "check",
        "task": False,
    }
    if role != "exercise":
        metadata["points"] = points
    if role == "written":
        return new_markdown_cell(cell.source, metadata={"nbgrader": metadata})
    if role == "exercise":
        return new_code_cell(cell.source, metadata={"nbgrader": metadata, "tags": GOES_ON})
    metadata["grade_id"] = f"check_{name}"
    hidden = f"\n### BEGIN HIDDEN TESTS\n{_check_call(name, hidden=True)}\n### END HIDDEN TESTS"
    source = cell.source + (hidden if part.points is None else "")
    return new_code_cell(source, metadata={"nbgrader": metadata, "tags": GOES_ON})


def _plain_cell(cell: NotebookNode) -> NotebookNode:
    make = new_code_cell if cell.cell_type == "code" else new_markdown_cell
    tags = {"tags": cell.metadata.tags} if "tags" in cell.metadata else {}
    source = cell.source.replace(IMPORT, f"{IMPORT.rstrip()}  # {IF_MISSING}\n")
    return make(source, metadata=tags)


def _give_ids(cells: list[NotebookNode], lesson: str) -> None:
    """Give each cell an id that depends on its text, not on its place."""
    seen: dict[str, int] = {}
    for cell in cells:
        if "nbgrader" in cell.metadata:
            name = cell.metadata.nbgrader.grade_id
        else:
            name = id_of(lesson, cell.cell_type, cell.source)
        seen[name] = seen.get(name, 0) + 1
        cell.id = name if seen[name] == 1 else f"{name}-{seen[name]}"


def _check_call(name: str, hidden: bool = False) -> str:
    return f'check("{name}", {name}{", seed=None" if hidden else ""})'


def _start_of(cell: NotebookNode) -> str:
    """Return the start of a cell, by which its author finds it."""
    return repr(cell.source.strip()[:60])


def title_of(notebook: NotebookNode) -> str:
    """Return the first heading of a lesson's notebook, or ""."""
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    found = FIRST_HEADING.search("\n".join(texts))
    return found[1].replace("`", "").strip() if found else ""
