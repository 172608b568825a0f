"""Run by test_rank_steps: optimizer steps on ranks whose completions differ in length, and which may
share the model's weights.

    python -m tests.llm_bridge.rank_steps FOLDER SHARDING JOB

JOB is "daily", "nodes", "all", cases with commas between, "resumed", or "on any number" (of ranks),
which may be followed by the checkpoint from which to go on.
"""

import contextlib
import os
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist
import transformers
from transformers.models.llama import modeling_llama

from entropy_theory import update_rules
from llm_bridge import diagnostics
from llm_bridge.accounting.accountant import Accountant
from llm_bridge.data import models
from llm_bridge.running import ranks
from llm_bridge.trainer import entropy_trainer, reference
from tests.llm_bridge import accelerators, collectives
from tests.llm_bridge.language_models import (
    ScoringFromLogits,
    grpo_trainer,
    low_digit,
    tabular,
    tiny_llama,
)
from tests.llm_bridge.llama_steps import experts, llama, llama_trainer

LONGEST = (3, 6)
"""Tokens of the longest completion on either rank; they change places at every batch."""
PROMPTS = ("1", "12+3=", "412+27=", "5", "3+8=", "77")
ONCE = {"per_device_train_batch_size": 12, "gradient_accumulation_steps": 1}
TWICE = {
    "steps": 2, "num_iterations": 2, "learning_rate": 0.01, "per_device_train_batch_size": 6,
    "gradient_accumulation_steps": 2}
