"""The engine: many tabular policies trained at once by one update rule, exactly or from samples.

A run is one policy; runs differ in their start, right answers, target entropy, temperature, learning
rate or options of the rule, and are advanced together, never one by one. They are cut into blocks whose
arrays stay in the processor's cache; a run's results depend on its number alone (``first_run`` + its
place), not on the block it is in. What a step does is in `simulations.engine.runs`.
"""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from entropy_theory.policy import check_temperature
from entropy_theory.token_tree import TokenTree
from entropy_theory.update_rules import UpdateRule
from simulations.engine.compiled.stepper import ENGINES, Plan, Stepper, plan, threads
from simulations.engine.recorder import Record, Recorder, Trajectory, concatenate
from simulations.engine.runs import Runs, Steps
from simulations.engine.sampling import Samples
from simulations.engine.tree_runs import TreeRuns
from simulations.problems.bandits import check_count, check_memory, check_problem

__all__ = ["Dynamics", "Record", "Samples", "Trajectory", "simulate"]

BLOCK = 2**17
"""Logits of a block of runs, at most (a single run may have more): 1 MiB an array."""
ROW_COLUMNS = 30
"""Numbers that the update rules hold of a row's token at once, roughly."""
CHUNK = 200
"""Steps between calls of ``progress``, at most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Dynamics:
    """How policies move. Numbers given as tuples have one entry a run.

    Raises ValueError for values that cannot be simulated, naming them.
    """

    rule: UpdateRule
    learning_rate: float | tuple[float, ...] = 0.5
    steps: int = 6000
    temperature: float | tuple[float, ...] | None = None
    """Without a controller: all rows are sampled at this temperature (AEPO, Figure 2)."""
    targets: tuple[float, ...] | None = None
    """Target entropy of each run, nats, in place of the rule's single one."""
    target_schedule: Callable[[int], Any] | None = None
    """Targets that move: from the number of steps taken to a target or one a run [runs], nats. Asked at
    the start of each batch."""
    samples: Samples | None = None
    """None: exact expectation."""
    steps_per_batch: int = 1
    """Optimizer steps on the same samples, off-policy from the second on (PPO's epochs): ratios move,
    clips bind, and controllers wait for the next batch."""
    record_every: int = 20
    """Steps between records; the first and the last policy are always recorded."""
    tail: int = 0
    """Steps at the end over which entropy is averaged at every step; 0: the last sixth."""
    seed: int = 0
    engine: str = "auto"
    """"numpy"; "compiled": by numba (`engine.compiled`), refused where it cannot; "auto": compiled
    where it can be and the run is long. They agree to rounding."""
    precision: str = "float64"
    """Of the logits: "float64" or "float32"."""
    first_run: int = 0
    """Number of the first run. Samples are keyed by it, so that a simulation may be cut into several
    with the same results."""

    def __post_init__(self) -> None:
        if not isinstance(self.rule, UpdateRule):
            raise ValueError(
                f"rule is an update rule, such as update_rules.get('grpo'), got {self.rule!r}")
        for name, least in (("steps", 1), ("steps_per_batch", 1), ("record_every", 1),
                            ("tail", 0), ("seed", 0), ("first_run", 0)):
            check_count(name, getattr(self, name), least)
        if self.precision not in ("float64", "float32"):
            raise ValueError(f"precision must be float64 or float32, got {self.precision}")
        if self.engine not in ENGINES:
            raise ValueError(f"unknown engine '{self.engine}': use one of {', '.join(ENGINES)}")
        if not np.all(np.isfinite(self.learning_rate)):
            raise ValueError(f"learning_rate must be finite, got {self.learning_rate}")
        if self.temperature is not None:
            if self.rule.controller() is not None:
                raise ValueError(f"'{self.rule.name}' chooses the temperature: leave it None")
            if not self.rule.takes_tempered_alone:
                raise ValueError(
                    "a run on tempered samples alone needs a rule such as 'reinforce' or 'grpo': "
                    f"'{self.rule.name}' acts on ordinary rows, of which there are none"
                )
            check_temperature(np.asarray(self.temperature))
        controllers = (self.rule.controller(), self.rule.coefficient_controller())
        if not any(controller and controller.takes_target for controller in controllers):
            for name in ("targets", "target_schedule"):
                if getattr(self, name) is not None:
                    raise ValueError(
                        f"'{self.rule.name}' has no controller that takes targets: leave {name} None")
        if self.targets is not None and self.target_schedule is not None:
            raise ValueError("targets and target_schedule are both given: give one of them")
        if self.samples is not None and self.rule.needs_listing:
            raise ValueError(
                f"'{self.rule.name}' takes an exact expectation and cannot be sampled: leave samples "
                f"None; {self.rule.refuses_samples}"
            )

    def take_runs(self, n_runs: int, part: slice) -> Dynamics:
        """The dynamics of the runs ``part`` (start and stop) of ``n_runs``: per-run values are cut."""
        schedule = self.target_schedule
        return dataclasses.replace(
            self,
            rule=_cut_options(self.rule, n_runs, part),
            first_run=self.first_run + part.start,
            target_schedule=None if schedule is None else (
                lambda step: _cut_targets(schedule(step), n_runs, part)),
            **{name: _cut(getattr(self, name), n_runs, part)
               for name in ("learning_rate", "temperature", "targets")},
        )


