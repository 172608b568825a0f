"""Guards llm_bridge/trainer: along whole runs a rule is shown the steps that the simulator shows it.

A first step tells little: fading acts later.
"""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from entropy_theory import update_rules
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.modifier import Modifier
from simulations.engine import Dynamics, simulate
from tests.adversarial_rules import Fading
from tests.llm_bridge.language_models import StopAt, tabular_trainer
from tests.llm_bridge.recorded_steps import Tables

STEPS, STATES, ACTIONS, RATE = 40, 2, 5, 0.6


def start() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(STATES, ACTIONS))


def reward() -> np.ndarray:
    found = np.zeros((STATES, ACTIONS))
    found[0, :2] = found[1, 3] = 1.0
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Spy(Modifier):
    """Its base, and the (step, seed) that its scores and its ``prepare`` were shown."""

    name: ClassVar[str] = "spy"
    own_reads: ClassVar[frozenset[str]] = frozenset({"step", "seed"})
    seen: dict[str, list] = dataclasses.field(
        default_factory=lambda: {"scores": [], "prepare": []}, compare=False, repr=False)

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        self.seen["prepare"].append((batch.step, batch.seed))
        return self.base.prepare(batch)

    def _scores(self, batch: TokenBatch):
        self.seen["scores"].append((batch.step, batch.seed))
        return self.base.scores(batch)


def distinct(seen: list) -> list:
    """In order, without immediate repetitions: how often a rule is asked is nobody's promise."""
    return [pair for i, pair in enumerate(seen) if i == 0 or pair != seen[i - 1]]


MODES = {
    "one step a batch": (1, {}),
    "accumulated": (1, {"micro_batches": 4}),
    "two iterations": (2, {"num_iterations": 2}),
    "two iterations, accumulated": (2, {"num_iterations": 2, "micro_batches": 2}),
    "two mini-batches": (2, {"micro_batches": 2, "gradient_accumulation_steps": 1,
                             "steps_per_generation": 2}),
}


@pytest.mark.parametrize("mode", MODES)
def test_step_and_seed_are_the_simulators(tmp_path, mode):
    """In the trainer a rule sees the numbers that the simulator shows it: those of each optimizer step,
    also where it was prepared for several of them, and the run's seed. (Micro-batches counted as steps,
    or the step of the generation in all of its steps, would show here.)
    """
    steps_per_batch, options = MODES[mode]
    spies = [Spy(base=update_rules.get("grpo")) for _ in range(2)]
    dynamics = Dynamics(rule=spies[0], steps=4, steps_per_batch=steps_per_batch, seed=7,
                        engine="numpy")
    simulate(start()[None], reward()[None], dynamics)
    made = tabular_trainer(tmp_path, spies[1], steps=4, seed=7, **options)
    made.train()
    for asked, every in (("scores", 1), ("prepare", steps_per_batch)):
        expected = [(step, 7) for step in range(0, 4, every)]
        # The simulator first tries what the rule declares, on batches of its own.
        assert distinct(spies[0].seen[asked])[-len(expected) :] == expected
        assert distinct(spies[1].seen[asked]) == expected


def test_a_resumed_run_goes_on_counting(tmp_path):
    """The second half of a run sees the second half of the steps."""
    first = tabular_trainer(tmp_path, Spy(), steps=4, save_steps=2, save_strategy="steps")
    first.add_callback(StopAt(2))
    first.train()
    rule = Spy()
    resumed = tabular_trainer(tmp_path, rule, steps=4, save_steps=2, save_strategy="steps")
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))
    assert distinct(rule.seen["scores"]) == [(2, 42), (3, 42)]


@pytest.mark.parametrize("options", [{}, {"num_iterations": 2}], ids=str)
def test_a_rule_fades_in_training(tmp_path, options):
    """A rule that fades out over three steps takes its whole step, two thirds, a third, and none."""
    made = tabular_trainer(tmp_path, Fading(steps=3), steps=5, **options)
    tables = Tables(made)
    made.add_callback(tables)
    made.train()
    moved = [np.abs(after - before).max()
             for before, after in zip(tables.found, tables.found[1:], strict=False)]
    assert min(moved[:3]) > 1e-3
    assert moved[3:] == [0, 0]
