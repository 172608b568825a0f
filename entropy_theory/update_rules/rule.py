"""Defines what an update rule is: a map from per-token statistics to per-token coefficients.

Every rule moves the policy by

    step = sum_i weight_i (score_i grad log pi(a_i | s_i) + sum_k term_ik grad k_i)

and decides only ``score`` and ``term``, which are constants of the gradient (detached). It knows
nothing of models, trainers or samplers, and is written against the array API: the same code runs on
numpy arrays in the simulator and on torch tensors in LLM training.

What the coefficients depend on is declared (`UpdateRule.own_reads`, the names of
`entropy_theory.reads`), so that an engine can tell which rows it may sum and which numbers it may leave
out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import array_like, namespace
from entropy_theory.reads import EVERYTHING, POOLABLE
from entropy_theory.token_batch import TokenBatch

Path = tuple[str | int, ...]
"""The way from a rule to a part of it: names of options, and places in a tuple of rules."""
_DECLARATIONS = ("own_reads", "reads", "pools_equal_rewards", "is_sequence_wise", "takes_tempered_alone")
"""Declarations that hold for the class that makes them, not for a subclass that computes otherwise."""
_HARMLESS = frozenset({*_DECLARATIONS, "name", "requires", "own_requires", "moves", "warnings",
                        "metrics", "strength", "target"})
"""Attributes that a subclass may define without computing other coefficients."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UpdateRule:
    """Base of all rules: a frozen record of options with four methods.

    A new rule is one file: subclass, set ``name`` and ``requires``, declare ``own_reads``, define
    ``_prepare`` (whole-batch columns) and ``_scores`` (elementwise), optionally ``_state_terms``; then
    list it in ``update_rules/__init__.py``.

    A subclass that defines a method of its own inherits no declaration about what is computed
    (``own_reads``, ``pools_equal_rewards``, ``is_sequence_wise``, ``takes_tempered_alone``): what it does
    not declare itself is what is always safe.
    """

    name: ClassVar[str]
    """The rule's public name."""
    requires: ClassVar[tuple[str, ...]] = ()
    """Optional TokenBatch columns that the rule cannot do without, whatever its options."""
    moves: ClassVar[tuple[str, ...]] = ()
    """State functions whose gradients the rule itself adds, the keys of its own state terms."""
    advantage_options: ClassVar[tuple[str, ...]] = ()
    """Options about the advantage, which a batch that brings its own advantages overrules."""

    def __init_subclass__(cls, **options: Any) -> None:
        super(UpdateRule, cls).__init_subclass__(**options)
        own = {name for name, value in vars(cls).items() if callable(value) or isinstance(
            value, (property, classmethod, staticmethod))}
        if all(name in _HARMLESS or name.startswith("__") for name in own):
            return
        declared = {name for name in _DECLARATIONS if name in vars(cls)}
        if "own_reads" in declared or "reads" in declared:
            declared |= {"own_reads", "reads"}
        for name in _DECLARATIONS:
            if name not in declared:
                setattr(cls, name, vars(UpdateRule)[name])

    # ------------------------------------------------------------------ what the rule declares

    @property
    def own_reads(self) -> frozenset[str]:
        """The names of `entropy_theory.reads` on which the rule itself makes its coefficients depend.

        These are all names, unless a class declares fewer.
        """
        return EVERYTHING

    @property
    def reads(self) -> frozenset[str]:
        """The names on which the coefficients depend, as this rule and those it is made of declare."""
        return frozenset().union(*(part.own_reads for _, part in self.components()))

    @property
    def pools_equal_rewards(self) -> bool:
        """Whether one row may stand for several: on-policy, answers of one token.

        True promises that rows of one state with one reward may be replaced by a single row with
        the sum of their weights, without changing any score or state term. It follows from ``reads``;
        a class may refuse (False), or promise it (True) for `check` to test. The simulator then
        evaluates two rows a state instead of one an action.
        """
        return self.reads <= POOLABLE

    @property
    def is_sequence_wise(self) -> bool:
        """Whether, given advantages and averaged over tokens, sequences do not see each other.

        A trainer that shows the rule one micro-batch at a time, already with advantages, then
        changes nothing.
        """
        return False

    @property
    def takes_tempered_alone(self) -> bool:
        """Whether the rule is defined on a batch of tempered rows alone (AEPO, Figure 2)."""
        return False

    @property
    def needs_independent_logits(self) -> bool:
        """Whether the rule is defined for tabular policies with answers of one token alone."""
        return any(part.needs_independent_logits for part in self._parts())

    @property
    def refuses_samples(self) -> str:
        """Why the rule cannot run on samples, with the remedy; "" where it can.

        It cannot where it takes an expectation that only a state listed exactly allows.
        """
        return next((reason for part in self._parts() if (reason := part.refuses_samples)), "")

    @property
    def needs_listing(self) -> bool:
        """Whether the rule takes an expectation that only a state listed exactly allows."""
        return bool(self.refuses_samples)

    @property
    def tells_prompts_apart(self) -> bool:
        """Whether prompts have coefficients of their own (`update_rules.bonus`, ``prompt_gain``)."""
        return any(part.tells_prompts_apart for part in self._parts())

    @property
    def changes_rewards(self) -> bool:
        """Whether rewards are changed before advantages are estimated from them."""
        return any(part.changes_rewards for part in self._parts())

    @property
    def target(self) -> float | None:
        """The entropy that the rule's own controller holds, nats; None without such an option."""
        return None

    @property
    def strength(self) -> Array | None:
        """The rule's coefficient for a log, the outermost option of that name; None without one."""
        for field in dataclasses.fields(self):
            if field.name == "coefficient":
                return getattr(self, field.name)
        found = (part.strength for part in self._parts())
        return next((value for value in found if value is not None), None)

    @property
    def clip_bounds(self) -> tuple[float, float]:
        """(low, high) of the clip on token ratios, which AEPO's second batch shares; PPO's 0.2."""
        return 0.2, 0.2

    @property
    def length_normalization(self) -> tuple[str, int | None]:
        """(normalization, max_length) of the policy-gradient term, which penalties share."""
        return "sequence-mean", None

    @property
    def own_requires(self) -> tuple[str, ...]:
        """Optional columns that the rule itself cannot do without, as its options are."""
        return self.requires

    @property
    def required_columns(self) -> frozenset[str]:
        """Optional columns that this rule and the rules it is made of cannot do without."""
        return frozenset(name for _, part in self.components() for name in part.own_requires)

    @property
    def moved_state_functions(self) -> frozenset[str]:
        """State functions whose gradients this rule and the rules it is made of add."""
        return frozenset(name for _, part in self.components() for name in part.moves)

    @property
    def prepares_every_step(self) -> bool:
        """Whether `prepare` must see the log-probabilities of the policy being trained.

        False: preparing once for all optimizer steps on the same samples is enough.
        """
        return False

    @property
    def removed_fraction(self) -> float:
        """Share of the actions that the clamped entropy of the rule's state term leaves out."""
        return 0.0

    @property
    def second_batch_options(self) -> Mapping[str, Any]:
        """Options of sampling the second batch beside temperature (`TargetPolicy.generation_options`)."""
        return {}

    # ------------------------------------------------------------------ the rules it is made of

    def components(self) -> tuple[tuple[Path, UpdateRule], ...]:
        """Yield the rule and all rules that it is made of, each with its path, outermost first.

        The path leads from the rule to the part through options: () is the rule itself, ("base", "base")
        the base of its base, ("rules", 0) the first of a sum. A part is an option that is a rule, or an
        entry of one that is a tuple of rules.
        """
        found: list[tuple[Path, UpdateRule]] = [((), self)]
        for field in dataclasses.fields(self):
            for start, part in _rules_in(field.name, getattr(self, field.name)):
                found += [((*start, *path), inner) for path, inner in part.components()]
        return tuple(found)

    def map_options(self, function: Callable[[UpdateRule, str, Any], Any]) -> Self:
        """Return a copy in which every option of every part is ``function(component, name, value)``.

        Options that are rules, or tuples of rules, are not passed to the function, but their own are.

        Raises:
            ValueError: an option that the class refuses.
        """
        changes: dict[str, Any] = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not field.init:
                continue
            parts = tuple(part.map_options(function) for _, part in _rules_in(field.name, value))
            if not parts:
                changes[field.name] = function(self, field.name, value)
            else:
                changes[field.name] = parts if isinstance(value, tuple) else parts[0]
        return dataclasses.replace(self, **changes)

    def per_run_options(self) -> dict[str, float]:
        """The rule's own options that are one number and may be one a run (annotated ``Array``)."""
        values = {field.name: getattr(self, field.name)
                  for field in dataclasses.fields(self) if field.type == "Array"}
        return {name: value for name, value in values.items() if isinstance(value, (int, float))}

    def _parts(self) -> Iterator[UpdateRule]:
        """The rules that this one is directly made of."""
        for field in dataclasses.fields(self):
            for _, part in _rules_in(field.name, getattr(self, field.name)):
                yield part

    # ------------------------------------------------------------------ coefficients

    def prepare(self, batch: TokenBatch) -> TokenBatch:
        """Add, once per optimizer step and on all rows of all ranks, what needs the whole batch.

        Raises:
            ValueError: a missing column, an all-False mask, or values on masked tokens that are not
                finite, or whose squares are not; the message names the column.
        """
        batch.require(self.name, *self.own_requires)
        _check_values(batch, self.own_requires)
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
        """Return what a log should show of this step, each [...], such as the share of dead groups."""
        return {}

    def controller(self) -> Any | None:
        """Make a closed loop that chooses the second batch's temperature; None without second batch."""
        return None

    def coefficient_controller(self) -> Any | None:
        """Make a closed loop that chooses the next step's ``coefficient``; None if it is a constant."""
        return None

    def advantages(self, batch: TokenBatch) -> TokenColumn:
        """What the rule takes for each token's advantage, before ratio and length normalization.

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

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        return batch

    def _scores(self, batch: TokenBatch) -> TokenColumn:
        return namespace(batch.log_prob).zeros_like(batch.log_prob)

    def _state_terms(self, batch: TokenBatch) -> dict[str, TokenColumn]:
        return {}

    def _prepared(self, batch: TokenBatch) -> TokenBatch:
        return batch if f"{self.name}.prepared" in batch.prepared else self.prepare(batch)


def _rules_in(name: str, value: Any) -> Iterator[tuple[Path, UpdateRule]]:
    if isinstance(value, UpdateRule):
        yield (name,), value
    elif isinstance(value, tuple) and value and all(isinstance(part, UpdateRule) for part in value):
        for place, part in enumerate(value):
            yield (name, place), part


def per_run(value: Array, like: Array) -> Array:
    """Shape an option, a number or one a run [...], so that it multiplies columns like ``like``."""
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


def _check_values(batch: TokenBatch, names: tuple[str, ...]) -> None:
    xp = namespace(batch.log_prob)
    if not bool(xp.all(xp.any(batch.mask, axis=(-2, -1)))):
        raise ValueError(
            "the mask is False everywhere: the batch has no response token (were all rewards missing, "
            "or all responses cut off and masked?)"
        )
    # A sum is finite only if its terms are: one look at the usual batch, where all is well. Rules
    # multiply these columns, by themselves and by each other: squares overflow before a product does.
    total = sum(column * column
                for column in (batch.log_prob, batch.old_log_prob, batch.reward, batch.weight))
    names = (*names, *(name for name in ("advantage", "target_offset")
                       if getattr(batch, name) is not None))
    if not names and bool(xp.all(xp.isfinite(total) | ~batch.mask)):
        return
    for name in ("log_prob", "old_log_prob", "reward", "weight", *names):
        column = getattr(batch, name)
        # An action of probability 0 in an exact listing has log-probability -inf and weight 0.
        counts = batch.mask & (batch.weight != 0) if name.endswith("log_prob") else batch.mask
        if not bool(xp.all(xp.isfinite(column * column) | ~counts)):
            raise ValueError(
                f"column '{name}' holds NaN or infinite values on response tokens, or numbers whose "
                "squares are: look for a diverged policy or a faulty reward function"
            )
