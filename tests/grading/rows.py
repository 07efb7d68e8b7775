"""The rows of a gradebook, told apart by whose they are."""

from sqlalchemy import MetaData, select

from attention_lib.grading.classroom.course import Course

CHAIN = {  # tables with something of one student's for one lesson, and what leads to it
    "submitted_assignment": None,
    "submitted_notebook": ("assignment_id", "submitted_assignment"),
    "grade": ("notebook_id", "submitted_notebook"),
    "comment": ("notebook_id", "submitted_notebook"),
}


def read_rows(course: Course) -> dict[str, list[dict]]:
    """Return all rows of all tables."""
    with course.gradebook() as gradebook, gradebook.engine.connect() as connection:
        tables = MetaData()
        tables.reflect(connection)
        return {
            table.name: [dict(row) for row in connection.execute(select(table)).mappings()]
            for table in tables.sorted_tables
        }


def rows_of_others(course: Course, student: str, lesson: str) -> dict[str, list[dict]]:
    """Return all rows but those of one student for one lesson, in an order of their own."""
    rows = read_rows(course)
    (own_lesson,) = (row["id"] for row in rows["assignment"] if row["name"] == lesson)
    own = {
        "submitted_assignment": {
            row["id"]
            for row in rows["submitted_assignment"]
            if row["student_id"] == student and row["assignment_id"] == own_lesson
        }
    }
    for table, link in CHAIN.items():
        if link:
            column, above = link
            own[table] = {row["id"] for row in rows[table] if row[column] in own[above]}
    return {
        table: sorted((row for row in found if row.get("id") not in own.get(table, ())), key=repr)
        for table, found in rows.items()
    }
