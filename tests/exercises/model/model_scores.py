"""Right and wrong answers to `model_scores`."""

import numpy as np

from tests.exercises.model.decoder_block import right_in_place_on_a_copy
from tests.exercises.model.decoder_block import right_textbook as block
from tests.exercises.model.rms_norm import right_textbook as norm


def right_textbook(tokens, model, caches=None):
    blocks = model["blocks"]
    caches = [None] * len(blocks) if caches is None else caches
    start = 0 if caches[0] is None else caches[0][0].shape[-2]
    positions = np.arange(start, start + len(tokens))
    x, after = model["embedding"][tokens], []
    for weights, cache in zip(blocks, caches, strict=True):
        x, cache = block(
            x, weights, model["num_heads"], model["num_groups"], positions, cache, model["base"]
        )
        after.append(cache)
    return norm(x, model["gain"]) @ model["embedding"].T, after


def right_word_by_word(tokens, model, caches=None):
    """Read one word after the other, with the caches of those before."""
    rows = []
    for token in tokens:
        start = caches[0][0].shape[1] if caches else 0
        x, after = model["embedding"][[token]], []
        for i, weights in enumerate(model["blocks"]):
            x, cache = right_in_place_on_a_copy(
                x,
                weights,
                model["num_heads"],
                model["num_groups"],
                np.array([start]),
                caches[i] if caches else None,
                base=model["base"],
            )
            after.append(cache)
        caches = after
        rows.append(model["embedding"] @ norm(x, model["gain"])[0])
    return np.stack(rows), caches


def right_as_a_dict_of_caches(tokens, model, caches=None):
    """Take the embedding by a table of ones, and return tuples."""
    chosen = np.eye(len(model["embedding"]), dtype=model["embedding"].dtype)[tokens]
    x = chosen @ model["embedding"]
    old = dict(enumerate(caches or ()))
    start = old[0][1].shape[-2] if old else 0
    new = {}
    for i, weights in enumerate(model["blocks"]):
        named = {name: model[name] for name in ("num_heads", "num_groups", "base")}
        positions = start + np.arange(tokens.size)
        x, new[i] = block(x, weights, positions=positions, cache=old.get(i), **named)
    x = norm(x, model["gain"])
    return np.einsum("ld,vd->lv", x, model["embedding"]), tuple(new.values())


def wrong_caches_changed(tokens, model, caches=None):
    result = right_textbook(tokens, model, caches)
    if caches is not None:
        caches[0][0][...] = 0
    return result


def wrong_model_remembers(tokens, model, caches=None):
    """Keep the caches in the model, which is passed in, and is changed."""
    result = right_textbook(tokens, model, caches)
    model["embedding"][...] = 0
    return result


WRONG = {
    "scores shifted": lambda *args: (
        (result := right_textbook(*args))[0] - result[0].max(-1, keepdims=True),
        result[1],
    ),
    "scores per root of D": lambda *args: (
        (result := right_textbook(*args))[0] / np.sqrt(args[1]["embedding"].shape[1]),
        result[1],
    ),
}
