"""Right and wrong answers to `decoder_block`."""

import numpy as np

from attention_lib.lessons.multihead import decoder_attention
from tests.exercises.model.gated_feed_forward import right_by_signs as feed_forward
from tests.exercises.model.gated_feed_forward import right_by_tanh
from tests.exercises.model.rms_norm import right_by_norm
from tests.exercises.model.rms_norm import right_textbook as norm


def right_textbook(x, weights, num_heads, num_groups, positions, cache=None, base=10000.0):
    attention_weights = [weights[name] for name in ("w_q", "w_k", "w_v", "w_o")]
    output, cache = decoder_attention(
        norm(x, weights["attention_gain"]),
        *attention_weights,
        num_heads,
        num_groups,
        positions,
        cache,
        base,
    )
    x = x + output
    feed_weights = [weights[name] for name in ("w_gate", "w_up", "w_down")]
    return x + feed_forward(norm(x, weights["feed_forward_gain"]), *feed_weights), cache


def right_in_place_on_a_copy(
    x, weights, num_heads, num_groups, positions, cache=None, base=10000.0
):
    w, x = weights, x.copy()
    inside = right_by_norm(x, w["attention_gain"])
    more, new = decoder_attention(
        inside,
        w["w_q"],
        w["w_k"],
        w["w_v"],
        w["w_o"],
        num_heads,
        num_groups,
        positions,
        cache,
        base,
    )
    x += more
    inside = right_by_norm(x, w["feed_forward_gain"])
    x += right_by_tanh(inside, w["w_gate"], w["w_up"], w["w_down"])
    return [x, list(new)]


def right_by_names(x, weights, num_heads, num_groups, positions, cache=None, base=10000.0):
    def part(gain, x):
        return norm(x, weights[gain])

    matrices = {name: weights[name] for name in ("w_q", "w_k", "w_v", "w_o")}
    counts = {"num_heads": num_heads, "num_groups": num_groups, "positions": positions}
    mixed, cache = decoder_attention(
        part("attention_gain", x), **matrices, **counts, cache=cache, base=base
    )
    h = mixed + x
    z = part("feed_forward_gain", h)
    return h + feed_forward(z, *(weights[n] for n in ("w_gate", "w_up", "w_down"))), cache


def wrong_x_changed(x, weights, num_heads, num_groups, positions, cache=None, base=10000.0):
    result, cache = right_textbook(x, weights, num_heads, num_groups, positions, cache, base)
    x[...] = result
    return x, cache


def wrong_weights_emptied(x, weights, num_heads, num_groups, positions, cache=None, base=10000.0):
    result = right_textbook(x, weights, num_heads, num_groups, positions, cache, base)
    weights["attention_gain"][...] = 1
    return result


WRONG = {
    "twice": lambda *args, **named: right_textbook(
        right_textbook(*args, **named)[0], *args[1:], **named
    ),
    "halved": lambda *args, **named: (
        (result := right_textbook(*args, **named))[0] / 2 + args[0] / 2,
        result[1],
    ),
    "other epsilon": lambda x, weights, *others, **named: right_textbook(
        x,
        weights | {"attention_gain": weights["attention_gain"] * np.float64(1.0001)},
        *others,
        **named,
    ),
}
