"""Guards llm_bridge/diagnostics.py: what it says of a user's loss is true, and the loss is the user's."""

import logging

import numpy as np
import pytest
import torch
import transformers
import trl

from entropy_theory import update_rules
from entropy_theory.token_batch import TokenBatch
from llm_bridge import diagnostics
from llm_bridge.analysis.tokens import mean_covariances
from llm_bridge.head import per_token
from llm_bridge.running.step_log import StepLog
from tests.llm_bridge.language_models import (
    ScoringFromLogits,
    grpo_trainer,
    loaded_llama,
    tabular,
    tabular_trainer,
)
from tests.llm_bridge.memory import Tables
from tests.tolerances import FLOAT64


@pytest.mark.parametrize("checkpointed", [False, True])
def test_training_is_what_it_is_without(tmp_path, checkpointed):
    """Bit for bit, on TRL's own scoring with dropout on: no random number more, no gradient changed."""
    weights, logs = [], []
    for watched in (False, True):
        model, tokenizer = loaded_llama(tmp_path / "model", dropout=0.2)
        made = grpo_trainer(tmp_path / "run", model, tokenizer, steps=3, micro_batches=2, tokens=4,
                            optim="adamw_torch", learning_rate=1e-2,
                            config=lambda **given: trl.GRPOConfig(
                                **given | {"gradient_checkpointing": checkpointed}))
        if watched:
            diagnostics.attach(made, coefficients_every=1, account_every=1, account_tokens=True)
        made.train()
        weights.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
        logs.append(made.state.log_history)
    assert torch.equal(*weights)
    names = {name.removeprefix(diagnostics.PREFIX) for name in logs[1][0]
             if name.startswith(diagnostics.PREFIX)}
    assert {"entropy", "reward", "covariance_all", "covariance_top_2%"} <= names
    assert "forecast_entropy_change" in names
    for plain, seen in zip(*logs, strict=True):
        for name in ("loss", "reward", "entropy", "grad_norm"):
            assert plain.get(name) == seen.get(name)


def test_the_statistics_are_those_of_trls_own_scoring(tmp_path):
    """On a transformer with padded prompts and answers: the extra pass sees the same distributions."""
    made = grpo_trainer(tmp_path / "run", *loaded_llama(tmp_path / "model"), tokens=4)
    found = diagnostics.attach(made, coefficients_every=1)
    seen = []
    around = made._compute_loss

    def spy(policy_model, inputs):
        loss = around(policy_model, inputs)
        tokens = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
        mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
        with torch.no_grad():
            logits = policy_model(tokens, attention_mask=mask).logits
        prob = logits[:, -inputs["completion_ids"].shape[1] - 1 : -1].double().softmax(-1)
        seen.append((dict(found._parts[-1]), prob))
        return loss

    made._compute_loss = spy
    made.train()
    ((part, prob),) = seen
    mask = part["mask"]
    for name, expected in (
        ("sum_squared_prob", (prob**2).sum(-1)),
        ("sum_squared_prob_log_prob", (prob**2 * prob.log()).sum(-1)),
        ("entropy", -(prob * prob.log()).sum(-1)),
    ):
        torch.testing.assert_close(part[name][mask].double(), expected[mask], rtol=1e-5, atol=1e-6)


VOCABULARY = 1009


