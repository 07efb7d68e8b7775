"""The stand-in for an answer: what the grader's own process has of a function it cannot trust."""

from __future__ import annotations

import dataclasses
import traceback
from typing import Any

from attention_lib.checks.calling import TIME_LIMIT, Elsewhere, Observation, OutOfTime
from attention_lib.checks.exercise import Case
from attention_lib.grading.sandbox import Session
from attention_lib.grading.wire import Message, error_again

# An answer is timed where it runs, in CPU time, and stopped after four times that. Only one that
# has got in the way of that is waited for here.
PATIENCE_SECONDS = 4 * TIME_LIMIT + 5.0
NOT_SENT = "TypeError"


@dataclasses.dataclass(frozen=True)
class StandIn(Elsewhere):
    """An answer by its name: arguments go to where it lives, and results come back, by value."""

    session: Session
    name: str
    how: str = ""  # what `staging` makes of it first

    def observe(self, case: Case, forbidden: tuple[str, ...], limit: float) -> Observation:
        """Have the answer called there, and report what is said of it."""
        request = {
            **self._request("observe", case.args, case.kwargs),
            "forbidden": forbidden,
            "limit": limit,
        }
        return _observation(self.session.ask(request, PATIENCE_SECONDS))

    def measure(self, what: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Have something measured there; the number is what is said of it."""
        request = {**self._request("measure", args, kwargs), "what": what, "limit": TIME_LIMIT}
        seen = _observation(self.session.ask(request, PATIENCE_SECONDS))
        if seen.out_of_time:
            raise OutOfTime
        if seen.error is not None:
            raise seen.error
        return seen.value

    def staged(self, how: str) -> StandIn:
        """Name what is to be made of the answer there before it is called."""
        return dataclasses.replace(self, how=how)

    def _request(self, do: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Message:
        return {"do": do, "name": self.name, "staged": self.how, "args": args, "kwargs": kwargs}


def _observation(reply: Message) -> Observation:
    """Read what came back. Whatever it says, it becomes plain values of the expected types."""
    if reply.get("interrupted"):
        return Observation(out_of_time=True)
    if "unsendable" in reply:
        return Observation(error=TypeError(f"its result cannot be taken: {reply['unsendable']}"))
    error = reply.get("error")
    frames = [
        traceback.FrameSummary("<answer>", int(line), str(name), line=str(text)[:500])
        for line, name, text in reply.get("frames") or []
    ]
    return Observation(
        value=reply.get("value"),
        error=error_again(error) if error else None,
        frames=frames[:8],
        out_of_time=bool(reply.get("out_of_time")),
        refused_call=bool(reply.get("refused_call")),
        warnings=[str(text)[:500] for text in (reply.get("warnings") or [])[:5]],
        printed=str(reply.get("printed") or "")[:2000],
        changed=[str(key)[:40] for key in (reply.get("changed") or [])[:20]],
        read_again=bool(reply.get("read_again")),
        forbidden=str(reply.get("forbidden") or "")[:100],
    )
