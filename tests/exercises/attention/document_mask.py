"""Right and wrong answers to `document_mask`."""

import numpy as np

import attention_lib


def by_comparison(documents):
    return documents[:, None] == documents[None, :]


def by_loops(documents):
    mask = np.zeros((len(documents), len(documents)), dtype=bool)
    for i, own in enumerate(documents):
        for j, other in enumerate(documents):
            mask[i, j] = own == other
    return mask


def by_outer(documents):
    return np.equal.outer(documents, documents)


def by_one_hot_rows(documents):
    rows = np.unique(documents, return_inverse=True)[1]
    members = np.eye(rows.max() + 1)[rows]
    return members @ members.T > 0


def by_lists(documents):
    return np.array([[a == b for b in documents.tolist()] for a in documents.tolist()])


RIGHT = [by_comparison, by_loops, by_outer, by_one_hot_rows, by_lists]


def runs(documents):
    """Start a document anew wherever the number changes."""
    starts = np.append(0, np.cumsum(np.diff(documents) != 0))
    return by_comparison(starts)


def sorted_in_place(documents):
    mask = by_comparison(documents)
    documents.sort()
    return mask


WRONG = {
    "a document that comes again is another": runs,
    "documents in order": lambda d: by_comparison(np.sort(d)),
    "parity": lambda d: by_comparison(d % 2),
    "by absolute value": lambda d: by_comparison(np.abs(d) // 2),
    "document 0 sees all": lambda d: by_comparison(d) | (d == 0)[:, None],
    "the first document seen by all": lambda d: by_comparison(d) | (d == d[0]),
    "ones and zeros": lambda d: by_comparison(d).astype(int),
    "with an axis for the batch": lambda d: by_comparison(d)[None],
    "sorts its documents": sorted_in_place,
    "the library's": lambda *args: vars(attention_lib)["document_mask"](*args),
}
