"""The rule that decides whether a paper's finding comes out in a figure, and in which model."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy import stats

from entropy_theory.verification.reading import ReadingKind

Outcome = Literal["seen", "not seen", "undecided"]
Verdict = Literal["seen", "seen in part", "not seen", "undecided", "refuted", "fails as we read it"]
AGAINST: tuple[Verdict, ...] = ("refuted", "fails as we read it")
Standing = Literal["awaits runs", "for reference", "our own"]
"""Reason why nothing is judged. We have nothing to compare yet, there is no finding, as in a table
of settings, or no paper has the figure."""
STANDINGS: tuple[str, ...] = (*get_args(Standing), "beyond the paper")
"""Those, and that of criteria under conditions that the paper does not have."""
TABULAR, PRINTED_NUMBERS = "tabular", "printed numbers"
MODELS = {"small-sums": "0.8M transformer", "smollm2-135m-instruct": "135M language model"}
"""Where a number was measured: in tables of logits, in what a paper prints, or in a network. Those that
the package trains go by their size, others by their name."""
Relation = Literal[">", "≥", "<", "≤"]
RELATIONS: dict[Relation, Callable[[float, float], bool]] = {
    ">": operator.gt, "≥": operator.ge, "<": operator.lt, "≤": operator.le,
}
LEVEL = 0.95
"""The level of intervals over seeds and starts."""
ERRORS = float(stats.norm.ppf((1 + LEVEL) / 2))
"""How many standard errors such an interval has on each side, with many seeds."""
RULE = (
    "A criterion compares a number of ours with a threshold, in one model. It is seen if the whole "
    "interval of the number is on the asked side. It is not seen if none of it is, and the size that the "
    "paper reports lies outside too. Else it is undecided, as is whatever rests on one seed of sampled "
    "training. Criteria under conditions that the paper does not have are beyond the paper, and decide "
    "nothing. In each model the finding is seen if every other criterion is. It is not seen if one "
    "without a setting is not, or if every setting speaks against it. It is seen in part if some "
    "settings show it and no criterion without a setting is open, and else undecided. It can be refuted, "
    "or fail as we read it, only where the sentence speaks of that very model. Settings are never "
    "counted against each other."
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number with its interval; ``low`` and ``high`` are the number itself where it is exact.

    Attributes:
        seeds: how many seeds of sampled training it rests on; None where starts are fixed or many.
    """

    value: float
    low: float
    high: float
    seeds: int | None = None


def exact(value: float, seeds: int | None = None) -> Number:
    """Return a number without an interval, such as the largest of several runs."""
    return Number(float(value), float(value), float(value), seeds)


def within(value: float, error: float, errors: float = ERRORS) -> Number:
    """Return a number whose interval has so many standard errors on each side."""
    return Number(float(value), float(value - errors * error), float(value + errors * error))


def mean_of(
    values: Sequence[float] | np.ndarray, *, seeds: bool = False, alike: bool = False
) -> Number:
    """Return the mean of independent values with Student's interval at `LEVEL`.

    Args:
        values: [N], a value per start or seed, N >= 1; the interval of a single one is infinite.
        alike: whether a single one stands for all starts, which are alike; then it is exact.
        seeds: whether they are seeds of training, of which one alone decides nothing.
    """
    array = np.asarray(values, dtype=float)
    mean, n = float(array.mean()), array.size
    half = 0.0 if alike else math.inf
    if n > 1:
        half = float(stats.t.ppf((1 + LEVEL) / 2, n - 1) * array.std(ddof=1) / math.sqrt(n))
    return Number(mean, mean - half, mean + half, n if seeds else None)


def share_of(hits: Sequence[bool] | np.ndarray) -> Number:
    """Return the share of independent starts that do something, with its exact interval at `LEVEL`.

    The interval is binomial (Clopper and Pearson): also of all or none of a few starts it has a width,
    and it stays between 0 and 1.

    Args:
        hits: [N], whether each start does, N >= 1.
    """
    array = np.asarray(hits, dtype=bool)
    found = stats.binomtest(int(array.sum()), array.size)
    low, high = found.proportion_ci(LEVEL, method="exact")
    return Number(float(array.mean()), float(low), float(high))


