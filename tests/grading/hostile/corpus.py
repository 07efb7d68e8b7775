"""Read the hostile submissions in this folder, and submit them.

Each file FAMILY_what.py is one submission. Its docstring says what it tries and what it deserves,
its constants what is in it:

    LESSON    the lesson; 02_stability unless it says otherwise
    DESERVES  "full", "nothing", or the points of some exercises; the others' follow from START
    START     what answers it begins with: "solved" (the model's), "blank" (none) or "wrong" (each
              returns one half). Of one that deserves nothing it is "blank".
    ANSWERS   the text of answer cells, by exercise
    EVERY     the text of all other answer cells
    ABOVE     a cell below the lesson's first one, which imports NumPy
    BELOW     a cell at the end
    TOLD      what the feedback must say
    ENDLESS   True where a cell or an answer runs until it is stopped, which it soon is

`change(notebook)` changes the notebook itself. `submit(folder, notebook)` writes into the submitted
folder, for submissions that are about files. The code of a submission is text here, and runs only
when it is graded.

In all texts @NAME@ is replaced by the exercise and @MODEL@ by the model answer. The others are what
an attacker might find out: @COURSE@, @LIBRARY@ and @HOME@ are folders, @PID@ is the grader's
process, @PORT@ a server on the same machine, @NEIGHBOR@ another student. @MARK@ is a word for names
of files and processes. An attack that has succeeded prints it backwards.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from tests.grading.sample_class import Classroom, cell_of

FILES = sorted(Path(__file__).parent.glob("*_*.py"))
WRONG = "def @NAME@(*args, **kwargs):\n    return 0.5"
FIRST_CODE_CELL = "import numpy as np"


@dataclass(frozen=True)
class Submission:
    """One file of the corpus."""

    NAME: str
    LESSON: str = "02_stability"
    DESERVES: str | Mapping[str, float] = "full"
    START: str = ""
    ANSWERS: Mapping[str, str] = field(default_factory=dict)
    EVERY: str = ""
    ABOVE: str = ""
    BELOW: str = ""
    TOLD: tuple[str, ...] = ()
    ENDLESS: bool = False
    change: Callable[[NotebookNode], None] = lambda notebook: None
    submit: Callable[[Path, NotebookNode], None] | None = None

    @cached_property
    def start(self) -> str:
        return self.START or ("blank" if self.DESERVES == "nothing" else "solved")

    def points(self, room: Classroom) -> dict[str, float | None]:
        """Return the points that each exercise deserves; None is graded by hand."""
        if self.DESERVES == "nothing":
            return room.nothing
        others = room.most if self.start == "solved" else room.nothing
        return others if self.DESERVES == "full" else {**others, **self.DESERVES}

    def notebook(self, room: Classroom) -> NotebookNode:
        """Return the notebook, in which words like @COURSE@ are not substituted yet."""
        key = room.key()
        notebook = key if self.start == "solved" else room.blank()
        answers = dict.fromkeys(room.checked, self.EVERY) if self.EVERY else {}
        if self.start == "wrong":
            answers = dict.fromkeys(room.checked, WRONG)
        for name, text in {**answers, **self.ANSWERS}.items():
            model = cell_of(key, name).source
            text = text.replace("@NAME@", name).replace("@MODEL@", model)
            cell_of(notebook, name).source = text.strip("\n")
        first = next(i for i, c in enumerate(notebook.cells) if FIRST_CODE_CELL in c.source)
        if self.ABOVE:
            notebook.cells.insert(first + 1, new_code_cell(self.ABOVE.strip("\n")))
        if self.BELOW:
            notebook.cells.append(new_code_cell(self.BELOW.strip("\n")))
        self.change(notebook)
        return notebook

    def hand_in(self, room: Classroom, student: str, known: Mapping[str, str]) -> None:
        """Write it where nbgrader looks, with `known` substituted for words like @COURSE@."""
        notebook = self.notebook(room)
        for cell in notebook.cells:
            if isinstance(cell, dict) and isinstance(cell.get("source"), str):
                for word, value in known.items():
                    cell["source"] = cell["source"].replace(word, value)
        if self.submit is None:
            room.hand_in(student, notebook)
            return
        folder = room.course.root / "classroom" / "submitted" / student / room.lesson
        folder.mkdir(parents=True)
        self.submit(folder, notebook)


def read(path: Path) -> Submission:
    """Read one file of the corpus; nothing in it runs but its constants."""
    spec = importlib.util.spec_from_file_location(f"hostile_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    known = {field.name for field in fields(Submission)}
    constants = {name: value for name, value in vars(module).items() if name in known}
    unknown = [name for name in vars(module) if name.isupper() and name not in known]
    if unknown:
        raise ValueError(f"{path.name}: {', '.join(unknown)} is not known in corpus.py.")
    return Submission(NAME=path.stem, **constants)


CORPUS = {path.stem: read(path) for path in FILES}
