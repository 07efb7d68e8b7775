"""Reads the library's own module and the lesson's source and released notebook for the answers.

It knows where the course lies, and looks by way of other processes too, whose folders and roots
`/proc` shows. It deserves nothing.
"""

DESERVES = "nothing"
ABOVE = """
import glob
import json
import re

namespace = {"np": np, "__name__": "mine", "__package__": "attention_lib"}
for place in ["@LIBRARY@", *lib.__path__]:
    try:
        exec(open(place + "/stability.py").read(), namespace)
    except OSError as error:
        print(error)
places = ["@COURSE@", "@LIBRARY@/..", *glob.glob("/proc/[0-9]*/cwd")]
places += [root + "@COURSE@" for root in glob.glob("/proc/[0-9]*/root")]
for place in places:
    paths = glob.glob(place + "/solutions/*.md") + glob.glob(place + "/**/02_*.ipynb", recursive=True)
    for path in paths:
        text = open(path).read()
        if path.endswith(".ipynb"):
            cells = json.loads(text)["cells"]
            text = "".join("```python\\n" + "".join(cell["source"]) + "\\n```\\n" for cell in cells)
        for block in re.findall("```python.*?\\n(def .*?)```", text, re.DOTALL):
            exec(block, namespace)
"""
EVERY = "@NAME@ = namespace.get('@NAME@')"
