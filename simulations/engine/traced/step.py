"""Traces one step of a block of runs as a graph.

No formula of a rule is written here, and no formula of a step is written twice. The batch is that of
`Runs.token_batch`, the step that of `tabular.logit_step`, the controllers are the rule's own. Only draws
are written again, by the formula of `simulations.engine.sampling`.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from entropy_theory.policy import entropy_of, namespace, shift_logits
from entropy_theory.tabular import logit_step
from entropy_theory.token_batch import OPTIONAL_COLUMNS, REQUIRED_COLUMNS, TokenBatch
from entropy_theory.update_rules import UpdateRule
from simulations.engine.runs import Runs
from simulations.engine.sampler import normal
from simulations.engine.sampling import GOLDEN, MULTIPLIERS, ORDINARY, lanes, seed_key
from simulations.engine.traced import sums
from simulations.engine.traced.arrays import Trace, Traced
from simulations.engine.traced.functions import NAMESPACE
from simulations.engine.traced.intervals import Interval
from simulations.engine.traced.plan import Step
from simulations.engine.traced.views import BOOLEAN, FLOAT, INTEGER, NotTraceable, View

xp = NAMESPACE
LARGEST_LOGIT = 1e300
"""Compiled steps stop before a logit beyond this, so that differences of logits are finite."""
SEARCHED = 16
"""The largest number of actions for which a draw is compared with all running sums, not searched."""
LONG, FEW = 64, 4
"""Runs are taken side by side unless states have more than LONG actions, or there are fewer than FEW."""
_ACCURACY = 1e-8  # of a traced change, relative to the largest of all
MOST_STEPS = 2**40
"""More steps than any run takes."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A controller of a block of runs, and the attribute that holds its choice."""

    name: str
    setting: str


LOOPS = (Loop("controller", "temperature"), Loop("coefficient_controller", "coefficient"))


class _Step(Traced):
    """The number of the step, an integer for a rule that asks."""

    __class__ = int  # type: ignore[assignment]


def loops(runs: Runs) -> list[Loop]:
    """Return the controllers that these runs have."""
    return [loop for loop in LOOPS if getattr(runs, loop.name) is not None]


def traced_step(runs: Runs, *, asked_again: bool) -> Step:
    """Trace one step of these runs from their present state.

    Args:
        runs: a block of runs.
        asked_again: whether to trace twice, which shows whether both traces of the rule are equal.

    Raises:
        NotTraceable: a rule that cannot be recorded, or whose scores change when it is called again or
            with arrays that are not NumPy's.
    """
    # Of a copy: what a rule keeps for itself by mistake shall not be what a trace left behind.
    rule = copy.deepcopy(runs.rule)
    step, draws, change = _traced(runs, rule)
    if asked_again and _signature(step) != _signature(_traced(runs, rule)[0]):
        raise NotTraceable("it returns other scores when it is called again on the same batch")
    _confirm(runs, rule, draws, change)
    return step


def with_policies(runs: Runs, logits: Any, **changes: Any) -> Any:
    """Return a copy of runs with the policies of these logits, which may be arrays other than NumPy's."""
    found, policy = copy.copy(runs), shift_logits(logits)
    vars(found).update(
        logits=logits, _shifted=policy.shifted, _log_normalizer=policy.log_normalizer,
        entropy=entropy_of(policy), **changes)
    found.probabilities = namespace(logits).exp(found.log_probabilities())
    return found


def is_along_actions(runs: Runs) -> bool:
    """Whether vectors lie along the actions of a run: of long states, and of few runs."""
    return bool(runs.n_runs < FEW or runs.logits.shape[-1] > LONG)


def _signature(step: Step) -> Any:
    nodes = [(n.operation, n.shape, n.kind, n.parameter, tuple(v.key for v in n.arguments),
              None if n.value is None else n.value.tobytes()) for n in step.graph.nodes]
    ends = [view.key for view in (step.logits, *step.memory, *step.measured)]
    return nodes, ends, [(view.key, expected) for view, expected in step.graph.guards]


