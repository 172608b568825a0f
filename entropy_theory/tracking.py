"""How well an entropy followed its target: numbers of a run, from its entropies and targets by step.

They are the same for a language model and for an exact simulation, so that both can be compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

MEAN_OVER = 5
"""The number of steps over which entropy is averaged before it counts as arrived. One step of a language
model is a sample of a few prompts."""
ARRIVED = 0.9
"""The share of the way to a new target at which entropy has arrived."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tracking:
    """The outcome of a target in one run."""

    mean: float
    """The mean entropy over the last settled steps, nats."""
    deviation: float
    """The mean absolute distance from the target over all settled steps, nats."""
    steps_to_follow: float | None
    """Steps after the target's jump, or after the start, at which entropy had arrived; None if never."""


def tracked(entropy: np.ndarray, target: np.ndarray) -> Tracking:
    """Measure how a target was followed; settled steps are the second half of each of its `stretches`.

    Args:
        entropy: mean entropy at each step, before it is taken, [steps], nats.
        target: the target entropies, [steps], nats.

    Raises:
        ValueError: arrays of different lengths, fewer than two steps, or numbers that are not finite.
    """
    entropy, target = np.asarray(entropy, dtype=float), np.asarray(target, dtype=float)
    if entropy.shape != target.shape or entropy.ndim != 1 or len(entropy) < 2:
        raise ValueError(
            f"entropy and target must be numbers of the same two or more steps, got shapes "
            f"{entropy.shape} and {target.shape}")
    if not np.isfinite([entropy, target]).all():
        raise ValueError("entropy and target must be finite at every step: leave out steps without one")
    settled = [second_half(part) for part in stretches(target)]
    distance = np.concatenate([np.abs(entropy - target)[part] for part in settled])
    return Tracking(
        mean=float(entropy[settled[-1]].mean()),
        deviation=float(distance.mean()),
        steps_to_follow=steps_to_follow(entropy, target),
    )


def stretches(target: np.ndarray) -> list[slice]:
    """Divide the steps before the target's jump from those after it; all are one stretch without a jump.

    A target jumps where it changes by more in one step than in all others together: a step, no ramp.
    """
    moves = np.abs(np.diff(np.asarray(target, dtype=float)))
    place = int(np.argmax(moves)) if len(moves) else 0
    if not len(moves) or moves[place] <= moves.sum() - moves[place]:
        return [slice(0, len(target))]
    return [slice(0, place + 1), slice(place + 1, len(target))]


def second_half(steps: slice) -> slice:
    """Return the later half of some steps, the middle one of an odd number included."""
    return slice(steps.start + (steps.stop - steps.start) // 2, steps.stop)


def steps_to_follow(entropy: np.ndarray, target: np.ndarray) -> float | None:
    """Count the steps of the last of the `stretches` until entropy has made ``ARRIVED`` of the way.

    The way is from the mean of the ``MEAN_OVER`` steps before the stretch, or from the first step, to the
    target. Entropy is averaged over the last ``MEAN_OVER`` steps of the stretch.

    Returns:
        None where entropy never arrives.
    """
    start = stretches(target)[-1].start
    before = float(np.mean(entropy[max(0, start - MEAN_OVER) : max(1, start)]))
    sign = math.copysign(1.0, target[start] - before)
    for step in range(start, len(entropy)):
        mean = float(np.mean(entropy[max(start, step + 1 - MEAN_OVER) : step + 1]))
        if sign * (target[step] - mean) <= (1 - ARRIVED) * abs(target[start] - before):
            return float(step - start)
    return None
