r"""Defines what an update rule is: a map from per-token statistics to per-token coefficients.

Every rule moves the policy by

.. math::

    \text{step} = \sum_i \text{weight}_i\, \Bigl(\text{score}_i\, \nabla \log \pi(a_i \mid s_i)
    + \sum_k \text{term}_{ik}\, \nabla k_i\Bigr)

and decides only ``score`` and ``term``, which are constants of the gradient (detached). A rule does not
depend on models, trainers or samplers. It is written against the array API, so the same code runs on
numpy arrays in the simulator and on torch tensors in LLM training.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar, dataclass_transform

from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import array_like, namespace
from entropy_theory.reads import EVERYTHING, POOLABLE
from entropy_theory.support.user_errors import check_choice
from entropy_theory.targets import TargetPolicy
from entropy_theory.token_batch import OPTIONAL_COLUMNS, TokenBatch

Path = tuple[str | int, ...]
"""The way from a rule to a part of it: names of options, and places in a tuple of rules."""
_FORMER = frozenset({
    "requires", "own_requires", "own_reads", "moves", "prepares_every_step", "refuses_samples",
    "required_columns", "reads", "moved_state_functions", "pools_equal_rewards", "second_batch_options",
    "clip_bounds", "length_normalization", "is_sequence_wise", "takes_tempered_alone", "changes_rewards",
    "tells_prompts_apart", "needs_independent_logits",
})
"""Declarations of former rules, without which such a rule would be run wrongly."""
STATE_TERMS = ("entropy", "clamped_entropy", "reference_kl")
"""The state functions whose gradients a rule may add."""
_HARMLESS = frozenset({"name", "warnings", "metrics", "_check"})
"""Methods that a subclass may define without computing other coefficients."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Needs:
    """The columns and guarantees that a rule needs from its caller.

    The defaults are safe for every rule; naming fewer `reads` spares trainers work. (The simulator finds
    by a trace what a user's rule reads.)
    """

    columns: tuple[str, ...] = ()
    """Optional columns of a TokenBatch that the rule cannot do without."""
    reads: Set[str] = EVERYTHING
    """Names of `entropy_theory.reads` on which the coefficients depend, beside ``columns``."""
    moves: tuple[str, ...] = ()
    """State functions whose gradients the rule adds, the keys of its state terms."""
    every_step: bool = False
    """Whether `UpdateRule.prepare` must see the log-probabilities of the policy being trained. If not,
    preparing once for all optimizer steps on the same samples is enough."""
    removed_fraction: float = 0.0
    """Share of the actions that the clamped entropy leaves out, where the rule moves or reads it."""
    listing: str = ""
    """Why the rule cannot run on samples, with the remedy; "" where it can. It cannot where it takes an
    expectation that only a state listed exactly allows."""

    def __post_init__(self) -> None:
        known = {"columns": OPTIONAL_COLUMNS, "reads": EVERYTHING, "moves": STATE_TERMS}
        for field_name, names in known.items():
            given = getattr(self, field_name)
            if isinstance(given, str):
                raise TypeError(f"{field_name} of Needs must be several names, got {given!r}: "
                                f"write {field_name}=({given!r},)")
            for each in given:
                check_choice(each, names, f"name in {field_name} of Needs")

    @property
    def pools(self) -> bool:
        """Whether one row may stand for several: on-policy, answers of one token.

        Rows of one state with one reward may then be replaced by a single row with the sum of their
        weights, without changing any score or state term.
        """
        return self.reads <= POOLABLE


class _Memory:
    """A place beside the options for what is computed once and needed at every step."""

    __slots__ = ("_all_needs",)
    _all_needs: Needs


