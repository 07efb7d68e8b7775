"""Every limit of the grader, with its unit: how much, how many, how long.

Used as ``limits.NAME`` in the body of a function, so that there is one place to change a limit.
This module imports nothing: submissions see it, since their processes obey it too.
"""

MIB = 1 << 20

# Intake: what is taken of one submission.
CODE_CELL_CHARACTERS = 200_000
MARKDOWN_CELL_CHARACTERS = 20_000
CELL_PICTURES = 50  # pasted into a Markdown cell
NOTEBOOK_CELLS = 10_000
ADDED_CELLS = 500  # cells of a student's own
ADDED_CHARACTERS = 1_000_000  # in these cells together
NOTEBOOK_BYTES = 20_000_000
EXTRA_FILE_BYTES = 10_000_000  # of any file but the notebook
EXTRA_FILES_BYTES = 50_000_000  # of these together
EXTRA_FILES = 200  # beside the notebook
FOLDER_ENTRIES = 2_000  # files and folders looked at
FOLDER_DEPTH = 5  # folders within folders
NOTEBOOK_BRACKETS = 500_000  # in a notebook's JSON, each of which takes a hundred bytes of memory
FILES_NAMED_PER_NOTE = 5  # to the student, who is told how many more there are
TIMESTAMP_BYTES = 100  # of timestamp.txt
SECRET_BYTES = 1_000  # of submission_secret.txt
RELEASED_NOTEBOOKS_CACHED = 16
INTAKE_CPU_SECONDS = 10.0  # to read a notebook's JSON and rebuild it
INTAKE_MEMORY_BYTES = 1024 * MIB  # beyond what the process has

# Collecting: what is taken of an instructor's folder of downloads.
DOWNLOADS = 5_000  # files and folders
ARCHIVE_BYTES = 100_000_000
ARCHIVE_UNPACKED_BYTES = 70_000_000  # of all files in it
ARCHIVE_RATIO = 50  # times that unpacked files may be larger, beyond NOTEBOOK_BYTES
ARCHIVE_ENTRIES = 2_000
FILE_NAME_BYTES = 200
EXPORT_BYTES = 4_000_000_000  # of a learning platform's export of a whole class
EXPORT_ENTRIES = 50_000

# Sandbox: what a submission's processes may use.
SUBMISSION_MEMORY_BYTES = 1024 * MIB  # beyond what Python and NumPy take
SUBMISSION_CPU_SECONDS = 300  # of all its processes together
SUBMISSION_WALL_SECONDS = 600.0  # for all cells and checks together
SUBMISSION_PROCESSES = 32  # threads included
SUBMISSION_OPEN_FILES = 64
SOCKET_BUFFER_BYTES = 212_992  # of one socket or pipe, where the system does not say
SUBMISSION_FILE_BYTES = 4 * MIB  # of one file
SUBMISSION_FOLDER_BYTES = 64 * MIB  # of all files
SUBMISSION_FOLDER_FILES = 10_000
SUBMISSION_SHARED_MEMORY_BYTES = 1 * MIB
SANDBOX_START_SECONDS = 60.0
INTERRUPT_GRACE_SECONDS = 2.0  # until an interrupted process is killed
CALLBACK_ARGUMENT_NUMBERS = 100_000  # in an array that a submission passes to a callback

# Inside: what may cross from a submission's process to the grader.
MESSAGE_BYTES = 64 * MIB
MESSAGE_JSON_BYTES = 4 * MIB  # which take twenty times as much memory once they are parsed
MESSAGE_VALUES = 20_000
MESSAGE_DEPTH = 20  # containers inside containers
ARRAY_DIMENSIONS = 32
MESSAGE_EMPTY_ENTRIES = 1_000_000  # of arrays that are sent as their shape alone, together
STRING_CHARACTERS = 100_000
# Of all values of a message together, were each as long as its longest text.
TEXTS_BYTES = 256 * MIB
DTYPE_CHARACTERS = 30  # a longer name could describe a thousand fields
INTEGER_BITS = 10_000
DECIMAL_CHARACTERS = 200  # of a decimal number
TYPE_NAME_CHARACTERS = 80
RESULT_BYTES = 2 * MIB  # of what one call returns
PRINTED_CHARACTERS = 2000  # by one call
WARNINGS_PER_CALL = 5
WARNING_CHARACTERS = 500
ERROR_CHARACTERS = 2000  # of an error's text
ERROR_TYPES = 8  # base classes of an error
ERROR_FRAMES = 8
ERROR_LINE_CHARACTERS = 500  # of the line of code in each of them
CELL_OUTPUTS = 200
CELL_CHARACTERS = 100_000  # of text that one cell shows
CELL_RICH_CHARACTERS = 4_000_000  # of pictures, HTML and the like
CELL_ERROR_NAME_CHARACTERS = 200
CELL_ERROR_CHARACTERS = 5000
CELL_TRACEBACK_LINES = 50
CELL_TRACEBACK_LINE_CHARACTERS = 20_000

# Judge: how long cells and answers may run.
CELL_SECONDS = 60.0  # wall-clock time of one cell, unless nbgrader_config.py says otherwise
CELL_OUTPUT_BYTES = 8_000_000  # of the message in which a process reports one cell's outputs
ALL_OUTPUT_BYTES = 20_000_000  # of the outputs of all of a submission's cells
ALL_OUTPUTS = 5_000  # of these together

# Pages: what feedback shows.
MARKDOWN_GROWTH = 40  # times that text grows as HTML: a character of code may take a tag
PICTURE_REPEATS = 2  # times that a cell's pictures are shown
PIECE_ELEMENTS = 10_000  # tags of one output or Markdown cell; colors of one text
PIECE_DEPTH = 100  # elements inside elements
PIECE_CPU_SECONDS = 1.0  # to render it
PLAIN_CHARACTERS = 20_000  # of what is shown as plain text, for being beyond one of these
HIGHLIGHTED_CHARACTERS = 20_000  # of a code cell in color
SUMMARY_CHARACTERS = 500  # of what a check said, in the list at the top of a page
CACHED_LESSON_CELLS = 1_000  # as HTML, in each process that writes pages
STYLE_CHARACTERS = 1_000  # of a style attribute
STYLE_BRACKETS = 20
COLOR_CHARACTERS = 30  # of a terminal's escape sequence
PAGE_ELEMENTS = 100_000  # after which all else is plain text
PAGE_PIECES_CPU_SECONDS = 10.0  # likewise
PAGE_CPU_SECONDS = 60.0  # after which a page shows points alone, as after the next two
PAGE_MEMORY_BYTES = 1024 * MIB  # beyond what the process has
PAGE_WALL_SECONDS = 240.0  # after which its process is killed

# Batch: workers, backups, progress.
DEATHS = 3  # of a call's workers, after which the call is given up
PROGRESS_SECONDS = 1.0  # between two updates of the progress line on a terminal
PROGRESS_LINE_SECONDS = 60.0  # between two progress lines where there is no terminal
NAMES_WAITED_FOR = 2  # in the progress line
NAME_CHARACTERS = 20  # of each of them
BACKUPS = 10  # copies of the gradebook that are kept
