"""The adversary: looks for instances that violate a statement, and reports how hard it tried.

It has four parts:

- every instance with small integer weights, in order of size, so the first violation is the simplest
- a batched random search over families in which inequalities break (ties, saturation, near ties)
- local ascent (Nelder-Mead) of the violation from the worst random points
- far larger instances (`sizes`)

A float violation is only a candidate: it counts once ball arithmetic proves it. A violation that was
drawn is made simple (`shrink`). The outcome lists the instances that were searched and those that were
not.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from entropy_theory.verification import certify, sizes
from entropy_theory.verification.claim import Evidence, Statement, Target
from entropy_theory.verification.floats import describe, evaluate, is_candidate, refuse_mixed
from entropy_theory.verification.instances import (
    Batch,
    Instance,
    Instances,
    as_batch,
    pick,
    to_json,
)
from entropy_theory.verification.shrink import shrink
from entropy_theory.verification.vacuity import NO_SIZE, Margins, varied, why_vacuous

Violation = tuple[Instance, certify.Certificate]
CLEARLY = 1e-6
"""A violation in floats of this size is beyond rounding: if balls do not decide it, it is in doubt."""
FEWEST_DRAWN = 1000
"""Random cases below which a set that is not finite has hardly been searched."""
FEWEST_MET = 20
"""Instances that meet the hypotheses, below which a statement has hardly been tried."""
DRAWN = 512
"""Instances on which it is asked why a statement may say nothing."""
INFINITE = 8
"""How many instances of an infinite margin are put to ball arithmetic."""
RECHECKED = 64
"""How many of the worst candidates of a search are put to ball arithmetic."""
BATCH = 4096
LARGEST_MOVE = 100.0
"""Local ascent keeps logits and steps within this, so that exponentials stay finite."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Effort:
    """How hard to look.

    Attributes:
        largest_total: integer weights are enumerated up to this sum.
        random_cases: size of the random search.
        ascents: local ascents, from the worst random points.
        sizes: numbers of actions, or tokens of a tree, beyond the sampler's, at which a statement whose
            constants depend on size is searched too.
        seconds: processor time after which the search stops early and reports what it did. By the
            wall clock a crowded machine would search less, and could lose a verdict.
    """

    largest_total: int
    random_cases: int
    ascents: int
    seconds: float
    sizes: tuple[int, ...] = ()


def search(
    statement: Statement,
    instances: Instances,
    effort: Effort,
    *,
    seed: int = 0,
    witnesses: tuple[Instance, ...] = (),
    target: Target = "statement",
    first_only: bool = False,
    tight: bool | None = None,
) -> list[Evidence]:
    """Search for a violation; return the evidence, then that of the certificates if one was found.

    Args:
        statement: the statement under attack.
        instances: the set that the statement is about.
        effort: how hard to look.
        seed: seed of the random search.
        witnesses: instances to try first.
        target: the subject of the evidence.
        first_only: stop at the first proved violation (enough to reject a mutant).
        tight: whether a margin that never comes near zero is vacuous (`vacuity`). None looks for no such
            reason; it is for mutants and for what the kernel has accepted.
    """
    started = time.monotonic()
    deadline = time.thread_time() + effort.seconds
    attack = _Attack(statement, instances)
    for witness in witnesses:
        attack.witness(witness)
    simplest, reached = _enumerate(attack, instances, effort, deadline)
    simplest = simplest or next(iter(attack.violations), None)
    random_cases = 0 if instances.finite or (first_only and attack.violations) else effort.random_cases
    starts, drawn = _sample(attack, instances, random_cases, effort, seed, deadline)
    climbed = [
        _ascend(statement, instances, severity, instance)
        for severity, instance in starts[: effort.ascents]
        if time.thread_time() < deadline
    ]
    extremes = sorted([*climbed, *starts], key=lambda entry: entry[0], reverse=True)
    rechecked = _certify_worst(attack, extremes[:RECHECKED])
    missing = [] if attack.violations else sizes.try_larger(attack, instances, effort.sizes, seed)
    for instance in () if attack.violations else attack.infinite:
        attack.certify(instance, -np.inf)

    common: dict[str, Any] = {"target": target, "cases": attack.cases}
    if attack.met == 0:
        return [_evidence("vacuous", started, **common, detail="vacuous: none of "
                          f"{attack.cases} instances meets the hypotheses")]
    hardness = f"{instances.families}, one by one" if instances.finite else (
        f"all integer weights of total <= {reached}, {drawn} random ({instances.families}), "
        f"{len(climbed)} local ascents")
    common["searched"] = attack.sizes_said() + hardness + f"; {attack.met} met the hypotheses"
    if attack.violations:
        first, last = simplest or attack.violations[0], attack.violations[-1]
        if simplest is None and not first_only:
            first = simplest_of(statement, instances, first, max(2.0, effort.seconds))
        return _refutation(attack, first, last, started, common)
    missing += _hardly_searched(attack, instances, drawn, random_cases)
    vacuous = "" if tight is None else _says_nothing(attack, seed, tight)
    return [_no_violation(attack, missing, extremes, rechecked, started, common, vacuous)]


