"""Guards the account of llm_bridge/diagnostics.py: any TRL trainer's loss, forecast and measured."""

import numpy as np
import pytest
import torch
import trl

from entropy_theory import entropy_change, policy
from entropy_theory.accounting import SHARE
from llm_bridge import diagnostics
from tests.llm_bridge.language_models import (
    PROMPTS,
    RlooFromLogits,
    ScoringFromLogits,
    grpo_trainer,
    loaded_llama,
    tabular,
)

EXACT = 1e-11
"""Nats: sums of some thousand float64 numbers of order 1."""


RLOO = {"kind": RlooFromLogits, "config": trl.RLOOConfig, "beta": 0.0}
"""TRL's other trainer with groups has the same hooks, and a loss that weighs whole answers."""


@pytest.mark.parametrize(("options", "micro_batches"), [
    ({"loss_type": "cispo"}, 2), ({"loss_type": "grpo", "entropy_coef": 0.3, "temperature": 1.5}, 1),
    (RLOO, 2)], ids=str)
def test_on_a_tabular_policy_forecast_and_account_are_the_change(tmp_path, options, micro_batches):
    """Under SGD: no formula of a loss could hide a wrong scale from the step that was really taken."""
    model, tokenizer = tabular()
    records = []
    made = grpo_trainer(tmp_path, model, tokenizer, micro_batches=micro_batches,
                        **{"max_grad_norm": 0.01, "kind": ScoringFromLogits, **options})
    diagnostics.attach(made, account_every=1, account_tokens=True, coefficients_every=1,
                       on_step=records.append)
    temperature = options.get("temperature", 1.0)
    before = model.table.weight.detach().numpy() / temperature
    made.train()
    step = model.table.weight.detach().numpy() / temperature - before
    states = [row[-1] for row in tokenizer(list(PROMPTS)).input_ids]
    (record,) = records
    assert record["entropy_gradient"] == pytest.approx(
        entropy_change.first_order(before, step)[states].mean(), abs=EXACT)
    assert record["entropy"] == pytest.approx(policy.entropy(before)[states].mean(), abs=1e-12)
    clip = 0.01 / (made.state.log_history[0]["grad_norm"] + 1e-6)
    assert record["forecast_entropy_change"] == pytest.approx(record["entropy_gradient"] / clip, rel=1e-6)
    change = policy.entropy(before + step)[states].mean() - policy.entropy(before)[states].mean()
    assert abs(change) > 1e-5
    assert record["measured_entropy_change"] == pytest.approx(change, abs=EXACT)
    assert record["accounted"] == pytest.approx(change, rel=SHARE)
    parts = {name: record[f"accounted/{name}"] for name in ("gradient", "clipping", "rounding")}
    assert sum(parts.values()) == pytest.approx(record["accounted"], abs=EXACT)
    assert parts["clipping"] * parts["gradient"] < 0
    assert record["accounted_token_gap"] < 1e-4


class OneSided(ScoringFromLogits):
    """A loss to which answers on one side of their group's mean are nothing."""

    keeps = 0

    def _compute_loss(self, model, inputs):
        advantages = inputs["advantages"]
        kept = torch.where(torch.sign(advantages) == -self.keeps, 0.0, advantages)
        return super()._compute_loss(model, {**inputs, "advantages": kept})


def test_answers_above_and_below_their_groups_mean_do_what_each_does_alone(tmp_path):
    """A step too short to bend: the loss of one side alone is forecast to do that side's part."""
    rate, found = 1e-5, {}
    for side, keeps in (("both", 0), ("better", 1), ("worse", -1)):
        records = []
        made = grpo_trainer(tmp_path, *tabular(), kind=OneSided, micro_batches=2,
                            learning_rate=rate)
        made.keeps = keeps
        diagnostics.attach(made, account_every=1, account_tokens=side == "both", on_step=records.append)
        made.train()
        (found[side],) = records
    parts = {side: found["both"][f"accounted/{side}"] for side in ("better", "worse")}
    for side, part in parts.items():
        # Slopes along the path differ from that at its start by order of the step, some 1e-5 of them.
        assert part == pytest.approx(found[side]["entropy_gradient"], rel=1e-3)
        assert abs(part) > 1e-3 * rate
        assert "accounted/gradient" in found[side]
        assert not {"accounted/better", "accounted/worse", "accounted_token_gap",
                    "accounted_token_rounding"} & found[side].keys()
    # GRPO's loss moves nothing by answers of advantage 0.
    assert sum(parts.values()) == pytest.approx(found["both"]["accounted/gradient"], abs=EXACT * rate)


def watched(folder, *, watch=True, steps=4, **options):
    """TRL's own loss on a transformer with dropout, under AdamW."""
    model, tokenizer = loaded_llama(folder / "model", dropout=0.2)
    made = grpo_trainer(folder / "run", model, tokenizer, steps=steps, micro_batches=2, tokens=4,
                        optim="adamw_torch", learning_rate=1e-3)
    records = []
    if watch:
        diagnostics.attach(made, on_step=records.append, **{"account_every": 1, **options})
    return made, records


def test_on_a_transformer_the_account_meets_the_measured_change(tmp_path):
    """Dropout is in the loss and not in the measurement; sums and correlation are those of the steps."""
    made, records = watched(tmp_path)
    made.train()
    forecast, measured = (
        np.array([record[name] for record in records])
        for name in ("entropy_gradient", "measured_entropy_change")
    )
    for record in records:
        # Float32: the rounding that the accountant allows for is some 1e-6 nats here.
        assert record["accounted"] == pytest.approx(
            record["measured_entropy_change"], rel=SHARE, abs=2e-6)
    assert np.abs(measured).max() > 1e-5
    assert records[-1]["entropy_gradient_cumulative"] == pytest.approx(forecast.sum())
    assert records[-1]["measured_entropy_change_cumulative"] == pytest.approx(measured.sum())
    assert "entropy_gradient_correlation" not in records[1]
    assert records[-1]["entropy_gradient_correlation"] == pytest.approx(
        np.corrcoef(forecast, measured)[0, 1])
    assert "diagnostics/accounted/momentum" in made.state.log_history[1]
