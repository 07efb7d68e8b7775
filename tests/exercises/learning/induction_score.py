"""Right and wrong answers to `induction_score`."""

import numpy as np


def right_in_loops(weights, tokens):
    found = []
    for i in range(len(tokens)):
        earlier = [j for j in range(i) if tokens[j] == tokens[i]]
        if earlier:
            found.append(sum(weights[i, j + 1] for j in earlier))
    return sum(found) / len(found) if found else 0.0


def right_by_masks(weights, tokens):
    earlier = np.tril(tokens[:, None] == tokens[None, :], k=-1)
    after = np.roll(earlier, 1, axis=1)
    after[:, 0] = False
    rows = earlier.any(axis=1)
    return float((weights * after).sum(axis=1)[rows].mean()) if rows.any() else 0.0


def right_from_shifted_words(weights, tokens):
    """Compare each word with the one before each place."""
    before = np.concatenate([[np.iinfo(tokens.dtype).min], tokens[:-1]])
    fits = (tokens[:, None] == before) & np.tri(len(tokens), dtype=bool)
    repeats = np.array([word in tokens[:i] for i, word in enumerate(tokens)])
    if not repeats.any():
        return 0
    return np.float64(np.where(fits, weights, 0).sum() / repeats.sum())


def right_with_a_dictionary(weights, tokens):
    places, total, count = {}, 0.0, 0
    for i, word in enumerate(tokens.tolist()):
        if word in places:
            total += float(weights[i][[j + 1 for j in places[word]]].sum())
            count += 1
        places.setdefault(word, []).append(i)
    return np.array(total / max(count, 1))


def wrong_share_of_largest(weights, tokens):
    found = []
    for i in range(len(tokens)):
        after = [j + 1 for j in range(i) if tokens[j] == tokens[i]]
        if after:
            found.append(float(weights[i].argmax() in after))
    return float(np.mean(found)) if found else 0.0


def wrong_median_of_rows(weights, tokens):
    found = []
    for i in range(len(tokens)):
        after = [j + 1 for j in range(i) if tokens[j] == tokens[i]]
        if after:
            found.append(weights[i, after].sum())
    return float(np.median(found)) if found else 0.0


WRONG = {
    "previous word": lambda weights, tokens: float(np.diagonal(weights, -1).mean()),
    "same word": lambda weights, tokens: float(
        np.tril(weights * (tokens[:, None] == tokens), -1).sum(1).mean()
    ),
    "never itself": lambda weights, tokens: right_in_loops(np.tril(weights, -1), tokens),
    "last row alone": lambda weights, tokens: float(
        sum(weights[-1, j + 1] for j in range(len(tokens) - 1) if tokens[j] == tokens[-1])
    ),
    "one row for each word": lambda weights, tokens: (
        float(
            np.mean(
                [
                    sum(weights[i, j + 1] for j in range(i) if tokens[j] == tokens[i])
                    for i in {w: i for i, w in enumerate(tokens.tolist())}.values()
                    if list(tokens).index(tokens[i]) < i
                ]
            )
        )
        if len(set(tokens.tolist())) < len(tokens)
        else 0.0
    ),
    "rounded": lambda weights, tokens: round(float(right_in_loops(weights, tokens)), 9),
    "always 0": lambda weights, tokens: 0.0,
}
