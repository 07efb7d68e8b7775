"""Prints what it can reach of the course: gradebook, solutions, other students' work, pages, logs.

It reads the gradebook by SQL and byte by byte, and all else as text. The answers are right: it
deserves full marks, and finds nothing.
"""

DESERVES = "full"
ABOVE = """
import glob, os, sqlite3

print(os.listdir("."), os.listdir(".."))
paths = glob.glob("../**", recursive=True)
for pattern in ("solutions/*", "classroom/*", "classroom/*/*/*", "classroom/*/*/*/*", "*.py"):
    paths += glob.glob("@COURSE@/" + pattern)
for path in ["@COURSE@/classroom/gradebook.db", *paths]:
    try:
        print(open(path, "rb").read().decode("latin-1"))
        print(*sqlite3.connect(path).execute("SELECT * FROM student"))
    except (OSError, sqlite3.Error) as error:
        print(error)
"""
