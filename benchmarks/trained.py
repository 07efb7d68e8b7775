"""Store numbers of the language model for lessons 01 to 06: `python -m benchmarks.trained`."""

import sys
from typing import Any

import numpy as np

from attention_lib import model, rotary_embedding
from attention_lib.trained_numbers import FILE

SENTENCE = "please study man, please study man"
HEADS = {
    "the word before": (16, 0),
    "induction": (18, 6),
    "the first word": (18, 8),
    "all words": (0, 2),
}
TEXT = (
    "The old clock in the station had stopped at ten past four, and nobody remembered when. Travelers "
    "looked up at it, then at their own watches, and hurried on. One winter a girl who waited there for "
    "her father every evening asked why it was never repaired."
)
LAYER = 16


def computed() -> dict[str, Any]:
    """Return the arrays of the file, computed with the model."""
    opened = model.load_model()
    tokenizer = opened["tokenizer"]
    tokens, text = (np.array(tokenizer.encode(one).ids) for one in (SENTENCE, TEXT))
    layers = model.look_inside(tokens, opened)

    def of_heads(name: str) -> np.ndarray:
        return np.stack([getattr(layers[layer], name)[head] for layer, head in HEADS.values()])

    scores = model.look_inside(text, opened)[LAYER].scores
    query, key = of_heads("query"), of_heads("key")
    back = -np.arange(len(tokens))  # turning the other way undoes the rotation
    return {
        "words": np.array([tokenizer.decode([token]).strip() for token in tokens]),
        "heads": np.array(list(HEADS)),
        "places": np.array(list(HEADS.values())),
        "plain_query": rotary_embedding(query, back, opened["base"]),
        "plain_key": rotary_embedding(key, back, opened["base"]),
        "query": query,
        "key": key,
        "value": of_heads("value"),
        "text": np.array([tokenizer.decode([token]).strip() for token in text]),
        "layer": np.array(LAYER),
        "scores": scores[:, *np.tril_indices(len(text))],
    }


def main() -> int:
    if not model.is_installed():
        print("The language model is not installed: make lab MODEL=1.", file=sys.stderr)
        return 1
    np.savez_compressed(FILE, **computed())
    print(f"Stored {FILE.stat().st_size / 1000:.0f} kB in {FILE}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
