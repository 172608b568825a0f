"""Chooses and checks TRL's options for an update rule: the right defaults, and a refusal of others.

Options of TRL that would change the objective are refused (`trl_options` lists all), and so are rules
that samples do not allow.
"""

from __future__ import annotations

import copy
import dataclasses
import logging
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import datasets
import torch
from transformers import ProcessorMixin

from entropy_theory.update_rules import UpdateRule
from entropy_theory.update_rules.modifier import length_normalization
from entropy_theory.update_rules.sampler_correction import weighs_sampler
from llm_bridge.data import models
from llm_bridge.forward.evaluation_mode import declared_noise
from llm_bridge.sampling import sampling
from llm_bridge.trainer import run_numbers, trl_options
from llm_bridge.trainer.trl_release import GRPOConfig
from llm_bridge.translation.engine import read
from llm_bridge.translation.trl import OWN_LOSSES, TRL

logger = logging.getLogger(__name__)

OF_SGD = ("momentum", "dampening", "weight_decay", "nesterov")
"""What transformers reads of ``optim_args`` for ``optim="sgd"``."""
OF_TORCH = ("adamw_torch", "adamw_torch_fused", "adafactor", "sgd", "adagrad", "rmsprop")
"""Optimizers of no further package; of ``optim_args`` every release of transformers reads sgd's alone."""


class InertRuleWarning(UserWarning):
    """Warns of a rule that would do nothing under these options, with the remedy."""


def grpo_config(output_dir: str | Path, **options: Any) -> GRPOConfig:
    """Make TRL's options with the defaults that an EntropyTrainer needs; ``options`` replace any.

    By default dropout, half-precision autocast and gradient checkpointing are off, the learning
    rate is constant, and every step is logged. Prompts come in the order given, where TRL shuffles.
    Entropy follows sorted prompts, so a notice is logged unless ``options`` have
    ``shuffle_dataset``.
    """
    defaults: dict[str, Any] = {
        "disable_dropout": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "lr_scheduler_type": "constant",
        "logging_steps": 1,
        "shuffle_dataset": False,
        "report_to": "none",
        "top_p": 1.0,
        "top_k": 0,
        "dataloader_pin_memory": torch.cuda.is_available(),
    }
    config = GRPOConfig(output_dir=str(output_dir), **_named_as_installed({**defaults, **options}))
    if "shuffle_dataset" not in options and config.process_index == 0:
        logger.warning(
            "prompts are taken in the order given, which TRL would shuffle: pass shuffle_dataset=True "
            "where they are sorted (entropy would follow their order), or False where the order is meant")
    return config


