"""Call an answer, and observe its result and its side effects."""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import traceback
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from attention_lib.checks.calls import timeouts
from attention_lib.checks.calls.case import (
    Answer,
    Case,
    Observation,
    Stream,
    Unreachable,
    of_a_stub,
)
from attention_lib.checks.calls.loops import where_time_went
from attention_lib.checks.calls.remote import RemoteAnswer
from attention_lib.checks.calls.timeouts import OutOfTime, time_limit
from attention_lib.checks.calls.watching import scipy_ufunc_in, watched_calls

# A BLAS may raise a floating-point flag over numbers that are not in the product: OpenBLAS now and
# then (numpy issue 24067), Apple's so often that NumPy itself ignores the flags there.
FROM_BLAS = ("in matmul", "in matvec", "in vecmat", "in vecdot", "in dot")


def observe_all(
    answer: Answer,
    cases: Iterable[Case],
    forbidden: tuple[str, ...] = (),
    limit: float | None = None,
) -> Iterator[Observation]:
    """Observe an answer on each case, up to the first that runs out of time.

    A stub is called only once. `limit` is as in `observe`. An answer in another process is called
    there.
    """
    if isinstance(answer, RemoteAnswer):
        seconds = timeouts.CALL_SECONDS if limit is None else limit
        yield from answer.observe_all(list(cases), forbidden, seconds)
        return
    for number, case in enumerate(cases):
        seen = observe(answer, case, forbidden, limit)
        yield seen
        if seen.out_of_time or (number == 0 and of_a_stub(seen)):
            return


def observe(
    answer: Answer, case: Case, forbidden: tuple[str, ...] = (), limit: float | None = None
) -> Observation:
    """Call a function in this process on copies of a case's arguments, and observe everything it does.

    `forbidden` holds prefixes of the dotted names of forbidden functions. `limit` is in seconds, by
    default `timeouts.CALL_SECONDS`.
    """
    args, kwargs = copy.deepcopy((case.args, case.kwargs))
    seconds = timeouts.CALL_SECONDS if limit is None else limit
    seen = Observation()
    output = io.StringIO()
    with (
        warnings.catch_warnings(record=True) as caught,
        np.errstate(),  # restores what an answer changes
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
    ):
        warnings.simplefilter("always")
        try:
            with time_limit(seconds), watched_calls(forbidden, seen):
                seen.value = answer(*args, **kwargs)
        except OutOfTime as ended:
            seen.out_of_time, seen.waited = True, ended.waited
            seen.explanation = where_time_went(ended)
        except (KeyboardInterrupt, Unreachable):
            raise
        except BaseException as error:
            seen.error, seen.frames = error, learner_frames(error)
            refused = isinstance(error, TypeError) and not seen.frames
            seen.refused_call = refused and not _takes(answer, args, kwargs)
    seen.error = seen.error or refusal_of(args)
    seen.printed = output.getvalue()
    messages = (str(warning.message) for warning in caught)
    seen.warnings = [one for one in messages if not one.endswith(FROM_BLAS)]
    seen.changed = [
        str(key)
        for key, before, after in (
            *zip(range(len(args)), case.args, args, strict=True),
            *((key, case.kwargs[key], kwargs[key]) for key in kwargs),
        )
        if not _same(before, after)
    ]
    seen.read_again = any(getattr(argument, "read_again", False) for argument in args)
    if forbidden and not seen.forbidden:
        seen.forbidden = scipy_ufunc_in(answer)
    return seen


def refusal_of(args: Iterable[Any]) -> Exception | None:
    """Return and clear the error of a method among the arguments: an answer may have caught it."""
    owners: list[Any] = [getattr(argument, "__self__", None) for argument in args]
    refused = [one for one in owners if getattr(one, "refusal", None)]
    error: Exception | None = refused[0].refusal if refused else None
    for one in refused:
        one.refusal = None
    return error


def _takes(answer: Answer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Tell whether a function's signature accepts these arguments."""
    try:
        inspect.signature(answer).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return False
    return True


def learner_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the frames of a traceback outside this library, without those of other packages."""
    frames = traceback.extract_tb(error.__traceback__)
    library = str(Path(__file__).parents[2])
    own = [frame for frame in frames if not frame.filename.startswith(library)]
    return [frame for frame in own if "site-packages" not in frame.filename] or own


def _same(before: Any, after: Any) -> bool:
    """Tell whether an argument is unchanged; NaN equals NaN."""
    if isinstance(before, np.ndarray):
        return (
            isinstance(after, np.ndarray)
            and before.dtype == after.dtype
            and before.shape == after.shape
            and np.array_equal(before, after, equal_nan=before.dtype.kind in "fc")
        )
    if isinstance(before, Stream):
        return _same(before.items, after.items)
    if isinstance(before, (tuple, list)):
        return len(before) == len(after) and all(map(_same, before, after))
    if isinstance(before, dict):
        return before.keys() == after.keys() and all(
            _same(before[key], after[key]) for key in before
        )
    if hasattr(before, "detach"):  # a torch tensor
        return before.shape == after.shape and (before.is_meta or bool((before == after).all()))
    return True  # numbers are immutable; functions and iterators cannot be compared
