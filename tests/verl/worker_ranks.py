"""Run by test_two_ranks: verl's worker of an actor on two ranks, from its configuration to new weights.

    RANK=0 WORLD_SIZE=2 MASTER_ADDR=... MASTER_PORT=... python -m tests.verl.worker_ranks FOLDER

The worker, the cut of a batch over ranks, mini- and micro-batches, the FSDP2 engine and its optimizer are
verl's. What a trainer does around them (`PPOTrainer._compute_old_log_prob` and ``_update_actor``) is done
here on completions that are given, and what a RayWorkerGroup does, without Ray.
"""

import os
import pickle
import signal
import sys
from pathlib import Path
from typing import Any

import hydra
import torch
import transformers
import verl
from tensordict import TensorDict
from verl.protocol import BatchData
from verl.utils import tensordict_utils
from verl.workers.utils.padding import response_from_nested

from llm_bridge.verl_plugin import PREFIX

RANKS, ROWS, MINI_BATCH, MICRO_BATCH = 2, 16, 8, 2
TEMPERED_ROWS = 8
"""Of a second batch, which comes after the first here and is dealt out to its mini-batches."""
RATE, MOMENTUM, DECAY, CLIP, SEED = 0.1, 0.9, 0.2, 0.5, 42
LIMIT = 900
"""Seconds after which a process that was started here is ended, whoever waits for it."""
ENVIRONMENT = {
    "VERL_USE_EXTERNAL_MODULES": "tests.verl.cpu_platform",
    # verl's engine is registered for cuda and npu; this is verl's variable to choose it for another.
    "VERL_ENGINE_DEVICE": "cuda",
    "CUDA_VISIBLE_DEVICES": "",
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
}
"""With which verl's processes run without an accelerator."""
ENTROPY = ["calculate_entropy=true"]
AENT = {"coefficient": 0.1, "coefficient_high": 0.5, "coefficient_step": 0.3, "warm_up_steps": 0,
        "removed_fraction": 0.4}
HOLDS = {"hold": "forecast", "coefficient_low": -100.0, "coefficient_high": 100.0,
         "feedback_horizon": 5.0}
FORECAST, EVERY_SECOND = "policy_loss.forecast_every=1", "policy_loss.forecast_every=2"
CASES: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "grpo": ("grpo", {}, []),
    "grpo, forecast": ("grpo", {}, [FORECAST]),
    "gspo": ("gspo", {"clip_low": 0.1, "clip_high": 0.1}, []),
    "clip-cov, forecast": ("clip-cov", {"ratio": 0.2, "lower": 0.05}, [FORECAST]),
    "kl-cov": ("kl-cov", {"ratio": 0.2}, []),
    "entropy-advantage": ("entropy-advantage", {}, ENTROPY),
    "reference-kl": ("reference-kl", {"coefficient": 0.3}, ["use_kl_loss=true", "kl_loss_coef=0"]),
    "entropy-bonus, target": (
        "entropy-bonus", {"target": 9.0, "coefficient": 0.1, "coefficient_step": 0.2}, ENTROPY),
    "aent, adaptive, forecast": ("aent", AENT, [*ENTROPY, EVERY_SECOND]),
    "aent, temperature": ("aent", {**AENT, "adaptive": False}, ENTROPY),
    "kl-cov, temperature, forecast": ("kl-cov", {"ratio": 0.2}, [FORECAST]),
    "diverse-bonus": ("diverse-bonus", {"coefficient": 0.2}, []),
    "entropy-bonus, prompts": ("entropy-bonus", {"coefficient": 0.1, "prompt_gain": 0.3}, ENTROPY),
    "entropy-bonus, holds": (
        "entropy-bonus", {"target": 1.5, "coefficient": 0.1, **HOLDS, "prompt_gain": 0.1}, ENTROPY),
    "diverse-bonus, holds": ("diverse-bonus", {"target": 2.0, "coefficient": 0.1, **HOLDS}, [FORECAST]),
    "aent, holds": (
        "aent", {"adaptive": False, "target": 1.5, "coefficient": 0.1, "removed_fraction": 0.4, **HOLDS},
        ENTROPY),
    "aepo, temperature, forecast": ("aepo", {"alpha": 0.7}, [FORECAST]),
}
TEMPERATURE = 0.7
"""Of the cases that are called so, 1 of the others."""


def llama(folder: Path) -> None:
    """A random two-layer Llama in ``folder``."""
    torch.manual_seed(0)
    transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=20, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=64, initializer_range=0.5, pad_token_id=0,
        bos_token_id=1, eos_token_id=2)).save_pretrained(folder)


