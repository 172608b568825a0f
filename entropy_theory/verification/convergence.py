"""The order of a remainder in a small parameter, measured in ball arithmetic.

The remainder r(h) is evaluated at h and h/2 with h around 2^-24 and 320 bits, so that rounding is far
below it; the measured order is log2 |r(h)/r(h/2)|. Where a bound is claimed it must enclose |r(h)| for
large h too.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from entropy_theory.verification import certify
from entropy_theory.verification.claim import Convergence, Evidence, Target
from entropy_theory.verification.instances import Instances, as_balls, pick

BITS = 320
EXPONENT = 24
ORDER_TOLERANCE = 0.01
"""At h = 2^-24 the next term of the expansion moves the order by about 2^-24 times a ratio of
coefficients; 0.01 leaves room for ratios up to 1e5."""


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
    orders, vanishing = [], 0
    ratios: list[float] = []
    broken: Any = None
    for _ in range(cases):
        batch = instances.sample(generator, 1)
        # Saturated policies have remainders of e^-100 whose order shows only at h below that.
        if "logits" in batch:
            batch["logits"] = np.clip(batch["logits"] - batch["logits"].mean(), -6, 6)
        instance = pick(batch, 0)
        with certify.precision(BITS):
            order = _order(convergence, instance)
            if order is None:
                vanishing += 1
            else:
                orders.append(order)
            if convergence.bound is not None:
                for h in (2.0**-EXPONENT, 0.5, 1.0, 4.0, 32.0):
                    ratio = _ratio(convergence, instance, h)
                    ratios.append(ratio)
                    if not ratio <= 1:
                        broken = (instance, h, ratio)
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
    good = low >= convergence.order - ORDER_TOLERANCE and broken is None
    if broken is not None:
        detail += f"; bound broken at {broken[0]}, size {broken[1]}"
    return [Evidence(method="convergence", outcome="pass" if good else "fail", cases=cases,
                     seconds=seconds, target=target, detail=detail)]


def _order(convergence: Convergence, instance: Any) -> float | None:
    """Measured order; None where the remainder is zero as far as 320 bits can tell."""
    from flint import arb

    sizes = [arb(2.0**-EXPONENT), arb(2.0 ** -(EXPONENT + 1))]
    remainders = [_largest(convergence.remainder(as_balls(instance), h)) for h in sizes]
    if any(r.contains(0) for r in remainders):
        return None
    return float((abs(remainders[0]) / abs(remainders[1])).log().mid() / arb(2).log().mid())


def _ratio(convergence: Convergence, instance: Any, h: float) -> float:
    from flint import arb

    assert convergence.bound is not None
    size = arb(h)
    remainder = abs(_largest(convergence.remainder(as_balls(instance), size)))
    bound = _largest(convergence.bound(as_balls(instance), size))
    return float((remainder / bound).upper()) if bound > 0 else 0.0


def _largest(balls: Any) -> Any:
    entries = list(np.asarray(balls, dtype=object).reshape(-1))
    return max(entries, key=lambda ball: abs(float(ball.mid())))
