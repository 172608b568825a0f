"""The update rules inside TRL's GRPOTrainer.

TRL samples, scores rewards, distributes, checkpoints and logs; the loss is ours. Departures:

- a rule's ``prepare`` sees all rows of all ranks once a generation, and its columns travel with the
  rows, so that no statistic is ever that of a micro-batch. A rule that needs the log-probabilities of
  the policy being trained (``prepares_every_step``) is prepared again before each later step on the
  same generation, after a pass without gradient over all its rows: groups and shares stay whole;
- controllers observe the policy that sampled, once a generation;
- ``weight`` alone normalizes: neither gradient accumulation nor data parallelism rescales a step;
- a rule with a controller gets a second batch, sampled at the controller's temperature, whose rows
  are added to the step (AEPO, Eq. 1). They are scored at temperature 1, without any correction for
  the temperature: that correction would undo what they are for;
- a rule with a reference policy gets the starting model, as a frozen copy or, where TRL puts an
  adapter on it (``peft_config``), as the model without the adapter;
- a generation in which no completion can be used (no reward function could judge any, or all are
  cut off and masked) is a step with gradient zero: no second batch is drawn, no controller observes,
  the optimizer's own momentum and weight decay go on, and the log has ``usable_fraction`` 0;
- options of TRL that would change the objective or the sampling distribution are refused;
- plain samples are drawn by `group_sampling`, which reads a prompt once for its group; everything
  else (vLLM, continuous batching, sharded weights, a target's nucleus) is sampled by TRL;
- before the first step on a generation the policy is the one that scored it: a ratio other than 1
  beyond rounding means that the two passes computed different things, and ends the run;
- logits are never held, and a prompt is read once for all its samples (`forward`), unless an audit
  asks for the logits, or the model does not allow it, which is told once.
"""

from __future__ import annotations

import contextlib
import copy
import logging
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import TrainerCallback
from trl import GRPOTrainer
from trl.models import unwrap_model_for_generation

from entropy_theory import forecast
from entropy_theory.forecast import StateStatistics
from entropy_theory.support import results
from entropy_theory.token_batch import TokenBatch, mean_over_sequences
from entropy_theory.update_rules import UpdateRule
from llm_bridge.forward.policy_forward import COLUMNS, Forward
from llm_bridge.running import checkpoints, faults
from llm_bridge.running.sharding import is_sharded
from llm_bridge.running.step_log import step_metrics
from llm_bridge.sampling import logits_processors
from llm_bridge.sampling.group_sampling import sample_groups
from llm_bridge.trainer import dynamic_sampling, reference
from llm_bridge.trainer.batches import (
    PREPARED,
    gathered,
    join,
    map_columns,
    prefix_states,
    token_batch,
)
from llm_bridge.trainer.loss import clamped_fraction, detached, policy_loss
from llm_bridge.trainer.options import (
    check_config,
    check_plain_sampling,
    check_resampling,
    check_rule,
    check_second_batch,
    grpo_config,
    samples_plainly,
    second_batch_options,
)

__all__ = ["EntropyTrainer", "InertRuleWarning", "MicroBatch", "contributions", "grpo_config"]

logger = logging.getLogger(__name__)

CONTROLLER_STATE = "controller_state.json"
COEFFICIENT_STATE = "coefficient_state.json"


