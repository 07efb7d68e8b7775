"""The exercises of lesson 05: masks, attention, and attention within and between sequences."""

EXERCISES = (
    "causal_mask",
    "padding_mask",
    "sliding_window_mask",
    "document_mask",
    "attention",
    "self_attention",
    "cross_attention",
    "written_mask",
)
