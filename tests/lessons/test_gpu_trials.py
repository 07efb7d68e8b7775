"""Lesson 09's trials and tables: each trial costs its own row, and what is stored is drawn."""

import dataclasses
import itertools
import json
import re
import signal
import sys
import time
from pathlib import Path

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

import attention_lib
from attention_lib import plots
from attention_lib.lessons.gpu import launch, trials, variants
from attention_lib.lessons.gpu.trials import DEFAULT, Trial
from benchmarks import gpu as benchmark
from benchmarks import gpu_trials, tensor_descriptors
from benchmarks import lesson as lesson_benchmark

MADE_UP = Path(__file__).with_name("made_up_tables")  # no measurements: numbers for these tests
needs_triton = pytest.mark.skipif(
    launch.triton is None, reason="Triton has no build for this system"
)
interpreted = pytest.mark.skipif(
    not launch.INTERPRETED, reason="with a CUDA device trials are compiled, and larger"
)
TRIALS = gpu_trials.all_trials()
SMALL = Trial("small", gpu_trials.FORWARD, False, rows=16, keys=16, warps=4, stages=1)


class TestListOfTrials:
    def test_no_change_of_a_kernel_is_tried_twice(self):
        options = [dataclasses.replace(trial, change="") for trial in TRIALS]
        assert len(set(options)) == len(options)
        names = {(trial.change, trial.kernel, trial.is_causal) for trial in TRIALS}
        assert len(names) == len(TRIALS)

    def test_every_tile_is_tried_with_four_and_with_eight_warps(self):
        for kernel, is_causal in itertools.product(trials.KERNELS, (False, True)):
            tried = [t for t in TRIALS if (t.kernel, t.is_causal) == (kernel, is_causal)]
            default = next(trial for trial in tried if trial.change == DEFAULT)
            assert tried.index(default) == 0
            plain = [t for t in tried if dataclasses.replace(default, change=t.change, rows=t.rows,
                                                             keys=t.keys, warps=t.warps) == t]  # fmt: skip
            tiles = {(trial.rows, trial.keys) for trial in plain}
            assert {(128, 64), (128, 128), (64, 64), (64, 128)} <= tiles
            assert {(t.rows, t.keys, t.warps) for t in plain} == {
                (*tile, warps) for tile in tiles for warps in (4, 8)
            }

    def test_stages_registers_descriptors_and_specialized_warps_are_tried(self):
        forward = [trial for trial in TRIALS if trial.kernel == gpu_trials.FORWARD]
        assert {trial.stages for trial in forward} == {2, 3, 4}
        assert any(trial.most_registers for trial in forward)
        assert {t.is_causal for t in forward if t.descriptors} == {False, True}
        specialized = [trial for trial in forward if trial.specialized]
        assert {trial.descriptors for trial in specialized} == {False, True}
        assert {trial.is_causal for trial in specialized} == {False}

    @needs_triton
    def test_specialized_loop_replaces_text_that_the_kernel_has(self):
        changes = (gpu_trials.LOOP, gpu_trials.SPECIALIZED)
        assert gpu_trials.Edited("flash_kernel", changes).kernel is not None


ENDED = [
    ("raise RuntimeError('PassManager::run failed')", "failed: RuntimeError: PassManager::run"),
    (
        "print('k.py:20:0: error: descriptor block and tensor differ', file=sys.stderr); os.abort()",
        "failed: descriptor block and tensor differ",
    ),
    ("signal.alarm(1); time.sleep(60)", "stopped: not compiled after 90 s"),
    ("sys.exit(3)", "failed: nothing said why"),
]


