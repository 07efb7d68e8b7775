"""Choose which of a student's notebooks counts, and say which and why.

A notebook's content ranks before its name. Best is a notebook with answers to the lesson, then one
that cannot be read, then an unchanged one, and last one of another lesson. Of several with the
same rank, the newest counts. If the newest is unknown, the instructor is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from attention_lib.grading import limits
from attention_lib.grading.collect.archives import Files, NotCollected, TooMuch, read_zip
from attention_lib.grading.intake.cells import lessons_of, read_cells
from attention_lib.grading.intake.folder import same_name
from attention_lib.grading.intake.submission import (
    ARCHIVE_SUFFIXES,
    IGNORED_FOLDERS,
    MODULE_SUFFIXES,
    NBGRADER_FILES,
    is_notebook,
    read_within_limits,
)
from attention_lib.grading.terminal import first_few, shown_name

NOTEBOOK, ZIP = ".ipynb", ".zip"
ANSWERED, UNKNOWN, BLANK, FOREIGN = range(4)  # kinds of notebooks, best first
MINUTES_APART = 2  # two files closer than this may just have the time of packing
LONGEST_NAME = 80  # characters of a file's name in a message

Blank = Callable[[bytes], bool]  # tells whether a notebook is unchanged since its release


@dataclass(frozen=True)
class Contents:
    """What a student handed in: one notebook, and other files by path."""

    name: str  # of the notebook, as the student named it
    notebook: bytes
    files: dict[str, bytes]
    left_out: list[str] = field(default_factory=list)  # files left out, with the reason if unusual
    remarks: list[str] = field(default_factory=list)  # about the notebook
    foreseen: list[str] = field(default_factory=list)  # remarks that grading also makes
    late: bool = False  # as the platform marks it


@dataclass(frozen=True)
class Kind:
    """What a notebook is for a lesson."""

    rank: int
    words: str = ""  # the rest of a sentence about the notebook


def choose_work(files: Files, lesson: str, blank: Blank) -> Contents:
    """Choose the notebook, and the plain files in its folder and below.

    Raises
    ------
    NotCollected
        If there is no notebook, or nothing decides which of several counts.
    """
    files, kinds = _unpacked(files, lesson, blank)
    if not kinds:
        raise NotCollected(f"there is no notebook in it{_found_instead(files)}")
    chosen = _newest(files, kinds, lesson)
    taken, left_out = _files_to_take(files, kinds.keys(), chosen, lesson)
    others = sorted(set(files.contents) - {chosen, *taken.values()} - left_out.keys())
    named = [*others, *_left_out_texts(left_out | files.left_out)]
    return Contents(
        chosen,
        files.contents[chosen],
        {path: files.contents[whole] for path, whole in taken.items()},
        named,
        _remarks(files, kinds, chosen),
        _grading_remarks(files, kinds, chosen, lesson),
    )


def _unpacked(files: Files, lesson: str, blank: Blank) -> tuple[Files, dict[str, Kind]]:
    """Unpack archives if no notebook outside them has answers; return all files, and the notebooks."""
    kinds = _kinds_by_path(files, lesson, blank)
    for _ in range(limits.ARCHIVES_IN_ARCHIVES):
        archives = [path for path in files.contents if path.lower().endswith(ZIP)]
        if not archives or any(kind.rank == ANSWERED for kind in kinds.values()):
            break
        inner = _unpack(files, archives)
        found = _kinds_by_path(inner, lesson, blank)
        if kinds and len(found) == len(kinds):  # the archives hold no notebook
            break
        files, kinds = inner, found
    return files, kinds


def _kinds_by_path(files: Files, lesson: str, blank: Blank) -> dict[str, Kind]:
    return {
        path: _kind(content, lesson, blank)
        for path, content in files.contents.items()
        if is_notebook(path, content)
    }


def _unpack(files: Files, archives: list[str]) -> Files:
    """Replace archives by their files, in a folder of the archive's name if there are other files."""
    found = Files(left_out=dict(files.left_out), is_numbered=files.is_numbered)
    for path, content in files.contents.items():
        if path not in archives:
            found.add(path, content, files.order.get(path))
            continue
        try:
            inner = read_zip(content)
        except NotCollected as why:
            if isinstance(why, TooMuch) or len(files.contents) == 1:
                raise
            found.left_out[path] = str(why)
            continue
        prefix = "" if len(files.contents) == 1 else f"{path}/"
        for name, one in inner.contents.items():
            order = files.order.get(path) if files.is_numbered else inner.order.get(name)
            found.add(prefix + name, one, order)
        found.left_out |= {prefix + name: why for name, why in inner.left_out.items()}
    if sum(map(len, found.contents.values())) > limits.ARCHIVE_UNPACKED_BYTES:
        raise TooMuch("it holds too much, unpacked")
    return found


def _found_instead(files: Files) -> str:
    """Return the end of a sentence that lists the files found instead of a notebook."""
    there = [f"{path} (empty)" if not one else path for path, one in files.contents.items()]
    there += _left_out_texts(files.left_out)
    return f", but {first_few(sorted(there), limits.FILES_NAMED_PER_NOTE)}" if there else ""


