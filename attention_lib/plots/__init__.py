"""The lessons' figures: one look, alt text on every figure, a slider where one can run.

A figure function takes arrays and callables, knows no lesson's answer, and returns a
`LessonFigure`: a Matplotlib figure that carries its alt text and displays itself as an HTML
image. The figures never touch pyplot, so there is nothing to close and nothing is shown twice.
"""

from attention_lib.outdated import unknown_name
from attention_lib.plots.attention import *
from attention_lib.plots.flash import *
from attention_lib.plots.gpu import *
from attention_lib.plots.gradients import *
from attention_lib.plots.learning import *
from attention_lib.plots.multihead import *
from attention_lib.plots.scaling import *
from attention_lib.plots.softmax import *
from attention_lib.plots.stability import *
from attention_lib.plots.style import *


def __getattr__(name: str) -> object:
    raise unknown_name(__name__, name)
