"""Guards llm_bridge/forward/fused_forward.py: without logits the training step is the same."""

import pytest
import torch
import transformers
from accelerate import hooks
from torch._subclasses import FakeTensorMode

from entropy_theory import update_rules
from llm_bridge.forward import fused_forward
from llm_bridge.head import per_token
from llm_bridge.head.per_token import LogitMap
from llm_bridge.head.token_statistics import from_logits
from tests.llm_bridge.card import DEVICE, Card, OnCard
from tests.llm_bridge.llama_steps import held, llama, llama_trainer, weights


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
                patch.setattr(fused_forward, "tried", held)
            made.train()
        assert [found is not None for found in made.forward.trials.found.values()] == [fused]
        found.append(weights(made))
    after, expected = found
    assert any("lm_head" in name for name in after)
    for key, weight in expected.items():
        # PEFT keeps adapters in float32, whatever the model: steps of order 1 round at 1e-7.
        torch.testing.assert_close(after[key].double(), weight.double(), rtol=0, atol=1e-6)


def small(kind, **options):
    config = getattr(transformers, f"{kind}TextConfig", getattr(transformers, f"{kind}Config"))(
        vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, head_dim=8, **options,
    )
    config.pad_token_id = config.eos_token_id = config.bos_token_id = None
    torch.manual_seed(0)
    return getattr(transformers, f"{kind}ForCausalLM")(config)


def adapted(model, **options):
    peft = pytest.importorskip("peft")
    torch.manual_seed(0)
    return peft.get_peft_model(model, peft.LoraConfig(
        r=2, target_modules=["lm_head", "q_proj"], init_lora_weights=False, **options))


def dispatched(model, device="cpu", put=None):
    """The model with its head on a device, and accelerate's hooks as a device map puts them."""
    weight = model.lm_head.weight.detach()
    model.lm_head.weight = torch.nn.Parameter(weight.to(device) if put is None else put(weight.clone()))
    model.hf_device_map = {"model": "cpu", "lm_head": str(device)}
    hooks.add_hook_to_module(model.lm_head, hooks.AlignDevicesHook(execution_device=device))
    return hooks.add_hook_to_module(
        model, hooks.AlignDevicesHook(execution_device="cpu", io_same_device=True))


class Shifted(transformers.LlamaForCausalLM):
    """A model that does to its logits what no declared number does."""

    def forward(self, *args, **kwargs):
        """Return logits that are one higher."""
        found = super().forward(*args, **kwargs)
        found.logits = found.logits + 1
        return found


FAMILIES = {
    "llama": (lambda: llama()[0], LogitMap()),
    "tied": (lambda: llama(tie_word_embeddings=True)[0], LogitMap()),
    "granite": (lambda: small("Granite", logits_scaling=3.0), LogitMap(1 / 3)),
    "cohere": (lambda: small("Cohere", logit_scale=0.0625), LogitMap(0.0625)),
    "gemma2": (lambda: small("Gemma2", final_logit_softcapping=0.5), LogitMap(cap=0.5)),
    "gemma3": (lambda: small("Gemma3", final_logit_softcapping=0.5), LogitMap(cap=0.5)),
    "cohere2": (lambda: small("Cohere2", logit_scale=0.0625), LogitMap(0.0625)),
    "granite-moe": (lambda: small(
        "GraniteMoe", logits_scaling=3.0, num_local_experts=4, num_experts_per_tok=2), LogitMap(1 / 3)),
    "biased": (lambda: small("Phi"), LogitMap()),
    "uncapped": (lambda: small("Gemma2", final_logit_softcapping=None), LogitMap()),
    "falcon-h1": (lambda: small(
        "FalconH1", lm_head_multiplier=0.5, mamba_d_ssm=32, mamba_n_heads=4, mamba_d_head=8,
        mamba_d_state=4), LogitMap(0.5)),
    "lora-head": (lambda: adapted(llama()[0]), LogitMap()),
    "lora-dropout": (lambda: adapted(llama()[0], lora_dropout=0.3), LogitMap()),
    "lora-of-capped": (lambda: adapted(small("Gemma2", final_logit_softcapping=0.5)), LogitMap(cap=0.5)),
    "lora-half": (lambda: adapted(small("Llama").bfloat16()), LogitMap()),
    "device-map": (lambda: dispatched(small("Llama")), LogitMap()),
    "moe": (lambda: small("Qwen3Moe", num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16),
            LogitMap()),
}