def _left_out_texts(left_out: Mapping[str, str]) -> list[str]:
    """Name the files left out, with reasons: `a.csv is damaged`, `a.csv (its name is too long)`."""
    return [
        f"{path} {why[3:]}" if why.startswith("it ") else f"{path} ({why})"
        for path, why in ((shown_name(path, LONGEST_NAME), why) for path, why in left_out.items())
    ]


def _kind(content: bytes, lesson: str, blank: Blank) -> Kind:
    notebook, why = read_within_limits(content)
    if notebook is None:
        return Kind(UNKNOWN, f"cannot be read ({why})")
    if blank(content):
        return Kind(BLANK, "is as it was given out")
    lessons = lessons_of(list(read_cells(notebook)))
    if lesson in lessons:
        return Kind(ANSWERED)
    if lessons:
        (other, _), *_ = lessons.most_common(1)
        return Kind(FOREIGN, f"is the notebook of {other}")
    return Kind(UNKNOWN, f"has no answer cell of {lesson}")


def _newest(files: Files, kinds: Mapping[str, Kind], lesson: str) -> str:
    """Return the path of the notebook that counts."""
    best = min(kind.rank for kind in kinds.values())
    paths = [path for path, kind in kinds.items() if kind.rank == best]
    paths = _without_copies(files, paths, lesson)
    if len(paths) == 1:
        return paths[0]
    *_, before, last = sorted(files.order.get(path, 0) for path in paths)
    apart = 1 if files.is_numbered else MINUTES_APART
    if all(path in files.order for path in paths) and last - before >= apart:
        return max(paths, key=files.order.__getitem__)
    named = [path for path in paths if PurePosixPath(path).stem == lesson]
    if best != ANSWERED and len(named) == 1:  # nothing is lost with the others
        return named[0]
    shown = ", ".join(sorted(paths)[: limits.FILES_NAMED_PER_NOTE])
    raise NotCollected(
        f"it holds {len(paths)} notebooks ({shown}) and nothing says which counts; ask which, and "
        f"collect that one in its place, named STUDENT_{lesson}{NOTEBOOK}"
    )


def _without_copies(files: Files, paths: list[str], lesson: str) -> list[str]:
    """Keep one of several notebooks with the same content, if possible the one with the lesson's name."""
    first: dict[bytes, str] = {}
    for path in sorted(paths, key=lambda path: PurePosixPath(path).stem != lesson):
        first.setdefault(files.contents[path], path)
    return [path for path in paths if path in first.values()]


def _remarks(files: Files, kinds: Mapping[str, Kind], chosen: str) -> list[str]:
    """Return remarks: which of several notebooks is taken, why, and what is unusual about it."""
    why = []
    for path, kind in sorted(kinds.items(), key=lambda one: one[1].rank):
        if path != chosen and files.contents[path] == files.contents[chosen]:
            why.append(f"{path} is the same")
        elif path != chosen and kind.rank > kinds[chosen].rank:
            why.append(f"{path} {kind.words}")
        elif path != chosen and path in files.order and chosen in files.order:
            older = files.order[path] < files.order[chosen]
            why += [f"{path} is older"] if older else []
    remarks = (
        [f"{chosen} is taken, since {first_few(why, limits.FILES_NAMED_PER_NOTE)}"] if why else []
    )
    if not chosen.lower().endswith(NOTEBOOK):
        remarks.append(f"{chosen} is read as a notebook")
    return remarks


def _grading_remarks(
    files: Files, kinds: Mapping[str, Kind], chosen: str, lesson: str
) -> list[str]:
    """Return remarks on why a notebook that is taken will not be graded."""
    if not files.contents[chosen].strip():
        return [f"{chosen} is empty"]
    is_foreign = kinds[chosen].rank == FOREIGN
    return [f"{chosen} {kinds[chosen].words}, not of {lesson}"] if is_foreign else []


def _files_to_take(
    files: Files, notebooks: Collection[str], chosen: str, lesson: str
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the paths of the files to take, by their path relative to the notebook's folder.

    Also return, by path, why other files are left out.
    """
    folder = PurePosixPath(chosen).parent
    plain = {
        str(PurePosixPath(path).relative_to(folder)): path
        for path in files.contents
        if path not in notebooks and PurePosixPath(path).is_relative_to(folder)
    }
    plain = {inner: path for inner, path in plain.items() if _is_plain(inner)}
    names = Counter(map(same_name, [f"{lesson}{NOTEBOOK}", *plain]))
    left_out = {}
    for inner, path in plain.items():
        parents = PurePosixPath(inner).parents
        if len(parents) > limits.FOLDER_DEPTH + 1:
            left_out[path] = "its folders are nested too deeply"
        elif names[same_name(inner)] > 1:
            left_out[path] = "its name and another differ only in capitals"
        elif any(same_name(str(parent)) in names for parent in parents):
            left_out[path] = "its name is that of a file and of a folder"
    return {inner: path for inner, path in plain.items() if path not in left_out}, left_out


def _is_plain(path: str) -> bool:
    """Tell whether to take a file. Modules, archives and nbgrader's own files are not taken."""
    parts = [part.lower() for part in PurePosixPath(path).parts]
    return not (
        path.lower().endswith(MODULE_SUFFIXES + ARCHIVE_SUFFIXES)
        or any(part.endswith(ZIP) for part in parts)
        or IGNORED_FOLDERS.intersection(parts)
        or parts[-1] in NBGRADER_FILES
    )