"""Two optimizer steps on one generation of 24 rows, the second off-policy, in two micro-batches each."""
OFF_POLICY = {**TWICE, **ONCE}
CHECKPOINTED = {
    "gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"use_reentrant": False}}
CONTINUOUS = {
    "use_transformers_continuous_batching": True,
    # Left to itself it takes most of the machine's memory.
    "transformers_continuous_batching_config": {
        "num_blocks": 64, "block_size": 16, "max_batch_tokens": 64}}
AENT = {"warm_up_steps": 0, "coefficient": 0.1, "removed_fraction": 0.4}
CONTROLLED = {"alpha": 2.0, "target": 2.0, "base": update_rules.get("aent", **AENT)}
SMOOTH = update_rules.get("entropy-bonus", coefficient=0.1, base=update_rules.get(
    "grpo", clip_low=0.9999, clip_high=1e6))
"""Ratios without the clip's jump: a ratio near a bound is clipped or not by how it is rounded."""


def judged_on_one_rank(prompts, completions, **_):
    known = os.environ["RANK"] == "0"
    return low_digit(prompts, completions) if known else [None] * len(completions)


def judged_by_nobody(prompts, completions, **_):
    return [None] * len(completions)


ROUTED = 0.5
"""The coefficient of the loss that balances experts."""
Cases = dict[str, tuple[str, dict[str, Any], dict[str, Any]]]
DAILY: Cases = {
    "micro-batches": ("aent", AENT, {
        "per_device_train_batch_size": 3, "gradient_accumulation_steps": 4}),
    "two generations": ("grpo", {}, {
        "steps": 2, "learning_rate": 0.01, "ddp_find_unused_parameters": False, "ddp_bucket_cap_mb": 1,
        "ddp_broadcast_buffers": False, "ddp_backend": "gloo", "ddp_timeout": 600}),
    "off-policy": ("kl-cov", {"ratio": 0.2}, {**OFF_POLICY, **CHECKPOINTED}),
    "prepared again": ("clip-cov", {"ratio": 0.2, "lower": 0.05, "cov_log_prob": "current"}, OFF_POLICY),
    "second batch": ("aepo", {"alpha": 2.0}, {}),
    "reference": ("reference-kl", {"coefficient": 0.3}, OFF_POLICY),
    "cut off": ("grpo", {}, {"mask_truncated_completions": True}),
    "of each prompt": (
        "entropy-bonus", {"target": 2.0, "prompt_gain": 1.5, "coefficient_low": -1.0},
        {"target_offsets": (0.4, -0.2, 0.0, 0.1, None, -0.5), **OFF_POLICY}),
    "resampled": ("aepo", {"alpha": 2.0}, {"num_generations": 4, "resampling_rounds": 2}),
    "judged on one rank": ("grpo", {}, {"reward": judged_on_one_rank}),
    "judged by nobody": ("kl-cov", {"ratio": 0.2}, {"reward": judged_by_nobody, **OFF_POLICY}),
    "both controllers": ("aepo", CONTROLLED, {
        "learning_rate": 0.01, "steps": 4, "num_iterations": 2, "per_device_train_batch_size": 6,
        "steps_per_generation": 2, "num_generations": 4, "resampling_rounds": 1,
        "mask_truncated_completions": True}),
    "accounted": ("entropy-bonus", {"coefficient": 0.5}, {
        "steps": 2, "streamed": True, "learning_rate": 1e-3, "optim": "adamw_torch", "weight_decay": 0.1,
        "max_grad_norm": 0.05, "per_device_train_batch_size": 6, "gradient_accumulation_steps": 2}),
    "router's loss": ("grpo", {}, {
        "experts": True, "router_aux_loss_coef": ROUTED, "per_device_train_batch_size": 6,
        "gradient_accumulation_steps": 2}),
    # On one rank rows of a pass share a prompt, on the other not.
    "two rows a pass": ("grpo", {}, {
        "steps": 2, "learning_rate": 0.01, "per_device_train_batch_size": 2,
        "gradient_accumulation_steps": 6}),
}
OPTIONS = {"aent": {"warm_up_steps": 0, "removed_fraction": 0.4},
           "clip-cov": {"ratio": 0.2, "lower": 0.05},
           "kl-cov": {"ratio": 0.2}, "entropy-bonus": {"target": 2.0}, "aepo": CONTROLLED,
           "erc": {"beta_low": 0.2, "beta_high": 0.2}}
"""With which rules do something on a handful of tokens."""
CASES: Cases = {
    **{name: (name, OPTIONS.get(name, {}), TWICE) for name in update_rules.RULES
       if name != "natural-gradient"},
    **{name: (rule, rule_options, {**TWICE, **options}) for name, (rule, rule_options, options) in {
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
    }.items()},
}
SAMPLED: Cases = {
    name: ("aepo", {"alpha": 2.0}, {
        **TWICE, "num_iterations": 1, "max_completion_length": 40, "deals": False, "ends": True,
        **options})
    for name, options in {
        "TRL's generate": {}, "without gathering": {"ds3_gather_for_generation": False},
        "continuous batching": CONTINUOUS}.items()}
"""Two steps, each on completions that TRL draws, by how it does under ZeRO-3."""
NODES: Cases = {
    "replaced groups": ("aepo", {"alpha": 2.0}, {
        "steps": 3, "learning_rate": 0.01, "per_device_train_batch_size": 4,
        "gradient_accumulation_steps": 2, "num_generations": 4, "resampling_rounds": 2,
        "mask_truncated_completions": True}),
    "a group on both nodes": ("clip-cov", {"ratio": 0.2, "lower": 0.05}, {
        "steps": 2, "learning_rate": 0.01, "per_device_train_batch_size": 3,
        "gradient_accumulation_steps": 2}),
}
"""Steps of four ranks."""
LIKELY = 10
"""A token that the model often draws."""
EVERY = {**DAILY, **CASES, **SAMPLED, **NODES}


def dealt(rank: int, stop: int):
    """In place of sampling: as many tokens as the rank may have at most, each time other ones."""
    batches = iter(range(1000))

    def completions(prompt_ids, *_, **__):
        batch = next(batches)
        generator = torch.Generator().manual_seed(2 * batch + rank)
        longest = LONGEST[(rank + batch) % 2]
        found = []
        for row in range(len(prompt_ids)):
            length = longest if row == 0 else int(torch.randint(1, longest + 1, (), generator=generator))
            tokens = torch.randint(4, 14, (length,), generator=generator).tolist()
            found.append([*tokens[:-1], stop] if row % 3 else tokens)
        return found, None

    return completions


def lora() -> Any:
    import peft

    torch.manual_seed(1)
    return peft.LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False)


