"""Guards llm_bridge/accounting/rule_needs.py: what is said of a token is what its own move does."""

import numpy as np
import pytest
import torch
import transformers

from entropy_theory import tabular, update_rules
from tests.llm_bridge.language_models import tabular_trainer
from tests.llm_bridge.llama_steps import llama_trainer

# A symmetric difference that moves the mean entropy by 2^-8 is off by 2^-16 / 6 of a third derivative.
DIFFERENCE = 1e-4


def rule(name="clip-cov", **options):
    return update_rules.get(name, **{"covariance": "network", "ratio": 0.25, **options})


def seen_columns(made):
    """Keep the columns that each generation got, with the model's weights at that time."""
    fill, seen = made.entropy_effects, []

    def kept(columns, batch):
        found = fill(columns, batch)
        plain = made.accelerator.unwrap_model(made.model)
        seen.append((columns, batch, found, {
            name: w.detach().clone() for name, w in plain.state_dict().items()}))
        return found

    made.entropy_effects = kept
    return seen


def test_on_a_tabular_policy_the_effects_are_the_exact_ones(tmp_path):
    """Those of a listing, times the number of states, times the share of the samples at each."""
    made = tabular_trainer(tmp_path, rule(lower=-9.0, upper=9.0), learning_rate=0.1, micro_batches=2)
    seen = seen_columns(made)
    made.train()
    columns, batch, found, weights = seen[0]
    table = weights["table.weight"].numpy()
    states = columns["prompt_ids"][:, -1].numpy()
    share = np.bincount(states, minlength=len(table))[states] / len(states)
    expected = len(table) * tabular.entropy_effects(table)[states, batch.action[:, 0].numpy()] * share
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(
        found[:, 0].numpy(), expected, rtol=0, atol=DIFFERENCE * np.abs(expected).max())


@pytest.mark.parametrize("optim", ["sgd", "adamw_torch"])
def test_on_a_transformer_a_token_moves_entropy_by_its_effect(tmp_path, optim):
    """Its own score, scaled by the optimizer's second moment as it stands, and not the next step's."""
    made = llama_trainer(tmp_path, rule(lower=-9.0, upper=9.0), steps=1, optim=optim,
                         learning_rate=1e-3)
    kept = []

    class Keep(transformers.TrainerCallback):
        def on_optimizer_step(self, *_, **__):
            kept.extend(made.micro_batches)

    made.add_callback(Keep())
    made.train()
    (part,) = kept
    columns = part.inputs
    model = made.accelerator.unwrap_model(made.model)
    found = made.entropy_effects(columns, part.batch)
    parameters = list(model.parameters())
    scaling = [torch.ones_like(p) for p in parameters]
    if optim == "adamw_torch":
        # After one step the moment is 1 - beta of the square of that step's gradient, and so is the
        # correction.
        moments = [made.optimizer.state[p] for p in parameters]
        assert {float(moment["step"]) for moment in moments} == {1.0}
        scaling = [1 / ((moment["exp_avg_sq"] / 1e-3).sqrt() + 1e-8) for moment in moments]
    mask = part.batch.mask

    def mean_entropy():
        entropy = made.forward.statistics(model, columns).entropy
        return ((entropy * mask).sum(-1) / mask.sum(-1)).mean()

    slope = torch.autograd.grad(mean_entropy(), parameters)
    for place in ((0, 0), (5, 1), (11, 0)):
        log_prob = made.forward.statistics(model, columns).log_prob[place]
        score = torch.autograd.grad(log_prob, parameters)
        effect = sum(float((s * p * g).sum()) for s, p, g in zip(slope, scaling, score, strict=True))
        assert float(found[place]) == pytest.approx(effect, abs=DIFFERENCE * float(found.abs().max()))
