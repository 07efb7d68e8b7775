"""nbgrader's settings for this course: its folders, and the grader in `attention_lib.grading`.

nbgrader reads this file when it is started in this folder, and so does JupyterLab.
"""

import os
import shutil
import sys
from pathlib import Path

from jupyter_core.paths import jupyter_config_path

from attention_lib.grading.classroom.course import CourseError, class_name, private_class_folder

c = get_config()  # noqa: F821 - nbgrader defines it

# nbgrader starts the alembic beside it by its bare name; nobody has to activate .venv for that.
if shutil.which("alembic") is None:
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

root = Path(__file__).resolve().parent
# What is set for all of this machine, such as a hub's exchange and course id, counts for `make grade`
# too, and can be asked for below.
for folder in reversed(jupyter_config_path()):
    if Path(folder).resolve() != root:
        load_subconfig("nbgrader_config.py", path=folder)  # noqa: F821 - as is this

# The gradebook is created in it.
try:
    classroom = private_class_folder(root)
except CourseError as problem:
    sys.exit(str(problem))

# Folders. Notebooks for learners lie in notebooks/, an instructor's own data in classroom/. A class
# that NBGRADER_CLASS names has a folder of its own, with its notebooks as it was given them.
c.CourseDirectory.root = str(root)
c.CourseDirectory.source_directory = f"{classroom.name}/source"
c.CourseDirectory.release_directory = "notebooks"
c.CourseDirectory.submitted_directory = f"{classroom.name}/submitted"
c.CourseDirectory.autograded_directory = f"{classroom.name}/autograded"
c.CourseDirectory.feedback_directory = f"{classroom.name}/feedback"
c.CourseDirectory.solution_directory = f"{classroom.name}/solution"
c.CourseDirectory.source_with_tests_directory = f"{classroom.name}/source_with_tests"
# The gradebook is a file. Writers wait up to 60 s for its lock. (The URL does not begin with
# `sqlite:///`, after which nbgrader's `db upgrade` takes the settings for part of the name.)
c.CourseDirectory.db_url = f"sqlite+pysqlite:///{classroom / 'gradebook.db'}?timeout=60"
# Or it is a PostgreSQL database, if the environment says which, in the way of
# NBGRADER_DB_URL=postgresql://user:password@host/name; that asks for a course to have a name.
if os.environ.get("NBGRADER_DB_URL"):
    c.CourseDirectory.db_url = os.environ["NBGRADER_DB_URL"]
    c.CourseDirectory.setdefault("course_id", "default_course")
if class_name():
    c.CourseDirectory.release_directory = f"{classroom.name}/release"
    c.CourseDirectory.course_id = class_name()  # in nbgrader's exchange
c.ExportPlugin.to = str(classroom / "grades.csv")

# Files that are never copied along with a notebook: hand-written lessons beside a source, and
# whatever in a submission could pass for a Python module.
c.CourseDirectory.ignore = [
    ".ipynb_checkpoints",
    "__pycache__",
    "feedback",
    "*.md",
    "*.py",
    "*.py[cdow]",
    "*.so",
    "*.pth",
    "*.egg",
    "*.whl",
    "*.zip",
]

# What students put into an exchange is collected without following their links. Whoever cannot be
# collected, or be given a page, does not stop the others.
c.ExchangeFactory.collect = "attention_lib.grading.nbgrader_plugins.exchange.CollectFiles"
c.ExchangeFactory.release_feedback = "attention_lib.grading.nbgrader_plugins.exchange.ReleasePages"
# Where accounts do not have the students' names, owners of folders cannot be checked:
# c.ExchangeCollect.check_owner = False

# A lesson is not released while two cells have one name, or a teacher's own has that of an exercise.
c.GenerateAssignment.exporter_class = (
    "attention_lib.grading.nbgrader_plugins.check_names.CheckNames"
)

# What was handed in is read warily, run in a sandbox, checked from outside it, and written into the
# gradebook, for `make grade`, `nbgrader autograde` and formgrader's button alike. In between these work
# on the notebook:
c.Autograde.exporter_class = "attention_lib.grading.nbgrader_plugins.autograde.EntryPoint"
c.Autograde.autograde_preprocessors = [
    "nbgrader.preprocessors.IgnorePattern",
    "nbconvert.preprocessors.ClearMetadataPreprocessor",
    "nbgrader.preprocessors.LimitOutput",
]
c.Exporter.optimistic_validation = True  # once, at the end, where each step would take as long
# A cell may take 20 seconds (CELL_SECONDS in attention_lib/grading/limits.py), or what you say here:
# c.ExecuteSubmission.cell_seconds = 120
# Without bubblewrap nothing is graded, unless you let students' code do whatever you may do:
# c.ExecuteSubmission.without_sandbox = True
# Where an answer does not hide that it uses SciPy or another forbidden library, that is a remark, or
# costs the exercise's points:
# c.ExecuteSubmission.forbidden_libraries_cost_points = True

# Feedback does not show hidden checks; neither it nor formgrader runs what came with a submission.
c.GenerateFeedback.preprocessors = [
    "attention_lib.grading.pages.arranging.ReadGrades",
    "attention_lib.grading.pages.display.HideChecks",
    "attention_lib.grading.pages.arranging.ArrangeFeedback",
]
c.GenerateFeedback.exporter_class = "attention_lib.grading.pages.feedback.FeedbackExporter"
c.HTMLExporter.sanitize_html = True
c.HTMLExporter.filters = {
    "ansi2html": "attention_lib.grading.pages.display.ansi2html",
    "clean_html": "attention_lib.grading.pages.display.show_html",
    "highlight_code": "attention_lib.grading.pages.display.highlight_code",
    "markdown2html": "attention_lib.grading.pages.display.markdown2html",
    "strip_files_prefix": "attention_lib.grading.pages.display.strip_files_prefix",
}
# Neither shows a picture that a browser would take too long to draw. Formgrader shows the marker a
# rubric and the model answer below each answer in words, feedback not.
c.FeedbackExporter.preprocessors = ["attention_lib.grading.pages.pictures.LeaveOutPictures"]
c.HTMLExporter.preprocessors = [
    *c.FeedbackExporter.preprocessors,
    "attention_lib.grading.pages.marking.ShowRubric",
]
# Feedback pages have no scripts, so formulas are shown as they were typed.
c.FeedbackExporter.template_file = "attention_feedback.html.j2"
c.FeedbackExporter.filters = {
    **c.HTMLExporter.filters,
    "markdown2html": "attention_lib.grading.pages.display.markdown2html_without_math",
}
