"""Run by test_memory_plan: the peak of two training steps on two ranks, beyond what a process takes.

    python -m tests.llm_bridge.memory_processes FOLDER SHARDING
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import transformers

from entropy_theory import update_rules
from tests.llm_bridge import accelerators
from tests.llm_bridge.llama_steps import llama_trainer
from tests.llm_bridge.memory import peak_of

NEW_TOKENS = 96
MICRO_BATCHES = 4
ROWS = 24


def shape(**options: Any) -> transformers.LlamaConfig:
    """A model of 11 million parameters, of which the embeddings are a seventh."""
    return transformers.LlamaConfig(
        vocab_size=4096, hidden_size=384, num_hidden_layers=6, num_attention_heads=6,
        num_key_value_heads=2, intermediate_size=1024, tie_word_embeddings=True,
        max_position_embeddings=256, **options)


def trained(folder: Path, model: Any, new_tokens: int) -> Any:
    """Two steps of AdamW on rows of equal length."""
    made = llama_trainer(
        folder, update_rules.get("grpo"), model=model, steps=2, micro_batches=MICRO_BATCHES,
        optim="adamw_torch", learning_rate=1e-6, max_completion_length=new_tokens)
    made.train()
    return made


def held(made: Any) -> dict[str, int]:
    """Bytes of this rank's weights and of the optimizer's state."""

    def own(tensor: torch.Tensor) -> torch.Tensor:
        """A rank's part of it: FSDP2's, ZeRO-3's, or all."""
        return tensor.to_local() if hasattr(tensor, "to_local") else getattr(tensor, "ds_tensor", tensor)

    def size(tensors: Any) -> int:
        return sum(t.numel() * t.element_size() for t in map(own, tensors))

    optimizer = made.optimizer
    while hasattr(optimizer, "optimizer"):
        optimizer = optimizer.optimizer
    states = [value for state in optimizer.state.values() for value in state.values()
              if isinstance(value, torch.Tensor) and value.ndim]
    return {"weights": size(made.accelerator.unwrap_model(made.model).parameters()),
            "moments": size(states)}


if __name__ == "__main__":
    place, sharding = Path(sys.argv[1]), sys.argv[2]
    accelerators.on_cpu(sharding)
    torch.set_num_threads(1)
    rank = os.environ["RANK"]
    small = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2))
    trained(place / "small", small, 4)  # loads what a first call loads
    found: list[Any] = []

    def run() -> None:
        torch.manual_seed(0)
        model = transformers.LlamaForCausalLM(shape(eos_token_id=None, pad_token_id=0))
        found.append(trained(place / "run", model, NEW_TOKENS))

    peak = peak_of(run)
    Path(place, f"memory-{rank}.json").write_text(json.dumps({"peak": peak, **held(found[0])}))
    dist.barrier()
    dist.destroy_process_group()
    os._exit(0)