@pytest.mark.filterwarnings("ignore:Model has .tie_word_embeddings")
@pytest.mark.parametrize("name", FAMILIES)
def test_statistics_without_logits_are_those_of_the_logits(name):
    """With all gradients, in training mode, at a temperature; and the model is left as it was."""
    make, expected = FAMILIES[name]
    model = make().train()
    ids = torch.arange(1, 13).reshape(2, 6)
    taken = ids[:, 3:]

    def forward():
        return model(input_ids=ids, logits_to_keep=3, use_cache=False).logits

    def logits():
        torch.manual_seed(3)
        return forward()

    before = logits()
    state = torch.get_rng_state()
    found = fused_forward.tried(model, forward, (2, 3))
    assert torch.equal(torch.get_rng_state(), state)
    assert found == expected
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    columns, gradients = [], []
    for fused in (True, False):
        model.zero_grad()
        if fused:
            torch.manual_seed(3)
            statistics = fused_forward.statistics(
                model, forward, taken, taken % 4 > 0, logit_map=found, temperature=0.7)
        else:
            statistics = from_logits(logits() / 0.7, taken)
        columns.append(torch.stack([statistics.log_prob, statistics.entropy]))
        (columns[-1] * torch.tensor([[[1.0]], [[-2.0]]]))[:, taken % 4 > 0].sum().backward()
        gradients.append(torch.cat([w.grad.flatten() for w in weights if w.grad is not None]))
    # Float32 but for the one in half precision, whose logits ours do not round.
    size = 2**-6 if before.dtype == torch.bfloat16 else 1e-5
    torch.testing.assert_close(
        columns[0][:, taken % 4 > 0], columns[1][:, taken % 4 > 0], rtol=size, atol=size,
        check_dtype=False)
    torch.testing.assert_close(
        gradients[0], gradients[1], rtol=0, atol=size * float(gradients[1].abs().max()))
    assert torch.equal(logits(), before)


@pytest.mark.parametrize("shared", [False, True])
def test_a_head_on_another_device_is_given_all_it_needs_there(monkeypatch, shared):
    """On fake devices, which refuse to mix (and have no gradients): statistics come back to the rows'."""
    seen, own = [], per_token.column_stack

    def watched(hidden, weight, token_ids, **options):
        seen.append({tensor.device.type for tensor in (hidden, weight, token_ids, options["mask"])})
        return own(hidden, weight, token_ids, **options)

    monkeypatch.setattr(per_token, "column_stack", watched)
    with FakeTensorMode(), torch.no_grad():
        model = dispatched(small("Llama"), "cuda:0")
        ids = torch.ones(2, 5, dtype=torch.long)
        first = torch.ones(2, 1, 16) if shared else None
        taken = torch.ones(2, 6 if shared else 5, dtype=torch.long)
        found = fused_forward.statistics(
            model, lambda: model(input_ids=ids, use_cache=False).logits, taken, taken > 0, first=first)
        assert found.log_prob.device.type == found.entropy.device.type == "cpu"
    assert seen == [{"cuda"}]


def test_a_run_with_its_head_on_another_device_is_the_run_without(tmp_path):
    """To the last bit, on a stand-in that refuses to mix; and the hooks are what they were."""
    after = []
    for device in (None, "cpu", DEVICE):
        model, _ = llama()
        with Card() as card:
            if device is not None:
                dispatched(model, device, card.put if device == DEVICE else None)
            made = llama_trainer(tmp_path, update_rules.get("grpo"), model=model)
            made.train()
            after.append({name: weight.to("cpu") for name, weight in weights(made).items()})
            assert isinstance(model.lm_head.weight.detach(), OnCard) == (device == DEVICE)
        inside = vars(model.lm_head).get("_old_forward")
        assert (inside is not None and inside.__func__ is torch.nn.Linear.forward) == (device is not None)
        assert None not in made.forward.trials.found.values()
    for name, weight in after[0].items():
        assert torch.equal(after[1][name], weight)
        assert torch.equal(after[2][name], weight)


def test_adapters_inside_hooks_hold_logits():
    lora = adapted(small("Llama"))
    head = lora.get_base_model().lm_head
    hooks.add_hook_to_module(head.get_base_layer(), hooks.AlignDevicesHook(execution_device="cpu"))
    for _ in range(2):
        with pytest.raises(fused_forward.HeldLogitsError, match="is not a plain"):
            fused_forward.tried(lora, lambda: lora(input_ids=torch.ones(1, 3).long()).logits, (1, 3))
        hooks.add_hook_to_module(head, hooks.AlignDevicesHook(execution_device="cpu"))


@pytest.mark.parametrize(("make", "reason"), [
    (lambda: Shifted(small("Llama").config), "changes the logits after its head"),
    (lambda: adapted(llama()[0], use_dora=True), "is not a plain"),
    pytest.param(lambda: adapted(llama()[0], lora_bias=True), "is not a plain",
                 marks=pytest.mark.filterwarnings("ignore:.*lora_bias")),
], ids=["shifted", "dora", "bias"])
def test_models_whose_logits_are_needed_are_told_apart(make, reason):
    """What no declared number explains, and adapters that are no two matrices."""
    model = make().eval()
    ids = torch.arange(1, 7)[None]
    with pytest.raises(fused_forward.HeldLogitsError, match=reason):
        fused_forward.tried(model, lambda: model(input_ids=ids, logits_to_keep=3).logits, (1, 3))


def test_a_model_without_a_head_says_once_what_it_costs(tmp_path, caplog):
    made = llama_trainer(tmp_path, update_rules.get("grpo"), steps=2)
    made.model.get_output_embeddings = lambda: None
    made.train()
    assert caplog.text.count("LlamaForCausalLM holds the logits of every token in memory") == 1
