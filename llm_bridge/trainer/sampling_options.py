"""Checks options of sampling: what is not drawn from pi^T is told, groups are whole, no rank waits."""

from __future__ import annotations

import logging
from typing import Any

import torch

from entropy_theory.update_rules.rule import second_batch_options
from entropy_theory.update_rules.sampler_correction import weighs_sampler
from llm_bridge.data.generation_settings import BY_TOKEN, PLAIN_SAMPLING, settings_that_bend
from llm_bridge.data.private_names import generation_settings
from llm_bridge.sampling import logits_processors

logger = logging.getLogger(__name__)

HARMLESS_IN_VLLM = (
    "stop", "stop_token_ids", "include_stop_str_in_output", "detokenize", "skip_special_tokens",
    "spaces_between_special_tokens",
)
"""What ``generation_kwargs`` may ask of vLLM beside the neutral values of `PLAIN_SAMPLING`: they are its
last word, over the temperature of a second batch as well."""
BY_TOKEN_IN_VLLM = BY_TOKEN | {
    "presence_penalty", "frequency_penalty", "min_tokens", "logit_bias", "allowed_token_ids", "bad_words",
    "structured_outputs"}
"""What makes another distribution of each next token's there."""


def check_sampling(trainer: Any) -> None:
    """Warn once of options that bend the samples away from pi^T, as TRL allows; raise as `bent_by_token`.

    TRL scores and trains the whole softmax whatever its samples are cut to, and so does this
    trainer. The ratio to what tokens were drawn from weighs them under a rule of its own
    (`weighs_sampler`), or with vLLM under TRL's correction.
    """
    bent = bent_by_token(trainer)
    if bent and trainer.accelerator.is_main_process:
        weights = (
            f"'{trainer.rule.name}' weighs each token by what it was drawn from, up to its bounds"
            if weighs_sampler(trainer.rule)
            else "TRL weighs each token by what vLLM drew it from, up to its bounds"
            if trainer.use_vllm and trainer.vllm_importance_sampling_correction
            else "The step's gradient is not that of its mean reward: wrap the rule in "
                 "'sampler-correction', which weighs each token by what it was drawn from")
        logger.warning(
            "samples are not drawn from the policy that is trained (%s). As in TRL, log-probs, "
            "entropies, forecasts and accounts are those of the whole softmax(logits / T). %s "
            "(docs/departures.md)",
            ", ".join(f"{name}={value!r}" for name, value in bent.items()), weights)


def bent_by_token(trainer: Any) -> dict[str, Any]:
    """Return the settings that cut or bend the distribution of each next token, by name.

    Generation fills whatever a configuration leaves unset from the checkpoint's own.

    Raises:
        ValueError: one that does more: searches, stops by the clock, draws other numbers of rows, or is
            the last word on the temperature.
    """
    args = trainer.args
    given = args.generation_kwargs or {}
    if trainer.use_vllm:
        asked = {name: getattr(args, name) for name in ("top_k", "top_p", "min_p", "repetition_penalty")}
        if args.vllm_structured_outputs_regex is not None:
            asked["vllm_structured_outputs_regex"] = args.vllm_structured_outputs_regex
        asked |= {name: value for name, value in given.items() if name not in HARMLESS_IN_VLLM}
        bent = {name: value for name, value in asked.items()
                if value not in PLAIN_SAMPLING.get(name, (None,))}
        for name, value in given.items():
            if name == "temperature" or name not in (
                *PLAIN_SAMPLING, *BY_TOKEN_IN_VLLM, *HARMLESS_IN_VLLM
            ):
                raise ValueError(
                    f"generation_kwargs[{name!r}]={value!r} would override what the rule and its "
                    "second batch set for vLLM: leave it out (for a temperature there is the "
                    "option temperature)")
        known = BY_TOKEN_IN_VLLM | {"vllm_structured_outputs_regex"}
    else:
        config = generation_settings(trainer.model, trainer.generation_config)
        bent, known = settings_that_bend(config), BY_TOKEN
        bent.pop("temperature", None)
        if config.temperature != trainer.temperature:
            raise ValueError(
                f"generation_kwargs['temperature']={given.get('temperature')!r} is not the policy's, "
                f"{trainer.temperature}: leave it out, and set the option temperature")
    for name in bent.keys() - known:
        raise ValueError(
            f"generation setting {name}={bent[name]!r} does not draw token by token from the policy, or "
            f"cuts completions off: set it to {PLAIN_SAMPLING.get(name, (None,))[0]!r} in the model's "
            "generation_config")
    return bent


