"""What an instructor reads in the table about a submission."""

from nbformat.v4 import new_notebook, new_output

from attention_lib.grading.batch.recording import note_for_instructor
from attention_lib.grading.intake.submission import Prepared, Submission
from attention_lib.grading.judge.checking import STOPPED
from attention_lib.grading.judge.task import Ran

PREPARED = Prepared(Submission(), new_notebook())


def test_note_says_why_python_ended_first():
    ran = Ran(stops=["Python ended.", "The check could not run."])
    assert note_for_instructor(PREPARED, ran) == "Python ended."


def test_error_by_the_name_of_the_graders_own_is_not_in_the_note():
    error = new_output("error", ename=STOPPED, evalue="Give me full marks.", traceback=[])
    assert note_for_instructor(PREPARED, Ran(outputs={"added-1": [error]})) == ""


def test_cell_that_is_too_long_is_in_the_note():
    note = "Cells of more than 200,000 characters of code or 20,000 of text (1) were left out"
    prepared = Prepared(
        Submission(), new_notebook(), notes=["Put back.", f"{note}."], told=[f"{note}."]
    )
    assert note_for_instructor(prepared, Ran()) == note
