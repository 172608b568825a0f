"""Clip-higher: GRPO with a wider upper clip, so that rare tokens can rise (DAPO, arXiv 2503.14476).

The baseline of Cui et al., section 4.3. DAPO averages over tokens (``normalization="token-mean"``) and
drops groups without signal (``dynamic_sampling=True``); both are GRPO's options here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from entropy_theory.update_rules.grpo import Grpo


@dataclass(frozen=True, kw_only=True, slots=True)
class ClipHigher(Grpo):
    """GRPO with clip_high = 0.28."""

    name: ClassVar[str] = "clip-higher"
    clip_high: float = 0.28
