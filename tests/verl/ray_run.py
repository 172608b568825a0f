"""Run by test_ray: verl's own trainer under Ray, without an accelerator, from prompts to weights.

    python -m tests.verl.ray_run FOLDER RANKS...

The trainer, its dataset, agent loops, reward workers, replay buffer and TransferQueue are verl's, and so
are the RayWorkerGroup and its workers' engines. Ray is told of GPUs that are not there. Servers of
completions are missing (verl's are vLLM's and SGLang's, on GPUs): `Client` answers in their place,
whatever the weights, so that runs on one rank and on two learn from the same completions.
"""

import asyncio
import contextlib
import inspect
import os
import random
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import hydra
import pandas
import ray
import tokenizers
import torch
import transfer_queue as tq
import transformers
import verl
from omegaconf import OmegaConf
from ray._private import services
from ray._private.parameter import RayParams
from verl.trainer.ppo.v1 import get_trainer_cls
from verl.utils.import_utils import load_class_from_fqn
from verl.workers.rollout.replica import RolloutReplicaRegistry, TokenOutput

import llm_bridge.verl_second_batch  # noqa: F401, as VERL_USE_EXTERNAL_MODULES does
from tests.verl.worker_ranks import ENVIRONMENT, LIMIT, llama

# Ray looks for the devices that it is told of where this names them.
ON_RAY = {name: value for name, value in ENVIRONMENT.items() if name != "CUDA_VISIBLE_DEVICES"} | {
    "RAY_AUTH_MODE": "disabled", "RAY_raylet_start_wait_time_s": "300",
    "RAY_worker_register_timeout_seconds": "300"}
PROMPTS, ANSWERS, STEPS = 4, 2, 2
"""Prompts of a step, answers to each, and steps."""
WORDS = ["<pad>", "<bos>", "<eos>", *(f"w{number}" for number in range(17))]


class Client:
    """Answers prompts as verl's client of its servers does; each answer to one prompt is another."""

    def __init__(self):
        self._asked: dict[Any, int] = {}

    async def generate(self, request_id: str, *, prompt_ids: list[int], sampling_params: Any, **_: Any):
        await asyncio.sleep(0)
        key = (*prompt_ids, round(sampling_params["temperature"], 6))
        self._asked[key] = self._asked.get(key, 0) + 1
        draw = random.Random(str((key, self._asked[key])))
        tokens = [draw.randrange(3, 20) for _ in range(draw.randrange(1, 6))]
        return TokenOutput(token_ids=tokens, log_probs=[-1.0] * len(tokens), extra_fields={
            "min_global_steps": 0, "max_global_steps": 0})


def on_cpu(trainer: type) -> type:
    """verl's trainer, or one made from it, whose workers need no accelerator and no servers."""
    class OnCpu(trainer):
        _enable_hybrid_replicas = False  # of verl's: workers then have no sampler

        def _init_resource_pool_mgr(self) -> None:
            from tests.verl.cpu_worker import CpuWorker

            super()._init_resource_pool_mgr()
            self.role_worker_mapping = {
                role: ray.remote(CpuWorker) for role in self.role_worker_mapping}

    return OnCpu


def prepare(folder: Path) -> None:
    """A model, its tokenizer and prompts."""
    llama(folder / "model")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(
        {word: at for at, word in enumerate(WORDS)}, unk_token="<eos>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<bos>", eos_token="<eos>",
        chat_template="{% for message in messages %}{{ message['content'] + ' ' }}{% endfor %}",
    ).save_pretrained(folder / "model")
    rows = [{"prompt": [{"role": "user", "content": f"w{3 * number} w{number + 1}"}],
             "data_source": "words", "extra_info": {"index": number},
             "reward_model": {"style": "rule", "ground_truth": ""}}
            for number in range(PROMPTS)]
    pandas.DataFrame(rows).to_parquet(folder / "prompts.parquet")


