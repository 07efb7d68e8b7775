"""Catches what `solution` shows and runs that as its answer.

Learners may read it, but what is graded should be their own. It deserves nothing.
"""

DESERVES = "nothing"
ABOVE = """
from IPython.utils.capture import capture_output

def shown(name):
    with capture_output() as caught:
        solution(name)
    texts = [caught.stdout, *(str(output.data) for output in caught.outputs)]
    namespace = {"np": np}
    exec(max(texts, key=len).strip("`").removeprefix("python"), namespace)
    return namespace[name]
"""
EVERY = "@NAME@ = shown('@NAME@')"
