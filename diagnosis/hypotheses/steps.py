"""What becomes of a step: clipped, held back by a KL penalty, or taken on another policy's samples."""

from __future__ import annotations

import math

import numpy as np

from diagnosis.facts import Facts
from diagnosis.findings import Finding
from diagnosis.hypotheses.judging import FEWEST_STEPS, made, moved, ramp


def clipping(facts: Facts) -> Finding | None:
    """The clip stops many tokens, or those of one side alone."""
    low, high, both = (facts.late(name) for name in ("clipped_low", "clipped_high", "clipped"))
    share = max((one for one in (both, low, high) if math.isfinite(one)), default=math.nan)
    if not math.isfinite(share):
        return None
    sides = math.isfinite(low) and math.isfinite(high)
    lopsided = max(low, high) / max(min(low, high), 1e-4) if sides else 1.0
    confidence = max(ramp(share, 0.05, 0.2), ramp(share, 0.005, 0.03) * ramp(lopsided, 3, 8))
    if not confidence:
        return None
    side = "" if not sides or lopsided < 2 else (
        "; mostly the upper clip, which holds unlikely tokens down" if high > low else
        "; mostly the lower clip, which keeps unlikely tokens alive")
    return made(
        "clipping", confidence, None, f"the clip stops {100 * share:.2g} % of tokens{side}",
        *([f"lower clip {100 * low:.2g} %, upper clip {100 * high:.2g} %"] if sides else []))


def kl(facts: Facts) -> Finding | None:
    """The KL penalty makes up the loss, and the policy stays where it was."""
    if "kl_reference" not in facts or "loss" not in facts:
        return None
    divergence, loss = facts.series["kl_reference"], facts.series["loss"]
    _, i, j = np.intersect1d(divergence.step, loss.step, return_indices=True)
    x, y = divergence.value[i], loss.value[j]
    if len(x) < FEWEST_STEPS or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    slope = np.polyfit(x, y, 1)[0]
    share = float(np.corrcoef(x, y)[0, 1]) ** 2 if slope > 0 else 0.0
    confidence = ramp(share, 0.2, 0.5) * ramp(float(slope), 0.05, 0.2)
    if not confidence:
        return None
    return made(
        "kl", confidence, None,
        f"{100 * share:.0f} % of the loss's variance is the KL penalty, with a coefficient of about "
        f"{slope:.2g}", f"KL to the reference is {facts.end('kl_reference'):.2g} nats at the end")


MISMATCH: tuple[tuple[str, float, float], ...] = (
    ("kl", 0.01, 0.05), ("prob", 0.008, 0.02), ("", 0.04, 0.12))
"""Words in the column's name, and from where a mismatch is likely and sure: a KL, probabilities, their
logarithms."""


def mismatch(facts: Facts) -> Finding | None:
    """Sampler and trainer give the same tokens other probabilities."""
    if "mismatch" not in facts:
        return None
    column = facts.series["mismatch"].column
    low, high = next((low, high) for word, low, high in MISMATCH
                     if word in column.lower().replace("logprob", "").replace("log_prob", ""))
    level = max(facts.end("mismatch"), facts.late("mismatch"))
    confidence = ramp(level, low, high)
    if not confidence:
        return None
    whole = next(facts.episodes())
    return made(
        "mismatch", confidence, None, f"sampler and trainer are apart: {column} is {level:.2g}",
        moved(facts, "mismatch", whole, column))
