"""Guards llm_bridge/commands/dry_run.py: the plan, and an estimate of memory."""

import pytest
import torch
import transformers

from llm_bridge.commands import dry_run
from llm_bridge.commands.train_config import TrainConfig, resolved
from llm_bridge.data import models


def size(tensors):
    return sum(tensor.nbytes for tensor in tensors)


@pytest.mark.parametrize(("dtype", "tied"), [(torch.float32, True), (torch.bfloat16, False)])
def test_weights_gradients_and_optimizer_take_what_is_estimated(dtype, tied):
    """To the byte: a tied head counted twice, a format left out, one moment of two."""
    shape = transformers.LlamaConfig(
        vocab_size=64, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=48, tie_word_embeddings=tied)
    model = transformers.AutoModelForCausalLM.from_config(shape, dtype=dtype)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.zeros(1, 3, dtype=torch.long)).logits.sum().backward()
    optimizer.step()
    held = 2 * size(model.parameters()) + size(weight.grad for weight in model.parameters())
    state = size(value for state in optimizer.state.values() for value in state.values())
    assert dry_run.memory(shape, dtype=dtype, adamw=True, reference=True) == held + state
    assert dry_run.memory(shape, dtype=dtype, adamw=False, reference=False) == (
        held - size(model.parameters()))


def test_a_plan_is_printed_and_nothing_else_happens(tmp_path, monkeypatch):
    """A folder made, a model loaded, or the second batch forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(models, "load", None)
    text = dry_run.plan(resolved(TrainConfig(
        rule="aepo", tempered_fraction=0.5, steps=10, micro_batches=4, device="cpu", mini_batches=2),
        world=2))
    assert "10, a generation every 2" in text
    assert "32 prompts x 8 completions, and 0.5 of the prompts again in a second batch" in text
    # 384 rows over 2 ranks and 4 micro-batches; 256 plain ones of two mini-batches over 2 ranks.
    assert "48 rows at once, 4 micro-batches, 256 sampled at once" in text
    assert "checkpoints after steps 2, 4, 6, 8, 10, the last two kept" in text
    assert "memory: 0.0" in text
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_is_not_here_gets_a_plan_without_memory(tmp_path, monkeypatch):
    """A bundled model fetched for its shape."""
    monkeypatch.setenv("LLM_BRIDGE_CACHE", str(tmp_path))
    for name in ("who/knows", "smollm2-135m-instruct"):
        text = dry_run.plan(resolved(TrainConfig(model=name, device="cpu")))
        assert f"memory: not estimated, since no config.json of {name}" in text
