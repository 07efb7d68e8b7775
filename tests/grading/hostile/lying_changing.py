"""Returns objects that convert to another array each time.

Shape, dtype and values come from methods with varying results. It deserves nothing.
"""

LESSON = "01_softmax"
DESERVES = "nothing"
ABOVE = """
import itertools

class Chameleon:
    looks = itertools.count()
    def __array__(self, dtype=None, copy=None):
        return np.full((next(self.looks) % 5 + 1,), 0.5, dtype)
    @property
    def shape(self): return (next(self.looks) % 5 + 1,)
    @property
    def dtype(self): return np.dtype("fd"[next(self.looks) % 2])
    @property
    def __class__(self): return [np.ndarray, float, tuple, type(None)][next(self.looks) % 4]
    def __len__(self): return next(self.looks) % 3
    def __iter__(self): return iter([0.5] * len(self))
    def __float__(self): return next(self.looks) / 7
    def __eq__(self, other): return next(self.looks) % 2 == 0
    __hash__ = None
"""
EVERY = """
def @NAME@(*args, **kwargs):
    return Chameleon()
"""