@pytest.mark.slow
class TestTrialInItsOwnProcess:
    @pytest.mark.parametrize(("code", "problem"), ENDED)
    def test_process_that_ends_badly_is_a_row_that_says_so(self, code, problem, monkeypatch):
        command = (sys.executable, "-c", f"import os, signal, sys, time; {code}")
        monkeypatch.setattr(gpu_trials, "COMMAND", command)
        trial = gpu_trials.run_apart(SMALL, Path("lock"), time.monotonic() + 60)
        assert trial.problem.startswith(problem)
        assert dataclasses.replace(trial, problem="") == SMALL

    def test_at_the_deadline_processes_are_ended_and_the_rest_is_not_tried(self, monkeypatch):
        monkeypatch.setattr(gpu_trials, "all_trials", lambda: [SMALL] * 20)
        command = (sys.executable, "-c", "import time; time.sleep(60)")
        monkeypatch.setattr(gpu_trials, "COMMAND", command)
        start = time.monotonic()
        tried = gpu_trials.run_all(start + 1)
        assert [trial.problem for trial in tried] == ["not tried: no time left"] * 20
        assert time.monotonic() - start < 20

    def test_one_that_fails_costs_the_others_nothing(self, monkeypatch):
        code = (
            "import json, sys; trial = json.load(sys.stdin); trial['tflops'] = 1.5\n"
            "assert trial['change'] != 'bad'\nprint('a remark of the compiler')\n"
            "print(json.dumps(trial))"
        )
        monkeypatch.setattr(gpu_trials, "COMMAND", (sys.executable, "-c", code))
        bad = dataclasses.replace(SMALL, change="bad")
        monkeypatch.setattr(gpu_trials, "all_trials", lambda: [SMALL, bad, SMALL])
        tried = gpu_trials.run_all(time.monotonic() + 60)
        assert [trial.tflops for trial in tried] == [1.5, None, 1.5]
        assert tried[1].problem == "failed: AssertionError"

    @pytest.mark.parametrize(("tflops", "tables"), [(None, 0), (1.5, 1)])
    def test_table_in_which_nothing_was_measured_is_not_stored(self, tflops, tables, monkeypatch):
        tried = dataclasses.replace(SMALL, tflops=tflops, milliseconds=tflops)
        stored = []
        monkeypatch.setattr(gpu_trials, "run_all", lambda _deadline: [tried])
        monkeypatch.setattr(
            gpu_trials,
            "store_trials",
            lambda *table: stored.append(table) or variants.RESULTS / "t",
        )
        gpu_trials.try_all({"device": "any"}, 0.0, stores=True)
        assert len(stored) == tables


@needs_triton
@interpreted
class TestInterpretedTrials:
    @pytest.fixture(autouse=True)
    def small_size(self, monkeypatch):
        monkeypatch.setattr(gpu_trials, "HEADS", 1)
        monkeypatch.setattr(gpu_trials, "LENGTH", 64)  # whole tiles of the launches in them
        monkeypatch.setattr(gpu_trials, "HEAD_DIM", 16)
        monkeypatch.setattr(gpu_trials, "REPEATS", 1)
        for limit in ("COMPILE_SECONDS", "DEVICE_SECONDS"):  # of this process, on a busy machine
            monkeypatch.setattr(gpu_trials, limit, 600)

    @pytest.mark.parametrize("is_causal", [False, True])
    @pytest.mark.parametrize(
        "change",
        [
            {},
            {"descriptors": True},
            {"kernel": gpu_trials.GRAD_QUERY, "rows": 32},
            {"kernel": gpu_trials.GRAD_KEY_VALUE, "keys": 32},
        ],
    )
    def test_trial_has_right_numbers_and_a_time(self, change, is_causal, tmp_path):
        trial = dataclasses.replace(SMALL, is_causal=is_causal, **change)
        tried = gpu_trials.run_one(trial, tmp_path / "lock")
        assert not tried.problem
        assert tried.tflops > 0
        assert signal.alarm(0) == 0

    def test_wrong_numbers_are_a_problem_and_no_speed(self, monkeypatch, tmp_path):
        monkeypatch.setattr(gpu_trials, "SPECIALIZED", "in range(start, stop - BLOCK, BLOCK)")
        trial = dataclasses.replace(SMALL, specialized=True)
        tried = gpu_trials.run_one(trial, tmp_path / "lock")
        assert tried.problem.startswith("wrong by")
        assert tried.milliseconds is None
        assert signal.alarm(0) == 0  # nothing is left that would end this process

    @pytest.mark.parametrize("tile", [(16, 16), (16, 32), (32, 16)])
    @pytest.mark.parametrize("is_causal", [False, True])
    def test_descriptors_give_the_numbers_of_pytorch(self, tile, is_causal):
        query, key, value = torch.randn(3, 1, 2, 64, 16)
        output = torch.empty_like(query)
        arguments = (query, key, value, output, is_causal, tile, False)
        tensor_descriptors.launch_by_descriptors(*arguments)
        right = scaled_dot_product_attention(query, key, value, is_causal=is_causal)
        assert (output - right).abs().max() < 1e-6

    def test_part_of_a_tile_is_refused(self):
        tensors = torch.zeros(4, 1, 1, 40, 16)
        with pytest.raises(ValueError, match="whole tiles"):
            tensor_descriptors.launch_by_descriptors(*tensors, False, (16, 16), False)


