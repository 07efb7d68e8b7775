"""Grade hostile and careless submissions, with honest ones among them.

Everyone gets the points they deserve; the instructor's files are unchanged, no process survives, and
no secret is shown. The submissions are in hostile/, one file each.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import re
import secrets
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

import attention_lib
from attention_lib.checks.calls import timeouts
from attention_lib.grading import limits
from attention_lib.grading.batch import batch
from attention_lib.grading.batch.reader import PreparedWork
from attention_lib.grading.grade import table
from attention_lib.grading.judge import execution, stand_in
from attention_lib.grading.judge.execution import marks_lost
from attention_lib.grading.judge.task import Ran, Task
from attention_lib.grading.release import release
from tests.grading.hostile.corpus import CORPUS, FILES, Submission
from tests.grading.sample_class import Classroom, configure, make_course, quietly, without_figures
from tests.grading.sandboxes import set_limits

CELL_SECONDS = 10.0
ENDLESS_CELL_SECONDS = 0.5  # where one has to be stopped
ANSWER_SECONDS = 0.5  # of one call
PATIENCE_SECONDS = 5.0  # for one call, with a process that does not answer any more
ENDLESS_PATIENCE_SECONDS = 1.0  # where that is meant
MEMORY_BYTES = 512 << 20
PROCESSES = 8  # of a fork bomb, which all keep a core busy
LARGEST_PAGE = 20 << 20
HOSTILE_IN_A_ROW = 20  # submissions, between two honest ones
WITH_CELLS = ("04_gradients",)  # where a submission rests on the lesson's own cells
pytestmark = [pytest.mark.sandbox, pytest.mark.hostile]
# Of a lesson as it is written: what stands above it, its code, and its exercises.
FIGURE = r"^```python\n(?:(?!^```)[\s\S])*plots\.[\s\S]*?^```\n"
ESSENTIAL = r"\A---\n.*?^---\n|^```python.*?^```\n|^<!-- #region.*?^<!-- #endregion -->\n|^### Exercise:.*?\n"
LIBRARY = Path(attention_lib.__file__).parent
LESSONS = sorted({submission.LESSON for submission in CORPUS.values()})


def in_class(lesson: str, name: str):
    """Mark a test's parameter so that one worker runs all tests of a class, which is graded once."""
    group = pytest.mark.xdist_group(f"hostile_{lesson}")
    return pytest.param(name, marks=group, id=name if name == lesson else f"{lesson}-{name}")


each_submission = pytest.mark.parametrize(
    "name", [in_class(submission.LESSON, name) for name, submission in CORPUS.items()]
)
each_class = pytest.mark.parametrize("lesson", [in_class(lesson, lesson) for lesson in LESSONS])


