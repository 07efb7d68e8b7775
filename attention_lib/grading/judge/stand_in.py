"""The proxy for an answer: the grader's own process calls a function that it cannot trust."""

from __future__ import annotations

import dataclasses
import math
import time
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from attention_lib.checks.calls import timeouts
from attention_lib.checks.calls.calling import refusal_of
from attention_lib.checks.calls.case import Case, Observation, of_a_stub
from attention_lib.checks.calls.remote import RemoteAnswer
from attention_lib.checks.calls.timeouts import OutOfTime
from attention_lib.checks.errors import explaining
from attention_lib.grading import limits
from attention_lib.grading.inside.wire import Malformed, Message, error_again, unpack
from attention_lib.grading.sandbox.session import Session

# An answer is timed in its own process, in CPU time, and stopped there after four times its limit.
# Only an answer that has prevented this is stopped from here.
PATIENCE_SECONDS = 4 * timeouts.CALL_SECONDS + 5.0
TOO_LONG_TOGETHER = "All calls of an answer together may take no longer than this check has taken."


@dataclasses.dataclass(frozen=True)
class StandIn(RemoteAnswer):
    """Proxy for an answer: arguments go to its process, and results come back, by value."""

    session: Session
    name: str
    how: str = ""  # the wrapper of `staging` to apply first
    until: float = math.inf  # on the monotonic clock: the deadline of its check

    def observe_all(
        self, cases: Sequence[Case], forbidden: tuple[str, ...], limit: float
    ) -> Iterator[Observation]:
        """Call the answer in its process on each case, with a deadline for each."""
        for number, case in enumerate(cases):
            more = {"forbidden": forbidden, "limit": limit}
            seen = self._ask("observe", case.args, case.kwargs, more)
            refusal = refusal_of(case.args)
            seen.error = seen.error or refusal
            yield seen
            if seen.out_of_time or (number == 0 and of_a_stub(seen)):
                return

    def measure(self, what: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Measure something in the answer's process; its numbers are not trusted further."""
        more = {"what": what, "limit": timeouts.CALL_SECONDS}
        seen = self._ask("measure", args, kwargs, more)
        if seen.out_of_time:
            raise OutOfTime
        if seen.error is not None:
            raise seen.error
        return seen.value

    def _ask(
        self, do: str, args: tuple[Any, ...], kwargs: dict[str, Any], more: Message
    ) -> Observation:
        """Have one call made in the answer's process; stop it from here if it does not stop itself."""
        seconds = min(PATIENCE_SECONDS, self.until - time.monotonic())
        if seconds <= 0:
            self.session.note_stop(limits.CHECK_SECONDS)
            return Observation(out_of_time=True, explanation=TOO_LONG_TOGETHER)
        request = {"do": do, "name": self.name, "staged": self.how, "args": args, "kwargs": kwargs}
        reply = self.session.ask({**request, **more}, seconds)
        if reply.get("interrupted"):
            return Observation(out_of_time=True)
        seen = _observation(reply)
        if seen.waited:
            self.session.note_stop(4 * timeouts.CALL_SECONDS)
        return seen

    def staged(self, how: str) -> StandIn:
        """Return a proxy that applies the wrapper `how` to the answer before each call."""
        return dataclasses.replace(self, how=how)


def _observation(reply: Message) -> Observation:
    """Read a reply, converting all of it to plain values of the expected types."""
    try:
        value = unpack_value(reply)
    except Malformed as problem:
        why = str(problem)[:300]
        return Observation(error=TypeError(f"what it returned cannot be taken ({why})"))
    error = reply.get("error")
    frames = [
        traceback.FrameSummary("<answer>", int(line), str(name)[:100], line=str(text)[:500])
        for line, name, text in reply.get("frames") or []
    ]
    return Observation(
        value=value,
        error=error_again(error) if error else None,
        frames=frames[:8],
        explanation=str(reply.get("explanation") or "")[: explaining.MOST_CHARACTERS],
        is_quoted=True,
        out_of_time=bool(reply.get("out_of_time")),
        waited=bool(reply.get("waited")),
        refused_call=bool(reply.get("refused_call")),
        warnings=[str(text)[:500] for text in (reply.get("warnings") or [])[:5]],
        printed=str(reply.get("printed") or "")[:2000],
        changed=[str(key)[:40] for key in (reply.get("changed") or [])[:20]],
        read_again=bool(reply.get("read_again")),
        forbidden=str(reply.get("forbidden") or "")[:100],
    )


def unpack_value(reply: Message) -> Any:
    """Read the value in a reply; raise Malformed if it cannot be sent or is too large."""
    if reply.get("unsendable"):
        raise Malformed(str(reply["unsendable"])[:300])
    data = np.asarray(reply["value"], np.uint8)
    if data.nbytes > limits.RESULT_BYTES + limits.MESSAGE_JSON_BYTES:
        raise Malformed(f"{data.nbytes:,} bytes")
    return unpack(data.tobytes())["value"]
