"""Guards llm_bridge/trainer: a rule is told the step and the seed that the simulator tells it."""

import dataclasses

import numpy as np
import pytest
import torch

from entropy_theory import update_rules
from entropy_theory.schedules import Points
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.modifier import Modifier
from entropy_theory.update_rules.rule import Needs, update_rule
from simulations.engine import Dynamics, simulate
from tests.llm_bridge.language_models import tabular_trainer
from tests.llm_bridge.recorded_steps import recorded


@update_rule("spy")
class Spy(Modifier):
    """Its base, and the (step, seed) that its scores and its ``prepare`` were shown."""

    _needs = Needs(reads={"step", "seed"})
    seen: dict[str, list] = dataclasses.field(
        default_factory=lambda: {"scores": [], "prepare": []}, compare=False, repr=False)

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        self.seen["prepare"].append((batch.step, batch.seed))
        return self.base.prepare(batch)

    def _scores(self, batch: TokenBatch):
        self.seen["scores"].append((batch.step, batch.seed))
        return self.base.scores(batch)


@pytest.mark.parametrize(("steps_per_batch", "options"), [
    (1, {}), (2, {"num_iterations": 2, "micro_batches": 2}),
    (2, {"micro_batches": 2, "gradient_accumulation_steps": 1, "steps_per_generation": 2})], ids=str)
def test_step_and_seed_are_the_simulators(tmp_path, steps_per_batch, options):
    """In the trainer a rule sees the numbers that the simulator shows it: those of each optimizer step,
    also where it was prepared for several of them, and the run's seed. (Micro-batches counted as steps,
    or the step of the generation in all of its steps, would show here.)
    """
    spies = [Spy(base=update_rules.get("grpo")) for _ in range(2)]
    logits = np.random.default_rng(3).normal(size=(1, 2, 5))
    simulate(logits, np.eye(2, 5)[None], Dynamics(
        rule=spies[0], steps=4, steps_per_batch=steps_per_batch, seed=7, engine="numpy"))
    tabular_trainer(tmp_path, spies[1], steps=4, seed=7, **options).train()
    for asked, every in (("scores", 1), ("prepare", steps_per_batch)):
        expected = [(step, 7) for step in range(0, 4, every)]
        # How often a rule is asked is nobody's promise, and the simulator first tries what the rule
        # declares, on batches of its own.
        simulated, trained = (list(dict.fromkeys(spy.seen[asked])) for spy in spies)
        assert simulated[-len(expected) :] == trained == expected


def test_a_scheduled_coefficient_moves_within_a_generation(tmp_path):
    """At each of two optimizer steps on the same completions, in the step and in its record."""
    records = []
    schedule = Points(points=((0, 0.5), (1, 0.1), (2, 0.4)))
    rule = update_rules.get("entropy-bonus", coefficient_schedule=schedule)
    made = tabular_trainer(tmp_path, rule, steps=2, num_iterations=2, on_step=records.append)
    steps = recorded(made)
    assert [record["coefficient"] for record in records] == [0.5, 0.1]
    plain = update_rules.get("entropy-bonus", coefficient=1.0)
    for (part,), coefficient in zip(steps, (0.5, 0.1), strict=True):
        unit = plain.state_terms(part.batch)["entropy"]
        torch.testing.assert_close(part.state_terms["entropy"], coefficient * unit)