def check_continuous_batching(trainer: Any) -> None:
    """Raise ValueError where continuous batching would round the weights, hang, or repeat its draws.

    TRL casts the model before it samples (``GRPOTrainer._generate_single_turn``); transformers
    seeds torch by the sampler's options at every generation.
    """
    args = trainer.args
    if not args.use_transformers_continuous_batching:
        return
    without = "or leave out use_transformers_continuous_batching"
    dtype = torch.bfloat16 if args.bf16 else torch.float16 if args.fp16 else None
    if dtype and any(weight.dtype != dtype for weight in trainer.model.parameters()):
        option = "bf16" if args.bf16 else "fp16"
        raise ValueError(
            f"use_transformers_continuous_batching with {option}=True: TRL would round the weights that "
            f"are trained to {dtype} before it samples, in place and for good. Set {option}=False, "
            f"{without}")
    plugin = trainer.accelerator.state.deepspeed_plugin
    shards = "FSDP" if trainer.is_fsdp_enabled else (
        "ds3_gather_for_generation=False" if plugin is not None and plugin.zero_stage == 3
        and not args.ds3_gather_for_generation else None)
    if shards:
        raise ValueError(
            f"use_transformers_continuous_batching under {shards} would hang: each call gathers "
            "weights from all ranks, and each rank calls as often as its own completions need. "
            f"Keep weights whole (data parallelism), {without}")
    seed = (args.transformers_continuous_batching_config or {}).get("seed")
    if seed is not None:
        raise ValueError(
            f"transformers_continuous_batching_config['seed']={seed!r} would draw every generation of "
            "the run with the same random numbers: leave it out (the option seed makes runs repeatable)")


def check_tools(trainer: Any) -> None:
    """Raise ValueError where ranks sample together, and would wait for the one whose tools are called.

    A rank turns to the sampler again as often as its own completions call tools
    (``GRPOTrainer._tool_call_loop``).
    """
    args, plugin = trainer.args, trainer.accelerator.state.deepspeed_plugin
    if not trainer.tools or trainer.accelerator.num_processes == 1:
        return
    shared = (
        "under FSDP" if trainer.is_fsdp_enabled
        else "under ZeRO-3" if plugin is not None and plugin.zero_stage == 3
        else None if not trainer.use_vllm
        else "with a vLLM server" if args.vllm_mode == "server"
        else "with vllm_tensor_parallel_size" if args.vllm_tensor_parallel_size > 1
        else None)
    if shared:
        raise ValueError(
            f"tools {shared} would hang: all ranks sample together, but each samples again "
            "whenever its own completions call a tool. Keep weights whole (data parallelism) and "
            "give each rank its own sampler, or leave out tools")


def samples_plainly(trainer: Any) -> bool:
    """Whether generation, as set now, draws from pi^T and ends at the stop tokens, and no more."""
    if trainer.args.generation_kwargs or trainer.args.cache_implementation:
        return False
    stops = generation_settings(trainer.model, trainer.generation_config).eos_token_id
    stops = stops if isinstance(stops, (list, tuple)) else [stops]
    return set(stops) == set(trainer.eos_token_ids) and not is_bent(trainer)


def is_bent(trainer: Any) -> bool:
    """Whether generation without vLLM, as set now, draws tokens from something else than pi^T."""
    config = generation_settings(trainer.model, trainer.generation_config)
    return (bool(settings_that_bend(config).keys() - {"temperature"})
            or logits_processors.in_use(trainer.generating_model))


def check_resampling(trainer: Any) -> None:
    """Raise ValueError where dynamic sampling would cut a group, or has no prompts to draw from."""
    rounds, size = trainer.resampling_rounds, trainer.num_generations
    if not isinstance(rounds, int) or rounds < 0:
        raise ValueError(f"resampling_rounds must be an integer of at least 0, got {rounds!r}")
    rows = trainer.args.per_device_train_batch_size * trainer.args.steps_per_generation
    if rounds and rows % size:
        raise ValueError(
            f"resampling_rounds {rounds} needs whole prompts on every rank: make "
            f"per_device_train_batch_size x steps_per_generation ({rows}) a multiple of "
            f"num_generations ({size})"
        )
    if rounds and not hasattr(trainer.train_dataset, "__len__"):
        raise ValueError("resampling_rounds draws prompts at random: give a train_dataset with a "
                         "length, not a stream")


def check_second_batch(trainer: Any) -> None:
    """Raise ValueError for an option of the rule's target that the sampler in use does not have."""
    batched = trainer.args.use_transformers_continuous_batching
    sampler = trainer.vllm_generation if trainer.use_vllm else trainer.generation_config
    for name, value in second_batch_options(trainer.rule).items():
        if name == "logits_processor":
            if not isinstance(value, (list, tuple)) or not all(map(callable, value)):
                raise ValueError(f"logits_processor of a target must be a list, got {value!r}")
            known = not (trainer.use_vllm or batched)
        else:
            # Of all others, transformers says that it drops them, and samples without.
            known = hasattr(sampler, name) and (not batched or name in ("top_k", "top_p"))
            if trainer.use_vllm and name in (trainer.args.generation_kwargs or {}):
                raise ValueError(
                    f"generation_kwargs[{name!r}] would override the target of update rule "
                    f"'{trainer.rule.name}', which samples with {name}: leave it out")
        if not known:
            kind = "continuous batching" if batched else type(sampler).__name__
            raise ValueError(
                f"the target of update rule '{trainer.rule.name}' samples with {name}, which "
                f"{kind} does not have: choose another target, or plain generation "
                "(use_vllm=False, use_transformers_continuous_batching=False)"
            )
