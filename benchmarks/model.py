"""Run the language model of lesson 09: store the lesson's results, or measure its speed.

`python -m benchmarks.model` stores what the lesson shows to whoever does not have the model.
`OMP_NUM_THREADS=1 python -m benchmarks.model speed` prints words a second, beside the bound that
reading the weights sets, PyTorch and, where transformers is installed, Hugging Face's `generate`.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import matplotlib
import numpy as np

from attention_lib import generate, model, model_scores
from benchmarks.lesson import cells_of

PROMPT = "Once upon a time there was a little girl who"
WORDS = 40


def store() -> None:
    """Run the lesson's cells, and write their results to the file that the lesson reads."""
    matplotlib.use("agg")
    names: dict[str, object] = {}
    for cell in cells_of("09_model"):
        exec(compile(cell, "<lesson>", "exec"), names)
    stored = {name: json.loads(text) for name, text in model.recorded.items()}
    model.STORED.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"Stored {len(stored)} results in {model.STORED}.")


def speed() -> None:
    """Print words a second on one thread, by the clock, in one run."""
    begun = time.perf_counter()
    opened = model.load_model()
    print(f"opened in {time.perf_counter() - begun:.1f} s")
    prompt = np.array(opened["tokenizer"].encode(PROMPT).ids)
    weights = np.concatenate([opened["embedding"].ravel()] * 2)  # larger than any cache
    weights.sum()
    begun = time.perf_counter()
    weights.sum()
    bytes_a_second = weights.nbytes / (time.perf_counter() - begun)
    numbers = opened["embedding"].size + sum(a.size for b in opened["blocks"] for a in b.values())
    print(
        f"bound by reading {4 * numbers / 1e6:.0f} MB a word: "
        f"{bytes_a_second / (4 * numbers):6.1f} words a second"
    )

    def step(tokens: Any, caches: Any) -> Any:
        return model_scores(tokens, opened, caches)

    report("NumPy, with a cache", lambda: generate(step, prompt, WORDS, np.argmax))
    long = np.random.default_rng(0).integers(100, 40_000, 500)
    begun = time.perf_counter()
    model_scores(long, opened)
    print(f"a prompt of 500 words: {time.perf_counter() - begun:.1f} s")
    if find_spec("torch"):
        import torch

        from attention_lib import torch_attention
        from attention_lib.torch_model import on_device, torch_step

        torch.set_num_threads(1)
        there = on_device(opened, torch.device("cpu"), torch.float32)
        in_torch = torch_step(there, torch_attention)
        report("PyTorch, torch_attention", lambda: generate(in_torch, prompt, WORDS, np.argmax))
    if find_spec("transformers"):
        from transformers import AutoModelForCausalLM

        file = model.packaged_file()
        theirs = AutoModelForCausalLM.from_pretrained(
            str(file.parent), gguf_file=file.name, dtype=torch.float32
        )
        tokens = torch.tensor(prompt)[None]
        report(
            "Hugging Face's generate",
            lambda: theirs.generate(tokens, max_new_tokens=WORDS, do_sample=False),
        )


def report(name: str, write: Callable[[], Any]) -> None:
    begun = time.perf_counter()
    write()
    print(f"{name:>28}: {WORDS / (time.perf_counter() - begun):6.1f} words a second")


def main(arguments: list[str]) -> int:
    if not model.is_installed():
        print("The language model is not installed: make lab MODEL=1.", file=sys.stderr)
        return 1
    speed() if arguments == ["speed"] else store()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
