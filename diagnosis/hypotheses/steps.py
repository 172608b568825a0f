"""Hypotheses about steps: clipped, held back by a KL penalty, or taken on another policy's samples."""

from __future__ import annotations

import math

import numpy as np
from scipy.ndimage import median_filter

from diagnosis.facts import Episode, Facts
from diagnosis.findings import Finding
from diagnosis.hypotheses.judging import FEWEST_STEPS, made, moved, ramp
from entropy_theory.training_logs.names import Quantity


def clipping(facts: Facts) -> Finding | None:
    """The clip stops many tokens, or those of one side alone, over a fifth of the run at least."""
    low, high, both = (_fifths(facts, name) for name in ("clipped_low", "clipped_high", "clipped"))
    shares = np.fmax(np.fmax(low, high), both)
    if np.isnan(shares).all():
        return None
    share, below, above = float(np.nanmax(shares)), float(low.mean()), float(high.mean())
    sides = math.isfinite(below) and math.isfinite(above)
    lopsided = max(below, above) / max(min(below, above), 1e-4) if sides else 1.0
    confidence = max(ramp(share, 0.05, 0.2), ramp(share, 0.01, 0.05) * ramp(lopsided, 2, 5))
    side = "" if not sides or lopsided < 2 else (
        "; mostly the upper clip, which holds unlikely tokens down" if above > below else
        "; mostly the lower clip, which keeps unlikely tokens alive")
    return made(
        "clipping", confidence, None,
        f"over a fifth of the run the clip stops {100 * share:.2g} % of tokens{side}",
        *([f"lower clip {100 * below:.2g} %, upper {100 * above:.2g} % over the run"] if sides else []))


def _fifths(facts: Facts, quantity: Quantity) -> np.ndarray:
    """Return the means over each fifth of the run, [5]; nan where it is not logged."""
    value = facts.value(quantity)
    return np.array([part.mean() if len(part) else math.nan for part in np.array_split(value, 5)])


def kl(facts: Facts) -> Finding | None:
    """The KL penalty holds the policy back.

    Where the loss is logged, it makes up the loss's variance, and the slope is its coefficient. Elsewhere
    the divergence levels off early and low, although nothing is gained and there is a gradient.
    """
    if "kl_reference" not in facts:
        return None
    divergence = facts.series["kl_reference"]
    if "loss" in facts:
        _, x, y = divergence.beside(facts.series["loss"])
        if len(x) >= FEWEST_STEPS and np.ptp(x) > 0 and np.ptp(y) > 0:
            slope = float(np.polyfit(x, y, 1)[0])
            share = float(np.corrcoef(x, y)[0, 1]) ** 2
            if share > 0.9 or slope > 0.2:
                return made(
                    "kl", ramp(share, 0.2, 0.5) * ramp(slope, 0.1, 0.3), None,
                    f"{100 * share:.0f} % of the loss's variance is the KL penalty, whose coefficient is "
                    f"about {slope:.2g}",
                    f"KL to the reference is {facts.end('kl_reference'):.2g} nats at the end")
    return _level(facts, divergence.value)


def _level(facts: Facts, value: np.ndarray) -> Finding | None:
    """Return the finding that the divergence levels off, if it does."""
    n = len(value)
    if n < 2 * FEWEST_STEPS or facts.gain(facts.steps[0]) != 0 or facts.late("zero_variance") > 0.6:
        return None
    first, early, last = (float(np.mean(part)) for part in (
        value[: n // 10], value[n // 5: 2 * n // 5], value[-n // 5:]))
    if last <= 0 or early <= 0:
        return None
    confidence = (1 - ramp(abs(math.log(last / early)), 0.2, 0.5)) * (1 - ramp(first / last, 0.6, 0.9))
    confidence *= (1 - ramp(last, 0.03, 0.1)) * ramp(last, 1e-4, 4e-4)
    return made(
        "kl", confidence, None,
        f"KL to the reference levels off at {last:.2g} nats from a fifth of the run on, and nothing is "
        "gained")


MISMATCH: tuple[tuple[str, float, float], ...] = (
    ("kl", 0.01, 0.05), ("prob", 0.008, 0.02), ("", 0.012, 0.03))
"""Words in the column's name, and from where a mismatch is likely and sure: a KL, probabilities, their
logarithms."""


def mismatch(facts: Facts) -> Finding | None:
    """Sampler and trainer give the same tokens other probabilities."""
    if "mismatch" not in facts:
        return None
    column = facts.series["mismatch"].column
    low, high = next((low, high) for word, low, high in MISMATCH
                     if word in column.lower().replace("logprob", "").replace("log_prob", ""))
    level = max(facts.end("mismatch"), float(np.nanmax(_fifths(facts, "mismatch"))))
    confidence = ramp(level, low, high)
    if not confidence:
        return None
    series, whole = facts.series["mismatch"], next(facts.episodes())
    above = np.flatnonzero(median_filter(series.value, size=5, mode="nearest") > low)
    begin = float(series.step[above[0]]) if len(above) else whole.begin
    return made(
        "mismatch", confidence,
        Episode(begin, begin, begin, False) if begin > whole.begin + facts.near_by else None,
        f"sampler and trainer are apart: {column} is {level:.2g}",
        moved(facts, "mismatch", whole, column))
