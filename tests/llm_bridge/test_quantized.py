"""Guards training of models some of whose weights are integers (``quantization_config``)."""

import pytest
import torch

from entropy_theory import update_rules
from llm_bridge.accounting.accountant import Accountant
from llm_bridge.running import faults
from tests.llm_bridge.llama_steps import llama, llama_trainer, weights
from tests.llm_bridge.test_shared_prompts import ROUNDING, assert_same


class Int8Linear(torch.nn.Module):
    """A linear map whose weight is held in eight bits, a scale a row, and never trained."""

    def __init__(self, plain: torch.nn.Linear):
        super().__init__()
        self.in_features, self.out_features, self.bias = plain.in_features, plain.out_features, None
        self.scale = plain.weight.detach().abs().amax(1, keepdim=True) / 127
        rounded = (plain.weight.detach() / self.scale).round().to(torch.int8)
        self.weight = torch.nn.Parameter(rounded, requires_grad=False)

    def plain(self) -> torch.nn.Linear:
        """The same numbers, not trained either."""
        found = torch.nn.Linear(self.in_features, self.out_features, bias=False, dtype=torch.float64)
        found.weight = torch.nn.Parameter(self.weight * self.scale, requires_grad=False)
        return found

    def forward(self, hidden):
        return torch.nn.functional.linear(hidden, self.weight * self.scale)


def quantized(names, *, dequantized):
    """A Llama whose layers of these names are quantized, or hold what such layers multiply by."""
    model, _ = llama()
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if name in names:
                rounded = Int8Linear(child)
                setattr(parent, name, rounded.plain() if dequantized else rounded)
    return model


def trained(folder, model):
    """What two steps change each weight by, and their records, accounts among them."""
    records = []
    rule = update_rules.get("reference-kl", coefficient=0.3, base=update_rules.get("kl-cov", ratio=0.2))
    made = llama_trainer(folder, rule, model=model, steps=2, num_iterations=2, learning_rate=0.1,
                         on_step=records.append)
    made.add_callback(Accountant(made, every=1))
    before = weights(made)
    made.train()
    return {name: after - before[name] for name, after in weights(made).items()}, records


def test_a_step_is_that_of_the_numbers_which_the_integers_stand_for(tmp_path):
    """Frozen reference, scored ratios, selection, forecasts and what was measured of the weights that are
    trained; where the head is quantized, its logits are held."""
    names = ("q_proj", "k_proj", "v_proj", "o_proj", "lm_head")
    found, records = trained(tmp_path / "quantized", quantized(names, dequantized=False))
    expected, plain = trained(tmp_path / "plain", quantized(names, dequantized=True))
    assert not any(name.endswith(tuple(f"{layer}.weight" for layer in names)) for name in found)
    assert_same(found, expected)
    for one, other in zip(records, plain, strict=True):
        # The account goes no finer than what it takes for rounding, which is bfloat16's here.
        for key in (key for key in other if key != "seconds" and not key.startswith("accounted")):
            assert one[key] == pytest.approx(other[key], abs=ROUNDING), key
        assert one["measured_entropy_change"] != 0
    roundoffs = [faults.roundoff(quantized(names, dequantized=plain), "no") for plain in (False, True)]
    assert roundoffs[0] == 2.0**-8 > 2.0**-20 > roundoffs[1]


def test_four_bits_on_a_cpu_are_refused(tmp_path):
    """Once packed for sampling, bitsandbytes' layers there have no gradient, and say nothing."""
    model, _ = llama()
    frozen = model.model.layers[0].self_attn.q_proj.weight.requires_grad_(False)
    frozen.quant_state = object()  # as bitsandbytes' Params4bit has
    with pytest.raises(ValueError, match=r"4-bit layers .* lose their gradient on a CPU.*load_in_8bit"):
        llama_trainer(tmp_path, update_rules.get("grpo"), model=model)
