"""Lesson 09's functions: held to their definitions, in pieces and in each dtype."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_lib import (
    decoder_attention,
    decoder_block,
    draw_word,
    gated_feed_forward,
    generate,
    model_scores,
    rms_norm,
    softmax,
    top_p,
)
from attention_lib.exercises.model.model_scores import draw_model

DTYPES = (np.float16, np.float32, np.float64)


def drawn(dtype, *shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def small_model(seed=0, words=11, length=6):
    rng = np.random.default_rng(seed)
    return draw_model(rng, length, words, 16, 3, (4, 2)).args


class TestRmsNorm:
    @given(st.integers(0, 99), st.floats(1e-3, 1e3))
    def test_the_mean_square_becomes_1_whatever_the_size(self, seed, factor):
        x = factor * drawn(np.float64, 3, 7, seed=seed)
        normed = rms_norm(x, np.ones(7), epsilon=1e-12 * factor**2)
        np.testing.assert_allclose((normed**2).mean(axis=-1), 1)
        np.testing.assert_allclose(normed * np.sqrt((x**2).mean(-1, keepdims=True)), x)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_each_dtype_is_rounded_once(self, dtype):
        x, gain = drawn(dtype, 5, 8), drawn(dtype, 8, seed=1)
        got = rms_norm(x, gain)
        exact = rms_norm(x.astype(float), gain.astype(float))
        assert got.dtype == dtype
        np.testing.assert_allclose(got, exact, rtol=float(np.finfo(dtype).eps))

    def test_a_vector_of_zeros_stays_one(self):
        np.testing.assert_array_equal(rms_norm(np.zeros((2, 3)), np.ones(3)), 0)

    @pytest.mark.parametrize("gain", [np.ones(3), np.ones((1, 4)), 1.0])
    def test_a_gain_that_does_not_fit(self, gain):
        with pytest.raises(ValueError, match=r"gain must have shape \(D,\)"):
            rms_norm(np.ones((2, 4)), gain)


class TestFeedForward:
    def test_each_number_is_its_formula(self):
        x, gate, up = (drawn(np.float64, 5, 5, seed=seed) for seed in range(3))
        got = gated_feed_forward(x, gate, up, np.eye(5))
        for row, column in np.ndindex(5, 5):
            z = x[row] @ gate[:, column]
            expected = z / (1 + math.exp(-z)) * (x[row] @ up[:, column])
            assert math.isclose(got[row, column], expected, rel_tol=1e-12)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("z", [-1e4, -800, 0, 800, 1e4])
    def test_no_gate_overflows(self, dtype, z):
        one = np.ones((1, 1), dtype)
        with np.errstate(all="raise", under="ignore"):
            got = gated_feed_forward(dtype(z) * one, one, one / dtype(z or 1), one)
        np.testing.assert_allclose(got, max(z, 0))
        assert got.dtype == dtype

    def test_shapes_that_do_not_fit(self):
        with pytest.raises(ValueError, match=r"w_gate and w_up must have one shape"):
            gated_feed_forward(np.ones((2, 3)), np.ones((3, 4)), np.ones((3, 5)), np.ones((4, 3)))
        with pytest.raises(ValueError, match=r"does not fit w_gate"):
            gated_feed_forward(np.ones((2, 2)), np.ones((3, 4)), np.ones((3, 4)), np.ones((4, 3)))


class TestModel:
    def test_a_block_adds_two_parts_to_its_input(self):
        tokens, model = small_model()
        weights, x = model["blocks"][0], model["embedding"][tokens]
        heads = model["num_heads"], model["num_groups"], np.arange(len(tokens))
        got, cache = decoder_block(x, weights, *heads)
        matrices = [weights[name] for name in ("w_q", "w_k", "w_v", "w_o")]
        output, own = decoder_attention(rms_norm(x, weights["attention_gain"]), *matrices, *heads)
        h = x + output
        feed = [weights[name] for name in ("w_gate", "w_up", "w_down")]
        expected = h + gated_feed_forward(rms_norm(h, weights["feed_forward_gain"]), *feed)
        np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(cache, own)

    @given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    def test_a_text_in_pieces_gives_what_it_gives_at_once(self, pieces):
        tokens, model = small_model(length=sum(pieces))
        at_once, after = model_scores(tokens, model)
        caches, begin, rows = None, 0, []
        for piece in pieces:
            scores, caches = model_scores(tokens[begin : begin + piece], model, caches)
            rows.append(scores)
            begin += piece
        np.testing.assert_allclose(np.concatenate(rows), at_once, atol=1e-12)
        np.testing.assert_allclose(np.array(caches), np.array(after), atol=1e-12)

    def test_float32_stays_near_float64(self):
        tokens, model = small_model()
        narrow = {
            **model,
            "embedding": model["embedding"].astype(np.float32),
            "gain": model["gain"].astype(np.float32),
            "blocks": [
                {name: array.astype(np.float32) for name, array in block.items()}
                for block in model["blocks"]
            ],
        }
        scores, _ = model_scores(tokens, narrow)
        assert scores.dtype == np.float32
        np.testing.assert_allclose(scores, model_scores(tokens, model)[0], atol=1e-4)

    def test_the_base_of_the_model_is_used(self):
        tokens, model = small_model()
        other = model | {"base": 50.0}
        assert not np.allclose(model_scores(tokens, model)[0], model_scores(tokens, other)[0])

    def test_bad_arguments(self):
        tokens, model = small_model()
        with pytest.raises(ValueError, match=r"tokens must have shape \(L,\)"):
            model_scores([tokens], model)
        _, caches = model_scores(tokens, model)
        with pytest.raises(ValueError, match="There are 3 blocks and 2 caches"):
            model_scores(tokens, model, caches[:2])


class TestTopP:
    @given(st.integers(0, 99), st.integers(1, 9), st.floats(0.01, 0.99))
    def test_keeps_the_fewest_largest_that_reach_p(self, seed, size, p):
        weights = softmax(2 * drawn(np.float64, 3, size, seed=seed))
        for row, got in zip(weights, top_p(weights, p), strict=True):
            ranked = np.sort(row)[::-1]
            count = next(n for n in range(1, size + 1) if n == size or ranked[:n].sum() >= p)
            assert set(np.flatnonzero(got)) == set(np.argsort(-row)[:count])
            np.testing.assert_allclose(got[got > 0], row[got > 0] / ranked[:count].sum())

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_p_of_1_keeps_the_row(self, dtype):
        weights = softmax(drawn(dtype, 4, 50) * dtype(8))
        kept = top_p(weights, 1)
        assert kept.dtype == dtype
        np.testing.assert_array_equal(kept > 0, weights > 0)

    @pytest.mark.parametrize("p", [0, -0.5, 1.5, np.nan])
    def test_p_outside_is_refused(self, p):
        with pytest.raises(ValueError, match="p must be"):
            top_p(np.array([0.5, 0.5]), p)


class TestDrawing:
    @given(st.integers(0, 99))
    @settings(max_examples=20)  # each draws many words
    def test_each_word_owns_a_stretch_as_long_as_its_weight(self, seed):
        scores = 2 * drawn(np.float64, 6, seed=seed)
        weights = top_p(softmax(scores / 0.8), 0.9)
        us = (np.arange(500) + 0.5) / 500
        counts = np.bincount([draw_word(scores, 0.8, 0.9, u) for u in us], minlength=6)
        np.testing.assert_allclose(counts / 500, weights, atol=3e-3)
        assert not counts[weights == 0].any()

    def test_the_ends_of_the_line(self):
        scores = np.array([-1e4, 0.0, 1.0, -1e4])
        assert draw_word(scores, 1.0, 1.0, 0.0) == 1
        assert draw_word(scores, 1.0, 1.0, np.nextafter(1.0, 0.0)) == 2

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match=r"scores must have shape \(V,\)"):
            draw_word(np.zeros((2, 3)), 1.0, 1.0, 0.5)
        for u in (-0.1, 1.0, np.nan):
            with pytest.raises(ValueError, match="u must be at least 0 and below 1"):
                draw_word(np.zeros(3), 1.0, 1.0, u)


class TestGenerate:
    def test_writes_what_reading_the_whole_text_each_time_gives(self):
        tokens, model = small_model(length=3)
        got = generate(lambda t, c: model_scores(t, model, c), tokens, 8, np.argmax)
        text = list(tokens)
        for _ in range(8):
            text.append(int(model_scores(text, model)[0][-1].argmax()))
        assert got.tolist() == text[3:]

    def test_calls_step_once_a_word(self):
        calls = []

        def step(tokens, caches):
            calls.append((tokens.tolist(), caches))
            return np.eye(9)[tokens + 1], len(calls)

        assert generate(step, [3, 1], 3, np.argmax).tolist() == [2, 3, 4]
        assert calls == [([3, 1], None), ([2], 1), ([3], 2)]
        assert generate(step, [3], 0, np.argmax).size == 0
        assert generate(step, [3], 5, np.argmax, stop=6).tolist() == [4, 5]

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match=r"prompt must have shape \(L,\)"):
            generate(None, np.empty(0, int), 1, None)
        with pytest.raises(TypeError, match="prompt must hold integers"):
            generate(None, [0.5], 1, None)
        with pytest.raises(ValueError, match="count must be at least 0"):
            generate(None, [1], -1, None)
