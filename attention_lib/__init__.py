"""The solution library of a course that builds the attention mechanism from the inside.

Every exercise that is a function has its reference here, under the exercise's own name. The
functions are in one module a lesson, in lesson order. A learner calls `check`, `hint`, `solution`
and `progress` from a notebook. These four, and the last lesson with its PyTorch, are imported at
their first use.
"""

from __future__ import annotations

import importlib
from typing import Any

from attention_lib import lessons
from attention_lib.lessons.attention import *
from attention_lib.lessons.flash import *
from attention_lib.lessons.gradients import *
from attention_lib.lessons.learning import *
from attention_lib.lessons.model import *
from attention_lib.lessons.multihead import *
from attention_lib.lessons.scaling import *
from attention_lib.lessons.softmax import *
from attention_lib.lessons.stability import *
from attention_lib.outdated import unknown_name

# Names that are imported at their first use, and their modules.
LAZY_EXPORTS = {
    "attention_flops": "attention_lib.lessons.gpu",
    "check": "attention_lib.commands",
    "decode_part": "attention_lib.lessons.gpu",
    "flash_attention": "attention_lib.lessons.gpu.launch",
    "flash_kernel": "attention_lib.lessons.gpu.kernel",
    "flash_program": "attention_lib.lessons.gpu.kernel",
    "hint": "attention_lib.commands",
    "pick_device": "attention_lib.lessons.gpu",
    "progress": "attention_lib.commands",
    "softmax_kernel": "attention_lib.lessons.gpu.kernel",
    "solution": "attention_lib.commands",
    "time_milliseconds": "attention_lib.lessons.gpu",
    "torch_attention": "attention_lib.lessons.gpu",
    "trained": "attention_lib.trained_numbers",
}

__all__ = sorted(
    [
        *LAZY_EXPORTS,
        *lessons.attention.__all__,
        *lessons.flash.__all__,
        *lessons.gradients.__all__,
        *lessons.learning.__all__,
        *lessons.model.__all__,
        *lessons.multihead.__all__,
        *lessons.scaling.__all__,
        *lessons.softmax.__all__,
        *lessons.stability.__all__,
    ]
)


def __getattr__(name: str) -> Any:
    if name not in LAZY_EXPORTS:
        raise unknown_name(__name__, name, __all__)
    return getattr(importlib.import_module(LAZY_EXPORTS[name]), name)


def __dir__() -> list[str]:
    """List the public names for Tab completion, including those not imported yet."""
    return __all__