@pytest.mark.parametrize(("kind", "options"), [
    ("Llama", {}), ("Llama", {"tie_word_embeddings": True}), ("Gemma2", {"final_logit_softcapping": 2.0}),
    ("Granite", {"logits_scaling": 3.0}), ("Cohere", {"logit_scale": 0.5}),
    ("Qwen3Moe", {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}),
    ("Mixtral", {"num_local_experts": 4, "num_experts_per_tok": 2}), ("Phi", {}),
    ("Gemma3", {"final_logit_softcapping": 2.0}),
], ids=str)
def test_no_logits_are_held_that_trl_does_not_hold(tmp_path, monkeypatch, kind, options):
    """Forecasts of both kinds, an account, its tokens: no table over the vocabulary more than stock."""
    monkeypatch.setattr(per_token, "CHUNK_ELEMENTS", {"cpu": 16 * VOCABULARY})
    weights, tables = [], []
    for watched in (False, True):
        torch.manual_seed(0)
        tokenizer = tabular()[1]
        config = getattr(transformers, f"{kind}TextConfig", getattr(transformers, f"{kind}Config"))
        model = getattr(transformers, f"{kind}ForCausalLM")(config(
            vocab_size=VOCABULARY, hidden_size=16, intermediate_size=32, num_hidden_layers=1,
            num_attention_heads=2, num_key_value_heads=2, head_dim=8, pad_token_id=0, bos_token_id=1,
            eos_token_id=2, **options))
        made = grpo_trainer(tmp_path / "run", model, tokenizer, tokens=4, learning_rate=1e-2,
                            generation_kwargs={"eos_token_id": VOCABULARY - 1})
        if watched:
            diagnostics.attach(made, coefficients_every=1, account_every=1, account_tokens=True)
        score = made._prepare_inputs

        def prepared(batch, score=score):
            # Only what a step scores: its prompts are read and its answers drawn as TRL does it.
            with torch.utils._python_dispatch._disable_current_modes():
                return score(batch)

        made._prepare_inputs = prepared
        with Tables(VOCABULARY) as seen:
            made.train()
        tables.append(sum(n for rows, n in seen.made.items() if rows > 32))
        weights.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
    assert torch.equal(*weights)
    assert tables[0] == tables[1]


def test_by_default_every_tenth_step_is_forecast_on_a_quarter_of_its_rows(tmp_path, caplog):
    """And what it costs is told; an optimizer whose step cannot be read is trained with, unforecast."""
    logging.getLogger("llm_bridge").propagate = True
    records = {}
    for optimizer in ("adamw_torch", "adafactor"):
        made = grpo_trainer(tmp_path / optimizer, *loaded_llama(tmp_path / "model"), steps=11,
                            optim=optimizer, learning_rate=1e-3)
        records[optimizer] = []
        found = diagnostics.attach(made, on_step=records[optimizer].append)
        made.train()
        assert found._accounts._choose(torch.ones(24)).tolist() == [0, 1, 2, 3, 4, 5]
    assert [r["step"] for r in records["adamw_torch"] if "entropy_gradient" in r] == [1, 11]
    assert not any("entropy_gradient" in r for r in records["adafactor"])
    assert "one step in 10 also takes one forward and one backward pass of 6 of its 24" in caplog.text
    assert "diagnostics log no forecast: " in caplog.text
    with pytest.raises(ValueError, match="Adafactor"):
        made = grpo_trainer(tmp_path / "asked", *loaded_llama(tmp_path / "model"), optim="adafactor")
        diagnostics.attach(made, forecast_every=10)
        made.train()


def test_a_loss_that_scores_in_another_way_is_refused(tmp_path):
    """Silence would look like an entropy that nothing moves."""

    class OwnForward(ScoringFromLogits):
        def _compute_loss(self, model, inputs):
            return model(inputs["completion_ids"], logits_to_keep=1).logits.mean()

    made = grpo_trainer(tmp_path, *tabular(), kind=OwnForward)
    diagnostics.attach(made)
    with pytest.raises(ValueError, match="OwnForward does not score its tokens"):
        made.train()


def test_trainers_that_cannot_be_watched_are_refused(tmp_path):
    with pytest.raises(ValueError, match="logs its own forecast"):
        diagnostics.attach(tabular_trainer(tmp_path, update_rules.get("grpo")))
    with pytest.raises(ValueError, match="no _compute_loss"):
        diagnostics.attach(object())
    for options, message in (
        ({"forecast_every": -1}, "forecast_every"),
        ({"account_tokens": True}, "account_tokens needs account_every"),
        ({"coefficients_every": True}, "coefficients_every must be a whole number of .* got True"),
        ({"account_every": 1.5}, "account_every must be a whole number of at least 0, got 1.5"),
    ):
        with pytest.raises(ValueError, match=message):
            diagnostics.attach(grpo_trainer(tmp_path, *tabular()), **options)
    with pytest.raises(TypeError, match="no option account_offload"):
        diagnostics.attach(grpo_trainer(tmp_path, *tabular()), account_offload=True)


