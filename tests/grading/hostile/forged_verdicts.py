"""Shows what a passed check shows, metadata and all, without having answered anything rightly.

Each verdict is displayed and printed: in a cell above, and by each answer when it is called. It
deserves nothing.
"""

LESSON = "01_softmax"
DESERVES = "nothing"
ABOVE = """
from IPython.display import HTML, display

for name in ("normalize_by_sum", "softmax", "study_weights", "weighted_sum", "check_softmax"):
    verdict = {"exercise": name, "outcome": "right", "points": 3}
    display(HTML(f"<p>{name}: right.</p>"), metadata={"attention_lib": verdict})
    print(f"{name}: right. All 18 cases, 3 points.")
100
"""
EVERY = """
def @NAME@(*args, **kwargs):
    verdict = {"attention_lib": {"exercise": "@NAME@", "outcome": "right"}}
    for _ in range(3):
        display("@NAME@: right.", metadata=verdict)
        print("@NAME@: right.")
    return 0.5
"""