def _named_as_installed(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options under the names of the installed transformers, which warns of the older ones."""
    names = {field.name for field in dataclasses.fields(GRPOConfig)}
    renamed = {old: new for old, new in trl_options.RENAMED.items()
               if new in names and new not in options}
    return {renamed.get(name, name): value for name, value in options.items()}


def check_config(args: Any, rule: UpdateRule | None = None) -> None:
    """Raise ValueError for options under which the loss or the samples would not be the rule's.

    Args:
        args: TRL's options.
        rule: the update rule; with None the options of the objective are not looked at.
    """
    trl_options.check_refused(args)
    if not 0 < args.temperature < float("inf"):
        raise ValueError(f"temperature must be above 0 and finite, got {args.temperature}")
    run_numbers.check_learning_rate(args.learning_rate, args.max_grad_norm)
    if rule is not None:
        _check_objective(args, rule)
    _check_steps_are_whole(args)
    splits, accumulated = args.steps_per_generation, args.gradient_accumulation_steps
    if splits % accumulated:
        raise ValueError(
            f"steps_per_generation ({splits}) must be a multiple of gradient_accumulation_steps "
            f"({accumulated}): a rule must see all rows of an optimizer step at once"
        )
    reused = splits // accumulated * args.num_iterations
    if reused == 1 or args.save_strategy == "no":
        return
    if args.save_strategy != "steps" or args.save_steps < 1 or args.save_steps % reused:
        raise ValueError(
            f"save_steps ({args.save_steps}, save_strategy {str(args.save_strategy)!r}) must be a "
            f"multiple of the {reused} optimizer steps that share one generation: a run resumed "
            "between them would not continue exactly"
        )


def _check_steps_are_whole(args: Any) -> None:
    """Raise ValueError where an optimizer step would not be all rows of one, or not come after them."""
    optimizer = str(getattr(args.optim, "value", args.optim))
    if "lomo" in optimizer or optimizer.endswith("layerwise"):
        raise ValueError(
            f"optim={optimizer!r} steps inside the backward pass, before a step's gradient is whole: "
            "give adamw_torch or sgd")
    own = optimizer in OF_TORCH
    for text in (args.optim_args or "").split(","):
        name = text.partition("=")[0].strip()
        if name and own and (optimizer != "sgd" or name not in OF_SGD):
            raise ValueError(
                f"optim_args {name!r} with optim={optimizer!r}, which transformers would ignore "
                f"in silence: sgd takes {', '.join(OF_SGD)}, and AdamW has options of its own, "
                "such as adam_beta1")
    if args.optim_target_modules is not None and not optimizer.startswith(("galore", "apollo")):
        raise ValueError(
            f"optim_target_modules with optim={optimizer!r}, which transformers would ignore in "
            "silence, as it belongs to GaLore and APOLLO: leave it out")
    if getattr(args.parallelism_config, "tp_size", 1) > 1:
        raise ValueError(
            f"parallelism_config has tp_size {args.parallelism_config.tp_size}: ranks that share a row "
            "would each count it. Shard by FSDP or DeepSpeed instead")
    config = args.accelerator_config
    for name, why in (
        ("split_batches", "deals a rank fewer rows than a rule's group and sequence numbers count"),
        ("dispatch_batches", "sends batches as tensors, and prompts are texts"),
    ):
        if getattr(config, name):
            raise ValueError(f"accelerator_config {name}=True {why}: leave it out")
    steps = (config.gradient_accumulation_kwargs or {}).get("num_steps", args.gradient_accumulation_steps)
    if steps != args.gradient_accumulation_steps:
        raise ValueError(
            f"accelerator_config num_steps={steps} would change gradient_accumulation_steps "
            f"({args.gradient_accumulation_steps}) after the rows of a step are counted: set that option")


def _check_objective(args: Any, rule: UpdateRule) -> None:
    """Raise ValueError for an option of the objective that is set, and to something else than the rule.

    An option at TRL's default asks for nothing.
    """
    if args.use_vllm and args.vllm_importance_sampling_correction and weighs_sampler(rule):
        raise ValueError(
            f"'{rule.name}' corrects for the sampler by itself, and TRL's factor would come on top: set "
            "vllm_importance_sampling_correction=False")
    defaults = {field.name: field.default for field in dataclasses.fields(args)}
    asked = {
        name: getattr(args, name) for name, option in trl_options.OPTIONS.items()
        if option.fate == trl_options.TRANSLATED and getattr(args, name) != defaults[name]
    }
    if not args.beta:
        asked.pop("use_bias_correction_kl", None)
    normalization = TRL.normalization.of[args.loss_type,][0]
    if args.loss_type not in OWN_LOSSES and normalization == length_normalization(rule)[0]:
        asked.pop("loss_type", None)
    if asked and from_trl(args) != rule:
        name, value = next(iter(asked.items()))
        raise ValueError(
            f"option {name}={value!r} contradicts the update rule '{rule.name}', which decides "
            f"the objective: leave it at {defaults[name]!r} and use the rule's own options, or "
            "give rule=from_trl(args), the rule that TRL's options describe")


def without_penalty(args: Any) -> Any:
    """Return the options without ``beta``, for which TRL would load a reference that the rule has, and
    without ``sync_ref_model``, which needs TRL's."""
    if not (args.beta or args.sync_ref_model):
        return args
    found = copy.copy(args)
    found.beta, found.sync_ref_model = 0.0, False
    return found


def check_samples_and_loss(trainer: Any) -> None:
    """Tell, once for all ranks, what acts otherwise than in TRL.

    Raises:
        ValueError: images without a processor, prompts too long for the model, weights in float16,
            float16 or 4-bit layers on a CPU, or a model that rescales itself.
    """
    for weight in trainer.model.parameters():
        if weight.requires_grad:
            run_numbers.check_trained_format(str(weight.dtype).removeprefix("torch."))
    if trainer.args.fp16 and trainer.accelerator.device.type == "cpu":
        # accelerate asks for a GPU nowhere: it makes neither autocast nor a loss scale, and says nothing.
        raise ValueError(
            "fp16=True on a CPU would train without a loss scale, and under data parallelism in the "
            "model's own format: set bf16=True, or fp16=False")
    if trainer.accelerator.device.type == "cpu" and any(
        getattr(weight, "quant_state", None) is not None for weight in trainer.model.parameters()
    ):
        # Packed for sampling (AVX512-BF16), their product has no gradient; nothing unpacks them to train.
        raise ValueError(
            "4-bit layers of bitsandbytes lose their gradient on a CPU once they have sampled: load in 8 "
            "bits (load_in_8bit=True), or train on a GPU")
    if getattr(trainer.model.config, "rescale_every", 0):
        raise ValueError(
            f"rescale_every={trainer.model.config.rescale_every} would divide RWKV's weights in "
            "place and save them so, since models train in evaluation mode here: set it to 0 in "
            "the model's config")
    if isinstance(trainer.train_dataset, datasets.Dataset) and not isinstance(
        trainer.train_dataset.features.get("prompt"), datasets.Value
    ):
        check_images(trainer, trainer.train_dataset)  # messages, any of which may hold one
    elif isinstance(trainer.train_dataset, datasets.Dataset):
        prompts = list(dict.fromkeys(trainer.train_dataset["prompt"]))
        sampling.check_room(
            trainer.model, models.tokenizer_of(trainer), prompts, longest_completion(trainer))
    if not trainer.accelerator.is_main_process:
        return
    noise = declared_noise(trainer.model)
    if noise and not trainer.args.disable_dropout:
        logger.warning(
            "noise of training (%s) is switched off: completions are drawn without it, and ratios and "
            "entropies are those of the policy that draws; disable_dropout=True says so",
            ", ".join(f"{name}={rate:.3g}" for name, rate in noise.items()))
    if trainer.args.mask_truncated_completions:
        logger.warning(
            "mask_truncated_completions: completions that are cut off leave the baseline of their group "
            "and the number of sequences as well, where TRL keeps them in both (docs/departures.md)")


def longest_completion(trainer: Any) -> int:
    """The most tokens of a completion; 0 where there is no limit but the model's own."""
    return trainer.max_completion_length or 0


def check_images(trainer: Any, examples: Iterable[dict[str, Any]]) -> None:
    """Raise ValueError for images beside a tokenizer, which would spell them out or leave them away."""
    if isinstance(trainer.processing_class, ProcessorMixin):
        return
    for example in examples:
        prompt = example.get("prompt")
        messages = [message.get("content") for message in prompt] if isinstance(prompt, list) else []
        if any(example.get(name) for name in ("image", "images")) or any(
            part.get("type") not in (None, "text")
            for parts in messages if isinstance(parts, list) for part in parts
        ):
            raise ValueError(
                "processing_class is a tokenizer, and a prompt of train_dataset has an image "
                f"({str(example)[:200]}): give the model's processor, or train on text alone")


def check_rule(rule: UpdateRule) -> None:
    """Raise ValueError for an object that is not a rule, or a rule in expectation over groups or
    all actions.

    Rows are samples here: the expectation belongs to states listed exactly, and would replace the
    rule's estimate by another.
    """
    if not isinstance(rule, UpdateRule):
        raise ValueError(
            f"rule must be an UpdateRule, such as update_rules.get('aepo', target=0.5), got {rule!r}")
    if rule.needs.listing:
        raise ValueError(f"a language model's answers are samples: {rule.needs.listing}")


def warn_of_inertness(trainer: Any) -> None:
    """Warn, once for all ranks, of options under which the rule does nothing (InertRuleWarning)."""
    args, longest = trainer.args, trainer.args.max_completion_length
    rows = args.per_device_train_batch_size * args.steps_per_generation
    found = trainer.rule.warnings(
        on_policy=trainer.steps_per_batch * args.num_iterations == 1,
        # At most: a rule that is inert with so many tokens is inert.
        tokens=rows * trainer.accelerator.num_processes * longest if longest else None,
        actions=getattr(trainer.model.config.get_text_config(), "vocab_size", None),
    )
    if trainer.accelerator.is_main_process:
        for message in found:
            warnings.warn(message, InertRuleWarning, stacklevel=4)


def from_trl(args: Any) -> UpdateRule:
    """Return the update rule whose step is that of TRL's loss under these options.

    docs/departures.md lists where the two differ, and by how much. The rule does not contain the
    correction of vLLM's probabilities, which the trainer makes, as TRL does.

    Args:
        args: a GRPOConfig. It may go with the rule: ``EntropyTrainer(..., args, rule=from_trl(args))``.

    Raises:
        ValueError: an option that no rule expresses.
    """
    given = {name: getattr(args, name) for name in TRL.defaults if hasattr(args, name)}
    read(TRL, given)  # What the correction does not go with is refused.
    return read(TRL, {**given, "vllm_importance_sampling_correction": False}).rule