def _says_nothing(attack: _Attack, seed: int, tight: bool) -> str:
    """Why the statement may say nothing, judged on instances of their own."""
    batch = attack.instances.sample(np.random.default_rng([seed, 2]), DRAWN)
    margins, meets = evaluate(attack.statement, batch)
    usual = float(np.median(margins[meets])) if meets.any() else 0.0
    return why_vacuous(attack.statement, attack.instances, attack.margins, batch,
                       usual if tight else None)


def _evidence(outcome: Any, started: float, **fields: Any) -> Evidence:
    return Evidence(method="search", outcome=outcome, seconds=time.monotonic() - started, **fields)


def _refutation(
    attack: _Attack, first: Violation, last: Violation, started: float, common: dict[str, Any]
) -> list[Evidence]:
    simple, worst = certify.record(*first), certify.record(*last)
    return [
        _evidence("fail", started, **common, counterexample=simple,
                  detail=f"{attack.flagged} candidates; simplest {describe(simple)}; "
                         f"worst {describe(worst)}; {common['searched']}"),
        Evidence(method="certify", outcome="fail", cases=2, target=common["target"],
                 counterexample=simple,
                 detail=f"simplest: margin {first[1].interval} at {first[1].bits} bits; "
                        f"worst: {last[1].interval}"),
    ]


def _no_violation(
    attack: _Attack, missing: list[str], extremes: list[tuple[float, Instance]], rechecked: int,
    started: float, common: dict[str, Any], vacuous: str,
) -> Evidence:
    """The evidence of a search that has certified no violation."""
    hardness = common["searched"]
    if attack.equalities:
        why = f"{attack.equalities} instances may be exact equalities, where the strict statement fails"
        return _evidence("undecided", started, **common, left_open=why, detail=f"{why}: {hardness}")
    if attack.doubtful is not None:
        why = ("a violation in floats, or an infinite margin, that ball arithmetic does not decide, at "
               f"{describe(to_json(attack.doubtful))}")
        return _evidence("undecided", started, **common, left_open=why, detail=f"{why}: {hardness}")
    if vacuous:
        return _evidence("vacuous", started, **common, detail=f"vacuous: {vacuous}")
    worst_margin = f"; worst margin {-extremes[0][0]:.2e}" if extremes else ""
    doubts = ""
    if attack.flagged or rechecked:
        doubts = (f"; {attack.flagged} candidates in floats, the worst {rechecked} not confirmed "
                  f"by balls ({attack.undecided} undecided)")
    return _evidence("pass", started, **common, left_open="; ".join(missing),
                     detail=f"no violation: {hardness}{worst_margin}{doubts}")


def _hardly_searched(attack: _Attack, instances: Instances, drawn: int, asked: int) -> list[str]:
    """The parts of the search that were cut short, in words."""
    found = []
    if attack.cut_short and instances.finite:
        found.append(f"only {attack.cases} instances of the list were tried in the time given")
    if drawn < min(asked, FEWEST_DRAWN):
        found.append(f"only {drawn} random instances were tried in the time given")
    if not instances.finite and attack.met < FEWEST_MET:
        found.append(f"only {attack.met} of {attack.cases} instances met the hypotheses")
    return found


def _certify_worst(attack: _Attack, candidates: list[tuple[float, Instance]]) -> int:
    """Put candidates to ball arithmetic until one is proved; returns how many were not."""
    for count, (severity, instance) in enumerate(candidates):
        if not is_candidate(attack.statement, np.array([-severity]))[0]:
            return count
        if attack.certify(instance, -severity):
            return count + 1
    return len(candidates)


def simplest_of(
    statement: Statement, instances: Instances, found: Violation, seconds: float
) -> Violation:
    """The simplest violation that `shrink` finds, certified like the one that was found."""

    def violates(instance: Instance) -> certify.Certificate | None:
        margins, meets = evaluate(statement, as_batch(instance))
        if not meets[0] or not is_candidate(statement, margins)[0]:
            return None
        certificate = certify.check_instance(statement, instance, ceiling=512)
        return certificate if certificate.status == "violated" else None

    return shrink(violates, instances, found, seconds)