def _traced(runs: Runs, rule: UpdateRule) -> tuple[Step, dict[int, np.ndarray], np.ndarray]:
    """Return the step and, in the present state, what was drawn and the change of logits."""
    trace = Trace(runs.n_runs)
    trace.graph.rows = _rows(runs)
    if is_along_actions(runs):
        trace.graph.of_sum, trace.graph.of_gather = sums.of_sum, sums.of_gather
    example = np.ascontiguousarray(carried(runs), dtype=np.float64)
    unchecked: Any = trace.input("logits.unchecked", example, Interval())
    held = trace.input("logits", example, Interval(-LARGEST_LOGIT, LARGEST_LOGIT, False))
    bool(xp.all(abs(unchecked) < LARGEST_LOGIT))
    shadow = _shadow(runs, trace, held)
    logits: Any = shadow.logits
    memory, choices = _control(runs, shadow, trace)
    change = _change(runs, shadow, trace, rule)
    update, moments = change, list[Any]()
    if runs.optimizer is not None:
        update, moments = runs.optimizer.update(change, logits, shadow.moments, shadow.step)
    moved = logits + runs.learning_rate * update
    after = [moved, *moments, *[logits, *shadow.past[:-1]][: len(shadow.past)]]
    new = (moved if len(after) == 1 else xp.concat(after, axis=1)).recorded
    if new is None:
        raise NotTraceable("its logits do not depend on themselves")
    if runs.dynamics.precision == "float32":
        new = trace.graph.elementwise("single", new)
    reward = (shadow.probabilities * runs.reward).sum(axis=-1).mean(axis=-1)
    measured = [shadow.mean_entropy(), reward]
    if shadow.temperature is not None:
        measured.append(shadow.temperature)
    step = Step(
        along_actions=is_along_actions(runs), narrow=runs.dynamics.precision == "float32",
        graph=trace.graph, n_logits=example[0].size, n_states=runs.n_states, logits=new,
        memory=tuple(memory), choices=tuple(choices),
        measured=tuple(trace.view(x, 1) for x in measured))
    return step, {kind: drawn.example for kind, drawn in shadow.draws.items()}, change.example


def carried(runs: Runs) -> np.ndarray:
    """Return what a step leaves for the next one, states after states: [runs, n x states, actions].

    That is the logits, the optimizer's moments and the logits before that a sampler asks for.
    """
    parts = [runs.logits, *runs.moments, *runs.past]
    return runs.logits if len(parts) == 1 else np.concatenate(parts, axis=1)


def keep_carried(runs: Runs, values: np.ndarray) -> None:
    """Put back what `carried` gave, after some steps."""
    parts = [runs.logits, *runs.moments, *runs.past]
    for place, part in enumerate(parts):
        part[...] = values[:, place * runs.n_states : (place + 1) * runs.n_states]


def _change(runs: Runs, shadow: Any, trace: Trace, rule: UpdateRule) -> Any:
    """Draw the shadow's batch and return the rule's step of the logits, per unit learning rate."""
    shadow.draws, shadow.sampling = {}, {}
    if runs.dynamics.sampler is not None:
        if runs.dynamics.sampler.noise:
            shadow.noise = normal(xp, *(_uniforms(shadow, trace, lane) for lane in runs.noise_lanes))
        shadow._probabilities_by_kind()
    if runs.samples is not None:
        shadow.draws = {kind: _draws(runs, shadow, trace, kind) for kind in shadow.kinds()}
    if runs.levels is not None and runs.samples is None:
        return _pooled_change(shadow, trace, rule)
    batch = _all_traced(trace, shadow.token_batch())
    return logit_step(shadow.logits, rule.prepare(batch), rule)


def _rows(runs: Runs) -> dict[int, tuple[int, int]]:
    """Return the lengths of axes that run over the rows of all states, as `Graph.rows`."""
    n_states, n_actions = runs.logits.shape[1:]
    samples = runs.samples
    levels = () if runs.levels is None else (len(runs.levels.values),)
    each = {n_actions, *levels, *((samples.group_size, samples.tempered) if samples else ())} - {1}
    return {n_states * n: (n_states, n) for n in each
            if n_states > 1 and n_states * n not in (n_actions, *each)}


