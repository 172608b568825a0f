"""What test_accounts_on_two_ranks.py runs: DDP through the trainer, and FSDP2 by itself."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

from entropy_theory import update_rules
from llm_bridge.accounting.accountant import Accountant
from llm_bridge.accounting.entropy_gradient import EntropyGradient, StepRows
from llm_bridge.accounting.optimizer_step import local
from llm_bridge.accounting.step_accountant import StepAccountant
from llm_bridge.head.token_statistics import from_logits
from tests.llm_bridge.language_models import tabular_trainer
from tests.llm_bridge.llama_steps import llama


def data_parallel(folder: Path) -> None:
    records = []
    rule = update_rules.get("entropy-bonus", coefficient=0.5)
    made = tabular_trainer(folder, rule, micro_batches=4, gradient_accumulation_steps=2,
                           steps_per_generation=2, on_step=records.append)
    before = made.model.table.weight.detach().clone()
    made.add_callback(Accountant(made, forecast_unit=True))
    made.train()
    torch.save({
        "before": before, "after": made.accelerator.unwrap_model(made.model).table.weight.detach(),
        "forecast": made.entropy_account.forecast_parts,
        "parts": made.entropy_account.account.parts,
        "measured": made.entropy_account.account.measured,
        "unit": made.entropy_account.change_per_coefficient,
        "by_rule": made.entropy_account.by_rule, "gap": made.entropy_account.tokens.gap,
    }, folder / f"data-parallel-{dist.get_rank()}.pt")


def rows(rank: int) -> torch.Tensor:
    return torch.randint(4, 14, (3, 9), generator=torch.Generator().manual_seed(rank))


def one_accounted_step(model, accelerator, ranks, *, scale: float) -> tuple[dict, dict]:
    """The second AdamW step on a loss of log-probabilities and entropies: its account, and tokens."""
    measure = torch.full((3, 5), 1 / 30, dtype=torch.float64)
    moved = {"log_prob": torch.linspace(-1, 2, 5, dtype=torch.float64).expand(3, 5),
             "entropy": torch.full((3, 5), 0.3, dtype=torch.float64)}

    def statistics(rank):
        tokens = rows(rank)
        logits = model(input_ids=tokens[:, :-1], logits_to_keep=5, use_cache=False).logits
        return from_logits(logits, tokens[:, 4:])

    parts = [StepRows(statistics=lambda rank=rank: statistics(rank), measure=measure, moved=moved)
             for rank in ranks]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    gradient = EntropyGradient(model, accelerator)
    for _ in range(2):
        optimizer.zero_grad()
        for part in parts:
            found = part.statistics()
            objective = sum((moved[name] * getattr(found, name)).sum() for name in moved)
            (-scale * objective).backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        norm = norm.full_tensor() if hasattr(norm, "full_tensor") else norm
        step = StepAccountant(gradient, parts, optimizer, clip=min(1.0, 2.0 / (float(norm) + 1e-6)))
        optimizer.step()
        taken = [p.detach().clone() for p in model.parameters()]
        accounted = step.finish()
        for kept, now in zip(taken, model.parameters(), strict=True):
            assert torch.equal(*map(local, (kept, now))), "not the weights that the optimizer left"
    account = accounted.account
    return (
        {**account.forecast_parts, **{f"account {k}": v for k, v in account.parts.items()},
         "measured": account.measured, "gap": accounted.tokens.gap},
        dict(zip(ranks, accounted.tokens.by_token, strict=True)),
    )


def sharded(folder: Path) -> None:
    """The same step with sharded weights and rows on two ranks, and in one piece."""
    rank = dist.get_rank()
    found = {}
    for label in ("whole", "sharded"):
        model, _ = llama()
        both = label == "sharded"
        if both:
            for layer in model.model.layers:
                fully_shard(layer)
            fully_shard(model)

        def reduce(tensor, _):
            dist.all_reduce(tensor)
            return tensor

        accelerator = SimpleNamespace(
            num_processes=2 if both else 1, mixed_precision="no", device="cpu", reduce=reduce,
            distributed_type=SimpleNamespace(value="FSDP" if both else "NO"),
        )
        # FSDP2 averages gradients over ranks.
        found[label] = one_accounted_step(
            model, accelerator, [rank] if both else [0, 1], scale=2.0 if both else 1.0)
    torch.save(found, folder / f"sharded-{rank}.pt")


def main(folder: Path) -> None:
    data_parallel(folder)
    sharded(folder)
    dist.barrier()


if __name__ == "__main__":
    os.environ["ACCELERATE_TORCH_DEVICE"] = "cpu"
    main(Path(sys.argv[1]))
