"""The tuned tiled attention, held to attention, to PyTorch, and to what it promises not to hold."""

import itertools
import threading

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention

from attention_lib import attention
from attention_lib.lessons import fast_flash
from tests.lessons.tiled import SIZES, TOLERANCE, drawn, mask_of, peak_bytes


def attended(is_causal, query, key, value, block_size=fast_flash.BLOCK_SIZE):
    return fast_flash.attend(query, key, value, block_size, is_causal)[0]


@pytest.mark.parametrize("is_causal", [False, True])
class TestAttend:
    @pytest.mark.parametrize("dtype", list(TOLERANCE))
    @pytest.mark.parametrize("spread", [1.0, 8.0])
    @pytest.mark.parametrize(("length", "keys", "block_size"), SIZES)
    def test_is_attention(self, is_causal, length, keys, block_size, spread, dtype):
        query, key, value = drawn((length, 6), (keys, 6), (keys, 4), dtype=dtype)
        query *= dtype(spread)
        expected, _ = attention(query, key, value, mask_of(is_causal, query, key))
        got = attended(is_causal, query, key, value, block_size)
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
        expected, weights = attention(*inputs, mask_of(is_causal, *inputs[:2]))
        got, logsumexp = fast_flash.attend(*inputs, data.draw(sizes), is_causal)
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)
        first_score = (inputs[0][..., :1] * 0).sum(-1) + np.einsum(
            "...lc,...c->...l", inputs[0], inputs[1][..., 0, :]
        ) / np.sqrt(d_k)
        np.testing.assert_allclose(np.exp(first_score - logsumexp), weights[..., 0], rtol=1e-12)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_the_default_block_over_several_tiles(self, is_causal, dtype):
        query, key, value = drawn((2, 2100, 64), (2, 2100, 64), (2, 2100, 64), dtype=dtype)
        expected = scaled_dot_product_attention(
            *(torch.from_numpy(array.astype(np.float64)) for array in (query, key, value)),
            is_causal=is_causal,
        )
        got = attended(is_causal, query, key, value)
        np.testing.assert_allclose(got, expected, atol=TOLERANCE[dtype])

    def test_threads_give_the_same_numbers(self, is_causal, monkeypatch):
        inputs = drawn((5, 600, 16), (5, 600, 16), (5, 600, 8), dtype=np.float32)
        monkeypatch.setattr(fast_flash, "TILE_SCORES", 2**13)
        monkeypatch.setattr(fast_flash, "PARALLEL_SCORES", 0)
        results = []
        for threads in ("1", "3"):
            monkeypatch.setenv("OPENBLAS_NUM_THREADS", threads)
            results.append(attended(is_causal, *inputs, 64))
        np.testing.assert_array_equal(*results)

    @pytest.mark.parametrize("vectorized", [True, False])
    def test_either_exponential_will_do(self, is_causal, vectorized, monkeypatch):
        exponential = (np.exp2, 1 / np.log(2)) if vectorized else (np.exp, 1.0)
        monkeypatch.setattr(fast_flash, "_fastest_exponential", lambda: exponential)
        query, key, value = drawn((20, 6), (20, 6), (20, 4))
        for spread in (1, 1000):
            expected, weights = attention(
                spread * query, key, value, mask_of(is_causal, query, key)
            )
            got, logsumexp = fast_flash.attend(spread * query, key, value, 8, is_causal)
            np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12)
            own = spread * np.sum(query * key, axis=-1) / np.sqrt(6)
            np.testing.assert_allclose(
                np.exp(own - logsumexp), np.diag(weights), rtol=1e-9, atol=1e-300
            )

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("size", [0.4, 1e-3, 1e-30])
    def test_scores_of_any_size(self, is_causal, size, dtype):
        largest = np.finfo(dtype).max
        query = np.array([[1.0], [-1.0], [0.5]], dtype) * dtype(size * np.sqrt(float(largest)))
        key = np.array([[-1.0], [1.0], [0.25]], dtype) * np.sqrt(largest)
        value = np.array([[1.0, -2.0], [3.0, 4.0], [-5.0, 6.0]], dtype)
        expected, _ = attention(query, key, value, mask_of(is_causal, query, key))
        for block_size in (1, 2, 3):
            got = attended(is_causal, query, key, value, block_size)
            np.testing.assert_allclose(got, expected, rtol=1e-5)

    @pytest.mark.parametrize("size", [1e-37, 1e-30, 1e30, 3e37])
    def test_values_of_any_size(self, is_causal, size):
        query, key, value = drawn((5, 3), (5, 3), (5, 4), dtype=np.float32)
        expected = attended(is_causal, query, key, value, 2) * np.float32(size)
        got = attended(is_causal, 3 * query, key / np.float32(3), value * np.float32(size), 2)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6 * size)

    @pytest.mark.parametrize("score", [25.0, 36.0, -25.0, -36.0])
    def test_large_and_small_exponentials_meet_large_and_small_values(self, is_causal, score):
        query, key = np.full((3, 1), score, np.float32), np.ones((3, 1), np.float32)
        for size in (1e-30, 1e-25, 1e25, 1e30):
            value = np.full((3, 2), size, np.float32)
            got = attended(is_causal, query, key, value, 2)
            np.testing.assert_allclose(got, value, rtol=1e-6)

    @pytest.mark.parametrize("lowest", [-80.0, -100.0, -1000.0])
    def test_scores_far_below_zero(self, is_causal, lowest):
        query = np.ones((3, 1), np.float32)
        key = np.array([[0.0], [0.3], [0.77]], np.float32) + np.float32(lowest)
        value = np.array([[1.0], [4.0], [-2.0]], np.float32)
        expected, _ = attention(query, key, value, mask_of(is_causal, query, key))
        got = attended(is_causal, query, key, value, 2)
        np.testing.assert_allclose(got, expected, rtol=-1e-6 * lowest)

    def test_a_late_maximum_replaces_all_before(self, is_causal):
        query, key = np.ones((4, 1)), np.array([[-500.0], [0.0], [500.0], [1000.0]])
        value = np.arange(4.0)[:, None]
        got = attended(is_causal, query, key, value, 1)
        np.testing.assert_array_equal(got, value if is_causal else np.full((4, 1), 3.0))

    def test_the_future_weighs_nothing_at_all(self, is_causal):
        query, key = np.full((3, 1), 30.0, np.float32), np.full((3, 1), 30.0, np.float32)
        value = np.array([[1.0], [1.0], [1e35]], np.float32)
        got = attended(is_causal, query, key, value, 3)
        np.testing.assert_allclose(got[:2], 1 if is_causal else np.float32(1e35) / 3, rtol=1e-6)

    def test_integers_give_float64(self, is_causal):
        query, key, value = (np.arange(6).reshape(3, 2) + i for i in range(3))
        expected, _ = attention(query, key, value, mask_of(is_causal, query, key))
        got = attended(is_causal, query, key, value, 2)
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, expected, rtol=1e-14)

    @pytest.mark.parametrize("special", [np.inf, np.nan])
    def test_infinities_and_nan_spoil_their_rows_without_a_warning(self, is_causal, special):
        query, key, value = drawn((3, 2), (3, 2), (3, 4))
        query[1, 0] = special
        expected, _ = attention(query, key, value, mask_of(is_causal, query, key))
        got = attended(is_causal, query, key, value, 2)
        assert np.isnan(got[1]).all()
        np.testing.assert_allclose(got[[0, 2]], expected[[0, 2]])

    def test_inputs_stay_as_they_were(self, is_causal):
        inputs = drawn((2, 9, 4), (9, 4), (2, 9, 3))
        inputs[0] = inputs[0][:, ::-1]  # a view with a negative stride will do
        before = [array.copy() for array in inputs]
        for array in inputs:
            array.flags.writeable = False
        attended(is_causal, *inputs, 4)
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
        np.testing.assert_array_equal(attended(is_causal, *inputs, 2), expected)

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
            fast_flash.attend(*map(np.ones, shapes), block_size, is_causal)


