"""Guards `TokenEffects.trusted`: tokens are trusted where they are right, not where rounding made them.

The same tokens, weights and gradients are taken in a number format and in the next finer one, which is
the truth beside it.
"""

import pytest
import torch
import transformers

from entropy_theory import update_rules
from llm_bridge.accounting.accountant import passes_of
from llm_bridge.accounting.entropy_gradient import EntropyGradient, StepRows
from llm_bridge.accounting.step_accountant import LARGEST_GAP, StepAccountant
from llm_bridge.accounting.step_accounts import rows_of
from tests.llm_bridge.llama_steps import llama, llama_trainer

FINER = {torch.bfloat16: torch.float32, torch.float32: torch.float64}
OPTIMIZERS = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}


class Formats(transformers.TrainerCallback):
    """Tells a step's tokens apart in each format: on its gradients, and on those of the finer one."""

    def __init__(self, made, optimizer):
        self.made, self.optimizer, self.found = made, OPTIMIZERS[optimizer], {}
        made.add_callback(self)

    def on_pre_optimizer_step(self, *_, **__):
        for coarse, fine in FINER.items():
            effects, gradients = self.effects(coarse)
            # Adam divides by these gradients: the step is one and the same in both formats.
            truth, _ = self.effects(fine, gradients)
            self.found[coarse] = effects, truth

    def effects(self, dtype, gradients=None):
        made = self.made
        own = made.accelerator.unwrap_model(made.model)
        model = type(own)(own.config)
        model.load_state_dict(own.state_dict())
        model.to(dtype)
        every, _ = rows_of(passes_of(made), made.accelerator)
        rows = [
            StepRows(statistics=lambda part=part: made.forward.statistics(model, part.inputs),
                     measure=one.measure, moved=one.moved)
            for one, part in zip(every, made.micro_batches, strict=True)
        ]
        for one in rows:
            seen = one.statistics()
            sum((column * getattr(seen, name)).sum() for name, column in one.moved.items()
                ).neg().backward()
        parameters = list(model.parameters())
        for parameter, gradient in zip(parameters, gradients or [], strict=False):
            parameter.grad = gradient.to(dtype)
        step = StepAccountant(EntropyGradient(model, made.accelerator), rows,
                              self.optimizer(parameters, lr=1e-3), keeps="slope")
        return step.announced_tokens(), [parameter.grad for parameter in parameters]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_tokens_are_trusted_in_float32_and_not_in_bfloat16(tmp_path, optimizer):
    """In bfloat16 their error is beyond what is let stand, and the sum of all tokens does not say so."""
    # Weights that all formats hold.
    made = llama_trainer(tmp_path, update_rules.get("grpo"), model=llama()[0].bfloat16())
    formats = Formats(made, optimizer)
    made.train()
    errors = {}
    for dtype, (effects, truth) in formats.found.items():
        ours, theirs = (torch.cat(e.by_token).double() for e in (effects, truth))
        errors[dtype] = float((ours - theirs).abs().sum() / theirs.abs().sum())
        assert effects.gap <= LARGEST_GAP
    assert errors[torch.bfloat16] > LARGEST_GAP
    assert not formats.found[torch.bfloat16][0].trusted
    assert errors[torch.float32] < LARGEST_GAP / 100
    assert formats.found[torch.float32][0].trusted


@pytest.mark.parametrize(("mixed", "trusted"), [("no", True), ("bf16", False), ("fp16", False)])
def test_the_format_is_that_of_the_products(tmp_path, monkeypatch, mixed, trusted):
    """Under autocast float32 weights are multiplied in 16 bits."""
    made = llama_trainer(tmp_path, update_rules.get("grpo"), model=llama()[0].float())
    monkeypatch.setattr(made.accelerator.state, "_mixed_precision", mixed)
    gradient = EntropyGradient(made.model, made.accelerator)
    assert (gradient.rounding_of_derivatives <= LARGEST_GAP) == trusted
