"""Run by test_sharding: two optimizer steps on ragged rows, on two ranks that share the model's weights.

    python -m tests.llm_bridge.sharded_processes FOLDER SHARDING JOB

JOB is "all", cases with commas between (of CASES or SAMPLED), "resumed", or "on any number" (of ranks),
which may be followed by the checkpoint from which to go on.
"""

import os
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import transformers

from entropy_theory import update_rules
from tests.llm_bridge import accelerators
from tests.llm_bridge.llama_steps import llama, llama_trainer
from tests.llm_bridge.ragged_processes import (
    CHECKPOINTED,
    CONTINUOUS,
    LONGEST,
    OPTIONS,
    PROMPTS,
    dealt,
    norms_in_full_precision,
)

RATE = 0.01
TWICE = {
    "steps": 2, "num_iterations": 2, "learning_rate": RATE, "per_device_train_batch_size": 6,
    "gradient_accumulation_steps": 2}
"""Two optimizer steps on one generation of 24 rows, the second off-policy, in two micro-batches each."""
RULES = {name: (name, OPTIONS.get(name, {}), {}) for name in update_rules.RULES
         if name != "natural-gradient"}
SMOOTH = update_rules.get("entropy-bonus", coefficient=0.1, base=update_rules.get(
    "grpo", clip_low=0.9999, clip_high=1e6))
"""Ratios without the clip's jump: a ratio near a bound is clipped or not by how it is rounded."""
VARIANTS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "tied embeddings": ("aent", OPTIONS["aent"], {"tied": True}),
    "logits held": ("aent", OPTIONS["aent"], {"logits": True}),
    "LoRA": ("reference-kl", {"coefficient": 0.3}, {"lora": True}),
    # Of which kind is TRL's own choice: under ZeRO-3 it takes another for adapters.
    "LoRA and checkpointing": (
        "reference-kl", {"coefficient": 0.3}, {"lora": True, "gradient_checkpointing": True}),
    "four micro-batches": ("aent", OPTIONS["aent"], {
        "per_device_train_batch_size": 3, "gradient_accumulation_steps": 4}),
    "checkpointed": ("kl-cov", OPTIONS["kl-cov"], CHECKPOINTED),
    "clipped norm": ("grpo", {}, {"max_grad_norm": 0.05}),
    "bfloat16": ("reference-kl", {"coefficient": 0.3, "base": SMOOTH}, {"bf16": True}),
}
CASES = {**RULES, **VARIANTS}
SAMPLED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    name: ("aepo", {"alpha": 2.0}, {
        "num_iterations": 1, "max_completion_length": 40, "deals": False, "ends": True, **options})
    for name, options in {
        "TRL's generate": {}, "without gathering": {"ds3_gather_for_generation": False},
        "continuous batching": CONTINUOUS}.items()}
"""Two steps, each on completions that TRL draws, by how it does under ZeRO-3."""
LIKELY = 10
"""A token that the model often draws."""
EVERY = {**CASES, **SAMPLED}


def lora() -> Any:
    import peft

    torch.manual_seed(1)
    return peft.LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False)


def adapted(case: str, *, reference: bool = False) -> Any:
    """The model of a case, in float64 and in one process, with its adapter unless it is the reference."""
    options = EVERY[case][2]
    model, _ = llama(tie_word_embeddings=options.get("tied", False))
    if not options.get("lora") or reference:
        return model
    import peft

    return peft.get_peft_model(model, lora()).double()


def made_ready(folder: Path, case: str, *, on_step: Any = None, **more: Any) -> Any:
    """The trainer of a case on this rank, with its model and, unless it samples, its completions."""
    rule, rule_options, options = EVERY[case]
    options = {**TWICE, **options, **more}
    model, tokenizer = llama(tie_word_embeddings=options.pop("tied", False))
    if options.pop("ends", False):
        with torch.no_grad():  # else every rank's longest completion is as long as it may be
            model.lm_head.weight[tokenizer.eos_token_id] = model.lm_head.weight[LIKELY]
    model = accelerators.accepted(model)
    if options.get("bf16"):
        model = model.float()  # mixed precision is of float32
    logits, deals = options.pop("logits", False), options.pop("deals", True)
    peft_config = lora() if options.pop("lora", False) else None
    made = llama_trainer(
        folder / case, update_rules.get(rule, **rule_options), model=model, prompts=PROMPTS,
        peft_config=peft_config, on_step=on_step,
        **{"max_completion_length": max(LONGEST), **options})
    if logits:
        made.keeps_logits = lambda: True
    if deals:
        made._generate_single_turn = dealt(int(os.environ["RANK"]), tokenizer.eos_token_id)
    return made


