"""The update rules inside TRL's GRPOTrainer.

TRL samples, scores rewards, distributes, checkpoints and logs; the loss is ours. Departures:

- a rule's ``prepare`` sees all rows of all ranks once a generation, and its columns travel with the
  rows, so that no statistic is ever that of a micro-batch;
- ``weight`` alone normalizes: neither gradient accumulation nor data parallelism rescales a step;
- a rule with a controller gets a second batch, sampled at the controller's temperature, whose rows
  are added to the step (AEPO, Eq. 1). They are scored at temperature 1, without any correction for
  the temperature: that correction would undo what they are for;
- options of TRL that would change the objective or the sampling distribution are refused.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from entropy_theory import advantages, forecast, results
from entropy_theory.forecast import StateStatistics
from entropy_theory.token_batch import TokenBatch, masked_sum, mean_entropy, sequence_weight
from entropy_theory.update_rules import UpdateRule
from llm_bridge import checkpoints
from llm_bridge.loss import detached, policy_loss
from llm_bridge.rows import PREPARED, join, map_columns, prefix_states, token_batch
from llm_bridge.token_statistics import TokenStatistics, from_logits

CONTROLLER_STATE = "controller_state.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class MicroBatch:
    """What one forward pass of the current optimizer step saw; nothing here carries a gradient."""

    inputs: dict[str, Any]
    """The rows as TRL's batch dictionary has them."""
    batch: TokenBatch
    statistics: StateStatistics
    scores: torch.Tensor
    state_terms: dict[str, torch.Tensor]
    logits: torch.Tensor | None
    """[sequences, positions, vocabulary], kept where an audit asks for them."""


