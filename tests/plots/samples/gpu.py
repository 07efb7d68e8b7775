"""Samples of the figures of lesson 10, each drawn from small numbers."""

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


def tile():
    return plots.limit_and_stop(11, 4, 4, 2)


def chip():
    parts = {
        "multiprocessors": "132",
        "memory": "80 GB",
        "cache": "50 MB",
        "shared memory": "228 KiB",
        "registers": "65,536",
        "tensor cores": "4",
    }
    return plots.inside_a_gpu("NVIDIA H100", parts)


def budget():
    needs = {"registers": (160, 255, "a thread"), "shared memory": (448, 227, "KiB")}
    return plots.tile_budget(128, 64, 4, needs, 128)


def far_over_budget():
    return plots.tile_budget(512, 512, 8, {"registers": (1700, 255, "a thread")}, 512)


def turns():
    return plots.timeline(
        {"one": [(0, "products"), (1, "exponentials")], "other": [(1, "products")]}
    )


def published():
    return plots.published_speeds({"ours": (400, 363), "another": (321, None)}, "H100")


def speeds(tiles=True):
    by_length = {
        "forward": {
            "naive torch": [(512, 70.0), (1024, 75.0)],
            "ours": [(512, 300.0), (1024, 400.0)],
        },
        "backward": {"ours": [(512, 200.0), (1024, 250.0)]},
    }
    by_tile = {(128, 64): {8: 390.0, 4: 310.0}, (64, 64): {4: 280.0}}
    return plots.measured_speeds(by_length, by_tile if tiles else {}, "made up")
