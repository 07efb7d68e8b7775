"""A lesson run from top to bottom with its model answers, and the time that each cell takes.

`python -m benchmarks.lesson 10_gpu` starts no Jupyter. A cell that fails is shown with its error, the
next ones run all the same, and the command exits with 1. NumPy's products have one thread, as on the site.
"""

from __future__ import annotations

import json
import linecache
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from attention_lib.exercises import EXERCISES
from attention_lib.exercises.model_answers import model_answer

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
# Of OpenBLAS and MKL, and of Apple's Accelerate. It is read when NumPy is imported.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "VECLIB_MAXIMUM_THREADS": "1"}


def main() -> None:
    names = sorted(path.name for path in NOTEBOOKS.iterdir() if path.is_dir())
    if len(sys.argv) != 2 or sys.argv[1] not in names:
        sys.exit(f"Name one lesson: python -m benchmarks.lesson LESSON, of {', '.join(names)}.")
    if not ONE_THREAD.items() <= os.environ.items():
        command = [sys.executable, "-m", "benchmarks.lesson", sys.argv[1]]
        sys.exit(subprocess.call(command, env=os.environ | ONE_THREAD))
    times = timed_cells(cells_of(sys.argv[1]))
    print(f"\n{sum(seconds for _, seconds, _ in times):.1f} s in all")
    for number, (first_line, seconds, failed) in enumerate(times, 1):
        print(f"{number:4}{seconds:9.2f} s  {'FAILED  ' if failed else ''}{first_line}")
    sys.exit(any(failed for _, _, failed in times))


def cells_of(lesson: str) -> list[str]:
    """Return the code cells of a learners' notebook, the model answers in place of the gaps."""
    notebook = json.loads((NOTEBOOKS / lesson / f"{lesson}.ipynb").read_text(encoding="utf-8"))
    return [
        (cell["id"] in EXERCISES and model_answer(EXERCISES[cell["id"]])) or "".join(cell["source"])
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


def timed_cells(cells: list[str]) -> list[tuple[str, float, bool]]:
    """Run cells in one namespace; return each one's first line, its seconds and whether it failed."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    times = []
    for number, source in enumerate(cells, 1):
        first_line = next(iter(source.splitlines()), "")
        name = f"<cell {number}>"
        # Triton reads a kernel's source, which inspect looks for here.
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        print(f"\ncell {number}: {first_line}", flush=True)
        start = time.perf_counter()
        failed = False
        try:
            exec(compile(source, name, "exec", dont_inherit=True), namespace)
        except Exception:
            failed = True
            traceback.print_exc(file=sys.stdout)
        if "torch" in sys.modules and sys.modules["torch"].cuda.is_available():
            sys.modules["torch"].cuda.synchronize()  # a cell ends when the device has done its work
        times.append((first_line, time.perf_counter() - start, failed))
    return times


if __name__ == "__main__":
    main()
