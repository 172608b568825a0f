"""The adversary: looks for instances that violate a statement, and says how hard it tried.

Three parts: every instance with small integer weights, in order of size, so that the first violation
is the simplest; a batched random search over families in which inequalities break (ties, saturation,
near ties); local ascent (Nelder-Mead) of the violation from the worst random points. A float violation
is only a candidate: it counts once ball arithmetic proves it.
"""

from __future__ import annotations

import heapq
import itertools
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from entropy_theory.verification import certify
from entropy_theory.verification.claim import Evidence, Statement, Target
from entropy_theory.verification.instances import (
    Batch,
    Instance,
    Instances,
    as_batch,
    as_floats,
    pick,
    to_json,
)

IDENTITY_TOLERANCE = 1e-9
"""Float residual of an identity above which balls are asked; only a filter, never a verdict."""
Violation = tuple[Instance, certify.Certificate]

MOST_SHOWN = 24
"""The number of entries of a vector beyond which a description counts equal neighbors."""
RECHECKED = 64
"""How many of the worst candidates of a search are put to ball arithmetic."""
BATCH = 4096
ENTRIES = 2_000_000
"""How many entries a batch of large instances has, about."""
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
) -> list[Evidence]:
    """Search for a violation; return the evidence, then that of the certificates if one was found.

    Args:
        statement: what is attacked.
        instances: the set that the statement is about.
        effort: how hard to look.
        seed: seed of the random search.
        witnesses: instances to try first.
        target: what the evidence is about.
        first_only: stop at the first proved violation (enough to reject a mutant).
    """
    started = time.monotonic()
    deadline = time.thread_time() + effort.seconds
    attack = _Attack(statement)
    for witness in witnesses:
        attack.met += certify.check_instance(statement, witness).status != "outside"
        attack.cases += 1
        attack.certify(witness)
    simplest, reached = _enumerate(attack, instances, effort, deadline)
    enough = first_only and bool(attack.violations)
    random_cases = 0 if instances.finite or enough else effort.random_cases
    starts, drawn = _sample(attack, instances, random_cases, effort, seed, deadline)
    climbed = [
        _ascend(statement, instances, severity, instance)
        for severity, instance in starts[: effort.ascents]
        if time.thread_time() < deadline
    ]
    largest, huge = ([], "") if enough else _far(attack, instances, effort, seed)
    extremes = sorted([*climbed, *starts, *largest], key=lambda entry: entry[0], reverse=True)
    rechecked = 0
    for severity, instance in extremes[:RECHECKED]:
        if not _is_candidate(statement, np.array([-severity]))[0]:
            break
        rechecked += 1
        if attack.certify(instance):
            break

    common: dict[str, Any] = {
        "cases": attack.cases, "seconds": time.monotonic() - started, "target": target,
    }
    if attack.met == 0:
        return [Evidence(method="search", outcome="error", **common,
                         detail=f"vacuous: none of {attack.cases} instances meets the hypotheses")]
    hardness = f"{instances.families}, one by one" if instances.finite else (
        f"all integer weights of total <= {reached}, {drawn} random ({instances.families}), "
        f"{len(climbed)} local ascents"
    )
    hardness += f"{huge}; {attack.met} met the hypotheses"
    if not attack.violations:
        worst_margin = f"; worst margin {-extremes[0][0]:.2e}" if extremes else ""
        doubts = ""
        if attack.flagged or rechecked:
            doubts = (f"; {attack.flagged} candidates in floats, the worst {rechecked} not confirmed "
                      f"by balls ({attack.undecided} undecided)")
        if attack.equalities:
            return [Evidence(method="search", outcome="undecided", **common,
                             detail=f"{attack.equalities} instances may be exact equalities, where "
                                    f"the strict statement fails: {hardness}{doubts}")]
        return [Evidence(method="search", outcome="pass", **common,
                         detail=f"no violation: {hardness}{worst_margin}{doubts}")]
    first, last = simplest or attack.violations[0], attack.violations[-1]
    simple, worst = record(*first), record(*last)
    return [
        Evidence(method="search", outcome="fail", **common, counterexample=simple,
                 detail=f"{attack.flagged} candidates; simplest {describe(simple)}; "
                        f"worst {describe(worst)}; {hardness}"),
        Evidence(method="certify", outcome="fail", cases=2, target=target, counterexample=simple,
                 detail=f"simplest: margin {first[1].interval} at {first[1].bits} bits; "
                        f"worst: {last[1].interval}"),
    ]