def test_what_a_helping_thread_raises_is_raised_here():
    together = threading.Barrier(2, timeout=60)

    def run(job):
        together.wait()
        if threading.current_thread() is not threading.main_thread():
            raise MemoryError(job)

    with pytest.raises(MemoryError):
        fast_flash.run_all(run, [1, 2], threads=2)


class TestWhatIsHeld:
    @pytest.mark.parametrize(("length", "keys", "block_size"), [(8, 60_000, 16), (16, 9000, 64)])
    def test_no_more_than_a_block_of_scores(self, length, keys, block_size):
        query, key, value = drawn((length, 4), (keys, 4), (keys, 4), dtype=np.float32)
        attended(False, query, key, value, block_size)
        peak, _ = peak_bytes(attended, False, query, key, value, block_size)
        scores = length * block_size * 4
        vectors = 4 * (length + block_size) * 4 * 4
        assert peak < scores + vectors + keys * 4 + 20_000  # the keys' lengths, and Python's own
        assert peak < length * keys * 4 / 4

    @pytest.mark.parametrize("is_causal", [False, True])
    @pytest.mark.parametrize("threads", [1, 2])
    def test_memory_does_not_grow_with_the_length(self, is_causal, threads, monkeypatch):
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", str(threads))
        for length in (4096, 8192):
            inputs = drawn((length, 8), (length, 8), (length, 8), dtype=np.float32)
            peak, output = peak_bytes(attended, is_causal, *inputs)
            assert peak < output.nbytes + length * 4 + threads * 1.5 * fast_flash.TILE_SCORES * 4

    def test_a_huge_block_does_not_make_a_huge_tile(self):
        inputs = drawn((2048, 4), (2048, 4), (2048, 4), dtype=np.float32)
        peak, _ = peak_bytes(attended, False, *inputs, 2048)
        assert peak < 2048 * 2048 * 4 / 2

    @pytest.mark.parametrize(("length", "block_size"), [(64, 8), (61, 8), (50, 64), (2100, 128)])
    def test_no_block_of_the_future_is_computed(self, length, block_size, monkeypatch):
        computed = []
        multiply = fast_flash._multiply

        def counted(left, right, out, rows):
            if right.shape[0] == 3:  # queries times keys
                computed.append(len(left) * right.shape[1])
            multiply(left, right, out, rows)

        monkeypatch.setattr(fast_flash, "_multiply", counted)
        monkeypatch.setattr(fast_flash, "PARALLEL_SCORES", np.inf)
        attended(True, *drawn((length, 3), (length, 3), (length, 2)), block_size)
        blocks = [min(block_size, length - j) for j in range(0, length, block_size)]
        allowed = sum(a * b for a, b in itertools.combinations_with_replacement(blocks, 2))
        assert sum(computed) == allowed


