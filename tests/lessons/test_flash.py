"""Lesson 07's functions, held to attention, to PyTorch, and to what they promise not to hold."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_lib import (
    attention,
    attention_backward,
    attention_bytes,
    logsumexp,
    merge_attention,
    online_softmax_stats,
    scaled_scores,
    tiled_attention,
    tiled_attention_backward,
    tiled_causal_attention,
)
from attention_lib.lessons import flash

TILED = {False: tiled_attention, True: tiled_causal_attention}
TOLERANCE = {np.float16: 2e-3, np.float32: 2e-6, np.float64: 1e-13}

# L, S, block size: short last blocks, blocks longer than all keys, one key at a time, whole
# blocks, and sizes on both sides of what one matrix product and one tile take.
SIZES = [
    (5, 7, 3),
    (4, 6, 2),
    (7, 5, 1),
    (3, 4, 100),
    (1, 1, 1),
    (33, 130, 128),
    (129, 65, 32),
    (64, 64, 64),
    (70, 300, 7),
]


def drawn(*shapes, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def peak_bytes(function, *arguments):
    """Return the most memory that NumPy held at a time during a call, and the result."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = function(*arguments)
        return tracemalloc.get_traced_memory()[1] - before, result
    finally:
        tracemalloc.stop()


def mask_of(is_causal, query, key):
    """Return the mask that shows query i the keys 0 to i, if causal."""
    return np.tri(query.shape[-2], key.shape[-2], dtype=bool) if is_causal else None


class TestOnlineSoftmaxStats:
    @given(st.data(), st.sampled_from([np.float16, np.float32, np.float64]))
    def test_is_the_softmax_of_the_whole_rows(self, data, dtype):
        widths = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=5))
        shape = tuple(data.draw(st.lists(st.integers(1, 3), max_size=2)))
        blocks = drawn(*((*shape, width) for width in widths), dtype=dtype)
        blocks = [block * dtype(30) for block in blocks]
        maximum, total = online_softmax_stats(iter(blocks))
        rows = np.concatenate(blocks, axis=-1).astype(np.float64)
        largest = rows.max(axis=-1, initial=-np.inf)
        assert maximum.dtype == total.dtype == dtype
        assert maximum.shape == total.shape == shape
        np.testing.assert_array_equal(maximum, largest)
        if rows.size:
            expected = np.exp(rows - largest[..., None]).sum(axis=-1)
            np.testing.assert_allclose(total, expected, rtol=max(np.finfo(dtype).eps, 1e-14))
        else:
            np.testing.assert_array_equal(total, 0)

    def test_reads_an_iterator_once_and_keeps_nothing(self):
        asked = []

        def blocks():
            for start in range(64):
                asked.append(start)
                yield np.full((100, 1000), float(start))

        peak, (maximum, total) = peak_bytes(online_softmax_stats, blocks())
        assert asked == list(range(64))
        np.testing.assert_array_equal(maximum, 63.0)
        np.testing.assert_allclose(total, 1000 / (1 - np.exp(-1)))
        assert peak < 6 * 100 * 1000 * 8

    def test_scores_of_minus_infinity_add_nothing(self):
        empty = np.array([[-np.inf, -np.inf]])
        maximum, total = online_softmax_stats([empty, empty])
        assert (maximum.item(), total.item()) == (-np.inf, 0.0)
        maximum, total = online_softmax_stats([empty, [[1.0, -np.inf]], empty])
        assert (maximum.item(), total.item()) == (1.0, 1.0)

    def test_integers_give_float64(self):
        maximum, total = online_softmax_stats([[[1, 2]], [[2]]])
        assert maximum.dtype == total.dtype == np.float64
        np.testing.assert_allclose(total, [2 + np.exp(-1)])

    @pytest.mark.parametrize(
        ("blocks", "error", "sentence"),
        [
            ([], ValueError, "blocks must hold at least one block"),
            ([1.0], ValueError, r"blocks must hold arrays of shape \(..., block\)"),
            ([[1.0], [[1.0]]], ValueError, r"rows of shapes \(\) and \(1,\)"),
            ([["a"]], TypeError, "blocks must hold real numbers"),
        ],
    )
    def test_what_is_no_row_is_refused(self, blocks, error, sentence):
        with pytest.raises(error, match=sentence):
            online_softmax_stats(blocks)