@dataclass(frozen=True, kw_only=True, slots=True)
class UpdateRule(_Memory):
    """Base of all rules: a frozen record of options, with scores and state terms for a batch.

    A new rule is one file: subclass, put `update_rule` above the class, and define ``_scores``
    (elementwise). The other methods are optional. ``_prepare`` takes statistics of the whole batch;
    ``_scores`` finds its columns in ``batch.prepared`` under the rule's name and a dot. ``_state_terms``
    moves a state function, and ``_check`` refuses options. ``_needs`` declares the columns; without it a
    rule is taken to read everything and is only slower.
    """

    name: ClassVar[str]
    """The rule's public name."""

    def __init_subclass__(cls, **options: Any) -> None:
        super(UpdateRule, cls).__init_subclass__(**options)
        if old := vars(cls).keys() & _FORMER:
            raise TypeError(f"{cls.__name__} declares {min(old)}, as rules did formerly: give it "
                            "_needs = Needs(...) instead (docs/how_to/rule.md)")
        if "needs" in vars(cls):
            raise TypeError(f"{cls.__name__} declares needs, which joins those of all its parts: "
                            "name its own _needs (docs/how_to/rule.md)")

    def __post_init__(self) -> None:
        self._check()
        _ = self.needs  # Kept from here on: `torch.compile` could not follow how they are found.

    @property
    def needs(self) -> Needs:
        """The needs of this rule and of the rules it is made of, together.

        A class that computes by a method of its own and declares no ``_needs`` beside it is taken to
        read everything, whatever its parents declare.
        """
        with contextlib.suppress(AttributeError):
            return self._all_needs
        own = [(part._needs, part._needs.reads if _declares(type(part)) else EVERYTHING)
               for _, part in components(self)]
        columns = tuple(dict.fromkeys(name for need, _ in own for name in need.columns))
        found = Needs(
            columns=columns, moves=tuple(dict.fromkeys(name for need, _ in own for name in need.moves)),
            reads=frozenset(columns) & EVERYTHING | frozenset().union(*(reads for _, reads in own)),
            removed_fraction=max(need.removed_fraction for need, _ in own),
            every_step=any(need.every_step for need, _ in own),
            listing=next((need.listing for need, _ in own if need.listing), ""))
        object.__setattr__(self, "_all_needs", found)
        return found

    # ------------------------------------------------------------------ coefficients

    def prepare(self, batch: TokenBatch) -> TokenBatch:
        """Add columns that need the whole batch, once per optimizer step and on all rows of all ranks.

        Raises:
            ValueError: a missing column, an all-False mask, or values on masked tokens that are not
                finite, or whose squares are not; the message names the column.
        """
        batch.require(self.name, *self._needs.columns)
        batch.check_values(self._needs.columns)
        return self._prepare(batch).with_prepared(**{f"{self.name}.prepared": batch.mask})

    def scores(self, batch: TokenBatch) -> TokenColumn:
        """d objective / d log_prob divided by ``weight``, ratio included: [..., sequences, positions].

        Scores include the ratio and are 0 where the mask is False. They are elementwise on a prepared
        batch, so that any cut into micro-batches gives the same step. An unprepared batch is prepared
        first.
        """
        batch = self._prepared(batch)
        xp = namespace(batch.log_prob)
        return xp.where(batch.mask, self._scores(batch), xp.zeros_like(batch.log_prob))

    def state_terms(self, batch: TokenBatch) -> dict[str, TokenColumn]:
        """Coefficients of the gradients of state functions, each [..., sequences, positions].

        The keys are "entropy", "clamped_entropy" and "reference_kl". The terms are elementwise, like
        `scores`.
        """
        return self._state_terms(self._prepared(batch))

    def metrics(self, batch: TokenBatch) -> dict[str, Array]:
        """Return numbers of this step for a log, each [...], such as the share of dead groups."""
        return {}

    def controller(self) -> Any | None:
        """Make a closed loop that chooses the second batch's temperature; None without second batch."""
        return None

    def coefficient_controller(self) -> Any | None:
        """Make a closed loop that chooses the next step's ``coefficient``; None if it is a constant."""
        return None

    def advantages(self, batch: TokenBatch) -> TokenColumn:
        """Return the rule's advantage of each token, before ratio and length normalization.

        Raises:
            ValueError: a rule without advantages.
        """
        raise ValueError(f"update rule '{self.name}' has no advantage for another rule to build on")

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        """Warn of settings in which the rule would silently do nothing, with the remedy; none by default.

        Args:
            on_policy: whether each batch of samples is used for one optimizer step.
            tokens: number of response tokens of a step, if known.
            actions: size of the vocabulary, if known.
        """
        return ()

    # ------------------------------------------------------------------ what a subclass defines

    @property
    def _needs(self) -> Needs:
        """The needs of this rule with its options, without those of the rules that it is made of."""
        return Needs()

    def _check(self) -> None:
        """Raise ValueError for options that make no sense."""

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        return batch

    def _scores(self, batch: TokenBatch) -> TokenColumn:
        return namespace(batch.log_prob).zeros_like(batch.log_prob)

    def _state_terms(self, batch: TokenBatch) -> dict[str, TokenColumn]:
        return {}

    def _prepared(self, batch: TokenBatch) -> TokenBatch:
        return batch if f"{self.name}.prepared" in batch.prepared else self.prepare(batch)