class Watched(transformers.TrainerCallback):
    """The rows of each optimizer step on this rank, and the whole weights around it."""

    def __init__(self, made: Any):
        self.made, self.steps, self.weights = made, [], []

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self.weights.append(accelerators.whole_weights(self.made))

    def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
        self.steps.append([part.inputs for part in self.made.micro_batches])

    on_train_end = on_step_begin


def steps(folder: Path, case: str) -> dict[str, Any]:
    """Rows and weights of a case's two steps."""
    made = made_ready(folder, case)
    watched = Watched(made)
    made.add_callback(watched)
    made.train()
    return {"steps": watched.steps, "weights": watched.weights,
            "kind": str(made.accelerator.distributed_type.value), "model": type(made.model).__name__,
            "bf16": made.args.bf16, "checkpoints": made.generating_model.is_gradient_checkpointing,
            "fused": list(made.forward._fused.values())}


def all_steps(folder: Path, names: list[str]) -> None:
    found = {}
    for case in names:
        found[case] = steps(folder, case)
    torch.save(found, folder / f"steps-{os.environ['RANK']}.pt")
    dist.barrier()


STEADY = {"steps": 4, "num_iterations": 1, "optim": "adamw_torch", "save_strategy": "steps",
          "save_steps": 2, "deals": False}
"""Four steps, each on completions that the sharded model samples itself, and a checkpoint between."""


def resumed(folder: Path) -> None:
    """A whole run, and one that goes on from its checkpoint: weights after them, and their records."""
    found, middle = {}, str(folder / "whole" / "aepo" / "checkpoint-2")
    for label, checkpoint in (("whole", None), ("resumed", middle)):
        records: list[dict[str, Any]] = []
        made = made_ready(folder / label, "aepo", on_step=records.append, **STEADY)
        made.train(resume_from_checkpoint=checkpoint)
        found[label] = {"weights": accelerators.whole_weights(made), "records": records}
    torch.save(found, folder / f"steps-{os.environ['RANK']}.pt")
    dist.barrier()


ON_ANY_NUMBER = {
    **STEADY, "adam_epsilon": 1e-3, "gradient_accumulation_steps": 1}
"""With an epsilon that leaves a gradient of 0 but for rounding without weight, as Adam's own does not."""


def shared_out(made: Any, stop: int) -> Any:
    """In place of sampling: completions by the step and a row's place among those of all ranks."""
    ranks, rank = dist.get_world_size(), dist.get_rank()
    calls: dict[int, int] = {}

    def completions(prompt_ids: Any, *_: Any, **__: Any) -> Any:
        step = made.state.global_step
        calls[step] = calls.get(step, 0) + 1
        generator = torch.Generator().manual_seed(100 * step + calls[step])
        found = []
        for row in range(len(prompt_ids) * ranks):
            length = int(torch.randint(1, max(LONGEST) + 1, (), generator=generator))
            tokens = torch.randint(4, 14, (length,), generator=generator).tolist()
            found.append([*tokens[:-1], stop] if row % 3 else tokens)
        return found[rank * len(prompt_ids) :][: len(prompt_ids)], None

    return completions


def on_any_number(folder: Path, checkpoint: str | None) -> None:
    """A run of 24 completions a step on any number of ranks: its weights, or why it was refused."""
    made = made_ready(
        folder, "aepo", per_device_train_batch_size=24 // int(os.environ["WORLD_SIZE"]),
        **ON_ANY_NUMBER)
    made._generate_single_turn = shared_out(made, made.processing_class.eos_token_id)
    found = {"kind": str(made.accelerator.distributed_type.value)}
    try:
        with norms_in_full_precision():  # a pass on fewer rows else differs by 1e-7, which Adam blows up
            made.train(resume_from_checkpoint=checkpoint)
    except ValueError as error:
        found |= {"refused": str(error), "steps": made.state.global_step}
    else:
        found["weights"] = accelerators.whole_weights(made)
    torch.save(found, folder / f"steps-{os.environ['RANK']}.pt")
    dist.barrier()


if __name__ == "__main__":
    os.environ["ACCELERATE_TORCH_DEVICE"] = "cpu"
    accelerators.on_cpu(sys.argv[2])
    if sys.argv[3] == "resumed":
        resumed(Path(sys.argv[1]))
    elif sys.argv[3] == "on any number":
        on_any_number(Path(sys.argv[1]), sys.argv[4] if len(sys.argv) > 4 else None)
    else:
        all_steps(Path(sys.argv[1]), list(CASES) if sys.argv[3] == "all" else sys.argv[3].split(","))
