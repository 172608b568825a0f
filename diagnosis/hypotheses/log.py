"""What the log itself shows: the order of its prompts, a restart, too little."""

from __future__ import annotations

import math

import numpy as np

from diagnosis.facts import Episode, Facts
from diagnosis.findings import Finding
from diagnosis.hypotheses.judging import FEWEST_STEPS, made, ramp
from entropy_theory.training_logs.names import Quantity

LONGEST_PASS = 2000
"""The most steps of a pass over the prompts that is looked for."""

def prompt_order(facts: Facts) -> Finding | None:
    """The curve is that of other runs on the same prompts, or repeats itself pass by pass."""
    quantity: Quantity = "reward" if "reward" in facts else "entropy"
    if quantity not in facts or len(facts.value(quantity)) < 3 * FEWEST_STEPS:
        return None
    rest = _fluctuation(facts.value(quantity))
    n = len(rest)
    for other in facts.others:
        shared = other.series.get(quantity)
        if shared is None:
            continue
        _, i, j = np.intersect1d(facts.series[quantity].step, shared.step, return_indices=True)
        if len(i) < FEWEST_STEPS:
            continue
        r = float(np.corrcoef(rest[i], _fluctuation(shared.value)[j])[0, 1])
        if confidence := ramp(r * math.sqrt(len(i)), 4, 7) * ramp(r, 0.2, 0.5):
            return made(
                "prompt order", confidence, None,
                f"about its trend, the {quantity} goes with that of {other.path} {other.name}".rstrip()
                + f" (correlation {r:.2f} over {len(i)} steps): part of the curve is which prompts were "
                "drawn")
    power = float(rest @ rest)
    lags = np.arange(1, n // 2)
    if power <= 0:
        return None
    spectrum = np.abs(np.fft.rfft(rest, 2 * n)) ** 2
    correlation = np.fft.irfft(spectrum)[lags] / power * n / (n - lags)
    # A curve that is only smooth has its low between 0 and the lag as high as the lag itself.
    again = np.array([correlation[i] - max(0.0, float(np.median(correlation[i // 4: 3 * i // 4])))
                      for i in range(4, min(len(lags), LONGEST_PASS))])
    lag, r = int(np.argmax(again)) + 5, float(again.max())
    # The greatest of as many correlations of noise is about sqrt(2 log N / (n - lag)).
    chance = math.sqrt(2 * math.log(len(lags)) / (n - lag))
    confidence = ramp(r / chance, 1.2, 1.8) * ramp(r, 0.25, 0.5)
    if not confidence:
        return None
    return made(
        "prompt order", confidence, None,
        f"the {quantity} repeats itself every {lag} steps (correlation {r:.2f}; by chance up to "
        f"{chance:.2f}): part of the curve is which prompts were drawn")


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


def not_enough(facts: Facts) -> Finding | None:
    """Too little was logged to tell anything."""
    steps = len(facts.steps)
    known = [name for name in ("entropy", "reward", "score") if name in facts]
    if steps >= FEWEST_STEPS and known:
        return None
    said = f"{steps} steps, of which fewer than {FEWEST_STEPS} tell nothing" if known else (
        "neither entropy nor reward nor held-out score is in the log")
    return made("not enough", 1.0, None, said)
