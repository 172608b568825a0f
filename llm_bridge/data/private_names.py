"""Holds every private name of TRL, transformers and accelerate that this package touches.

Another release may move any of them. A test holds each to the installed releases and keeps them out of
all other modules; ``make test-versions`` runs it on all releases that are taken (docs/install.md).
"""

from __future__ import annotations

import contextlib
import copy
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LOSS, SCORE, JUDGE = "_compute_loss", "_get_per_token_logps_and_entropies", "_calculate_rewards"
"""The methods of a trainer that diagnostics go around."""
CHECKPOINT = "_gradient_checkpointing_func"
"""The attribute by which a module of transformers calls what is checkpointed."""
INSIDE_HOOKS = "_old_forward"
"""The attribute under which accelerate's hooks keep a module's ``forward``, and call it."""
PROCESSORS = "_get_logits_processor"
"""The method by which a model of transformers makes the logits processors of a generation."""


class Hooks:
    """Calls methods of this package's own names where TRL's trainer calls its own.

    The subclass that has them stands before TRL's trainer among its bases. ``theirs`` is that trainer.
    """

    @property
    def theirs(self) -> Any:
        """TRL's trainer, behind the methods that stand in place of its own."""
        return super()

    @property
    def micro_steps(self: Any) -> int:
        """The number of micro-batches trained on so far."""
        return self._step

    @property
    def generation_at_hand(self: Any) -> list[dict[str, Any]]:
        """The micro-batches of the present generation."""
        return self._buffered_inputs

    def _generate_and_score_completions(self: Any, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        return self.make_generation(inputs, self.theirs._generate_and_score_completions)

    def _generate_single_turn(
        self: Any, prompt_ids: Any, images: Any, multimodal_fields: Any, *rest: Any, **options: Any
    ) -> Any:
        return self.draw_completions(
            prompt_ids, images, multimodal_fields, lambda: self.theirs._generate_single_turn(
                prompt_ids, images, multimodal_fields, *rest, **options))

    def _calculate_rewards(
        self: Any, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any
    ) -> Any:
        return self.judge_completions(prompts, completions, lambda: self.theirs._calculate_rewards(
            inputs, prompts, completions, completion_ids_list))

    def _prepare_inputs(self: Any, generation_batch: Any) -> Any:
        return self.look_at_inputs(self.theirs._prepare_inputs(generation_batch))

    def _get_per_token_logps_and_entropies(
        self: Any, model: Any, input_ids: Any, attention_mask: Any, logits_to_keep: int,
        batch_size: int | None = None, compute_entropy: bool = False, compute_aux_loss: bool = False,
        **given: Any,
    ) -> tuple[Any, Any, Any]:
        router: list[Any] | None = [] if compute_aux_loss else None
        found = self.score_tokens(model, {
            "prompt_ids": input_ids[:, :-logits_to_keep],
            "prompt_mask": attention_mask[:, :-logits_to_keep],
            "completion_ids": input_ids[:, -logits_to_keep:],
            "completion_mask": attention_mask[:, -logits_to_keep:],
        }, batch_size or len(input_ids), router, given)
        return (found["log_prob"], found["entropy"] if compute_entropy else None,
                sum(router) / len(router) if router else None)

    def _compute_loss(self: Any, model: Any, inputs: dict[str, Any]) -> Any:
        if not self.model.training:
            return self.theirs._compute_loss(model, inputs)
        return self.step_loss(model, inputs)

    def _save_checkpoint(self: Any, model: Any, trial: Any) -> None:
        folder = Path(self._get_output_dir(trial=trial), f"checkpoint-{self.state.global_step}")
        self.write_checkpoint(folder, model, lambda: self.theirs._save_checkpoint(model, trial))

    def _load_optimizer_and_scheduler(self: Any, checkpoint: str | None) -> None:
        self.theirs._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is not None:
            self.read_checkpoint(Path(checkpoint))

    def _get_train_sampler(self: Any, *arguments: Any) -> Any:
        self.train_sampler = self.theirs._get_train_sampler(*arguments)
        return self.train_sampler

    def _send_telemetry(self) -> None:
        """Send nothing: training reports to nothing but its own logs."""


# ---------------------------------------------------------------------------------- TRL's trainers


def training_log(trainer: Any) -> dict[str, list[Any]]:
    """Return the numbers that the next line of TRL's log has the means of, by name."""
    return trainer._metrics["train"]


class TrainingLog:
    """TRL's log of what it samples, which further samples of a step must not enter.

    Args:
        trainer: the trainer whose log it is, which is still empty.
    """

    def __init__(self, trainer: Any):
        self._trainer, self._empty = trainer, copy.deepcopy(trainer._logs)

    @contextlib.contextmanager
    def spared(self) -> Iterator[dict[str, list[float]]]:
        """Keep what TRL measures and logs inside the block out of its log, and yield it."""
        trainer = self._trainer
        mode_metrics, logs = trainer._metrics["train"], trainer._logs
        trainer._metrics["train"], trainer._logs = defaultdict(list), copy.deepcopy(self._empty)
        try:
            yield trainer._metrics["train"]
        finally:
            trainer._metrics["train"], trainer._logs = mode_metrics, logs


def log_state(trainer: Any) -> dict[str, Any]:
    """The numbers that the next line of the log averages; to be called on all ranks."""
    metrics = {name: [value if isinstance(value, int) else float(value) for value in values]
               for name, values in trainer._metrics["train"].items()}
    losses = trainer.accelerator.gather(trainer._tr_loss.reshape(1)).tolist()
    return {"metrics": metrics, "losses": losses, "logged_loss": trainer._total_loss_scalar,
            "logged_step": trainer._globalstep_last_logged}


def restore_log(trainer: Any, state: dict[str, Any]) -> None:
    """Go on averaging where `log_state` was called, once transformers has begun with nothing."""
    trainer._metrics["train"].update({name: list(values) for name, values in state["metrics"].items()})
    losses, rank = state["losses"], trainer.accelerator.process_index
    # On another number of processes, each goes on from the mean.
    same = len(losses) == trainer.accelerator.num_processes
    mean = sum(losses) / len(losses)
    trainer._tr_loss.fill_(losses[rank] if same else mean)
    # The last line's train_loss: of the whole run, and from transformers 5.23 on of this call of `train`.
    of_this_call = hasattr(trainer, "_initial_global_step")
    trainer._total_loss_scalar = -mean if of_this_call else state["logged_loss"]
    trainer._globalstep_last_logged = state["logged_step"]


# --------------------------------------------------------------------------- models of transformers


def keeps_a_state(model: Any) -> bool:
    """Whether a model's past is a state of its own, and no keys and values."""
    return getattr(model, "_is_stateful", False)


def generation_settings(model: Any, given: Any) -> Any:
    """Return the settings that a model generates by, where these are given: its own fill in the rest."""
    return model._prepare_generation_config(given)[0]


def default_settings(config: Any) -> dict[str, Any]:
    """Return the values that a generation config leaves to transformers, by name."""
    return config._get_default_generation_params()


def attention_of(model: Any) -> str:
    """Return the name of the attention that a model computes with."""
    return model.config._attn_implementation


def go_around_processors(model: Any, around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Put a function in place of that by which a model makes its logits processors."""
    setattr(model, PROCESSORS, around(getattr(model, PROCESSORS)))


def leave_processors(model: Any) -> None:
    """Undo `go_around_processors`."""
    delattr(model, PROCESSORS)


def has_other_processors(model: Any) -> bool:
    """Whether `go_around_processors` holds for a model."""
    return PROCESSORS in vars(model)
