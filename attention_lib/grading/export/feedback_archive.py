"""Pack feedback pages under the names of the hand-ins, which Moodle and Canvas recognize.

Each page replaces the student's own file of the export: Moodle reads the name of the folder, or
the prefix in its place; Canvas reads the two numbers.
"""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath

from attention_lib.grading.classroom.course import Course, CourseError
from attention_lib.grading.classroom.roster import roster_or_empty
from attention_lib.grading.collect.exports import File, find_hand_ins, open_export


def pack_feedback(course: Course, lesson: str, export: Path, target: Path) -> tuple[int, list[str]]:
    """Write the archive of pages to give back.

    Return the number of pages in it, and a sentence about each hand-in without one.

    Raises
    ------
    CourseError, NotCollected
        If there is no page at all, or the export or the roster cannot be read.
    """
    roster = roster_or_empty(course)
    with open_export(export) as opened_export:
        hand_ins, _ = find_hand_ins(opened_export, roster)
    pages: dict[str, bytes] = {}
    sentences = []
    for hand_in in hand_ins:
        page = course.feedback(lesson, hand_in.student)
        if page.is_file():
            pages[_name_of_page(hand_in.main, lesson)] = page.read_bytes()
        else:
            sentences.append(f"{hand_in.name}: there is no {course.shown(page)}.")
    if not pages:
        raise CourseError(
            f"There is no feedback on what {export} holds: collect it with FROM={export} and grade "
            "it first."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(".unfinished")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in pages.items():
            archive.writestr(name, content)
    unfinished.replace(target)
    return len(pages), sentences


def _name_of_page(file: File, lesson: str) -> str:
    if file.on_canvas:
        return str(PurePosixPath(file.path).with_suffix(".html"))
    return f"{file.path.removesuffix(file.own_name)}{lesson}.html"