class InertRuleWarning(UserWarning):
    """A rule that would do nothing under these options, with the remedy."""


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
        resampling_rounds: DAPO's dynamic sampling: up to so many times a step, as many prompts again
            are drawn from the training data, and those whose rewards differ within their group
            replace those of equal rewards. 0: none is replaced. Controllers, records and the second
            batch then see the rows trained on, TRL's own log those of the first draw; it has the
            number of ``resampled_prompts``.
        on_step: called on the main process with each optimizer step's record.

    Raises:
        ValueError: an option of TRL that would change the objective or the sampling distribution,
            a rule that samples do not allow, or a batch shape that it cannot be computed on.

    Warns:
        InertRuleWarning: the rule would do nothing under these options.
    """

    _name = "Entropy"
    # Where TRL's own annotations leave None or less than a GRPOConfig.
    model: Any
    args: Any
    num_generations: Any
    _buffered_inputs: Any

    def __init__(
        self,
        model: Any,
        reward_funcs: Any = None,
        args: Any = None,
        *,
        rule: UpdateRule,
        tempered_fraction: float = 1.0,
        resampling_rounds: int = 0,
        on_step: Any = None,
        **kwargs: Any,
    ):
        if args is None:
            raise ValueError("give args: trainer.grpo_config(output_dir, ...) has the right defaults")
        check_config(args)
        check_rule(rule)
        if not 0 < tempered_fraction <= 1:
            raise ValueError(f"tempered_fraction must be in (0, 1], got {tempered_fraction}")
        needs_reference = "reference_log_prob" in rule.required_columns
        frozen = None
        if needs_reference and kwargs.get("peft_config") is None:
            # Before TRL and the optimizer touch the model, and before a checkpoint is resumed.
            frozen = reference.frozen_copy(model, args, kwargs.get("quantization_config"))
        super().__init__(model, reward_funcs, args, **kwargs)
        if self.aux_loss_enabled:
            raise ValueError("set router_aux_loss_coef=0: the router's loss is no part of the rule")
        self.rule = rule
        self.controller = rule.controller()
        self.coefficient_controller = rule.coefficient_controller()
        self.needs_reference = needs_reference
        self.reference_model = None if frozen is None else reference.prepare(frozen, self)
        self.on_step = on_step
        self.micro_batches: list[MicroBatch] = []
        self.keeps_logits: Callable[[], bool] = lambda: False
        self._tempered_rows = self._count_tempered_rows(tempered_fraction)
        self.resampling_rounds = resampling_rounds
        check_resampling(self)
        self._steps_per_batch = args.steps_per_generation // args.gradient_accumulation_steps
        # One forward pass then gives the old log-probabilities, prepares the rule and is trained on.
        self._single_forward = (
            args.steps_per_generation == 1
            and args.num_iterations == 1
            and self.accelerator.num_processes == 1
        )
        self._rewards: torch.Tensor | None = None
        self._scored: dict[str, torch.Tensor] | None = None
        self._scored_at_step: int | None = None
        self._empty_logs = copy.deepcopy(self._logs)
        self._started, self._learning_rate = time.perf_counter(), args.learning_rate
        self.forward = Forward(
            self.accelerator, self.generating_model, removed_fraction=clamped_fraction(rule)
        )
        check_plain_sampling(self)
        check_second_batch(self)
        self._warn_of_inertness()
        self.add_callback(_EndOfStep(self))

    @property
    def generating_model(self) -> Any:
        """The model of transformers inside data parallelism and adapters."""
        plain = self.accelerator.unwrap_model(self.model)
        return plain.get_base_model() if hasattr(plain, "peft_config") else plain

    def _warn_of_inertness(self) -> None:
        args, longest = self.args, self.args.max_completion_length
        rows = args.per_device_train_batch_size * args.steps_per_generation
        found = self.rule.warnings(
            on_policy=self._steps_per_batch * args.num_iterations == 1,
            # At most: a rule that is inert with so many tokens is inert.
            tokens=rows * self.accelerator.num_processes * longest if longest else None,
            actions=getattr(self.model.config.get_text_config(), "vocab_size", None),
        )
        if self.accelerator.is_main_process:
            for message in found:
                warnings.warn(message, InertRuleWarning, stacklevel=3)

    # ------------------------------------------------------------------ sampling and preparation

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        if not self.model.training:
            return super()._generate_and_score_completions(inputs)
        rows = self._add_columns(self._generated(inputs), inputs, 1.0, False)
        if self.resampling_rounds:
            rows, inputs = self._resampled(rows, inputs)
        if not bool(rows["usable_tokens"]) or (self.controller is None and self._single_forward):
            return rows
        self._score(rows)
        ordinary = self._world_batch(rows)
        if self.controller is not None:
            temperature = _observe(self.controller, ordinary)
            rows = join(rows, self._tempered_batch(inputs[: self._tempered_rows], temperature),
                         pad_token=self._tokenizer.pad_token_id)
        if not self._single_forward:
            if self.coefficient_controller is not None:
                coefficient = _observe(self.coefficient_controller, ordinary)
                rows["coefficient"] = torch.full_like(rows["sampling_temperature"], coefficient)
            self._prepare_rule(rows, self._world_batch(rows))
        return rows

    def _generated(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        """TRL's rows; what it scored of them is kept for `_score`."""
        self._scored = None
        return super()._generate_and_score_completions(inputs)

    def _resampled(
        self, rows: dict[str, Any], inputs: list[dict[str, Any]]
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """DAPO's dynamic sampling, whole groups of each rank among themselves."""
        size, step, accelerator = self.num_generations, self.state.global_step, self.accelerator
        replaced = 0
        for attempt in range(self.resampling_rounds):
            dead = dynamic_sampling.without_signal(rows, size)
            if not bool(accelerator.gather(dead.sum()).sum()):
                break
            others = dynamic_sampling.other_prompts(
                self.train_dataset, len(dead), size, key=(self.args.seed, step, attempt),
                rank=accelerator.process_index, ranks=accelerator.num_processes)
            with self._apart_from_the_log():
                new = self._add_columns(self._generated(others), others, 1.0, False)
            self._scored = None  # of the new rows alone
            live = ~dynamic_sampling.without_signal(new, size)
            source = dynamic_sampling.sources(dead, live, size)
            rows = dynamic_sampling.taken(rows, new, source, pad_token=self._tokenizer.pad_token_id)
            inputs = [[*inputs, *others][index] for index in source.tolist()]
            replaced += int(accelerator.gather((source >= len(others)).sum()).sum()) // size
        tokens = accelerator.gather(rows["mask"].sum()).sum()
        rows.update(usable_tokens=tokens, weight=rows["mask"].double() / tokens.clamp(min=1))
        self._metrics["train"]["resampled_prompts"].append(replaced)
        return rows, inputs

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        inputs = super()._prepare_inputs(generation_batch)
        usable = self.model.training and bool(inputs["usable_tokens"])
        if usable and self.rule.prepares_every_step:
            place = self._step % (self.args.steps_per_generation * self.num_iterations)
            # The first step on a generation is prepared with it: its policy is the one that sampled.
            if place > 0 and place % self.args.gradient_accumulation_steps == 0:
                self._prepare_again(self._buffered_inputs)
        return inputs

    def _prepare_again(self, micro_batches: list[dict[str, Any]]) -> None:
        """Prepare the rule on the rows of the whole generation, under the policy as it is now."""
        rows = {
            name: torch.cat([part[name] for part in micro_batches])
            for name, column in micro_batches[0].items()
            if column.ndim and not name.startswith(PREPARED)
        }
        self._prepare_rule(rows, self._world_batch(rows, self._columns(rows)))
        start = 0
        for part in micro_batches:
            stop = start + len(part["mask"])
            for name, column in rows.items():
                if name.startswith(PREPARED):
                    part[name] = column[start:stop]
            start = stop

    def _generate_single_turn(
        self, prompt_ids: Any, images: Any, multimodal_fields: Any, *rest: Any, **options: Any
    ) -> Any:
        """TRL's sampling, faster where weights are whole and samples plain."""
        own = (
            self.model.training
            and not (self.use_vllm or self.use_transformers_continuous_batching)
            and not (images or multimodal_fields)
            and not is_sharded(self.accelerator, self.model)
            and samples_plainly(self)
        )
        found, longest = None, self.max_completion_length
        if own and longest is not None:
            with unwrap_model_for_generation(
                self.model_wrapped, self.accelerator,
                gradient_checkpointing_kwargs=self.args.gradient_checkpointing_kwargs,
            ) as model:
                found = sample_groups(
                    model, prompt_ids, stop_ids=self.eos_token_ids,
                    max_new_tokens=longest,
                    temperature=self.generation_config.temperature,
                )
        if found is not None:
            return found, None
        return super()._generate_single_turn(
            prompt_ids, images, multimodal_fields, *rest, **options
        )

    def _tempered_batch(self, inputs: list[dict[str, Any]], temperature: float) -> dict[str, Any]:
        """The second batch, with its own lines in the log and TRL's metrics left alone."""
        with self._apart_from_the_log() as measured, self._sampling_at(temperature):
            rows = self._generated(inputs)
        self._metrics["train"]["tempered/reward"].extend(measured["reward"])
        rows.pop("importance_sampling_ratio", None)
        rows = self._add_columns(rows, inputs, temperature, True)
        if not self._single_forward:
            self._score(rows)
        return rows

    @contextlib.contextmanager
    def _apart_from_the_log(self) -> Iterator[dict[str, list[float]]]:
        """What TRL measures and logs meanwhile is the value, and no part of its log."""
        mode_metrics, logs = self._metrics["train"], self._logs
        self._metrics["train"], self._logs = defaultdict(list), copy.deepcopy(self._empty_logs)
        try:
            yield self._metrics["train"]
        finally:
            self._metrics["train"], self._logs = mode_metrics, logs

    @contextlib.contextmanager
    def _sampling_at(self, temperature: float) -> Iterator[None]:
        """Sample the rule's target; scoring stays at temperature 1, and no correction is computed."""
        sampler = self.vllm_generation if self.use_vllm else self.generation_config
        options = {**second_batch_options(self.rule), "temperature": temperature}
        processors = options.pop("logits_processor", ())
        before = {name: getattr(sampler, name) for name in options}
        corrects = self.vllm_importance_sampling_correction
        self.vllm_importance_sampling_correction = False
        try:
            for name, value in options.items():
                setattr(sampler, name, value)
            with logits_processors.applied(self.generating_model, processors):
                yield
        finally:
            for name, value in before.items():
                setattr(sampler, name, value)
            self.vllm_importance_sampling_correction = corrects

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
        world_tokens = self.accelerator.gather(mask.sum()).sum()
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
            "weight": mask.double() / world_tokens.clamp(min=1),
            "usable_tokens": world_tokens,
            "state": states[:, prompt_length:-1],
            "answer": states[:, -1],
        }
        if self.use_vllm and self.vllm_importance_sampling_correction:
            ratio = rows.get("importance_sampling_ratio", torch.ones_like(reward)[:, None])
            added["correction"] = ratio.expand(mask.shape)
        if self.needs_reference:
            added["reference_log_prob"] = self._reference_log_prob(rows)
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
        return self.forward.logits(model, rows)

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
        found = self._columns(rows, model, batch_size or len(input_ids))
        if model is self.model:
            self._scored = found
        return found["log_prob"], found["entropy"] if compute_entropy else None, None

    def _columns(
        self, rows: dict[str, Any], model: Any = None, batch_size: int | None = None
    ) -> dict[str, torch.Tensor]:
        """log_prob, entropy and, where the rule moves it, clamped_entropy; without gradient."""
        model = self.model if model is None else model
        size = batch_size or self.args.per_device_train_batch_size
        found = defaultdict(list)
        with torch.no_grad():
            for start in range(0, len(rows["prompt_ids"]), size):
                cut = {name: rows[name][start : start + size] for name in COLUMNS}
                statistics = self.forward.statistics(model, cut)
                found["log_prob"].append(statistics.log_prob)
                found["entropy"].append(statistics.entropy)
                if statistics.clamped_entropy is not None:
                    found["clamped_entropy"].append(statistics.clamped_entropy)
        return {name: torch.cat(columns) for name, columns in found.items()}

    def _score(self, rows: dict[str, Any]) -> None:
        """Add the columns of the policy that sampled: old_log_prob, entropy and clamped_entropy.

        Where later steps reuse the rows TRL has scored them already, through our forward.
        """
        found = self._columns(rows) if self._scored is None else self._scored
        self._scored = None
        rows["old_log_prob"] = found.pop("log_prob")
        rows.update(found)
        self._scored_at_step = self.state.global_step

    def _reference_log_prob(self, rows: dict[str, Any]) -> torch.Tensor:
        if self.reference_model is not None:
            return self._columns(rows, self.reference_model)["log_prob"]
        with self.accelerator.unwrap_model(self.model).disable_adapter():
            return self._columns(rows)["log_prob"]

    def _prepare_rule(self, rows: dict[str, Any], world: TokenBatch) -> None:
        """Add the columns of the rule's ``prepare``, computed on all rows of all ranks."""
        prepared = self.rule.prepare(world).prepared
        count, width = rows["mask"].shape
        own = slice(self.accelerator.process_index * count, None)
        for name, column in prepared.items():
            rows[PREPARED + name] = column[own][:count, :width]

    def _world_batch(
        self, rows: dict[str, Any], current: dict[str, torch.Tensor] | None = None
    ) -> TokenBatch:
        """A TokenBatch of the scored rows of all ranks.

        Args:
            current: columns of the policy being trained, where it is not the one that sampled.
        """
        columns = {"log_prob": rows["old_log_prob"], **rows} if current is None else current
        batch = token_batch(
            rows, columns["log_prob"], columns["entropy"], columns.get("clamped_entropy"),
            step=self.state.global_step, seed=self.args.seed,
        )
        return gathered(self.accelerator, batch)

    # ----------------------------------------------------------------------------------- the loss

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> torch.Tensor:
        if not self.model.training:
            return super()._compute_loss(model, inputs)
        logits = self.logits(model, inputs) if self.keeps_logits() else None
        statistics = (
            self.forward.statistics(model, inputs) if logits is None
            else self.forward.from_logits(logits, inputs)
        )
        batch = token_batch(
            inputs, statistics.log_prob, statistics.entropy, statistics.clamped_entropy,
            step=self.state.global_step, seed=self.args.seed,
        )
        if self.state.global_step == self._scored_at_step and "old_log_prob" in inputs:
            faults.check_ratio(
                batch, faults.rounding(model, self.accelerator.mixed_precision), step=batch.step
            )
        usable = bool(inputs["usable_tokens"])
        if usable and not batch.prepared:
            if self.coefficient_controller is not None:
                coefficient = _observe(self.coefficient_controller, detached(batch))
                batch = batch.replace(coefficient=torch.full_like(batch.weight, coefficient))
            batch = batch.with_prepared(**self.rule.prepare(detached(batch)).prepared)
        # A generation's weights sum to 1, and each of its optimizer steps takes a part of the rows.
        batch = batch.replace(weight=batch.weight * self._steps_per_batch)
        constants = detached(batch)
        if usable:
            loss = policy_loss(batch, self.rule, correction=inputs.get("correction"))
            scores, terms = self.rule.scores(constants), self.rule.state_terms(constants)
        else:
            # Gradient 0, not none at all: other ranks average theirs with it.
            nothing = torch.ones_like(statistics.log_prob, dtype=torch.bool)
            loss = statistics.log_prob.masked_fill(nothing, 0.0).sum()
            scores, terms = torch.zeros_like(constants.log_prob), {}
        self.micro_batches.append(
            MicroBatch(
                inputs=inputs,
                batch=constants,
                statistics=statistics.state,
                scores=scores,
                state_terms=terms,
                logits=None if logits is None else logits.detach(),
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
        batch = gathered(self.accelerator, batch.with_prepared(**extra))
        # Averages of a few hundred float32 numbers should not show rounding.
        batch = map_columns(lambda c: c.double() if c.is_floating_point() else c, batch)
        rate = self._learning_rate
        temperatures = torch.cat([p.inputs["sampling_temperature"][p.inputs["tempered"]]
                                  for p in parts])
        record = {
            "step": self.state.global_step,
            **step_metrics(batch, self.rule, rate),
            "temperature": float(temperatures[0]) if len(temperatures) else None,
            "coefficient": self._coefficient(),
            "learning_rate": rate,
            "seconds": time.perf_counter() - self._started,
        }
        for name, value in record.items():
            if value is not None and name not in ("step", "learning_rate"):
                self._metrics["train"][name].append(value)
        if self.on_step is not None and self.accelerator.is_main_process:
            self.on_step(record)

    def _coefficient(self) -> float | None:
        """What a log calls the rule's coefficient: the adapted one, else the outermost rule's."""
        if self.coefficient_controller is not None:
            return float(self.coefficient_controller.coefficient)
        strength = self.rule.strength
        return None if strength is None else float(strength)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        folder = Path(self._get_output_dir(trial=trial), f"checkpoint-{self.state.global_step}")
        with checkpoints.whole_or_not_at_all(folder):
            super()._save_checkpoint(model, trial)
            self.accelerator.wait_for_everyone()
            if self.args.should_save:
                for name, controller in self._controllers():
                    results.write_json(folder / name, controller.state_dict())
                checkpoints.seal(folder)

    def train(self, *arguments: Any, **options: Any) -> Any:
        """TRL's, with an error that a user can act on where memory runs out or a GPU is lost."""
        with faults.device_errors_named(faults.training_settings(self.args)):
            return super().train(*arguments, **options)

    def check_step(self) -> None:
        """Refuse the step about to be taken if its gradient is no number."""
        faults.check_gradient(
            self.model, folder=Path(self.args.output_dir), step=self.state.global_step,
            rows=[part.inputs for part in self.micro_batches],
        )

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is not None:
            for name, controller in self._controllers():
                controller.load_state_dict(results.read_json(Path(checkpoint, name)))

    def _controllers(self) -> list[tuple[str, Any]]:
        both = ((CONTROLLER_STATE, self.controller),
                (COEFFICIENT_STATE, self.coefficient_controller))
        return [(name, controller) for name, controller in both if controller is not None]

    def _send_telemetry(self) -> None:
        """Training tells nobody but its own logs."""


class _EndOfStep(TrainerCallback):
    def __init__(self, trainer: EntropyTrainer):
        self._trainer = trainer

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self._trainer._started = time.perf_counter()

    def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
        self._trainer._learning_rate = self._trainer._get_learning_rate()
        self._trainer.check_step()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self._trainer.finish_step()


def _observe(controller: Any, batch: TokenBatch) -> float:
    """Show the controller what it reads of all ordinary rows; its next setting."""
    mean = mean_over_sequences(batch, controller.reads)
    return float(controller.observe(np.asarray(float(mean))))


def contributions(part: MicroBatch) -> torch.Tensor | None:
    """Forecast (i), token by token, nats per unit learning rate; None for a term without one."""
    if not set(part.state_terms) <= {"entropy", "clamped_entropy"}:
        return None
    found = forecast.token_contributions(
        part.batch, part.scores, part.state_terms, part.statistics
    )
    correction = part.inputs.get("correction")
    return found if correction is None else found * correction
