"""Right and wrong answers to `document_mask`."""

import numpy as np


def right_comparison(documents):
    return documents[:, None] == documents[None, :]


def wrong_sorted_in_place(documents):
    mask = right_comparison(documents)
    documents.sort()
    return mask


WRONG = {
    "documents in order": lambda d: right_comparison(np.sort(d)),
    "parity": lambda d: right_comparison(d % 2),
    "by absolute value": lambda d: right_comparison(np.abs(d) // 2),
    "document 0 sees all": lambda d: right_comparison(d) | (d == 0)[:, None],
    "the first document seen by all": lambda d: right_comparison(d) | (d == d[0]),
    "ones and zeros": lambda d: right_comparison(d).astype(int),
    "with an axis for the batch": lambda d: right_comparison(d)[None],
}
