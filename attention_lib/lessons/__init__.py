"""The lessons in order, and the mathematics of each in a module of its name.

A lesson's module imports only earlier ones, so that a grader can hand a submission the library up
to the lesson before its own.
"""

# The one list of lessons. Folders, notebooks, exercises and figures go by these names.
LESSONS = (
    "01_softmax",
    "02_stability",
    "03_scaling",
    "04_gradients",
    "05_attention",
    "06_multihead",
    "07_flash",
    "08_learning",
    "09_gpu",
)

# Former names of lessons, which a class may have them under.
RENAMED = {"08_gpu": "09_gpu"}

# Modules of a lesson that its learners may import: they contain no answer to it.
GIVEN = {"09_gpu": ("gpu.launch", "gpu.loops", "gpu.triton", "fast_flash")}

# Modules beside a lesson's own that do the work of its answers.
BESIDE = {"07_flash": ("fast_flash",)}


def module_of(lesson: str) -> str:
    """Return a lesson's name without its number, which its modules have: ``softmax``."""
    return lesson.partition("_")[2]


def modules_of(lesson: str) -> tuple[str, ...]:
    """Return the names of all modules that do the work of a lesson's answers."""
    return (module_of(lesson), *BESIDE.get(lesson, ()))