class EntropyTrainer(GRPOTrainer):
    """GRPOTrainer with an update rule of `entropy_theory` in place of its loss.

    Args (beside GRPOTrainer's):
        rule: the update rule.
        tempered_fraction: share of the prompts that the second batch of a rule with a controller
            answers again, in (0, 1]; 1 is the paper's form, 1/4 the authors' code.
        on_step: called on the main process with each optimizer step's record.

    Raises:
        ValueError: an option of TRL that would change the objective or the sampling distribution,
            or a batch shape that the rule cannot be computed on.
    """

    _name = "Entropy"
    # Where TRL's own annotations leave None or less than a GRPOConfig.
    model: Any
    args: Any
    num_generations: Any

    def __init__(
        self,
        model: Any,
        reward_funcs: Any = None,
        args: Any = None,
        *,
        rule: UpdateRule,
        tempered_fraction: float = 1.0,
        on_step: Any = None,
        **kwargs: Any,
    ):
        if args is None:
            raise ValueError("give args: trainer.grpo_config(output_dir, ...) has the right defaults")
        check_config(args)
        check_rule(rule)
        if not 0 < tempered_fraction <= 1:
            raise ValueError(f"tempered_fraction must be in (0, 1], got {tempered_fraction}")
        super().__init__(model, reward_funcs, args, **kwargs)
        if self.aux_loss_enabled:
            raise ValueError("set router_aux_loss_coef=0: the router's loss is no part of the rule")
        self.rule = rule
        self.controller = rule.controller()
        self.on_step = on_step
        self.micro_batches: list[MicroBatch] = []
        self.keeps_logits: Callable[[], bool] = lambda: False
        self._tempered_rows = self._count_tempered_rows(tempered_fraction)
        self._steps_per_batch = args.steps_per_generation // args.gradient_accumulation_steps
        # One forward pass then gives the old log-probabilities, prepares the rule and is trained on.
        self._single_forward = (
            args.steps_per_generation == 1
            and args.num_iterations == 1
            and self.accelerator.num_processes == 1
        )
        self._rewards: torch.Tensor | None = None
        self._empty_logs = copy.deepcopy(self._logs)
        self._started, self._learning_rate = time.perf_counter(), args.learning_rate
        forward = inspect.signature(type(self.accelerator.unwrap_model(self.model)).forward)
        self._takes_positions = "position_ids" in forward.parameters
        check_plain_sampling(self)
        self.add_callback(_EndOfStep(self))

    # ------------------------------------------------------------------ sampling and preparation

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        if not self.model.training:
            return super()._generate_and_score_completions(inputs)
        rows = self._add_columns(super()._generate_and_score_completions(inputs), inputs, 1.0, False)
        if self.controller is not None or not self._single_forward:
            self._score(rows)
        if self.controller is not None:
            entropy = mean_entropy(self._world_batch(rows))
            temperature = float(self.controller.observe(np.asarray(float(entropy))))
            rows = join(rows, self._tempered_batch(inputs[: self._tempered_rows], temperature),
                         pad_token=self._tokenizer.pad_token_id)
        if not self._single_forward:
            self._prepare_rule(rows)
        return rows

    def _tempered_batch(self, inputs: list[dict[str, Any]], temperature: float) -> dict[str, Any]:
        """The second batch, with its own lines in the log and TRL's metrics left alone."""
        mode_metrics, logs = self._metrics["train"], self._logs
        self._metrics["train"], self._logs = defaultdict(list), copy.deepcopy(self._empty_logs)
        try:
            with self._sampling_at(temperature):
                rows = super()._generate_and_score_completions(inputs)
            reward = self._metrics["train"]["reward"]
        finally:
            self._metrics["train"], self._logs = mode_metrics, logs
        self._metrics["train"]["tempered/reward"].extend(reward)
        rows.pop("importance_sampling_ratio", None)
        rows = self._add_columns(rows, inputs, temperature, True)
        if not self._single_forward:
            self._score(rows)
        return rows

    @contextlib.contextmanager
    def _sampling_at(self, temperature: float) -> Iterator[None]:
        """Sample at another temperature; scoring stays at 1, and no correction is computed."""
        sampler = self.vllm_generation if self.use_vllm else self.generation_config
        before = sampler.temperature, self.vllm_importance_sampling_correction
        sampler.temperature, self.vllm_importance_sampling_correction = temperature, False
        try:
            yield
        finally:
            sampler.temperature, self.vllm_importance_sampling_correction = before

    def _calculate_rewards(
        self, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any
    ) -> torch.Tensor:
        rewards = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        self._rewards = rewards
        return rewards

    def _add_columns(
        self, rows: dict[str, Any], inputs: list[dict[str, Any]], temperature: float, tempered: bool
    ) -> dict[str, Any]:
        """TRL's rows with the columns that a TokenBatch needs and TRL does not carry."""
        if "pixel_values" in rows:
            raise ValueError("prompts with images are not supported: train on text")
        assert self._rewards is not None
        count, device = len(inputs), rows["completion_ids"].device
        weights = self.reward_weights.to(device)
        by_function = self._rewards[self.accelerator.process_index * count :][:count]
        reward = (by_function * weights).nansum(dim=1)
        # A completion that no reward function could judge takes no part in the step.
        judged = ~torch.isnan(by_function).all(dim=1)
        mask = rows["completion_mask"].bool() & judged[:, None]
        if "tool_mask" in rows:
            mask = mask & rows["tool_mask"].bool()
        tokens = torch.cat([rows["prompt_ids"], rows["completion_ids"]], dim=1)
        present = torch.cat([rows["prompt_mask"], rows["completion_mask"]], dim=1)
        states = prefix_states(tokens, present)
        prompt_length = rows["prompt_ids"].shape[1]
        world_tokens = self.accelerator.gather(mask.sum()).sum().clamp(min=1)
        local = torch.arange(count, device=device)
        batch_size = self.args.per_device_train_batch_size * self.args.steps_per_generation
        row = self.accelerator.process_index * batch_size + local
        world_rows = batch_size * self.accelerator.num_processes
        added = {
            "reward": reward,
            "group": row // self.num_generations,
            "sequence": row + world_rows * tempered,
            "sampling_temperature": torch.full(
                (count,), temperature, dtype=torch.float64, device=device
            ),
            "tempered": torch.full((count,), tempered, device=device),
            "mask": mask,
            "weight": mask.double() / world_tokens,
            "state": states[:, prompt_length:-1],
            "answer": states[:, -1],
        }
        if self.use_vllm and self.vllm_importance_sampling_correction:
            ratio = rows.get("importance_sampling_ratio", torch.ones_like(reward)[:, None])
            added["correction"] = ratio.expand(mask.shape)
        kept = ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask",
                "num_items_in_batch")
        return {**{key: rows[key] for key in kept}, **added}

    def _count_tempered_rows(self, fraction: float) -> int:
        """Rows of this rank that are sampled a second time: whole prompts, evenly split."""
        splits, size = self.args.steps_per_generation, self.num_generations
        rows = self.args.per_device_train_batch_size * splits
        if fraction == 1 or self.controller is None:
            return rows
        if rows % size:
            raise ValueError(
                f"tempered_fraction {fraction} needs whole prompts on every rank: make "
                f"per_device_train_batch_size x steps_per_generation ({rows}) a multiple of "
                f"num_generations ({size})"
            )
        wanted = int(np.ceil(fraction * rows / size))
        counts = (n * size for n in range(wanted, rows // size + 1))
        return next(count for count in counts if count % splits == 0)

    # ------------------------------------------------------------------------ columns and rules

    def logits(self, model: Any, rows: dict[str, Any]) -> torch.Tensor:
        """Logits [sequences, positions, vocabulary] that the completions' tokens were drawn from."""
        tokens = torch.cat([rows["prompt_ids"], rows["completion_ids"]], dim=1)[:, :-1]
        mask = torch.cat([rows["prompt_mask"], rows["completion_mask"]], dim=1)[:, :-1]
        positions = {}
        if self._takes_positions:
            # As in generation: padding on the left does not shift a sequence.
            positions = {"position_ids": (mask.cumsum(-1) - 1).clamp(min=0)}
        with self.accelerator.autocast():
            output = model(
                input_ids=tokens, attention_mask=mask, use_cache=False,
                logits_to_keep=rows["completion_ids"].shape[1], **positions,
            )
        return output.logits

    def _forward(self, model: Any, rows: dict[str, Any]) -> TokenStatistics:
        return from_logits(self.logits(model, rows), rows["completion_ids"])

    def _get_per_token_logps_and_entropies(
        self, model: Any, input_ids: torch.Tensor, attention_mask: torch.Tensor,
        logits_to_keep: int, batch_size: int | None = None, compute_entropy: bool = False, **_: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None, None]:
        """TRL's scoring (of rows that later steps reuse, and in evaluation) through our forward."""
        rows = {
            "prompt_ids": input_ids[:, :-logits_to_keep],
            "prompt_mask": attention_mask[:, :-logits_to_keep],
            "completion_ids": input_ids[:, -logits_to_keep:],
            "completion_mask": attention_mask[:, -logits_to_keep:],
        }
        found = []
        size = batch_size or len(input_ids)
        for start in range(0, len(input_ids), size):
            cut = {name: column[start : start + size] for name, column in rows.items()}
            statistics = self._forward(model, cut)
            found.append(torch.stack([statistics.log_prob, statistics.entropy]))
        log_prob, entropy = torch.cat(found, dim=1).unbind()
        return log_prob, entropy if compute_entropy else None, None

    def _score(self, rows: dict[str, Any]) -> None:
        """Add the columns old_log_prob and entropy, without gradient."""
        with torch.no_grad():
            rows["old_log_prob"], rows["entropy"], _ = self._get_per_token_logps_and_entropies(
                self.model,
                torch.cat([rows["prompt_ids"], rows["completion_ids"]], dim=1),
                torch.cat([rows["prompt_mask"], rows["completion_mask"]], dim=1),
                rows["completion_ids"].shape[1],
                batch_size=self.args.per_device_train_batch_size,
                compute_entropy=True,
            )

    def _prepare_rule(self, rows: dict[str, Any]) -> None:
        """Add the columns of the rule's ``prepare``, computed on all rows of all ranks."""
        prepared = self.rule.prepare(self._world_batch(rows)).prepared
        count, width = rows["mask"].shape
        own = slice(self.accelerator.process_index * count, None)
        for name, column in prepared.items():
            rows[PREPARED + name] = column[own][:count, :width]

    def _world_batch(self, rows: dict[str, Any]) -> TokenBatch:
        """A TokenBatch of the scored rows of all ranks."""
        batch = token_batch(rows, rows["old_log_prob"], rows["entropy"],
                            step=self.state.global_step, seed=self.args.seed)
        return self._gathered(batch)

    def _gathered(self, batch: TokenBatch) -> TokenBatch:
        if self.accelerator.num_processes == 1:
            return batch
        return map_columns(
            lambda column: self.accelerator.gather(
                self.accelerator.pad_across_processes(column.contiguous(), dim=1)
            ),
            batch,
        )

    # ----------------------------------------------------------------------------------- the loss

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> torch.Tensor:
        if not self.model.training:
            return super()._compute_loss(model, inputs)
        logits = self.logits(model, inputs)
        statistics = from_logits(logits, inputs["completion_ids"])
        batch = token_batch(
            inputs, statistics.log_prob, statistics.entropy,
            step=self.state.global_step, seed=self.args.seed,
        )
        if not batch.prepared:
            batch = batch.with_prepared(**self.rule.prepare(detached(batch)).prepared)
        # A generation's weights sum to 1, and each of its optimizer steps takes a part of the rows.
        batch = batch.replace(weight=batch.weight * self._steps_per_batch)
        loss = policy_loss(batch, self.rule, correction=inputs.get("correction"))
        constants = detached(batch)
        self.micro_batches.append(
            MicroBatch(
                inputs=inputs,
                batch=constants,
                statistics=statistics.state,
                scores=self.rule.scores(constants),
                state_terms=self.rule.state_terms(constants),
                logits=logits.detach() if self.keeps_logits() else None,
            )
        )
        # Data parallelism averages gradients over ranks, and the weights are those of all ranks.
        return loss * self.accelerator.num_processes

    # ------------------------------------------------------------------- records and checkpoints

    def finish_step(self) -> None:
        """Put the optimizer step that was just taken on record."""
        parts, self.micro_batches = self.micro_batches, []
        batch = map_columns(lambda *columns: torch.cat(columns), *(p.batch for p in parts))
        answer = torch.cat([part.inputs["answer"] for part in parts])
        extra = {"answer": answer[:, None].expand(batch.mask.shape)}
        forecasts = [found for p in parts if (found := contributions(p)) is not None]
        if forecasts:
            extra["forecast"] = torch.cat(forecasts)
        batch = self._gathered(batch.with_prepared(**extra))
        # Averages of a few hundred float32 numbers should not show rounding.
        batch = map_columns(lambda c: c.double() if c.is_floating_point() else c, batch)
        rate = self._learning_rate
        temperatures = torch.cat([p.inputs["sampling_temperature"][p.inputs["tempered"]]
                                  for p in parts])
        record = {
            "step": self.state.global_step,
            **step_metrics(batch, self.rule, rate),
            "temperature": float(temperatures[0]) if len(temperatures) else None,
            "coefficient": getattr(self.rule, "alpha", getattr(self.rule, "coefficient", None)),
            "learning_rate": rate,
            "seconds": time.perf_counter() - self._started,
        }
        for name, value in record.items():
            if value is not None and name not in ("step", "learning_rate"):
                self._metrics["train"][name].append(value)
        if self.on_step is not None and self.accelerator.is_main_process:
            self.on_step(record)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        super()._save_checkpoint(model, trial)
        self.accelerator.wait_for_everyone()
        if self.args.should_save:
            folder = Path(self._get_output_dir(trial=trial), f"checkpoint-{self.state.global_step}")
            if self.controller is not None:
                results.write_json(folder / CONTROLLER_STATE, self.controller.state_dict())
            checkpoints.seal(folder)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is not None and self.controller is not None:
            self.controller.load_state_dict(results.read_json(Path(checkpoint, CONTROLLER_STATE)))

    def _send_telemetry(self) -> None:
        """Training tells nobody but its own logs."""


class _EndOfStep(TrainerCallback):
    def __init__(self, trainer: EntropyTrainer):
        self._trainer = trainer

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self._trainer._started = time.perf_counter()

    def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
        self._trainer._learning_rate = self._trainer._get_learning_rate()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self._trainer.finish_step()


def contributions(part: MicroBatch) -> torch.Tensor | None:
    """Forecast (i), token by token, nats per unit learning rate; None for a term without one."""
    if not set(part.state_terms) <= {"entropy"}:
        return None
    found = forecast.token_contributions(
        part.batch, part.scores, part.state_terms, part.statistics
    )
    correction = part.inputs.get("correction")
    return found if correction is None else found * correction


def step_metrics(
    batch: TokenBatch, rule: UpdateRule, learning_rate: float
) -> dict[str, float | None]:
    """What metrics.jsonl says of an optimizer step, from all its rows.

    Reward and entropies are those of the ordinary rows, under the policy that the step started from
    (that of its first forward pass, with several steps a generation).

    Args:
        batch: with prepared columns "answer" and, if the rule has one, "forecast".
    """
    entropy: Any = batch.entropy
    groups: Any = batch.group
    rows = batch.is_ordinary
    weight = sequence_weight(batch, rows)
    tokens = masked_sum(torch.ones_like(entropy), rows)
    change = None
    if "forecast" in batch.prepared:
        length = rows.sum(-1, keepdim=True).clamp(min=1)
        measure = torch.where(rows, weight / weight.sum() / length, 0.0)
        change = learning_rate * float(
            forecast.mean_entropy_forecast(batch.state, batch.prepared["forecast"], measure)
        )
    own = {name: float(value) for name, value in rule.metrics(batch).items()}
    present = rows.any(-1)
    group, answer = groups[present, 0], batch.prepared["answer"][present, 0]
    pairs = torch.unique(torch.stack([group, answer]), dim=1).shape[1]
    return {
        "reward": float((weight * batch.reward[:, :1]).sum() / weight.sum()),
        "entropy": float(mean_entropy(batch)),
        "entropy_token_mean": float(masked_sum(entropy, rows) / tokens),
        "forecast_entropy_change": change,
        "distinct_answers": pairs / len(torch.unique(group)),
        "tempered_positive_share": own.get("tempered_positive_share"),
        "groups_without_signal": float(advantages.equal_reward_groups(batch, rows)),
        "clipped_fraction": own.get("clipped_fraction"),
        "mean_length": float(rows.sum() / present.sum()),
    }


def grpo_config(output_dir: str | Path, **options: Any) -> GRPOConfig:
    """TRL's options with the defaults that an EntropyTrainer needs; ``options`` replace any.

    No dropout, no half-precision autocast, no gradient checkpointing, constant learning rate, every
    step logged, prompts in the order given.
    """
    defaults: dict[str, Any] = {
        "disable_dropout": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "lr_scheduler_type": "constant",
        "logging_steps": 1,
        "shuffle_dataset": False,
        "report_to": "none",
        "temperature": 1.0,
        "top_p": 1.0,
        "top_k": 0,
        "loss_type": "grpo",
        "dataloader_pin_memory": torch.cuda.is_available(),
    }
    return GRPOConfig(output_dir=str(output_dir), **{**defaults, **options})


def check_config(args: Any) -> None:
    """Raise ValueError for options under which the loss or the samples would not be the rule's."""
    neutral = {
        "temperature": (1.0,), "top_p": (1.0,), "top_k": (0, None), "min_p": (0.0, None),
        "repetition_penalty": (1.0,), "disable_dropout": (True,), "beta": (0.0,),
        "entropy_coef": (0.0,), "use_adaptive_entropy": (False,), "top_entropy_quantile": (1.0,),
        "off_policy_mask_threshold": (None,), "delta": (None,),
        "importance_sampling_level": ("token",),
    }
    for name, allowed in neutral.items():
        value = getattr(args, name)
        if value not in allowed:
            raise ValueError(
                f"option {name}={value!r} would change the objective or the samples behind the "
                f"update rule's back: leave it at {allowed[0]!r} and use the rule's own options"
            )
    splits, accumulated = args.steps_per_generation, args.gradient_accumulation_steps
    if splits % accumulated:
        raise ValueError(
            f"steps_per_generation ({splits}) must be a multiple of gradient_accumulation_steps "
            f"({accumulated}): a rule must see all rows of an optimizer step at once"
        )
    reused = splits // accumulated * args.num_iterations
    if args.save_strategy == "steps" and int(args.save_steps) % reused:
        raise ValueError(
            f"save_steps ({args.save_steps}) must be a multiple of the {reused} optimizer steps "
            "that share one generation: a run resumed between them would not continue exactly"
        )


def check_rule(rule: UpdateRule) -> None:
    """Raise ValueError for a rule that takes an expectation over groups.

    Rows are samples here: the expectation belongs to states listed exactly, and would replace the
    rule's estimate by another.
    """
    if rule.needs_listing:
        raise ValueError(
            f"option group_size of update rule '{rule.name}' (or of its base) is for exact "
            "expectation: leave it out, and set the number of samples of each prompt"
        )


def check_plain_sampling(trainer: EntropyTrainer) -> None:
    """Raise ValueError unless what is sampled is pi^T: nothing cut, penalized, forced or suppressed.

    Generation fills whatever a configuration leaves unset from the checkpoint's own.
    """
    config = trainer.model.generation_config
    options = trainer.args.generation_kwargs or {}
    if not trainer.use_vllm:
        config, _ = trainer.model._prepare_generation_config(trainer.generation_config)
        options = {}
    plain = {
        "do_sample": (True,), "top_k": (0, None), "top_p": (1.0, None), "min_p": (0.0, None),
        "typical_p": (1.0, None), "epsilon_cutoff": (0.0, None), "eta_cutoff": (0.0, None),
        "top_h": (None,), "repetition_penalty": (1.0, None), "no_repeat_ngram_size": (0, None),
        "encoder_repetition_penalty": (1.0, None), "num_beams": (1, None), "bad_words_ids": (None,),
        "min_length": (0, None), "min_new_tokens": (0, None), "suppress_tokens": (None,),
        "begin_suppress_tokens": (None,), "forced_bos_token_id": (None,),
        "forced_eos_token_id": (None,), "sequence_bias": (None,), "guidance_scale": (1.0, None),
        "penalty_alpha": (None,), "exponential_decay_length_penalty": (None,),
    }
    for name, allowed in plain.items():
        value = options.get(name, allowed[0]) if trainer.use_vllm else getattr(config, name, None)
        if value not in allowed:
            raise ValueError(
                f"generation setting {name}={value!r} would bend the samples away from the policy "
                f"whose entropy is measured: set it to {allowed[0]!r} in the model's "
                "generation_config"
            )