@dataclass
class Graded:
    """A graded class, and the side effects that were observed."""

    room: Classroom
    students: dict[str, Submission | None]  # None is an honest one
    secrets: dict[str, str]
    mark: str
    table: str
    changed: list[str]
    survivors: list[str]
    connections: int

    def student(self, name: str) -> str:
        return next(s for s, one in self.students.items() if one and name == one.NAME)

    def shown(self, student: str) -> str:
        """Return the files written about a student, as text."""
        groups = [self.written(kind, student) for kind in ("autograded", "feedback")]
        return "".join(path.read_text("utf-8", "replace") for files in groups for path in files)

    def written(self, kind: str, student: str) -> list[Path]:
        folder = self.room.course.root / "classroom" / kind / student
        return [path for path in sorted(folder.rglob("*")) if not path.is_dir()]


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Return a function that grades the class of a lesson, once."""
    classes: dict[str, Graded | Exception] = {}

    def once(lesson: str) -> Graded:
        if lesson not in classes:
            try:
                classes[lesson] = grade_class(lesson, tmp_path_factory.mktemp("class"), stack)
            except Exception as problem:
                classes[lesson] = problem
        if isinstance(classes[lesson], Exception):
            raise classes[lesson]
        return classes[lesson]

    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(timeouts, "CALL_SECONDS", ANSWER_SECONDS)
        patch.setattr(limits, "INTERRUPT_GRACE_SECONDS", 0.5)
        set_limits(patch, PROCESSES=PROCESSES, MEMORY_BYTES=MEMORY_BYTES)
        patch.setattr(stand_in, "PATIENCE_SECONDS", PATIENCE_SECONDS)
        yield once


def grade_class(lesson: str, folder: Path, stack: ExitStack) -> Graded:
    """Grade the class of a lesson in one run, and observe side effects."""
    patch = stack.enter_context(pytest.MonkeyPatch.context())
    room = make_classroom(lesson, folder)
    home = folder / "home"
    planted = plant(room, home, patch)
    mark = f"mark{secrets.token_hex(8)}"
    server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    unix = stack.enter_context(socket.socket(socket.AF_UNIX))
    unix.bind(f"\0{mark}listens")
    unix.listen()
    known = {
        "@COURSE@": str(room.course.root),
        "@LIBRARY@": str(LIBRARY),
        "@HOME@": str(home),
        "@PID@": str(os.getpid()),
        "@PORT@": str(server.getsockname()[1]),
        "@NEIGHBOR@": "s000_honest",
        "@MARK@": mark,
        "@NOTE@": planted["note"],
    }
    students = submit_all(room, known, planted["neighbor"])
    patch.setattr(execution, "marks_lost", lost_by_an_honest_one(planted["neighbor"]))
    running = processes()
    require_a_working_sandbox(room)
    watched = [room.course.root, home, LIBRARY]
    before = snapshot(watched)
    with pytest.MonkeyPatch.context() as of_this_class:
        of_this_class.setattr(batch._Run, "_task", task_with_little_time_for_the_endless(students))
        room.grade()
    after = snapshot(watched)
    return Graded(
        room=room,
        students=students,
        secrets=planted,
        mark=mark,
        table=table(room.worth, list(room.results.values())),
        changed=sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
        + marked_files(mark),
        survivors=survivors(running, mark),
        connections=connections(server) + connections(unix),
    )


def make_classroom(lesson: str, folder: Path) -> Classroom:
    """Make a course with one lesson, without the parts that take time and that nothing attacks."""
    root = folder / "course"
    root.mkdir()
    course = make_course(root, lesson)
    path = course.written(lesson)
    text = "\n".join(re.findall(ESSENTIAL, path.read_text("utf-8"), re.MULTILINE | re.DOTALL))
    lean = re.sub(FIGURE, "", text, flags=re.MULTILINE)
    path.write_text(lean if lesson in WITH_CELLS else without_figures(text), "utf-8")
    quietly(release, course, [lesson])
    configure(course, f"c.ExecuteSubmission.cell_seconds = {CELL_SECONDS}")
    return Classroom(course, lesson)


def plant(room: Classroom, home: Path, patch: pytest.MonkeyPatch) -> dict[str, str]:
    """Write a secret into every place that submissions must not read."""
    names = ("environment", "home", "gradebook", "solutions", "source", "neighbor", "note", "log")
    planted = {name: f"SECRET_{name}_{secrets.token_hex(16)}" for name in names}
    planted["seed"] = str(10**17 + secrets.randbelow(10**17))
    patch.setenv("ATTENTION_LIB_SEED", planted["seed"])
    patch.setenv("A_PASSWORD", planted["environment"])
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text(planted["home"])
    patch.setenv("HOME", str(home))
    join = {"x86_64": 250, "aarch64": 219}.get(platform.machine(), 0)  # keyctl
    ctypes.CDLL(None).syscall(join, 1, None)  # a keyring for what is started here, as a login has
    course = room.course
    with course.gradebook() as gradebook:
        gradebook.add_student("somebody_else", first_name=planted["gradebook"])
    with course.written(room.lesson).open("a") as file:
        file.write(f"\n<!-- {planted['solutions']} -->\n")
    source = nbformat.read(course.source(room.lesson), as_version=4)
    source.metadata["secret"] = planted["source"]
    nbformat.write(source, course.source(room.lesson))
    (course.root / "classroom" / "earlier.log").write_text(planted["log"])
    return planted


def submit_all(
    room: Classroom, known: dict[str, str], honest_secret: str
) -> dict[str, Submission | None]:
    """Submit everything; the students' names give the order in which they are graded."""
    honest = room.key()
    honest.cells.append(new_code_cell(f"# {honest_secret}"))
    row: list[Submission | None] = [one for one in CORPUS.values() if room.lesson == one.LESSON]
    for place in reversed(range(0, len(row), HOSTILE_IN_A_ROW)):
        row.insert(place, None)
    students: dict[str, Submission | None] = {}
    for number, submission in enumerate([*row, None]):
        student = f"s{number:03d}_{submission.NAME if submission else 'honest'}"
        students[student] = submission
        if submission is None:
            room.seat(student, honest, room.most)
        else:
            room.deserved[student] = submission.points(room)
            submission.hand_in(room, student, known)
    return students


