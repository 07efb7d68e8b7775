"""Returns objects that run a command in whatever process copies, prints or unpickles them.

The command would leave a file in the course. It deserves nothing.
"""

LESSON = "01_softmax"
DESERVES = "nothing"
ABOVE = """
import os

class Trap(np.ndarray):
    def __reduce__(self):
        return os.system, ("touch @COURSE@/@MARK@",)
    __reduce_ex__ = lambda self, protocol: self.__reduce__()
    def __deepcopy__(self, memo):
        os.system("touch @COURSE@/@MARK@")
        return self
    __repr__ = __str__ = lambda self: str(os.system("touch @COURSE@/@MARK@"))
"""
EVERY = """
def @NAME@(*args, **kwargs):
    return np.array([0.5, None, Trap(2)], dtype=object)
"""
