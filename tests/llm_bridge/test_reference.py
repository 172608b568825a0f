"""Guards llm_bridge/trainer/reference.py: a rule is held to the policy that it started from."""

from types import SimpleNamespace

import pytest
import torch
from accelerate import DistributedType

from entropy_theory import policy, update_rules
from llm_bridge.trainer import reference
from tests.llm_bridge.language_models import tabular as tabular_model
from tests.llm_bridge.language_models import tabular_trainer
from tests.llm_bridge.recorded_steps import recorded


def test_the_reference_is_the_starting_model(tmp_path):
    """Frozen, and only where a rule asks for it: it takes the memory of a second model."""
    made = tabular_trainer(tmp_path, update_rules.get("reference-kl", coefficient=0.1), steps=3)
    start = made.model.table.weight.detach().clone()
    steps = recorded(made)
    reference = made.reference_model.table.weight
    torch.testing.assert_close(reference.detach(), start, rtol=0, atol=0)
    assert not reference.requires_grad
    assert (made.model.table.weight.detach() - start).abs().max() > 1e-3
    part = steps[2][0]
    expected = policy.log_softmax(start)[part.inputs["prompt_ids"][:, -1:], part.batch.action]
    torch.testing.assert_close(part.batch.reference_log_prob, expected, rtol=0, atol=1e-12)
    assert tabular_trainer(tmp_path, update_rules.get("aent")).reference_model is None


def test_an_adapter_s_reference_is_the_model_without_it(tmp_path):
    """No second copy of the weights: the adapter is switched off, and on again."""
    peft = pytest.importorskip("peft")
    model, _ = tabular_model()
    adapter = peft.LoraConfig(r=2, target_modules=["table"], init_lora_weights=False)
    rule = update_rules.get("reference-kl", coefficient=0.1)
    made = tabular_trainer(tmp_path, rule, model=model, peft_config=adapter)
    table = made.model.get_base_model().table
    start = table.base_layer.weight.detach().double()
    ((part,),) = recorded(made)
    assert made.reference_model is None
    states = part.inputs["prompt_ids"][:, -1:]
    expected = policy.log_softmax(start)[states, part.batch.action]
    torch.testing.assert_close(part.batch.reference_log_prob.double(), expected, rtol=0, atol=1e-5)
    assert (part.batch.log_prob - part.batch.reference_log_prob).abs().max() > 1e-3


def test_a_model_of_a_name_is_loaded_as_trl_loads_it(tmp_path, monkeypatch):
    """With the user's options, and on one device where several processes would share all of them."""
    asked = []
    monkeypatch.setattr(
        reference, "create_model_from_path",
        lambda name, **options: asked.append((name, options)) or torch.nn.Linear(1, 1),
    )
    given = {"dtype": "bfloat16", "revision": "v1"}
    for kind in ("NO", "MULTI_GPU", "DEEPSPEED"):
        args = SimpleNamespace(
            model_init_kwargs=given, trust_remote_code=True,
            distributed_state=SimpleNamespace(distributed_type=DistributedType(kind)),
        )
        frozen = reference.frozen_copy("owner/name", args, quantization_config="4 bit")
        assert not frozen.weight.requires_grad
    common = {**given, "trust_remote_code": True, "quantization_config": "4 bit"}
    assert asked == [("owner/name", common)] + [("owner/name", {**common, "device_map": None})] * 2
    assert given == {"dtype": "bfloat16", "revision": "v1"}
