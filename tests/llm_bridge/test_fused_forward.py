"""Guards llm_bridge/forward/fused_forward.py: without logits the training step is the same."""

import pytest
import torch
import transformers

from entropy_theory import update_rules
from llm_bridge.forward import fused_forward, policy_forward, shared_prompts
from llm_bridge.head import token_statistics
from tests.llm_bridge import forked_ranks
from tests.llm_bridge.llama_steps import llama, llama_trainer, weights

SAME = {"rtol": 0, "atol": 1e-11}
"""Weights and gradients of order 1 in float64, behind sums of a few hundred terms."""
AENT = {"warm_up_steps": 0, "coefficient": 0.1, "removed_fraction": 0.4}


def trained(folder, monkeypatch, rule, *, fused, **options):
    """Weights after training, the records, and the last dimension of what the model returned."""
    widths, records = set(), []
    original = policy_forward.Forward._model_logits

    def logits(self, *arguments):
        found = original(self, *arguments)
        if found.shape[0] > 1 or not fused:  # the set-up check looks at one row
            widths.add(found.shape[-1])
        return found

    with monkeypatch.context() as patch:
        patch.setattr(policy_forward.Forward, "_model_logits", logits)
        patch.setattr(shared_prompts, "obstacle", lambda _: "the test says so")
        if not fused:
            patch.setattr(fused_forward, "obstacle", lambda *_: "the test says so")
        made = llama_trainer(folder, rule, on_step=records.append, **options)
        before = weights(made)
        made.train()
    after = weights(made)
    assert any((after[name] - before[name]).abs().max() > 1e-3 for name in after)
    return after, records, widths


def lora(**options):
    peft = pytest.importorskip("peft")
    return peft.LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False, **options)


CASES = {
    "one batch": ("grpo", {}, {}),
    "micro-batches": ("aent", AENT, {"micro_batches": 4}),
    "off-policy": ("kl-cov", {"ratio": 0.2}, {"steps": 2, "num_iterations": 2}),
    "second batch": ("aepo", {"alpha": 2.0}, {"micro_batches": 2}),
    "temperature": ("aent", AENT, {"temperature": 0.7}),
    "reference": ("reference-kl", {"coefficient": 0.3}, {"steps": 2, "num_iterations": 2}),
    "checkpointing": ("grpo", {}, {"gradient_checkpointing": True}),
    "cut off": ("grpo", {}, {"mask_truncated_completions": True}),
}


@pytest.mark.filterwarnings("ignore:.*use_reentrant.*")
@pytest.mark.parametrize("case", CASES)
def test_a_step_without_logits_is_the_step_with_them(tmp_path, monkeypatch, case):
    name, rule_options, options = CASES[case]
    rule = update_rules.get(name, **rule_options)
    after, records, widths = trained(tmp_path, monkeypatch, rule, fused=True, **options)
    expected, expected_records, _ = trained(tmp_path, monkeypatch, rule, fused=False, **options)
    assert widths == {8 if name == "aent" else 6}
    for key, weight in expected.items():
        torch.testing.assert_close(after[key], weight, **SAME, msg=key)
    for one, other in zip(records, expected_records, strict=True):
        for key in set(other) - {"seconds"}:
            assert one[key] == pytest.approx(other[key], abs=1e-9), key


@pytest.mark.parametrize("whole_head", [False, True])
def test_an_adapter_is_trained_as_with_logits(tmp_path, monkeypatch, whole_head):
    """LoRA in the layers; with modules_to_save PEFT trains a copy of the head."""
    extra = {"modules_to_save": ["lm_head"]} if whole_head else {}
    rule = update_rules.get("reference-kl", coefficient=0.3)
    found = []
    for fused in (True, False):
        torch.manual_seed(1)
        found.append(trained(tmp_path, monkeypatch, rule, fused=fused, peft_config=lora(**extra)))
    (after, _, widths), (expected, _, _) = found
    assert widths == {6}
    assert any("lm_head" in name for name in after) == whole_head
    for key, weight in expected.items():
        # PEFT keeps adapters in float32, whatever the model: steps of order 1 round at 1e-7.
        torch.testing.assert_close(after[key].double(), weight.double(), rtol=0, atol=1e-6)


def test_under_autocast_only_the_factors_are_rounded():
    """bfloat16 products, as autocast makes them; the logits are not rounded once more."""
    hidden = torch.randn(5, 16, generator=torch.Generator().manual_seed(0))
    module = torch.nn.Linear(16, 40)
    ids, mask = torch.zeros(1, 5, dtype=torch.long), torch.ones(1, 5, dtype=torch.bool)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.head = module

        def get_output_embeddings(self):
            return self.head

    model = Model()
    with torch.autocast("cpu", torch.bfloat16):
        found = fused_forward.statistics(model, lambda: model.head(hidden[None]), ids, mask)
    found.entropy.sum().backward()
    narrow = [x.detach().bfloat16().float().requires_grad_() for x in (hidden, module.weight)]
    expected = token_statistics.from_logits(narrow[0] @ narrow[1].T + module.bias.detach(), ids[0])
    torch.testing.assert_close(found.entropy[0], expected.entropy, rtol=1e-6, atol=0)
    expected.entropy.sum().backward()
    assert module.weight.grad.dtype == torch.float32
    # The logits' gradient is rounded to bfloat16 once, 2^-9, in each of five terms.
    scale = float(narrow[1].grad.abs().max())
    torch.testing.assert_close(module.weight.grad, narrow[1].grad, rtol=2**-8, atol=2**-8 * scale)


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
        (lambda: small("Qwen2"), None),
        (lambda: small("Granite", logits_scaling=1.0), None),
        (lambda: small("Granite", logits_scaling=3.0), "changes the logits"),
        (lambda: small("Cohere", logit_scale=0.5, pad_token_id=0), "changes the logits"),
        (lambda: small("Gemma2", final_logit_softcapping=30.0), "changes the logits"),
        (adapted_head, "is not a plain"),
    ],
    ids=["llama", "tied", "qwen2", "granite", "granite-scaled", "cohere", "gemma2", "lora-head"],
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


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fused_ranks")
    run = forked_ranks.run("tests.llm_bridge.fused_processes", str(folder))
    assert run.returncode == 0, run.stderr[-3000:]
    return folder


def test_two_ranks_take_the_same_step_without_logits(two_ranks):
    first, second = (torch.load(two_ranks / f"data-parallel-{rank}.pt") for rank in (0, 1))
    for name, weight in first["plain"].items():
        torch.testing.assert_close(first["fused"][name], weight, **SAME)
        torch.testing.assert_close(second["fused"][name], first["fused"][name], rtol=0, atol=0)


@pytest.mark.parametrize("tied", [False, True])
def test_sharded_weights_get_the_same_gradients(two_ranks, tied):
    """FSDP2: the head's whole weight is there only while the head is called, forward and backward."""
    for rank in (0, 1):
        found = torch.load(two_ranks / f"sharded-{tied}-{rank}.pt")
        assert any(gradient.abs().max() > 1e-2 for gradient in found[True].values())
        for name, gradient in found[False].items():
            torch.testing.assert_close(found[True][name], gradient, **SAME, msg=name)
