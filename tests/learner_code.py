"""The modules that a learner of lessons 01 to 08 runs."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
LEARNER_CODE = [
    path
    for path in sorted((ROOT / "attention_lib").rglob("*.py"))
    if "grading" not in path.parts and "gpu" not in path.parts
]