def lost_by_an_honest_one(honest_secret: str) -> Callable[[NotebookNode, Ran], bool]:
    """Return what tells whether marks were lost, and says no of hostile ones: they lose them again."""

    def lost(notebook: NotebookNode, ran: Ran) -> bool:
        return honest_secret in str(notebook.cells) and marks_lost(notebook, ran)

    return lost


def task_with_little_time_for_the_endless(students: dict[str, Submission | None]) -> Callable:
    """Return a `_Run._task` that stops cells and calls soon where a submission has endless ones."""
    task_of = batch._Run._task

    def task(run: batch._Run, work: PreparedWork) -> Task:
        submission, task = students[work.student], task_of(run, work)
        is_endless = submission is not None and submission.ENDLESS
        stand_in.PATIENCE_SECONDS = ENDLESS_PATIENCE_SECONDS if is_endless else PATIENCE_SECONDS
        return replace(task, cell_seconds=ENDLESS_CELL_SECONDS) if is_endless else task

    return task


def require_a_working_sandbox(room: Classroom) -> None:
    """Fail, before anything hostile runs, unless harmless code is seen to run in a sandbox."""
    notebook = room.blank()
    probe = f"import os\nprint('seen:', os.path.exists({str(room.course.root)!r}), os.getuid())"
    notebook.cells.insert(0, new_code_cell(probe, id="added-1"))
    task = execution.Task(room.lesson, nbformat.writes(notebook), {}, 1)
    shown = execution.run_notebook(task).outputs["added-1"]
    if [output.get("text") for output in shown] != ["seen: False 65534\n"]:
        pytest.fail(
            f"There is no sandbox around a student's code ({shown}): nothing hostile is run."
        )


def snapshot(folders_to_watch: list[Path]) -> dict[str, tuple]:
    """Describe every file that grading must not change."""
    described = {}
    for top in folders_to_watch:
        classroom = top / "classroom"
        written = {classroom / name for name in ("autograded", "feedback", "backups")}
        for folder, folders, files in os.walk(top):
            here = Path(folder)
            folders[:] = [n for n in folders if here / n not in written and n != "__pycache__"]
            for name in [*folders, *files]:
                path = here / name
                if here != classroom or not re.search(
                    r"^gradebook\.db|\.(log|journal|journal\.lock)$", name
                ):
                    described[str(path)] = _description(path)
    for folder in filter(os.path.isdir, sys.path):
        described[folder] = tuple(sorted(set(os.listdir(folder)) - {"__pycache__"}))
    return described


def _description(path: Path) -> tuple:
    status = path.lstat()
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFLNK:
        return kind, os.readlink(path)
    if kind == stat.S_IFDIR:
        return kind, status.st_mode
    content = b""
    if kind == stat.S_IFREG and status.st_size < LARGEST_PAGE:
        content = hashlib.sha256(path.read_bytes()).digest()
    return kind, status.st_mode, status.st_size, content


def marked_files(mark: str) -> list[str]:
    """List the files with the mark in their name, in folders that all processes may write to."""
    folders = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock", "/dev/mqueue", "/", Path.home())
    return [str(path) for folder in folders for path in Path(folder).glob(f"*{mark}*")]


class Process(NamedTuple):
    """A running process."""

    parent: int
    command: str
    depth: int  # the number of PID namespaces that it is in
    ended: bool


def processes() -> dict[int, Process]:
    """Return all visible processes by their PIDs."""
    running = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
            numbers = re.search(r"^NSpid:(.*)$", (folder / "status").read_text(), re.MULTILINE)
        except OSError:
            continue
        depth = len(numbers[1].split())
        text = command.decode("utf-8", "replace")
        running[int(folder.name)] = Process(int(parent), text, depth, state == "Z")
    return running


def survivors(before: Iterable[int], mark: str) -> list[str]:
    """List the processes that outlive grading, other than the sandbox's fork server."""
    until = time.monotonic() + 3.0  # a killed process may take a moment
    while (remaining := _remaining(set(before), mark)) and time.monotonic() < until:
        time.sleep(0.1)
    return remaining


def _remaining(before: set[int], mark: str) -> list[str]:
    running = processes()
    server = running[os.getpid()].depth + 1  # a submission lies one deeper
    return [
        f"{number} {process.command}"
        for number, process in running.items()
        if number not in before
        and not process.ended
        and (
            mark in process.command
            or (process.depth > server and _is_descendant(number, running, before))
        )
    ]


