"""The rule by which a figure says whether a paper's finding comes out here."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

Verdict = Literal[
    "holds", "holds under a condition", "core claim fails", "awaits runs", "for reference", "our own"
]
Standing = Literal["awaits runs", "for reference", "our own"]
"""Why nothing is judged: we have nothing to compare yet; there is no finding, as in a table of settings;
no paper has the figure."""
STANDINGS: tuple[str, ...] = get_args(Standing)
Relation = Literal[">", "≥", "<", "≤"]
RELATIONS: dict[Relation, Callable[[float, float], bool]] = {
    ">": operator.gt, "≥": operator.ge, "<": operator.lt, "≤": operator.le,
}
RULE = (
    "A criterion says which number of ours is compared with which threshold. Criteria without a "
    "condition are the core, what the paper's own sentence says; every other one belongs to a "
    "condition or to a part of the finding, which counts if all of its criteria are met. Every "
    "setting of training runs is a condition of its own, from one seed on; of several the lowest or "
    "the mean is compared, as the criterion says, and only an interval over seeds needs several. The "
    "core claim fails if a criterion of the core is not met or, where all have conditions, if fewer "
    "than half of the conditions count. Else the finding holds if all conditions count, and under a "
    "condition if not."
)


@dataclass(frozen=True, slots=True)
class Criterion:
    """One comparison of a number of ours with a threshold that the paper's finding asks for."""

    says: str
    """What the number is, with its unit."""
    value: float
    relation: Relation
    threshold: float
    where: str = ""
    """The condition under which it was measured, as in "with one right answer"; "" if there is none."""

    @property
    def met(self) -> bool:
        """Whether the number stands in the relation to the threshold; NaN does not."""
        return bool(RELATIONS[self.relation](self.value, self.threshold))

    def record(self) -> dict[str, Any]:
        """Return the criterion as JSON-like data; a number that there is none for is None."""
        return {
            "says": self.says, "where": self.where, "relation": self.relation,
            "value": float(self.value) if math.isfinite(self.value) else None,
            "threshold": float(self.threshold), "met": self.met,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgment:
    """A verdict with the conditions that decided it."""

    verdict: Verdict
    core: bool | None = None
    """Whether all criteria without a condition are met; None if every one has a condition."""
    holds: tuple[str, ...] = ()
    """The conditions under which all criteria are met."""
    fails: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Headline:
    """What we find, in one fixed sentence, with the criteria that it rests on, named by condition."""

    says: str
    holds: tuple[str, ...] = ()
    """Conditions of which the sentence says that they are met; "" is the core."""
    fails: tuple[str, ...] = ()
    """Conditions of which it says that they are not met. If none is named, all must be met."""

    def shown(self, criteria: Sequence[Criterion]) -> str:
        """Return the sentence if the criteria are as it says, else ""."""
        met = _by_condition(criteria)
        if not (self.holds or self.fails):
            return self.says if met and all(met.values()) else ""
        agrees = (all(met.get(where) is True for where in self.holds)
                  and all(met.get(where) is False for where in self.fails))
        return self.says if agrees else ""


def _by_condition(criteria: Sequence[Criterion]) -> dict[str, bool]:
    """Return for each condition, in order, whether all of its criteria are met; "" is the core."""
    met: dict[str, bool] = {}
    for one in criteria:
        met[one.where] = met.get(one.where, True) and one.met
    return met


def judge(criteria: Sequence[Criterion]) -> Judgment:
    """Apply `RULE`.

    Raises:
        ValueError: there is no criterion.
    """
    if not criteria:
        raise ValueError("nothing to judge: give a criterion, or say with `standing` why there is none")
    met = _by_condition(criteria)
    core = met.pop("", None)
    holds = tuple(where for where, ok in met.items() if ok)
    fails = tuple(where for where, ok in met.items() if not ok)
    verdict: Verdict = "holds under a condition" if fails else "holds"
    if core is False or (core is None and len(holds) < len(fails)):
        verdict = "core claim fails"
    return Judgment(verdict=verdict, core=core, holds=holds, fails=fails)
