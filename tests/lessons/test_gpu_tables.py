"""Lesson 10's stored tables: measured row by row, tiles beside, and drawn by the lesson."""

import dataclasses
import itertools
import math
import sys
import time
from types import SimpleNamespace

import pytest
import torch

import attention_lib
from attention_lib import plots
from attention_lib.lessons.gpu import forward, tuning, variants
from benchmarks import gpu as benchmark
from benchmarks import lesson as lesson_benchmark

MACHINE = {"device": "NVIDIA H200", "torch": "2.13.0", "triton": "3.7.1", "date": "2026-01-02"}
CPU = torch.device("cpu")


@pytest.fixture
def made_up(tmp_path):
    """Store rows that nobody measured, and return their folder."""

    def row(variant, length, speed, is_backward=False, is_causal=False, **more):
        size = 1, 16, length, 64, is_causal, "bfloat16"
        one = variants.Row(variant, *size, peak_bytes=2**20, is_backward=is_backward, **more)
        return dataclasses.replace(one, milliseconds=[one.operations / speed / 1e9])

    def tuned(speed, rows, keys, warps, stages=3, variant=variants.FORWARD, **more):
        tile = {"rows": rows, "keys": keys, "warps": warps, "stages": stages, "maxnreg": None}
        return row(variant, 4096, speed, tile=tile, **more)

    rows = [
        row(variant, length, speed, is_backward)
        for variant, is_backward, speed in [
            *[(variants.NAIVE, False, 25), (variants.NAIVE, True, 12.5)],
            *[(variants.KERNEL, False, 100), (variants.KERNEL, True, 50)],
        ]
        for length in (512, 1024, 4096)
    ]
    rows += [
        tuned(100, 128, 128, 8),
        tuned(80, 128, 64, 8),
        tuned(125, 128, 64, 4),
        tuned(90, 128, 64, 4, stages=2),
        dataclasses.replace(tuned(1, 64, 64, 4), milliseconds=[], problem="failed"),
        tuned(60, 128, 64, 8, is_causal=True),
        tuned(70, 128, 64, 8, stages=2, variant=variants.GRAD_QUERY, is_backward=True),
    ]
    versions = {"torch": "0.0", "triton": "0.0", "cuda": "none", "date": "2026-01-02"}
    limits = {"limits": "numbers made up for a test", "peak": "2e14", "bandwidth": "1e12"}
    return variants.store(rows, {"device": "made-up device", **versions, **limits}, tmp_path).parent


def cell_with(text):
    return next(cell for cell in lesson_benchmark.cells_of("10_gpu") if text in cell)


class TestLessonWithStoredTables:
    @pytest.fixture
    def drawn(self):
        """Return the figure that the lesson draws from a folder's tables, the roofline's points,
        and what the two cells print.
        """

        def draw(folder, monkeypatch, capsys):
            tables = variants.stored(folder)
            monkeypatch.setattr(variants, "stored", lambda: tables)
            namespace = {"plots": plots, "variants": variants, "lib": attention_lib}
            namespace |= {"device": CPU, "FAST": torch.float32, "rows": []}
            exec(cell_with("PUBLISHED = {"), namespace)
            printed_of_roof = capsys.readouterr().out
            exec(cell_with("plots.measured_speeds"), namespace)
            printed = capsys.readouterr().out
            return namespace["figure"], printed, namespace["points"], printed_of_roof

        return draw

    def test_speeds_forward_backward_and_by_tile_are_drawn(
        self, drawn, made_up, monkeypatch, capsys
    ):
        figure, printed, points, printed_of_roof = drawn(made_up, monkeypatch, capsys)
        assert printed.startswith("made-up device, torch 0.0, measured 2026-01-02")
        assert [axes.get_title("left") for axes in figure.axes] == [
            "forward",
            "backward",
            "our kernel's tiles",
        ]
        assert "forward, naive torch: 25 at 4,096 tokens" in figure.alt
        assert "backward, our Triton kernel: 50 at 4,096 tokens" in figure.alt
        assert "128 × 64 with 4 warps 125" in figure.alt
        assert printed_of_roof.startswith("made-up device, measured 2026-01-02")
        assert [f"{speed:.3g}" for _, speed in points.values()] == ["2.5e+13", "1e+14"]

    def test_without_tables_the_page_says_so_and_shows_published_speeds(
        self, drawn, monkeypatch, capsys, tmp_path
    ):
        figure, printed, points, printed_of_roof = drawn(tmp_path, monkeypatch, capsys)
        assert printed == (
            "No table measured for this course exists yet: these are published figures.\n"
        )
        assert "as published" in figure.alt
        assert printed_of_roof.startswith("an H100, published")
        assert (
            "standard attention         32 operations a byte,   72 of 106 TFLOP/s"
            in printed_of_roof
        )
        assert points["FlashAttention-3"][1] == 476e12

    def test_made_up_tables_are_none_of_the_course(self):
        assert all("made" not in machine["device"] for machine, _ in variants.stored())

    def test_tiles_are_compared_without_a_mask_each_with_its_best_stages(self, made_up):
        [(_, rows)] = variants.stored(made_up)
        speeds = {
            tile: {warps: round(speed) for warps, speed in of_tile.items()}
            for tile, of_tile in variants.speeds_of_tiles(rows).items()
        }
        assert speeds == {(128, 128): {8: 100}, (128, 64): {8: 80, 4: 125}}


