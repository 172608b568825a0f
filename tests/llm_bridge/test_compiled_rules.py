"""Guards llm_bridge/objective/loss.py and head/per_token.py under torch.compile: one graph."""

import subprocess
import sys

import pytest
import torch

from entropy_theory import update_rules
from entropy_theory.token_batch import TokenBatch
from llm_bridge.forward import fused_forward
from llm_bridge.objective import loss
from tests.llm_bridge.llama_steps import llama
from tests.llm_bridge.recorded_steps import SMALL
from tests.tolerances import FLOAT64

CASES = {
    **{name: (name, SMALL.get(name, {})) for name in update_rules.RULES},
    "entropy-bonus, integral": ("entropy-bonus", {"target": 0.5}),
    "diverse-bonus, forecast": ("diverse-bonus", {"target": 0.5, "hold": "forecast"}),
    # The old policy is drawn, and far from the model.
    "erc": ("erc", {"beta_low": 1.0, "beta_high": 9.0}),
    "vespo": ("vespo", {"power_positive": 0.1, "power_negative": 0.1}),
    "aent, forecast": ("aent", {"adaptive": False, "target": 0.5, "hold": "forecast"}),
}
del CASES["natural-gradient"]
"""Not natural-gradient: it has no loss on samples, which it refuses."""


def columns(sequences: int = 6, positions: int = 4) -> dict[str, torch.Tensor]:
    """Two groups of completions, some cut short; half of them right."""
    generator = torch.Generator().manual_seed(0)

    def drawn() -> torch.Tensor:
        return torch.rand(sequences, positions, dtype=torch.float64, generator=generator)

    per_row = torch.arange(sequences)[:, None].expand(-1, positions)
    ends = torch.tensor([[4], [2], [3], [4], [1], [4]])
    mask = torch.arange(positions) < ends
    log_prob = -drawn()
    return {
        "log_prob": log_prob, "old_log_prob": log_prob - 0.2 * drawn(), "entropy": drawn(),
        "clamped_entropy": drawn(), "old_entropy": drawn(), "reference_log_prob": -drawn(), "mask": mask,
        "reward": (per_row % 2).double(), "weight": mask.double() / mask.sum(),
        "group": per_row // 3, "sequence": per_row,
        "tempered": per_row >= 3,
        "sampling_temperature": torch.where(per_row >= 3, 1.2, 1.0).double(),
        "sampling_log_prob": log_prob, "coefficient": torch.full_like(log_prob, 0.3),
        "state": torch.arange(sequences * positions).reshape(sequences, positions),
        "action": torch.arange(sequences * positions).reshape(sequences, positions) % 5,
    }


def gradients(step, tensors):
    """Of a loss, compiled without a break and plain."""
    torch.compiler.reset()  # of all cases the code is one, which is compiled a few times at most
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    return tuple(torch.autograd.grad(call(), tensors, allow_unused=True) for call in (compiled, step))


def whole_step(case: str) -> None:
    """Compile model, head and rule without a break, and compare the gradients of the weights."""
    name, options = CASES[case]
    rule = update_rules.get(name, **options)
    given = columns()
    batch, mask = rule.prepare(TokenBatch(**given)), given["mask"]
    model = llama()[0].train()
    prompt, completion = torch.randint(
        1, 16, (len(mask), 3 + mask.shape[1]), generator=torch.Generator().manual_seed(1)
    ).split([3, mask.shape[1]], dim=1)
    tokens = torch.cat([prompt, completion], dim=1)[:, :-1]
    attention = torch.cat([torch.ones_like(prompt), mask.long()], dim=1)[:, :-1]
    attention[1, 0] = 0

    def step():
        statistics = fused_forward.statistics(
            model, lambda: model(
                input_ids=tokens, attention_mask=attention, use_cache=False,
                logits_to_keep=mask.shape[1]).logits,
            completion, mask, removed_fraction=loss.clamped_fraction(rule))
        columns = {name: getattr(statistics, name)
                   for name in ("log_prob", "entropy", "clamped_entropy")}
        return loss.policy_loss(batch.replace(**columns), rule)

    ours, plain = gradients(step, list(model.parameters()))
    scale = max(float(gradient.abs().max()) for gradient in plain)
    assert scale > 1e-3
    for one, other in zip(ours, plain, strict=True):
        # The same operations but for what the tracer rewrites, in sums of a few hundred terms.
        torch.testing.assert_close(one, other, rtol=0, atol=256 * FLOAT64 * scale)


@pytest.mark.deep
def test_model_head_and_rule_are_one_graph():
    """A head hidden from the compiler, a mask whose tokens are counted, a controller made in the loss: a
    step falls apart where a value is read back, and waits for the GPU. In a process of its own: tests'
    checks of shapes are no part of the graph."""
    call = f"from {__name__} import CASES, whole_step; [whole_step(case) for case in CASES]"
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
