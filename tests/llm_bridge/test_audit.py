"""Guards llm_bridge/analysis/audit.py: each error of a forecast has its address."""

import numpy as np
import pytest
import torch
import transformers

from entropy_theory import update_rules
from entropy_theory.support import results
from llm_bridge.analysis import audit, audited_step
from llm_bridge.head import per_token
from tests.llm_bridge.language_models import tabular_trainer
from tests.llm_bridge.llama_steps import llama_trainer
from tests.llm_bridge.memory import Tables

IDENTITY = 1e-10
"""Nats; the promise of the three forecasts: (iii) is the measured entropy change."""


@pytest.mark.parametrize(("name", "options", "micro_batches"), [
    ("aepo", {}, 1),
    ("aent", {"coefficient": 0.5, "adaptive": False, "removed_fraction": 0.4,
              "base": "entropy-bonus"}, 2),
])
def test_on_a_tabular_policy_under_sgd_the_coefficients_announce_the_change(
    tmp_path, name, options, micro_batches
):
    """There the tabular assumption holds: exact (i), exact (iii) and the measured change agree.

    Guards the sharing of states, the tempered rows, entropy terms, weights and the learning rate.
    """
    made = tabular_trainer(
        tmp_path, update_rules.get(name, **options), steps=3, micro_batches=micro_batches
    )
    auditor = audit.Auditor(made)
    made.add_callback(auditor)
    made.train()
    assert [step.step for step in auditor.steps] == [1, 2, 3]
    for step in auditor.steps:
        assert abs(step.measured) > 1e-4
        assert step.exact == pytest.approx(step.measured, rel=0, abs=IDENTITY)
        assert step.coefficients_exact == pytest.approx(step.measured, rel=0, abs=IDENTITY)
        assert 0.5 * step.coefficients == pytest.approx(step.first_order, rel=0, abs=IDENTITY)
        assert step.entropy_gradient == pytest.approx(step.first_order, rel=0, abs=IDENTITY)
        assert step.accounted == pytest.approx(step.measured, rel=0.02, abs=1e-8)
        assert sum(step.parts.values()) == pytest.approx(step.accounted, rel=0, abs=IDENTITY)
        # A wrong weight of tokens in the mean would cancel above, but not token by token.
        np.testing.assert_allclose(
            step.by_token["coefficients_exact"], step.by_token["measured"], rtol=0, atol=IDENTITY
        )
        assert step.tokens == 24
        assert step.states == 3
    found = audit.summary(auditor.steps)["tokens"]
    assert found["dominant"] == "first order"
    assert found["slope"]["coefficients"] == pytest.approx(0.5, rel=0.5)


def clipped_steps(tmp_path):
    made = tabular_trainer(tmp_path, update_rules.get("entropy-bonus", coefficient=0.5), steps=3)
    made.args.max_grad_norm = 0.01
    auditor = audit.Auditor(
        made, details=audit.Details(folder=tmp_path / "audit", kernel_states=0))
    made.add_callback(auditor)
    made.train()
    return auditor.steps


def test_the_gradients_part_is_divided_over_rules_and_answers(tmp_path):
    """Swapped divisions, or those of the gradient before it was clipped."""
    steps = clipped_steps(tmp_path)
    for step in steps:
        assert step.by_rule.keys() == {"entropy-bonus", "grpo"}
        assert step.by_answer.keys() == {"right", "wrong"}
        assert step.by_rule["entropy-bonus"] > 0  # a bonus on independent logits raises entropy
        whole = step.parts["gradient"] + step.parts["clipping"]
        assert abs(step.parts["clipping"]) > abs(whole)
        for division in (step.by_rule, step.by_answer):
            assert sum(division.values()) == pytest.approx(whole, rel=0, abs=IDENTITY)
    divided = audit.summary(steps)["divided"]
    assert divided["parts"]["clipping"] == pytest.approx(sum(s.parts["clipping"] for s in steps))
    assert divided["by_rule"]["grpo"] == pytest.approx(sum(s.by_rule["grpo"] for s in steps))
    assert divided["by_answer"]["right"] == pytest.approx(sum(s.by_answer["right"] for s in steps))