def _is_descendant(number: int, running: dict[int, Process], before: set[int]) -> bool:
    """Return whether this process is an ancestor of another one, or all its ancestors have ended."""
    while number in running and number not in before:
        number = running[number].parent
    return number in (0, 1, os.getpid())


def connections(server: socket.socket) -> int:
    """Count the connections to a server."""
    server.setblocking(False)
    count = 0
    try:
        while True:
            server.accept()[0].close()
            count += 1
    except BlockingIOError:
        return count


class LiveHTML(HTMLParser):
    """Collect the elements and attributes of a page that could run a script."""

    def __init__(self) -> None:
        super().__init__()
        self.active: list[str] = []
        self._in_script = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._in_script = tag == "script"
        if tag in ("iframe", "object", "embed", "form", "base"):
            self.active.append(f"<{tag}>")
        for name, value in attributes:
            address = re.sub(r"\s", "", value or "").lower()
            runs = name.startswith("on") or name in ("srcdoc", "formaction", "action")
            inert = tag == "img" and address.startswith("data:image/")  # an SVG's scripts, too
            if runs or (not inert and re.match(r"(java|vb)script:|data:", address)):
                self.active.append(f"{tag} {name}={value}")

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, data: str) -> None:
        if self._in_script and "stolen" in data:
            self.active.append(f"<script>{data[:80]}")


def test_each_docstring_says_what_is_tried_and_what_is_deserved():
    for path in FILES:
        text = re.search(r'^"""(.*?)"""', path.read_text("utf-8"), re.DOTALL)[1]
        assert re.search(r"deserve|gets nothing", text), path.name
        assert text.count(". ") + text.count(".\n") >= 2, path.name
    assert len(CORPUS) >= 75


@each_submission
def test_submission_gets_the_points_it_deserves(graded, name):
    seen = graded(CORPUS[name].LESSON)
    student = seen.student(name)
    shown = seen.shown(student)
    assert seen.room.results[student].points == seen.room.deserved[student], shown_briefly(
        seen, student
    )
    assert seen.mark[::-1] not in shown
    for sentence in CORPUS[name].TOLD:
        assert sentence in seen.room.feedback(student).replace("&#39;", "'").replace("&quot;", '"')


def shown_briefly(seen: Graded, student: str) -> str:
    """Return the table's note and the beginnings of what check cells showed."""
    try:
        cells = seen.room.autograded(student).cells
    except OSError:
        return seen.room.results[student].note
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    texts = [
        o.get("evalue") or o.get("text") or o.get("data", {}).get("text/plain") for o in outputs
    ]
    return "\n".join([seen.room.results[student].note, *(str(text)[:300] for text in texts)])


@each_class
def test_honest_submissions_get_full_marks(graded, lesson):
    seen = graded(lesson)
    lost = {
        student: seen.room.results[student]
        for student, submission in seen.students.items()
        if submission is None and seen.room.results[student].points != seen.room.most
    }
    assert lost == {}


@each_class
def test_no_file_of_the_instructor_changes(graded, lesson):
    assert graded(lesson).changed == []


@each_class
def test_only_small_regular_files_are_written(graded, lesson):
    seen = graded(lesson)
    for kind in ("autograded", "feedback"):
        for student in seen.students:
            for path in seen.written(kind, student):
                assert path.is_file(), path
                assert not path.is_symlink(), path
                assert path.stat().st_size < LARGEST_PAGE, path


@each_class
def test_no_process_survives(graded, lesson):
    assert graded(lesson).survivors == []


@each_class
def test_no_network_connection(graded, lesson):
    assert graded(lesson).connections == 0


@each_class
def test_no_secret_is_shown(graded, lesson):
    seen = graded(lesson)
    assert list(secrets_shown(seen)) == []


def secrets_shown(seen: Graded) -> Iterator[tuple[str, str]]:
    """Find secrets in files about students who did not submit these secrets themselves."""
    classroom = seen.room.course.root / "classroom"
    logs = "".join(p.read_text() for p in classroom.glob("*.log") if p.name != "earlier.log")
    for name, secret in seen.secrets.items():
        if secret in seen.table or secret in logs:
            yield name, "the table or the log"
        for student, submission in seen.students.items():
            own = (
                name == "neighbor"
                if submission is None
                else f"@{name.upper()}@" in submission.ABOVE
            )
            if not own and secret in seen.shown(student):
                yield name, student


@each_class
def test_no_page_contains_a_script(graded, lesson):
    seen = graded(lesson)
    for student in seen.students:
        page = LiveHTML()
        page.feed(seen.room.feedback(student))
        assert page.active == [], student
