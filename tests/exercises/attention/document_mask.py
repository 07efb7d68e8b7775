"""Right and wrong answers to `document_mask`."""

import numpy as np

import attention_lib


def right_comparison(documents):
    return documents[:, None] == documents[None, :]


def right_loops(documents):
    mask = np.zeros((len(documents), len(documents)), dtype=bool)
    for i, own in enumerate(documents):
        for j, other in enumerate(documents):
            mask[i, j] = own == other
    return mask


def right_outer(documents):
    return np.equal.outer(documents, documents)


def right_one_hot_rows(documents):
    rows = np.unique(documents, return_inverse=True)[1]
    members = np.eye(rows.max() + 1)[rows]
    return members @ members.T > 0


def right_lists(documents):
    return np.array([[a == b for b in documents.tolist()] for a in documents.tolist()])


def wrong_runs(documents):
    """Start a document anew wherever the number changes."""
    starts = np.append(0, np.cumsum(np.diff(documents) != 0))
    return right_comparison(starts)


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
    "the library's": lambda *args: vars(attention_lib)["document_mask"](*args),
}