def evaluate(statement: Statement, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
    """Return (margins [B], which instances meet the hypotheses [B]) in float64.

    For an identity the margin is minus the largest absolute residual.

    Raises:
        ValueError: a hypothesis is NaN, or a margin is where the hypotheses hold; the message shows
            the instance.
    """
    floats = as_floats(batch)
    size = len(next(iter(batch.values())))
    meets = np.ones(size, dtype=bool)
    # Saturated policies overflow and underflow by design; NaN is looked for below.
    with np.errstate(all="ignore"):
        hypotheses, margins = statement.evaluate(floats)
        for condition, value in zip(statement.conditions, map(np.asarray, hypotheses), strict=True):
            if value.dtype != bool:
                _refuse_nan(value, meets, batch, f"the hypothesis '{condition.latex}'")
                value = value > 0 if condition.relation == ">" else value >= 0
            meets &= value
        margins = np.asarray(margins, dtype=float)
    if margins.shape[:1] != (size,):
        raise ValueError(
            "the margin must return a number per instance, or several of which all count: shape "
            f"({size}, ...), got {margins.shape}. The first axis is the instances': ar.total, "
            "ar.smallest and the like go over actions"
        )
    margins = margins.reshape(size, -1)
    margins = -np.max(np.abs(margins), axis=1) if statement.relation == "==" else margins.min(axis=1)
    _refuse_nan(margins, meets, batch, "the margin")
    return margins, meets


def _refuse_nan(values: np.ndarray, where: np.ndarray, batch: Batch, what: str) -> None:
    broken = np.flatnonzero(np.isnan(values) & where)
    if broken.size:
        raise ValueError(f"{what} is NaN at {describe(to_json(pick(batch, int(broken[0]))))}")


def _refuse_mixed(
    statement: Statement, batch: Batch, margins: np.ndarray, meets: np.ndarray
) -> None:
    """Raise a ValueError unless the last instance has by itself the margin that it has in its batch."""
    last = {name: column[-1:] for name, column in batch.items()}
    alone, meets_alone = evaluate(statement, last)
    # Sums of another length may round otherwise, and a margin may be a difference of large numbers.
    if meets_alone[0] != meets[-1] or not np.isclose(
            alone[0], margins[-1], rtol=1e-6, atol=1e-9, equal_nan=True):
        raise ValueError(
            f"the margin of {describe(to_json(pick(last, 0)))} is {alone[0]:g} by itself and "
            f"{margins[-1]:g} among {len(margins)} instances: the first axis of a field is the "
            "instances', its last the actions', so the number of actions is i.logits.shape[-1], not "
            "len(i.logits)")


def record(instance: Instance, certificate: certify.Certificate) -> dict[str, Any]:
    """Return a counterexample as the ledger stores it."""
    data = to_json(instance)
    if "weights" in data:
        data.pop("logits", None)
    return {**data, "margin_interval": certificate.interval}


def describe(data: dict[str, Any]) -> str:
    """Describe a counterexample on one line; actions are numbered from 1."""
    parts = []
    for name, value in data.items():
        if name == "margin_interval":
            continue
        if isinstance(value, list) and value and all(isinstance(v, bool) for v in value):
            chosen = _listed([str(k + 1) for k, v in enumerate(value) if v])
            parts.append(f"{name}={{{chosen}}}")
        elif isinstance(value, list):
            parts.append(f"{name}=({_listed([_short(v) for v in value])})")
        else:
            parts.append(f"{name}={_short(value)}")
    return " ".join(parts)


def _listed(entries: list[str]) -> str:
    """Join entries; of a vocabulary's many equal neighbors are counted, and the rest is left out."""
    if len(entries) > MOST_SHOWN:
        runs = [(entry, len(list(equal))) for entry, equal in itertools.groupby(entries)]
        shown = [f"{count} x {entry}" if count > 1 else entry for entry, count in runs]
        left = sum(count for _, count in runs[MOST_SHOWN:])
        entries = [*shown[:MOST_SHOWN], *([f"and {left} more"] if left else [])]
    return ",".join(entries)


def _short(value: Any) -> str:
    if isinstance(value, list):
        return f"({','.join(_short(v) for v in value)})"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _is_candidate(statement: Statement, margins: np.ndarray) -> np.ndarray:
    if statement.relation == "==":
        return margins < -IDENTITY_TOLERANCE
    return margins <= 0 if statement.relation == ">" else margins < 0


class _Attack:
    """What an attack on a statement has looked at and found so far."""

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        self.cases = self.met = self.flagged = self.undecided = self.equalities = 0
        self.violations: list[Violation] = []
        # A formula has no way to look at other instances.
        self.may_mix = not statement.is_traceable()

    def measure(self, batch: Batch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(margins, meets the hypotheses, violates in floats), each [B]."""
        margins, meets = evaluate(self.statement, batch)
        if self.may_mix and len(margins) > 1:
            self.may_mix = False
            _refuse_mixed(self.statement, batch, margins, meets)
        candidates = meets & _is_candidate(self.statement, margins)
        self.cases += len(margins)
        self.met += int(np.sum(meets))
        self.flagged += int(np.sum(candidates))
        return margins, meets, candidates

    def certify(self, instance: Instance) -> bool:
        """Whether balls prove a violation at this instance; if so it is kept."""
        certificate = certify.check_candidate(self.statement, instance)
        if certificate.status == "violated":
            self.violations.append((instance, certificate))
        self.undecided += certificate.status == "undecided"
        self.equalities += certify.may_be_equality(self.statement, certificate)
        return certificate.status == "violated"


def _enumerate(
    attack: _Attack, instances: Instances, effort: Effort, deadline: float
) -> tuple[Violation | None, int]:
    """(the first violation in order of size, total weight reached)."""
    reached = 0
    for batch in instances.enumerate(effort.largest_total):
        if time.thread_time() > deadline:
            break
        reached = int(np.sum(batch["weights"][0])) if "weights" in batch else reached + 1
        _, _, candidates = attack.measure(batch)
        for index in np.flatnonzero(candidates)[:RECHECKED]:
            if attack.certify(pick(batch, int(index))):
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
    worst = _Worst(limit=max(RECHECKED, effort.ascents))
    drawn = 0
    while drawn < random_cases and time.thread_time() < deadline:
        batch = instances.sample(generator, min(BATCH, random_cases - drawn))
        margins, meets, _ = attack.measure(batch)
        drawn += len(margins)
        worst.add(batch, margins, meets)
    return worst.sorted(), drawn


class _Worst:
    """The instances with the smallest margins seen so far."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._heap: list[tuple[float, int, Instance]] = []
        self._count = 0

    def add(self, batch: Batch, margins: np.ndarray, meets: np.ndarray) -> None:
        ranked = np.where(meets, margins, np.inf)
        for index in np.argsort(ranked)[: self._limit]:
            if not meets[index]:
                break
            severity = -float(margins[index])
            if len(self._heap) == self._limit and severity <= self._heap[0][0]:
                break
            self._count += 1
            heapq.heappush(self._heap, (severity, -self._count, pick(batch, int(index))))
            if len(self._heap) > self._limit:
                heapq.heappop(self._heap)

    def sorted(self) -> list[tuple[float, Instance]]:
        """(severity, instance), worst first; severity is minus the margin."""
        return [(s, i) for s, _, i in sorted(self._heap, key=lambda e: (e[0], e[1]), reverse=True)]


def _far(
    attack: _Attack, instances: Instances, effort: Effort, seed: int
) -> tuple[list[tuple[float, Instance]], str]:
    """Instances of great size, where the statement's constants depend on it: the worst of each size."""
    if instances.large is None or not attack.statement.is_traceable():
        return [], ""
    generator = np.random.default_rng([seed, 1])
    power, found, tried = attack.statement.growth(), [], []
    for size in effort.sizes:
        if size**power > 4 * ENTRIES:
            continue
        tried.append(f"{size:,}")
        batch = instances.large(generator, max(4, min(256, ENTRIES // size**power)), size)
        margins, meets, _ = attack.measure(batch)
        index = int(np.argmin(np.where(meets, margins, np.inf)))
        # Balls at this size are slow, and a margin of rounding size is found at small ones as well.
        if meets[index] and margins[index] < -IDENTITY_TOLERANCE:
            found.append((-float(margins[index]), pick(batch, index)))
    return found, f"; also of size {', '.join(tried)}" if tried else ""


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

    result = minimize(objective, vector, method="Nelder-Mead",
                      options={"maxfev": 60 * len(vector), "xatol": 1e-6, "fatol": 0.0})
    if -result.fun <= severity:
        return severity, start
    return -float(result.fun), pick(rebuild(result.x), 0)
