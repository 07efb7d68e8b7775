"""The exercises of lesson 03: the size of scores, and how sharp the weights are."""

EXERCISES = (
    "dot_product_scores",
    "score_std",
    "scaled_scores",
    "written_alignment",
    "entropy",
    "softmax_with_temperature",
    "temperature_for_entropy",
)