registered: dict[str, type[UpdateRule]] = {}
"""The rules of this package by name, as `update_rule` found them (`update_rules.RULES`)."""
Rule = TypeVar("Rule", bound=UpdateRule)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def update_rule(name: str) -> Callable[[type[Rule]], type[Rule]]:
    """Give a class a rule's name, and make its annotated fields options: a frozen keyword-only record.

    A class of this package is in `update_rules.RULES` by its name; a user's goes by its import path.
    """
    def named(kind: type[Rule]) -> type[Rule]:
        made = dataclass(frozen=True, kw_only=True, slots=True)(kind)
        made.name = name
        if made.__module__.partition(".")[0] == __name__.partition(".")[0]:
            registered[name] = made
        return made

    return named


def _declares(kind: type) -> bool:
    """Whether there is a ``_needs`` in the class that computes last, or nearer."""
    for each in kind.__mro__:
        own = vars(each)
        if "_needs" in own:
            return True
        if any(name not in _HARMLESS and not name.startswith("__")
               and (callable(value) or isinstance(value, (property, classmethod, staticmethod)))
               for name, value in own.items()):
            return False
    return False


# ------------------------------------------------------------------ the rules that a rule is made of


def components(rule: UpdateRule) -> tuple[tuple[Path, UpdateRule], ...]:
    """Return the rule and all rules that it is made of, each with its path, outermost first.

    The path leads from the rule to the part through options. () is the rule itself, ("base", "base") the
    base of its base, ("rules", 0) the first of a sum. A part is an option that is a rule, or an entry of
    one that is a tuple of rules.
    """
    found: list[tuple[Path, UpdateRule]] = [((), rule)]
    for option in dataclasses.fields(rule):
        for start, part in _rules_in(option.name, getattr(rule, option.name)):
            found += [((*start, *path), inner) for path, inner in components(part)]
    return tuple(found)


def map_options(rule: Rule, function: Callable[[UpdateRule, str, Any], Any]) -> Rule:
    """Return a copy in which every option of every part is ``function(component, name, value)``.

    Options that are rules, or tuples of rules, are not passed to the function, but their own are.

    Raises:
        ValueError: an option that the class refuses.
    """
    changes: dict[str, Any] = {}
    for option in dataclasses.fields(rule):
        value = getattr(rule, option.name)
        if not option.init:
            continue
        parts = tuple(map_options(part, function) for _, part in _rules_in(option.name, value))
        if not parts:
            changes[option.name] = function(rule, option.name, value)
        else:
            changes[option.name] = parts if isinstance(value, tuple) else parts[0]
    return dataclasses.replace(rule, **changes)


def _rules_in(name: str, value: Any) -> Iterator[tuple[Path, UpdateRule]]:
    if isinstance(value, UpdateRule):
        yield (name,), value
    elif isinstance(value, tuple) and value and all(isinstance(part, UpdateRule) for part in value):
        for place, part in enumerate(value):
            yield (name, place), part


def strength(rule: UpdateRule, step: int = 0) -> Array | None:
    """The rule's coefficient at a step, for a log: that of the outermost part with an option ``alpha`` or
    ``coefficient``, or with a ``coefficient_schedule``; or None."""
    for _, part in components(rule):
        schedule = getattr(part, "coefficient_schedule", None)
        if schedule is not None:
            return schedule(step)
        for option in ("alpha", "coefficient"):
            if hasattr(part, option):
                return getattr(part, option)
    return None


def second_batch_options(rule: UpdateRule) -> dict[str, Any]:
    """Options of sampling the second batch beside temperature (`TargetPolicy.generation_options`)."""
    targets = (getattr(part, option.name) for _, part in components(rule)
               for option in dataclasses.fields(part))
    return {name: value for target in targets if isinstance(target, TargetPolicy)
            for name, value in target.generation_options().items()}


def per_run(value: Array, like: Array) -> Array:
    """Shape an option, a number or one per run [...], so that it multiplies columns like ``like``."""
    if isinstance(value, (int, float)):
        return value
    return array_like(value, like)[..., None, None]


def merged_metrics(*parts: tuple[str, Mapping[str, Array]]) -> dict[str, Array]:
    """Join the metrics of all (label, metrics); of equal names the first stays, others get a label."""
    merged: dict[str, Array] = {}
    for label, metrics in parts:
        for name, value in metrics.items():
            while name in merged:
                name = f"{label}.{name}"
            merged[name] = value
    return merged


def check_share(name: str, value: float) -> None:
    """Raise ValueError unless the option is a number in [0, 1]."""
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be in [0, 1], got {value}")
