"""Runs whose steps are taken by JAX: the rule's own code under `jax.jit`, in one loop between reports.

Uniforms, controllers, batches and steps are those of `Runs`, in double precision whatever the caller's
settings of JAX are. JAX takes sums and running sums in another order than NumPy. So a draw may differ
where a uniform lies within rounding of a running sum: at one in 1e15.
"""

from __future__ import annotations

import copy
import importlib.util
from dataclasses import dataclass
from typing import Any

import numpy as np

from entropy_theory.policy import namespace, shift_logits
from entropy_theory.tabular import logit_step
from entropy_theory.token_batch import OPTIONAL_COLUMNS, REQUIRED_COLUMNS
from simulations.engine.block import RefusedError, StepMeasures
from simulations.engine.runs import CHUNK, Runs
from simulations.engine.sampling import MULTIPLIERS, ORDINARY, TEMPERED, batch_key, lanes
from simulations.engine.task import Task
from simulations.engine.traced.step import loops, state, with_policies

_ACCURACY = 1e-8  # of a step, relative to the largest of all: NumPy's or JAX's
_PROBED = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class JaxEngine:
    """Takes steps by JAX."""

    task: Task
    in_parallel: bool = False

    def block(self, part: slice) -> Runs:
        return JaxRuns(self.task.take_runs(part))


def of(task: Task) -> JaxEngine:
    """Prepare the engine for a task.

    Raises:
        RefusedError: JAX is missing, or what its compiled loop cannot take exactly.
    """
    if importlib.util.find_spec("jax") is None:
        raise RefusedError("JAX is not installed (pip install 'policy-entropy[jax]')")
    dynamics, loop = task.dynamics, task.dynamics.rule.coefficient_controller()
    for is_met, why in (
            (task.tree is not None or task.features is not None, "it knows no tree and no features"),
            (dynamics.steps_per_batch > 1, "it takes several optimizer steps on the same samples"),
            (dynamics.sampler is not None, "its sampler departs from the policy"),
            (not dynamics.optimizer.is_plain, "its optimizer is another than plain gradient steps"),
            (loop is not None and loop.forecasts, "its controller steers by the forecast of each step"),
            (dynamics.precision != "float64", "its steps are of double precision")):
        if is_met:
            raise RefusedError(why)
    probe = JaxRuns(task.take_runs(slice(0, min(_PROBED, task.n_runs))))
    import jax

    try:
        with jax.enable_x64(True):
            jax.eval_shape(probe._many, probe._carried(), probe._given(1), 1)
    except Exception as error:  # (The rule's own code runs here, on arrays without values.)
        why = str(error).partition("\n")[0]
        raise RefusedError(f"{type(error).__name__} under jax.jit: {why}") from error
    return JaxEngine(task=task)


