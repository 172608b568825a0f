"""Makes a generation: the completions that TRL draws, as columns on which a rule is prepared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from entropy_theory.token_batch import TokenBatch
from llm_bridge.data import models
from llm_bridge.data.private_names import TrainingLog, training_log
from llm_bridge.objective.batches import join
from llm_bridge.objective.loss import detached
from llm_bridge.trainer import columns as made_columns
from llm_bridge.trainer import controllers, draws, dynamic_sampling
from llm_bridge.trainer.columns import OFFSET, Place, target_offsets, with_rule_columns
from llm_bridge.trainer.scoring import OF_THE_POLICY, unscored

Columns = dict[str, Any]
Examples = list[dict[str, Any]]
Generate = Callable[[Examples], Columns]


class Generation:
    """Draws, scores and prepares what a trainer learns from.

    Args:
        trainer: an EntropyTrainer whose rule, options and scoring are in place.
    """

    def __init__(self, trainer: Any):
        self._trainer, args = trainer, trainer.args
        self._place = Place(
            rank=trainer.accelerator.process_index, ranks=trainer.accelerator.num_processes,
            rows=args.per_device_train_batch_size * args.steps_per_generation,
            group_size=trainer.num_generations,
        )
        self._tempered_rows = 0 if trainer.controller is None else draws.count_tempered_rows(
            trainer.tempered_fraction, rows=self._place.rows, splits=args.steps_per_generation,
            group_size=trainer.num_generations,
        )
        self._log = TrainingLog(trainer)
        self._corrects = trainer.use_vllm and trainer.vllm_importance_sampling_correction
        on_policy = trainer.steps_per_batch * args.num_iterations == 1
        self._needs_effects = "entropy_effect" in trainer.rule.needs.columns
        # One forward pass then gives the old log-probabilities, prepares the rule and is trained on.
        self._single_forward = (
            on_policy and args.steps_per_generation == self._place.ranks == 1
            and not self._needs_effects
        )
        # Otherwise a pass before it scores the rows, unless nothing would look at what it says.
        self._needs_scores = (
            not on_policy
            or trainer.controller is not None
            or trainer.coefficient_controller is not None
            or not trainer.rule.needs.reads.isdisjoint(OF_THE_POLICY)
        )

    @property
    def rows_at_once(self) -> int:
        """Number of rows of one forward pass of a rank, those of the second batch included."""
        splits = self._trainer.args.steps_per_generation
        return (self._place.rows + self._tempered_rows) // splits

    def columns(self, inputs: Examples, generate: Generate) -> Columns:
        """Return the columns of a generation, with its second batch and what the rule prepared.

        A rule is not prepared where no completion can be used, or where `prepared` does it in the loss.

        Args:
            inputs: TRL's examples, one for each completion.
            generate: function by which TRL samples, scores and judges as many completions.
        """
        trainer = self._trainer
        columns = self._with_rule_columns(self._drawn(inputs, generate), inputs)
        if trainer.resampling_rounds:
            columns, inputs, replaced = dynamic_sampling.resampled(
                trainer, columns, inputs, lambda others: self._drawn_apart(others, generate))
            training_log(trainer)["resampled_prompts"].append(replaced)
        if not bool(columns["usable_tokens"]):
            return columns
        if trainer.controller is None and self._single_forward:
            return columns
        if not (self._needs_scores or trainer.scoring.has_kept):
            zeros = unscored(columns["mask"], trainer.model)
            self._prepare(columns, self._world(columns, zeros, is_unscored=True))
            return columns
        self._score(columns)
        if trainer.controller is None:
            ordinary = world = self._complete(columns)
        else:
            ordinary = self._world(columns)
            temperature = self._observed(trainer.controller, ordinary)
            second = self._second_batch(inputs[: self._tempered_rows], temperature, generate)
            columns = join(columns, second, pad_token=models.tokenizer_of(trainer).pad_token_id)
            if self._single_forward:
                return columns
            world = self._complete(columns)
        if trainer.coefficient_controller is not None:
            coefficient = self._coefficient(ordinary)
            columns["coefficient"] = torch.full_like(columns["sampling_temperature"], coefficient)
            # All ranks have it already.
            world = world.replace(coefficient=torch.full_like(world.weight, coefficient))
        self._prepare(columns, world)
        return columns

    def prepare_again(self, micro_batches: list[Columns]) -> None:
        """Prepare the rule on the rows of the whole generation, under the policy as it is now."""
        columns = made_columns.whole(micro_batches)
        policy = self._trainer.scoring.statistics(self._trainer.model, columns)
        self._prepare(columns, self._complete(columns, policy))
        made_columns.deal_out(columns, micro_batches)

    def prepared(self, batch: TokenBatch) -> TokenBatch:
        """Prepare the rows of a whole optimizer step from the forward pass that they are trained on."""
        trainer, constants = self._trainer, detached(batch)
        if trainer.coefficient_controller is not None:
            coefficient = self._coefficient(constants)
            column = torch.full_like(batch.weight, coefficient)
            batch, constants = (b.replace(coefficient=column) for b in (batch, constants))
        return batch.with_prepared(**trainer.rule.prepare(constants).prepared)

    def _coefficient(self, ordinary: TokenBatch) -> float:
        trainer = self._trainer
        return self._observed(trainer.coefficient_controller, ordinary, trainer.entropy_forecast)

    def _observed(
        self, controller: Any, ordinary: TokenBatch, forecaster: controllers.Forecaster | None = None
    ) -> float:
        trainer = self._trainer
        return controllers.observe(
            controller, ordinary, forecaster, step=trainer.state.global_step,
            ahead=trainer.steps_per_batch * trainer.args.num_iterations)

    # --------------------------------------------------------------------------------- its draws

    def _drawn(self, inputs: Examples, generate: Generate) -> Columns:
        """Draw TRL's columns; what TRL scored of them is kept for `_score`."""
        self._trainer.scoring.forget()
        return generate(inputs)

    def _drawn_apart(self, inputs: Examples, generate: Generate) -> Columns:
        """Draw completions of other examples, which TRL's log leaves out."""
        with self._log.spared():
            columns = self._with_rule_columns(self._drawn(inputs, generate), inputs)
        self._trainer.scoring.forget()  # of these rows alone
        return columns

    def _second_batch(self, inputs: Examples, temperature: float, generate: Generate) -> Columns:
        """Draw tempered completions, with lines of their own in the log."""
        trainer = self._trainer
        with self._log.spared() as measured, draws.sampling_at(trainer, temperature):
            columns = self._drawn(inputs, generate)
        training_log(trainer)["tempered/reward"].extend(measured["reward"])
        for correction in ("importance_sampling_ratio", "sampling_per_token_logps"):
            columns.pop(correction, None)
        columns = self._with_rule_columns(columns, inputs, temperature, tempered=True)
        if not self._single_forward:
            self._score(columns)
        return columns

    def _with_rule_columns(
        self, columns: Columns, inputs: Examples, temperature: float = 1.0, *, tempered: bool = False
    ) -> Columns:
        trainer, place, count = self._trainer, self._place, len(columns["completion_ids"])
        columns = trainer.with_row_images(columns, columns)
        offsets = target_offsets(inputs, trainer.rule)
        found = with_rule_columns(
            columns, trainer.rewards[place.rank * count :][:count],
            reward_weights=trainer.reward_weights, temperature=temperature, tempered=tempered,
            place=place, accelerator=trainer.accelerator,
        )
        if offsets is not None:
            found[OFFSET] = offsets.to(found["reward"].device)
        if self._corrects:
            ones = torch.ones_like(found["reward"])[:, None]
            ratio = columns.get("importance_sampling_ratio", ones)
            found["correction"] = ratio.expand(found["mask"].shape)
        unknown = torch.full_like(found["weight"], torch.nan)
        if "sampling_log_prob" in trainer.rule.needs.columns:
            found["sampling_log_prob"] = columns.get("sampling_per_token_logps", unknown)
        if "old_entropy" in trainer.rule.needs.columns:
            found["old_entropy"] = unknown
        if trainer.needs_reference:
            found["reference_log_prob"] = self._reference_log_prob(found)
        return found

    # ------------------------------------------------------------------------ scores, preparation

    def _score(self, columns: Columns) -> None:
        trainer = self._trainer
        trainer.scoring.score(trainer.model, columns, step=trainer.state.global_step)

    def _reference_log_prob(self, columns: Columns) -> torch.Tensor:
        trainer = self._trainer
        if trainer.reference_model is not None:
            return trainer.scoring.statistics(trainer.reference_model, columns)["log_prob"]
        with trainer.accelerator.unwrap_model(trainer.model).disable_adapter():
            return trainer.scoring.statistics(trainer.model, columns)["log_prob"]

    def _world(
        self, columns: Columns, policy: dict[str, torch.Tensor] | None = None, *,
        is_unscored: bool = False,
    ) -> TokenBatch:
        trainer = self._trainer
        return made_columns.world_batch(
            columns, policy, accelerator=trainer.accelerator, step=trainer.state.global_step,
            seed=trainer.args.seed, is_unscored=is_unscored,
        )

    def _complete(
        self, columns: Columns, policy: dict[str, torch.Tensor] | None = None
    ) -> TokenBatch:
        """Add what a rule reads of rows that were scored, and gather the rows of all ranks."""
        if self._needs_effects:
            trainer = self._trainer
            batch = made_columns.own_batch(
                columns, None, step=trainer.state.global_step, seed=trainer.args.seed)
            columns["entropy_effect"] = trainer.entropy_effects(columns, batch)
        return self._world(columns, policy)

    def _prepare(self, columns: Columns, world: TokenBatch) -> None:
        made_columns.prepare(self._trainer.rule, columns, world, rank=self._place.rank)
