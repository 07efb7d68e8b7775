"""Right and wrong answers to `dot_product_scores`."""

import numpy as np


@np.vectorize(signature="(l,d),(s,d)->(l,s)")
def right_item_by_item(query, key):
    return np.linalg.multi_dot([query, key.T])