def _confirm(
    runs: Runs, rule: UpdateRule, draws: dict[int, np.ndarray], found: np.ndarray
) -> None:
    """Raise NotTraceable unless NumPy's arrays give the traced change of logits, ``found``.

    A rule that asks for an array's type, or that catches what an array refuses, takes another branch.
    """
    logits = np.ascontiguousarray(runs.logits, dtype=np.float64)
    plain = with_policies(runs, logits, draws=draws, sampling={})
    if runs.dynamics.sampler is not None:
        plain.noise = plain.new_noise()
        plain._probabilities_by_kind()
    expected = logit_step(logits, rule.prepare(plain.token_batch()), rule)
    accuracy = _ACCURACY * np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
    if not np.allclose(found, expected, rtol=0, atol=accuracy, equal_nan=True):
        raise NotTraceable("its step is another one with arrays that are not NumPy's")


def _shadow(runs: Runs, trace: Trace, held: Traced) -> Any:
    """Copy the runs with traced policies, as `Runs.token_batch` and `Runs.mean_entropy` read them."""
    size, n = runs.n_states, len(runs.moments)
    others = [held[:, place * size : (place + 1) * size] for place in range(1, 1 + n + len(runs.past))]
    shadow = with_policies(runs, held[:, :size] if others else held, moments=others[:n],
                           past=others[n:])
    taken = trace.graph.input("step", (), INTEGER, Interval(0, MOST_STEPS, False))
    shadow.step = _Step(trace, np.asarray(runs.step), taken)
    if runs.temperature is not None:
        shadow.temperature = trace.constant(np.asarray(runs.temperature))
    return shadow


def _pooled_change(shadow: Any, trace: Trace, rule: UpdateRule) -> Traced:
    """Return the change of logits from rows that are summed by reward, in exact expectation."""
    shadow._mean_shifted = (shadow.probabilities * shadow._shifted).sum(axis=-1, keepdims=True)
    shadow.pooled = {kind: shadow._pool(probabilities, kind)
                     for kind, probabilities in shadow._probabilities_by_kind().items()}
    shadow.rule, shadow.ready = rule, lambda batch: _all_traced(trace, batch)
    change: Traced = shadow._pooled_direction()
    return change


def _all_traced(trace: Trace, batch: TokenBatch) -> TokenBatch:
    """Return the batch with all columns traced, those that stay the same as constants."""
    columns = {}
    for name in REQUIRED_COLUMNS + OPTIONAL_COLUMNS:
        column = getattr(batch, name)
        if isinstance(column, Traced):
            columns[name] = Traced(trace, column.example, column.recorded, fixed=True)
        elif column is not None:
            columns[name] = trace.constant(column)
    return batch.replace(**columns)


# --------------------------------------------------------------------------------------- draws


def _draws(runs: Runs, shadow: Any, trace: Trace, kind: int) -> Traced:
    """Draw actions by the formula of `simulations.engine.sampling`: [runs, states, samples]."""
    samples: Any = runs.samples
    size = samples.group_size if kind == ORDINARY else samples.tempered
    uniform = _uniforms(shadow, trace, lanes(kind, runs.run_numbers, runs.n_prompts, size))
    if kind in shadow.sampling:
        weights = xp.exp(shadow.sampling[kind])
    else:
        temperature: Any = 1.0 if kind == ORDINARY else shadow.temperature[..., None]
        weights = shift_logits(shadow.logits, temperature).exponentials
    if is_along_actions(runs) and weights.shape[-1] > SEARCHED:
        return _searched(trace, weights, uniform)
    running = xp.cumulative_sum(weights, axis=-1)
    level = uniform * running[..., -1:]
    drawn: Traced = xp.sum(xp.astype(running[..., None, :-1] <= level[..., None], np.int64), axis=-1)
    return drawn


def _uniforms(shadow: Any, trace: Trace, lane: Any) -> Any:
    """Return the uniforms of this batch, of the shape of their lanes."""
    golden, seed = (_signed(word) for word in (GOLDEN, seed_key(shadow.dynamics.seed)))
    key = _mixed((shadow.batch_number + 1) * golden + seed)
    mixed = _mixed(trace.constant(lane.view(np.int64)) + key)
    return xp.astype(_shifted(mixed, 11), np.float64) * 2.0**-53


