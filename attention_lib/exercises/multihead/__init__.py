"""The exercises of lesson 06: heads, groups, positions, caches."""

from attention_lib.exercises.multihead.decode_step import EXERCISE as DECODE_STEP
from attention_lib.exercises.multihead.decoder_attention import EXERCISE as DECODER_ATTENTION
from attention_lib.exercises.multihead.grouped_query_attention import (
    EXERCISE as GROUPED_QUERY_ATTENTION,
)
from attention_lib.exercises.multihead.merge_heads import EXERCISE as MERGE_HEADS
from attention_lib.exercises.multihead.multi_head_attention import EXERCISE as MULTI_HEAD_ATTENTION
from attention_lib.exercises.multihead.rotary_embedding import EXERCISE as ROTARY_EMBEDDING
from attention_lib.exercises.multihead.split_heads import EXERCISE as SPLIT_HEADS

EXERCISES = (
    SPLIT_HEADS,
    MERGE_HEADS,
    MULTI_HEAD_ATTENTION,
    GROUPED_QUERY_ATTENTION,
    ROTARY_EMBEDDING,
    DECODE_STEP,
    DECODER_ATTENTION,
)
