"""Tables of what one change to a kernel's tile, warps or loads brought, stored and read again."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from attention_lib.lessons.gpu.variants import RESULTS, name_of_table

__all__ = [
    "DEFAULT",
    "KERNELS",
    "Trial",
    "ratio",
    "speeds_of_tiles",
    "store_trials",
    "stored_trials",
    "text_table_of_trials",
]

DEFAULT = "the default"
KERNELS = ("forward", "gradient of queries", "gradients of keys and values")


@dataclass(frozen=True)
class Trial:
    """A kernel with one thing changed, and what it took; `problem` says what kept it from running."""

    change: str  # against the default of the same kernel and mask
    kernel: str
    is_causal: bool
    rows: int
    keys: int
    warps: int
    stages: int
    most_registers: int | None = None  # of a thread; None leaves it to the compiler
    descriptors: bool = False  # loads by tensor descriptors, not by pointers
    specialized: bool = False  # asks for warps of their own for the loads
    milliseconds: float | None = None
    tflops: float | None = None
    registers: int | None = None  # of a thread, as compiled
    spills: int | None = None  # registers that were moved to memory
    problem: str = ""


def ratio(trial: Trial, trials: Iterable[Trial]) -> float | None:
    """Return how many times as fast as the default of its kernel and mask a trial was."""
    defaults = [
        other.milliseconds
        for other in trials
        if (other.change, other.kernel, other.is_causal) == (DEFAULT, trial.kernel, trial.is_causal)
    ]
    if not trial.milliseconds or not defaults or not defaults[0]:
        return None
    return defaults[0] / trial.milliseconds


def text_table_of_trials(trials: Sequence[Trial]) -> str:
    """Write a line for each trial: its speed, beside the default's, or what kept it from running."""
    lines = [
        f"{'change':34}{'mask':7}{'tile':>9}{'warps':>6}{'stages':>7}{'TFLOP/s':>9}"
        f"{'ratio':>7}{'registers':>10}{'spills':>7}"
    ]
    for kernel in dict.fromkeys(trial.kernel for trial in trials):
        lines += ["", kernel]
        for trial in trials:
            if trial.kernel != kernel:
                continue
            tile = f"{trial.rows}×{trial.keys}"
            mask = "causal" if trial.is_causal else "none"
            head = f"{trial.change:34}{mask:7}{tile:>9}{trial.warps:6}{trial.stages:7}"
            if trial.problem:
                lines.append(f"{head}  {trial.problem}")
                continue
            share = ratio(trial, trials)
            numbers = (
                (f"{trial.tflops:.0f}" if trial.tflops else "-", 9),
                (f"{share:.2f}" if share else "-", 7),
                ("-" if trial.registers is None else f"{trial.registers}", 10),
                ("-" if trial.spills is None else f"{trial.spills}", 7),
            )
            lines.append(head + "".join(f"{text:>{width}}" for text, width in numbers))
    return "\n".join(lines)


def store_trials(trials: Iterable[Trial], machine: dict[str, str], folder: Path = RESULTS) -> Path:
    """Keep a table of trials as a file and, beside it, as text; `stored_trials` reads the file."""
    folder.mkdir(parents=True, exist_ok=True)
    trials = list(trials)
    path = folder / f"trials-{name_of_table(machine)}.json"
    content = {"machine": machine, "trials": [dataclasses.asdict(trial) for trial in trials]}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    about = "\n".join(f"{what}: {found}" for what, found in machine.items())
    text = f"{about}\n\n{text_table_of_trials(trials)}\n"
    path.with_suffix(".txt").write_text(text, encoding="utf-8")
    return path


def stored_trials(folder: Path = RESULTS) -> list[tuple[dict[str, str], list[Trial]]]:
    """Return the machines and trials kept in a folder, in the order of their names."""
    tables = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("trials-*.json"))]
    return [(table["machine"], [Trial(**trial) for trial in table["trials"]]) for table in tables]


def speeds_of_tiles(
    trials: Iterable[Trial], kernel: str = KERNELS[0], is_causal: bool = False
) -> dict[tuple[int, int], dict[int, float]]:
    """Return {(rows, keys): {warps: TFLOP/s}} of the trials that change tile and warps alone."""
    of_kernel = [t for t in trials if (t.kernel, t.is_causal) == (kernel, is_causal)]
    stages = {trial.stages for trial in of_kernel if trial.change == DEFAULT}
    speeds: dict[tuple[int, int], dict[int, float]] = {}
    for trial in of_kernel:
        plain = not (trial.descriptors or trial.specialized or trial.most_registers)
        if plain and trial.tflops and trial.stages in stages:
            speeds.setdefault((trial.rows, trial.keys), {})[trial.warps] = trial.tflops
    return speeds