def adapted(case: str, *, is_reference: bool = False) -> Any:
    """The model of a case, in float64 and in one process, with its adapter unless it is the reference."""
    options = EVERY[case][2]
    model, _ = experts() if options.get("experts") else llama(
        tie_word_embeddings=options.get("tied", False))
    if not options.get("lora") or is_reference:
        return model
    import peft

    return peft.get_peft_model(model, lora()).double()


def made_ready(folder: Path, case: str, *, on_step: Any = None, **more: Any) -> Any:
    """The trainer of a case on this rank, with its model and, unless it samples, its completions."""
    rule, rule_options, options = EVERY[case]
    options = {**ONCE, "max_completion_length": max(LONGEST), **options, **more}
    model, tokenizer = experts() if options.pop("experts", False) else llama(
        tie_word_embeddings=options.pop("tied", False))
    if options.pop("ends", False):
        with torch.no_grad():  # else every rank's longest completion is as long as it may be
            model.lm_head.weight[tokenizer.eos_token_id] = model.lm_head.weight[LIKELY]
    model = accelerators.accepted(model)
    if options.get("bf16"):
        model = model.float()  # mixed precision is of float32
    logits, deals = options.pop("logits", False), options.pop("deals", True)
    reward, rounds = options.pop("reward", None), options.pop("resampling_rounds", 0)
    peft_config = lora() if options.pop("lora", False) else None
    made = llama_trainer(
        folder / case, update_rules.get(rule, **rule_options), model=model, prompts=PROMPTS,
        peft_config=peft_config, on_step=on_step, **options)
    if logits:
        made.forward._logit_map = lambda *_: None
    if deals:
        made._generate_single_turn = dealt(int(os.environ["RANK"]), tokenizer.eos_token_id)
    if reward is not None:
        made.reward_funcs = [reward]
    made.resampling_rounds = rounds
    if case == "accounted":
        made.add_callback(Accountant(made, forecast_unit=True))
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
    """A case's rows and weights, and the collectives that it made."""
    records: list[dict[str, Any]] = []
    made = made_ready(folder, case, on_step=records.append)
    watched = Watched(made)
    made.add_callback(watched)
    with collectives.recorded() if case in DAILY else contextlib.nullcontext([]) as found:
        made.train()
    return {"steps": watched.steps, "weights": watched.weights, "records": records,
            "collectives": found, "kind": str(made.accelerator.distributed_type.value),
            "bf16": made.args.bf16, "checkpoints": made.generating_model.is_gradient_checkpointing,
            "fused": [found is not None for found in made.forward.trials.found.values()],
            "data parallelism": [getattr(made.model_wrapped, name, None) for name in (
                "find_unused_parameters", "bucket_bytes_cap", "broadcast_buffers")]}


def watched_by_diagnostics(folder: Path) -> dict[str, Any]:
    """Diagnostics of TRL's own loss."""
    records: list[dict] = []
    model, tokenizer = tabular()
    made = grpo_trainer(folder, model, tokenizer, kind=ScoringFromLogits, micro_batches=2,
                        accumulation=1, entropy_coef=0.3)
    diagnostics.attach(made, coefficients_every=1, on_step=records.append)
    before = model.table.weight.detach().clone()
    made.train()
    after = made.accelerator.unwrap_model(made.model).table.weight.detach()
    return {"tables": [before, after], "records": records}


def references(folder: Path) -> dict[str, Any]:
    """The reference of each rank where only one of them reads checkpoints."""
    name = str(tiny_llama(folder / f"llama-{os.environ['RANK']}"))
    args = entropy_trainer.grpo_config(folder, use_cpu=True)
    one_reads = {"ACCELERATE_USE_FSDP": "true", "FSDP_CPU_RAM_EFFICIENT_LOADING": "true"}
    with mock.patch.dict(os.environ, one_reads):
        loaded = models.load(name)[0]
        return {
            "loaded": loaded.state_dict(),
            "copied": reference.frozen_copy(loaded, args).state_dict(),
            "named": reference.frozen_copy(name, args).state_dict(),
        }


STEADY = {"steps": 4, "num_iterations": 1, "optim": "adamw_torch", "save_strategy": "steps",
          "save_steps": 2, "deals": False}
