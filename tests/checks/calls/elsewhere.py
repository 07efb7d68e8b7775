"""An answer whose arguments and results cross by value, as to and from another process."""

import copy
from collections.abc import Iterator

from attention_lib.checks.calls import measuring, staging
from attention_lib.checks.calls.calling import Elsewhere, observe_all


class ByValue(Elsewhere):
    """Stand in for a function of this process, and pass nothing but copies."""

    def __init__(self, function):
        self._function = function

    def observe_all(self, cases, forbidden, limit):
        return copy.deepcopy(list(observe_all(self._function, cases, forbidden, limit)))

    def measure(self, what, args, kwargs):
        measured = getattr(measuring, what, None) or getattr(staging, what)
        return _copied(measured(self._function, *map(_copied, args), **_copied(kwargs)))

    def staged(self, how):
        return ByValue(getattr(staging, how)(self._function))


def _copied(value):
    return value if isinstance(value, Iterator) else copy.deepcopy(value)
