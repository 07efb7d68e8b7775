"""The exercises of lesson 08: layers of attention that learn."""

EXERCISES = (
    "embed",
    "attention_layer",
    "induction_score",
    "copying_score",
    "written_heads",
    "next_word_loss",
    "attention_layer_backward",
    "adam_step",
    "patched_loss",
)