"""Four steps, each on completions that the sharded model samples itself, and a checkpoint between."""


def resumed(folder: Path) -> dict[str, Any]:
    """A whole run, and one that goes on from its checkpoint: weights after them, and their records."""
    found, middle = {}, str(folder / "whole" / "aepo" / "checkpoint-2")
    for label, checkpoint in (("whole", None), ("resumed", middle)):
        records: list[dict[str, Any]] = []
        made = made_ready(folder / label, "aepo", on_step=records.append, **STEADY)
        made.train(resume_from_checkpoint=checkpoint)
        found[label] = {"weights": accelerators.whole_weights(made), "records": records}
    return found


ON_ANY_NUMBER = {
    **STEADY, "adam_epsilon": 1e-3, "gradient_accumulation_steps": 1}
"""With an epsilon that leaves a gradient of 0 but for rounding without weight, as Adam's own does not."""


@contextlib.contextmanager
def norms_in_full_precision():
    """Llama's norms in the precision of the model; by default they compute in float32."""
    def forward(self, hidden):
        variance = hidden.square().mean(-1, keepdim=True)
        return self.weight * (hidden * torch.rsqrt(variance + self.variance_epsilon))

    with mock.patch.object(modeling_llama.LlamaRMSNorm, "forward", forward):
        yield


def shared_out(made: Any, stop: int) -> Any:
    """In place of sampling: completions by the step and a row's place among those of all ranks."""
    count, rank = dist.get_world_size(), dist.get_rank()
    calls: dict[int, int] = {}

    def completions(prompt_ids: Any, *_: Any, **__: Any) -> Any:
        step = made.state.global_step
        calls[step] = calls.get(step, 0) + 1
        generator = torch.Generator().manual_seed(100 * step + calls[step])
        found = []
        for row in range(len(prompt_ids) * count):
            length = int(torch.randint(1, max(LONGEST) + 1, (), generator=generator))
            tokens = torch.randint(4, 14, (length,), generator=generator).tolist()
            found.append([*tokens[:-1], stop] if row % 3 else tokens)
        return found[rank * len(prompt_ids) :][: len(prompt_ids)], None

    return completions


def on_any_number(folder: Path, checkpoint: str | None) -> dict[str, Any]:
    """A run of 24 completions a step on any number of ranks: its weights, or why it was refused."""
    made = made_ready(
        folder, "aepo", **ON_ANY_NUMBER,
        per_device_train_batch_size=24 // int(os.environ["WORLD_SIZE"]))
    made._generate_single_turn = shared_out(made, made.processing_class.eos_token_id)
    found = {"kind": str(made.accelerator.distributed_type.value)}
    try:
        with norms_in_full_precision():  # a pass on fewer rows else differs by 1e-7, which Adam blows up
            made.train(resume_from_checkpoint=checkpoint)
    except ValueError as error:
        return found | {"refused": str(error), "steps": made.state.global_step}
    return found | {"weights": accelerators.whole_weights(made)}


def main(folder: Path, job: str, checkpoint: str | None = None) -> dict[str, Any]:
    """What this rank brings back from a job."""
    if job == "resumed":
        return resumed(folder)
    if job == "on any number":
        return on_any_number(folder, checkpoint)
    found: dict[str, Any] = {}
    if job == "daily":
        found["references"] = references(folder)
    named = {"daily": DAILY, "nodes": NODES, "all": CASES}.get(job, job.split(","))
    for case in named:
        found[case] = steps(folder, case)
    if job == "daily":
        found["diagnostics"] = watched_by_diagnostics(folder)
    if job == "nodes":
        found |= {"first of its node": ranks.is_main_of_node(),
                  "dealt": ranks.dealt_out(list(range(5)), lambda item: [item, dist.get_rank()])}
    return found


if __name__ == "__main__":
    os.environ["ACCELERATE_TORCH_DEVICE"] = "cpu"
    accelerators.on_cpu(sys.argv[2])
    told = main(Path(sys.argv[1]), *sys.argv[3:])
    torch.save(told, f"{sys.argv[1]}/steps-{os.environ['RANK']}.pt")
    dist.barrier()
