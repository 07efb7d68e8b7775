"""Reads this lesson's module from the installed package's folder and runs its text.

It knows the path from its own computer. It deserves nothing.
"""

DESERVES = "nothing"
ABOVE = """
import pathlib

places = [pathlib.Path(place) for place in ["@LIBRARY@", *lib.__path__]]
namespace = {"__name__": "mine", "__package__": "attention_lib"}
for place in places:
    try:
        exec((place / "stability.py").read_text(), namespace)
    except OSError as error:
        print(error)
"""
EVERY = "@NAME@ = namespace['@NAME@']"
