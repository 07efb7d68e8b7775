"""Right and wrong answers to `merge_softmax_stats`."""

import collections

import numpy as np

Stats = collections.namedtuple("Stats", "maximum total")


def right_as_a_named_tuple(left, right):
    parts = [np.asarray(part) * np.ones((), np.float32) for part in (*left, *right)]
    return Stats(*joined_where_filled(*(np.asarray(part) for part in parts)))


def joined_where_filled(left_maximum, left_total, right_maximum, right_total):
    maximum = np.asarray(np.fmax(left_maximum, right_maximum))
    total = np.zeros_like(maximum)
    for part, count in ((left_maximum, left_total), (right_maximum, right_total)):
        filled = part > -np.inf
        total[filled] += count[filled] * np.exp(part[filled] - maximum[filled])
    return maximum, total


def merged(left, right):
    maximum = np.maximum(left[0], right[0])
    with np.errstate(invalid="ignore"):
        total = left[1] * np.exp(left[0] - maximum) + right[1] * np.exp(right[0] - maximum)
    return maximum, np.nan_to_num(total)


def maxima_held_above(floor, back):
    def answer(left, right):
        lifted = [
            (np.maximum(part[0], np.asarray(part[0]).dtype.type(floor)), part[1])
            for part in (left, right)
        ]
        maximum, total = merged(*lifted)
        return (np.where(maximum == floor, -np.inf, maximum) if back else maximum), total

    return answer


def wrong_empties_the_left_totals(left, right):
    result = merged(left, right)
    if isinstance(left[1], np.ndarray):
        left[1][...] = 0
    return result


def wrong_totals_of_1(left, right):
    return merged((left[0], np.ones_like(left[1])), (right[0], np.ones_like(right[1])))


WRONG = {
    "-inf as -1e9": maxima_held_above(-1e9, back=False),
    "-inf as -1e9 and back": maxima_held_above(-1e9, back=True),
    "the smaller maximum": lambda left, right: (
        np.minimum(left[0], right[0]),
        merged(left, right)[1],
    ),
    "constant in the total": lambda left, right: (
        merged(left, right)[0],
        merged(left, right)[1] + np.float32(1e-9),
    ),
    "one array": lambda left, right: np.stack(merged(left, right)),
    "always float64": lambda left, right: tuple(np.asarray(x, float) for x in merged(left, right)),
    "arrays alone": lambda left, right: joined_where_filled(*left, *right),
}
