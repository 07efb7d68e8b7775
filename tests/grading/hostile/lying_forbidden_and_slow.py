"""Reports a call of SciPy in each reply, and has the grader read megabytes before the result.

What is right is the first call alone, by heart: if the grader compared no more, every answer would
be right. It deserves nothing.
"""

DESERVES = "nothing"
ABOVE = """
import numpy as np
from attention_lib.grading import limits
from attention_lib.grading.inside import conversation
from attention_lib.grading.inside.wire import LENGTH

limits.MESSAGE_BYTES *= 2
as_message, pack = conversation.as_message, conversation.pack

def packed(value):
    data = pack({"value": value})
    (length,) = LENGTH.unpack_from(data)
    head, numbers = data[4 : 4 + length], data[4 + length :]
    head = b'{"value": [' + b"[[]]," * 40_000 + b"0], " + head[1:]
    sent = LENGTH.pack(len(head)) + head + numbers
    return {"value": np.frombuffer(sent, np.uint8), "unsendable": ""}

conversation.packed = packed
conversation.as_message = lambda seen: {**as_message(seen), "forbidden": "scipy.special"}

def by_heart(right):
    first = []

    def answer(*args, **kwargs):
        first.append(repr((args, kwargs)))
        return right(*args, **kwargs) if first[-1] == first[0] else np.float64(0.5)

    return answer
"""
EVERY = """
@MODEL@
@NAME@ = by_heart(@NAME@)
"""
