"""`pick_device()` returns the device to compute on.

The `torch.device` to use: CUDA, then MPS, then CPU.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from numpy.random import Generator

from attention_lib.checks.calls import staging
from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.tensors import LazyReference

HINTS = (
    "torch.cuda.is_available() and torch.backends.mps.is_available() say what there is.",
    'Ask for CUDA first, then for MPS; what remains is the CPU. Return torch.device("cuda"), '
    'torch.device("mps") or torch.device("cpu").',
)


def cases(_rng: Generator) -> Iterator[Case]:
    for cuda, mps in ((False, True), (True, False), (True, True), (False, False)):
        right = "cuda" if cuda else "mps" if mps else "cpu"
        yield Case(cuda=cuda, mps=mps, verify=functools.partial(problem_with, right=right))


def problem_with(value: Any, right: str) -> str | None:
    import torch

    if not isinstance(value, torch.device):
        other = "" if str(value) == right else f"Where there is {right}, take it. "
        return (
            f"pick_device returned {value!r:.60}. {other}Return a device, torch.device('{right}')."
        )
    if value.type != right:
        return f"pick_device returned {value.type} where {right} should be taken."
    return None


def plain():
    import torch

    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


CUDA, MPS = "torch.cuda.is_available()", "torch.backends.mps.is_available()"

MISTAKES = known_mistakes(
    plain,
    'names: These are names: return the device itself, such as torch.device("cuda").',
    'torch.device("cuda") => "cuda" && torch.device("mps") => "mps" && torch.device("cpu") => "cpu"',
    "cuda-alone: Only CUDA is asked for: on a Mac, torch.backends.mps.is_available() is True.",
    f"{MPS} => False",
    "never-cuda: CUDA is never taken: ask torch.cuda.is_available() first, and keep what it says.",
    f"{CUDA} => False",
    "mps-first: MPS is taken where there is CUDA as well: CUDA comes first, and MPS only without it.",
    f"{CUDA} => {CUDA} and not {MPS}",
    "always-cpu: It is always the CPU: ask torch.cuda.is_available() first.",
    f"{CUDA} => False && {MPS} => False",
    "always-cuda: It is always CUDA, also where there is none: ask what "
    "torch.cuda.is_available() returns.",
    f"{CUDA} => True",
    "always-mps: MPS is taken where there is none: ask what "
    "torch.backends.mps.is_available() returns; the CPU comes last.",
    f"{MPS} => True",
)


EXERCISE = Exercise(
    name="pick_device",
    points=1,
    minutes=3,
    reference=LazyReference("pick_device"),
    accelerated=True,
    run=staging.with_devices,
    run_as="def pick_device_where(cuda, mps)",
    cases=cases,
    hints=HINTS,
    mistakes=MISTAKES,
)
