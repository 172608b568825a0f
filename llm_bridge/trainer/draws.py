"""Controls TRL's sampling: the policy that it samples, the number of rows, and what reaches its log."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from accelerate.utils import set_seed

from entropy_theory.update_rules.rule import second_batch_options
from llm_bridge.data import models
from llm_bridge.forward import evaluation_mode
from llm_bridge.running.sharding import is_sharded
from llm_bridge.sampling import logits_processors
from llm_bridge.sampling.group_sampling import sample_groups
from llm_bridge.trainer.sampling_options import is_bent, samples_plainly
from llm_bridge.trainer.trl_release import check_end_tokens, unwrapped_for_generation


def plain_groups(trainer: Any, prompt_ids: Any, images: Any, multimodal_fields: Any) -> Any | None:
    """Draw samples that read each prompt once for its group; None where TRL has to draw them.

    TRL has to draw unless weights are whole and samples plain: text, from the model itself, at a
    temperature and no more (`samples_plainly`).
    """
    longest = trainer.max_completion_length
    if (
        not trainer.model.training
        or longest is None
        or trainer.use_vllm
        or trainer.use_transformers_continuous_batching
        or images
        or multimodal_fields
        or is_sharded(trainer.accelerator, trainer.model)
        or not samples_plainly(trainer)
    ):
        return None
    with unwrapped_for_generation(trainer) as model:
        log_prob: list[list[float]] | None = [] if trainer.same_policy.looks_at_draws else None
        with evaluation_mode.watched([] if log_prob is None else list(model.modules())) as seen:
            found = sample_groups(
                model, prompt_ids, stop_ids=trainer.eos_token_ids, max_new_tokens=longest,
                temperature=trainer.generation_config.temperature, log_prob=log_prob,
            )
    if found is not None and log_prob is not None:
        trainer.same_policy.check_drawn(prompt_ids, found, log_prob, seen.drawing)
    return found


def with_log_probs(trainer: Any, draw: Callable[[], Any]) -> Any:
    """Draw as TRL does; return completions and what their tokens were drawn with, as from vLLM.

    Log-probabilities are recorded where the rule reads them and `is_bent` holds. Otherwise they are None,
    which stands for the policy's own. A second batch has none: a correction would undo its temperature.
    """
    asked = trainer.records_draws and trainer.model.training and not trainer.use_vllm
    if not asked or not is_bent(trainer):
        return draw()
    model = trainer.generating_model
    if trainer.use_transformers_continuous_batching:
        with _returning_log_probs(model, trainer.continuous_batching_config) as outputs:
            completions, _ = draw()
        return completions, _log_probs(outputs, completions)
    with logits_processors.recorded(model) as recorder:
        completions, _ = draw()
    return completions, recorder.of(completions)


@contextlib.contextmanager
def _returning_log_probs(model: Any, config: Any) -> Iterator[list[Any]]:
    """Let continuous batching return log-probabilities, and yield a list for its outputs."""
    outputs: list[Any] = []
    generate, returned = model.generate_batch, config.return_logprobs

    def keeping(*arguments: Any, **options: Any) -> Any:
        found = generate(*arguments, **options)
        outputs.extend(found.values())
        return found

    model.generate_batch, config.return_logprobs = keeping, True
    try:
        yield outputs
    finally:
        del model.generate_batch
        config.return_logprobs = returned


def _log_probs(outputs: Sequence[Any], completions: Sequence[Sequence[int]]) -> list[list[float]]:
    found = [list(output.logprobs) for output in outputs]
    if list(map(len, found)) != list(map(len, completions)):
        raise ValueError(
            "continuous batching must return a log-probability for each token: got "
            f"{sum(map(len, found))} for {sum(map(len, completions))} tokens. Set "
            "use_transformers_continuous_batching=False")
    return found


def set_end_tokens(trainer: Any, stop: str | None) -> None:
    """Let all samplers, and all that tells completed from cut off, know all end tokens of the model.

    TRL leaves out what the model's config alone declares, and hands none to vLLM.

    Args:
        stop: completions also end after the first token whose text contains this.
    """
    given = trainer.args.generation_kwargs or {}
    name = "stop_token_ids" if trainer.use_vllm else "eos_token_id"
    own = given.get(name) or []
    found = models.stop_token_ids(trainer.generating_model, models.tokenizer_of(trainer), stop)
    found = list(dict.fromkeys([*found, *(own if isinstance(own, (list, tuple)) else [own])]))
    check_end_tokens(found)
    trainer.eos_token_ids = found
    if trainer.use_vllm:
        trainer.vllm_generation.generation_kwargs[name] = found
    else:
        trainer.generation_config.eos_token_id = trainer.generation_kwargs[name] = found


def seed_sampler(trainer: Any) -> None:
    """Seed the random numbers of a vLLM engine in this process as TRL seeds those of other samplers.

    TRL seeds them before the engine is made, which then seeds them again with the number of the rank: all
    seeds would draw the same completions. Ranks that share an engine draw the same.
    """
    args = trainer.args
    if trainer.use_vllm and args.vllm_mode == "colocate":
        set_seed(args.seed + trainer.accelerator.process_index // args.vllm_tensor_parallel_size)


@contextlib.contextmanager
def handing_over() -> Iterator[None]:
    """Say what is wrong where vLLM cannot take new weights, in place of an attribute that it lacks.

    Raises:
        ValueError: an engine that has packed its linear layers, as vLLM's engine for CPUs does.
    """
    try:
        yield
    except AttributeError as error:
        if "weight_loader" not in str(error):
            raise
        raise ValueError(
            "vLLM cannot load the trained weights, since its engine for CPUs packs linear layers "
            "and drops their loaders. Train without use_vllm, or on a GPU"
        ) from error


def count_tempered_rows(fraction: float, *, rows: int, splits: int, group_size: int) -> int:
    """Count the rows of a rank that are sampled a second time: whole prompts, evenly split.

    Args:
        fraction: share of the prompts, in (0, 1].
        rows: number of rows in a rank's share of a generation.
        splits: number of parts into which a generation is cut.
        group_size: number of completions of a prompt.

    Raises:
        ValueError: a fraction below 1 where a rank's rows do not hold whole prompts.
    """
    if fraction == 1:
        return rows
    if rows % group_size:
        raise ValueError(
            f"tempered_fraction {fraction} needs whole prompts on every rank: make "
            f"per_device_train_batch_size x steps_per_generation ({rows}) a multiple of "
            f"num_generations ({group_size})"
        )
    wanted = math.ceil(fraction * rows / group_size)
    counts = (n * group_size for n in range(wanted, rows // group_size + 1))
    return next(count for count in counts if count % splits == 0)


@contextlib.contextmanager
def sampling_at(trainer: Any, temperature: float) -> Iterator[None]:
    """Sample the rule's target; scores stay those of the policy, and nothing for a correction is kept.

    Args:
        trainer: the trainer, whose ``temperature`` is that of the policy's logits.
        temperature: of the target, on top of that.
    """
    sampler = trainer.vllm_generation if trainer.use_vllm else trainer.generation_config
    options = {
        **second_batch_options(trainer.rule), "temperature": temperature * trainer.temperature}
    processors = options.pop("logits_processor", ())
    before = {name: getattr(sampler, name) for name in options}
    corrects = trainer.vllm_importance_sampling_correction
    records = trainer.records_draws
    trainer.vllm_importance_sampling_correction = trainer.records_draws = False
    try:
        for name, value in options.items():
            setattr(sampler, name, value)
        with logits_processors.applied(trainer.generating_model, processors):
            yield
    finally:
        for name, value in before.items():
            setattr(sampler, name, value)
        trainer.vllm_importance_sampling_correction = corrects
        trainer.records_draws = records
