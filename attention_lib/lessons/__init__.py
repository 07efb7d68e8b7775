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
    "09_model",
    "10_gpu",
)

# Former names of lessons, which a class may have them under.
RENAMED = {"08_gpu": "10_gpu", "09_gpu": "10_gpu"}

# Modules of a lesson that its learners may import: they contain no answer to it.
GIVEN = {"10_gpu": ("gpu.launch", "gpu.loops", "gpu.programs", "gpu.tile_language", "gpu.triton")}


def module_of(lesson: str) -> str:
    """Return a lesson's name without its number, which its modules have: ``softmax``."""
    return lesson.partition("_")[2]
