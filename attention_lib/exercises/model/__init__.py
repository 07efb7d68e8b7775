"""The exercises of lesson 09: a language model on your attention."""

EXERCISES = (
    "rms_norm",
    "gated_feed_forward",
    "decoder_block",
    "model_scores",
    "top_p",
    "draw_word",
    "generate",
    "written_model",
)
