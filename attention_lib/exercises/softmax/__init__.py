"""The exercises of lesson 01: from scores to attention weights."""

EXERCISES = (
    "normalize_by_sum",
    "softmax",
    "study_weights",
    "weighted_sum",
    "written_softmax",
)
