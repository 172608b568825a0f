"""Proves signs in ball arithmetic (Arb through python-flint).

A ball encloses the exact value, so "the ball lies below zero" is a proof. Comparisons have three
values; an undecided one is repeated at doubled precision, up to a ceiling.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from entropy_theory.verification.arithmetic import (
    Ball,
    Mask,
    Reals,
    UndecidedComparisonError,
)
from entropy_theory.verification.claim import Relation, Statement
from entropy_theory.verification.instances import Instance, as_balls, to_json

Status = Literal["violated", "holds", "outside", "undecided"]

FIRST_BITS = 64
FLOAT_BITS = 48
"""Bits at which a violation must show where a statement's numbers are floats. Each is known to 53 bits;
five less leave room for 32 roundings in the code that made it: the float of log 5 is not below log 5."""
_FLOATS_ALONE = (
    "a counterexample cannot be certified, since the claim computes with floats alone ({}): in place of "
    "scipy's functions and float(), use numpy's exp, log, sum, maximum and where, or "
    "entropy_theory.verification.arithmetic")
CEILING = 4096
"""Bits beyond which a sign is reported undecided (an exact zero never becomes decided)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Certificate:
    """The outcome of ball arithmetic for a statement at one instance.

    Attributes:
        status: "violated", "holds", "outside" (a hypothesis fails) or "undecided".
        interval: decimal enclosure of the margin.
        bits: precision at which it was decided.
        met: whether the hypotheses are proved to hold.
    """

    status: Status
    interval: str
    bits: int
    met: bool = False


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Set Arb's working precision, which is global state, and restore it."""
    from flint import ctx

    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def enclosure(ball: Ball) -> str:
    """A ball in decimal, ``[midpoint +/- radius]``, eight digits."""
    text: str = ball.str(8, radius=True)
    return text if text.startswith("[") else f"[{text}]"


def check_instance(
    statement: Statement, instance: Instance, *, ceiling: int = CEILING
) -> Certificate:
    """Decide in ball arithmetic whether the statement is violated at an instance of exact data.

    An identity holds where the ball contains zero at the ceiling's precision or below 1e-30. A violation
    of the size of the rounding of floats (`Statement.has_floats`) is undecided.

    Raises:
        ValueError: the margin is NaN.
    """
    bits, interval, met = FIRST_BITS, "", False
    status: Status
    while bits <= ceiling:
        with precision(bits):
            try:
                status, interval, met = _status(statement, instance)
            except UndecidedComparisonError:
                status, met = "undecided", False
        if status == "violated" and not _shows_beside_floats(statement, instance):
            status = "undecided"
            break
        if status != "undecided":
            return Certificate(status=status, interval=interval, bits=bits, met=met)
        bits *= 2
    return Certificate(status="undecided", interval=interval, bits=min(bits, ceiling), met=met)


def _shows_beside_floats(statement: Statement, instance: Instance) -> bool:
    if not statement.has_floats():
        return True
    with precision(FLOAT_BITS):
        try:
            return _status(statement, instance)[0] == "violated"
        except UndecidedComparisonError:
            return False


def check_candidate(statement: Statement, instance: Instance) -> Certificate:
    """Check an instance that looked like a violation in floats, as `check_instance` does.

    Most such instances are rounding noise, so few bits are tried first. A strict statement is checked at
    the highest precision if its margin still cannot be told from zero. If it stays undecided with its
    hypotheses met, it may be an exact equality.
    """
    certificate = check_instance(statement, instance, ceiling=512)
    if may_be_equality(statement, certificate):
        return check_instance(statement, instance)
    return certificate


def may_be_equality(statement: Statement, certificate: Certificate) -> bool:
    """Whether a strict statement may fail here by exact equality, which no precision decides."""
    return statement.relation == ">" and certificate.met and certificate.status == "undecided"


def _status(statement: Statement, instance: Instance) -> tuple[Status, str, bool]:
    batch = as_balls(instance)
    try:
        values, found = statement.evaluate(batch)
    except TypeError as error:
        raise ValueError(_FLOATS_ALONE.format(error)) from error
    hypotheses = [holds(value, condition.relation)
                  for value, condition in zip(values, statement.conditions, strict=True)]
    if False in hypotheses:
        return "outside", "", False
    margins = np.asarray(found, dtype=object).reshape(-1)
    if any(isinstance(m, float) for m in margins):
        raise ValueError(_FLOATS_ALONE.format("its margin is a float"))
    if any(m.is_nan() for m in margins):
        # At low precision a ball can overflow to NaN without the margin being one.
        return "undecided", "[nan]", False
    worst = _worst(statement.relation, margins)
    if None in hypotheses:
        return "undecided", enclosure(worst), False
    verdicts = [_conclusion(statement.relation, m) for m in margins]
    if False in verdicts:
        return "violated", enclosure(worst), True
    return ("undecided" if None in verdicts else "holds"), enclosure(worst), True


def _worst(relation: Relation, margins: Reals) -> Ball:
    if relation == "==":
        return max(margins, key=lambda m: abs(float(m.mid())))
    return min(margins, key=lambda m: float(m.mid()))


def _conclusion(relation: Relation, margin: Ball) -> bool | None:
    if relation == "==":
        if not margin.contains(0):
            return False
        return True if margin.rad() < 1e-30 else None
    return _decide(relation, margin)


def _decide(relation: Relation, ball: Ball) -> bool | None:
    """Whether the relation holds between the ball and 0; None if the ball leaves it open."""
    if relation == ">":
        return True if ball > 0 else False if ball <= 0 else None
    return True if ball >= 0 else False if ball < 0 else None


def holds(value: Reals | Mask, relation: Relation) -> bool | None:
    """Whether a hypothesis holds at a batch of one; None if the balls leave it open."""
    answers: list[bool | None] = []
    for entry in np.asarray(value).reshape(-1):
        if isinstance(entry, (bool, np.bool_)):
            answers.append(bool(entry))
        else:
            answers.append(_decide(relation, entry))
    if False in answers:
        return False
    return None if None in answers else True


def record(instance: Instance, certificate: Certificate) -> dict[str, Any]:
    """Return a counterexample as the ledger stores it."""
    data = to_json(instance)
    if "weights" in data:
        data.pop("logits", None)
    return {**data, "margin_interval": certificate.interval}
