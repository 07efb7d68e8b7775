"""The exercises of lesson 08: layers of attention that learn."""

from attention_lib.exercises.learning.adam_step import EXERCISE as ADAM_STEP
from attention_lib.exercises.learning.attention_layer import EXERCISE as ATTENTION_LAYER
from attention_lib.exercises.learning.attention_layer_backward import (
    EXERCISE as ATTENTION_LAYER_BACKWARD,
)
from attention_lib.exercises.learning.copying_score import EXERCISE as COPYING_SCORE
from attention_lib.exercises.learning.embed import EXERCISE as EMBED
from attention_lib.exercises.learning.induction_score import EXERCISE as INDUCTION_SCORE
from attention_lib.exercises.learning.next_word_loss import EXERCISE as NEXT_WORD_LOSS
from attention_lib.exercises.learning.written_heads import EXERCISE as WRITTEN_HEADS

EXERCISES = (
    EMBED,
    ATTENTION_LAYER,
    INDUCTION_SCORE,
    COPYING_SCORE,
    WRITTEN_HEADS,
    NEXT_WORD_LOSS,
    ATTENTION_LAYER_BACKWARD,
    ADAM_STEP,
)
