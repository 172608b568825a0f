"""Every rule's step: milliseconds for 1,000 runs of 10 actions, compiled and with NumPy.

Each compiled time stands beside that of compiled GRPO of the same kind (exact or sampled), taken right
before it; the ratio is the median over repeats of their quotient, so that a busy machine slows both. What
a simulation does once, tracing and compiling above all, is left out: the clock starts when the first
steps of a run are reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from entropy_theory.policy import namespace
from entropy_theory.update_rules import RULES as NAMES
from entropy_theory.update_rules import Needs, UpdateRule, get, update_rule
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.modifier import Modifier
from simulations.engine import Dynamics, Samples, simulate

Take = Callable[[int, Callable[[int], object]], None]
"""Takes steps, and is told now and then of those taken since."""
RUNS, ACTIONS, RIGHT = 1000, 10, 2
STEPS, NUMPY_STEPS = 4500, 60
REPORTS = 9


@update_rule("a user's rule")
class Users(Modifier):
    """A user's elementwise rule: GRPO's scores, damped where the policy is sure."""

    _needs = Needs(reads={"log_prob"})
    base: UpdateRule = field(default_factory=Grpo)

    def _scores(self, batch: Any) -> Any:
        scores = self.base.scores(batch)
        xp = namespace(scores)
        return scores * (1 - xp.exp(xp.where(batch.mask, batch.log_prob, xp.zeros_like(scores))))


RULES: dict[str, UpdateRule] = {name: get(name) for name in NAMES} | {
    "entropy-bonus, target": get("entropy-bonus", target=0.5),
    # Shares of which 8 sampled rows have one token at least.
    "clip-cov": get("clip-cov", ratio=0.2, lower=0.1),
    "kl-cov": get("kl-cov", ratio=0.2),
    "aepo, proportional": get("aepo", control="proportional"),
    # Its coefficient moves from the start: what it does when the warm-up ends, it does once.
    "aent": get("aent", warm_up_steps=0),
    "a user's rule": Users(),
}
"""All rules, and variants of some, by the name that is printed."""


def every_rule(repeats: int, clock: Callable[[], float]) -> list[dict[str, Any]]:
    """Measure and print one line a rule and kind; what was measured, in milliseconds a step.

    Args:
        repeats: of each time.
        clock: seconds.
    """
    def milliseconds(take: Take, steps: int) -> float:
        """The time of a step, without those up to the first report."""
        seen: list[tuple[float, int]] = []
        take(steps, lambda taken: seen.append((clock(), taken)))
        return (seen[-1][0] - seen[0][0]) / sum(taken for _, taken in seen[1:]) * 1e3

    print(f"\n{RUNS} runs of {ACTIONS} actions, ms a step, median of {repeats} (fastest-slowest)")
    print(f"{'rule':24} {'kind':8} {'compiled':>24} {'/ compiled GRPO':>16} {'NumPy':>8}")
    rows = []
    for kind, samples in (("exact", None), ("sampled", Samples(group_size=8))):
        baseline = _stepper(RULES["grpo"], samples, "compiled")
        for name, rule in RULES.items():
            if samples is not None and rule.needs.listing:
                continue
            compiled = _stepper(rule, samples, "compiled")
            own, others = [], []
            for _ in range(repeats):
                others.append(milliseconds(baseline, STEPS))
                own.append(milliseconds(compiled, STEPS))
            numpy = milliseconds(_stepper(rule, samples, "numpy"), NUMPY_STEPS)
            ratio = float(np.median(np.array(own) / np.array(others)))
            row = {"rule": name, "kind": kind, "compiled": own, "grpo": others, "ratio": ratio,
                   "numpy": numpy}
            rows.append(row)
            shown = f"{np.median(own):.3f} ({min(own):.3f}-{max(own):.3f})"
            print(f"{name:24} {kind:8} {shown:>24} {ratio:16.2f} {numpy:8.2f}", flush=True)
    worst = max(rows, key=lambda row: row["ratio"])
    print(f"slowest: {worst['rule']}, {worst['kind']}, {worst['ratio']:.2f} times compiled GRPO's time")
    return rows


def _stepper(rule: UpdateRule, samples: Samples | None, engine: str) -> Take:
    start = np.random.default_rng(0).normal(size=(RUNS, 1, ACTIONS))
    correct = np.arange(ACTIONS) < RIGHT

    def take(steps: int, progress: Callable[[int], object]) -> None:
        simulate(start, correct, Dynamics(
            rule=rule, steps=steps, record_every=max(1, steps // REPORTS), tail=1, engine=engine,
            samples=samples), progress=progress)

    # Compiles, what a rule needs after its warm-up too.
    take(500 if engine == "compiled" else 2, lambda taken: None)
    return take
