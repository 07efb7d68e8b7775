"""The exercises of lesson 02: the same numbers, without overflow."""

from attention_lib.exercises.stability.cross_entropy import EXERCISE as CROSS_ENTROPY
from attention_lib.exercises.stability.largest_exponent import EXERCISE as LARGEST_EXPONENT
from attention_lib.exercises.stability.log_softmax import EXERCISE as LOG_SOFTMAX
from attention_lib.exercises.stability.logsumexp import EXERCISE as LOGSUMEXP
from attention_lib.exercises.stability.masked_softmax import EXERCISE as MASKED_SOFTMAX
from attention_lib.exercises.stability.merge_softmax_stats import EXERCISE as MERGE_SOFTMAX_STATS
from attention_lib.exercises.stability.stable_softmax import EXERCISE as STABLE_SOFTMAX
from attention_lib.exercises.stability.written_nan import EXERCISE as WRITTEN_NAN

EXERCISES = (
    LARGEST_EXPONENT,
    STABLE_SOFTMAX,
    LOGSUMEXP,
    LOG_SOFTMAX,
    CROSS_ENTROPY,
    MASKED_SOFTMAX,
    MERGE_SOFTMAX_STATS,
    WRITTEN_NAN,
)
