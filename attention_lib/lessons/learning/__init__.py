"""Lesson 08: layers of attention that learn, from word vectors to a step of Adam."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attention_lib.arguments import as_floating, as_integer, as_positive, round_to, widened
from attention_lib.lessons.attention import attention, causal_mask
from attention_lib.lessons.gradients import attention_backward
from attention_lib.lessons.stability import cross_entropy

__all__ = [
    "adam_step",
    "attention_layer",
    "attention_layer_backward",
    "copying_score",
    "embed",
    "induction_score",
    "next_word_loss",
    "patched_loss",
]

Layer = tuple[NDArray, NDArray, NDArray, NDArray, NDArray]


def embed(tokens: ArrayLike, embedding: ArrayLike, positions: ArrayLike) -> NDArray[np.floating]:
    """Look up each word's vector, and add the vector of its place.

    Parameters
    ----------
    tokens : array_like of int, shape (..., L)
        The numbers of the words, from 0 to V - 1.
    embedding : array_like, shape (V, D)
        One vector for each word.
    positions : array_like, shape (T, D)
        One vector for each place, with T of at least L.

    Returns
    -------
    ndarray, shape (..., L, D)
        The sums, in the common dtype of `embedding` and `positions` (float64 for integers).

    Raises
    ------
    TypeError
        If `tokens` does not hold integers, or another argument does not hold real numbers.
    ValueError
        If the shapes do not fit, or a token is not the number of a word.

    Notes
    -----
    Vectors for places that are learned like those for words: Gehring et al., "Convolutional
    Sequence to Sequence Learning", section 3.1, arXiv:1705.03122 (2017).

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import embed
    >>> embedding = np.array([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]])
    >>> embed([2, 0], embedding, np.array([[0.0, 0.5], [0.25, 0.0], [9.0, 9.0]]))
    array([[5.  , 5.5 ],
           [1.25, 0.  ]])
    """
    (embedding, positions), dtype = widened(embedding=embedding, positions=positions)
    if embedding.ndim != 2 or positions.ndim != 2 or embedding.shape[1] != positions.shape[1]:
        raise ValueError(
            "embedding must have shape (V, D) and positions (T, D); "
            f"they have shapes {embedding.shape} and {positions.shape}."
        )
    tokens = as_tokens(tokens, len(embedding))
    length = tokens.shape[-1]
    if length > len(positions):
        raise ValueError(f"There are {length} places in tokens, and {len(positions)} in positions.")
    return round_to(embedding[tokens] + positions[:length], dtype)


def attention_layer(
    x: ArrayLike, w_q: ArrayLike, w_k: ArrayLike, w_v: ArrayLike, w_o: ArrayLike
) -> NDArray[np.floating]:
    r"""Add the output of causal attention to each vector.

    Parameters
    ----------
    x : array_like, shape (..., L, D)
        One vector for each place.
    w_q, w_k : array_like, shape (D, d_k)
        The matrices that make queries and keys.
    w_v : array_like, shape (D, d_v)
        The matrix that makes values.
    w_o : array_like, shape (d_v, D)
        The matrix that brings a mixture of values back to the size of `x`.

    Returns
    -------
    ndarray, shape (..., L, D)
        In the common dtype of the arguments (float64 for integers).

    Raises
    ------
    TypeError
        If an argument does not hold real numbers.
    ValueError
        If the shapes do not fit.

    Notes
    -----
    .. math:: x + \mathrm{softmax}\Bigl(\frac{x W_q (x W_k)^\top}{\sqrt{d_k}}\Bigr)\, x W_v W_o

    with weights on earlier places and on the place itself only. The sum with x is a residual
    connection: He et al., "Deep Residual Learning", arXiv:1512.03385 (2015). A layer without a
    feed-forward part is that of Elhage et al., "A Mathematical Framework for Transformer
    Circuits" (2021).

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import attention_layer
    >>> x, zeros = np.array([[2.0], [4.0]]), np.array([[0.0]])
    >>> attention_layer(x, zeros, zeros, np.array([[1.0]]), np.array([[10.0]]))
    array([[22.],
           [34.]])
    """
    (x, w_q, w_k, w_v, w_o), dtype = _layer_arguments(x, w_q, w_k, w_v, w_o)
    mixture, _ = attention(x @ w_q, x @ w_k, x @ w_v, causal_mask(x.shape[-2]))
    return round_to(x + mixture @ w_o, dtype)


def attention_layer_backward(
    x: ArrayLike,
    w_q: ArrayLike,
    w_k: ArrayLike,
    w_v: ArrayLike,
    w_o: ArrayLike,
    grad_output: ArrayLike,
) -> Layer:
    r"""Carry a gradient from the output of `attention_layer` back to its five arguments.

    Parameters
    ----------
    x, w_q, w_k, w_v, w_o : array_like
        The layer's arguments, shapes as in `attention_layer`.
    grad_output : array_like, shape (..., L, D)
        The gradient of a loss with respect to the layer's output.

    Returns
    -------
    tuple of five ndarray
        ``(grad_x, grad_w_q, grad_w_k, grad_w_v, grad_w_o)``, each in the shape of its argument,
        in the common dtype of all arguments (float64 for integers). The gradients of the
        matrices are summed over all leading dimensions of `x`.

    Raises
    ------
    TypeError
        If an argument does not hold real numbers.
    ValueError
        If the shapes do not fit.

    Notes
    -----
    With :math:`Q = x W_q`, :math:`K = x W_k`, :math:`V = x W_v`, causal weights P,
    :math:`M = P V`, :math:`\alpha = 1 / \sqrt{d_k}` and G the gradient of the output:

    .. math::
        dM = G W_o^\top, \quad dP = dM V^\top, \quad
        dS_{ij} = P_{ij} \Bigl(dP_{ij} - \sum_k P_{ik}\, dP_{ik}\Bigr), \\
        dQ = \alpha\, dS\, K, \quad dK = \alpha\, dS^\top Q, \quad dV = P^\top dM, \\
        dx = G + dQ\, W_q^\top + dK\, W_k^\top + dV\, W_v^\top, \\
        dW_q = x^\top dQ, \quad dW_k = x^\top dK, \quad dW_v = x^\top dV, \quad dW_o = M^\top G

    The causal mask needs no step of its own: where P is 0, so is dS. Reverse mode by hand, as in
    Rumelhart, Hinton and Williams, "Learning representations by back-propagating errors" (1986).

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import attention_layer_backward
    >>> x, zeros, one = np.array([[2.0], [4.0]]), np.array([[0.0]]), np.array([[1.0]])
    >>> grad_x, *grads = attention_layer_backward(x, zeros, zeros, one, one, [[1.0], [1.0]])
    >>> grad_x
    array([[2.5],
           [1.5]])
    >>> [grad.item() for grad in grads]
    [0.0, 0.0, 5.0, 5.0]
    """
    (x, w_q, w_k, w_v, w_o), dtype = _layer_arguments(x, w_q, w_k, w_v, w_o)
    grad_output = as_floating(grad_output, "grad_output")
    if grad_output.shape != x.shape:
        raise ValueError(
            f"grad_output must have the shape of x, {x.shape}; it has shape {grad_output.shape}."
        )
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    mask = causal_mask(x.shape[-2])
    mixture, _ = attention(query, key, value, mask)
    grads = attention_backward(query, key, value, grad_output @ w_o.T, mask)
    grad_query, grad_key, grad_value = grads
    grad_x = grad_output + grad_query @ w_q.T + grad_key @ w_k.T + grad_value @ w_v.T

    dtype = np.result_type(dtype, grad_output)
    gradients = (
        grad_x,
        _rows(x).T @ _rows(grad_query),
        _rows(x).T @ _rows(grad_key),
        _rows(x).T @ _rows(grad_value),
        _rows(mixture).T @ _rows(grad_output),
    )
    return tuple(round_to(gradient, dtype) for gradient in gradients)


def next_word_loss(scores: ArrayLike, tokens: ArrayLike) -> np.floating:
    r"""Take the mean cross-entropy of each row of scores against the word that came next.

    Parameters
    ----------
    scores : array_like, shape (..., L, V)
        At each place one finite score for each word.
    tokens : array_like of int, shape (..., L)
        The numbers of the words, with L of at least 2.

    Returns
    -------
    floating
        The mean over all places but the last of each sequence, which has no next word; in the
        dtype of `scores` (float64 for integers).

    Raises
    ------
    TypeError
        If `scores` does not hold real numbers or `tokens` does not hold integers.
    ValueError
        If the shapes do not fit, there is no next word, or a token is not the number of a word.

    Notes
    -----
    .. math:: -\frac{1}{N (L - 1)} \sum_n \sum_{t=1}^{L-1} \log p_{n,t}(\text{word}_{n,t+1})

    The loss of a language model: Bengio et al., "A Neural Probabilistic Language Model" (2003).

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import next_word_loss
    >>> float(next_word_loss(np.array([[0.0, np.log(3.0)], [7.0, -7.0]]), [0, 1]).round(4))
    0.2877
    """
    scores = as_floating(scores, "scores")
    if scores.ndim < 2:
        raise ValueError(f"scores must have shape (..., L, V); it has shape {scores.shape}.")
    tokens = as_tokens(tokens, scores.shape[-1])
    if tokens.shape != scores.shape[:-1]:
        raise ValueError(
            "scores must have shape (..., L, V) and tokens (..., L); "
            f"they have shapes {scores.shape} and {tokens.shape}."
        )
    if tokens.shape[-1] < 2:
        raise ValueError(f"There is no next word in sequences of {tokens.shape[-1]} words.")
    return cross_entropy(_rows(scores[..., :-1, :]), tokens[..., 1:].reshape(-1))


def adam_step(
    parameter: ArrayLike,
    gradient: ArrayLike,
    mean: ArrayLike,
    square: ArrayLike,
    step: int,
    rate: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
) -> tuple[NDArray[np.floating], NDArray[np.floating], NDArray[np.floating]]:
    r"""Take one step of Adam: move each entry by its mean gradient over its root mean square.

    Parameters
    ----------
    parameter : array_like, any shape
        What is learned.
    gradient : array_like, same shape
        The gradient of the loss with respect to it.
    mean, square : array_like, same shape
        The running means of the gradient and of its square; zeros before the first step.
    step : int
        The number of this step, from 1.
    rate : float, default 1e-3
        How far to go.
    beta1, beta2 : float, default 0.9 and 0.999
        How much of the running means is kept.
    epsilon : float, default 1e-8
        What is added to the root of the mean square.

    Returns
    -------
    tuple of three ndarray
        The new ``(parameter, mean, square)``, in the dtype of `parameter` (float64 for
        integers). The arguments are not changed.

    Raises
    ------
    TypeError
        If an array does not hold real numbers, or `step` is not an integer.
    ValueError
        If the shapes differ, `step` is below 1, or `rate` or `epsilon` is not positive.

    Notes
    -----
    .. math::
        m \leftarrow \beta_1 m + (1 - \beta_1)\, g, \quad
        v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2, \quad
        \theta \leftarrow \theta -
        \frac{\eta\; m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \varepsilon}

    Kingma and Ba, "Adam: A Method for Stochastic Optimization", algorithm 1,
    arXiv:1412.6980 (2015). The divisions by :math:`1 - \beta^t` make up for the start at 0.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import adam_step
    >>> start = np.array([1.0, 1.0])
    >>> parameter, mean, square = adam_step(start, np.array([0.5, -40.0]), 0 * start, 0 * start, 1)
    >>> parameter
    array([0.999, 1.001])
    >>> mean, square
    (array([ 0.05, -4.  ]), array([2.5e-04, 1.6e+00]))
    """
    step = as_integer(step, "step", 1)
    rate, epsilon = as_positive(rate, "rate"), as_positive(epsilon, "epsilon")
    dtype = as_floating(parameter, "parameter").dtype
    arrays = {"parameter": parameter, "gradient": gradient, "mean": mean, "square": square}
    (parameter, gradient, mean, square), _ = widened(**arrays)
    shapes = [array.shape for array in (parameter, gradient, mean, square)]
    if len(set(shapes)) > 1:
        raise ValueError(
            "parameter, gradient, mean and square must have one shape; they have shapes "
            f"{', '.join(map(str, shapes))}."
        )
    mean = beta1 * mean + (1 - beta1) * gradient
    square = beta2 * square + (1 - beta2) * gradient**2
    root = np.sqrt(square / (1 - beta2**step))
    parameter = parameter - rate * (mean / (1 - beta1**step)) / (root + epsilon)
    return round_to(parameter, dtype), round_to(mean, dtype), round_to(square, dtype)


def induction_score(weights: ArrayLike, tokens: ArrayLike) -> float:
    """Measure how much weight goes to the places right after earlier ones of the same word.

    Parameters
    ----------
    weights : array_like, shape (L, L)
        The weights of causal attention over one sequence, a row for each place that asks.
    tokens : array_like of int, shape (L,)
        The numbers of its words.

    Returns
    -------
    float
        The mean, over the places whose word has stood before, of the weight that the place's row
        gives to all places right after an earlier one of the same word; 0 if no word repeats.

    Raises
    ------
    TypeError
        If `weights` does not hold real numbers or `tokens` does not hold integers.
    ValueError
        If the shapes do not fit.

    Notes
    -----
    The score by which Olsson et al. find induction heads, "In-context Learning and Induction
    Heads", arXiv:2209.11895 (2022), there for one repeated sequence, where each word has stood
    before once.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import induction_score
    >>> weights = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.125, 0.75, 0.125]])
    >>> induction_score(weights, [4, 9, 4])
    0.75
    """
    weights, tokens = as_floating(weights, "weights"), as_tokens(tokens)
    if tokens.ndim != 1 or weights.shape != (tokens.size, tokens.size):
        raise ValueError(
            "weights must have shape (L, L) and tokens (L,); "
            f"they have shapes {weights.shape} and {tokens.shape}."
        )
    earlier = (tokens[:, None] == tokens) & np.tri(tokens.size, k=-1, dtype=bool)
    after = np.zeros_like(earlier)
    after[:, 1:] = earlier[:, :-1]
    repeats = earlier.any(axis=1)
    if not repeats.any():
        return 0.0
    return float(np.where(after, weights, 0.0).sum(axis=1, dtype=np.float64)[repeats].mean())


def copying_score(
    embedding: ArrayLike, w_v: ArrayLike, w_o: ArrayLike, unembedding: ArrayLike
) -> float:
    """Measure the share of words that a head copies: attending to the word raises its score the most.

    Parameters
    ----------
    embedding : array_like, shape (V, D)
        One vector for each of V words.
    w_v : array_like, shape (D, d_v)
        The head's matrix of values.
    w_o : array_like, shape (d_v, D)
        The matrix through which its output is added.
    unembedding : array_like, shape (D, V)
        The matrix that turns a vector into a score for each word.

    Returns
    -------
    float
        The share of the rows of ``embedding @ w_v @ w_o @ unembedding`` whose own entry, on the
        diagonal, is the largest.

    Raises
    ------
    TypeError
        If an argument does not hold real numbers.
    ValueError
        If the shapes do not fit.

    Notes
    -----
    The matrix is the head's output-value circuit: Elhage et al., "A Mathematical Framework for
    Transformer Circuits" (2021). They measure copying by its eigenvalues.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import copying_score
    >>> words = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> copying_score(words, np.eye(2), np.array([[1.0, 0.0], [2.0, 1.0]]), words.T)
    0.5
    """
    arrays = {"embedding": embedding, "w_v": w_v, "w_o": w_o, "unembedding": unembedding}
    matrices, _ = widened(**arrays)
    shapes = [matrix.shape for matrix in matrices]
    fits = all(len(shape) == 2 for shape in shapes) and shapes[0] == shapes[3][::-1]
    if not fits or shapes[1] != shapes[2][::-1] or shapes[0][1] != shapes[1][0] or not shapes[0][0]:
        raise ValueError(
            "embedding, w_v, w_o and unembedding must have shapes (V, D), (D, d_v), (d_v, D) and "
            f"(D, V); they have shapes {', '.join(map(str, shapes))}."
        )
    embedding, w_v, w_o, unembedding = matrices
    circuit = embedding @ w_v @ w_o @ unembedding
    return float(np.mean(circuit.argmax(axis=1) == np.arange(len(circuit))))


def patched_loss(
    model: Sequence[ArrayLike],
    tokens: ArrayLike,
    layer: int,
    replace: Callable[[NDArray[np.floating]], ArrayLike],
) -> np.floating:
    """Measure the loss of a model in which other weights stand in place of one layer's.

    Parameters
    ----------
    model : sequence of array_like
        The embedding (V, D), the positions (T, D), the readout (D, V), and ``w_q, w_k, w_v, w_o`` of
        each layer, as in `attention_layer`.
    tokens : array_like of int, shape (..., L)
        The numbers of the words, with L of at least 2.
    layer : int
        The layer whose weights are replaced; 0 is the first.
    replace : callable
        From the layer's weights, (..., L, L), it makes those that are used, in the same shape.

    Returns
    -------
    floating
        The `next_word_loss` of the model's scores. Later layers work on what comes of the change.

    Raises
    ------
    ValueError
        If `model` has no such layer, or shapes do not fit.

    Notes
    -----
    Where the weights are those of another run this is activation patching: Vig et al.,
    "Investigating Gender Bias in Language Models Using Causal Mediation Analysis" (2020).

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import patched_loss
    >>> words, zeros = np.eye(2), np.zeros((2, 2))
    >>> model = [words, np.zeros((3, 2)), words, zeros, zeros, np.eye(2), 2 * np.eye(2)]
    >>> float(patched_loss(model, [0, 1, 1], 0, lambda weights: np.eye(3)).round(4))
    1.5486
    """
    embedding, positions, readout, *matrices = model
    layers = [matrices[i : i + 4] for i in range(0, len(matrices), 4)]
    layer = as_integer(layer, "layer", 0)
    if layer >= len(layers):
        raise ValueError(f"There is no layer {layer}: the model has {len(layers)}, from 0 on.")
    x = embed(tokens, embedding, positions)
    for number, (w_q, w_k, w_v, w_o) in enumerate(layers):
        if number != layer:
            x = attention_layer(x, w_q, w_k, w_v, w_o)
            continue
        _, weights = attention(x @ w_q, x @ w_k, x @ w_v, causal_mask(x.shape[-2]))
        x = x + replace(weights) @ (x @ w_v) @ w_o
    return next_word_loss(x @ readout, tokens)


def as_tokens(tokens: ArrayLike, words: int | None = None) -> NDArray[np.integer]:
    """Return the numbers of words as an integer array of at least one dimension.

    Raises
    ------
    TypeError
        If the numbers are not integers.
    ValueError
        If `tokens` has no dimension, or a number is not between 0 and `words` - 1.
    """
    tokens = np.asarray(tokens)
    if tokens.dtype.kind not in "iu":
        raise TypeError(
            f"tokens must hold integers, the numbers of words; they have dtype {tokens.dtype}."
        )
    if tokens.ndim == 0:
        raise ValueError("tokens must have at least one dimension, (..., L); it is one number.")
    if words is not None and tokens.size and not 0 <= tokens.min() <= tokens.max() < words:
        raise ValueError(
            f"tokens must lie between 0 and {words - 1}, the last word; "
            f"they reach from {tokens.min()} to {tokens.max()}."
        )
    return tokens


def _layer_arguments(
    x: ArrayLike, w_q: ArrayLike, w_k: ArrayLike, w_v: ArrayLike, w_o: ArrayLike
) -> tuple[list[NDArray[np.floating]], np.dtype]:
    """Return a layer's arguments in the dtype to compute in, and their common one."""
    (x, w_q, w_k, w_v, w_o), dtype = widened(x=x, w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o)
    width = x.shape[-1] if x.ndim > 1 else None
    if (
        any(matrix.ndim != 2 for matrix in (w_q, w_k, w_v, w_o))
        or w_q.shape != w_k.shape
        or not w_q.shape[0] == w_v.shape[0] == w_o.shape[1] == width
        or w_v.shape[1] != w_o.shape[0]
    ):
        raise ValueError(
            "x must have shape (..., L, D), w_q and w_k (D, d_k), w_v (D, d_v) and w_o (d_v, D); "
            f"they have shapes {x.shape}, {w_q.shape}, {w_k.shape}, {w_v.shape} and {w_o.shape}."
        )
    return [x, w_q, w_k, w_v, w_o], dtype


def _rows(array: NDArray) -> NDArray:
    """Put all vectors of an array below one another."""
    return array.reshape(-1, array.shape[-1])
