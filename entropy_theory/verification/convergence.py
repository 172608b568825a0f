"""The order of a remainder in a small parameter, measured in ball arithmetic.

The remainder r(h) is evaluated at h and h/2 with h around 2^-24 and 320 bits, so that rounding is far
below it; the measured order is log2 |r(h)/r(h/2)|. Where a bound is claimed it must enclose |r(h)| for
large h too.
"""

from __future__ import annotations

import time

import numpy as np

from entropy_theory.verification import certify
from entropy_theory.verification.arithmetic import Ball, Reals
from entropy_theory.verification.claim import Convergence, Evidence, Target
from entropy_theory.verification.floats import describe
from entropy_theory.verification.instances import Instance, Instances, as_balls, pick, to_json

BITS = 320
EXPONENT = 24
ORDER_TOLERANCE = 0.01
"""At h = 2^-24 the next term of the expansion moves the order by about 2^-24 times a ratio of
coefficients; 0.01 leaves room for ratios up to 1e5."""
SIZES = (2.0**-EXPONENT, 0.5, 1.0, 4.0, 32.0)
"""The step sizes, small and large, at which a claimed bound is tested."""


def check_convergence(
    convergence: Convergence,
    instances: Instances,
    cases: int,
    *,
    seed: int = 0,
    target: Target = "statement",
) -> list[Evidence]:
    """Evidence on the order and, if one is claimed, on the bound of the remainder."""
    started = time.monotonic()
    generator = np.random.default_rng(seed)
    orders: list[float] = []
    ratios: list[float] = []
    broken: list[str] = []
    for _ in range(cases):
        batch = instances.sample(generator, 1)
        # Saturated policies have remainders of e^-100 whose order shows only at h below that.
        if "logits" in batch:
            batch["logits"] = np.clip(batch["logits"] - batch["logits"].mean(), -6, 6)
        instance = pick(batch, 0)
        if (order := _order(convergence, instance)) is not None:
            orders.append(order)
        if convergence.bound is not None:
            for size in SIZES:
                ratio = _ratio(convergence, instance, size)
                ratios.append(ratio)
                if not ratio <= 1:
                    broken.append(f"{describe(to_json(instance))}, size {size:g}")
    seconds = time.monotonic() - started
    if not orders:
        return [Evidence(method="convergence", outcome="error", cases=cases, seconds=seconds,
                         target=target, detail="the remainder vanishes at every instance")]
    low, high = min(orders), max(orders)
    detail = (
        f"order in the {convergence.parameter} {low:.4f}..{high:.4f} "
        f"(claimed {convergence.order}), {len(orders)} cases at {BITS} bits"
    )
    if ratios:
        detail += f"; |remainder| / bound at most {max(ratios):.3f} for sizes up to 32"
    good = low >= convergence.order - ORDER_TOLERANCE and not broken
    if broken:
        detail += f"; bound broken at {broken[0]}"
    return [Evidence(method="convergence", outcome="pass" if good else "fail", cases=cases,
                     seconds=seconds, target=target, detail=detail)]


def _order(convergence: Convergence, instance: Instance) -> float | None:
    """Measured order; None where the remainder is zero as far as 320 bits can tell."""
    from flint import arb

    with certify.precision(BITS):
        sizes = [arb(2.0**-EXPONENT), arb(2.0 ** -(EXPONENT + 1))]
        remainders = [_largest(convergence.remainder(as_balls(instance), h)) for h in sizes]
        if any(r.contains(0) for r in remainders):
            return None
        return float((abs(remainders[0]) / abs(remainders[1])).log().mid() / arb(2).log().mid())


def _ratio(convergence: Convergence, instance: Instance, size: float) -> float:
    """Upper end of |remainder| / bound, with more bits while the remainder's radius hides it."""
    from flint import arb

    assert convergence.bound is not None
    ratio, bits = float("inf"), BITS
    while bits <= certify.CEILING:
        with certify.precision(bits):
            remainder = abs(_largest(convergence.remainder(as_balls(instance), arb(size))))
            bound = _largest(convergence.bound(as_balls(instance), arb(size)))
            if bound > 0:
                ratio = float((remainder / bound).upper())
                if ratio <= 1 or remainder > bound:
                    return ratio
            elif bound == 0 and remainder == 0:
                return 0.0
        bits *= 2
    return ratio


def _largest(balls: Reals) -> Ball:
    entries = list(np.asarray(balls, dtype=object).reshape(-1))
    return max(entries, key=lambda ball: abs(float(ball.mid())))
