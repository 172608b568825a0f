"""Shared by the hypotheses: how likely a number makes them, and the words for a move of a series."""

from __future__ import annotations

import math

import numpy as np

from diagnosis.facts import Episode, Facts
from diagnosis.findings import Finding, Name, short
from entropy_theory.training_logs.names import Quantity

FEWEST_STEPS = 16
"""The fewest steps that a run is judged on."""

def ramp(value: float, unlikely: float, sure: float) -> float:
    """Return a confidence: 0 up to one value, 1 from another on, linear between."""
    if not math.isfinite(value):
        return 0.0
    return float(np.clip((value - unlikely) / (sure - unlikely), 0, 1))


def moved(facts: Facts, quantity: Quantity, episode: Episode, noun: str, unit: str = "") -> str:
    """Put a move into words: "length goes from 217 to 606 tokens"; shares are in percent."""
    found = facts.move(quantity, episode.begin)
    if found is None:
        return f"{noun} is not logged"
    scale, unit = (100, " %") if unit == "%" else (1, f" {unit}" if unit else "")
    first, last = short(scale * found.first), short(scale * found.last)
    if found.direction:
        return f"{noun} goes from {first} to {last}{unit}"
    return f"{noun} stays near {last}{unit}" + (f" ({first} at first)" if first != last else "")


def gains(facts: Facts, episode: Episode, rising: bool | None = None) -> list[str]:
    """Put the moves of training reward and held-out score into words.

    Args:
        facts: those of the run.
        episode: from where on.
        rising: only those that rise, or only those that do not; all by default.
    """
    names: tuple[tuple[Quantity, str], ...] = (("reward", "training reward"), ("score", "held-out score"))
    return [moved(facts, quantity, episode, noun) for quantity, noun in names
            if (found := facts.move(quantity, episode.begin)) is not None
            and rising in (None, found.direction > 0)]


def made(name: Name, confidence: float, episode: Episode | None, *evidence: str,
          against: tuple[str, ...] = ()) -> Finding:
    """Return a finding, with the beginning of an episode where there is one."""
    known = None if episode is None else (episode.begin, episode.low, episode.high)
    begin, low, high = known or (None, None, None)
    return Finding(name, round(confidence, 2), begin, low, high, evidence, against)


def since(episode: Episode) -> str:
    """Return the words that a sentence about an episode begins with."""
    return "over the whole run" if episode.is_whole else f"from step {episode.begin:g} on,"
