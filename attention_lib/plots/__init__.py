"""Draw the lessons' figures: in one style, with alt text, with a slider where one can run.

A figure function takes arrays and callables, and contains no answer of a lesson. It returns a
`LessonFigure`: a Matplotlib figure with alt text that displays itself as an HTML image. pyplot is not
used, so figures need not be closed, and none is shown twice.
"""

from attention_lib.outdated import unknown_name
from attention_lib.plots.attention import *
from attention_lib.plots.flash import *
from attention_lib.plots.gpu import *
from attention_lib.plots.gradients import *
from attention_lib.plots.learning import *
from attention_lib.plots.model import *
from attention_lib.plots.multihead import *
from attention_lib.plots.scaling import *
from attention_lib.plots.softmax import *
from attention_lib.plots.stability import *
from attention_lib.plots.style import *


def __getattr__(name: str) -> object:
    raise unknown_name(__name__, name, globals())
