"""The rule by which a figure says whether a paper's finding comes out here."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal[
    "holds", "holds under a condition", "core claim fails", "awaits runs", "for reference", "our own"
]
Standing = Literal["awaits runs", "for reference", "our own"]
"""Why nothing is judged: we have nothing to compare yet; there is no finding, as in a table of settings;
no paper has the figure."""
Relation = Literal[">", "≥", "<", "≤"]
RELATIONS: dict[Relation, Callable[[float, float], bool]] = {
    ">": operator.gt, "≥": operator.ge, "<": operator.lt, "≤": operator.le,
}
SHOWN = 3
"""How many conditions a sentence lists of the side that has more; all stand among the criteria."""
RULE = (
    "A criterion says which number of ours is compared with which threshold. Criteria without a "
    "condition are the core, what the paper's own sentence says; every other one belongs to a "
    "condition or to a part of the finding, which counts if all of its criteria are met. Every "
    "setting of training runs is a condition of its own, from one seed on; of several the lowest or "
    "the mean is compared, as the criterion says, and only an interval over seeds needs several. The "
    "core claim fails if a criterion of the core is not met or, where all have conditions, if fewer "
    "than half of the conditions count. Else the finding holds if all conditions count, and under a "
    "condition if not: the card names those that count, or those that do not where these are fewer."
)


@dataclass(frozen=True, kw_only=True, slots=True)
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

    @property
    def conditions(self) -> str:
        """The conditions in words, the fewer of those that count and those that do not in full; "" where
        none fails."""
        if not self.fails:
            return ""
        core = {None: [], True: ["The core holds."], False: ["The core fails."]}[self.core]
        total = len(self.holds) + len(self.fails)
        sides = (("Holds", self.holds, self.fails), ("Fails", self.fails, self.holds))
        return " ".join([*core, *(
            f"{word} in {len(where)} of {total}: {_listed(where, full=len(where) <= len(other))}."
            for word, where, other in sides if where)])


def _listed(conditions: Sequence[str], *, full: bool) -> str:
    rest = len(conditions) - SHOWN
    cut = rest > 1 and not full  # one more takes no more room than its count
    shown = conditions[:SHOWN] if cut else conditions
    return "; ".join([*shown, *([f"and under {rest} more conditions"] if cut else [])])


def judge(criteria: Sequence[Criterion]) -> Judgment:
    """Apply `RULE`.

    Raises:
        ValueError: there is no criterion.
    """
    if not criteria:
        raise ValueError("nothing to judge: give a criterion, or say with `standing` why there is none")
    met: dict[str, bool] = {}
    for one in criteria:
        met[one.where] = met.get(one.where, True) and one.met
    core = met.pop("", None)
    holds = tuple(where for where, ok in met.items() if ok)
    fails = tuple(where for where, ok in met.items() if not ok)
    verdict: Verdict = "holds under a condition" if fails else "holds"
    if core is False or (core is None and len(holds) < len(fails)):
        verdict = "core claim fails"
    return Judgment(verdict=verdict, core=core, holds=holds, fails=fails)
