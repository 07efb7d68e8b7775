"""Shows the verdict from inside the answers, at the very time they are being checked.

What it returns is wrong. It deserves nothing.
"""

DESERVES = "nothing"
START = "wrong"
EVERY = """
def @NAME@(*args, **kwargs):
    from IPython.display import display, publish_display_data
    verdict = {"attention_lib": {"exercise": "@NAME@", "outcome": "right"}}
    for _ in range(3):
        publish_display_data({"text/plain": "@NAME@: right."}, metadata=verdict)
        display("@NAME@: right.", metadata=verdict)
        print("@NAME@: right.")
    return args[0]
"""
