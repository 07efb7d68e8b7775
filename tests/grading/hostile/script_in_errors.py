"""Puts scripts into the messages of errors and warnings, and into the names of what fails.

The wrong answer deserves nothing, the others keep their points; no page contains its scripts.
"""

DESERVES = {"stable_softmax": 0}
ABOVE = """
1 / 0 if "</pre><script>stolen()</script>" else ""
"""
ANSWERS = {
    "stable_softmax": """
class Evil(Exception):
    pass

Evil.__name__ = Evil.__qualname__ = "<script>stolen()</script>"

def stable_softmax(scores, axis=-1):
    raise Evil("</pre></div><script>stolen()</script><img src=x onerror=stolen()>")
""",
    "logsumexp": """
@MODEL@

import warnings

calm = logsumexp

def logsumexp(*args, **kwargs):
    warnings.warn("</p><script>stolen()</script><img src=x onerror=stolen()>")
    print("</p><script>stolen()</script><img src=x onerror=stolen()>")
    return calm(*args, **kwargs)
""",
}
