"""The exercises of lesson 01: from scores to attention weights."""

from attention_lib.exercises.softmax.normalize_by_sum import EXERCISE as NORMALIZE_BY_SUM
from attention_lib.exercises.softmax.softmax import EXERCISE as SOFTMAX
from attention_lib.exercises.softmax.study_weights import EXERCISE as STUDY_WEIGHTS
from attention_lib.exercises.softmax.weighted_sum import EXERCISE as WEIGHTED_SUM
from attention_lib.exercises.softmax.written_softmax import EXERCISE as WRITTEN_SOFTMAX

EXERCISES = (
    NORMALIZE_BY_SUM,
    SOFTMAX,
    STUDY_WEIGHTS,
    WEIGHTED_SUM,
    WRITTEN_SOFTMAX,
)
