"""The hypotheses about a run, one function each: the evidence of its log for them and against them.

Each returns a `Finding`, or None where the log has nothing to judge it by. The calls of `judging.ramp`
hold the numbers at which a hypothesis begins to be likely and at which it is sure. They were set on the
tuning part of `benchmarks/diagnosis`, on runs that had judged earlier numbers, and on public runs.
"""

from __future__ import annotations

from collections.abc import Callable

from diagnosis.facts import Facts
from diagnosis.findings import Finding
from diagnosis.hypotheses import entropy, learning, log, responses, steps

Hypothesis = Callable[[Facts], Finding | None]
HYPOTHESES: tuple[tuple[Hypothesis, float], ...] = (
    (log.not_finite, 1.1),
    (responses.truncation, 1.0),
    (entropy.explosion, 0.95),
    (entropy.growth, 0.95),
    (entropy.collapse, 0.95),
    (learning.nothing_learned, 0.9),
    (learning.no_signal, 0.85),
    (steps.mismatch, 0.85),
    (learning.schedule, 0.8),
    (steps.kl, 0.8),
    (responses.length_drift, 0.8),
    (learning.held_out_apart, 0.8),
    (entropy.dilution, 0.75),
    (steps.clipping, 0.75),
    (log.prompt_order, 0.7),
    (entropy.converging, 0.3),
    (log.restart, 0.2),
)
"""Each hypothesis, and how grave it is: findings are ranked by gravity times confidence."""
