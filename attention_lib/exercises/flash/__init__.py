"""The exercises of the lesson on tiled attention: attention without the L × S matrix."""

from attention_lib.exercises.flash.attention_bytes import EXERCISE as ATTENTION_BYTES
from attention_lib.exercises.flash.merge_attention import EXERCISE as MERGE_ATTENTION
from attention_lib.exercises.flash.online_softmax_stats import EXERCISE as ONLINE_SOFTMAX_STATS
from attention_lib.exercises.flash.tiled_attention import EXERCISE as TILED_ATTENTION
from attention_lib.exercises.flash.tiled_attention_backward import (
    EXERCISE as TILED_ATTENTION_BACKWARD,
)
from attention_lib.exercises.flash.tiled_causal_attention import EXERCISE as TILED_CAUSAL_ATTENTION

EXERCISES = (
    ONLINE_SOFTMAX_STATS,
    TILED_ATTENTION,
    TILED_CAUSAL_ATTENTION,
    MERGE_ATTENTION,
    ATTENTION_BYTES,
    TILED_ATTENTION_BACKWARD,
)