def test_on_a_transformer_the_identity_holds_and_the_assumption_does_not(audited):
    """Shared parameters break (i); (iii) stays the measured change, for AdamW too."""
    stored = results.read_json(audited[0] / "audit.json")
    assert [step["step"] for step in stored["steps"]] == [1, 2]
    for step in stored["steps"]:
        assert step["exact"] == pytest.approx(step["measured"], rel=0, abs=IDENTITY)
        assert abs(step["coefficients_exact"] - step["measured"]) > 1e-6
        assert step["states"] < step["tokens"]  # first tokens share their prompt's state
        # AdamW, a step that is large for this model: the account holds where first order does not.
        assert step["accounted"] == pytest.approx(step["measured"], rel=0.02)
        assert abs(step["entropy_gradient"] - step["measured"]) < abs(
            step["coefficients_exact"] - step["measured"])
        assert {"gradient", "rounding"} <= step["parts"].keys()
    assert stored["summary"]["steps"]["correlation"]["accounted"] > 0.999
    assert stored["summary"]["steps"]["slope"]["entropy_gradient"] > 0
    assert stored["summary"]["steps"]["identity_error"] <= IDENTITY
    assert stored["provenance"]["seed"] == 0


def test_measured_changes_are_those_of_the_model(tmp_path, monkeypatch):
    """Entropy before and after, from the model itself, at the audited rows (cut to a few tokens)."""
    monkeypatch.setattr(audit, "TABLE_ELEMENTS", 16 * 5)
    made = tabular_trainer(tmp_path, update_rules.get("grpo"))
    logits = made.model.table.weight

    class Watch(transformers.TrainerCallback):
        def on_pre_optimizer_step(self, *_, **__):
            ids = made.micro_batches[0].inputs["prompt_ids"][:5, -1]
            self.states, self.before = ids, self.mean_entropy(ids)

        def on_optimizer_step(self, *_, **__):
            self.after = self.mean_entropy(self.states)

        def mean_entropy(self, ids):
            return torch.distributions.Categorical(logits=logits[ids]).entropy().mean().item()

    watch, auditor = Watch(), audit.Auditor(made)
    made.add_callback(watch)
    made.add_callback(auditor)
    made.train()
    (step,) = auditor.steps
    assert step.tokens == 5
    assert step.entropy == pytest.approx(watch.before, abs=1e-12)
    assert step.measured == pytest.approx(watch.after - watch.before, abs=1e-12)
    # The account is of the audited rows alone.
    assert step.entropy_gradient == pytest.approx(step.first_order, abs=1e-12)


def test_no_table_is_larger_than_the_audited_tokens(tmp_path, monkeypatch):
    """Logits of the whole step, of whole rows of it at once, or a kernel's over more than its states: of
    24 completions with six tokens, 40 tokens are audited."""
    vocabulary, audited = 1009, 40
    monkeypatch.setattr(per_token, "CHUNK_ELEMENTS", {"cpu": 16 * vocabulary})
    monkeypatch.setattr(audit, "TABLE_ELEMENTS", audited * vocabulary)
    monkeypatch.setattr(audited_step, "PASS_ELEMENTS", 12 * vocabulary)
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=vocabulary, hidden_size=16, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=64))
    made = llama_trainer(tmp_path, update_rules.get("grpo"), model=model, max_completion_length=6)
    auditor = audit.Auditor(made, details=audit.Details(
        folder=tmp_path / "audit", kernel_states=2, kernel_actions=2))
    made.add_callback(auditor)
    with Tables(vocabulary) as seen:
        made.train()
    (step,) = auditor.steps
    assert 24 < step.tokens <= audited
    assert not {rows: n for rows, n in seen.made.items() if n and rows > audited}
    assert step.exact == pytest.approx(step.measured, rel=0, abs=IDENTITY)
