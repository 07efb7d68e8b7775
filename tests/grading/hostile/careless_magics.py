"""Uses what only a notebook allows: magics, the shell, question marks, `await` at the top of a cell.

The answers are right: it deserves full marks.
"""

LESSON = "01_softmax"
DESERVES = "full"
ABOVE = """
%matplotlib inline
%load_ext autoreload
%autoreload 2
%timeit -n 1 -r 1 np.exp(1.0)
%time np.exp(1.0)
!echo hello
files = !ls
np.exp?
%config InlineBackend.figure_format = "svg"
import asyncio
await asyncio.sleep(0.01)
"""
BELOW = "%%timeit -n 1 -r 1\nnp.exp(1.0)"
ANSWERS = {
    "softmax": "%%time\n@MODEL@",
    "normalize_by_sum": "%%capture kept\n@MODEL@",
}
