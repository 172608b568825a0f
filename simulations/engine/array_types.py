"""Annotations of the engine's arrays by shape, as `entropy_theory.array_types` has them for policies."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Integer, Num, Shaped, UInt64

RunNumbers: TypeAlias = Integer[np.ndarray, "runs"]
Lanes: TypeAlias = UInt64[np.ndarray, "*states samples"]
"""The part of each draw's uniform that does not depend on seed and batch."""
Uniforms: TypeAlias = Float[np.ndarray, "*states samples"]
Probabilities: TypeAlias = Float[np.ndarray, "*states actions"]
"""Not negative; need not be normalized."""
Draws: TypeAlias = Integer[np.ndarray, "*states samples"]
"""The action of each draw."""
Counts: TypeAlias = Float[np.ndarray, "*states actions"]
"""How many of the draws took each action."""

Starts: TypeAlias = Num[np.ndarray, "runs states actions"]
Rewards: TypeAlias = Shaped[np.ndarray, "..."]
"""Boolean or numbers, broadcastable to the starts; with a token tree [runs or 1, prompts, responses]."""
Features: TypeAlias = Num[np.ndarray, "*parts logits parameters"]
RunLogits: TypeAlias = Float[np.ndarray, "runs states actions"]
RecordSteps: TypeAlias = Integer[np.ndarray, "records"]
ByRun: TypeAlias = Num[np.ndarray, "runs"]
ByRecord: TypeAlias = Float[np.ndarray, "records runs"]
ByRecordAndState: TypeAlias = Float[np.ndarray, "records runs prompts"]
"""On a token tree a state is a prompt here."""
PassAtK: TypeAlias = Float[np.ndarray, "records runs ks"]