@pytest.fixture
def new_lookup():
    """Have the exponential looked up again, and forget what was found."""
    fast_flash._fastest_exponential.cache_clear()
    yield
    fast_flash._fastest_exponential.cache_clear()


@pytest.mark.usefixtures("new_lookup")
class TestFastestExponential:
    @pytest.mark.parametrize("functions", [{}, {"exp2": {}}])
    def test_numpy_that_has_no_such_entry_computes_with_exp(self, functions, monkeypatch):
        monkeypatch.setattr(np.lib.introspect, "opt_func_info", lambda *names: functions)
        assert fast_flash._fastest_exponential() == (np.exp, 1.0)
        output, _ = fast_flash.attend(np.zeros((1, 2)), np.ones((2, 2)), [[1.0], [3.0]])
        np.testing.assert_array_equal(output, [[2.0]])

    def test_numpy_without_introspection_computes_with_exp(self, monkeypatch):
        monkeypatch.delattr(np.lib, "introspect")
        assert fast_flash._fastest_exponential() == (np.exp, 1.0)

    @pytest.mark.parametrize(
        ("target", "platform", "expected"),
        [
            ("X86_V4", "linux", np.exp2),
            ("baseline(X86_V2)", "linux", np.exp),
            ("X86_V4", "win32", np.exp),
        ],
    )
    def test_the_vector_exp2_is_used_where_there_is_one(
        self, target, platform, expected, monkeypatch
    ):
        functions = {"exp2": {"ff": {"current": target, "available": target}}}
        monkeypatch.setattr(np.lib.introspect, "opt_func_info", lambda *names: functions)
        monkeypatch.setattr(fast_flash.sys, "platform", platform)
        assert fast_flash._fastest_exponential()[0] is expected
