"""Mistakes that every attention over several heads can make, as patches of its plain answer."""

from __future__ import annotations

from attention_lib.exercises.parts.attention import OVERFLOW, WEIGHTS

SPLIT_WITHOUT_SWAP = (
    "One reshape straight to (..., H, L, D/H) deals whole positions out to the heads: "
    "reshape to (..., L, H, D/H), then swap the axes L and H."
)
HEADS_IN_TURNS = (
    "The heads take turns through the columns: head 0 gets the first D/H columns, the "
    "next head the next. Reshape to (..., L, H, D/H), H before D/H, then move H in front of L."
)
BEYOND_LARGE_NEGATIVES = 1e20  # a factor on queries: scores far from every number used for -inf


SOFTMAX_OVER_WRONG_AXIS = tuple(
    text
    for name, axis in (("queries", -2), ("heads", -3))
    for text in (
        f"softmax-over-{name}: Softmax runs over the {name}: it must run over the keys, the last axis.",
        f"{WEIGHTS} => {{softmax(scores, {axis})|masked_softmax(scores, scores > -np.inf, {axis})}}",
    )
)
EXP_OVERFLOWS = (
    "exp-overflows: The exponentials overflow for large scores: use the stable softmax of "
    "lesson 02, or attention.",
    OVERFLOW,
)
# First lines of an answer that goes on with its own last cache, where that is as long as the given one.
OWN_CACHE = (
    "own = vars(plain).get('own')\n"
    "    cache = own if cache and own and own[0].shape == cache[0].shape else cache\n    "
)