@pytest.mark.parametrize("is_causal", [False, True])
class TestTiledAttention:
    @pytest.mark.parametrize("dtype", list(TOLERANCE))
    @pytest.mark.parametrize("spread", [1.0, 8.0])
    @pytest.mark.parametrize(("length", "keys", "block_size"), SIZES)
    def test_is_attention(self, is_causal, length, keys, block_size, spread, dtype):
        query, key, value = drawn((length, 6), (keys, 6), (keys, 4), dtype=dtype)
        query *= dtype(spread)
        expected, _ = attention(query, key, value, mask_of(is_causal, query, key))
        got = TILED[is_causal](query, key, value, block_size)
        assert got.dtype == dtype
        tolerance = TOLERANCE[dtype] * spread
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)

    @given(data=st.data())
    def test_batches_broadcast(self, is_causal, data):
        sizes = st.integers(1, 5)
        length, keys, d_k, d_v = (data.draw(sizes) for _ in range(4))
        leading = [data.draw(st.sampled_from([(), (1,), (3,), (2, 1), (2, 3)])) for _ in range(3)]
        inputs = drawn(
            (*leading[0], length, d_k), (*leading[1], keys, d_k), (*leading[2], keys, d_v)
        )
        expected, _ = attention(*inputs, mask_of(is_causal, *inputs[:2]))
        got = TILED[is_causal](*inputs, data.draw(sizes))
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)

    @pytest.mark.parametrize("dtype", [np.float16, np.float32])
    def test_narrow_types_are_rounded_once(self, is_causal, dtype):
        inputs = drawn((2, 9, 6), (2, 9, 6), (2, 9, 4), dtype=dtype)
        exact = TILED[is_causal](*(array.astype(np.float64) for array in inputs), 4)
        got = TILED[is_causal](*inputs, 4)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, exact.astype(dtype))

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("size", [0.4, 1e-3, 1e-30])
    def test_scores_of_any_size(self, is_causal, size, dtype):
        largest = np.finfo(dtype).max
        query = np.array([[1.0], [-1.0], [0.5]], dtype) * dtype(size * np.sqrt(float(largest)))
        key = np.array([[-1.0], [1.0], [0.25]], dtype) * np.sqrt(largest)
        value = np.array([[1.0, -2.0], [3.0, 4.0], [-5.0, 6.0]], dtype)
        expected, _ = attention(query, key, value, mask_of(is_causal, query, key))
        for block_size in (1, 2, 3):
            got = TILED[is_causal](query, key, value, block_size)
            np.testing.assert_allclose(got, expected, rtol=1e-5)

    @pytest.mark.parametrize("size", [1e-37, 1e-30, 1e30, 3e37])
    def test_values_of_any_size(self, is_causal, size):
        query, key, value = drawn((5, 3), (5, 3), (5, 4), dtype=np.float32)
        expected = TILED[is_causal](query, key, value, 2) * np.float32(size)
        got = TILED[is_causal](3 * query, key / np.float32(3), value * np.float32(size), 2)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6 * size)

    @pytest.mark.parametrize("score", [25.0, 36.0, -25.0, -36.0])
    def test_large_and_small_exponentials_meet_large_and_small_values(self, is_causal, score):
        query, key = np.full((3, 1), score, np.float32), np.ones((3, 1), np.float32)
        for size in (1e-30, 1e-25, 1e25, 1e30):
            value = np.full((3, 2), size, np.float32)
            got = TILED[is_causal](query, key, value, 2)
            np.testing.assert_allclose(got, value, rtol=1e-6)

    @pytest.mark.parametrize("lowest", [-80.0, -100.0, -1000.0])
    def test_scores_far_below_zero(self, is_causal, lowest):
        query = np.ones((3, 1), np.float32)
        key = np.array([[0.0], [0.3], [0.77]], np.float32) + np.float32(lowest)
        value = np.array([[1.0], [4.0], [-2.0]], np.float32)
        expected, _ = attention(query, key, value, mask_of(is_causal, query, key))
        got = TILED[is_causal](query, key, value, 2)
        np.testing.assert_allclose(got, expected, rtol=-1e-6 * lowest)

    def test_a_late_maximum_replaces_all_before(self, is_causal):
        query, key = np.ones((4, 1)), np.array([[-500.0], [0.0], [500.0], [1000.0]])
        value = np.arange(4.0)[:, None]
        got = TILED[is_causal](query, key, value, 1)
        np.testing.assert_array_equal(got, value if is_causal else np.full((4, 1), 3.0))

    def test_the_future_weighs_nothing_at_all(self, is_causal):
        query, key = np.full((3, 1), 30.0, np.float32), np.full((3, 1), 30.0, np.float32)
        value = np.array([[1.0], [1.0], [1e35]], np.float32)
        got = TILED[is_causal](query, key, value, 3)
        np.testing.assert_allclose(got[:2], 1 if is_causal else np.float32(1e35) / 3, rtol=1e-6)

    def test_integers_give_float64(self, is_causal):
        query, key, value = (np.arange(6).reshape(3, 2) + i for i in range(3))
        expected, _ = attention(query, key, value, mask_of(is_causal, query, key))
        got = TILED[is_causal](query, key, value, 2)
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, expected, rtol=1e-14)

    @pytest.mark.parametrize("special", [np.inf, np.nan])
    def test_infinities_and_nan_spoil_their_rows_without_a_warning(self, is_causal, special):
        query, key, value = drawn((3, 2), (3, 2), (3, 4))
        query[1, 0] = special
        expected, _ = attention(query, key, value, mask_of(is_causal, query, key))
        got = TILED[is_causal](query, key, value, 2)
        assert np.isnan(got[1]).all()
        np.testing.assert_allclose(got[[0, 2]], expected[[0, 2]])

    def test_inputs_stay_as_they_were(self, is_causal):
        inputs = drawn((2, 9, 4), (9, 4), (2, 9, 3))
        inputs[0] = inputs[0][:, ::-1]  # a view with a negative stride will do
        before = [array.copy() for array in inputs]
        for array in inputs:
            array.flags.writeable = False
        TILED[is_causal](*inputs, 4)
        for array, old in zip(inputs, before, strict=True):
            np.testing.assert_array_equal(array, old)

    @pytest.mark.parametrize(
        "shapes",
        [
            [(0, 3), (4, 3), (4, 2)],
            [(5, 3), (0, 3), (0, 2)],
            [(2, 5, 3), (2, 0, 3), (2, 0, 2)],
            [(0, 5, 3), (0, 4, 3), (0, 4, 2)],
            [(5, 3), (4, 3), (4, 0)],
        ],
    )
    def test_nothing_to_attend_to_gives_what_attention_gives(self, is_causal, shapes):
        inputs = [np.ones(shape) for shape in shapes]
        expected, _ = attention(*inputs, mask_of(is_causal, *inputs[:2]))
        np.testing.assert_array_equal(TILED[is_causal](*inputs, 2), expected)

    @pytest.mark.parametrize(
        ("shapes", "block_size", "error", "sentence"),
        [
            ([(5, 3), (4, 2), (4, 2)], 2, ValueError, r"query .*\(5, 3\) and key .*\(4, 2\)"),
            ([(5, 3), (4, 3), (6, 2)], 2, ValueError, r"key .*\(4, 3\) and value .*\(6, 2\)"),
            ([(3,), (4, 3), (4, 2)], 2, ValueError, "query needs at least two dimensions"),
            ([(2, 5, 3), (3, 4, 3), (4, 2)], 2, ValueError, "before the last two must be equal"),
            ([(5, 3), (4, 3), (4, 2)], 0, ValueError, "block_size must be at least 1; it is 0"),
            ([(5, 3), (4, 3), (4, 2)], 2.0, TypeError, "block_size must be an integer; it is 2.0"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, is_causal, shapes, block_size, error, sentence):
        with pytest.raises(error, match=sentence):
            TILED[is_causal](*map(np.ones, shapes), block_size)


class TestWhatIsHeld:
    @pytest.mark.parametrize(("length", "keys", "block_size"), [(8, 60_000, 16), (16, 9000, 64)])
    def test_a_few_arrays_of_one_block_of_scores(self, length, keys, block_size):
        query, key, value = drawn((length, 4), (keys, 4), (keys, 4))
        tiled_attention(query, key, value, block_size)  # so that NumPy's own caches are filled
        peak, _ = peak_bytes(tiled_attention, query, key, value, block_size)
        assert peak < 8 * length * block_size * 8 + 20_000
        assert peak < length * keys * 8 / 4

    @pytest.mark.slow
    def test_no_strip_that_grows_with_the_length(self):
        for length in (1024, 4096):
            inputs = drawn((length, 4), (length, 4), (length, 4))
            peak, output = peak_bytes(tiled_causal_attention, *inputs, 32)
            assert peak < 2 * output.nbytes + 8 * 32 * 32 * 8 + 20_000

    @pytest.mark.parametrize(("length", "block_size"), [(64, 8), (61, 8), (50, 64), (300, 128)])
    def test_no_block_of_the_future_is_computed(self, length, block_size, monkeypatch):
        computed = []
        scaled_scores = flash.scaled_scores

        def counted(queries, keys):
            computed.append(len(queries) * len(keys))
            return scaled_scores(queries, keys)

        monkeypatch.setattr(flash, "scaled_scores", counted)
        tiled_causal_attention(*drawn((length, 3), (length, 3), (length, 2)), block_size)
        blocks = [min(block_size, length - j) for j in range(0, length, block_size)]
        allowed = sum(a * b for a, b in itertools.combinations_with_replacement(blocks, 2))
        assert sum(computed) == allowed


class TestTiledAttentionBackward:
    @pytest.mark.parametrize("dtype", list(TOLERANCE))
    @pytest.mark.parametrize(("length", "keys", "block_size"), SIZES)
    def test_is_attention_backward(self, length, keys, block_size, dtype):
        inputs = drawn((2, length, 6), (2, keys, 6), (2, keys, 4), dtype=dtype)
        (grad_output,) = drawn((2, length, 4), dtype=dtype, seed=1)
        expected = attention_backward(*inputs, grad_output)
        got = tiled_attention_backward(*inputs, *saved(*inputs), grad_output, block_size)
        tolerance = 5 * TOLERANCE[dtype]
        for ours, theirs in zip(got, expected, strict=True):
            assert ours.dtype == dtype
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)

    def test_gradients_of_copies_are_summed(self):
        inputs = drawn((2, 3, 6, 4), (3, 6, 4), (2, 1, 6, 5))
        (grad_output,) = drawn((2, 3, 6, 5), seed=1)
        expected = attention_backward(*inputs, grad_output)
        output, _ = attention(*inputs)
        sums = np.broadcast_to(logsumexp(scaled_scores(*inputs[:2])), (2, 3, 6))
        got = tiled_attention_backward(*inputs, output, sums, grad_output, 4)
        for ours, theirs in zip(got, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)

    def test_integers_give_float64(self):
        inputs = [np.arange(6).reshape(3, 2) for _ in range(3)]
        got = tiled_attention_backward(*inputs, *saved(*inputs), inputs[0], 2)
        assert {grad.dtype for grad in got} == {np.dtype(np.float64)}

    def test_holds_no_more_than_blocks(self):
        inputs = drawn((2048, 4), (2048, 4), (2048, 4))
        forward = saved(*inputs)
        peak, _ = peak_bytes(tiled_attention_backward, *inputs, *forward, inputs[0], 64)
        assert peak < 2048 * 2048 * 8 / 2

    @pytest.mark.parametrize(
        ("name", "shape"), [("grad_output", (5, 3)), ("output", (4, 2)), ("logsumexp", (5, 1))]
    )
    def test_what_was_not_saved_here_is_refused(self, name, shape):
        arguments = {
            "query": np.ones((5, 3)),
            "key": np.ones((4, 3)),
            "value": np.ones((4, 2)),
            "output": np.ones((5, 2)),
            "logsumexp": np.ones(5),
            "grad_output": np.ones((5, 2)),
            name: np.ones(shape),
        }
        with pytest.raises(ValueError, match=f"{name} must have shape .* it has shape"):
            tiled_attention_backward(**arguments, block_size=2)


def saved(query, key, value):
    """Return the output and log-sum-exp of attention, which the forward pass saves."""
    return attention(query, key, value)[0], logsumexp(scaled_scores(query, key))


class TestMergeAttention:
    @pytest.mark.parametrize("dtype", list(TOLERANCE))
    @pytest.mark.parametrize("places", [(2, 5), (1, 6), (3, 3), (0, 7)])
    def test_parts_joined_in_any_grouping_are_attention(self, places, dtype):
        query, key, value = drawn((2, 4, 5), (2, 7, 5), (2, 7, 3), dtype=dtype)
        tolerance = 8 * TOLERANCE[dtype]
        cuts = [slice(0, places[0]), slice(*places), slice(places[1], 7)]
        a, b, c = (saved(query, key[:, cut], value[:, cut]) for cut in cuts)
        whole = saved(query, key, value)
        for joined in (
            merge_attention(merge_attention(a, b), c),
            merge_attention(a, merge_attention(b, c)),
        ):
            for part, expected in zip(joined, whole, strict=True):
                assert part.dtype == dtype
                np.testing.assert_allclose(part, expected, rtol=tolerance, atol=tolerance)

    def test_no_keys_on_both_sides_stay_no_keys(self):
        empty = np.zeros((3, 2)), np.full(3, -np.inf)
        output, logsumexp = merge_attention(empty, empty)
        np.testing.assert_array_equal(output, 0)
        np.testing.assert_array_equal(logsumexp, -np.inf)

    def test_what_does_not_fit_is_refused(self):
        left = np.ones((3, 2)), np.ones(3)
        with pytest.raises(ValueError, match="both logsumexp"):
            merge_attention(left, (np.ones((3, 2)), np.ones((3, 1))))
        with pytest.raises(ValueError, match="each be a pair"):
            merge_attention(left, (np.ones((3, 2)),))


class TestAttentionBytes:
    @pytest.mark.parametrize(("length", "head_dim", "itemsize"), [(7, 3, 4), (1000, 64, 2)])
    def test_counts_each_array_once_for_each_way(self, length, head_dim, itemsize):
        vectors, scores = length * head_dim * itemsize, length * length * itemsize
        naive = (2 * vectors + scores) + (scores + scores) + (scores + vectors + vectors)
        assert attention_bytes(length, head_dim, itemsize) == (naive, 4 * vectors)

    @pytest.mark.parametrize(("block_rows", "tiles"), [(1, 7), (3, 3), (7, 1), (9, 1)])
    def test_keys_and_values_are_read_once_for_each_tile(self, block_rows, tiles):
        naive, tiled = attention_bytes(7, 3, 4, block_rows)
        assert naive == attention_bytes(7, 3, 4)[0]
        assert tiled == (2 + 2 * tiles) * 7 * 3 * 4

    def test_large_counts_do_not_overflow(self):
        naive, tiled = attention_bytes(np.int32(2**20), np.int32(128), np.int32(4))
        assert naive == 4 * 4 * (2**20 * 128 + 2**40)
        assert tiled == 4 * 4 * 2**20 * 128

    @pytest.mark.parametrize(
        ("arguments", "error", "sentence"),
        [
            ((-1, 64, 4), ValueError, "length must be at least 0; it is -1"),
            ((10, 6.4, 4), TypeError, "head_dim must be an integer; it is 6.4"),
            ((10, 64, 4, 0), ValueError, "block_rows must be at least 1; it is 0"),
            ((10, 64, None), TypeError, "itemsize must be an integer; it is None"),
        ],
    )
    def test_what_cannot_be_counted_is_refused(self, arguments, error, sentence):
        with pytest.raises(error, match=sentence):
            attention_bytes(*arguments)
