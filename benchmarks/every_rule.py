"""Every rule's step: milliseconds for 1,000 runs of 10 actions, compiled and with NumPy.

Each compiled time stands beside that of compiled GRPO of the same kind (exact or sampled), taken right
before it; the ratio is the median over repeats of their quotient, so that a busy machine slows both. What
a simulation does once, tracing and compiling above all, is left out: a time is the difference between a
long and a short run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from entropy_theory.policy import namespace
from entropy_theory.update_rules import UpdateRule, get
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.modifier import Modifier
from simulations.engine import Dynamics, Samples, simulate

RUNS, ACTIONS, RIGHT = 1000, 10, 2
LONG, SHORT = 4500, 500
NUMPY_LONG, NUMPY_SHORT = 60, 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Users(Modifier):
    """A user's elementwise rule: GRPO's scores, damped where the policy is sure."""

    name: ClassVar[str] = "a user's rule"
    own_reads: ClassVar[frozenset[str]] = frozenset({"log_prob"})
    base: UpdateRule = field(default_factory=Grpo)

    def _scores(self, batch: Any) -> Any:
        scores = self.base.scores(batch)
        xp = namespace(scores)
        return scores * (1 - xp.exp(xp.where(batch.mask, batch.log_prob, xp.zeros_like(scores))))


RULES: dict[str, UpdateRule] = {
    "reinforce": get("reinforce"),
    "grpo": get("grpo"),
    "gspo": get("gspo"),
    "clip-higher": get("clip-higher"),
    "natural-gradient": get("natural-gradient"),
    "entropy-bonus": get("entropy-bonus"),
    "entropy-bonus, target": get("entropy-bonus", target=0.5),
    "entropy-advantage": get("entropy-advantage"),
    "reference-kl": get("reference-kl"),
    "clip-cov": get("clip-cov", ratio=0.2, lower=0.1),
    "kl-cov": get("kl-cov", ratio=0.2),
    "aepo": get("aepo"),
    "aepo, proportional": get("aepo", control="proportional"),
    # Its coefficient moves from the start: what it does when the warm-up ends, it does once.
    "aent": get("aent", warm_up_steps=0),
    "a user's rule": Users(),
}


def every_rule(repeats: int, clock: Callable[[], float]) -> list[dict[str, Any]]:
    """Measure and print one line a rule and kind; what was measured, in milliseconds a step.

    Args:
        repeats: of each time.
        clock: seconds.
    """
    def milliseconds(take: Callable[[int], None], long: int, short: int) -> float:
        """The time of a step, without what is done once."""
        times = []
        for steps in (short, long):
            began = clock()
            take(steps)
            times.append(clock() - began)
        return (times[1] - times[0]) / (long - short) * 1e3

    print(f"\n{RUNS} runs of {ACTIONS} actions, ms a step, median of {repeats} (fastest-slowest)")
    print(f"{'rule':24} {'kind':8} {'compiled':>24} {'/ compiled GRPO':>16} {'NumPy':>8}")
    rows = []
    for kind, samples in (("exact", None), ("sampled", Samples(group_size=8))):
        baseline = _stepper(RULES["grpo"], samples, "compiled")
        for name, rule in RULES.items():
            if samples is not None and rule.needs_listing:
                continue
            compiled = _stepper(rule, samples, "compiled")
            own, others = [], []
            for _ in range(repeats):
                others.append(milliseconds(baseline, LONG, SHORT))
                own.append(milliseconds(compiled, LONG, SHORT))
            numpy = milliseconds(_stepper(rule, samples, "numpy"), NUMPY_LONG, NUMPY_SHORT)
            ratio = float(np.median(np.array(own) / np.array(others)))
            row = {"rule": name, "kind": kind, "compiled": own, "grpo": others, "ratio": ratio,
                   "numpy": numpy}
            rows.append(row)
            shown = f"{np.median(own):.3f} ({min(own):.3f}-{max(own):.3f})"
            print(f"{name:24} {kind:8} {shown:>24} {ratio:16.2f} {numpy:8.2f}", flush=True)
    worst = max(rows, key=lambda row: row["ratio"])
    print(f"slowest: {worst['rule']}, {worst['kind']}, {worst['ratio']:.2f} times compiled GRPO's time")
    return rows


def _stepper(rule: UpdateRule, samples: Samples | None, engine: str) -> Callable[[int], None]:
    start = np.random.default_rng(0).normal(size=(RUNS, 1, ACTIONS))
    correct = np.arange(ACTIONS) < RIGHT

    def take(steps: int) -> None:
        simulate(start, correct, Dynamics(
            rule=rule, steps=steps, record_every=steps, tail=1, engine=engine, samples=samples))

    take(SHORT if engine == "compiled" else 2)  # (compiles, what it needs after a rule's warm-up too)
    return take
