"""Guards llm_bridge/trainer/entropy_trainer.py: TRL takes the step that the rule says."""

import numpy as np
import pytest
import torch

from entropy_theory import entropy_change, policy, tabular, update_rules
from llm_bridge.trainer import draws
from tests.llm_bridge.language_models import tabular_trainer
from tests.llm_bridge.recorded_steps import (
    SMALL,
    Tables,
    off_policy_step,
    rebuilt_batch,
    recorded,
)
from tests.tolerances import FLOAT64, SAME_STEP

TOKEN_MEAN = update_rules.get("grpo", normalization="token-mean")
TRAINED = [(name, SMALL.get(name, {})) for name in update_rules.RULES if name != "natural-gradient"]
RULES = [("grpo", {}), ("aepo", {"ablation": "untempered"}), ("aepo", {"ablation": "advantage"}),
         ("aepo", {"form": "code", "replaced_rows": 4, "base": TOKEN_MEAN}),
         ("aent", {"warm_up_steps": 0, "coefficient": 0.1, "coefficient_high": 9.0,
                   "coefficient_step": 0.5, "removed_fraction": 0.4}),
         ("aepo", {"base": update_rules.get("entropy-bonus", target=9.0, coefficient=0.1)})]
"""Steps on-policy; every rule takes one off-policy, and in a loss (test_loss)."""
OFF_POLICY = [*TRAINED, ("clip-cov", {**SMALL["clip-cov"], "cov_log_prob": "current"}),
              ("kl-cov", {**SMALL["kl-cov"], "cov_log_prob": "current", "coefficient": 0.5}),
              ("kl-cov", {"ratio": 0.3, "cov_log_prob": "current", "penalty": "k2",
                          "base": update_rules.get("aent", warm_up_steps=0, coefficient=0.2)}),
              ("reference-kl", {"estimator": "k1", "placement": "reward", "coefficient": 0.5})]


def in_cuts(cases):
    """Each case in one micro-batch or in four, by turns."""
    return [(*case, 4 if place % 2 else 1) for place, case in enumerate(cases)]


@pytest.mark.parametrize(("name", "options", "micro_batches"), in_cuts(RULES), ids=str)
def test_trl_takes_the_simulators_step(tmp_path, name, options, micro_batches):
    """One rule, two scales, through all of TRL: SGD on a tabular policy moves its logits by exactly
    learning rate x the simulator's step, however the rows are cut (accumulation does not rescale).
    """
    rule = update_rules.get(name, **options)
    made = tabular_trainer(tmp_path, rule, micro_batches=micro_batches)
    table = made.model.table.weight
    before = table.detach().numpy().copy()
    (parts,) = recorded(made)
    assert len(parts) == micro_batches
    batch = rebuilt_batch(parts, before, made, rule)
    assert 0 < batch.reward.mean() < 1
    expected = 0.5 * tabular.logit_step(before, batch, rule)
    assert np.abs(expected).max() > 1e-2
    np.testing.assert_allclose(table.detach().numpy() - before, expected, rtol=0, atol=SAME_STEP)


def test_several_steps_on_one_generation_share_its_statistics(tmp_path):
    """With k optimizer steps a generation each step's weights are k/N: their sum is k whole steps.

    The learning rate is so small that the policy does not move between the steps: the ratio, and
    with it the sum of steps, is off by about the learning rate.
    """
    rate = 1e-9
    rule = update_rules.get("grpo")
    made = tabular_trainer(tmp_path, rule, micro_batches=2, steps=2, learning_rate=rate,
                           gradient_accumulation_steps=1, steps_per_generation=2)
    before = made.model.table.weight.detach().numpy().copy()
    first, second = recorded(made)
    batch = rebuilt_batch(first + second, before, made)
    found = (made.model.table.weight.detach().numpy() - before) / rate
    # Logits of order 1 are stored to 1e-16: 1e-7 after division by the rate.
    np.testing.assert_allclose(found, 2 * tabular.logit_step(before, batch, rule), atol=1e-6)


@pytest.mark.parametrize("rule", [
    update_rules.get("kl-cov", ratio=0.3),
    update_rules.get("gspo", clip_low=0.0, clip_high=0.0),
], ids=lambda rule: rule.name)
def test_ratios_of_an_on_policy_step_are_exactly_one(tmp_path, monkeypatch, rule):
    """Scoring and training differ by rounding, which a penalty or a clip with an edge at 1 follows."""
    made = tabular_trainer(tmp_path, rule, micro_batches=2, steps=2, num_iterations=2)
    score = made.scoring.statistics

    def rounded(*arguments, **options):
        found = score(*arguments, **options)
        sign = torch.where(torch.rand(found["log_prob"].shape) < 0.5, -1.0, 1.0)
        return {**found, "log_prob": found["log_prob"] + 5e-4 * sign}

    monkeypatch.setattr(made.scoring, "statistics", rounded)
    first, second = recorded(made)
    for part in first:
        assert (part.batch.old_log_prob == part.batch.log_prob)[part.batch.mask].all()
        on_policy = part.batch.replace(old_log_prob=part.batch.log_prob)
        expected = getattr(rule, "base", rule).scores(on_policy)
        torch.testing.assert_close(part.scores, expected)
        assert expected.any()
    assert all((part.batch.old_log_prob != part.batch.log_prob).any() for part in second)


