"""Long exact runs: expected updates of one tabular state at 192 bits, for experiments.

Every statement about all starts has a proof or a search. These runs show the course of hundreds of
steps. Each step is rounded at 192 bits, since balls would grow along the way. This moves an entropy
by far less than anything asserted.
"""

import math
from collections.abc import Callable, Iterable, Sequence

from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification import certify

BITS = 192
GROUP = 8

Schedule = Callable[[int, float], float]
"""(step, entropy now) -> temperature."""


def switch(target: float | Callable[[int], float], high: float = 1.25, low: float = 0.8) -> Schedule:
    """AEPO's switch: ``high`` while the entropy is below the target (a number or one per step)."""
    def temperature(k: int, entropy: float) -> float:
        goal = target(k) if callable(target) else target
        return high if entropy < goal else low

    return temperature


def constant(temperature: float) -> Schedule:
    """Return the schedule with one temperature at every step."""
    return lambda k, entropy: temperature


def entropies(
    logits: tuple[float, ...] | ar.Reals,
    correct: Sequence[int],
    schedule: Schedule,
    *,
    learning_rate: float = 0.5,
    steps: int,
    grpo: bool = False,
    tempered: bool = True,
    advantage: bool = False,
) -> list[float]:
    """The entropy of the policy before each step and after the last.

    Args:
        logits: of the start.
        correct: mask of the right actions.
        schedule: temperature of each step.
        learning_rate: eta.
        steps: how many.
        grpo: with the exact expected GRPO step for groups of 8 (population deviation).
        tempered: with tempered REINFORCE, alpha = 1.
        advantage: tempered samples carry the centered reward instead of the reward (ablation 3).
    """
    from flint import arb

    found: list[float] = []
    with certify.precision(BITS):
        z = [arb(x) for x in logits]
        for k in range(steps + 1):
            p, entropy = _softmax(z)
            found.append(entropy)
            if k == steps:
                break
            right = _sum(x for x, c in zip(p, correct, strict=True) if c)
            step = [arb(0)] * len(z)
            if grpo and not all(correct):
                weight = _group_weight(right)
                step = [weight * x * (int(c) - right) for x, c in zip(p, correct, strict=True)]
            if tempered:
                hot, _ = _softmax([x / arb(schedule(k, entropy)) for x in z])
                mass = _sum(x for x, c in zip(hot, correct, strict=True) if c)
                for a, c in enumerate(correct):
                    step[a] += hot[a] * (int(c) - mass) if advantage else int(c) * hot[a] - mass * p[a]
            z = [(x + arb(learning_rate) * s).mid() for x, s in zip(z, step, strict=True)]
    return found


def steps_to(path: Sequence[float], level: float) -> int:
    """The first step at which the entropy is at least ``level``; -1 if it never is."""
    return next((k for k, entropy in enumerate(path) if entropy >= level), -1)


def _softmax(z: Sequence[ar.Ball]) -> tuple[list[ar.Ball], float]:
    top = max(z, key=lambda x: float(x.mid()))
    weights = [(x - top).exp() for x in z]
    normalizer = _sum(weights)
    p = [w / normalizer for w in weights]
    entropy = normalizer.log() - _sum(a * (x - top) for a, x in zip(p, z, strict=True))
    return p, float(entropy.mid())


def _group_weight(p: ar.Ball) -> ar.Ball:
    """``kappa = E sqrt(k/G (1 - k/G)) / (p (1 - p))`` with ``k ~ Bin(G, p)``: exact expected GRPO.
    """
    terms = [math.comb(GROUP, k) * p ** (k - 1) * (1 - p) ** (GROUP - k - 1)
             * (_ball(k * (GROUP - k)).sqrt() / GROUP) for k in range(1, GROUP)]
    return _sum(terms)


def _ball(number: int) -> ar.Ball:
    from flint import arb

    return arb(number)


def _sum(terms: Iterable[ar.Ball]) -> ar.Ball:
    from flint import arb

    total = arb(0)
    for term in terms:
        total += term
    return total