def test_a_trainer_is_watched_once(tmp_path):
    """A notebook's cell that is run again would wrap the loss twice."""
    made = grpo_trainer(tmp_path, *tabular(), kind=ScoringFromLogits)
    diagnostics.attach(made)
    with pytest.raises(ValueError, match="watched already"):
        diagnostics.attach(made)
    watching = [kind for kind in made.callback_handler.callbacks
                if isinstance(kind, diagnostics.Diagnostics)]
    assert len(watching) == 1


def test_forecasts_every_other_step_and_a_file(tmp_path):
    """None where no forecast was made; a reward once a generation."""
    log = StepLog(tmp_path / "metrics.jsonl")
    made = grpo_trainer(tmp_path / "run", *tabular(), kind=ScoringFromLogits, steps=4,
                        num_iterations=2)
    found = diagnostics.attach(made, coefficients_every=2, on_step=log.append)
    made.train()
    records = log.read()
    assert [record["step"] for record in records] == [1, 2, 3, 4]
    assert [record["forecast_entropy_change"] is None for record in records] == [0, 1, 0, 1]
    assert ["reward" in record for record in records] == [True, False, True, False]
    assert found.entropy == [records[0]["entropy"], records[2]["entropy"]]
    assert records[3]["ceiling"] is None
    assert records[3]["law"] is None


def test_mean_covariances():
    """Means of the largest covariances, by count; padding does not count; few tokens are one token."""
    rng = np.random.default_rng(0)
    log_prob, advantage = rng.normal(size=(2, 50, 100))
    mask = rng.random((50, 100)) < 0.8
    columns = {"log_prob": torch.tensor(log_prob), "advantage": torch.tensor(advantage)}
    batch = TokenBatch(
        **columns, old_log_prob=columns["log_prob"], reward=columns["advantage"],
        mask=torch.tensor(mask), weight=torch.tensor(mask / mask.sum()),
    )
    x, y = log_prob[mask], advantage[mask]
    ordered = np.sort((x - x.mean()) * (y - y.mean()))[::-1]
    found = mean_covariances(batch, batch.log_prob, batch.advantage)
    n = len(ordered)
    assert 3900 < n < 4100
    for name, count in (("top_0.02%", 1), ("top_0.2%", int(0.002 * n)), ("top_2%", int(0.02 * n)),
                        ("top_20%", int(0.2 * n)), ("top_50%", n // 2), ("all", n)):
        expected = ordered[:count].mean()
        assert found[name] == pytest.approx(expected, rel=1e-12, abs=64 * FLOAT64), name
    assert found["all"] == pytest.approx(np.cov(x, y, bias=True)[0, 1], abs=1e-12)


@pytest.mark.parametrize("learned", [True, False])
def test_the_ceiling_is_told_where_the_law_holds(tmp_path, learned):
    """The law's own, of all points so far; with rewards shuffled there is none, and the log has why."""
    random = np.random.default_rng(0)
    entropy = np.linspace(1.0, 0.05, 399)  # the second step's is the 400th
    reward = 0.8 - 0.2 * np.exp(entropy) + 0.02 * random.normal(size=399)
    records = []
    made = grpo_trainer(tmp_path / "run", *tabular(), kind=ScoringFromLogits, steps=2)

    def go_on(record):
        records.append(record)
        found.entropy = entropy.tolist()
        found.reward = (reward if learned else random.permutation(reward)).tolist()

    found = diagnostics.attach(made, on_step=go_on)
    made.train()
    record = records[1]
    assert found.entropy[-1] == 0.05
    if learned:
        assert record["law"].startswith("performance rose as entropy fell")
        assert record["ceiling_low"] < 0.6 < record["ceiling_high"]
        assert made.state.log_history[1]["diagnostics/ceiling"] == pytest.approx(record["ceiling"])
    else:
        assert record["ceiling"] is None
        assert record["law"].startswith("no law: performance has no trend")
