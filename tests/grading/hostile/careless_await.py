"""Awaits something at the top of a cell, as notebooks allow and Python does not.

The answers are right: it deserves full marks.
"""

LESSON = "01_softmax"
DESERVES = "full"
ABOVE = "import asyncio\n\nawait asyncio.sleep(0.01)"
ANSWERS = {
    "weighted_sum": """
async def product():
    return np.matmul

matmul = await product()

def weighted_sum(weights, values):
    return matmul(weights, values)
"""
}
