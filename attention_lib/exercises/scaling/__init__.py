"""The exercises of lesson 03: the size of scores, and how sharp the weights are."""

from attention_lib.exercises.scaling.dot_product_scores import EXERCISE as DOT_PRODUCT_SCORES
from attention_lib.exercises.scaling.entropy import EXERCISE as ENTROPY
from attention_lib.exercises.scaling.scaled_scores import EXERCISE as SCALED_SCORES
from attention_lib.exercises.scaling.score_std import EXERCISE as SCORE_STD
from attention_lib.exercises.scaling.softmax_with_temperature import (
    EXERCISE as SOFTMAX_WITH_TEMPERATURE,
)
from attention_lib.exercises.scaling.temperature_for_entropy import (
    EXERCISE as TEMPERATURE_FOR_ENTROPY,
)
from attention_lib.exercises.scaling.top_p import EXERCISE as TOP_P
from attention_lib.exercises.scaling.written_alignment import EXERCISE as WRITTEN_ALIGNMENT

EXERCISES = (
    DOT_PRODUCT_SCORES,
    SCORE_STD,
    SCALED_SCORES,
    WRITTEN_ALIGNMENT,
    ENTROPY,
    SOFTMAX_WITH_TEMPERATURE,
    TEMPERATURE_FOR_ENTROPY,
    TOP_P,
)
