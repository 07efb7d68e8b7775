"""Lesson 09: the parts of a language model around its attention, and how it draws words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attention_lib.arguments import (
    as_floating,
    as_integer,
    as_positive,
    in_own_dtype,
    require_entries,
    round_to,
    working_dtype,
)
from attention_lib.lessons.learning import as_tokens
from attention_lib.lessons.multihead import Cache, decoder_attention
from attention_lib.lessons.scaling import softmax_with_temperature

__all__ = [
    "decoder_block",
    "draw_word",
    "gated_feed_forward",
    "generate",
    "model_scores",
    "rms_norm",
    "top_p",
]

Weights = Mapping[str, NDArray]
Step = Callable[[NDArray, Any], tuple[NDArray, Any]]


def rms_norm(x: ArrayLike, gain: ArrayLike, epsilon: float = 1e-5) -> NDArray[np.floating]:
    r"""Divide each vector by the root of the mean of its squares, and multiply by the gain.

    Parameters
    ----------
    x : array_like, shape (..., D)
        One vector for each position.
    gain : array_like, shape (D,)
        A factor for each component.
    epsilon : float, default 1e-5
        Added to the mean of the squares, so that a vector of zeros stays one.

    Returns
    -------
    ndarray, shape (..., D)
        :math:`x / \sqrt{\mathrm{mean}(x^2) + \epsilon} \cdot \mathrm{gain}`, in the common dtype of
        `x` and `gain` (float64 for integers).

    Raises
    ------
    TypeError
        If `x` or `gain` does not hold real numbers.
    ValueError
        If `gain` does not have one entry for each component, or `epsilon` is not positive.

    Notes
    -----
    Zhang and Sennrich, "Root Mean Square Layer Normalization", arXiv:1910.07467 (2019). Unlike layer
    normalization it subtracts no mean; unlike softmax its results do not sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import rms_norm
    >>> rms_norm(np.array([3.0, 4.0, 0.0, 0.0]), np.ones(4), epsilon=1e-12)
    array([1.2, 1.6, 0. , 0. ])
    """
    x, gain = as_floating(x, "x"), as_floating(gain, "gain")
    epsilon = as_positive(epsilon, "epsilon")
    if x.ndim == 0 or gain.shape != x.shape[-1:]:
        raise ValueError(
            f"gain must have shape (D,), one entry for each component of x (..., D); they have "
            f"shapes {gain.shape} and {x.shape}."
        )
    wide = x.astype(working_dtype(x.dtype), copy=False)
    mean_square = (wide * wide).mean(axis=-1, keepdims=True)
    return round_to(wide / np.sqrt(mean_square + epsilon) * gain, np.result_type(x, gain))


def gated_feed_forward(
    x: ArrayLike, w_gate: ArrayLike, w_up: ArrayLike, w_down: ArrayLike
) -> NDArray[np.floating]:
    r"""Let each vector through a wide layer, half of which decides how much of the other passes.

    Parameters
    ----------
    x : array_like, shape (..., D)
        One vector for each position.
    w_gate, w_up : array_like, shape (D, F)
        The matrices that make the gates, and what they let through.
    w_down : array_like, shape (F, D)
        The matrix that leads back to D components.

    Returns
    -------
    ndarray, shape (..., D)
        :math:`(\mathrm{silu}(x W_{gate}) \odot x W_{up}) W_{down}`, with :math:`\mathrm{silu}(z) = z /
        (1 + e^{-z})`, in the common dtype of the arguments (float64 for integers).

    Raises
    ------
    TypeError
        If an argument does not hold real numbers.
    ValueError
        If the shapes do not fit.

    Notes
    -----
    Shazeer, "GLU Variants Improve Transformer", arXiv:2002.05202 (2020), where it is called SwiGLU.
    Each position is treated by itself: only attention moves something between positions.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import gated_feed_forward
    >>> one = np.eye(2)
    >>> gated_feed_forward(np.array([[1.0, -1.0]]), one, one, one).round(3)
    array([[0.731, 0.269]])
    """
    (x, w_gate, w_up, w_down), dtype = in_own_dtype(x=x, w_gate=w_gate, w_up=w_up, w_down=w_down)
    if x.ndim == 0 or w_gate.shape != w_up.shape or w_gate.shape != w_down.shape[::-1]:
        raise ValueError(
            "w_gate and w_up must have one shape (D, F) and w_down (F, D); they have shapes "
            f"{w_gate.shape}, {w_up.shape} and {w_down.shape}."
        )
    if w_gate.ndim != 2 or w_gate.shape[0] != x.shape[-1]:
        raise ValueError(f"x of shape {x.shape} does not fit w_gate (D, F) of {w_gate.shape}.")
    gate = x @ w_gate
    passing = np.exp(-np.logaddexp(0.0, -gate))  # 1 / (1 + e^-z), which never overflows
    return round_to((gate * passing * (x @ w_up)) @ w_down, dtype)


def decoder_block(
    x: ArrayLike,
    weights: Weights,
    num_heads: int,
    num_groups: int,
    positions: ArrayLike,
    cache: Cache | None = None,
    base: float = 10000.0,
) -> tuple[NDArray[np.floating], Cache]:
    """Compute a block of a language model: attention, then a feed-forward layer, each added to x.

    Parameters
    ----------
    x : array_like, shape (..., L, D)
        The vectors of the L newest words.
    weights : mapping of str to array_like
        ``attention_gain`` (D,), ``w_q`` and ``w_o`` (D, D), ``w_k`` and ``w_v`` (D, G · d),
        ``feed_forward_gain`` (D,), ``w_gate`` and ``w_up`` (D, F), ``w_down`` (F, D).
    num_heads, num_groups, positions, cache, base
        As in `decoder_attention`.

    Returns
    -------
    x : ndarray, shape (..., L, D)
        The vectors after the block, in the common dtype of `x` and the weights.
    cache : pair of ndarray, each of shape (..., G, t, d)
        The rotated keys, and the values, of all t words so far.

    Raises
    ------
    KeyError
        If one of the weights is missing.
    TypeError, ValueError
        As `rms_norm`, `decoder_attention` and `gated_feed_forward` raise them.

    Notes
    -----
    Each part reads a normalized copy of the vectors and adds its result to the vectors themselves,
    as in Touvron et al., "LLaMA", arXiv:2302.13971 (2023).

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import decoder_block
    >>> names = "w_q", "w_k", "w_v", "w_o", "w_gate", "w_up", "w_down"
    >>> weights = dict.fromkeys(names, np.zeros((2, 2)))
    >>> weights |= dict.fromkeys(("attention_gain", "feed_forward_gain"), np.ones(2))
    >>> x, cache = decoder_block(np.array([[1.0, 2.0]]), weights, 1, 1, np.array([0]))
    >>> x, cache[0].shape
    (array([[1., 2.]]), (1, 1, 2))
    """
    x = as_floating(x, "x")
    projections = (weights[name] for name in ("w_q", "w_k", "w_v", "w_o"))
    output, cache = decoder_attention(
        rms_norm(x, weights["attention_gain"]),
        *projections,
        num_heads,
        num_groups,
        positions,
        cache,
        base,
    )
    x = x + output
    layers = (weights[name] for name in ("w_gate", "w_up", "w_down"))
    return x + gated_feed_forward(rms_norm(x, weights["feed_forward_gain"]), *layers), cache


def model_scores(
    tokens: ArrayLike, model: Mapping[str, Any], caches: Sequence[Cache] | None = None
) -> tuple[NDArray[np.floating], tuple[Cache, ...]]:
    """Score every word of the vocabulary as the one that follows, after each of the newest words.

    Parameters
    ----------
    tokens : array_like of int, shape (L,)
        The numbers of the L newest words.
    model : mapping of str to what a language model needs
        ``embedding`` (V, D), ``blocks``, a list of the weights of each `decoder_block`, ``gain`` (D,),
        ``num_heads``, ``num_groups`` and ``base``.
    caches : sequence of pairs of array_like, optional
        One cache for each block, as the last call returned them. They are not changed.

    Returns
    -------
    scores : ndarray, shape (L, V)
        Row l scores each word as the one after word l, in the weights' dtype.
    caches : tuple of pairs of ndarray
        One cache for each block, with the new words included.

    Raises
    ------
    TypeError
        If `tokens` does not hold integers.
    ValueError
        If `tokens` has not the shape (L,), a token is not the number of a word, there is not one
        cache for each block, or shapes do not fit.

    Notes
    -----
    The embedding serves twice: a word's vector goes in, and comes out as the direction in which
    that word is scored (Press and Wolf, arXiv:1608.05859, 2017).

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import model_scores
    >>> model = {"embedding": np.eye(2), "blocks": [], "gain": np.ones(2)}
    >>> model |= {"num_heads": 1, "num_groups": 1, "base": 10000.0}
    >>> scores, caches = model_scores([1, 0], model)
    >>> scores.round(3)
    array([[0.   , 1.414],
           [1.414, 0.   ]])
    """
    embedding = model["embedding"]
    tokens = as_tokens(tokens, len(embedding))
    if tokens.ndim != 1:
        raise ValueError(f"tokens must have shape (L,); it has shape {tokens.shape}.")
    blocks = model["blocks"]
    before = [None] * len(blocks) if caches is None else list(caches)
    if len(before) != len(blocks):
        raise ValueError(f"There are {len(blocks)} blocks and {len(before)} caches.")
    start = before[0][0].shape[-2] if before and before[0] else 0
    positions = np.arange(start, start + len(tokens))
    heads = model["num_heads"], model["num_groups"]
    x, after = embedding[tokens], []
    for weights, cache in zip(blocks, before, strict=True):
        x, cache = decoder_block(x, weights, *heads, positions, cache, model["base"])
        after.append(cache)
    return rms_norm(x, model["gain"]) @ embedding.T, tuple(after)


def top_p(weights: ArrayLike, p: float) -> NDArray[np.floating]:
    """Keep of each row the fewest largest weights whose sum is at least p, and divide by that sum.

    Parameters
    ----------
    weights : array_like, shape (..., n)
        Rows of weights that are not negative and sum to 1.
    p : float
        How much of the weight to keep, above 0 and at most 1. A p of 1 keeps the whole row.

    Returns
    -------
    ndarray, shape (..., n)
        The weights kept, each row with the sum 1, and zeros elsewhere; in the dtype of `weights`
        (float64 for integers).

    Raises
    ------
    TypeError
        If `weights` does not hold real numbers or `p` is not a number.
    ValueError
        If `p` is not above 0 and at most 1, or there is no entry in a row.

    Notes
    -----
    Nucleus sampling: Holtzman et al., "The Curious Case of Neural Text Degeneration",
    arXiv:1904.09751 (2019). Of equal weights those that stand first are kept first.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import top_p
    >>> top_p(np.array([0.125, 0.5, 0.0625, 0.3125]), 0.75).round(3)
    array([0.   , 0.615, 0.   , 0.385])
    """
    weights = as_floating(weights, "weights")
    p = as_positive(p, "p")
    if p > 1:
        raise ValueError(f"p must be above 0 and at most 1; it is {p}.")
    require_entries(weights, -1, "weights")
    order = np.argsort(-weights, axis=-1, kind="stable")
    ranked = np.take_along_axis(weights.astype(working_dtype(weights.dtype)), order, axis=-1)
    larger = np.cumsum(ranked, axis=-1) - ranked  # the sum of all that are larger
    ranked = np.where((larger < p) | (p == 1), ranked, 0.0)
    kept = np.zeros_like(ranked)
    np.put_along_axis(kept, order, ranked / ranked.sum(axis=-1, keepdims=True), axis=-1)
    return round_to(kept, weights.dtype)


def draw_word(scores: ArrayLike, temperature: float, p: float, u: float) -> int:
    """Draw a word from the scores of all words.

    Parameters
    ----------
    scores : array_like, shape (V,)
        The score of each word.
    temperature : float
        What the scores are divided by, a positive number.
    p : float
        How much of the weight to keep, above 0 and at most 1, as in `top_p`.
    u : float
        A number drawn evenly from 0 to 1, without 1. The same number draws the same word.

    Returns
    -------
    int
        The first word, in the order of the vocabulary, at which the running total of the weights
        exceeds `u`.

    Raises
    ------
    TypeError
        If `scores` does not hold real numbers, or another argument is not a number.
    ValueError
        If `scores` does not have shape (V,), or a number is out of its range.

    Notes
    -----
    Drawing by the inverse of the distribution function: word i owns a stretch of the line from 0 to
    1 that is as long as its weight, so a word of weight 0 owns none.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import draw_word
    >>> scores = np.log([0.5, 0.125, 0.375])
    >>> [draw_word(scores, 1.0, 1.0, u) for u in (0.0, 0.49, 0.51, 0.99)]
    [0, 0, 1, 2]
    >>> [draw_word(scores, 1.0, 0.8, u) for u in (0.0, 0.49, 0.51, 0.99)]
    [0, 0, 0, 2]
    """
    scores = as_floating(scores, "scores")
    if scores.ndim != 1:
        raise ValueError(f"scores must have shape (V,); it has shape {scores.shape}.")
    if not 0 <= u < 1:
        raise ValueError(f"u must be at least 0 and below 1; it is {u}.")
    wide = scores.astype(working_dtype(scores.dtype), copy=False)
    weights = top_p(softmax_with_temperature(wide, temperature), p)
    word = np.searchsorted(np.cumsum(weights), u, side="right")
    return int(min(word, np.flatnonzero(weights)[-1]))  # rounding may leave the total below u


def generate(
    step: Step,
    prompt: ArrayLike,
    count: int,
    choose: Callable[[NDArray], int],
    stop: int | None = None,
) -> NDArray[np.integer]:
    """Write on from a prompt, one word after another.

    Parameters
    ----------
    step : callable
        ``step(tokens, caches)`` takes the newest words, an array of shape (L,), and the caches of all
        earlier ones (None at first), both by position. It returns ``(scores, caches)``, with scores
        of shape (L, V).
    prompt : array_like of int, shape (L,)
        The words to go on from, one or more.
    count : int
        The largest number of words to write.
    choose : callable
        Takes the scores (V,) after the last word, and returns the next word.
    stop : int, optional
        The word that ends the text. It is not returned.

    Returns
    -------
    ndarray of int, shape (n,)
        The new words, `count` of them at most.

    Raises
    ------
    TypeError
        If `prompt` does not hold integers, or `count` is not an integer.
    ValueError
        If `prompt` holds no word, or `count` is negative.

    Notes
    -----
    The prompt is read at once, then each new word by itself: all earlier keys and values are in the
    caches. The last word is not read, since nothing is asked after it.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import generate
    >>> def step(tokens, caches):  # scores the word after this one highest, of five
    ...     return np.eye(5)[(tokens + 1) % 5], caches
    >>> generate(step, [1], 3, np.argmax)
    array([2, 3, 4])
    >>> generate(step, [1], 9, np.argmax, stop=0)
    array([2, 3, 4])
    """
    tokens = np.asarray(prompt)
    if tokens.dtype.kind not in "iu":
        raise TypeError(f"prompt must hold integers; it has dtype {tokens.dtype}.")
    if tokens.ndim != 1 or tokens.size == 0:
        raise ValueError(f"prompt must have shape (L,), L of at least 1; it has {tokens.shape}.")
    count = as_integer(count, "count", 0)
    words: list[int] = []
    caches = None
    while len(words) < count:
        scores, caches = step(tokens, caches)
        word = int(choose(scores[-1]))
        if word == stop:
            break
        words.append(word)
        tokens = np.array([word])
    return np.array(words, dtype=int)