class TestLessonBenchmark:
    def test_answers_take_the_place_of_the_gaps(self):
        cells = lesson_benchmark.cells_of("10_gpu")
        assert not any("NotImplementedError" in cell for cell in cells)
        assert any("def flash_program(" in cell and "tl.store" in cell for cell in cells)

    def test_lesson_begins_without_sliders_where_they_are_missing(self, monkeypatch, capsys):
        monkeypatch.setitem(sys.modules, "ipywidgets", None)
        [(_, _, failed)] = lesson_benchmark.timed_cells(lesson_benchmark.cells_of("10_gpu")[:1])
        assert not failed
        assert "without sliders" in capsys.readouterr().out

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


def named(name, prepare):
    return variants.Variant(name, prepare)


class TestRowsOfTheBenchmark:
    @pytest.fixture
    def run(self, monkeypatch, tmp_path):
        """Run the benchmark's loop over such ways, at two lengths; return the table that it keeps."""

        def run(*ways, machine=MACHINE, seconds=60):
            monkeypatch.setattr(benchmark, "variants", lambda *_: list(ways))
            monkeypatch.setattr(benchmark, "LENGTHS", {"cpu": (16, 8)})
            monkeypatch.setattr(benchmark, "REPEATS", {"cpu": 1})
            with pytest.raises(SystemExit):
                benchmark.measure_all(CPU, machine, tmp_path, time.monotonic() + seconds)
            [(_, rows)] = variants.stored(tmp_path) or [(None, [])]
            return rows

        return run

    def test_variant_that_fails_costs_its_own_row(self, run):
        def prepare(query, key, value, is_causal):
            if is_causal:
                raise RuntimeError("PassManager::run failed\nand much more")
            return lambda: query * key * value

        rows = run(named("half broken", prepare))
        assert len(rows) == 8
        assert {row.problem for row in rows if not row.is_causal} == {""}
        assert {row.problem for row in rows if row.is_causal} == {
            "RuntimeError: PassManager::run failed"
        }
        assert sum(row.is_backward for row in rows) == 4

    def test_run_that_is_stopped_keeps_its_rows_and_the_next_one_goes_on(self, run, tmp_path):
        calls = []

        def prepare(query, key, value, is_causal):
            calls.append((query.shape[-2], is_causal))
            if len(calls) == 3:
                raise KeyboardInterrupt
            return lambda: query * key * value

        with pytest.raises(KeyboardInterrupt):
            run(named("plain", prepare))
        [(machine, rows)] = variants.stored(tmp_path)
        assert machine == MACHINE
        assert [(row.length, row.is_causal) for row in rows] == [(16, False), (16, True)]
        assert len(run(named("plain", prepare))) == 8
        assert len(calls) == 3 + 6

    def test_rows_of_another_version_are_measured_again(self, run, tmp_path):
        def prepare(query, key, value, is_causal):
            return lambda: query * key * value

        run(named("plain", prepare))
        rows = run(named("other", prepare), machine=MACHINE | {"torch": "2.14.0"})
        assert {row.variant for row in rows} == {"other"}

    def test_after_the_deadline_no_row_begins(self, run, capsys):
        assert run(named("plain", None), seconds=-1) == []
        assert "8 rows are left: run this again" in capsys.readouterr().out

    def test_tiles_that_the_tuning_timed_stand_beside_the_row(self, monkeypatch):
        configs = [
            tuning.Config({"ROWS": 128, "BLOCK": 64}, num_warps=warps, maxnreg=128)
            for warps in (8, 4)
        ]
        timings = dict(zip(configs, ([2.0, 1.0, 3.0], [math.inf] * 3), strict=True))
        monkeypatch.setattr(forward, "forward", SimpleNamespace(configs_timings=timings))
        row = variants.Row(variants.KERNEL, 1, 16, 4096, 64, False, "bfloat16", [5.0])
        fast, failed = benchmark.rows_of_tuning(row)
        assert (fast.median, fast.variant, fast.problem) == (2.0, variants.FORWARD, "")
        assert fast.tile == {"rows": 128, "keys": 64, "warps": 8, "stages": 3, "maxnreg": 128}
        assert (failed.milliseconds, failed.problem) == ([], "failed")
        assert "rows 128  keys 64  warps 8" in variants.text_table([fast])

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
