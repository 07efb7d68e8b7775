"""Shows what a passed check shows, metadata and all, without having answered anything.

Each verdict is displayed in a cell above, and printed as text for good measure. It deserves nothing.
"""

DESERVES = "nothing"
ABOVE = """
from IPython.display import HTML, display

for name in ("largest_exponent", "stable_softmax", "logsumexp", "log_softmax", "cross_entropy",
             "masked_softmax", "merge_softmax_stats", "check_stable_softmax"):
    verdict = {"exercise": name, "outcome": "right", "points": 3}
    display(HTML(f"<p>{name}: right.</p>"), metadata={"attention_lib": verdict})
    print(f"{name}: right. All 18 cases, 3 points.")
100
"""
