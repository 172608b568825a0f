"""Guards llm_bridge/forward/shared_prompts.py and forward.py: a prompt read once gives the same step."""

import logging

import pytest
import torch
import transformers

from entropy_theory import update_rules
from llm_bridge.forward import shared_prompts
from llm_bridge.forward.policy_forward import Forward
from tests.llm_bridge.llama_steps import llama, llama_trainer, weights

ROUNDING = 1e-6
"""Llama's norms compute in float32 whatever the model's dtype: gradients that are added up in another
order differ by some 1e-7 of the largest one."""
AENT = {"warm_up_steps": 0, "coefficient": 0.1, "removed_fraction": 0.4}
OFF_POLICY = {"steps": 2, "num_iterations": 2, "learning_rate": 0.01}
PROMPTS_OF_OTHER_LENGTHS = ("1", "12+3=", "412+27=")
CASES = {
    "one batch": ("grpo", {}, {}),
    "micro-batches": ("aent", AENT, {"micro_batches": 4}),
    "off-policy": ("kl-cov", {"ratio": 0.2}, OFF_POLICY),
    "second batch": ("aepo", {"alpha": 2.0}, {}),
    "reference": ("reference-kl", {"coefficient": 0.3}, OFF_POLICY),
    "cut off": ("grpo", {}, {"mask_truncated_completions": True}),
    "one token": ("grpo", {}, {"max_completion_length": 1}),
}


def trained(folder, monkeypatch, rule, *, shared, **options):
    """How far training moved the weights, the records, and the tokens that a pass with gradient read."""
    read = 0
    original = Forward._call

    def call(self, model, tokens, *arguments, **more):
        nonlocal read
        read += tokens.numel() * torch.is_grad_enabled()
        return original(self, model, tokens, *arguments, **more)

    records = []
    with monkeypatch.context() as patch:
        patch.setattr(Forward, "_call", call)
        if not shared:
            patch.setattr(shared_prompts, "obstacle", lambda _: "the test says so")
        made = llama_trainer(
            folder, rule, on_step=records.append, prompts=PROMPTS_OF_OTHER_LENGTHS, **options
        )
        moved = moves(made)
    return moved, records, read


def moves(made):
    """What training changes each weight by."""
    before = weights(made)
    made.train()
    return {name: after - before[name] for name, after in weights(made).items()}


def assert_same(found, expected):
    largest = max(float(move.abs().max()) for move in expected.values())
    assert largest > 1e-3
    for name, move in expected.items():
        torch.testing.assert_close(found[name], move, rtol=0, atol=ROUNDING * largest, msg=name)


@pytest.mark.parametrize("case", CASES)
def test_a_step_that_reads_prompts_once_is_the_step_that_reads_copies(tmp_path, monkeypatch, case):
    """Positions, masks, pasts of other rows, and gradients that stop at the past."""
    name, rule_options, options = CASES[case]
    rule = update_rules.get(name, **rule_options)
    after, records, read = trained(tmp_path, monkeypatch, rule, shared=True, **options)
    expected, expected_records, all_read = trained(
        tmp_path, monkeypatch, rule, shared=False, **options
    )
    assert read == all_read if case == "one token" else read < 0.7 * all_read
    assert_same(after, expected)
    for one, other in zip(records, expected_records, strict=True):
        for key in set(other) - {"seconds"}:
            assert one[key] == pytest.approx(other[key], abs=ROUNDING), key


def test_rows_find_their_prompt_in_any_order():
    """Rows of other prompts; padding that counts as a token."""
    ids = torch.tensor([[9, 1, 2], [3, 1, 2], [8, 1, 2], [3, 1, 2]])
    mask = torch.tensor([[0, 1, 1], [1, 1, 1], [0, 1, 1], [1, 1, 1]])
    first, owner = shared_prompts.distinct(ids, mask)
    assert first[owner].tolist() == [0, 1, 0, 1]


def test_a_model_whose_past_is_wrong_is_found_out(tmp_path, monkeypatch, caplog):
    """Trusting a cache that gives other log-probs: the step must be that of the plain pass."""
    rule = update_rules.get("grpo")
    expected, _, _ = trained(tmp_path, monkeypatch, rule, shared=False)
    original = transformers.DynamicCache.batch_select_indices

    def mixed_up(self, indices):
        original(self, indices.flip(0))

    logging.getLogger("llm_bridge").propagate = True
    with monkeypatch.context() as patch:
        made = llama_trainer(tmp_path, rule, prompts=PROMPTS_OF_OTHER_LENGTHS)
        generate = made._generate_single_turn

        def sample(*arguments, **options):
            with patch.context() as inner:
                inner.setattr(transformers.DynamicCache, "batch_select_indices", original)
                return generate(*arguments, **options)

        patch.setattr(made, "_generate_single_turn", sample)
        patch.setattr(transformers.DynamicCache, "batch_select_indices", mixed_up)
        moved = moves(made)
    assert "its log-probs are others" in caplog.text
    assert_same(moved, expected)


def test_models_that_cannot_are_told():
    """A past that checkpointing, dropout or a window would change."""
    model, _ = llama()
    assert shared_prompts.obstacle(model) is None
    model.gradient_checkpointing_enable()
    assert "checkpointing" in shared_prompts.obstacle(model)
    model, _ = llama(attention_dropout=0.1)
    assert "dropout" in shared_prompts.obstacle(model)
    small = transformers.MistralConfig(
        vocab_size=10, hidden_size=8, intermediate_size=8, num_hidden_layers=1,
        num_attention_heads=1, num_key_value_heads=1, sliding_window=4,
    )
    windowed = transformers.MistralForCausalLM(small)
    assert "layers" in shared_prompts.obstacle(windowed)
