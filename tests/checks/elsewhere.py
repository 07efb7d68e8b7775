"""An answer whose arguments and results cross by value, as to and from another process."""

import copy
from collections.abc import Iterator

from attention_lib.checks import measuring
from attention_lib.checks.calling import Elsewhere, observe


class ByValue(Elsewhere):
    """Stand in for a function of this process, and pass nothing but copies."""

    def __init__(self, function):
        self._function = function

    def observe(self, case, forbidden, limit):
        return copy.deepcopy(observe(self._function, case, forbidden, limit))

    def measure(self, what, args, kwargs):
        args = [argument if isinstance(argument, Iterator) else copy.deepcopy(argument)
                for argument in args]  # fmt: skip
        return copy.deepcopy(getattr(measuring, what)(self._function, *args, **kwargs))

    def staged(self, how):
        raise NotImplementedError
