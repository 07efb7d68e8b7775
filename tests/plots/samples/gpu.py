"""Samples of the figures of lesson 09, each drawn from small numbers."""

from attention_lib import plots


def clocks():
    return plots.two_clocks(0.01, 0.8)


def errors():
    row = {"naive torch": 2e-7, "our Triton kernel": 3e-7}
    wide = {name: error * 1e4 for name, error in row.items()}
    steps = {"float32": 1.2e-7, "bfloat16": 7.8e-3}
    return plots.errors_by_dtype({"float32": row, "bfloat16": wide}, steps)


def costs():
    rows = [(256, 1.5, 0.02, 2**21), (1024, 20.0, 0.03, 2**25)]
    without_memory = [(length, 0.2 * ms, 5 * speed, None) for length, ms, speed, _ in rows]
    return plots.cost_by_length({"naive torch": rows, "SDPA Flash": without_memory}, "a CPU")


def tiles():
    return plots.tiles_of_a_launch(40, 16, 8)


FIGURES = [clocks, errors, costs, tiles]
