"""From measured trials to knowledge: arrays in, results out; nothing here knows what is tuned."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
