"""Hypotheses about the log itself: the order of its prompts, a restart, too little."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from diagnosis.facts import Episode, Facts
from diagnosis.findings import Finding
from diagnosis.hypotheses.judging import FEWEST_STEPS, made, ramp
from entropy_theory.performance_law.trend import correlation_time
from entropy_theory.training_logs.names import Quantity

ESSENTIAL: tuple[Quantity, ...] = ("entropy", "entropy_sampled", "reward", "loss", "gradient_norm")
"""Quantities that every step has. A held-out score is often not a number between evaluations."""
SAME = 0.9999
"""A correlation above which two runs are one."""
LONGEST_PASS = 2000
"""The most steps of a pass over the prompts that is looked for."""

def prompt_order(facts: Facts) -> Finding | None:
    """The curve is that of other runs on the same prompts, or repeats itself pass by pass."""
    quantities: tuple[Quantity, ...] = ("reward", "entropy")
    found = [one for quantity in quantities if len(facts.value(quantity)) >= 2 * FEWEST_STEPS
             for one in (*_alike(facts, quantity), _repeats(facts, quantity))]
    return max(found, key=lambda one: one.confidence, default=None)


def _alike(facts: Facts, quantity: Quantity) -> Iterator[Finding]:
    """Yield for each other run how alike its curve is, about its trend."""
    rest = _fluctuation(facts.value(quantity))
    for other in facts.others:
        shared = other.series.get(quantity)
        if shared is None or len(shared.value) < 2 * FEWEST_STEPS:
            continue
        _, i, j = np.intersect1d(facts.series[quantity].step, shared.step, return_indices=True)
        if len(i) < 2 * FEWEST_STEPS:
            continue
        own, theirs = rest[i], _fluctuation(shared.value)[j]
        if not np.ptp(own) or not np.ptp(theirs):
            continue
        r = float(np.corrcoef(own, theirs)[0, 1])
        if r > SAME:  # the same run, logged twice
            continue
        time = max(correlation_time(own), correlation_time(theirs))
        yield made(
            "prompt order", ramp(r * math.sqrt(len(i) / time), 3.5, 6) * ramp(r, 0.2, 0.5), None,
            f"about its trend, {quantity} goes with that of {other.path} {other.name}".rstrip()
            + f" (correlation {r:.2f} over {len(i)} steps): part of the curve is which prompts came")


def _repeats(facts: Facts, quantity: Quantity) -> Finding:
    """Return how surely a curve repeats itself, at the lag at which it does most."""
    rest = _fluctuation(facts.value(quantity))
    n, power = len(rest), max(float(rest @ rest), 1e-30)
    size = math.sqrt(power / n) / max(float(np.abs(facts.value(quantity)).mean()), 1e-9)
    spectrum = np.abs(np.fft.rfft(rest, 2 * n)) ** 2
    correlation = np.fft.irfft(spectrum)[:n] / power * n / np.arange(n, 0, -1)
    lags = np.arange(5, min(n // 3, LONGEST_PASS))
    # What repeats itself does so again at twice the lag, and has forgotten itself between.
    again = np.array([min(correlation[lag], 1.5 * correlation[2 * lag]) - max(
        0.0, float(np.median(correlation[1 + lag // 4: 1 + 3 * lag // 4]))) for lag in lags])
    lag, r = int(lags[np.argmax(again)]), float(again.max())
    smooth = ramp(1 - float(correlation[1]), 0.02, 0.1)  # a wave, not one batch after another
    # The greatest of as many correlations of noise is about sqrt(2 log N / (n - lag)).
    chance = math.sqrt(2 * math.log(len(lags)) / (n - lag))
    confidence = ramp(r / chance, 1.2, 1.8) * ramp(r, 0.25, 0.5) * smooth * ramp(size, 0.005, 0.015)
    return made(
        "prompt order", confidence, None,
        f"{quantity} repeats itself every {lag} steps (correlation {r:.2f}, by chance up to "
        f"{chance:.2f}): part of the curve is the order of the prompts")


def _fluctuation(value: np.ndarray) -> np.ndarray:
    """Return values about their smooth trend, with single spikes cut."""
    n = len(value)
    time = np.log1p(np.arange(n))  # most curves turn early
    smooth = np.polynomial.Legendre.fit(time, value, min(7, n // 10))(time)
    rest = value - smooth
    scale = 1.4826 * float(np.median(np.abs(rest)))
    return np.asarray(np.clip(rest - rest.mean(), -4 * scale, 4 * scale))


def restart(facts: Facts) -> Finding | None:
    """The run went back to an earlier step."""
    if not facts.run.restarts:
        return None
    back = ", ".join(f"{step:g}" for step in facts.run.restarts[:5])
    first = facts.run.restarts[0]
    return made("restart", 1.0, Episode(first, first, first, False),
                 f"the run went back to step {back}: what was logged from there on before is left out")


def not_finite(facts: Facts) -> Finding | None:
    """From a step on what is logged at every step is not a number, or infinite."""
    broken = [(one.broken, one.column) for quantity in ESSENTIAL
              if (one := facts.series.get(quantity)) is not None and one.broken is not None]
    if not broken:
        return None
    begin = min(step for step, _ in broken)
    return made("not finite", 1.0, Episode(begin, begin, begin, False),
                f"from step {begin:g} on, {' and '.join(column for _, column in broken)} is not finite")


def not_enough(facts: Facts) -> Finding | None:
    """Too little was logged to tell anything."""
    steps = len(facts.steps)
    known = [name for name in ("entropy", "reward", "score") if name in facts]
    if steps >= FEWEST_STEPS and known:
        return None
    plural = "s" * (steps != 1)
    said = f"the log has {steps} step{plural}, and {FEWEST_STEPS} are the fewest" if known else (
        "neither entropy nor reward nor held-out score is in the log")
    return made("not enough", 1.0, None, said)
