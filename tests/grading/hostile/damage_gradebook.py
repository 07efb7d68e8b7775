"""Writes full marks for itself into the gradebook, and zero for everybody else.

It has no answers. It deserves nothing.
"""

LESSON = "01_softmax"
DESERVES = "nothing"
ABOVE = """
import os, sqlite3

path = "@COURSE@/classroom/gradebook.db"
try:
    book = sqlite3.connect(path, timeout=0.1)
    book.execute("UPDATE grade SET auto_score = 0, manual_score = 0")
    book.execute("UPDATE grade SET manual_score = 100 WHERE id IN (SELECT max(id) FROM grade)")
    book.commit()
    print("@MARK@"[::-1])
except sqlite3.Error as error:
    print(error)
os.makedirs(os.path.dirname(path), exist_ok=True)
open(path, "wb").write(b"no gradebook")
"""
