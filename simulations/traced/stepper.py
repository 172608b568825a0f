"""Steps of runs by machine code that is made from the rule's own code.

One step of the simulator is traced: the batch that the rule is shown, what it answers, the step of the
logits (`tabular.logit_step`), what its controllers observe. Nothing of a rule is written here. The trace
holds while its guards do; before a step for which they do not, NumPy takes that step, and the next is
traced anew. A rule that cannot be traced, or answers differently when asked twice, is left to NumPy with
the reason.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from entropy_theory.policy import shift_logits
from entropy_theory.tabular import logit_step
from entropy_theory.token_batch import OPTIONAL_COLUMNS, REQUIRED_COLUMNS, TokenBatch
from entropy_theory.update_rules import UpdateRule
from simulations.runs import Runs, Steps, diverged
from simulations.sampling import GOLDEN, MULTIPLIERS, ORDINARY, TEMPERED, lanes, seed_key
from simulations.traced.arrays import NAMESPACE as xp
from simulations.traced.arrays import Trace, Traced, TracedInteger
from simulations.traced.generate import Program, Step, program
from simulations.traced.graph import (
    BOOLEAN,
    FLOAT,
    INTEGER,
    LARGEST_LOGIT,
    Interval,
    NotTraceable,
    View,
)

MOST_LOGITS = 1024
"""Of a run, up to which several runs are advanced side by side."""
MOST_ELEMENTS = 2**18
"""Numbers of a run that a step may keep."""
MOST_TRACES = 12
"""Of a block, until its rule counts as one whose conditions change all the time."""
_ANY = Interval()


@dataclass(frozen=True, slots=True)
class _Controlled:
    """A controller within a trace: what it holds and what it chose, as places of the memory."""

    name: str
    """The attribute of `Runs` that holds it."""
    setting: str
    """The attribute that its choice goes to."""
    fields: tuple[str, ...]
    """Those of its state that are numbers."""


class TracedStepper:
    """Takes the steps of a block of runs; call it as `Runs.advance`."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self._program: tuple[Program, Any, list[np.ndarray]] | None = None
        self._traces = 0
        self.reason: str | None = None
        """Why NumPy takes the steps that are left; None: it does not."""
        check(runs)

    def chunk(self) -> int:
        """Steps that are well taken at once."""
        return max(1, min(2**22 // self.runs.logits.size, 2**16 // self.runs.n_runs, 400))

    def __call__(self, steps: int, *, measured: bool) -> Steps | None:
        """As `Runs.advance`."""
        taken: list[Steps | None] = []
        while steps:
            done, part = self._some(steps, measured)
            if not done:
                part = self.runs.advance(1, measured=measured)
                done = 1
            taken.append(part)
            steps -= done
        return _joined(taken) if measured else None

    def _some(self, steps: int, measured: bool) -> tuple[int, Steps | None]:
        """Steps taken by machine code until a guard stops it, perhaps none."""
        if self.reason is not None:
            return 0, None
        runs = self.runs
        if _controlled(runs):
            runs.look()
        try:
            if self._program is None:
                if self._traces >= MOST_TRACES:
                    raise NotTraceable("its conditions change all the time")
                self._traces += 1
                self._program = self._prepared()
        except Exception as error:  # What a rule's own code raises on arrays that are none of NumPy's.
            self.reason = str(error) if isinstance(error, NotTraceable) else (
                f"{type(error).__name__} while it was traced: {error}")
            return 0, None
        before = runs.logits.copy(order="K")
        held = [copy.copy(getattr(runs, c.name)) for c in _controlled(runs)]
        done, part = self._take(steps, measured)
        if done < steps:  # Some runs stopped there, others went on: all go there again.
            self._program_kept = self._program
            runs.logits[...] = before
            for controlled, controller in zip(_controlled(runs), held, strict=True):
                setattr(runs, controlled.name, controller)
            if done:
                again, part = self._take(done, measured)
                assert again == done
            self._program = None
        runs.step += done
        if done == steps and not math.isfinite(runs.logits.sum()):
            raise diverged(runs.step)
        return done, part

    def _prepared(self) -> tuple[Program, Any, list[np.ndarray]]:
        from simulations.traced import machine

        step = traced(self.runs)
        n_logits = step.n_logits
        width = 16 if n_logits <= 64 else 8
        made = program(step, width)
        if made.work > MOST_ELEMENTS:
            raise NotTraceable(f"a step keeps {made.work} numbers of a run")
        return made, machine.function(made), _packed_constants(made, self.runs.n_runs)

    def _take(self, steps: int, measured: bool) -> tuple[int, Steps | None]:
        """Steps of all runs: how many all of them took, and what was measured."""
        assert self._program is not None
        runs, (made, call, constants) = self.runs, self._program
        width = made.lanes
        n_groups = -(-runs.n_runs // width)
        logits = _packed(runs.logits.reshape(runs.n_runs, -1), width)
        memory = _packed(_memory(runs), width)
        targets = _targets(runs, steps, width)
        out = np.empty((max(made.n_measured, 1), steps if measured else 0, n_groups * width))
        stops = np.full(n_groups, -1, dtype=np.int64)
        work = np.empty(made.work * width)
        arrays = [logits, memory, made.shared, constants[0], targets, out, stops, work]
        call(*(a.ctypes.data for a in arrays), 0, n_groups, steps, _step_number(runs),
             len(targets), n_groups, int(measured))
        stopped = stops[stops >= 0]
        if len(stopped):
            return int(stopped.min()), None
        runs.logits[...] = _unpacked(logits, runs.n_runs).reshape(runs.logits.shape)
        _keep_memory(runs, _unpacked(memory, runs.n_runs), steps)
        if not measured:
            return steps, None
        entropy, reward, *rest = out[..., : runs.n_runs]
        temperature = rest[0] if rest else np.broadcast_to(np.nan, entropy.shape)
        return steps, Steps(entropy=entropy, reward=reward, temperature=temperature)


def check(runs: Runs) -> None:
    """Raise NotTraceable for a problem that is not for this path."""
    if runs.tree is not None or runs.features is not None:
        raise NotTraceable("answers of several tokens, or shared parameters")
    if runs.dynamics.steps_per_batch > 1:
        raise NotTraceable("it takes several optimizer steps on the same samples")
    n_states, n_actions = runs.logits.shape[1:]
    if n_states * n_actions > MOST_LOGITS:
        raise NotTraceable(
            f"{n_states} states of {n_actions} actions are more than the {MOST_LOGITS} logits up to "
            "which runs are advanced side by side")


# ------------------------------------------------------------------------------------- the trace


def traced(runs: Runs) -> Step:
    """One step of these runs, from where they are.

    Raises:
        NotTraceable: what the rule does cannot be recorded, or it answers differently when asked again.
    """
    # Of a copy: what a rule keeps for itself by mistake shall not be what a trace left behind.
    rule = copy.deepcopy(runs.rule)
    first, second = _traced(runs, rule), _traced(runs, rule)
    if _signature(first) != _signature(second):
        raise NotTraceable("it answers differently when it is asked again")
    return first


def _signature(step: Step) -> Any:
    nodes = [(n.operation, n.shape, n.kind, n.parameter, tuple(v.key for v in n.arguments),
              None if n.value is None else n.value.tobytes()) for n in step.graph.nodes]
    ends = [view.key for view in (step.logits, *step.memory, *step.measured)]
    return nodes, ends, [(view.key, expected) for view, expected in step.graph.guards]


def _traced(runs: Runs, rule: UpdateRule) -> Step:
    trace = Trace(runs.n_runs)
    graph = trace.graph
    logits = np.ascontiguousarray(runs.logits, dtype=np.float64)
    unchecked = trace.input("logits.unchecked", logits, Interval())
    z = trace.input(
        "logits", logits, Interval(-LARGEST_LOGIT, LARGEST_LOGIT, False))
    bool(xp.all(abs(unchecked) < LARGEST_LOGIT))
    shadow = _shadow(runs, trace, z)
    memory: list[View] = []
    first = trace.graph.input("first", (), BOOLEAN, Interval(0, 1, False))
    for controlled in _controlled(runs):
        memory += _observed(runs, shadow, trace, controlled, z, first, len(memory))
    samples = runs.samples
    if samples is not None:
        shadow.draws = {
            kind: _draws(runs, shadow, trace, z, kind)
            for kind in ([ORDINARY] if runs.has_ordinary else [])
            + ([TEMPERED] if shadow.temperature is not None else [])}
    else:
        shadow.draws = {}
    batch = _wrapped(trace, shadow.token_batch())
    change = logit_step(z, rule.prepare(batch), rule)
    moved = z + runs.learning_rate * change
    view = moved.recorded
    if view is None:
        raise NotTraceable("its step is a constant")
    if runs.dynamics.precision == "float32":
        view = graph.elementwise("single", view)
    probabilities = xp.exp(shadow.log_probabilities())
    reward = xp.sum(xp.sum(probabilities * runs.reward, axis=-1) / runs.n_states, axis=-1)
    measured = [shadow.mean_entropy_traced.recorded, reward.recorded]
    if shadow.temperature is not None:
        measured.append(trace.view(shadow.temperature, 1))
    return Step(
        graph=graph, n_logits=runs.n_states * runs.logits.shape[-1], logits=view,
        memory=tuple(memory), measured=tuple(measured))


def _shadow(runs: Runs, trace: Trace, z: Traced) -> Any:
    """The runs as `Runs.token_batch` sees them, with traced policies."""
    shadow: Any = copy.copy(runs)
    policy = shift_logits(z)
    shadow.logits, shadow._shifted = z, policy.shifted
    shadow._log_normalizer = policy.log_normalizer
    shadow.policy_traced = policy
    from entropy_theory.policy import entropy_of

    shadow.entropy = entropy_of(policy)
    shadow.mean_entropy_traced = xp.sum(shadow.entropy / runs.n_states, axis=-1)
    step = trace.graph.input("step", (), INTEGER, Interval(0, 2**40, False))
    shadow.step = TracedInteger(trace, runs.step, step, 0, 2**40)
    if runs.temperature is not None and runs.controller is None:
        shadow.temperature = trace.constant(np.asarray(runs.temperature))
    return shadow


def _wrapped(trace: Trace, batch: TokenBatch) -> TokenBatch:
    """The batch with all columns traced, those that stay the same as constants."""
    columns = {}
    for name in REQUIRED_COLUMNS + OPTIONAL_COLUMNS:
        column = getattr(batch, name)
        if column is not None:
            columns[name] = Traced(
                trace, *((column.example, column.recorded) if isinstance(column, Traced)
                         else (np.asarray(column), None)), fixed=True)
    return batch.replace(**columns)


# --------------------------------------------------------------------------------------- draws


def _draws(runs: Runs, shadow: Any, trace: Trace, z: Traced, kind: int) -> Traced:
    """The actions drawn, as `simulations.sampling.draw` says: [runs, states, samples]."""
    samples: Any = runs.samples
    size = samples.group_size if kind == ORDINARY else samples.tempered
    lane = lanes(kind, runs.run_numbers, runs.n_prompts, size).view(np.int64)
    key = _mixed(_integer(shadow.batch_number * _signed(GOLDEN)
                          + _signed(seed_key(runs.dynamics.seed) + GOLDEN)))
    mixed = _mixed(trace.constant(lane) + key)
    uniform = xp.astype(_right(mixed, 11), np.float64) * 2.0**-53
    policy = shadow.policy_traced if kind == ORDINARY else shift_logits(
        z, shadow.temperature[..., None])
    running = xp.cumulative_sum(policy.exponentials, axis=-1)
    level = uniform * running[..., -1:]
    below = running[..., None, :-1] <= level[..., None]
    action = xp.sum(xp.astype(below, np.int64), axis=-1)
    action.recorded.node.interval = Interval(0, z.shape[-1] - 1, False)
    return action


def _integer(number: Any) -> Any:
    """A Python integer as one of 64 bits."""
    return ((number + 2**63) % 2**64 - 2**63).traced()


def _mixed(state: Any) -> Any:
    state = (state ^ _right(state, 30)) * _signed(MULTIPLIERS[0])
    state = (state ^ _right(state, 27)) * _signed(MULTIPLIERS[1])
    return state ^ _right(state, 31)


def _right(state: Any, bits: int) -> Any:
    return (state >> bits) & (2 ** (64 - bits) - 1)


def _signed(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


# --------------------------------------------------------------------------------- controllers


def _controlled(runs: Runs) -> list[_Controlled]:
    found = []
    for name, setting in (("controller", "temperature"),
                          ("coefficient_controller", "coefficient")):
        controller = getattr(runs, name)
        if controller is not None:
            found.append(_Controlled(name, setting, tuple(controller.state)))
    return found


def _observed(
    runs: Runs, shadow: Any, trace: Trace, controlled: _Controlled, z: Traced, first: View, at: int
) -> list[View]:
    """What a controller chooses in a step and holds after it, put into ``shadow``.

    Before the first step of a call it has chosen already (`Runs.look`): that is taken as it is.
    """
    from entropy_theory.policy import clamped_entropy

    graph = trace.graph
    controller = copy.copy(getattr(runs, controlled.name))
    chosen = np.broadcast_to(getattr(runs, controlled.setting), (runs.n_runs,))
    names = [*controlled.fields]
    held = [_of_run(getattr(controller, name), runs.n_runs) for name in names]
    inputs = []
    for k, value in enumerate([chosen, *held]):
        kind = INTEGER if isinstance(value, int) else FLOAT
        view = graph.input(f"memory.{at + k}", (), kind, Interval(nan=kind == FLOAT))
        inputs.append(view)
    for name, value, view in zip(names, held, inputs[1:], strict=True):
        example = np.asarray(value)
        setattr(controller, name, Traced(trace, example, view))
    if hasattr(controller, "target") and "target" not in names:
        target = np.broadcast_to(np.asarray(controller.target, dtype=float), (runs.n_runs,))
        if runs.dynamics.target_schedule is None:
            controller.target = trace.constant(target)
        else:
            controller.target = trace.input("target", target, Interval(0, math.inf, False))
    seen = shadow.mean_entropy_traced
    if controller.reads == "clamped_entropy":
        clamped = clamped_entropy(z, runs.rule.removed_fraction)
        seen = xp.sum(clamped / runs.n_states, axis=-1)
    n_guards = len(graph.guards)
    choice = controller.observe(seen)
    # In the first step of a call nothing is observed, and no condition of observing counts.
    graph.guards[n_guards:] = [
        (graph.elementwise("logical_or" if expected else "logical_and", view,
                           first if expected else graph.elementwise("logical_not", first)), expected)
        for view, expected in graph.guards[n_guards:]]
    after = [choice, *(getattr(controller, name) for name in names)]
    kept = []
    for view, value in zip(inputs, after, strict=True):
        new = graph.convert(trace.view(value, 1), view.node.kind)
        new = new.at(new.index.reshape(()))
        kept.append(graph.elementwise("where", first, view, new))
    setattr(shadow, controlled.setting, Traced(trace, np.array(chosen), kept[0]))
    kept[0].node.interval = _chosen_interval(trace, choice, chosen)
    return kept


def _chosen_interval(trace: Trace, choice: Any, chosen: np.ndarray) -> Interval:
    """Where a choice lies: what was chosen first, which is known, counts like what follows."""
    node = trace.view(choice, 1).node.interval
    return Interval(min(node.low, float(chosen.min())), max(node.high, float(chosen.max())), node.nan)


def _of_run(value: Any, n_runs: int) -> Any:
    """A number of a controller's state: an integer, or one a run."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    return np.array(np.broadcast_to(np.asarray(value, dtype=float), (n_runs,)))


def _memory(runs: Runs) -> np.ndarray:
    """[runs, numbers]: choices and states of the controllers, in the order of the trace."""
    columns = []
    for controlled in _controlled(runs):
        controller = getattr(runs, controlled.name)
        for value in (getattr(runs, controlled.setting),
                      *(getattr(controller, name) for name in controlled.fields)):
            number = _of_run(value, runs.n_runs)
            if isinstance(number, int):
                number = np.full(runs.n_runs, number, dtype=np.int64).view(np.float64)
            columns.append(np.broadcast_to(number, (runs.n_runs,)))
    return np.stack(columns, axis=1) if columns else np.zeros((runs.n_runs, 1))


def _keep_memory(runs: Runs, memory: np.ndarray, steps: int) -> None:
    at = 0
    for controlled in _controlled(runs):
        controller = getattr(runs, controlled.name)
        at += 1
        for name in controlled.fields:
            column = np.ascontiguousarray(memory[:, at])
            at += 1
            if isinstance(getattr(controller, name), (int, np.integer)):
                setattr(controller, name, int(column.view(np.int64)[0]))
            else:
                setattr(controller, name, column)


# --------------------------------------------------------------------------------- in memory


def _packed(values: np.ndarray, width: int) -> np.ndarray:
    """[groups, numbers, width] from [runs, numbers]; the last group is filled with its last run."""
    n_runs, n = values.shape
    n_groups = -(-n_runs // width)
    filled = np.empty((n_groups * width, n))
    filled[:n_runs] = values
    filled[n_runs:] = values[-1:]
    return np.ascontiguousarray(filled.reshape(n_groups, width, n).transpose(0, 2, 1))


def _unpacked(values: np.ndarray, n_runs: int) -> np.ndarray:
    return values.transpose(0, 2, 1).reshape(-1, values.shape[1])[:n_runs]


def _packed_constants(made: Program, n_runs: int) -> list[np.ndarray]:
    if not made.by_run:
        return [np.zeros(1)]
    return [_packed(np.concatenate(made.by_run, axis=1), made.lanes)]


def _targets(runs: Runs, steps: int, width: int) -> np.ndarray:
    """[steps or 1, runs]: targets that move, nats."""
    n_groups = -(-runs.n_runs // width)
    targets = np.zeros((1, n_groups * width))
    if runs.dynamics.target_schedule is not None:
        targets = np.zeros((steps, n_groups * width))
        for i in range(steps):
            targets[i, : runs.n_runs] = runs.target(runs.step + i)
            targets[i, runs.n_runs:] = targets[i, runs.n_runs - 1]
        runs.target(runs.step + steps - 1)
    return targets


def _step_number(runs: Runs) -> int:
    return runs.step


def _joined(parts: Sequence[Steps | None]) -> Steps | None:
    found = [part for part in parts if part is not None]
    if len(found) == 1:
        return found[0]
    return Steps(**{name: np.concatenate([getattr(part, name) for part in found])
                    for name in ("entropy", "reward", "temperature")})


assert FLOAT and diverged
