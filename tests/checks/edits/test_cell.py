"""The functions of an answer's cell are found, and made anew from their trees."""

import ast

import numpy as np

from attention_lib.checks.edits.cell import source_of


def _doubled(x):
    return 2 * x


def _sum_of_doubles(x):
    return np.sum(_doubled(x))


def test_function_is_made_with_helpers_as_they_were_before_a_change():
    source = source_of(_sum_of_doubles)
    returned = source.helpers[0].body[0]
    before, returned.value = returned.value, ast.Constant(None, lineno=1, col_offset=0)
    assert source.made({source.helpers[0]}) is not None
    returned.value = before
    assert source.made({source.function})(np.ones(3)) == 6.0
