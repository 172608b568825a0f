"""A trainer of verl's (0.9, v1) that draws AEPO's second batch, at the temperature that its rule chooses.

::

    VERL_USE_EXTERNAL_MODULES=llm_bridge.verl_second_batch python -m verl.trainer.main_ppo \\
        trainer.v1.trainer_mode=entropy-theory \\
        actor_rollout_ref.actor.policy_loss.loss_mode=entropy-theory/aepo \\
        actor_rollout_ref.actor.policy_loss._target_=llm_bridge.verl_plugin.policy_loss_config \\
        +actor_rollout_ref.actor.policy_loss.tempered_fraction=0.25 \\
        actor_rollout_ref.model.external_lib=llm_bridge.verl_worker ...

It is verl's synchronous trainer with three more stages between the old log-probabilities of a batch
and its update. First the rule's controller is given the mean entropy and chooses a temperature
factor. Then the rollout servers wake with their present weights. They answer the first
``tempered_fraction`` of the prompts again, at that factor times the policy's temperature. Last,
these answers are judged and scored as the others are. The optimizer takes as many steps as without
them, each on its share of both batches. Beside the further answers this costs one more transfer of
weights per step, with which verl wakes its servers.
"""

from __future__ import annotations

import json
import math
import uuid
from pathlib import Path
from typing import Any

import ray
import torch
import transfer_queue as tq
from omegaconf import open_dict
from tensordict import TensorDict
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.padding_utils import upsample_batch_to_divisible_size
from verl.trainer.ppo.v1 import (
    AgentLoopManagerTQ,
    AgentLoopWorkerTQ,
    PPOTrainerSync,
    register_trainer,
)
from verl.utils import tensordict_utils
from verl.utils.config import omega_conf_to_dataclass
from verl.utils.debug import marked_timer

from entropy_theory.support import results
from entropy_theory.update_rules.rule import second_batch_options
from llm_bridge import verl_coefficient
from llm_bridge.trainer.columns import OFFSET
from llm_bridge.verl_columns import listed
from llm_bridge.verl_rules import PREFIX, TEMPERATURE, TEMPERED, rule_of

SAMPLING = "second_batch_sampling"
"""The key, among the prompts of a second batch, of the sampler's options as JSON."""
STATE = "second_batch.json"


class TemperedAgentLoopWorker(AgentLoopWorkerTQ.__ray_actor_class__):
    """verl's agent loops, any of them, with the options of sampling that a prompt brings."""

    def __init__(self, *arguments: Any, **options: Any):
        # Ray sends a class with its constructor. verl's would go as a copy, of a copy of verl's class.
        super().__init__(*arguments, **options)

    async def _run_agent_loop(
        self, sampling_params: dict[str, Any], *arguments: Any, **columns: Any
    ) -> Any:
        own = columns.pop(SAMPLING, None)
        options = sampling_params if own is None else {**sampling_params, **json.loads(own)}
        return await super()._run_agent_loop(options, *arguments, **columns)


class TemperedAgentLoopManager(AgentLoopManagerTQ):
    """verl's manager of agent loops, with `TemperedAgentLoopWorker`."""

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self.agent_loop_workers_class = ray.remote(TemperedAgentLoopWorker)


MANAGER = f"{TemperedAgentLoopManager.__module__}.{TemperedAgentLoopManager.__qualname__}"


