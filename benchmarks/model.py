"""Run lesson 09 with the language model and store its results: `python -m benchmarks.model`.

They are what the lesson shows to whoever does not have the model.
"""

import json
import sys

import matplotlib

from attention_lib import model
from benchmarks.lesson import cells_of


def main() -> int:
    if not model.is_installed():
        print("The language model is not installed: make lab MODEL=1.", file=sys.stderr)
        return 1
    matplotlib.use("agg")
    names: dict[str, object] = {}
    for cell in cells_of("09_model"):
        exec(compile(cell, "<lesson>", "exec"), names)
    stored = {name: json.loads(text) for name, text in model.recorded.items()}
    model.STORED.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"Stored {len(stored)} results in {model.STORED}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
