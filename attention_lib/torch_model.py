"""Run the language model of lesson 09 in PyTorch, on any device and with any attention."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from attention_lib.lessons.gpu.triton import INTERPRETED
from attention_lib.lessons.gpu.variants import fast_dtype
from attention_lib.lessons.model import generate
from attention_lib.model import ModelUnavailable, load_model

__all__ = ["compared", "on_device", "torch_step"]

Attention = Callable[[Tensor, Tensor, Tensor, bool], Tensor]
Caches = list[tuple[Tensor, Tensor]]
EPSILON = 1e-5


def on_device(model: Mapping[str, Any], device: torch.device, dtype: torch.dtype) -> dict[str, Any]:
    """Return a model like `load_model`'s, with tensors on a device instead of arrays."""

    def moved(array: NDArray) -> Tensor:
        return torch.tensor(array, device=device, dtype=dtype)

    return {
        **model,
        "embedding": moved(model["embedding"]),
        "blocks": [{name: moved(array) for name, array in one.items()} for one in model["blocks"]],
        "gain": moved(model["gain"]),
    }


def torch_step(
    model: Mapping[str, Any], attention: Attention
) -> Callable[[ArrayLike, Caches | None], tuple[NDArray, Caches]]:
    """Make the `step` function for `generate`, from a model with tensors.

    Parameters
    ----------
    model : mapping
        The result of `on_device`.
    attention : callable
        ``attention(query, key, value, is_causal)`` of tensors (H, L, d), (H, S, d) and (H, S, d),
        such as `torch_attention`.

    Returns
    -------
    callable
        ``step(tokens, caches)`` returns the scores (L, V) as a float32 array, and the caches. A
        text is read at once, without caches, and then word by word.
    """

    @torch.inference_mode()
    def step(tokens: ArrayLike, caches: Caches | None) -> tuple[NDArray, Caches]:
        words = torch.as_tensor(np.asarray(tokens), device=model["embedding"].device)
        if caches is not None and len(words) > 1:
            raise ValueError("With caches, step takes one word at a time.")
        start = caches[0][0].shape[-2] if caches else 0
        turn = _rotation(model, start, len(words))
        x, after = model["embedding"][words], []
        for number, weights in enumerate(model["blocks"]):
            y = _normalized(x, weights["attention_gain"])
            query = turn(_heads(y @ weights["w_q"], model["num_heads"]))
            key = turn(_heads(y @ weights["w_k"], model["num_groups"]))
            value = _heads(y @ weights["w_v"], model["num_groups"])
            if caches is not None:
                key, value = (
                    torch.cat(pair, dim=-2)
                    for pair in zip(caches[number], (key, value), strict=True)
                )
            after.append((key, value))
            sharing = model["num_heads"] // model["num_groups"]
            shared = (part.repeat_interleave(sharing, dim=0) for part in (key, value))
            mixed = attention(query, *shared, caches is None)
            x = x + mixed.transpose(0, 1).reshape(len(words), -1) @ weights["w_o"]
            y = _normalized(x, weights["feed_forward_gain"])
            gate = torch.nn.functional.silu(y @ weights["w_gate"])
            x = x + (gate * (y @ weights["w_up"])) @ weights["w_down"]
        scores = _normalized(x, model["gain"]) @ model["embedding"].T
        return scores.float().cpu().numpy(), after

    return step


def compared(
    attends: Mapping[str, Attention], prompt: str, device: torch.device
) -> Iterator[tuple[str, str, float]]:
    """Let the language model write with each attention: yield names, texts and words a second.

    It writes the likeliest words: 50 on CUDA, in bfloat16 if the card has it, and elsewhere 8. The
    time is real time on CUDA, and elsewhere CPU time. It starts after the first word, which may
    compile. Without CUDA everything runs on the CPU, as the kernels do. If there is no model, that
    is printed.
    """
    try:
        there = load_model()
    except ModelUnavailable as problem:
        print(problem)
        return
    on_cuda = not INTERPRETED
    place = device if on_cuda else torch.device("cpu")
    moved = on_device(
        there, place, torch.bfloat16 if fast_dtype(place) is torch.bfloat16 else torch.float32
    )
    clock = time.perf_counter if on_cuda else time.process_time
    tokenizer = there["tokenizer"]
    for name, attention in attends.items():
        moments: list[float] = []

        def choose(scores: NDArray, moments: list[float] = moments) -> int:
            moments.append(clock())
            return int(scores.argmax())

        step, start = torch_step(moved, attention), np.array(tokenizer.encode(prompt).ids)
        words = list(generate(step, start, 50 if on_cuda else 8, choose))
        yield name, tokenizer.decode(words), (len(words) - 1) / (moments[-1] - moments[0])


def _normalized(x: Tensor, gain: Tensor) -> Tensor:
    wide = x.float()
    size = torch.rsqrt((wide * wide).mean(dim=-1, keepdim=True) + EPSILON)
    return (wide * size).to(x.dtype) * gain


def _heads(x: Tensor, count: int) -> Tensor:
    """Split (L, count · d) into (count, L, d)."""
    return x.reshape(len(x), count, -1).transpose(0, 1)


def _rotation(model: Mapping[str, Any], start: int, length: int) -> Callable[[Tensor], Tensor]:
    """Make the function that rotates the pairs (2i, 2i + 1) of (..., L, d) by their positions."""
    embedding = model["embedding"]
    size = embedding.shape[1] // model["num_heads"]
    positions = torch.arange(start, start + length, dtype=torch.float32)
    speeds = model["base"] ** (-torch.arange(0, size, 2, dtype=torch.float32) / size)
    angles = (positions[:, None] * speeds).to(embedding.device)
    cos, sin = angles.cos(), angles.sin()

    def turn(x: Tensor) -> Tensor:
        a, b = x[..., ::2].float(), x[..., 1::2].float()
        turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1)
        return turned.flatten(-2).to(x.dtype)

    return turn