def configuration(folder: Path, ranks: int, mode: str, *options: str) -> Any:
    """verl's own, from its files and a command line."""
    model, actor = "actor_rollout_ref.model.", "actor_rollout_ref.actor."
    with hydra.initialize_config_dir(str(Path(verl.__file__).parent / "trainer" / "config"),
                                     version_base=None):
        config = hydra.compose("ppo_trainer", overrides=[
            f"data.train_files={folder}/prompts.parquet", f"data.val_files={folder}/prompts.parquet",
            f"data.train_batch_size={PROMPTS}", "data.max_prompt_length=16", "data.max_response_length=8",
            "data.dataloader_num_workers=0", "data.shuffle=false",
            f"{model}path={folder}/model", f"{model}external_lib=llm_bridge.verl_worker",
            f"{model}use_remove_padding=false", f"{model}enable_gradient_checkpointing=false",
            f"+{model}override_config.attn_implementation=eager",
            "actor_rollout_ref.rollout.name=vllm", f"actor_rollout_ref.rollout.n={ANSWERS}",
            "actor_rollout_ref.rollout.agent.num_workers=1", "actor_rollout_ref.rollout.nnodes=1",
            "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=2",
            f"{actor}strategy=fsdp2", f"{actor}fsdp_config.use_torch_compile=false",
            f"+{actor}fsdp_config.mixed_precision.param_dtype=fp32",
            f"{actor}ppo_mini_batch_size={PROMPTS}", f"{actor}ppo_micro_batch_size_per_gpu=2",
            f"{actor}optim.optimizer=SGD", f"{actor}optim.lr=0.1", f"{actor}optim.clip_grad=0.5",
            f"{actor}optim.override_optimizer_config={{momentum:0.9}}",
            "algorithm.adv_estimator=grpo", "reward.num_workers=1",
            f"reward.custom_reward_function.path={Path(__file__).parent}/ray_reward.py",
            "trainer.use_v1=true", f"trainer.v1.trainer_mode={mode}", "trainer.logger=[]",
            "trainer.val_before_train=false", f"trainer.n_gpus_per_node={ranks}", "trainer.device=cpu",
            f"trainer.total_training_steps={STEPS}", f"trainer.total_epochs={STEPS}",
            f"trainer.default_local_dir={folder}/checkpoints-{ranks}", "trainer.save_freq=1",
            "transfer_queue.backend.SimpleStorage.num_data_storage_units=1",
            f"{actor}policy_loss._target_=llm_bridge.verl_plugin.policy_loss_config", *options])
    config.transfer_queue.enable = True
    OmegaConf.resolve(config)
    return config


def run(config: Any) -> dict[str, Any]:
    """What verl's task runner does: a trainer, its agent loops, all steps; returns weights and logs."""
    trainer = on_cpu(get_trainer_cls(config.trainer.v1.trainer_mode))(config)
    logs: list[dict[str, Any]] = []
    compute = trainer._compute_metrics

    def kept(batch: Any, metrics: dict[str, Any], *rest: Any, **options: Any) -> None:
        compute(batch, metrics, *rest, **options)
        logs.append({name: float(value) for name, value in metrics.items()
                     if name.startswith(("actor/", "tempered/", "critic/", "training/"))})

    trainer._compute_metrics = kept
    trainer.init()
    manager = load_class_from_fqn(
        config.actor_rollout_ref.rollout.agent.agent_loop_manager_class, "AgentLoopManager")
    agents = manager.create(config=config, llm_client=Client(), teacher_client=None,
                            reward_loop_worker_handles=trainer.get_reward_handles())
    trainer.fit(agents)
    found = {"weights": trainer.actor_rollout_wg.weights(), "logs": logs,
             "left": [key for part in (tq.kv_list() or {}).values() for key in part]}
    for worker in trainer.get_reward_handles():  # whose names the next run will want
        ray.kill(worker)
    return found


RULE = (
    "actor_rollout_ref.actor.policy_loss.loss_mode=entropy-theory/aepo",
    "+actor_rollout_ref.actor.policy_loss.tempered_fraction=0.5",
    "+actor_rollout_ref.actor.policy_loss.rule_options={target:1.0}",
    "actor_rollout_ref.rollout.temperature=0.8",
)


def patiently() -> None:
    """Give Ray's helpers ports, and tell its node of them, which waits 15 s at most until they say."""
    made, started = RayParams.__init__, services.start_raylet
    names = ("metrics_agent_port", "metrics_export_port", "dashboard_agent_listen_port",
             "runtime_env_agent_port")

    def with_ports(params: Any, *arguments: Any, **options: Any) -> None:
        made(params, *arguments, **options)
        with contextlib.ExitStack() as stack:
            for name in names:
                free = stack.enter_context(socket.socket())
                free.bind(("127.0.0.1", 0))
                setattr(params, name, free.getsockname()[1])

    def start(*arguments: Any, **options: Any) -> Any:
        given = inspect.signature(started).bind(*arguments, **options).arguments
        for name in names:
            Path(given["session_dir"], f"{name}_{given['node_id']}").write_text(str(given[name]))
        return started(*arguments, **options)

    RayParams.__init__, services.start_raylet = with_ports, start


def main(folder: Path, *ranks: int) -> None:
    signal.alarm(2 * LIMIT)
    prepare(folder)
    patiently()
    RolloutReplicaRegistry.register("vllm", lambda: None)  # of which there will be none
    ray.init(num_cpus=32, num_gpus=sum(ranks), include_dashboard=False, runtime_env={"env_vars": ON_RAY})
    tq.init(configuration(folder, 1, "entropy-theory").transfer_queue)
    found = {count: run(configuration(folder, count, "entropy-theory", *RULE)) for count in ranks}
    torch.save(found, folder / "found.pt")
    tq.close()
    ray.shutdown()


if __name__ == "__main__":
    os.environ.update(ON_RAY)
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
