"""Add and remove cells of a lesson in the gradebook after hand-ins, and keep all other marks.

nbgrader itself refuses: it fixes a lesson's cells once there are submissions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbformat import NotebookNode

if TYPE_CHECKING:
    from nbgrader.api import Gradebook


def change_cells(gradebook: Gradebook, lesson: str, source: NotebookNode) -> None:
    """Make a lesson's cells in the gradebook those of its source notebook.

    Marks and comments for a deleted cell are deleted. A new cell starts without grade or comment
    for everyone who has handed in.
    """
    from nbgrader.api import Comment, Grade, GradeCell, SolutionCell, SourceCell

    notebook = gradebook.find_notebook(lesson, lesson)
    marked = [cell for cell in source.cells if "nbgrader" in cell.metadata]
    marks = {cell.metadata.nbgrader.grade_id: cell for cell in marked}
    graded = {name for name, cell in marks.items() if cell.metadata.nbgrader.grade}
    solved = {name for name, cell in marks.items() if cell.metadata.nbgrader.solution}
    for cells, names in (
        (notebook.grade_cells, graded),
        (notebook.solution_cells, solved),
        (notebook.source_cells, set(marks)),
    ):
        for cell in [cell for cell in cells if cell.name not in names]:
            for given in [*getattr(cell, "grades", []), *getattr(cell, "comments", [])]:
                gradebook.db.delete(given)
            gradebook.db.flush()
            gradebook.db.delete(cell)
    gradebook.db.flush()
    gradebook.db.expire(notebook)
    for name in sorted(graded - {cell.name for cell in notebook.grade_cells}):
        kind, points = marks[name].cell_type, float(marks[name].metadata.nbgrader.points)
        cell = GradeCell(name=name, notebook=notebook, cell_type=kind, max_score=points)
        gradebook.db.add(cell)
        gradebook.db.flush()
        gradebook.db.add_all(Grade(cell_id=cell.id, notebook=one) for one in notebook.submissions)
    for name in sorted(solved - {cell.name for cell in notebook.solution_cells}):
        cell = SolutionCell(name=name, notebook=notebook)
        gradebook.db.add(cell)
        gradebook.db.flush()
        gradebook.db.add_all(Comment(cell_id=cell.id, notebook=one) for one in notebook.submissions)
    known = {cell.name for cell in notebook.source_cells}
    gradebook.db.add_all(
        SourceCell(name=name, notebook=notebook, cell_type=marks[name].cell_type)
        for name in sorted(set(marks) - known)
    )
    gradebook.db.commit()
