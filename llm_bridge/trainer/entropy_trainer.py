"""The update rules inside TRL's GRPOTrainer.

TRL samples, scores rewards, distributes, checkpoints and logs; the loss is ours. Departures:

- a rule's ``prepare`` is given all rows of all ranks once per generation. Its columns travel with
  the rows, so that no statistic is ever that of a micro-batch. A rule may need the
  log-probabilities of the policy being trained (`Needs.every_step`). It is then prepared again
  before each later step on the generation, after a pass without gradient over all rows, so that
  groups and shares stay whole;
- controllers observe the policy that sampled, once per generation;
- ``weight`` alone normalizes: neither gradient accumulation nor data parallelism rescales a step;
- a rule with a controller gets a second batch, sampled at the controller's temperature, whose rows
  are added to the step (AEPO, Eq. 1). They are scored as all others. A correction for the
  temperature would undo their purpose;
- a rule with a reference policy gets the starting model, as a frozen copy or, where TRL puts an
  adapter on it (``peft_config``), as the model without the adapter;
- a generation without a usable completion is a step with gradient zero, and the log has
  ``usable_fraction`` 0. No reward function could judge any, or all are cut off and masked. No
  second batch is drawn and no controller observes, but the optimizer's momentum and weight decay go
  on;
- options of TRL that would change the objective are refused (listed in `trl_options`), unless they
  describe the same rule, as with `from_trl`;
- samples that are cut or penalized (top_p ...) are trained on as in TRL, by the whole softmax, with
  a warning. Under every sampler a rule such as ``sampler-correction`` reads the log-probabilities of
  the distribution that they were drawn from;
- the policy is softmax(logits / T) where ``temperature`` is T: sampling, scores, entropies and
  forecasts are of that policy. A second batch is drawn at the controller's temperature times T;
- the model trains in evaluation mode, without dropout or a router's noise. So the trained policy is
  the one that drew, which is checked on the first rows of a run (`same_policy`);
- plain samples are drawn by `group_sampling`, which reads a prompt once for its group; everything
  else (vLLM, continuous batching, sharded weights, a target's nucleus) is sampled by TRL;
- before the first step on a generation the policy is the one that scored it. A ratio that differs
  from 1 beyond rounding shows that the two passes differ, and ends the run;
- logits are never held, and a prompt is read once for all its samples (`forward`), unless the model
  does not allow it, with one warning.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers.trainer_utils import get_last_checkpoint

from entropy_theory.support import results
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import UpdateRule
from llm_bridge.accounting import rule_needs
from llm_bridge.data import rewards
from llm_bridge.data.private_names import SCORE, Hooks, log_state, training_log
from llm_bridge.forward import evaluation_mode, images
from llm_bridge.forward.policy_forward import Forward, RouterLosses
from llm_bridge.objective import micro_batch
from llm_bridge.objective.batches import token_batch
from llm_bridge.objective.loss import clamped_fraction
from llm_bridge.objective.micro_batch import MicroBatch, contributions
from llm_bridge.running import checkpoints, faults, ranks
from llm_bridge.running.sharding import is_sharded, return_unrounded
from llm_bridge.running.time_limit import REWARDS, check_reward_timeout, time_limit
from llm_bridge.sampling import sampling
from llm_bridge.trainer import controllers, draws, reference, resuming, run_numbers
from llm_bridge.trainer.generation import Generation
from llm_bridge.trainer.options import (
    InertRuleWarning,
    check_config,
    check_images,
    check_rule,
    check_samples_and_loss,
    from_trl,
    grpo_config,
    longest_completion,
    warn_of_inertness,
    without_penalty,
)
from llm_bridge.trainer.records import StepRecords
from llm_bridge.trainer.sampling_options import (
    check_continuous_batching,
    check_resampling,
    check_sampling,
    check_second_batch,
    check_tools,
)
from llm_bridge.trainer.scoring import SamePolicy, Scoring
from llm_bridge.trainer.trl_release import GRPOTrainer, is_async_callable

__all__ = [
    "EntropyTrainer", "InertRuleWarning", "MicroBatch", "contributions", "from_trl", "grpo_config",
]


class EntropyTrainer(Hooks, GRPOTrainer):
    """GRPOTrainer with an update rule of `entropy_theory` in place of its loss.

    Its arguments beside those of GRPOTrainer:

    Args:
        rule: the update rule.
        tempered_fraction: share of the prompts that the second batch of a rule with a controller
            answers again, in (0, 1]. The paper has 1, the authors' code 1/4. Forward passes grow by
            this share beyond ``per_device_train_batch_size``.
        resampling_rounds: the largest number of rounds of DAPO's dynamic sampling in each step, 0
            for none. A round draws as many prompts again from the training data. Those whose rewards
            differ within their group replace prompts of equal rewards. Controllers, records and the
            second batch then get the rows trained on. TRL's own log is of the first draw, and has the
            number of ``resampled_prompts``.
        reward_timeout: seconds that the reward functions may take for a rank's completions of one
            generation. 0: no limit. A function that hangs would hold a run for ever, or ranks until
            their own time-out, which does not name it. A run outside the main thread cannot be
            interrupted: give 0.
        rounding: largest difference of log-probs in two passes of one policy, nats, root mean
            square. None: `faults.rounding`.
        stop: completions also end after the first token whose text contains this (`Task.stop`).
        on_step: called on the main process with each optimizer step's record.

    Attributes:
        entropy_forecast: a function that returns the forecast of the steps on the last batch, under a
            rule that holds its target by forecasts (``hold="forecast"``); else None.
        entropy_effects: a function that returns the column ``entropy_effect`` of a generation's rows,
            under a rule that reads it (``covariance="network"``); else None.

    Raises:
        ValueError: an option of TRL that would change the objective, or a batch shape that the rule
            cannot use. An object that is not a rule, or a rule that samples do not allow. In
            training: a reward that is neither None nor a finite number.

    Warns:
        InertRuleWarning: options under which the rule would do nothing.
    """

    _name = "Entropy"
    # Where TRL's own annotations leave None or less than a GRPOConfig.
    model: Any
    args: Any
    num_generations: Any
    reward_funcs: Any

    def __init__(
        self,
        model: Any,
        reward_funcs: Any = None,
        args: Any = None,
        *,
        rule: UpdateRule,
        tempered_fraction: float = 1.0,
        resampling_rounds: int = 0,
        reward_timeout: float = REWARDS,
        rounding: float | None = None,
        stop: str | None = None,
        on_step: Any = None,
        **kwargs: Any,
    ):
        if args is None:
            raise ValueError("give args: trainer.grpo_config(output_dir, ...) has the right defaults")
        check_rule(rule)
        check_config(args, rule)
        run_numbers.check_tempered_fraction(tempered_fraction, rule)
        check_reward_timeout(reward_timeout)
        self.needs_reference = "reference_log_prob" in rule.needs.columns
        frozen = None
        if self.needs_reference and kwargs.get("peft_config") is None:
            # Before TRL and the optimizer touch the model, and before a checkpoint is resumed.
            frozen = reference.frozen_copy(model, args, kwargs.get("quantization_config"))
        self.own_optimizer = resuming.optimizer_given((kwargs.get("optimizers") or (None,))[0])
        super().__init__(model, reward_funcs, without_penalty(args), **kwargs)
        self.reward_funcs = [
            # A model's rewards are tensors.
            function if isinstance(function, torch.nn.Module)
            else rewards.finite_or_unjudged(function, name, is_async=is_async_callable(function))
            for function, name in zip(self.reward_funcs, self.reward_func_names, strict=True)
        ]
        draws.set_end_tokens(self, stop)
        draws.seed_sampler(self)
        return_unrounded(self.accelerator)
        check_samples_and_loss(self)
        self.tempered_fraction, self.resampling_rounds = tempered_fraction, resampling_rounds
        self.reward_timeout, self.follows = reward_timeout, args.sync_ref_model
        self.rounding = run_numbers.check_rounding(rounding)
        self._take(rule, frozen)
        if self.follows:
            reference.follow(self)
        check_resampling(self)
        check_sampling(self)
        check_continuous_batching(self)
        check_tools(self)
        check_second_batch(self)
        warn_of_inertness(self)
        self.add_callback(StepRecords(self, on_step))
        rule_needs.attach(self)

    def _take(self, rule: UpdateRule, frozen: Any) -> None:
        """Make what trains by the rule, with a frozen copy of the starting model where it reads one."""
        args, self.rule = self.args, rule
        self.controller = rule.controller()
        self.coefficient_controller = rule.coefficient_controller()
        self.records_draws = "sampling_log_prob" in rule.needs.columns
        self.entropy_forecast: controllers.Forecaster | None = None
        self.entropy_effects: Callable[[dict[str, Any], TokenBatch], torch.Tensor] | None = None
        self.reference_model = None if frozen is None else reference.prepare(frozen, self)
        self.micro_batches: list[MicroBatch] = []
        self.before_backward: list[Callable[[TokenBatch], None]] = []
        self.entropy_account: Any = None
        adapted = hasattr(self.accelerator.unwrap_model(self.model), "peft_config")
        # Any other start is replaced by the checkpoint's weights.
        self.start = resuming.start_of(
            self.model, frozen_alone=adapted) if adapted or self.needs_reference else None
        self.made_with: dict[str, Any] = {}
        self.log_to_restore: dict[str, Any] | None = None
        self.train_sampler: Any = None
        self.steps_per_batch = args.steps_per_generation // args.gradient_accumulation_steps
        self.rewards: torch.Tensor | None = None
        self.forward = Forward(
            self.accelerator, self.generating_model, removed_fraction=clamped_fraction(rule),
            temperature=self.temperature,
        )
        self.scoring = Scoring(
            self.forward, batch_size=args.per_device_train_batch_size,
            precision=self.accelerator.mixed_precision, allowed=self.rounding,
        )
        self.same_policy = SamePolicy(self)
        self.generation = Generation(self)

    @property
    def generating_model(self) -> Any:
        """Return the model of transformers inside data parallelism and adapters."""
        plain = self.accelerator.unwrap_model(self.model)
        return plain.get_base_model() if hasattr(plain, "peft_config") else plain

    # ------------------------------------------------------------------------------- generations

    def make_generation(self, inputs: list[dict[str, Any]], generate: Any) -> dict[str, Any]:
        """Return the columns of a generation; those of an evaluation are TRL's own."""
        check_images(self, inputs)  # of a stream, nobody has looked at them before
        return self.generation.columns(inputs, generate) if self.model.training else generate(inputs)

    def draw_completions(
        self, prompt_ids: Any, images: Any, multimodal_fields: Any, draw: Callable[[], Any]
    ) -> Any:
        """Sample as TRL does, but faster where weights are whole and samples plain."""
        if not self.tools:  # whose later turns TRL cuts to the room that is left
            sampling.check_positions(
                self.generating_model, max(map(len, prompt_ids)), longest_completion(self))
        found = draws.plain_groups(self, prompt_ids, images, multimodal_fields)
        if found is not None:
            return found, None
        with draws.handing_over(), faults.sampling_server_named(self.args):
            return draws.with_log_probs(self, draw)

    def judge_completions(
        self, prompts: Any, completions: Any, judge: Callable[[], torch.Tensor]
    ) -> torch.Tensor:
        """Let the reward functions judge, for as long as they may."""
        with time_limit(self.reward_timeout, (
            f"reward function {' or '.join(map(repr, self.reward_func_names))} has not judged "
            f"{len(completions)} completions within {self.reward_timeout:g} s (reward_timeout) at step "
            f"{self.state.global_step + 1}, on rank {self.accelerator.process_index}; the first prompt "
            f"is {prompts[0]!r}: mend it, or give it more time"
        )):
            self.rewards = judge()
        return self.rewards

    def look_at_inputs(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Prepare a rule that wants it again before each step of a generation, and return the inputs."""
        usable = self.model.training and bool(inputs["usable_tokens"])
        if usable and self.rule.needs.every_step:
            place = self.micro_steps % (self.args.steps_per_generation * self.num_iterations)
            # The first step on a generation is prepared with it: its policy is the one that sampled.
            if place > 0 and place % self.args.gradient_accumulation_steps == 0:
                self.generation.prepare_again(self.generation_at_hand)
        return inputs

    # ---------------------------------------------------------------------------------- the loss

    def logits(self, model: Any, columns: dict[str, Any]) -> torch.Tensor:
        """Return the logits [sequences, positions, vocabulary] from which completions were drawn."""
        return self.forward.logits(model, columns)

    def score_tokens(
        self, model: Any, columns: dict[str, Any], batch_size: int, router: RouterLosses | None,
        given: dict[str, Any],
    ) -> dict[str, torch.Tensor]:
        """Score rows that later steps reuse, and those of an evaluation, by our forward pass.

        Args:
            model: of the trainer, or its reference.
            columns: prompts and completions with their masks.
            batch_size: rows at once.
            router: the list that a router's losses are added to; None where they are not asked for.
            given: the images that TRL has, if any.
        """
        found = self.scoring.statistics(model, self.with_row_images(columns, given), batch_size, router)
        if model is self.model:
            self.scoring.keep(found)
        return found

    def with_row_images(self, columns: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
        """Add to columns the images that TRL has ``given``, row by row."""
        found = images.of_rows(getattr(self.theirs, SCORE), columns, given)
        return columns if found is None else {**columns, images.IMAGES: found}

    def step_loss(self, model: Any, inputs: dict[str, Any]) -> torch.Tensor:
        """Return the rule's loss of a micro-batch."""
        router: RouterLosses | None = [] if self.aux_loss_enabled else None
        with self.same_policy.watching(inputs) as passed:
            statistics = self.forward.statistics(model, inputs, router)
            passed.append(statistics)
        batch = token_batch(
            inputs, statistics.log_prob, statistics.entropy, statistics.clamped_entropy,
            step=self.state.global_step, seed=self.args.seed,
        )
        batch = self.scoring.check_ratio(batch, inputs, model)
        if bool(inputs["usable_tokens"]) and not batch.prepared:
            batch = self.generation.prepared(batch)
        # A generation's weights sum to 1, and each of its optimizer steps takes a part of the rows.
        batch = batch.replace(weight=batch.weight * self.steps_per_batch)
        for look in self.before_backward:
            look(batch)
        loss, seen = micro_batch.loss_of(batch, self.rule, inputs, statistics)
        self.micro_batches.append(seen)
        # Data parallelism averages gradients over ranks, and the weights are those of all ranks.
        loss = loss * self.accelerator.num_processes
        if router:
            loss = loss + micro_batch.router_share(self) * router[0]
            training_log(self)["aux_loss"].append(
                float(self.accelerator.gather(router[0].detach()).mean()))
        return loss

    # ---------------------------------------------------------------------- runs and checkpoints

    def train(
        self, resume_from_checkpoint: str | bool | None = None, *arguments: Any, **options: Any
    ) -> Any:
        """Train as TRL does; a lack of memory or a lost GPU is an error that a user can act on.

        Raises ValueError as `checkpoints.check_resumable`, `checkpoints.check_ranks` and
        `resuming.check`.
        """
        self.made_with, self.log_to_restore = resuming.describe(self), None
        checkpoint = resume_from_checkpoint
        if checkpoint is True:
            checkpoint = get_last_checkpoint(self.args.output_dir)
        if checkpoint:
            checkpoints.check_resumable(Path(str(checkpoint)))
            checkpoints.check_ranks(Path(str(checkpoint)), self.accelerator)
            resuming.check(Path(str(checkpoint)), self)
        self.same_policy.begin()
        settings = faults.training_settings(self.args, self.generation.rows_at_once)
        with evaluation_mode.kept(self.model), faults.device_errors_named(settings):
            return super().train(resume_from_checkpoint, *arguments, **options)

    def write_checkpoint(self, folder: Path, model: Any, save: Callable[[], None]) -> None:
        """Write a checkpoint, whole or not at all, with what TRL's own has not."""
        state = {"made_with": self.made_with, "log": log_state(self)}

        def save_state() -> None:
            if self.args.should_save:
                results.write_json(folder / resuming.RUN_STATE, state)
                controllers.save(
                    folder, temperature=self.controller, coefficient=self.coefficient_controller,
                    forecaster=self.entropy_forecast)
                reference.save(self, folder)

        with checkpoints.whole_or_not_at_all(folder):
            # Sharded weights are saved by all ranks together, who then cannot wait for one that failed.
            if is_sharded(self.accelerator, self.model):
                save()
                self.accelerator.wait_for_everyone()
            else:
                ranks.agreed(save)
            ranks.agreed(save_state)
            if not self.args.save_only_model:
                checkpoints.seal(folder)

    def read_checkpoint(self, folder: Path) -> None:
        """Take up what `write_checkpoint` wrote beside TRL's own."""
        reference.load(self, folder)
        controllers.load(
            folder, temperature=self.controller, coefficient=self.coefficient_controller,
            forecaster=self.entropy_forecast)
        if (state := resuming.read(folder)) is not None:
            self.log_to_restore = state["log"]
