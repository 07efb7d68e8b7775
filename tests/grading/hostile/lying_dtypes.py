"""Returns the right numbers in types that nobody asked for: text, objects, complex, long doubles.

The contract names the dtype. Those functions deserve nothing, the others keep their points.
"""

DESERVES = {"stable_softmax": 0, "log_softmax": 0, "masked_softmax": 0, "merge_softmax_stats": 0}
EVERY = "@MODEL@"
ABOVE = """
def turned(function, dtype):
    def answer(*args, **kwargs):
        result = function(*args, **kwargs)
        many = isinstance(result, tuple)
        return tuple(np.asarray(r).astype(dtype) for r in result) if many else result.astype(dtype)
    return answer
"""
ANSWERS = {
    "stable_softmax": "@MODEL@\nstable_softmax = turned(stable_softmax, 'U30')",
    "log_softmax": "@MODEL@\nlog_softmax = turned(log_softmax, object)",
    "masked_softmax": "@MODEL@\nmasked_softmax = turned(masked_softmax, complex)",
    "merge_softmax_stats": "@MODEL@\nmerge_softmax_stats = turned(merge_softmax_stats, 'M8[s]')",
}
