"""Simulate clocks and devices, to check answers that pick a device or measure time."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
import timeit
from collections.abc import Callable, Iterator
from typing import Any


class Machine:
    """A simulated computer: its clock advances only while it works, or waits for its device.

    A call on a device returns at once. Its work is queued, and starts when all earlier work is done.
    `durations` are the milliseconds that calls take: the first one, then the others in a cycle.
    """

    def __init__(self, durations: tuple[float, ...], device: str) -> None:
        first, *then = durations
        self._seconds = (
            duration / 1e3 for duration in itertools.chain([first], itertools.cycle(then))
        )
        self._device = device
        self._on_device = device != "cpu"
        self._now = 1000.0
        self._worked = 1.0  # CPU time, which advances little during a wait for the device
        self._busy_until = 0.0

    def call(self) -> None:
        """Run the function once."""
        seconds = next(self._seconds)
        here = 1e-6 if self._on_device else seconds  # 1e-6 to queue the work
        self._now += here
        self._worked += here
        self._busy_until = max(self._busy_until, self._now) + self._on_device * seconds

    def wait(self, *_: Any, **__: Any) -> None:
        """Advance the clock until the device is idle."""
        self._worked += max(0.0, self._busy_until - self._now) / 10
        self._now = max(self._now, self._busy_until)

    @contextlib.contextmanager
    def in_place_of_the_real_one(self, answer: Any) -> Iterator[None]:
        """Replace the real clocks and devices by this machine's, also in the module of `answer`."""
        import torch

        fakes = [(time, name, self._clock(name)) for name in CLOCKS]
        timer = self._clock("perf_counter")
        fakes.append((timeit, "default_timer", timer))
        fakes += [(timeit, name, _timed_by(timer, getattr(timeit, name))) for name in TIMEIT]
        fakes.append((torch, "Event", self._event))
        for module, device in ((torch.cuda, "cuda"), (torch.mps, "mps"), (torch.cpu, "cpu")):
            fakes.append((module, "synchronize", self._only_on(device, self.wait)))
            fakes.append((module, "Event", self._only_on(device, self._event)))
            fakes.append((module, "current_stream", self._only_on(device, lambda *_: self)))
        fakes.append((torch.mps.event, "Event", self._only_on("mps", self._event)))
        accelerated = self._only_on(self._device if self._on_device else "none", self.wait)
        fakes.append((torch.accelerator, "synchronize", accelerated))
        fakes += availability(self._device == "cuda", self._device == "mps")
        with replaced(fakes, answer):
            yield

    synchronize = wait  # of a stream

    def _event(self, *_: Any, **__: Any) -> _Event:
        return _Event(self)

    def _only_on(self, device: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, or one that raises an error if this machine lacks the device."""

        def there_is_none(*_: Any, **__: Any) -> Any:
            raise RuntimeError(f"there is no {NAMES[device]} on this machine.")

        return function if device in (self._device, "cpu") else there_is_none

    def _clock(self, name: str) -> Any:
        real, owner = getattr(time, name), threading.get_ident()
        unit = 1e9 if name.endswith("_ns") else 1.0
        of_the_processor = name.startswith(("process", "thread"))

        def clock() -> float:
            if threading.get_ident() != owner:  # Jupyter's own threads
                return real()
            now = self._worked if of_the_processor else self._now
            return int(now * unit) if name.endswith("_ns") else now

        return clock


CLOCKS = [
    name + unit
    for name in ("perf_counter", "monotonic", "time", "process_time", "thread_time")
    for unit in ("", "_ns")
]
TIMEIT = ("Timer", "timeit", "repeat")
NAMES = {"cuda": "CUDA", "mps": "MPS", "none": "accelerator"}


def _timed_by(clock: Callable[[], float], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of timeit with another default clock."""

    def timed(
        stmt: Any = "pass", setup: Any = "pass", timer: Any = clock, *args: Any, **kwargs: Any
    ) -> Any:
        return function(stmt, setup, timer, *args, **kwargs)

    return timed


class _Event:
    """A simulated event in the device's queue."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._reached = -1.0

    def record(self, *_: Any) -> None:
        self._reached = max(self._machine._now, self._machine._busy_until)

    def synchronize(self) -> None:
        self._machine._now = max(self._machine._now, self._reached)

    def elapsed_time(self, end: _Event) -> float:
        if min(self._reached, end._reached) < 0 or self._machine._now < end._reached:
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return 1e3 * (end._reached - self._reached)


def availability(cuda: bool, mps: bool) -> list[tuple[Any, str, Any]]:
    """List replacements that make torch see a CUDA device, an MPS device, both or neither."""
    import torch

    accelerator = torch.device("cuda" if cuda else "mps") if cuda or mps else None
    return [
        (torch.cuda, "is_available", lambda: cuda),
        (torch.cuda, "device_count", lambda: int(cuda)),
        (torch.cuda, "current_device", lambda: 0),
        (torch.mps, "is_available", lambda: mps),
        (torch.mps, "device_count", lambda: int(mps)),
        (torch.backends.mps, "is_available", lambda: mps),
        (torch.backends.mps, "is_built", lambda: True),  # as on any Mac
        (
            torch.backends.cuda,
            "is_built",
            lambda: True,
        ),  # as in a build for CUDA, even without a GPU
        (torch.version, "cuda", "13.0"),
        (torch.accelerator, "is_available", lambda: accelerator is not None),
        (torch.accelerator, "device_count", lambda: int(accelerator is not None)),
        (torch.accelerator, "current_accelerator", lambda *_, **__: accelerator),
    ]


@contextlib.contextmanager
def replaced(fakes: list[tuple[Any, str, Any]], answer: Any = None) -> Iterator[None]:
    """Replace attributes of modules, and the same objects if the answer's module imported them."""
    places = [(vars(owner), name, fake) for owner, name, fake in fakes if name in vars(owner)]
    of_real = {id(place[name]): fake for place, name, fake in places if callable(fake)}
    imported = getattr(answer, "__globals__", {})
    places += [
        (imported, name, of_real[id(value)])
        for name, value in list(imported.items())
        if id(value) in of_real
    ]
    before = [(place, name, place[name]) for place, name, _ in places]
    try:
        for place, name, fake in places:
            place[name] = fake
        yield
    finally:
        for place, name, value in before:
            place[name] = value