def completions() -> tuple[list[torch.Tensor], list[torch.Tensor], list[float]]:
    """Prompts, responses and advantages, a second batch's last; those of the second rank are shorter."""
    generator = torch.Generator().manual_seed(3)

    def drawn(low: int, high: int) -> torch.Tensor:
        length = int(torch.randint(low, high + 1, (), generator=generator))
        return torch.randint(3, 20, (length,), generator=generator)

    prompts = [drawn(1, 4) for _ in range(ROWS)]
    responses = [drawn(1, 7 if row < ROWS // RANKS else 3) for row in range(ROWS)]
    advantages = torch.randn(ROWS + TEMPERED_ROWS, generator=generator).tolist()
    prompts += [drawn(1, 4) for _ in range(TEMPERED_ROWS)]
    responses += [drawn(1, 5) for _ in range(TEMPERED_ROWS)]
    return prompts, responses, advantages


def rewards() -> list[float]:
    """Right and wrong answers, both in most groups."""
    return [float(advantage > -0.3) for advantage in completions()[2]]


def groups() -> list[int]:
    """The prompts of the rows: groups of uneven sizes, parts of which are on both ranks and in each
    mini-batch, and the second batch's of four."""
    return [row % 3 for row in range(ROWS)] + [3 + row // 4 for row in range(TEMPERED_ROWS)]


def offsets() -> list[float]:
    return [0.2 * (group - 1) for group in groups()]


def order(case: str) -> list[int]:
    """The rows as a trainer hands them on: a rank's are together, and a mini-batch's of a rank."""
    if not case.startswith("aepo"):
        return list(range(ROWS))
    own, tempered = MINI_BATCH // RANKS, TEMPERED_ROWS // (ROWS // (MINI_BATCH // RANKS))
    blocks = [range(at * own, (at + 1) * own) for at in range(ROWS // own)]
    # A group of the second batch is within a mini-batch, and on both ranks.
    second = [ROWS + RANKS * tempered * (at % RANKS) + tempered * (at // RANKS)
              for at in range(len(blocks))]
    return [row for block, start in zip(blocks, second, strict=True)
            for row in (*block, *range(start, start + tempered))]


def temperature(case: str) -> float:
    return TEMPERATURE if "temperature" in case else 1.0


def jagged(rows: list[torch.Tensor]) -> torch.Tensor:
    return torch.nested.as_nested_tensor(rows, layout=torch.jagged)


def batch(case: str) -> TensorDict:
    """What verl's trainer has of completions that it has sampled and judged."""
    chosen = order(case)
    prompts, responses, advantages = ([column[row] for row in chosen] for column in completions())
    columns = {
        "prompts": jagged(prompts),
        "responses": jagged(responses),
        "input_ids": jagged([torch.cat(both) for both in zip(prompts, responses, strict=True)]),
        "position_ids": jagged([torch.arange(len(p) + len(r))
                                for p, r in zip(prompts, responses, strict=True)]),
        "response_mask": jagged([torch.ones_like(r) for r in responses]),
        "loss_mask": jagged([torch.ones_like(r) for r in responses]),
        "advantages": jagged([torch.full((len(r),), a)
                              for r, a in zip(responses, advantages, strict=True)]),
        "rm_scores": jagged([torch.eye(len(r))[-1] * rewards()[row]
                             for row, r in zip(chosen, responses, strict=True)]),
        "uid": [f"prompt-{groups()[row]}" for row in chosen],
    }
    if CASES[case][1].get("prompt_gain"):
        columns["target_offset"] = [offsets()[row] for row in chosen]
    if case.startswith("aepo"):
        columns["tempered"] = torch.tensor([row >= ROWS for row in chosen])
        columns["sampling_temperature"] = torch.where(columns["tempered"], 1.2, 1.0)
    data = tensordict_utils.get_tensordict(columns, {})
    tensordict_utils.assign_non_tensor(data, temperature=temperature(case))
    return data


def reference(old_log_prob: torch.Tensor) -> torch.Tensor:
    """Log-probabilities of another policy."""
    return jagged([row - 0.3 * (-1) ** torch.arange(len(row)) for row in old_log_prob.unbind()])


def configuration(model: Path, case: str) -> Any:
    """verl's own, from its files and a command line."""
    rule, rule_options, options = CASES[case]
    actor = "actor_rollout_ref.actor."
    given = [f"+{actor}policy_loss.rule_options.{name}={value}" for name, value in rule_options.items()]
    with hydra.initialize_config_dir(str(Path(verl.__file__).parent / "trainer" / "config"),
                                     version_base=None):
        return hydra.compose("ppo_trainer", overrides=[
            f"actor_rollout_ref.model.path={model}",
            "actor_rollout_ref.model.external_lib=llm_bridge.verl_worker",
            "actor_rollout_ref.model.use_remove_padding=false",  # true wants flash attention
            "+actor_rollout_ref.model.load_tokenizer=false",
            "+actor_rollout_ref.model.override_config.attn_implementation=eager",
            "actor_rollout_ref.model.enable_gradient_checkpointing=false",
            "actor_rollout_ref.rollout.name=vllm",
            f"actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu={MICRO_BATCH}",
            f"{actor}strategy=fsdp2",
            f"{actor}fsdp_config.use_torch_compile=false",
            f"+{actor}fsdp_config.mixed_precision.param_dtype=fp32",
            f"{actor}ppo_mini_batch_size={MINI_BATCH}",
            f"{actor}ppo_micro_batch_size_per_gpu={MICRO_BATCH}",
            f"{actor}optim.optimizer=SGD", f"{actor}optim.lr={RATE}",
            f"{actor}optim.weight_decay={DECAY}", f"{actor}optim.clip_grad={CLIP}",
            f"{actor}optim.override_optimizer_config={{momentum:{MOMENTUM}}}",
            f"{actor}policy_loss.loss_mode={PREFIX}{rule}",
            f"{actor}policy_loss._target_=llm_bridge.verl_plugin.policy_loss_config",
            *given, *(f"++{actor}{option}" for option in options)])


def step(workers: Any, config: Any, case: str) -> dict[str, Any]:
    """One step of verl's trainer: old log-probabilities, then the actor's update in two mini-batches."""
    data, actor = batch(case), config.actor_rollout_ref.actor
    tensordict_utils.assign_non_tensor(data, calculate_entropy=True, compute_loss=False)
    scored = workers.compute_log_prob(data.copy())
    mask = data["response_mask"]
    data["old_log_probs"] = response_from_nested(scored["log_probs"], mask)
    data["entropy"] = response_from_nested(scored["entropy"], mask)
    data["ref_log_prob"] = reference(data["old_log_probs"])
    tensordict_utils.assign_non_tensor(
        data, calculate_entropy=actor.calculate_entropy, compute_loss=True, distillation_use_topk=False,
        distillation_only=False, global_batch_size=MINI_BATCH, mini_batch_size=MINI_BATCH,
        epochs=actor.ppo_epochs, seed=actor.data_loader_seed,
        dataloader_kwargs={"shuffle": actor.shuffle})
    metrics = tensordict_utils.get(workers.update_actor(data), "metrics")
    return {
        "old_log_prob": [row.clone() for row in data["old_log_probs"].unbind()],
        "entropy": [row.clone() for row in data["entropy"].unbind()],
        "metrics": {name: [float(v) for v in values] if isinstance(values, list) else float(values)
                    for name, values in metrics.items()},
    }


class Group:
    """What a RayWorkerGroup does, from within each rank: it cuts batches, and puts answers together."""

    def __init__(self, worker: Any):
        self._worker = worker

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> Any:
            is_cut = isinstance(arguments[0], TensorDict) if arguments else False
            if is_cut:
                own = BatchData(arguments[0]).chunk(RANKS)[torch.distributed.get_rank()]
                arguments = (pickle.loads(pickle.dumps(own)).unlock_(),)  # as it arrives by Ray
            found: list[Any] = [None] * RANKS
            torch.distributed.all_gather_object(found, getattr(self._worker, name)(*arguments))
            return BatchData(found).concat() if is_cut else found

        return call


def on_workers(workers: Any, model: Path) -> dict[str, Any]:
    """What a group of workers brings back from each case."""
    found: dict[str, Any] = {}
    for case in CASES:
        config = configuration(model, case)
        found[case] = {
            "classes": workers.start_again(config.actor_rollout_ref.actor),
            "before": workers.weights()[0],
            "steps": [step(workers, config, case) for _ in range(3 if "holds" in case else 1)],
            "after": workers.weights()}
    return found


def main(folder: Path) -> None:
    from tests.verl.cpu_worker import CpuWorker

    signal.alarm(LIMIT)
    model = folder / "model"
    workers = Group(CpuWorker(configuration(model, "grpo").actor_rollout_ref, role="actor"))
    workers.init_model()
    found = on_workers(workers, model)
    if os.environ["RANK"] == "0":
        torch.save(found, folder / "found.pt")
    torch.distributed.barrier()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
