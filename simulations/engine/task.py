"""A task to simulate: starts, rewards and dynamics that have been checked against each other."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

import entropy_theory
from entropy_theory.token_tree import TokenTree
from entropy_theory.update_rules.natural_gradient import needs_independent_logits
from entropy_theory.update_rules.rule import (
    UpdateRule,
    components,
    map_options,
    second_batch_options,
)
from simulations.engine.dynamics import Dynamics
from simulations.engine.trajectory import Record
from simulations.problems.bandits import check_memory, check_problem

ROW_COLUMNS = 30
"""About how many numbers update rules hold at once for each token of a row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """The runs to be trained, all or a block of them, with arrays as in `simulate`."""

    logits: np.ndarray
    """The starting logits, float64 [runs, states, actions]."""
    reward: np.ndarray
    """The rewards, boolean or float64 [runs or 1, prompts or 1, answers]."""
    dynamics: Dynamics
    tree: TokenTree | None = None
    features: np.ndarray | None = None
    """Those of each part of the runs, [parts, states * actions, d]."""
    pools: bool = False
    """Whether rows of equal reward are summed (`Needs.pools`), which needs a batch for each step."""
    record: Record = dataclasses.field(default_factory=Record)

    @classmethod
    def checked(
        cls,
        logits: np.ndarray,
        reward: np.ndarray,
        dynamics: Dynamics,
        *,
        tree: TokenTree | None = None,
        features: np.ndarray | None = None,
        record: Record | None = None,
        pools: bool | None = None,
    ) -> Task:
        """Make a task from the arguments of `simulate`. Raises ValueError as `simulate` does.

        ``pools`` is whether one row may stand for several of one reward. None takes a rule's declaration
        if the rule is the package's.
        """
        logits, reward = np.asarray(logits, dtype=np.float64), np.asarray(reward)
        if reward.dtype != bool and not np.issubdtype(reward.dtype, np.number):
            raise ValueError(f"reward is a boolean mask or numbers, got dtype {reward.dtype}")
        if reward.dtype != bool:  # (Masks stay small: `Runs` makes numbers of them.)
            reward = reward.astype(np.float64)
        check_problem(logits, reward, tree)
        reward = reward.reshape((1,) * (3 - reward.ndim) + reward.shape)
        if features is not None:
            features = _checked_features(features, logits, dynamics.rule)
        _check_per_run(dynamics, len(logits))
        declared = is_ours(dynamics.rule) and dynamics.rule.needs.pools
        summed = (declared if pools is None else pools) and dynamics.steps_per_batch == 1
        if tree is not None:
            check_tree_dynamics(tree, logits.shape, dynamics, summed)
        if record is not None and record.forecasts and not dynamics.optimizer.is_plain:
            raise ValueError("forecasts are of plain gradient steps: leave Record(forecasts=...) False, "
                             "or take optimizer Sgd()")
        offsets, prompts = dynamics.target_offsets, _prompts(logits.shape[1], tree)
        if offsets is not None and len(offsets) != prompts:
            raise ValueError(f"target_offsets has {len(offsets)} values for {prompts} prompts")
        return cls(logits=logits, reward=reward, dynamics=dynamics, tree=tree, features=features,
                   pools=summed, record=record or Record())

    @property
    def n_runs(self) -> int:
        """The number of runs."""
        return len(self.logits)

    @property
    def n_prompts(self) -> int:
        """The number of prompts of each run."""
        return _prompts(self.logits.shape[1], self.tree)

    @property
    def row_tokens(self) -> int:
        """The number of tokens in the rows of a run's batch; 0 where rows are its logits, or summed."""
        horizon = 1 if self.tree is None else self.tree.horizon
        samples = self.dynamics.samples
        if samples is not None:
            return self.n_prompts * horizon * (samples.group_size + samples.tempered)
        if self.tree is None or self.pools:
            return 0
        return self.n_prompts * horizon * self.tree.n_responses

    @property
    def part_runs(self) -> int:
        """The number of runs of a part with features of its own; 1 where all runs have the same."""
        parts = 1 if self.features is None else len(self.features)
        return self.n_runs // parts if parts > 1 else 1

    def take_runs(self, part: slice) -> Task:
        """Return the task of the runs ``part`` (start, stop): views of arrays, per-run values cut.

        Where parts of the runs have features of their own, it is made of whole parts.
        """
        if part.stop - part.start == self.n_runs:
            return self
        features = self.features
        if features is not None and len(features) > 1:
            features = features[part.start // self.part_runs : part.stop // self.part_runs]
        return dataclasses.replace(
            self, logits=self.logits[part], features=features,
            reward=self.reward if len(self.reward) == 1 else self.reward[part],
            dynamics=self.dynamics.take_runs(self.n_runs, part))


def check_features_rule(rule: UpdateRule) -> None:
    """Raise ValueError for a rule that is not defined on shared parameters."""
    if needs_independent_logits(rule):
        raise ValueError(
            f"'{rule.name}' is defined here for independent logits: shared parameters have a Fisher "
            "matrix of their own; leave features None, or use 'reinforce'")


def is_ours(rule: UpdateRule) -> bool:
    """Whether the rule, all that it is made of and its options are this package's own.

    What other rules' code reads (an option that does not count for equality, a function or constant of a
    notebook) may change from one simulation to the next.
    """
    return all(_is_own_type(part) and all(
        _is_own_type(getattr(part, each.name)) for each in dataclasses.fields(part))
        for _, part in components(rule))


def _is_own_type(value: Any) -> bool:
    room = type(value).__module__.partition(".")[0]
    return room in ("builtins", "numpy", entropy_theory.__name__)


def check_tree_dynamics(
    tree: TokenTree, shape: tuple[int, ...], dynamics: Dynamics, summed: bool
) -> None:
    """Raise ValueError for dynamics that are not defined on this tree, or need too much memory."""
    rule = dynamics.rule
    if tree.horizon > 1 and needs_independent_logits(rule):
        raise ValueError(
            f"'{rule.name}' is defined on answers of one token: on a token tree use 'reinforce', or "
            "horizon 1")
    if dynamics.samples is None and not summed:
        prompts = _prompts(shape[1], tree)
        check_memory(
            8 * ROW_COLUMNS * prompts * tree.horizon * tree.n_responses,
            f"'{rule.name}' in exact expectation sees all {prompts} x {tree.n_responses:,} responses as "
            f"rows of {tree.horizon} tokens",
            "sample them (Dynamics(samples=Samples(...))), or use a smaller tree")


def _prompts(n_states: int, tree: TokenTree | None) -> int:
    return n_states if tree is None else n_states // tree.n_states


def _checked_features(
    features: np.ndarray, logits: np.ndarray, rule: UpdateRule
) -> np.ndarray:
    features = np.asarray(features, dtype=np.float64)
    size = logits.shape[1] * logits.shape[2]
    if features.ndim not in (2, 3) or features.shape[-2] != size or not np.isfinite(features).all():
        raise ValueError(
            f"features are finite numbers [states * actions = {size}, d], got shape {features.shape}")
    if features.ndim == 3 and (not len(features) or len(logits) % len(features)):
        raise ValueError(f"features of {len(features)} parts do not divide {len(logits)} runs equally")
    check_features_rule(rule)
    return features.reshape(-1, *features.shape[-2:])


def _check_per_run(dynamics: Dynamics, n_runs: int) -> None:
    for name in ("learning_rate", "temperature", "targets"):
        values = np.asarray(getattr(dynamics, name), dtype=float)
        if values.ndim and values.shape != (n_runs,):
            raise ValueError(f"{name} has {values.size} values for {n_runs} runs")
    _check_options(dynamics.rule, n_runs)
    check_second_batch(dynamics.rule)


def check_second_batch(rule: UpdateRule) -> None:
    """Raise ValueError for a target policy that is not sampled by a temperature alone."""
    for name, value in second_batch_options(rule).items():
        raise ValueError(
            f"the target of '{rule.name}' samples with {name}={value}, and the simulator's "
            "second batch differs from the policy by its temperature alone: take a target that "
            "reweights (targets.ShorterResponses), or train with llm_bridge")


def _check_options(rule: UpdateRule, n_runs: int) -> None:
    """Raise ValueError for an option with one value per run, but not as many as there are runs."""
    def check(part: UpdateRule, name: str, value: Any) -> Any:
        if not isinstance(value, str) and np.ndim(value) == 1 and len(value) != n_runs:
            raise ValueError(
                f"option {name} of '{part.name}' has {len(value)} values for {n_runs} runs")
        return value

    map_options(rule, check)
