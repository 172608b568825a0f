"""What test_fused_forward.py runs on two ranks: DDP through the trainer, and FSDP2 by itself."""

import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

from entropy_theory import update_rules
from llm_bridge.forward import fused_forward
from llm_bridge.head import token_statistics
from tests.llm_bridge.llama_steps import llama, llama_trainer, weights
from tests.llm_bridge.ragged_processes import norms_in_full_precision


def data_parallel(folder: Path) -> None:
    found = {}
    obstacle = fused_forward.obstacle
    # One of the two reads prompts once, whose float32 norms round otherwise than those of copies.
    with norms_in_full_precision():
        for label, hinders in (("fused", obstacle), ("plain", lambda *_: "it must not")):
            fused_forward.obstacle = hinders
            made = llama_trainer(folder, update_rules.get("entropy-bonus", coefficient=0.3),
                                 micro_batches=2, gradient_accumulation_steps=1)
            made.train()
            found[label] = weights(made)
    fused_forward.obstacle = obstacle
    torch.save(found, folder / f"data-parallel-{dist.get_rank()}.pt")


def objective(found: token_statistics.TokenStatistics, mask: torch.Tensor) -> torch.Tensor:
    along = torch.linspace(-1, 2, mask.shape[1], dtype=torch.float64)
    values = found.log_prob - 0.3 * found.entropy + 0.2 * found.clamped_entropy
    return torch.where(mask, along * values, 0.0).sum()


def sharded(folder: Path) -> None:
    """Gradients of sharded weights, the head in a shard of its own or in the root's."""
    for tied in (False, True):
        generator = torch.Generator().manual_seed(dist.get_rank())
        tokens = torch.randint(4, 14, (3, 9), generator=generator)
        mask = torch.rand(3, 5, generator=generator) < 0.7
        if dist.get_rank() == 0:
            mask[:] = False  # a rank without a single token must not hang the other
        found = {}
        for fused in (False, True):
            model, _ = llama(tie_word_embeddings=tied)
            for layer in model.model.layers:
                fully_shard(layer)
            if not tied:
                fully_shard(model.lm_head)
            fully_shard(model)
            ids = tokens[:, 4:]

            def forward(model=model, tokens=tokens):
                return model(input_ids=tokens[:, :-1], logits_to_keep=5, use_cache=False).logits

            if fused:
                assert fused_forward.obstacle(model, forward, (3, 5)) is None
                statistics = fused_forward.statistics(
                    model, forward, ids, mask, removed_fraction=0.3
                )
            else:
                statistics = token_statistics.from_logits(forward(), ids, removed_fraction=0.3)
            objective(statistics, mask).backward()
            found[fused] = {n: w.grad.full_tensor() for n, w in model.named_parameters()}
        torch.save(found, folder / f"sharded-{tied}-{dist.get_rank()}.pt")


def main(folder: Path) -> None:
    data_parallel(folder)
    sharded(folder)
    dist.barrier()


if __name__ == "__main__":
    os.environ["ACCELERATE_TORCH_DEVICE"] = "cpu"
    main(Path(sys.argv[1]))