class JaxRuns(Runs):
    """A block of runs on bandits and prompts, many steps at a time."""

    _loop: Any = None

    def __init__(self, task: Task, step: int = 0) -> None:
        super().__init__(task, step)
        self.draw()
        batch = self.token_batch()
        # What stays the same stays NumPy's: rules may ask for its values.
        self._fixed: dict[str, Any] = {name: getattr(batch, name) for name in (
            "group", "state", "sequence", "mask", "tempered")}

    def advance(self, steps: int, *, measured: bool) -> StepMeasures | None:
        self.evaluate()
        taken = []
        for begin in range(0, steps, CHUNK):
            n = min(CHUNK, steps - begin)
            if self._loop is None:
                self._check_steps()
            logits, memory, out = self._looped(n)
            if not np.isfinite(logits).all():  # NumPy finds the step, and raises.
                return super().advance(steps - begin, measured=measured)
            self.logits[...] = logits
            self._keep(memory)
            self.step += n
            taken.append(out[:n])
        entropy, reward, temperature = np.moveaxis(np.concatenate(taken), 1, 0)
        return StepMeasures(
            entropy=entropy, reward=reward, temperature=temperature) if measured else None

    def _looped(self, n: int) -> tuple[np.ndarray, list[Any], np.ndarray]:
        import jax

        with jax.enable_x64(True):
            self._loop = self._loop or jax.jit(self._many)
            (logits, memory), out = self._loop(self._carried(), self._given(n), n)
            return np.asarray(logits), memory, np.asarray(out)

    def _check_steps(self) -> None:
        """Raise ValueError where JAX's arrays lead the rule elsewhere than NumPy's, first or last."""
        for step in (self.step, self.dynamics.steps - 1):
            runs = copy.copy(self)
            runs.step = runs._evaluated = step
            found = runs._looped(1)[0] - self.logits
            self._loop = runs._loop
            runs.draw()
            expected = runs.change()
            accuracy = _ACCURACY * np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
            if not np.allclose(found, expected, rtol=0, atol=accuracy, equal_nan=True):
                raise ValueError(f"'{self.rule.name}' does something else with JAX's arrays than with "
                                 "NumPy's: use engine 'numpy'")

    def _many(self, carried: Any, given: dict[str, Any], n: Any) -> Any:
        """Take ``n`` of the steps given; return too what was measured before each, [steps, 3, runs]."""
        import jax

        def one(i: Any, held: Any) -> Any:
            (carried, out), now = held, {name: column[i] for name, column in given.items()}
            carried, measures = self._step(carried, now)
            return carried, out.at[i].set(measures)

        out = jax.numpy.zeros((CHUNK, 3, self.n_runs))
        return jax.lax.fori_loop(0, n, one, (carried, out))

    def _step(self, carried: Any, now: dict[str, Any]) -> Any:
        """Take one step: the logits and the controllers' memory after it, and the measures before."""
        import jax.numpy as xp

        logits, memory = carried
        runs = with_policies(self, logits, step=now["step"])
        memory = runs._controlled(memory, now)
        kinds = [ORDINARY] * self.has_ordinary + [TEMPERED] * (runs.temperature is not None)
        runs.draws = {} if self.samples is None else {
            kind: runs._drawn_actions(kind, now["key"]) for kind in kinds}
        batch = runs.token_batch()
        batch = batch.replace(checked=True, **{
            name: xp.asarray(column) for name in REQUIRED_COLUMNS + OPTIONAL_COLUMNS
            if (column := getattr(batch, name)) is not None} | self._fixed)
        change = self.learning_rate * logit_step(logits, self.rule.prepare(batch), self.rule)
        reward = (runs.probabilities * self.reward).sum(axis=-1).mean(axis=-1)
        temperature = xp.nan if runs.temperature is None else runs.temperature
        measures = xp.stack([runs.mean_entropy(), reward, temperature + 0 * reward])
        return (logits + change, memory), measures

    def _controlled(self, memory: list[Any], now: dict[str, Any]) -> list[Any]:
        """Let the controllers choose, unless they have for the first step; return what they hold."""
        xp, at = namespace(self.logits), 0
        chosen: list[Any] = []
        for loop in loops(self):
            controller = copy.copy(getattr(self, loop.name))
            for place, name in enumerate(controller.state):
                setattr(controller, name, memory[at + 1 + place])
            if controller.target_schedule is not None:
                controller.target, controller.target_schedule = now["target"], None
            setattr(self, loop.name, controller)
            at += 1 + len(controller.state)
        self._control()
        for loop in loops(self):
            controller = getattr(self, loop.name)
            held = [getattr(controller, name) for name in controller.state]
            after = [getattr(self, loop.setting), *held]
            before = memory[len(chosen) : len(chosen) + len(after)]
            chosen += [xp.where(now["first"], old, new) for old, new in zip(before, after, strict=True)]
            setattr(self, loop.setting, chosen[-len(after)])
        return chosen

    def _drawn_actions(self, kind: int, key: Any) -> Any:
        """Draw by the formula of `simulations.engine.sampling`: [runs, states, samples]."""
        import jax

        xp, samples = jax.numpy, self.samples
        assert samples is not None, "only sampled steps draw actions"
        size = samples.group_size if kind == ORDINARY else samples.tempered
        word = xp.asarray(lanes(kind, self.run_numbers, self.n_prompts, size)) + key
        for bits, factor in zip((30, 27), MULTIPLIERS, strict=True):
            word = (word ^ (word >> bits)) * np.uint64(factor)
        uniform = ((word ^ (word >> 31)) >> 11).astype(xp.float64) * 2.0**-53
        temperature: Any = 1.0 if kind == ORDINARY else self.temperature[:, None]  # type: ignore[index]
        running = xp.cumsum(shift_logits(self.logits, temperature).exponentials, axis=-1)
        find: Any = jax.vmap(jax.vmap(lambda sums, level: xp.searchsorted(sums, level, side="right")))
        return find(running[..., :-1], uniform * running[..., -1:])

    def _carried(self) -> Any:
        """Return the logits and, in the order of the controllers, what they chose and hold."""
        return np.ascontiguousarray(self.logits), [x for loop in loops(self) for x in state(self, loop)]

    def _keep(self, memory: list[Any]) -> None:
        for loop in loops(self):
            controller, (setting, *held) = getattr(self, loop.name), memory
            setattr(self, loop.setting, np.asarray(setting))
            for name, value in zip(controller.state, held, strict=False):
                setattr(controller, name, np.asarray(value) if np.ndim(value) else int(value))
            memory = memory[1 + len(controller.state) :]

    def _given(self, n: int) -> dict[str, Any]:
        """Return what differs from step to step, [CHUNK, ...], for the next ``n`` steps."""
        steps = range(self.step, self.step + n)
        given: dict[str, Any] = {"step": np.array(steps), "first": np.equal(steps, self._evaluated)}
        if self.samples is not None:
            keys = [batch_key(self.dynamics.seed, step + 1) for step in steps]
            given["key"] = np.array(keys, dtype=np.uint64)
        if self.targets_move:
            given["target"] = np.stack([self.target(step) for step in steps])
        return {name: np.resize(column, (CHUNK, *column.shape[1:])) for name, column in given.items()}
