"""What runs an answer hands it the arguments that it promises."""

import numpy as np
import pytest

from attention_lib.checks.calls.staging import on_strided_arrays


@pytest.mark.parametrize("shape", [(2, 3), (4, 1, 2)])
def test_strided_arrays_have_their_values_and_no_flat_view(shape):
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    (seen,), options = on_strided_arrays(lambda *args, **kwargs: (args, kwargs))(array, eps=0.5)
    assert np.array_equal(seen, array)
    assert seen.dtype == np.float32
    assert not np.shares_memory(seen.reshape(-1), seen)
    assert options == {"eps": 0.5}


def test_arguments_that_are_no_arrays_reach_the_answer_as_they_are():
    def square(x):
        return x * x

    assert on_strided_arrays(lambda *args: args)(square, 3) == (square, 3)