class TestStoredTrials:
    def test_stored_trials_come_back_and_their_table_lies_beside(self, tmp_path):
        machine = {"device": "NVIDIA H200", "torch": "2.13.0", "date": "2026-01-02"}
        tried = [
            dataclasses.replace(SMALL, change=DEFAULT, milliseconds=2.0, tflops=200.0),
            dataclasses.replace(SMALL, milliseconds=1.6, tflops=250.0, registers=128, spills=0),
            dataclasses.replace(SMALL, change="bad", problem="failed: no such layout"),
        ]
        path = trials.store_trials(tried, machine, tmp_path)
        assert path.name == "trials-nvidia-h200-2026-01-02.json"
        assert trials.stored_trials(tmp_path) == [(machine, tried)]
        assert variants.stored(tmp_path) == []
        text = path.with_suffix(".txt").read_text("utf-8")
        assert "device: NVIDIA H200" in text
        assert re.search(r"small +none +16×16 +4 +1 +250 +1\.25 +128 +0\n", text)
        assert re.search(r"bad .*  failed: no such layout\n", text)

    def test_tiles_are_compared_with_all_else_as_in_the_default(self):
        [(_, tried)] = trials.stored_trials(MADE_UP)
        assert trials.speeds_of_tiles(tried) == {
            (128, 128): {8: 100.0, 4: 50.0},
            (128, 64): {8: 80.0, 4: 125.0},
        }
        assert trials.speeds_of_tiles(tried, is_causal=True) == {}


def cell_with(text):
    return next(cell for cell in lesson_benchmark.cells_of("09_gpu") if text in cell)


class TestLessonWithStoredTables:
    @pytest.fixture
    def drawn(self):
        """Return the figure that the lesson draws from a folder's tables, the roofline's points,
        and what the two cells print.
        """

        def draw(folder, monkeypatch, capsys):
            tables, tried = variants.stored(folder), trials.stored_trials(folder)
            monkeypatch.setattr(variants, "stored", lambda: tables)
            monkeypatch.setattr(trials, "stored_trials", lambda: tried)
            namespace = {
                "plots": plots,
                "variants": variants,
                "trials": trials,
                "lib": attention_lib,
            }
            curves = cell_with("def curves(")
            exec(curves[: curves.index("plots.cost_by_length")], namespace)
            exec(cell_with("PUBLISHED = {"), namespace)
            printed = capsys.readouterr().out
            exec(cell_with("roof = 989e12"), namespace)
            printed_of_roof = capsys.readouterr().out
            return namespace["figure"], printed, namespace["points"], printed_of_roof

        return draw

    def test_speeds_forward_backward_and_by_tile_are_drawn(self, drawn, monkeypatch, capsys):
        figure, printed, points, printed_of_roof = drawn(MADE_UP, monkeypatch, capsys)
        assert printed.startswith("made-up device, torch 0.0, measured 2026-01-02")
        assert [axes.get_title("left") for axes in figure.axes] == [
            "forward",
            "backward",
            "our kernel's tiles",
        ]
        assert "forward, naive torch: 25 at 4,096 tokens" in figure.alt
        assert "backward, our Triton kernel: 50 at 4,096 tokens" in figure.alt
        assert "128 × 64 with 4 warps 125" in figure.alt
        assert printed_of_roof.startswith("measured: made-up device")
        assert [f"{speed:.3g}" for _, speed in points.values()] == ["2.5e+13", "1e+14"]

    def test_without_tables_the_page_says_so_and_shows_published_speeds(
        self, drawn, monkeypatch, capsys, tmp_path
    ):
        figure, printed, points, printed_of_roof = drawn(tmp_path, monkeypatch, capsys)
        assert printed == (
            "No table measured for this course exists yet: these are published figures.\n"
        )
        assert "as published" in figure.alt
        assert printed_of_roof.startswith("published: an H100")
        assert (
            "standard attention        32 operations a byte,  72 of 106 TFLOP/s" in printed_of_roof
        )
        assert points["FlashAttention-3"][1] == 476e12

    def test_made_up_tables_are_none_of_the_course(self):
        for tables in (variants.stored(), trials.stored_trials()):
            assert all("made" not in machine["device"] for machine, _ in tables)


