"""Guards llm_bridge/trainer: along whole runs a rule moves a torch module, and a trainer, as it moves the
simulator's policies.

A first step tells little: fading, references, controllers and ratios act later.
"""

import dataclasses

import numpy as np
import pytest
import torch

from entropy_theory import update_rules
from entropy_theory.tabular import exact_batch
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.modifier import Modifier
from entropy_theory.update_rules.rule import Needs, update_rule
from llm_bridge.head import token_statistics
from llm_bridge.objective.loss import clamped_fraction, detached, policy_loss
from llm_bridge.trainer import controllers
from simulations.engine import Dynamics, Record, simulate
from tests.adversarial_rules import HONEST, Fading
from tests.llm_bridge.language_models import tabular_trainer
from tests.tolerances import FLOAT64

STEPS, STATES, ACTIONS, RATE = 40, 2, 5, 0.6
OPTIONS = {
    "entropy-bonus": {"coefficient": 0.1, "target": 1.2, "coefficient_step": 0.01},
    "diverse-bonus": {"coefficient": 0.2},
    "reference-kl": {"coefficient": 0.2}, "clip-cov": {"ratio": 0.2, "lower": 0.01},
    "kl-cov": {"ratio": 0.2}, "gspo": {"clip_low": 0.1, "clip_high": 0.1},
    "aepo": {"alpha": 0.7, "target": 1.2, "control": "proportional"},
    "aent": {"coefficient": 0.1, "removed_fraction": 0.4, "warm_up_steps": 2,
             "coefficient_high": 0.5, "coefficient_step": 0.05},
}
"""With which a rule acts, and its controller moves, within the run."""
RULES = {
    **{name: update_rules.get(name, **OPTIONS.get(name, {})) for name in update_rules.RULES},
    **{kind.name: kind() for kind in HONEST},
    "of each prompt": update_rules.get("diverse-bonus", coefficient=0.2, prompt_gain=0.5),
    "fading in the run": Fading(steps=30),
}
SAME_RUN = 2**15 * FLOAT64 * RATE
"""Absolute, for logits: each step of size up to RATE rounds a few dozen products of order 1, in another
order here than there, and the error of a step is passed on by at most a factor of e^(RATE / 4)."""


def start() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(STATES, ACTIONS))


def reward() -> np.ndarray:
    found = np.zeros((STATES, ACTIONS))
    found[0, :2] = found[1, 3] = 1.0
    return found


class Module(torch.nn.Module):
    """The table of logits, and the listing of all its actions as a batch with gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.logits = torch.nn.Parameter(torch.tensor(start()))

    def listing(self, rule: update_rules.UpdateRule, temperature: float | None) -> TokenBatch:
        """Every action of every state with its probability, by the theory's listing."""
        logits = self.logits.detach().numpy()
        reference = start() if "reference_log_prob" in rule.needs.columns else None
        listed = exact_batch(
            logits, reward(), temperature=temperature, reference_logits=reference,
            removed_fraction=rule.needs.removed_fraction,
        )
        columns = {
            field.name: torch.tensor(np.ascontiguousarray(column))
            for field in dataclasses.fields(listed)
            if isinstance(column := getattr(listed, field.name), np.ndarray)
        }
        sequence = torch.arange(len(listed.mask))[:, None]
        return self.with_statistics(
            TokenBatch(**{**columns, "sequence": sequence}, listed=True), rule)

    def with_statistics(self, batch: TokenBatch, rule: update_rules.UpdateRule) -> TokenBatch:
        """The columns of the policy as it is now, with gradients."""
        found = token_statistics.from_logits(
            self.logits[batch.state], batch.action, removed_fraction=clamped_fraction(rule))
        return batch.replace(log_prob=found.log_prob, entropy=found.entropy,
                             clamped_entropy=found.clamped_entropy)


def trained(rule: update_rules.UpdateRule, steps_per_batch: int, seed: int) -> np.ndarray:
    """The logits after each step of plain SGD on the trainer's loss: [steps + 1, states, actions]."""
    module = Module()
    optimizer = torch.optim.SGD(module.parameters(), lr=RATE)
    loop, coefficients = rule.controller(), rule.coefficient_controller()
    found = [start()]
    for step in range(STEPS):
        if step % steps_per_batch == 0:
            temperature = None
            if loop is not None or coefficients is not None:
                seen = detached(module.listing(rule, None))
            if loop is not None:
                temperature = controllers.observe(loop, seen, step=step, ahead=steps_per_batch)
            batch = detached(module.listing(rule, temperature)).replace(step=step, seed=seed)
            if coefficients is not None:
                value = controllers.observe(coefficients, seen, step=step, ahead=steps_per_batch)
                batch = batch.replace(coefficient=torch.full_like(batch.weight, value))
            kept = rule.prepare(batch)
        current = module.with_statistics(kept.replace(step=step), rule)
        if step % steps_per_batch and rule.needs.every_step:
            again = rule.prepare(detached(current).replace(prepared={})).prepared
            current = current.with_prepared(**again)
        optimizer.zero_grad()
        policy_loss(current, rule).backward()
        optimizer.step()
        found.append(module.logits.detach().numpy().copy())
    return np.array(found)


@pytest.mark.parametrize("name", RULES)
def test_autograd_follows_the_simulator(name):
    """Forty steps, exact listing. A column of the loss that kept the value of the first step (the step's
    number, the reference, the old policy, the coefficient) would part the two.
    """
    rule = RULES[name]
    run = simulate(
        start()[None], reward()[None],
        Dynamics(rule=rule, learning_rate=RATE, steps=STEPS, steps_per_batch=4,
                 record_every=1, seed=11, engine="numpy"),
        record=Record(logits=True),
    )
    expected = run.logits[:, 0]
    found = trained(rule, steps_per_batch=4, seed=11)
    # Logits are compared as policies are: up to a constant of each state.
    found, expected = (x - x.mean(axis=-1, keepdims=True) for x in (found, expected))
    np.testing.assert_allclose(found, expected, rtol=0, atol=SAME_RUN)
    assert np.abs(np.diff(expected[-6:], axis=0)).max() > 1e-6 or name == "fading in the run"


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


