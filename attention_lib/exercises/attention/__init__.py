"""The exercises of lesson 05: masks, attention, and attention within and between sequences."""

EXERCISES = (
    "attention",
    "self_attention",
    "causal_mask",
    "padding_mask",
    "sliding_window_mask",
    "document_mask",
    "cross_attention",
    "written_mask",
)
