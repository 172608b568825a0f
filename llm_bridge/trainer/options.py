"""Chooses and checks TRL's options for an update rule: the right defaults, and a refusal of others.

Options of TRL that would change the objective or the sampling distribution are refused (`trl_options`
lists all), and so are rules that samples do not allow.
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

from entropy_theory import update_rules
from entropy_theory.support.user_errors import check_choice
from entropy_theory.update_rules import UpdateRule
from entropy_theory.update_rules.modifier import length_normalization
from llm_bridge.data import models
from llm_bridge.forward.evaluation_mode import declared_noise
from llm_bridge.sampling import sampling
from llm_bridge.trainer import run_numbers, trl_options
from llm_bridge.trainer.trl_release import GRPOConfig

logger = logging.getLogger(__name__)

OF_SGD = ("momentum", "dampening", "weight_decay", "nesterov")
"""What transformers reads of ``optim_args`` for ``optim="sgd"``."""


class InertRuleWarning(UserWarning):
    """Warns of a rule that would do nothing under these options, with the remedy."""


def grpo_config(output_dir: str | Path, **options: Any) -> GRPOConfig:
    """Make TRL's options with the defaults that an EntropyTrainer needs; ``options`` replace any.

    The defaults are no dropout, no half-precision autocast, no gradient checkpointing, a constant
    learning rate, every step logged, and prompts in the order given, of which a notice is logged where
    ``options`` do not say ``shuffle_dataset``: TRL shuffles, and entropy follows sorted prompts.
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
    for text in (args.optim_args or "").split(","):
        name = text.partition("=")[0].strip()
        if not name:
            continue
        if optimizer != "sgd" or name not in OF_SGD:
            raise ValueError(
                f"optim_args {name!r} with optim={optimizer!r}: transformers would leave it out in "
                f"silence, or give it to an optimizer that no test here has run; sgd takes "
                f"{', '.join(OF_SGD)}, and AdamW has options of its own (adam_beta1 ...)")
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
    defaults = {field.name: field.default for field in dataclasses.fields(args)}
    asked = {
        name: getattr(args, name) for name, option in trl_options.OPTIONS.items()
        if option.fate == trl_options.TRANSLATED and getattr(args, name) != defaults[name]
    }
    if not args.beta:
        asked.pop("use_bias_correction_kl", None)
    if NORMALIZATIONS.get(asked.get("loss_type", "")) == length_normalization(rule)[0]:
        asked.pop("loss_type")
    if asked and from_trl(args) != rule:
        name, value = next(iter(asked.items()))
        raise ValueError(
            f"option {name}={value!r} belongs to the objective, which here is the update rule's, and "
            f"'{rule.name}' says something else: leave it at {defaults[name]!r} and use the rule's own "
            "options, or give rule=from_trl(args), the rule that TRL's options describe")


def without_penalty(args: Any) -> Any:
    """Return the options without ``beta``, for which TRL would load a reference that the rule has."""
    if not args.beta:
        return args
    found = copy.copy(args)
    found.beta = 0.0
    return found


def check_samples_and_loss(trainer: Any) -> None:
    """Tell, once for all ranks, what acts otherwise than in TRL.

    Raises:
        ValueError: prompts with images or too long for the model, weights in float16, float16 or 4-bit
            layers on a CPU, or a model that rescales itself.
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
    if trainer.aux_loss_enabled:
        raise ValueError("set router_aux_loss_coef=0: the router's loss is no part of the rule")
    if getattr(trainer.model.config, "rescale_every", 0):
        raise ValueError(
            f"rescale_every={trainer.model.config.rescale_every}: in evaluation mode, in which models "
            "train here, RWKV divides its weights in place, and would be saved with them: set it to 0 in "
            "the model's config")
    columns = getattr(trainer.train_dataset, "column_names", None) or ()
    for name in ("image", "images"):
        if name in columns:
            raise ValueError(
                f"prompts with images are not supported, and train_dataset has a column '{name}': train "
                "on text, or remove it")
    if isinstance(trainer.train_dataset, datasets.Dataset) and not isinstance(
        trainer.train_dataset.features.get("prompt"), datasets.Value
    ):
        check_text(trainer.train_dataset)  # messages, any of which may hold an image
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


def check_text(examples: Iterable[dict[str, Any]]) -> None:
    """Raise ValueError for a prompt whose messages hold an image, which a tokenizer would spell out."""
    for example in examples:
        prompt = example.get("prompt")
        for message in prompt if isinstance(prompt, list) else ():
            parts = message.get("content")
            if isinstance(parts, list) and any(part.get("type") not in (None, "text") for part in parts):
                raise ValueError(
                    "prompts with images are not supported, and a message of train_dataset has one "
                    f"({str(message)[:200]}): train on text, or leave its other parts out")


def check_rule(rule: UpdateRule) -> None:
    """Raise ValueError for what is no rule, or one that takes an expectation over groups or all actions.

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


NORMALIZATIONS = {
    "grpo": "sequence-mean", "dapo": "token-mean", "bnpo": "token-mean", "dr_grpo": "dr-grpo",
    "luspo": "dr-grpo",
}
"""The normalization of each ``loss_type`` that is a rule's. bnpo averages over the tokens of a
micro-batch in TRL, over those of the whole step here; luspo sums over the tokens of a sequence, which is
to divide by a length of 1."""
ESTIMATORS = {"group": "group-normalized", "none": "group-centered"}


def from_trl(args: Any) -> UpdateRule:
    """Return the update rule whose step is that of TRL's loss under these options.

    docs/departures.md says where the two differ, and by how much.

    Args:
        args: a GRPOConfig. It may go with the rule: ``EntropyTrainer(..., args, rule=from_trl(args))``.

    Raises:
        ValueError: an option that no rule expresses.
    """
    check_choice(args.loss_type, NORMALIZATIONS, "loss_type that a rule expresses,")
    check_choice(args.scale_rewards, ESTIMATORS, "scale_rewards that a rule expresses,")
    check_choice(
        args.importance_sampling_level, ("token", "sequence"), "importance_sampling_level")
    high = args.epsilon if args.epsilon_high is None else args.epsilon_high
    if args.delta is not None and args.delta < 1 + high:
        raise ValueError(
            f"delta={args.delta} is below the upper clip 1 + {high}, where TRL clips rising tokens by it "
            "too, which no rule does: raise it, or lower epsilon_high")
    by_sequence = args.importance_sampling_level == "sequence"
    if by_sequence and args.beta and args.use_bias_correction_kl:
        raise ValueError(
            "use_bias_correction_kl with importance_sampling_level='sequence' weighs each token's KL by "
            "the ratio of its sequence, which no rule does: set use_bias_correction_kl=False")
    rule = update_rules.get(
        "gspo" if by_sequence else "grpo", clip_low=args.epsilon, clip_high=high, dual_clip=args.delta,
        normalization=NORMALIZATIONS[args.loss_type], estimator=ESTIMATORS[args.scale_rewards],
        std_ddof=int(args.scale_rewards == "group"),
        max_length={"dr_grpo": args.max_completion_length, "luspo": 1}.get(args.loss_type),
    )
    if args.beta:
        estimator = "k3-corrected" if args.use_bias_correction_kl else "k3"
        rule = update_rules.get(
            "reference-kl", base=rule, coefficient=args.beta, estimator=estimator)
    if args.entropy_coef:
        rule = update_rules.get(
            "entropy-bonus", base=rule, coefficient=args.entropy_coef, normalization="token-mean")
    return rule
