"""Give advice on error messages of NumPy, Python and Triton."""

from __future__ import annotations

import re
from traceback import FrameSummary

# Parts of error messages, and what to do about them.
REMEDIES = {
    "with casting rule 'same_kind'": "An integer array cannot hold fractions: put the result in a "
    "new array, as x = x / y does and x /= y does not.",
    "cannot convert float infinity to integer": "An integer array cannot hold -inf: use np.where, "
    "or a float array.",
    "can be converted to Python scalars": "Functions of math take one number: those of np take "
    "arrays.",
    "truth value of an array": "if, max and min take one number: np.where, np.maximum and "
    "np.minimum take arrays, and `is not None` asks whether there is one.",
    "boolean index did not match": "A mask of another shape is broadcast first, as np.where does.",
    "except for the concatenation axis must match": "np.concatenate joins along the axis that "
    "grows, axis=-2 for rows: all other axes must be equal, also those before it.",
    "'tuple' object does not support item assignment": "A tuple cannot be changed, and an argument "
    "should not be: make a new tuple.",
    "array split does not result": "A number makes equal parts: for other widths, give the places of the "
    "cuts, np.split(x, [first, second], axis=-1).",
    "axes don't match array": "A list of axes fits one number of batch dimensions only: exchange "
    "two axes with np.swapaxes, counted from the end.",
    "einstein sum subscripts string": "The letters must fit the axes, and ... stands for any number "
    "of batch dimensions.",
    "c10::Half without overflow": "float16 ends at 65,504: float('-inf') exists in every dtype.",
    "which has no identity|an empty sequence|argument is empty|to have non-zero size": "The array is "
    "empty here, and an empty array has no maximum: handle this case first, or find out why it is empty.",
    "unhashable type: 'numpy.ndarray'": "A cache keeps results by their arguments, and arrays cannot be "
    "keys: leave the decorator out.",
    "maximum recursion depth": "The function calls itself again and again, and nothing ends that.",
    "<class 'numpy.": "A dtype may be given as a class, a name or an np.dtype: np.dtype(...) takes each.",
    "setting an array element with a sequence": "One entry takes one number, and an index that begins at "
    "the first axis gives a whole row where batch axes come first: index from the end, as x[..., i].",
    "'Stream'": "The blocks come one by one, in a for loop: they have no index and no length.",
}

# The same for errors of Triton.
TRITON = {
    "make_shape_compatible": "The shapes of two blocks do not fit in this line. A block of one axis becomes a "
    "column with [:, None], one number for each row, and a row with [None, :].",
    "for @: 'Block'|'MatMult'": "A kernel multiplies two blocks with tl.dot(a, b).",
    "Unsupported function referenced": "A kernel takes operations from tl only: tl.exp2, tl.maximum and "
    "tl.where, not np's, torch's or math's.",
    "equal reduction dimensions": "tl.dot(a, b) sums over the last axis of a and the first of b, which must "
    "have one length: the keys (BLOCK, d) need tl.trans for the scores.",
    "Both operands must be same dtype": "tl.dot takes two blocks of one dtype: the weights are float32, "
    "weights.to(value.dtype) are not.",
    "Expected pointer argument to have shape": "Pointers and mask need the block's shape. For rows of HEAD "
    "numbers it is (rows, HEAD), from numbers[:, None] and components[None, :].",
}

# In a line that failed: Python's functions of lists, a kernel, a block with a shape.
OF_LISTS = re.compile(r"(?<![.\w])(?:max|min|sum)\(")
IN_A_KERNEL = re.compile(r"\btl\.|\bINNER\(")
SHAPELESS = re.compile(r"\btl\.(?:zeros|full)\(")

# Errors from using a plain number as an array.
PLAIN_NUMBER = re.compile(
    r"'(?:int|float|bool|numpy\.float64|numpy\.int64|numpy\.bool)' object "
    r"(?:has no attribute|is not subscriptable|does not support item assignment)"
)


def remedy(error: BaseException, frames: list[FrameSummary]) -> tuple[str, str]:
    """Return advice to add to an error's message, and its topic; both empty if there is none."""
    topic = "changed" if "with casting rule 'same_kind'" in str(error) else ""  # an edit's, too
    return _advice(error, frames), topic


def _advice(error: BaseException, frames: list[FrameSummary]) -> str:
    message = str(error)
    line = (frames[-1].line or "") if frames else ""
    in_a_kernel = IN_A_KERNEL.search(line)
    axes = [shape.strip(", ").count(",") for shape in re.findall(r"\((\d[\d, ]*)\)", message)]
    if "casting rule 'same_kind'" in message and (written := re.match(r"(\w+)\[.*\] *\W=", line)):
        return f"An integer array cannot hold fractions: make `{written[1]}` an array of floats."
    if "does not broadcast to scores" in message:
        if axes[:1] > axes[-1:]:
            return "A single head or sequence needs only its own part of the mask."
        return "The last two axes of scores are (L, S), queries and keys: a mask has these lengths, or 1."
    if "could not be broadcast" in message and len({*axes}) > 1:
        return (
            "Is an axis missing at the end? keepdims=True keeps it in a sum or maximum, and "
            "[..., None] adds one."
        )
    if PLAIN_NUMBER.search(message):
        return (
            "The input may be a plain number, which has no shape, dtype or entries: np.asarray(x) "
            "makes an array of x, and NumPy's functions take either."
        )
    if "object is not iterable" in message:
        if OF_LISTS.search(line):
            if in_a_kernel:
                return (
                    "Python's max, min and sum go through a list: in a kernel tl.max(x, axis=1), "
                    "tl.sum(x, axis=1) and tl.maximum(a, b) take blocks."
                )
            return "Python's max, min and sum go through a list: arrays have np.max and np.sum."
        if SHAPELESS.search(line):
            return "A shape is a list, also of one length: tl.zeros([ROWS], tl.float32)."
    if "'tuple' object has no attribute" in message and in_a_kernel:
        return "A call of INNER returns three blocks: output, total, maximum = INNER(...) takes them apart."
    for parts, advice in (REMEDIES | TRITON).items():
        if any(part in message for part in parts.split("|")):
            return advice
    return ""