class _Attack:
    """The instances that an attack on a statement has tried so far, and its findings."""

    def __init__(self, statement: Statement, instances: Instances) -> None:
        self.statement = statement
        self.instances = instances
        self.cases = self.met = self.flagged = self.undecided = self.equalities = 0
        self.violations: list[Violation] = []
        self.doubtful: Instance | None = None
        self.infinite: list[Instance] = []
        self.margins = Margins()
        self.cut_short = False
        self._sizes: dict[str, set[int]] = {}
        # A formula has no way to look at other instances.
        self.may_mix = not statement.is_traceable()

    def measure(
        self, batch: Batch, *, random: bool = True
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(margins, meets the hypotheses, violates in floats), each [B]."""
        margins, meets = evaluate(self.statement, batch)
        if self.may_mix and len(margins) > 1:
            self.may_mix = False
            refuse_mixed(self.statement, batch, margins, meets)
        candidates = meets & is_candidate(self.statement, margins)
        self.cases += len(margins)
        self.met += int(np.sum(meets))
        self.flagged += int(np.sum(candidates))
        found = sizes.sizes_of(batch, self.instances)
        telling = varied(batch) & random
        self.margins.add(margins[meets], telling[meets], max(found.values(), default=NO_SIZE))
        if meets.any():
            for unit, size in found.items():
                self._sizes.setdefault(unit, set()).add(size)
        if len(self.infinite) < INFINITE:
            self.infinite += [pick(batch, int(index)) for index in np.flatnonzero(
                meets & np.isposinf(margins))[: INFINITE - len(self.infinite)]]
        return margins, meets, candidates

    def witness(self, instance: Instance) -> None:
        """Try an instance that was given."""
        self.met += certify.check_instance(self.statement, instance).status != "outside"
        self.cases += 1
        self.certify(instance)

    def certify(self, instance: Instance, margin: float = 0.0) -> bool:
        """Whether balls prove a violation at this instance; if so it is kept."""
        certificate = certify.check_candidate(self.statement, instance)
        if certificate.status == "violated":
            self.violations.append((instance, certificate))
        if certificate.status == "undecided":
            self.undecided += 1
            if margin < -CLEARLY:
                self.doubtful = instance
        self.equalities += certify.may_be_equality(self.statement, certificate)
        return certificate.status == "violated"

    def sizes_said(self) -> str:
        """``2 to 16, 24, 1,000 actions: ``, of the instances that met the hypotheses."""
        found = ", ".join(f"{sizes.said(known)} {unit}" for unit, known in self._sizes.items())
        return f"{found}: " if found else ""


def _enumerate(
    attack: _Attack, instances: Instances, effort: Effort, deadline: float
) -> tuple[Violation | None, int]:
    """(the first violation in order of size, total weight reached)."""
    reached = 0
    for batch in instances.enumerate(effort.largest_total):
        if time.thread_time() > deadline:
            attack.cut_short = True
            break
        reached = int(np.sum(batch["weights"][0])) if "weights" in batch else reached + 1
        margins, _, candidates = attack.measure(batch, random=False)
        for index in np.flatnonzero(candidates)[:RECHECKED]:
            if attack.certify(pick(batch, int(index)), float(margins[index])):
                return attack.violations[-1], reached
    return None, reached


def _sample(
    attack: _Attack,
    instances: Instances,
    random_cases: int,
    effort: Effort,
    seed: int,
    deadline: float,
) -> tuple[list[tuple[float, Instance]], int]:
    """(the worst random instances with their severity, how many were drawn)."""
    generator = np.random.default_rng(seed)
    worst: list[tuple[float, Instance]] = []
    drawn = 0
    while drawn < random_cases and time.thread_time() < deadline:
        batch = instances.sample(generator, min(BATCH, random_cases - drawn))
        margins, meets, _ = attack.measure(batch)
        drawn += len(margins)
        worst = _worst_of(worst, batch, margins, meets, max(RECHECKED, effort.ascents))
    return worst, drawn


def _worst_of(
    worst: list[tuple[float, Instance]], batch: Batch, margins: np.ndarray, meets: np.ndarray, limit: int
) -> list[tuple[float, Instance]]:
    """The worst instances so far and of a batch, each with minus its margin: ``limit``, worst first."""
    least = worst[-1][0] if len(worst) == limit else -np.inf
    ranked = np.where(meets, margins, np.inf)
    found = [(-float(margins[k]), pick(batch, int(k))) for k in np.argsort(ranked)[:limit]
             if meets[k] and -margins[k] > least]
    return heapq.nlargest(limit, worst + found, key=lambda entry: entry[0])


def _ascend(
    statement: Statement, instances: Instances, severity: float, start: Instance
) -> tuple[float, Instance]:
    """Nelder-Mead on the fields that may move; the start if nothing worse is found."""
    from scipy.optimize import minimize

    batch = as_batch(start)
    names = [name for name in instances.movable if name in batch]
    if not names:
        return severity, start
    shapes = [batch[name].shape for name in names]
    cuts = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    vector = np.concatenate([
        (np.log(batch[name]) if name in instances.ranges else batch[name]).reshape(-1)
        for name in names
    ])

    def rebuild(x: np.ndarray) -> Batch:
        moved = dict(batch)
        for name, piece, shape in zip(names, np.split(x, cuts), shapes, strict=True):
            if name in instances.ranges:
                low, high = np.log(instances.ranges[name])
                moved[name] = np.exp(np.clip(piece, low, high)).reshape(shape)
            else:
                moved[name] = np.clip(piece, -LARGEST_MOVE, LARGEST_MOVE).reshape(shape)
        return moved

    def objective(x: np.ndarray) -> float:
        margins, meets = evaluate(statement, rebuild(x))
        return float(margins[0]) if meets[0] else 1e300

    with np.errstate(invalid="ignore"):  # differences of infinite margins
        result = minimize(objective, vector, method="Nelder-Mead",
                          options={"maxfev": 60 * len(vector), "xatol": 1e-6, "fatol": 0.0})
    if -result.fun <= severity:
        return severity, start
    return -float(result.fun), pick(rebuild(result.x), 0)
