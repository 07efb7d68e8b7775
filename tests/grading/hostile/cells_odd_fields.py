"""Fills every field of the file with values of the wrong type or an absurd size.

Ids, sources, metadata, attachments and outputs are all odd. The answers are right, and can be read:
it deserves full marks.
"""

LESSON = "01_softmax"
DESERVES = "full"


def change(notebook):
    kernel = {"name": "bash", "language": "bash", "argv": ["sh", "-c", "touch /tmp/@MARK@"]}
    notebook.metadata = {
        "title": ["no"],
        "authors": 7,
        "widgets": "x" * 100_000,
        "kernelspec": kernel,
    }
    for number, cell in enumerate(notebook.cells):
        cell.source = cell.source.splitlines(keepends=True)
        cell.execution_count = "many"
        cell.outputs = {"not": "a list"}
        cell.id = "x" * 10_000 if number % 2 else "../../" + "y" * 5
        cell.attachments = {"../../../gradebook.db": {"image/png": 17}, "a": []}
    notebook.cells += [None, 7, {"cell_type": "code"}, {"source": 3}, [], {"cell_type": []}]
