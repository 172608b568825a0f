"""Run by test_ragged_ranks: steps whose completions are longer on one of two ranks than on the other."""

import contextlib
import os
import sys
import warnings
from pathlib import Path

import torch
import torch.distributed as dist
import transformers
from accelerate import Accelerator
from torch.distributed.fsdp import fully_shard
from transformers.models.llama import modeling_llama

from entropy_theory import update_rules
from entropy_theory.token_batch import TokenBatch
from llm_bridge.forward import shared_prompts
from llm_bridge.forward.policy_forward import Forward
from llm_bridge.objective import batches
from llm_bridge.running import ranks
from llm_bridge.trainer import preparation, reference
from llm_bridge.trainer.options import InertRuleWarning
from tests.llm_bridge import collectives
from tests.llm_bridge.llama_steps import llama, llama_trainer
from tests.llm_bridge.two_processes import judged_by_nobody, judged_on_one_rank

LONGEST = (3, 6)
"""Tokens of the longest completion on either rank; they change places at every batch."""
PROMPTS = ("1", "12+3=", "412+27=", "5", "3+8=", "77")
ON_EACH_RANK = {"per_device_train_batch_size": 12, "gradient_accumulation_steps": 1}
TWICE = {"steps": 2, "num_iterations": 2, "learning_rate": 0.01}
CHECKPOINTED = {
    "gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"use_reentrant": False}}
DATA_PARALLEL = {
    "ddp_find_unused_parameters": False, "ddp_bucket_cap_mb": 1, "ddp_broadcast_buffers": False,
    "ddp_backend": "gloo", "ddp_timeout": 600}
CASES = {
    "micro-batches": (
        "aent", {"warm_up_steps": 0, "coefficient": 0.1, "removed_fraction": 0.4},
        {"per_device_train_batch_size": 3, "gradient_accumulation_steps": 4}),
    "two generations": ("grpo", {}, {"steps": 2, "learning_rate": 0.01, **DATA_PARALLEL}),
    "off-policy": ("kl-cov", {"ratio": 0.2}, TWICE),
    "prepared again": ("clip-cov", {"ratio": 0.2, "lower": 0.05, "cov_log_prob": "current"}, TWICE),
    "second batch": ("aepo", {"alpha": 2.0}, {}),
    "reference": ("reference-kl", {"coefficient": 0.3}, TWICE),
    "cut off": ("grpo", {}, {"mask_truncated_completions": True}),
    "of each prompt": (
        "entropy-bonus", {"target": 2.0, "prompt_gain": 1.5, "coefficient_low": -1.0},
        {"target_offsets": (0.4, -0.2, 0.0, 0.1, None, -0.5), **TWICE}),
    "resampled": ("aepo", {"alpha": 2.0}, {"num_generations": 4, "resampling_rounds": 2}),
    "judged on one rank": ("grpo", {}, {"reward": judged_on_one_rank}),
    "checkpointed": ("grpo", {}, {**TWICE, **CHECKPOINTED}),
    "judged by nobody": ("kl-cov", {"ratio": 0.2}, {"reward": judged_by_nobody, **TWICE}),
}
LONG = {"learning_rate": 0.01, "steps": 4}
CONTROLLED = {
    "alpha": 2.0, "target": 2.0,
    "base": update_rules.get("aent", warm_up_steps=0, coefficient=0.1, removed_fraction=0.4)}
OF_WHOLE_RUNS = {
    "both controllers": ("aepo", CONTROLLED, {
        **LONG, "num_iterations": 2, "per_device_train_batch_size": 6, "gradient_accumulation_steps": 1,
        "steps_per_generation": 2, "num_generations": 4, "resampling_rounds": 1,
        "mask_truncated_completions": True}),
    "judged on one rank, two micro-batches": ("kl-cov", {"ratio": 0.2, "cov_log_prob": "current"}, {
        **LONG, "num_iterations": 2, "per_device_train_batch_size": 6, "gradient_accumulation_steps": 2,
        "reward": judged_on_one_rank}),
}
"""Runs of which the collectives alone are compared."""
CONTINUOUS = {
    "use_transformers_continuous_batching": True,
    # Left to itself it takes most of the machine's memory.
    "transformers_continuous_batching_config": {
        "num_blocks": 64, "block_size": 16, "max_batch_tokens": 64}}
OF_SAMPLING = {
    "continuous": ("aepo", {"alpha": 2.0}, {
        "steps": 2, "learning_rate": 0.01, "sampled": True, **CONTINUOUS}),
}
"""Runs that draw their completions."""
OF_NODES = {
    "replaced groups": ("aepo", {"alpha": 2.0}, {
        "steps": 3, "learning_rate": 0.01, "per_device_train_batch_size": 4,
        "gradient_accumulation_steps": 2, "num_generations": 4, "resampling_rounds": 2,
        "mask_truncated_completions": True}),
    "a group on both nodes": ("clip-cov", {"ratio": 0.2, "lower": 0.05}, {
        "steps": 2, "learning_rate": 0.01, "per_device_train_batch_size": 3,
        "gradient_accumulation_steps": 2}),
}
"""Runs of four ranks."""
OPTIONS = {"aent": {"warm_up_steps": 0, "removed_fraction": 0.4},
           "clip-cov": {"ratio": 0.2, "lower": 0.05},
           "kl-cov": {"ratio": 0.2}, "entropy-bonus": {"target": 2.0}, "aepo": CONTROLLED}
"""With which rules do something on a handful of tokens."""
CUTS = {
    "1 micro-batch": {},
    "2 micro-batches, 2 iterations": {
        "per_device_train_batch_size": 6, "gradient_accumulation_steps": 2, "num_iterations": 2},
    "4 micro-batches, 2 steps a generation": {
        "per_device_train_batch_size": 3, "gradient_accumulation_steps": 2, "steps_per_generation": 4},
}
OF_ALL_RULES = {
    f"{rule}, {cut}": (rule, OPTIONS.get(rule, {}), {**LONG, **options})
    for rule in update_rules.RULES if rule != "natural-gradient" for cut, options in CUTS.items()
}
SHARDED = {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 6}
"""Two rows a pass: on one rank they may share a prompt, on the other not."""


READ_ONCE = ("micro-batches", "off-policy", "second batch")
SHARDED_CASES = [case for case in CASES if case != "judged by nobody"]


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


class Rows(transformers.TrainerCallback):
    """What each optimizer step is made of on this rank, and the weights around it."""

    def __init__(self, made):
        self.made, self.steps, self.weights = made, [], []

    def on_pre_optimizer_step(self, *_, **__):
        self.steps.append([part.inputs for part in self.made.micro_batches])
        self.on_train_end()

    def on_train_end(self, *_, **__):
        plain = self.made.accelerator.unwrap_model(self.made.model)
        self.weights.append({
            name: (w.full_tensor() if hasattr(w, "full_tensor") else w).detach().clone()
            for name, w in plain.named_parameters()
        })


def ragged(folder: Path, case: str, *, sharded: bool = False) -> dict:
    """A run of a case: its collectives, calls of the model, rows and weights on this rank."""
    rank = int(os.environ["RANK"])
    rule, rule_options, options = {
        **CASES, **OF_WHOLE_RUNS, **OF_ALL_RULES, **OF_SAMPLING, **OF_NODES}[case]
    options = {**ON_EACH_RANK, **options, **(SHARDED if sharded else {})}
    reward, rounds = options.pop("reward", None), options.pop("resampling_rounds", 0)
    deals = not options.pop("sampled", False)
    model, tokenizer = llama()
    if sharded:
        for layer in model.model.layers:
            fully_shard(layer)
        fully_shard(model)
        # accelerate shards later than the reference is copied; what is sharded cannot be copied.
        reference.frozen_copy = lambda *_: llama()[0].requires_grad_(False).eval()
    made = llama_trainer(folder / case, update_rules.get(rule, **rule_options), model=model,
                         prompts=PROMPTS, max_completion_length=max(LONGEST), **options)
    if sharded:
        # As accelerate leaves a model that is sharded already, where it knows of sharding.
        made.accelerator.prepare_model = lambda model, **_: model
    if reward is not None:
        made.reward_funcs = [reward]
    made.resampling_rounds = rounds
    made.same_policy.begin = lambda: None  # passes of one row each, once a run
    if deals:
        made._generate_single_turn = dealt(rank, tokenizer.eos_token_id)
    watched, calls, original, gather = Rows(made), [], Forward._call, preparation.gathered
    gathers = 0

    def call(self, model, *arguments, **more):
        calls.append(type(model).__name__)
        return original(self, model, *arguments, **more)

    def gathered(*arguments, **more):
        nonlocal gathers
        gathers += 1
        return gather(*arguments, **more)

    made.add_callback(watched)
    Forward._call, preparation.gathered = call, gathered
    try:
        with collectives.recorded() as found:
            made.train()
    finally:
        Forward._call, preparation.gathered = original, gather
    wrapped = made.model_wrapped
    return {"collectives": found, "calls": calls, "gathers": gathers, "steps": watched.steps,
            "weights": watched.weights,
            "data parallelism": [getattr(wrapped, name, None) for name in (
                "find_unused_parameters", "bucket_bytes_cap", "broadcast_buffers")]}


def all_rows() -> TokenBatch:
    """`batches.gathered` of two rows on each rank, which say where they are from."""
    rank, accelerator = dist.get_rank(), Accelerator(cpu=True)
    width = LONGEST[rank]
    place = torch.arange(2 * width).reshape(2, width) + 100 * rank
    number = place.double()
    batch = TokenBatch(
        log_prob=number, old_log_prob=number, reward=number.float(), weight=number, sequence=place,
        mask=place % 2 == 0, tempered=place % 3 == 0,
        group=place[:, :1].expand(2, width), prepared={"selected": place % 5 == 0, "scale": number},
    )
    return batches.gathered(accelerator, batch, narrow=("group",))


def of_all_rules(folder: Path) -> None:
    warnings.simplefilter("ignore", InertRuleWarning)  # clip-higher's, where nothing can be clipped
    found = {case: ragged(folder, case)["collectives"] for case in OF_ALL_RULES}
    torch.save(found, folder / f"rules-{os.environ['RANK']}.pt")
    dist.barrier()


def of_sampling(folder: Path) -> None:
    found = {case: {**ragged(folder, case), "seed": torch.initial_seed()} for case in OF_SAMPLING}
    torch.save(found, folder / f"sampling-{os.environ['RANK']}.pt")
    dist.barrier()


def of_nodes(folder: Path) -> None:
    found = {case: ragged(folder, case) for case in OF_NODES}
    torch.save({
        **found, "first of its node": ranks.is_main_of_node(),
        "dealt": ranks.dealt_out(list(range(5)), lambda item: [item, dist.get_rank()]),
    }, folder / f"nodes-{os.environ['RANK']}.pt")
    dist.barrier()


def of_sharded(folder: Path) -> None:
    found = {case: ragged(folder, case, sharded=True) for case in SHARDED_CASES}
    torch.save(found, folder / f"sharded-{os.environ['RANK']}.pt")
    dist.barrier()


@contextlib.contextmanager
def norms_in_full_precision():
    """Llama's norms in the precision of the model; by default they compute in float32."""
    original = modeling_llama.LlamaRMSNorm.forward

    def forward(self, hidden):
        variance = hidden.square().mean(-1, keepdim=True)
        return self.weight * (hidden * torch.rsqrt(variance + self.variance_epsilon))

    modeling_llama.LlamaRMSNorm.forward = forward
    try:
        yield
    finally:
        modeling_llama.LlamaRMSNorm.forward = original


@contextlib.contextmanager
def copies_read():
    """Every prompt is read again for each of its samples."""
    original = shared_prompts.obstacle
    shared_prompts.obstacle = lambda _: "the test says so"
    try:
        yield
    finally:
        shared_prompts.obstacle = original


def of_shared(folder: Path) -> None:
    """Runs that read prompts once, and the same that read copies, with norms in either precision."""
    found = {}
    for case in READ_ONCE:
        for norms in ("float32", "float64"):
            for reads in ("once", "copies"):
                with contextlib.ExitStack() as stack:
                    if norms == "float64":
                        stack.enter_context(norms_in_full_precision())
                    if reads == "copies":
                        stack.enter_context(copies_read())
                    run = ragged(folder, case)
                found[case, norms, reads] = {name: run[name] for name in ("weights", "calls")}
    torch.save(found, folder / f"shared-{os.environ['RANK']}.pt")
    dist.barrier()


def main(folder: Path) -> None:
    rank = os.environ["RANK"]
    found = {case: ragged(folder, case) for case in CASES}
    for case in OF_WHOLE_RUNS:
        found[case] = {"collectives": ragged(folder, case)["collectives"]}
    found["sharded"] = ragged(folder, "two generations", sharded=True)
    torch.save(found, folder / f"runs-{rank}.pt")
    whole = all_rows()
    torch.save({"mask": whole.mask, "tempered": whole.tempered, "sequence": whole.sequence,
                "reward": whole.reward, "group": whole.group,
                **whole.prepared}, folder / f"gathered-{rank}.pt")
    dist.barrier()


if __name__ == "__main__":
    os.environ["ACCELERATE_TORCH_DEVICE"] = "cpu"
    job = sys.argv[2] if len(sys.argv) > 2 else "main"
    {"main": main, "of_all_rules": of_all_rules, "of_sharded": of_sharded,
     "of_sampling": of_sampling, "of_nodes": of_nodes, "of_shared": of_shared}[job](Path(sys.argv[1]))
