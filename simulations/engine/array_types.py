"""Annotations of the engine's arrays by shape, as `entropy_theory.array_types` has them for policies."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Integer, UInt64

RunNumbers: TypeAlias = Integer[np.ndarray, "runs"]
Lanes: TypeAlias = UInt64[np.ndarray, "*states samples"]
"""What each draw's uniform depends on, apart from seed and batch."""
Uniforms: TypeAlias = Float[np.ndarray, "*states samples"]
Probabilities: TypeAlias = Float[np.ndarray, "*states actions"]
"""Not negative; need not be normalized."""
Draws: TypeAlias = Integer[np.ndarray, "*states samples"]
"""The action of each draw."""
Counts: TypeAlias = Float[np.ndarray, "*states actions"]
"""How many of the draws took each action."""
