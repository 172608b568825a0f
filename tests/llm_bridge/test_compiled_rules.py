"""Guards llm_bridge/trainer/loss.py under torch.compile: a rule's loss is one graph."""

import subprocess
import sys

import pytest
import torch

from entropy_theory import update_rules
from entropy_theory.token_batch import TokenBatch
from llm_bridge.trainer import loss
from tests.llm_bridge.recorded_steps import SMALL
from tests.tolerances import FLOAT64

NAMES = [name for name in update_rules.RULES if name not in ("natural-gradient", "aent")]
"""Not AEnt: it makes a controller where it reads its coefficient, and the check of that one's limits is
NumPy's, which torch.compile takes for a tensor's: one break."""


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
        "clamped_entropy": drawn(), "reference_log_prob": -drawn(), "mask": mask,
        "reward": (per_row % 2).double(), "weight": mask.double() / mask.sum(),
        "group": per_row // 3, "sequence": per_row,
        "tempered": per_row >= 3,
        "sampling_temperature": torch.where(per_row >= 3, 1.2, 1.0).double(),
        "sampling_log_prob": log_prob, "coefficient": torch.full_like(log_prob, 0.3),
        "state": torch.arange(sequences * positions).reshape(sequences, positions),
        "action": torch.arange(sequences * positions).reshape(sequences, positions) % 5,
    }


def one_graph(name: str) -> None:
    """Compile a rule's loss without a break, and compare its gradients with the plain ones."""
    rule = update_rules.get(name, **SMALL.get(name, {}))
    batch = rule.prepare(TokenBatch(**columns()))
    moved = [batch.log_prob, batch.entropy, batch.clamped_entropy]

    def gradient(call):
        own = [column.clone().requires_grad_() for column in moved]
        return torch.autograd.grad(call(*own), own, allow_unused=True)

    def of(log_prob, entropy, clamped_entropy):
        return loss.policy_loss(
            batch.replace(log_prob=log_prob, entropy=entropy, clamped_entropy=clamped_entropy), rule)

    found = gradient(torch.compile(of, fullgraph=True, backend="eager"))
    for ours, plain in zip(found, gradient(of), strict=True):
        assert (ours is None) == (plain is None)
        if plain is not None:
            torch.testing.assert_close(ours, plain, rtol=16 * FLOAT64, atol=0)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "aepo" else pytest.mark.deep) for name in NAMES])
def test_a_rules_loss_is_one_graph(name):
    """Where a value is read back a compiled step falls apart, and waits for the GPU."""
    # In a process of its own: the tests' checks of shapes are no part of the graph.
    call = f"from {__name__} import one_graph; one_graph({name!r})"
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
