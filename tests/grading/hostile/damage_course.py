"""Deletes, empties, renames and overwrites files of the course and of other students.

The answers are right: it deserves full marks, and the course stays as it was.
"""

LESSON = "01_softmax"
DESERVES = "full"
ABOVE = """
import glob, os, shutil

for path in glob.glob("@COURSE@/**", recursive=True):
    for harm in (os.chmod, os.truncate, lambda path, _: os.rename(path, path + "x")):
        try:
            harm(path, 0)
            print("@MARK@"[::-1])
        except OSError:
            pass
for kind in ("autograded", "feedback", "submitted"):
    try:
        os.makedirs(f"@COURSE@/classroom/{kind}/@NEIGHBOR@/01_softmax/extra")
    except OSError:
        pass
    for path in glob.glob(f"@COURSE@/classroom/{kind}/@NEIGHBOR@/**", recursive=True):
        open(path, "w").write("{}")
shutil.rmtree("@COURSE@", ignore_errors=True)
shutil.rmtree("..", ignore_errors=True)
"""
