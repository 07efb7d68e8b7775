"""Right and wrong answers to `weighted_sum`."""

import operator

RIGHT = {"operator": operator.matmul}
