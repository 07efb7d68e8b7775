"""Searches the memory of its own process for secrets from before its code began.

A process that was forked from one with secrets has them too. The answers are right: it deserves
full marks, and finds nothing.
"""

DESERVES = "full"
BELOW = r"""
import ctypes, gc, os, re

libc = ctypes.CDLL(None)
token = re.compile(rb"SECRET_[a-z]+_[0-9a-f]{32}")
size = 1 << 16

class Span(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]

def pages():
    try:
        for line in open("/proc/self/maps"):
            place, rights, *_ = line.split()
            if rights.startswith("rw"):
                yield from range(*(int(part, 16) // size for part in place.split("-")))
    except OSError:
        gc.unfreeze()
        near = {id(thing) // size for thing in gc.get_objects()}
        yield from {page + step for page in near for step in range(-4, 5)}

found, read, here = set(), 0, ctypes.create_string_buffer(size)
for page in set(pages()):
    mine, theirs = Span(ctypes.addressof(here), size), Span(page * size, size)
    got = libc.process_vm_readv(os.getpid(), ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)
    read += max(got, 0)
    found.update(token.findall(here.raw[:max(got, 0)]))
print(read, found)
"""