@dataclass(frozen=True, slots=True)
class Criterion:
    """One comparison of a number of ours with a threshold that the paper's finding asks for.

    Raises:
        ValueError: a threshold that asks for more than the paper reports.
    """

    says: str
    """Name of the number, with its unit."""
    value: float | Number
    relation: Relation
    threshold: float
    where: str = ""
    """The setting in which it was measured, as in "with 8 right answers"; "" if it belongs to all."""
    model: str = ""
    """The model in which it was measured; "" is the finding's own
    (`paper_figures.figure.Finding.model`)."""
    beyond: bool = False
    """Whether the paper does not have this condition; then it decides nothing."""
    reported: float | None = None
    """The paper's value of this number; None if it reports none, or in another unit."""

    def __post_init__(self) -> None:
        if self.reported is not None and not self._asked(self.reported):
            raise ValueError(f"'{self.says}' is to be {self.relation} {self.threshold:g}, and the paper "
                             f"itself reports {self.reported:g}: ask for no more than that")

    @property
    def number(self) -> Number:
        """The number with its interval."""
        return self.value if isinstance(self.value, Number) else exact(self.value)

    def _asked(self, value: float) -> bool:
        return bool(RELATIONS[self.relation](value, self.threshold))

    @property
    def met(self) -> bool:
        """Whether the number stands in the relation to the threshold; NaN does not."""
        return self._asked(self.number.value)

    @property
    def outcome(self) -> Outcome:
        """Whether the number decides, and how (`RULE`)."""
        number = self.number
        ends = (number.low, number.high)
        if number.seeds == 1 or any(math.isnan(end) for end in (number.value, *ends)):
            return "undecided"
        if all(map(self._asked, ends)):
            return "seen"
        covered = self.reported is not None and number.low <= self.reported <= number.high
        return "undecided" if covered or any(map(self._asked, ends)) else "not seen"

    def record(self) -> dict[str, Any]:
        """Return the criterion as JSON-like data; a number that there is none for is None."""
        number = self.number
        numbers = {"value": number.value, "low": number.low, "high": number.high}
        return {
            "says": self.says, "where": self.where, "model": self.model, "beyond": self.beyond,
            "relation": self.relation, "threshold": float(self.threshold), "reported": self.reported,
            **{key: float(value) if math.isfinite(value) else None for key, value in numbers.items()},
            "seeds": number.seeds, "met": self.met, "outcome": self.outcome,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Headline:
    """What we find, in one fixed sentence, with the criteria that it rests on, named by setting.

    It is shown behind the models that the criteria are from, as in "Tabular: ...".
    """

    says: str
    holds: tuple[str, ...] = ()
    """Settings of which the sentence says that it is seen there; "" is what belongs to all. Criteria
    beyond the paper count in settings that have no others."""
    fails: tuple[str, ...] = ()
    """Settings of which it says that it is not seen or undecided. If none is named, all must be seen."""

    def shown(self, criteria: Sequence[Criterion]) -> str:
        """Return the sentence if the criteria are as it says, else ""."""
        by_setting: dict[str, list[Criterion]] = {}
        for one in criteria:
            by_setting.setdefault(one.where, []).append(one)
        deciding = {where: [one for one in here if not one.beyond] for where, here in by_setting.items()}
        named = {**dict.fromkeys(self.holds, True), **dict.fromkeys(self.fails, False)} or {
            where: True for where, here in deciding.items() if here}
        seen = {where: all(one.outcome == "seen" for one in deciding[where] or here)
                for where, here in by_setting.items()}
        if not named or any(seen.get(where) is not wanted for where, wanted in named.items()):
            return ""
        models = dict.fromkeys(one.model for where in named for one in by_setting[where] if one.model)
        domain = ", ".join(models)
        return f"{domain[:1].upper()}{domain[1:]}: {self.says}" if domain else self.says


def judge(criteria: Sequence[Criterion], inside: ReadingKind | None = None) -> dict[str, Verdict]:
    """Apply `RULE` to the criteria of each model, in their order.

    Args:
        criteria: those beyond the paper are left out; a model that has no other gets no verdict.
        inside: how we read a sentence that speaks of these very models; None where they stand in for
            others, such as a table for a language model.
    """
    voting = [one for one in criteria if not one.beyond]
    return {
        model: _verdict([one for one in voting if one.model == model], inside)
        for model in dict.fromkeys(one.model for one in voting)
    }


def _verdict(criteria: Sequence[Criterion], inside: ReadingKind | None) -> Verdict:
    by_setting = {where: _together([one.outcome for one in criteria if one.where == where])
                  for where in dict.fromkeys(one.where for one in criteria)}
    if inside and "not seen" in by_setting.values():
        return "refuted" if inside == "literal" else "fails as we read it"
    for_all = by_setting.pop("", "seen")
    settings = set(by_setting.values()) or {for_all}
    if for_all == "not seen" or settings == {"not seen"}:
        return "not seen"
    if for_all == "undecided" or "seen" not in settings:
        return "undecided"
    return "seen" if settings == {"seen"} else "seen in part"


def _together(outcomes: Sequence[Outcome]) -> Outcome:
    """Return whether all criteria of one setting are seen; one that is not decides."""
    for found in ("not seen", "undecided"):
        if found in outcomes:
            return found
    return "seen"


def described(model: str, verdict: str, criteria: Sequence[Criterion]) -> str:
    """Return a verdict with its model and, where it rests on sampled training, the number of seeds."""
    seeds = sorted({one.number.seeds for one in criteria
                    if one.model == model and not one.beyond and one.number.seeds is not None})
    many = f", {' to '.join(map(str, dict.fromkeys((seeds[0], seeds[-1]))))} seed" if seeds else ""
    many += "s" if seeds and seeds[-1] > 1 else ""
    if verdict in AGAINST and any(one.outcome == "seen" for one in criteria
                                  if one.model == model and not one.beyond):
        many += ", in part"
    return f"{verdict}: {model}{many}" if model else verdict