@register_trainer("entropy-theory")
class SecondBatchTrainer(PPOTrainerSync):
    """verl's synchronous trainer, with a second batch in each step.

    Raises:
        ValueError: a rule without a second batch, a custom agent loop manager, or log-probabilities
            that verl takes from the sampler. Those of a second batch would be of another policy.
    """

    def __init__(self, config: Any):
        loss = omega_conf_to_dataclass(config.actor_rollout_ref.actor.policy_loss)
        rule = rule_of(loss) if loss.loss_mode.startswith(PREFIX) else None
        self._controller: Any = None if rule is None else rule.controller()
        agent = config.actor_rollout_ref.rollout.agent
        if rule is None or self._controller is None:
            raise ValueError(
                f"trainer_mode=entropy-theory draws a second batch, which loss_mode={loss.loss_mode} "
                "does not learn from: set trainer.v1.trainer_mode=sync")
        if agent.get("agent_loop_manager_class") not in (None, "", MANAGER):
            raise ValueError(
                f"agent_loop_manager_class={agent.agent_loop_manager_class} would not sample a second "
                f"batch at its temperature: leave it out, or subclass {MANAGER} and its worker "
                "in a trainer of your own")
        if (config.algorithm.get("rollout_correction") or {}).get("bypass_mode"):
            raise ValueError(
                "bypass_mode=true takes the sampler's log-probabilities for the policy's, but the "
                "sampler of a second batch is another policy: set "
                "algorithm.rollout_correction.bypass_mode=false")
        with open_dict(config):
            agent.agent_loop_manager_class = MANAGER
            config.trainer.v1.trainer_mode = "sync"
        self._options, self._fraction = second_batch_options(rule), loss.tempered_fraction
        self._prompts: Any = None
        self._optimizer_steps = 0
        super().__init__(config)

    def prepare_step(self) -> Any:
        """Submit the first batch, whose prompts are kept for the second."""
        self._prompts = None
        return super().prepare_step()

    def _submit_batch_to_rollout(self, batch: Any) -> int:
        if self._prompts is None:
            self._prompts = batch.clone()
        return super()._submit_batch_to_rollout(batch)

    def _step_once(self, metrics: dict[str, Any], timing_raw: Any, sample_batch_size: int) -> KVBatchMeta:
        """Take a step as verl does, with a second batch before the actor's update."""
        first = self._answers(sample_batch_size, metrics, timing_raw)
        first = self._balance_batch(first, metrics=metrics)
        first = self._scored(first, metrics, timing_raw)
        minis = len(first) // self._mini_batch_rows
        second, temperature = self._second_batch(first, minis, metrics, timing_raw)
        with marked_timer("adv", timing_raw):
            first = self._compute_advantage(first, metrics=metrics)
            second = self._advantages_of_second(second, first)
        if self.use_critic:
            with marked_timer("update_critic", timing_raw):
                first = self._update_critic(first, metrics=metrics)
        if self.config.trainer.critic_warmup <= self.global_steps:
            with marked_timer("update_actor", timing_raw):
                self._update_actor(self._both(first, second, minis, temperature), metrics=metrics)
            self._optimizer_steps += minis * self.config.actor_rollout_ref.actor.ppo_epochs
        tq.kv_clear(keys=second.keys, partition_id=second.partition_id)
        return first

    @property
    def _mini_batch_rows(self) -> int:
        ref = self.config.actor_rollout_ref
        return int(ref.actor.ppo_mini_batch_size * ref.rollout.n)

    def _answers(self, prompts: int, metrics: dict[str, Any], timing_raw: Any) -> KVBatchMeta:
        """Return the answers to prompts that were submitted, judged."""
        with marked_timer("gen", timing_raw):
            self.on_sample_begin()
            batch, found = self.replay_buffer.sample(
                global_steps=self.global_steps, partition_id="train", batch_size=prompts)
            metrics.update(found)
            self.on_sample_end()
        if self.reward_loop_manager.reward_loop_worker_handles is None:
            with marked_timer("reward", timing_raw):
                batch = self._compute_reward_colocate(batch, metrics=metrics)
        return batch

    def _scored(self, batch: KVBatchMeta, metrics: dict[str, Any], timing_raw: Any) -> KVBatchMeta:
        """Return a batch with the log-probabilities and values that its update reads."""
        with marked_timer("old_log_prob", timing_raw):
            batch = self._compute_old_log_prob(batch, metrics=metrics)
        if self.use_reference_policy:
            with marked_timer("ref", timing_raw):
                batch = self._compute_ref_log_prob(batch, metrics=metrics)
        if self.use_critic:
            with marked_timer("values", timing_raw):
                batch = self._compute_values(batch, metrics=metrics)
        return batch

    def _second_batch(
        self, first: KVBatchMeta, minis: int, metrics: dict[str, Any], timing_raw: Any
    ) -> tuple[KVBatchMeta, float]:
        """Return a scored second batch, its rows in the order of mini-batches, and its temperature."""
        temperature = self._temperature(first, minis)
        count = self._count_prompts(minis)
        prompts = self._prompts[:count]
        uids = [str(uuid.uuid4()) for _ in range(count)]
        tensordict_utils.assign_non_tensor_stack(prompts, "uid", uids)
        rollout = self.config.actor_rollout_ref.rollout
        options = {**self._options, "temperature": temperature * rollout.temperature}
        tensordict_utils.assign_non_tensor_data(prompts, SAMPLING, json.dumps(options))
        # The weights that the servers had, by the same number of steps.
        self.checkpoint_manager.update_weights(self.global_steps - 1)
        self._submit_batch_to_rollout(prompts)
        apart: dict[str, Any] = {}
        second = self._answers(count, apart, timing_raw)
        scores = tq.kv_batch_get(
            keys=second.keys, partition_id=second.partition_id, select_fields=["rm_scores"])["rm_scores"]
        metrics["tempered/temperature"] = temperature
        metrics["tempered/reward"] = float(torch.stack([row.sum() for row in scores.unbind()]).mean())
        second = self._in_mini_batches(second, uids, minis)
        return self._scored(second, apart, timing_raw), temperature

    def _temperature(self, first: KVBatchMeta, minis: int) -> float:
        """Show the controller the mean entropy of a batch; return the temperature that it chooses."""
        names = ["entropy", "response_mask"]
        names += [OFFSET] * (self._controller.takes_target and OFFSET in (first.fields or ()))
        data = tq.kv_batch_get(keys=first.keys, partition_id=first.partition_id, select_fields=names)
        offsets = listed(data.pop(OFFSET)) if OFFSET in names else [0.0] * len(first)
        padded = data.to_padded_tensor()
        entropy = padded["entropy"] - torch.tensor([offset or 0.0 for offset in offsets])[:, None]
        means = verl_coefficient.sequence_means(entropy, padded["response_mask"])
        ahead = minis * self.config.actor_rollout_ref.actor.ppo_epochs
        return verl_coefficient.chosen(
            self._controller, means, step=self._optimizer_steps, ahead=ahead) or 1.0

    def _count_prompts(self, minis: int) -> int:
        """Count the prompts that are answered again: as many in each mini-batch, whole on all ranks."""
        ranks, n = self._ranks, self.config.actor_rollout_ref.rollout.n
        there = len(self._prompts)
        for count in range(math.ceil(self._fraction * there), there + 1):
            if count % minis == 0 and count // minis * n % ranks == 0:
                return count
        raise ValueError(
            f"tempered_fraction={self._fraction} of {there} prompts cannot be dealt out to {minis} "
            f"mini-batches on {ranks} ranks: make data.train_batch_size a multiple of "
            f"{minis * ranks // math.gcd(n, ranks)}")

    @property
    def _ranks(self) -> int:
        group = self.actor_rollout_wg
        return int(max(group._dispatch_info.get("actor") or group._query_dispatch_info("actor"))) + 1

    def _in_mini_batches(self, second: KVBatchMeta, uids: list[str], minis: int) -> KVBatchMeta:
        """Sort rows by prompt, and fill mini-batches' parts up to one length, as verl fills batches."""
        each, place = len(uids) // minis, {uid: at for at, uid in enumerate(uids)}
        parts: list[list[int]] = [[] for _ in range(minis)]
        for row in sorted(range(len(second)), key=lambda row: place[second.keys[row].split("_")[0]]):
            parts[place[second.keys[row].split("_")[0]] // each].append(row)
        length = math.ceil(max(map(len, parts)) / self._ranks) * self._ranks
        there = len(second)
        second = upsample_batch_to_divisible_size(second, minis * length, self.tokenizer.eos_token_id)
        fillers = iter(range(there, len(second)))
        second.reorder([row for part in parts
                        for row in (*part, *(next(fillers) for _ in range(length - len(part))))])
        return second

    def _advantages_of_second(self, second: KVBatchMeta, first: KVBatchMeta) -> KVBatchMeta:
        """Give a second batch the columns that the first has, without a correction of its sampler."""
        algorithm = self.config.algorithm
        with open_dict(algorithm):
            correction = algorithm.get("rollout_correction")
            algorithm.rollout_correction = None
            try:
                second = self._compute_advantage(second, metrics={})
            finally:
                algorithm.rollout_correction = correction
        if "rollout_is_weights" in (first.fields or ()):
            mask = tq.kv_batch_get(keys=second.keys, partition_id=second.partition_id,
                                   select_fields=["response_mask"])["response_mask"]
            ones = torch.nested.as_nested_tensor(
                [torch.ones(len(row)) for row in mask.unbind()], layout=torch.jagged)
            second = tq.kv_batch_put(
                keys=second.keys, partition_id=second.partition_id,
                fields=TensorDict({"rollout_is_weights": ones}, batch_size=len(second)))
        return second

    def _both(
        self, first: KVBatchMeta, second: KVBatchMeta, minis: int, temperature: float
    ) -> KVBatchMeta:
        """Return both batches: a rank's rows together, and of these a mini-batch's."""
        for batch, is_tempered in ((first, False), (second, True)):
            tq.kv_batch_put(keys=batch.keys, partition_id=batch.partition_id, fields=TensorDict({
                TEMPERATURE: torch.full((len(batch),), temperature if is_tempered else 1.0),
                TEMPERED: torch.full((len(batch),), is_tempered)}, batch_size=len(batch)))
        ranks, keys, tags = self._ranks, [], []
        own, others = (len(batch) // (ranks * minis) for batch in (first, second))
        for rank in range(ranks):
            for mini in range(minis):
                for batch, start, count in ((first, (rank * minis + mini) * own, own),
                                            (second, (mini * ranks + rank) * others, others)):
                    keys += batch.keys[start : start + count]
                    tags += batch.tags[start : start + count]
        return KVBatchMeta(
            partition_id=first.partition_id, keys=keys, tags=tags, extra_info=dict(first.extra_info),
            fields=[*(first.fields or ()), TEMPERATURE, TEMPERED])

    def _save_checkpoint(self) -> None:
        """Save as verl does, which names the checkpoint last, and the state of the temperature."""
        folder = Path(self.config.trainer.default_local_dir) / f"global_step_{self.global_steps}"
        folder.mkdir(parents=True, exist_ok=True)
        results.write_json(folder / STATE, {
            "optimizer_steps": self._optimizer_steps, "temperature": self._controller.state_dict()})
        super()._save_checkpoint()

    def _load_checkpoint(self) -> None:
        super()._load_checkpoint()
        if not self.global_steps:
            return
        trainer = self.config.trainer
        folder = Path(trainer.resume_from_path if trainer.resume_mode == "resume_path" else
                      f"{trainer.default_local_dir}/global_step_{self.global_steps}")
        if not (folder / STATE).exists():
            raise ValueError(
                f"{folder} has no {STATE}, the state of the second batch's temperature: continue from a "
                "checkpoint of trainer_mode=entropy-theory, or start a new run")
        kept = results.read_json(folder / STATE)
        self._optimizer_steps = kept["optimizer_steps"]
        self._controller.load_state_dict(kept["temperature"])
