"""Define the grader's limits that somebody may want to change, with their units.

Use a limit as ``limits.NAME`` in the body of a function, so that it can be changed in one place.
This module imports nothing: submissions see it, because their processes obey these limits too.
"""

MIB = 1 << 20

# Intake: how much of one submission is read.
CODE_CELL_CHARACTERS = 200_000
MARKDOWN_CELL_CHARACTERS = 20_000
NOTEBOOK_CELLS = 10_000
ADDED_CELLS = 500  # the student's own cells
ADDED_CHARACTERS = 1_000_000  # in these cells together
NOTEBOOK_BYTES = 20_000_000
EXTRA_FILE_BYTES = 10_000_000  # of any file but the notebook
EXTRA_FILES_BYTES = 50_000_000  # of these together
EXTRA_FILES = 200  # in addition to the notebook
FOLDER_ENTRIES = 2_000  # files and folders read
FOLDER_DEPTH = 5  # folders within folders
FILES_NAMED_PER_NOTE = 5  # to the student, who is told how many more there are
INTAKE_CPU_SECONDS = 10.0  # to read a notebook's JSON and rebuild it
INTAKE_MEMORY_BYTES = 1024 * MIB  # in addition to what the process has

EXCHANGE_FOLDERS = 10  # of one student and lesson, the newest, which are compared

# Collecting: how much of an instructor's folder of downloads is read.
DOWNLOADS = 5_000  # files and folders
ARCHIVE_BYTES = 100_000_000
ARCHIVE_UNPACKED_BYTES = 70_000_000  # of all files in it
ARCHIVE_ENTRIES = 2_000
ARCHIVES_IN_ARCHIVES = 3  # levels that are unpacked if there is no notebook outside
EXPORT_BYTES = 4_000_000_000  # of a learning platform's export of a whole class
EXPORT_ENTRIES = 50_000

# Sandbox: what a submission's processes may use.
SUBMISSION_MEMORY_BYTES = 1024 * MIB  # in addition to what Python and NumPy take
SUBMISSION_CPU_SECONDS = 300  # of all its processes together
SUBMISSION_WALL_SECONDS = 60.0  # for all cells and checks together, reruns included
SUBMISSION_PROCESSES = 32  # threads included
SUBMISSION_OPEN_FILES = 64
SUBMISSION_FILE_BYTES = 4 * MIB  # of one file
SUBMISSION_FOLDER_BYTES = 64 * MIB  # of all files
SUBMISSION_FOLDER_FILES = 10_000
SUBMISSION_SHARED_MEMORY_BYTES = 1 * MIB
SANDBOX_START_SECONDS = 60.0
INTERRUPT_GRACE_SECONDS = 2.0  # before an interrupted process is killed
CALLBACK_ARGUMENT_NUMBERS = 100_000  # in an array that a submission passes to a callback

# Inside: what a submission's process may send to the grader.
MESSAGE_BYTES = 64 * MIB
MESSAGE_JSON_BYTES = 4 * MIB  # parsed, it takes twenty times as much memory
MESSAGE_VALUES = 20_000
MESSAGE_DEPTH = 20  # containers inside containers
STRING_CHARACTERS = CODE_CELL_CHARACTERS  # a cell is sent as one text
INTEGER_BITS = 10_000
RESULT_BYTES = 2 * MIB  # of one call's result
ERROR_CHARACTERS = 2000  # of an error's text
CELL_OUTPUTS = 200
CELL_CHARACTERS = 100_000  # of the text that one cell shows
CELL_RICH_CHARACTERS = 4_000_000  # of pictures, HTML and similar outputs

# Judge: how long cells and answers may run.
CELL_SECONDS = 20.0  # wall-clock time of one cell, unless nbgrader_config.py sets another
SHORTEST_SECONDS = 0.1  # the least time left to start one more cell or check
RERUN_SHARE = 1 / 6  # of a submission's time, kept for reruns with model answers
CHECK_SECONDS = 30.0  # wall-clock time of all calls of one answer
CELL_OUTPUT_BYTES = 8_000_000  # of the message in which a process reports one cell's outputs
ALL_OUTPUT_BYTES = 20_000_000  # of the outputs of all of a submission's cells
DEFINITIONS_AGAIN = 200  # statements of one cell that are rerun after an earlier cell stopped
ALL_OUTPUTS = 5_000  # of these together

# Pages: what feedback shows.
PIECE_ELEMENTS = 10_000  # tags of one output or Markdown cell; colors of one text
PIECE_FORMULAS = 1_000  # dollar signs of one Markdown cell, where MathJax renders them
PIECE_CPU_SECONDS = 1.0  # to render it
PICTURE_PIXELS = 20_000_000  # of one picture, or of one frame of it
PAGE_PIXELS = 200_000_000  # of all frames of all pictures of a page
SUMMARY_CHARACTERS = 500  # of a check's message, in the list at the top of a page
PAGE_ELEMENTS = 100_000  # after this, everything else is plain text
PAGE_PIECES_CPU_SECONDS = 10.0  # likewise
PAGE_FORMULAS = 10_000  # likewise
PAGE_CPU_SECONDS = 60.0  # beyond this, or the next two, a page shows only points
PAGE_MEMORY_BYTES = 1024 * MIB  # in addition to what the process has
PAGE_WALL_SECONDS = 240.0  # after this, its process is killed

# Batch: workers, backups, progress.
ALONE_SECONDS = 120.0  # total time for rerunning timed-out submissions
ALONE_RUN_SECONDS = 30.0  # for one rerun, or its share of the remaining time
PROGRESS_LINE_SECONDS = 60.0  # between two progress lines, if there is no terminal
BACKUPS = 10  # of the gradebook, in addition to the last one of each day