def simulate(
    logits: np.ndarray,
    reward: np.ndarray,
    dynamics: Dynamics,
    *,
    tree: TokenTree | None = None,
    features: np.ndarray | None = None,
    record: Record | None = None,
    progress: Callable[[int], object] | None = None,
) -> Trajectory:
    """Train every run for ``dynamics.steps`` steps.

    Args:
        logits: [runs, states, actions], the starts; finite. Not changed.
        reward: boolean (right answers, with reward 1) or numbers (graded), broadcastable to the same.
            With a ``tree``, [runs or 1, prompts, responses].
        dynamics: rule, step size, sampling, schedule and seed; same seed, same result.
        tree: answers are responses of several tokens; states are prompts x states of the tree,
            prompt-major. None: answers are single actions.
        features: [states * actions, d]: parameters theta shared by states and actions, logits = start
            + features @ theta, theta moving by gradient steps; None: every logit is its own.
        record: what is recorded beside the columns that always are; `Record()` by default.
        progress: called now and then with the number of steps taken since the last call.

    Raises:
        ValueError: an invalid problem (`problems.check_problem`), per-run values whose number is
            not that of the runs, or logits that stop being finite, with the step.
    """
    record = record or Record()
    logits, reward = np.asarray(logits, dtype=np.float64), np.asarray(reward)
    if reward.dtype != bool and not np.issubdtype(reward.dtype, np.number):
        raise ValueError(f"reward is a boolean mask or numbers, got dtype {reward.dtype}")
    if reward.dtype != bool:  # (Masks stay small: `Runs` makes numbers of them.)
        reward = reward.astype(np.float64)
    check_problem(logits, reward, tree)
    reward = reward.reshape((1,) * (3 - reward.ndim) + reward.shape)
    if features is not None:
        features = _checked_features(features, logits, dynamics.rule)
    if tree is not None:
        check_tree_dynamics(tree, logits.shape, dynamics)
    n_runs = len(logits)
    _check_per_run(dynamics, n_runs)
    compiled = None
    if tree is None and features is None:
        compiled = plan(dynamics, logits.shape, reward,
                        lambda run: _cut_options(dynamics.rule, n_runs, slice(run, run + 1)))
    elif dynamics.engine == "compiled":
        raise ValueError("engine 'compiled' knows no tree and no features: use engine 'auto'")
    taken = reported = 0
    lock = threading.Lock()

    def report(steps: int) -> None:
        """``steps``: newly taken, times runs, of any block."""
        nonlocal taken, reported
        with lock:
            taken += steps
            new = taken // n_runs - reported
            if progress is not None and new > 0:
                progress(new)
                reported += new

    def trajectory(part: slice) -> Trajectory:
        size = part.stop - part.start
        of_part = (
            logits[part],
            reward if len(reward) == 1 else reward[part],
            dynamics if size == n_runs else dynamics.take_runs(n_runs, part),
            features,
        )
        if tree is not None:
            runs: Runs = TreeRuns(*of_part, tree)
        elif compiled is None or record.forecasts:  # forecasts read every row's policy
            runs = Runs(*of_part)
        else:
            runs = compiled.runs(logits[part], of_part[2], record, part, final[part])
        recorder = Recorder(runs, record)
        before = 0
        for step in _train(recorder, stepper(runs, compiled, part)):
            report((step - before) * size)
            before = step
        if not np.shares_memory(runs.logits, final):
            final[part] = runs.logits
        return recorder.trajectory(final[part])

    # Written block by block, so that the trajectories' parts are never held beside the whole.
    final = np.empty(logits.shape)
    sizes = (logits[0].size, _tokens(dynamics, logits.shape[1], tree))
    parts = list(blocks(n_runs, max(sizes), compiled is not None))
    if compiled is None or len(parts) == 1 or threads() == 1:
        return concatenate([trajectory(part) for part in parts], final)
    with ThreadPoolExecutor(threads()) as pool:
        return concatenate(list(pool.map(trajectory, parts)), final)


