"""Guards llm_bridge/forward/fused_forward.py: without logits the training step is the same."""

import pytest
import torch
import transformers

from entropy_theory import update_rules
from llm_bridge.forward import fused_forward
from tests.llm_bridge.llama_steps import llama, llama_trainer, weights


def test_an_adapter_is_trained_as_with_logits(tmp_path, monkeypatch):
    """LoRA in the layers; with modules_to_save PEFT trains a copy of the head."""
    peft = pytest.importorskip("peft")
    found = []
    for fused in (True, False):
        torch.manual_seed(1)
        made = llama_trainer(
            tmp_path, update_rules.get("reference-kl", coefficient=0.3), peft_config=peft.LoraConfig(
                r=2, target_modules=["q_proj"], init_lora_weights=False, modules_to_save=["lm_head"]))
        with monkeypatch.context() as patch:
            if not fused:
                patch.setattr(fused_forward, "obstacle", lambda *_: "the test says so")
            made.train()
        assert list(made.forward._fused.values()) == [fused]
        found.append(weights(made))
    after, expected = found
    assert any("lm_head" in name for name in after)
    for key, weight in expected.items():
        # PEFT keeps adapters in float32, whatever the model: steps of order 1 round at 1e-7.
        torch.testing.assert_close(after[key].double(), weight.double(), rtol=0, atol=1e-6)


def small(kind, **options):
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, head_dim=8, **options,
    )
    config.pad_token_id = config.eos_token_id = config.bos_token_id = None
    return getattr(transformers, f"{kind}ForCausalLM")(config)


def adapted_head():
    peft = pytest.importorskip("peft")
    return peft.get_peft_model(llama()[0], peft.LoraConfig(target_modules=["lm_head"]))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: llama()[0], None),
        (lambda: llama(tie_word_embeddings=True)[0], None),
        (lambda: small("Granite", logits_scaling=1.0), None),
        (lambda: small("Granite", logits_scaling=3.0), "changes the logits"),
        (lambda: small("Gemma2", final_logit_softcapping=30.0), "changes the logits"),
        (adapted_head, "is not a plain"),
    ],
    ids=["llama", "tied", "granite", "granite-scaled", "gemma2", "lora-head"],
)
def test_models_that_work_on_their_logits_are_told_apart(make, reason):
    """A softcap, a scale and an adapter on the head are each seen; a plain head stays as it was."""
    model = make().eval()
    ids = torch.arange(1, 7)[None]

    def forward():
        return model(input_ids=ids, logits_to_keep=3).logits

    expected = forward()
    found = fused_forward.obstacle(model, forward, (1, 3))
    assert found is None if reason is None else reason in found
    torch.testing.assert_close(forward(), expected, rtol=0, atol=0)


def test_a_model_without_a_head_says_once_what_it_costs(tmp_path, caplog):
    made = llama_trainer(tmp_path, update_rules.get("grpo"), steps=2)
    made.model.get_output_embeddings = lambda: None
    made.train()
    assert caplog.text.count("LlamaForCausalLM holds the logits of every token in memory") == 1
