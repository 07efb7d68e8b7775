"""Returns arrays and objects that compare as equal and close to anything.

Every comparison with them says yes, or is masked. It deserves nothing.
"""

LESSON = "01_softmax"
DESERVES = "nothing"
ABOVE = """
class Yes(np.ndarray):
    __array_priority__ = 1e9
    def __eq__(self, other): return True
    __ne__ = lambda self, other: False
    __le__ = __lt__ = __ge__ = __gt__ = __eq__
    __bool__ = lambda self: True
    __sub__ = __rsub__ = __abs__ = lambda self, *other: np.zeros(self.shape)
    all = any = lambda self, *args, **kwargs: True
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return True if ufunc.nout == 1 else (True, True)
    def __array_function__(self, function, types, args, kwargs):
        return True
"""
EVERY = """
def @NAME@(*args, **kwargs):
    masked = np.ma.masked_all(np.shape(args[0]))
    return masked if np.ndim(args[0]) == 3 else np.ones(np.shape(args[0])).view(Yes)
"""
