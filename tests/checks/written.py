"""Answers from their text, as a cell of a notebook defines them."""

import linecache

import numpy as np

from attention_lib.exercises import EXERCISES


def as_written(exercise, returned="", cell=""):
    """Define an answer that returns an expression, or the answer of a whole cell."""
    cell = cell or f"{EXERCISES[exercise].first_line}:\n    return {returned}\n"
    file = f"<cell of {exercise} {hash(cell)}>"
    linecache.cache[file] = len(cell), None, cell.splitlines(keepends=True), file
    names = {"np": np, "__name__": "__main__"}
    exec(compile(cell, file, "exec", dont_inherit=True), names)
    return names[exercise]
