"""Right answers to `study_weights`."""

import numpy as np

RIGHT = {
    "a list": [0.063, 0.468, 0.468],
    "a tuple": (0.06338, 0.46831, 0.46831),
    "an array": np.array([0.0634, 0.4683, 0.4683], np.float32),
}