def _searched(trace: Trace, weights: Traced, uniform: Traced) -> Traced:
    """Draw from long states: the piece of a running sum first, and then within it."""
    running = np.cumsum(weights.example, axis=-1)
    levels = uniform.example * running[..., -1:]
    example = np.stack([
        [np.searchsorted(sums[:-1], level, side="right") for sums, level in zip(*pair, strict=True)]
        for pair in zip(running, levels, strict=True)])
    return Traced(trace, example, trace.graph.search(trace.view(uniform, 3), trace.view(weights, 3)))


def _mixed(state: Any) -> Any:
    first, second = map(_signed, MULTIPLIERS)
    state = (state ^ _shifted(state, 30)) * first
    state = (state ^ _shifted(state, 27)) * second
    return state ^ _shifted(state, 31)


def _signed(word: int) -> int:
    return word - 2**64 if word >= 2**63 else word


def _shifted(state: Any, bits: int) -> Any:
    """Shift signed integers logically to the right."""
    return (state >> bits) & (2 ** (64 - bits) - 1)


# --------------------------------------------------------------------------------- controllers


def _control(runs: Runs, shadow: Any, trace: Trace) -> tuple[list[View], list[Interval]]:
    """Let the controllers of the shadow choose, by `Runs` itself.

    Returns what they chose and hold, and what holds each choice.

    For the first step of a call they may have chosen already (`Runs.evaluate`): that is taken.
    """
    graph = trace.graph
    first = graph.input("first", (), BOOLEAN, Interval(0, 1, False))
    found = loops(runs)
    inputs: list[View] = []
    for loop in found:
        controller = copy.copy(getattr(runs, loop.name))
        values = state(runs, loop)
        for name, value in zip((None, *controller.state), values, strict=True):
            kind = INTEGER if isinstance(value, int) else FLOAT
            view = graph.input(f"memory.{len(inputs)}", (), kind, Interval(nan=kind == FLOAT))
            inputs.append(view)
            if name is not None:
                setattr(controller, name, Traced(trace, np.asarray(value), view))
        if controller.takes_target and "target" not in controller.state:
            target = np.broadcast_to(np.asarray(controller.target, dtype=float), (runs.n_runs,))
            # Targets that move are an input; the schedule itself is asked when steps are taken.
            moves, controller.target_schedule = controller.target_schedule is not None, None
            controller.target = trace.input(
                "target", target, Interval(0, math.inf, False)) if moves else trace.constant(target)
        setattr(shadow, loop.name, controller)
    n_guards = len(graph.guards)
    shadow._control()
    # Where they have chosen already nothing is observed, and no condition of observing counts.
    later = graph.elementwise("logical_not", first)
    graph.guards[n_guards:] = [
        (graph.elementwise("logical_or", view, first) if expected
         else graph.elementwise("logical_and", view, later), expected)
        for view, expected in graph.guards[n_guards:]]
    kept: list[View] = []
    choices: list[Interval] = []
    for loop in found:
        controller = getattr(shadow, loop.name)
        chosen = np.broadcast_to(np.asarray(getattr(runs, loop.setting), dtype=float), (runs.n_runs,))
        after = [getattr(shadow, loop.setting), *(getattr(controller, n) for n in controller.state)]
        place = len(kept)
        for value in after:
            before = inputs[len(kept)]
            new = graph.convert(trace.view(value, 1), before.node.kind)
            new = new.at(new.index.reshape(()))
            kept.append(graph.elementwise("where", first, before, new))
        # What was chosen before lies where choices lie.
        interval = trace.view(after[0], 1).node.interval
        kept[place].node.interval = Interval(
            min(interval.low, float(chosen.min())), max(interval.high, float(chosen.max())),
            interval.nan)
        choices.append(kept[place].node.interval)
        setattr(shadow, loop.setting, Traced(trace, np.array(chosen), kept[place]))
    return kept, choices


def state(runs: Runs, loop: Loop) -> list[Any]:
    """Return a controller's last choice and the numbers it holds: integers, or one number per run."""
    controller = getattr(runs, loop.name)
    return [_number(getattr(runs, loop.setting), runs.n_runs),
            *(_number(getattr(controller, name), runs.n_runs) for name in controller.state)]


def _number(value: Any, n_runs: int) -> Any:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    return np.array(np.broadcast_to(np.asarray(value, dtype=float), (n_runs,)))
