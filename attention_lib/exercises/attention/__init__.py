"""The exercises of lesson 05: masks, attention, and attention within and between sequences."""

from attention_lib.exercises.attention.attention import EXERCISE as ATTENTION
from attention_lib.exercises.attention.causal_mask import EXERCISE as CAUSAL_MASK
from attention_lib.exercises.attention.cross_attention import EXERCISE as CROSS_ATTENTION
from attention_lib.exercises.attention.document_mask import EXERCISE as DOCUMENT_MASK
from attention_lib.exercises.attention.padding_mask import EXERCISE as PADDING_MASK
from attention_lib.exercises.attention.self_attention import EXERCISE as SELF_ATTENTION
from attention_lib.exercises.attention.sliding_window_mask import EXERCISE as SLIDING_WINDOW_MASK
from attention_lib.exercises.attention.written_mask import EXERCISE as WRITTEN_MASK

EXERCISES = (
    CAUSAL_MASK,
    PADDING_MASK,
    SLIDING_WINDOW_MASK,
    DOCUMENT_MASK,
    ATTENTION,
    SELF_ATTENTION,
    CROSS_ATTENTION,
    WRITTEN_MASK,
)