def blocks(n_runs: int, one_run: int, parallel: bool = False) -> Iterator[slice]:
    """The blocks of runs that are advanced together; ``one_run`` is the size of a run's largest array.

    Those that may run in parallel are at least four, of at least 32 runs where that is enough.
    """
    size = max(1, BLOCK // one_run)
    if parallel:
        size = min(size, max(32, math.ceil(n_runs / 4)))
    for start in range(0, n_runs, size):
        yield slice(start, min(start + size, n_runs))


def _train(recorder: Recorder, advance: Callable[..., Steps | None]) -> Iterator[int]:
    """Train and record a block of runs; yields the number of steps taken now and then."""
    runs, dynamics = recorder.runs, recorder.runs.dynamics
    steps, every = dynamics.steps, dynamics.record_every
    tail = min(dynamics.tail or max(steps // 6, 1), steps)
    chunk = advance.chunk() if isinstance(advance, Stepper) else CHUNK
    while runs.step < steps:
        step = runs.step
        in_tail = step >= steps - tail
        ends = [steps, step + chunk, (step // every + 1) * every]
        if not in_tail:
            ends.append(steps - tail)
        announced = None
        if step % every == 0:
            recorder.policy()
            if recorder.record.forecasts:
                announced = recorder.forecast()
                ends.append(step + 1)
        taken = advance(min(ends) - step, measured=in_tail)
        if announced is not None:
            recorder.measure(announced)
        if taken is not None:
            recorder.tail(taken)
        yield runs.step
    recorder.policy()


def stepper(
    runs: Runs, compiled: Plan | None, part: slice
) -> Callable[..., Steps | None]:
    """What takes steps of these runs: ``advance(n, measured=...)``, as `Runs.advance`.

    Either `Runs.advance` or the compiled path. The contract: on entry it calls ``runs.look()``
    (policy, temperature and coefficient of the first step are then chosen; later steps it evaluates
    itself, calling no controller for the step after its last); it changes ``runs.logits`` in place,
    adds n to ``runs.step``, leaves stateful controllers as n - 1 observations would, and returns
    `Steps` if ``measured``. The next ``look`` evaluates and observes again.
    """
    return runs.advance if compiled is None else compiled.stepper(runs, part)


def _check_per_run(dynamics: Dynamics, n_runs: int) -> None:
    for name in ("learning_rate", "temperature", "targets"):
        values = np.asarray(getattr(dynamics, name), dtype=float)
        if values.ndim and values.shape != (n_runs,):
            raise ValueError(f"{name} has {values.size} values for {n_runs} runs")
    _check_options(dynamics.rule, n_runs)
    check_second_batch(dynamics.rule)


def check_second_batch(rule: UpdateRule) -> None:
    """Raise ValueError for a target that is sampled otherwise than at a temperature."""
    for name, value in rule.second_batch_options.items():
        raise ValueError(
            f"the target of '{rule.name}' samples with {name}={value}, and the simulator's "
            "second batch differs from the policy by its temperature alone: take a target that "
            "reweights (targets.ShorterResponses), or train with llm_bridge")


def _check_options(rule: UpdateRule, n_runs: int) -> None:
    """Raise ValueError for an option with one value a run, but not as many as there are runs."""
    def check(part: UpdateRule, name: str, value: Any) -> Any:
        if not isinstance(value, str) and np.ndim(value) == 1 and len(value) != n_runs:
            raise ValueError(
                f"option {name} of '{part.name}' has {len(value)} values for {n_runs} runs")
        return value

    rule.map_options(check)


def _checked_features(
    features: np.ndarray, logits: np.ndarray, rule: UpdateRule
) -> np.ndarray:
    features = np.asarray(features, dtype=np.float64)
    size = logits.shape[1] * logits.shape[2]
    if features.ndim != 2 or len(features) != size or not np.isfinite(features).all():
        raise ValueError(
            f"features are finite numbers [states * actions = {size}, d], got shape {features.shape}")
    check_features_rule(rule)
    return features


def check_features_rule(rule: UpdateRule) -> None:
    """Raise ValueError for a rule that is not defined on shared parameters."""
    if rule.needs_independent_logits:
        raise ValueError(
            f"'{rule.name}' is defined here for independent logits: shared parameters have a Fisher "
            "matrix of their own; leave features None, or use 'reinforce'")


def check_tree_dynamics(tree: TokenTree, shape: tuple[int, ...], dynamics: Dynamics) -> None:
    """Raise ValueError for dynamics that are not defined on this tree, or need too much memory."""
    rule = dynamics.rule
    if tree.horizon > 1 and rule.needs_independent_logits:
        raise ValueError(
            f"'{rule.name}' is defined on answers of one token: on a token tree use 'reinforce', or "
            "horizon 1")
    if dynamics.samples is None and not _pools(dynamics):
        prompts = shape[1] // tree.n_states
        check_memory(
            8 * ROW_COLUMNS * _tokens(dynamics, shape[1], tree),
            f"'{rule.name}' in exact expectation sees all {prompts} x {tree.n_responses:,} responses as "
            f"rows of {tree.horizon} tokens",
            "sample them (Dynamics(samples=Samples(...))), or use a smaller tree")


def _pools(dynamics: Dynamics) -> bool:
    return dynamics.rule.pools_equal_rewards and dynamics.steps_per_batch == 1


def _tokens(dynamics: Dynamics, n_states: int, tree: TokenTree | None) -> int:
    """Tokens in the rows that a run's batch is written out as; 0 where rows are summed."""
    prompts, horizon = (n_states, 1) if tree is None else (n_states // tree.n_states, tree.horizon)
    if dynamics.samples is not None:
        return prompts * horizon * (dynamics.samples.group_size + dynamics.samples.tempered)
    if tree is None or _pools(dynamics):
        return 0
    return prompts * horizon * tree.n_responses


def _cut(value: Any, n_runs: int, part: slice) -> Any:
    """The entries of some runs, of a value that is one number or one a run."""
    if value is None or np.ndim(value) == 0 or len(value) != n_runs:
        return value
    return value[part]


def _cut_targets(targets: Any, n_runs: int, part: slice) -> Any:
    if np.ndim(targets) and len(targets) != n_runs:
        raise ValueError(f"target_schedule has {len(targets)} values for {n_runs} runs")
    return _cut(targets, n_runs, part)


def _cut_options(rule: UpdateRule, n_runs: int, part: slice) -> UpdateRule:
    """The rule with its options, and those of the rules it is made of, cut to some runs."""
    return rule.map_options(
        lambda _, name, value: value if isinstance(value, str) else _cut(value, n_runs, part))