class TestLessonBenchmark:
    def test_answers_take_the_place_of_the_gaps(self):
        cells = lesson_benchmark.cells_of("09_gpu")
        assert not any("NotImplementedError" in cell for cell in cells)
        assert any("def flash_program(" in cell and "tl.store" in cell for cell in cells)

    def test_cell_that_fails_is_shown_and_the_next_ones_run(self, capsys):
        times = lesson_benchmark.timed_cells(["x = 1", "x / 0", "print('x is', x)"])
        assert [(line, failed) for line, _, failed in times] == [
            ("x = 1", False),
            ("x / 0", True),
            ("print('x is', x)", False),
        ]
        printed = capsys.readouterr().out
        assert "ZeroDivisionError" in printed
        assert "x is 1" in printed


class TestRowsOfTheBenchmark:
    @pytest.mark.parametrize("is_backward", [False, True])
    def test_variant_that_fails_costs_its_own_row(self, is_backward):
        def prepare(*_):
            raise RuntimeError("PassManager::run failed\nand much more")

        tensors = tuple(torch.zeros(3, 1, 2, 8, 16))
        way = variants.Variant("broken", prepare)
        row = benchmark.row_of(way, tensors, True, 3, is_backward)
        assert row.problem == "RuntimeError: PassManager::run failed"
        assert (row.length, row.is_causal, row.is_backward) == (8, True, is_backward)

    @pytest.mark.slow
    def test_compiled_form_is_compiled_for_each_dtype_mask_and_gradient(self, monkeypatch):
        """Torch would give up after 8 forms, and the row would time what was never compiled."""
        compiled = []

        def count(graph, _inputs):
            compiled.append(graph)
            return graph.forward

        original = torch.compile
        monkeypatch.setattr(
            torch,
            "compile",
            lambda function, **options: original(function, backend=count, **options),
        )
        torch.compiler.reset()
        variants._compiled_naive.cache_clear()
        limit = torch.compiler.config.recompile_limit
        try:
            for dtype, (is_causal, with_gradient), length in itertools.product(
                (torch.float32, torch.float16, torch.bfloat16),
                ((False, False), (True, False), (True, True)),
                (9, 12),
            ):
                tensors = [torch.ones(1, 2, length, 16, dtype=dtype) for _ in range(3)]
                tensors[0].requires_grad_(with_gradient)
                variants._naive_compiled(*tensors, is_causal)()
        finally:
            torch.compiler.config.recompile_limit = limit
            torch.compiler.reset()
            variants._compiled_naive.cache_clear()
        assert len(compiled) == 9


@pytest.mark.gpu
@needs_triton
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize(
    "change",
    [
        DEFAULT,
        "tensor descriptors",
        "128 × 64, 4 warps, descriptors, specialized",
        "4 warps, specialized",
    ],
)
def test_trial_runs_on_the_device(change, tmp_path):
    trial = next(trial for trial in TRIALS if trial.change == change)
    tried = gpu_trials.run_apart(trial, tmp_path / "lock", time.monotonic() + 120)
    assert not tried.problem
    assert tried.tflops > 0
    assert tried.registers > 0


def test_made_up_tables_say_that_they_are():
    for path in MADE_UP.glob("*.json"):
        machine = json.loads(path.read_text("utf-8"))["machine"]
        assert machine["limits"] == "numbers made up for a test"
