"""Where the numbers in the tests' comparisons come from."""

import numpy as np

FLOAT64 = float(np.finfo(np.float64).eps)
FLOAT32 = float(np.finfo(np.float32).eps)

ROUNDING = 64 * FLOAT64
"""Relative: sums of up to a few dozen terms of one sign, a handful of roundings each."""

SAME_STEP = 1e-10
"""Absolute, nats per unit learning rate: the promise that a rule is the same at both scales."""
