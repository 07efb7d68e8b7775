"""The language model: opened, held to Hugging Face's numbers, shown as it speaks, and refused in one sentence."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import attention_lib as lib
from attention_lib import model as helper
from attention_lib.exercises import EXERCISES
from attention_lib.exercises.model.model_scores import draw_model
from attention_lib.trained_numbers import FILE
from benchmarks.lesson import cells_of
from benchmarks.trained import computed
from tests.exercises.chosen import in_one_worker

REFERENCE = json.loads((Path(__file__).parent / "lessons" / "model_reference.json").read_text())
needs_model = [
    pytest.mark.skipif(
        not helper.is_installed(), reason="the language model is not installed (make lab MODEL=1)"
    ),
    *in_one_worker("language model"),
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def model():
    return helper.load_model()


class TestOpened:
    pytestmark = needs_model

    @pytest.mark.parametrize("text", REFERENCE["prompts"])
    def test_tokens_scores_and_text_are_those_of_hugging_face(self, model, text):
        expected = REFERENCE["prompts"][text]
        tokens = model["tokenizer"].encode(text).ids
        assert tokens == expected["tokens"]
        scores, _ = lib.model_scores(tokens, model)
        np.testing.assert_allclose(scores[:, :: REFERENCE["every"]], expected["scores"], atol=3e-4)
        assert scores.argmax(-1).tolist() == expected["best"]
        step = lambda words, caches: lib.model_scores(words, model, caches)  # noqa: E731
        count = len(expected["written"])
        assert lib.generate(step, tokens, count, np.argmax).tolist() == expected["written"]

    def test_a_text_in_pieces_gives_what_it_gives_at_once(self, model):
        tokens = REFERENCE["prompts"]["The capital of France is"]["tokens"]
        whole, _ = lib.model_scores(tokens, model)
        first, caches = lib.model_scores(tokens[:3], model)
        rest, _ = lib.model_scores(tokens[3:], model, caches)
        np.testing.assert_allclose(np.concatenate([first, rest]), whole, atol=2e-4)

    def test_float32_is_as_good_as_float64(self, model):
        tokens = REFERENCE["prompts"]["The capital of France is"]["tokens"]
        first = {**model, "blocks": model["blocks"][:4]}
        wide = {
            **first,
            "embedding": model["embedding"][:2000].astype(float),
            "gain": model["gain"].astype(float),
            "blocks": [
                {name: array.astype(float) for name, array in block.items()}
                for block in first["blocks"]
            ],
        }
        narrow = first | {"embedding": model["embedding"]}
        few = [token for token in tokens if token < 2000]
        scores = lib.model_scores(few, narrow)[0][:, :2000]
        np.testing.assert_allclose(scores, lib.model_scores(few, wide)[0], atol=1e-3)

    def test_the_weights_have_the_shapes_of_the_contract_and_cannot_be_changed(self, model):
        block = model["blocks"][0]
        assert model["embedding"].shape == (49152, 576)
        assert (len(model["blocks"]), model["num_heads"], model["num_groups"]) == (30, 9, 3)
        assert model["base"] == 100_000
        assert {name: array.shape for name, array in block.items()} == {
            "attention_gain": (576,),
            "w_q": (576, 576),
            "w_k": (576, 192),
            "w_v": (576, 192),
            "w_o": (576, 576),
            "feed_forward_gain": (576,),
            "w_gate": (576, 1536),
            "w_up": (576, 1536),
            "w_down": (1536, 576),
        }
        with pytest.raises(ValueError, match="read-only"):
            block["w_q"][0, 0] = 0

    def test_weights_of_the_inside_are_those_of_attention(self, model):
        tokens = REFERENCE["prompts"]["The capital of France is"]["tokens"]
        layers = helper.look_inside(tokens, model)
        assert len(layers) == 30
        np.testing.assert_allclose(layers[5].weights.sum(axis=-1), 1, rtol=1e-5)
        assert not layers[5].weights[:, np.triu_indices(5, 1)[0], np.triu_indices(5, 1)[1]].any()
        _, weights = lib.attention(
            layers[5].query, layers[5].key, layers[5].value, lib.causal_mask(5)
        )
        np.testing.assert_allclose(weights, layers[5].weights, atol=1e-6)

    def test_a_window_as_long_as_the_text_changes_nothing(self, model):
        tokens = REFERENCE["prompts"]["The capital of France is"]["tokens"]
        whole, _ = lib.model_scores(tokens, model)
        with helper.attention_replaced(helper.windowed(len(tokens), False)):
            windowed, _ = lib.model_scores(tokens, model)
        np.testing.assert_allclose(windowed, whole, atol=2e-4)

    def test_interrupting_keeps_what_was_said(self, model, capsys):
        def choose(scores):
            if len(seen) == 2:
                raise KeyboardInterrupt
            seen.append(int(scores.argmax()))
            return seen[-1]

        seen = []
        step = lambda words, caches: lib.model_scores(words, model, caches)  # noqa: E731
        said = helper.speak(model, "The capital of France is", lib.generate, step, choose, count=9)
        assert said == "The capital of France is Paris."
        assert "Interrupted: this is what was said so far." in capsys.readouterr().out

    def test_a_cache_that_was_damaged_is_made_again(self, tmp_path, monkeypatch, model):
        def zeros(source, copy):
            """Make a file of the same size, without copying hundreds of megabytes."""
            with open(copy, "wb") as file:
                file.truncate(Path(source).stat().st_size)

        def copied(source, copy):
            (zeros if source.endswith("weights.f32") else shutil.copy)(source, copy)

        shutil.copytree(helper._cache_folder(), tmp_path / "cache", copy_function=copied)
        monkeypatch.setenv(helper.CACHE_VARIABLE, str(tmp_path / "cache"))
        again = helper.load_model()
        np.testing.assert_array_equal(again["embedding"][7], model["embedding"][7])
        np.testing.assert_array_equal(again["gain"], model["gain"])

    def test_the_stored_numbers_of_earlier_lessons_are_those_of_the_model(self):
        with np.load(FILE) as stored:
            for name, expected in computed().items():
                if expected.dtype.kind == "f":
                    np.testing.assert_allclose(stored[name], expected, atol=2e-3, err_msg=name)
                else:
                    np.testing.assert_array_equal(stored[name], expected, err_msg=name)
        assert FILE.stat().st_size <= 150_000

    def test_stored_results_are_what_the_lesson_computes(self, monkeypatch):
        """The cells of the page run with the model; what hangs on a clock is left out."""
        import matplotlib

        matplotlib.use("agg")
        names = {}
        stored = json.loads(helper.STORED.read_text("utf-8"))
        timed = {name: stored[name] for name in ("milliseconds a word", "time of several words")}
        computed = helper.results
        monkeypatch.setattr(
            helper, "results", lambda name, compute: timed.get(name) or computed(name, compute)
        )
        for cell in cells_of("09_model"):
            exec(compile(cell.replace(", count=12)", ", count=4)"), "<lesson>", "exec"), names)
        assert set(stored) == {*helper.recorded, *timed}
        # Four words that a broken model writes tell as much as twelve, and take a third of the time.
        broken = json.loads(helper.recorded["broken models"])
        for name, (_, text) in broken.items():
            loss, whole = stored["broken models"][name]
            stored["broken models"][name] = [loss, whole[: len(text)]]
        for name in set(stored) - timed.keys():
            assert_close(json.loads(helper.recorded[name]), stored[name], name)


def assert_close(got, expected, where):
    assert type(got) is type(expected), where
    if isinstance(got, dict):
        assert list(got) == list(expected), where
        for key in got:
            assert_close(got[key], expected[key], f"{where}: {key}")
    elif isinstance(got, list):
        assert len(got) == len(expected), where
        for one, other in zip(got, expected, strict=True):
            assert_close(one, other, where)
    elif isinstance(got, float):
        assert got == pytest.approx(expected, rel=0.02, abs=2e-3), where
    else:
        assert got == expected, where


def test_without_the_model_the_page_shows_stored_results(monkeypatch, capsys):
    import matplotlib

    matplotlib.use("agg")
    monkeypatch.setattr(helper, "is_installed", lambda: False)
    names = {}
    for cell in cells_of("09_model"):
        exec(compile(cell, "<lesson>", "exec"), names)
    said = capsys.readouterr().out
    assert "The language model is not installed" in said
    assert "Until then this page shows stored results." in said
    assert "Once upon a time there was a little girl who" in said


def test_what_is_missing_is_said_in_one_sentence(monkeypatch):
    monkeypatch.setattr(helper.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(helper.ModelUnavailable, match=r"not installed .*`make lab MODEL=1`"):
        helper.load_model()


@pytest.mark.skipif(
    not helper.is_installed(), reason="the language model is not installed (make lab MODEL=1)"
)
class TestRefused:
    @pytest.fixture(autouse=True)
    def _own_cache(self, tmp_path, monkeypatch):
        monkeypatch.setenv(helper.CACHE_VARIABLE, str(tmp_path / "cache"))

    def test_a_file_that_is_not_there(self, tmp_path):
        with pytest.raises(helper.ModelUnavailable, match=r"There is no file .*other\.gguf"):
            helper.load_model(tmp_path / "other.gguf")

    @pytest.mark.parametrize("content", [b"", b"GGUF", b"no model" * 99])
    def test_a_file_that_is_no_model(self, tmp_path, content):
        (tmp_path / "other.gguf").write_bytes(content)
        with pytest.raises(helper.ModelUnavailable, match="is damaged, or no GGUF file"):
            helper.load_model(tmp_path / "other.gguf")

    def test_a_file_cut_short(self, tmp_path):
        with helper.packaged_file().open("rb") as file:
            (tmp_path / "short.gguf").write_bytes(file.read(3_000_000))
        with pytest.raises(helper.ModelUnavailable, match="is damaged, or no GGUF file"):
            helper.load_model(tmp_path / "short.gguf")

    def test_apackaged_file_of_another_version(self, monkeypatch):
        monkeypatch.setattr(helper, "PACKAGED_HASH", "0" * 64)
        with pytest.raises(
            helper.ModelUnavailable, match="of another version than this course uses"
        ):
            helper.load_model()

    def test_too_little_memory(self, monkeypatch):
        def unpack(*_):
            raise MemoryError

        monkeypatch.setattr(helper, "_unpack_to_cache", unpack)
        with pytest.raises(helper.ModelUnavailable, match="There is too little memory"):
            helper.load_model()

    def test_a_full_disk(self, monkeypatch):
        def unpack(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(helper, "_unpack_to_cache", unpack)
        with pytest.raises(helper.ModelUnavailable, match="No space left on device"):
            helper.load_model()

    def test_another_kind_of_model(self, tmp_path):
        from gguf import GGUFWriter

        writer = GGUFWriter(tmp_path / "other.gguf", "gpt2")
        writer.add_tensor("token_embd.weight", np.zeros((2, 3), np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        with pytest.raises(
            helper.ModelUnavailable, match="holds another kind of model than SmolLM2"
        ):
            helper.load_model(tmp_path / "other.gguf")


def test_yours_or_ours_takes_right_answers_only(capsys):
    def rms_norm(x, gain, epsilon=1e-5):
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + epsilon) * gain

    def top_p(weights, p):
        raise NotImplementedError

    chosen = helper.yours_or_ours(rms_norm=rms_norm, top_p=top_p)
    assert chosen == [rms_norm, EXERCISES["top_p"].reference]
    assert capsys.readouterr().out == "Not solved yet, so the library's are used: top_p.\n"


class TestInTorch:
    @pytest.fixture
    def small(self):
        return draw_model(np.random.default_rng(3), 5, 11, 16, 3, (4, 2), dtype=np.float32).args

    @pytest.mark.parametrize("attention", ["torch_attention", "flash_attention"])
    def test_a_small_model_gives_the_scores_and_the_text_of_numpy(self, small, attention):
        torch = pytest.importorskip("torch")
        from attention_lib.torch_model import on_device, torch_step

        tokens, model = small
        step = torch_step(
            on_device(model, torch.device("cpu"), torch.float32), getattr(lib, attention)
        )
        scores, _ = step(tokens, None)
        np.testing.assert_allclose(scores, lib.model_scores(tokens, model)[0], atol=2e-4)
        ours = lib.generate(lambda t, c: lib.model_scores(t, model, c), tokens, 6, np.argmax)
        assert lib.generate(step, tokens, 6, np.argmax).tolist() == ours.tolist()

    def test_a_model_writes_the_same_with_each_attention(self, small, monkeypatch):
        torch = pytest.importorskip("torch")
        from attention_lib import torch_model

        _, model = small
        tokenizer = SimpleNamespace(encode=lambda _: SimpleNamespace(ids=[3, 1, 4]), decode=str)
        monkeypatch.setattr(torch_model, "load_model", lambda: {**model, "tokenizer": tokenizer})
        ways = {name: getattr(lib, name) for name in ("torch_attention", "flash_attention")}
        (first, text, _), (second, other, _) = torch_model.compared(ways, "", torch.device("cpu"))
        assert [first, second] == list(ways)
        assert text == other
        assert len(text.split(",")) == 8

    def test_without_a_model_one_sentence_is_printed(self, monkeypatch, capsys):
        torch = pytest.importorskip("torch")
        from attention_lib import torch_model

        def missing():
            raise helper.ModelUnavailable("There is no model.")

        monkeypatch.setattr(torch_model, "load_model", missing)
        assert list(torch_model.compared({"one": None}, "", torch.device("cpu"))) == []
        assert capsys.readouterr().out == "There is no model.\n"

    def test_several_words_with_caches_are_refused(self, small):
        torch = pytest.importorskip("torch")
        from attention_lib.torch_model import on_device, torch_step

        tokens, model = small
        step = torch_step(on_device(model, torch.device("cpu"), torch.float32), lib.torch_attention)
        _, caches = step(tokens, None)
        with pytest.raises(ValueError, match="step takes one word at a time"):
            step(tokens[:2], caches)
