"""What stays code in an edition computes no part of an answer: no exponential, triangle or product."""

import ast
from pathlib import Path

import pytest

import attention_lib
from attention_lib.edition.contents import SLICED, STAYS
from attention_lib.edition.slicing import Module

LIBRARY = Path(attention_lib.__file__).parent

# Functions of NumPy and math that answers are made of, as @ is, and other code can do without.
OF_ANSWERS = {
    *("exp", "expm1", "log", "log1p", "logaddexp", "tanh", "tri", "tril", "triu"),
    *("average", "dot", "einsum", "inner", "matmul", "tensordot", "vdot"),
}

# Expressions that someone has read and found to answer nothing.
HARMLESS = {
    "checks/changed_arguments.py": {"np.exp(x - x.max(axis=-1, keepdims=True))"},  # withheld
    "checks/sizes.py": {"math.log(10)", "math.log(2)", "math.log(value)"},  # digits of a number
    "exercises/gradients/numerical_gradient.py": {"np.tanh(x)"},  # to be differentiated
    "exercises/scaling/temperature_for_entropy.py": {"math.log(2)"},  # bits in nats
    "plots/gradients.py": {"np.average(gradient, weights=weights)"},  # the height of a line
    "plots/scaling.py": {
        "arrow @ one",  # the foot of a perpendicular
        "one @ one",
        "np.exp(value)",  # how many equal weights have this entropy
        "np.log(counts)",
        "np.log(counts[-1])",
        "np.log(len(scores))",
    },
}


def computations_in(code):
    """Return the calls and products in code that answers are made of, as text."""
    return {
        ast.unparse(node)
        for node in ast.walk(ast.parse(code))
        if (isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult))
        or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in OF_ANSWERS
        )
    }


def code_that_stays():
    """Return by file the code of the course that an edition has whatever is graded."""
    files = [
        *LIBRARY.glob("*.py"),
        *(path for name in ("checks", "plots") for path in (LIBRARY / name).rglob("*.py")),
    ]
    code = {path.relative_to(LIBRARY).as_posix(): path.read_text("utf-8") for path in files}
    for name, functions in STAYS.items():
        definitions = Module(SLICED + name).definitions
        code[f"exercises/{name.replace('.', '/')}.py"] = "\n".join(
            ast.unparse(definitions[function]) for function in functions
        )
    return code


def test_code_that_stays_computes_no_part_of_an_answer():
    found = {
        (path, text)
        for path, code in code_that_stays().items()
        for text in computations_in(code) - HARMLESS.get(path, set())
    }
    assert found == set()


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("weights = np.exp(moved) / np.exp(moved).sum()", "np.exp(moved)"),
        ("right = attention(*text, np.tri(6, dtype=bool))", "np.tri(6, dtype=bool)"),
        ("def figure(weights, g):\n    return weights @ g", "weights @ g"),
        ("total = math.log(sum(terms))", "math.log(sum(terms))"),
    ],
)
def test_search_finds_what_answers_are_made_of(code, text):
    assert computations_in(code) == {text}


def test_function_that_is_handed_over_or_named_in_a_text_is_no_computation():
    assert computations_in('plots.equal_steps(np.exp, "np.exp(x) @ y")') == set()
