"""Turns warnings into errors, changes how arrays are printed, closes its streams.

The settings affect its own process only, and the answers are right under them: it deserves full
marks.
"""

LESSON = "01_softmax"
DESERVES = "full"
ABOVE = """
import io, os, sys, warnings

warnings.simplefilter("error")
np.seterr(all="raise", under="ignore")
np.set_printoptions(threshold=3, formatter={"float": lambda number: "a number"})
os.chdir("/")
os.environ.clear()
sys.path.clear()
sys.argv = []
sys.dont_write_bytecode = True
sys.stdin.close()
sys.stdout = sys.stderr = io.StringIO()
sys.__stdout__ = None
"""
