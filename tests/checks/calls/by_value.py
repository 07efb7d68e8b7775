"""An answer whose arguments and results cross by value, as to and from another process."""

import copy
from collections.abc import Iterator

from attention_lib.checks.calls.calling import observe_all
from attention_lib.checks.calls.remote import FUNCTIONS, RemoteAnswer


class ByValue(RemoteAnswer):
    """A proxy for a function of this process that passes nothing but copies."""

    def __init__(self, function):
        self._function = function

    def observe_all(self, cases, forbidden, limit):
        return copy.deepcopy(list(observe_all(self._function, cases, forbidden, limit)))

    def measure(self, what, args, kwargs):
        return _copied(FUNCTIONS[what](self._function, *map(_copied, args), **_copied(kwargs)))

    def staged(self, how):
        return ByValue(FUNCTIONS[how](self._function))


def _copied(value):
    return value if isinstance(value, Iterator) else copy.deepcopy(value)