@pytest.mark.parametrize(("name", "options", "micro_batches"), in_cuts(OFF_POLICY), ids=str)
def test_a_second_step_on_the_same_samples_is_the_simulators(tmp_path, name, options, micro_batches):
    """Off-policy: ratios, penalties and a reference that is the starting policy come into play.

    Guards the reference model, coefficients, and a selection by the current policy, which must see
    the policy after the first step (and one by the old policy, which must not).
    """
    rule = update_rules.get(name, **options)
    made = tabular_trainer(
        tmp_path, rule, steps=2, num_iterations=2, micro_batches=micro_batches
    )
    tables = Tables(made)
    made.add_callback(tables)
    _, second = recorded(made)
    expected, _ = off_policy_step(second, tables.found, made, rule)
    # A coefficient that were observed a second time would show: tables.found[2] is after the step.
    found = tables.found[2] - tables.found[1]
    assert np.abs(found).max() > 1e-3
    np.testing.assert_allclose(found, 0.5 * expected, rtol=0, atol=SAME_STEP)


def test_record_of_a_step(tmp_path):
    """Each number of metrics.jsonl, computed by other means."""
    records = []
    rule = update_rules.get("entropy-bonus", coefficient=0.3)
    made = tabular_trainer(tmp_path, rule, on_step=records.append)
    before = made.model.table.weight.detach().numpy().copy()
    ((part,),) = recorded(made)
    (record,) = records
    batch = rebuilt_batch([part], before, made)
    states = np.unique(batch.state)
    answers = [len(np.unique(batch.action[batch.state == state])) for state in states]
    assert record["step"] == 1
    assert record["reward"] == pytest.approx(batch.reward.mean())
    assert record["distinct_answers"] == np.mean(answers)
    assert record["coefficient"] == 0.3
    assert record["temperature"] is None
    assert record["mean_length"] == 1
    group, reward = batch.group[:, 0], batch.reward[:, 0]
    assert record["best_reward"] == np.mean([reward[group == g].max() for g in np.unique(group)])
    advantage = np.zeros(len(reward))
    for g in np.unique(group):
        here = group == g
        advantage[here] = (reward[here] - reward[here].mean()) / max(reward[here].std(), 1e-300)
    expected = np.cov(batch.log_prob[:, 0], advantage, ddof=0)[0, 1]
    assert record["covariance"] == pytest.approx(expected, rel=1e-6)
    # Under SGD on a tabular policy the forecast is the first-order change of the mean entropy.
    step = 0.5 * tabular.logit_step(before, batch, rule)
    change = entropy_change.first_order(before, step)[states].mean()
    assert record["forecast_entropy_change"] == pytest.approx(change, abs=SAME_STEP)


@pytest.mark.parametrize("name", ["aepo", "aent"])
def test_the_policy_is_that_of_the_temperature(tmp_path, monkeypatch, name):
    """softmax(logits / T): scores, entropies, the step and its forecast are its, and a second batch is
    drawn at the controller's temperature times T."""
    drawn = []
    original = draws.sample_groups
    monkeypatch.setattr(draws, "sample_groups", lambda *arguments, temperature, **options: drawn.append(
        temperature) or original(*arguments, temperature=temperature, **options))
    T, records = 0.5, []
    rule = update_rules.get(name, **{"aepo": {"target": 9.0, "temperature_high": 1.4},
                                     "aent": {"adaptive": False}}.get(name, {}))
    made = tabular_trainer(tmp_path, rule, temperature=T, on_step=records.append)
    table = made.model.table.weight
    before = table.detach().numpy().copy()
    (parts,) = recorded(made)
    assert drawn == pytest.approx([T, 1.4 * T] if name == "aepo" else [T])
    batch = rebuilt_batch(parts, before / T, made, rule)
    expected = 0.5 / T * tabular.logit_step(before / T, batch, rule)
    assert np.abs(expected).max() > 1e-2
    np.testing.assert_allclose(table.detach().numpy() - before, expected, rtol=0, atol=SAME_STEP)
    states = np.unique(batch.state)
    (record,) = records
    entropy = policy.entropy(before / T)[states]
    assert record["entropy"] == pytest.approx(entropy.mean(), abs=64 * FLOAT64)
    change = entropy_change.first_order(before / T, expected / T)[states].mean()
    assert record["forecast_entropy_change"] == pytest.approx(change, abs=SAME_STEP)
