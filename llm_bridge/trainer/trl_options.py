"""Lists every option of TRL's GRPOConfig with its effect in an EntropyTrainer.

::

    python -m llm_bridge.trainer.trl_options > docs/trl_options.md

prints the table for the installed TRL. Options refused here are refused at run time, from this
list. An option that is not in the list is named in a warning, and refused unless it has its default
value.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import warnings
from dataclasses import dataclass
from typing import Any

logger = logging.getLogger(__name__)

SUPPORTED, PASSED_ON, TRANSLATED, DEPARTS, REFUSED, WITHOUT_EFFECT = (
    "supported", "passed on", "translated", "departs", "refused", "without effect")
MEANING = {
    SUPPORTED: "does what TRL documents; code or tests here know of it",
    PASSED_ON: "TRL, transformers or accelerate act on it; nothing here reads it or tests it, for the "
               "reason given",
    TRANSLATED: "belongs to the objective: `from_trl(args)` makes the update rule of it. Beside "
                "another rule leave it at TRL's default, or at the value that describes that rule",
    DEPARTS: "acts, but otherwise than in TRL, as the note says",
    REFUSED: "an error, with this reason, unless it has one of the values given",
    WITHOUT_EFFECT: "nothing reads it, here or in TRL, under the options that are accepted",
}
"""What may become of an option."""
LINKED_TERMS = ("update rule", "second batch", "entropy bonus")
"""Terms of the glossary that the page links where it first uses them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """What becomes of an option of TRL."""

    fate: str
    """One of `MEANING`."""
    note: str = ""
    """For a refused option the reason; else what there is to know."""
    allowed: tuple[Any, ...] = ()
    """The values of a refused option that are accepted."""

    free: bool = False
    """Whether a resumed run may have another value: each optimizer step is the same, up to rounding."""


def _all(fate: str, names: str, note: str = "", *, free: bool = False) -> dict[str, Option]:
    free = free or fate == WITHOUT_EFFECT
    return {name: Option(fate=fate, note=note, free=free) for name in names.split()}


def _same(names: str) -> dict[str, Option]:
    return _all(SUPPORTED, names, "a step is the same with it", free=True)


def _refused(reason: str, **allowed: tuple[Any, ...]) -> dict[str, Option]:
    return {name: Option(fate=REFUSED, note=reason, allowed=values)
            for name, values in allowed.items()}


_GENERATION = (
    "optimizer steps that share a generation see all its rows: steps_per_generation is a multiple of "
    "gradient_accumulation_steps")
OPTIONS: dict[str, Option] = {
    # ------------------------------------------------------------------------------- the objective
    **_all(TRANSLATED, "epsilon epsilon_high",
           "the rule's clip_low and clip_high; of cispo epsilon_high alone, the largest ratio itself"),
    **_all(TRANSLATED, "delta", "the rule's dual_clip; refused below 1 + the upper clip, where TRL would "
           "bound the ratios of positive advantages too"),
    **_all(TRANSLATED, "importance_sampling_level", "sequence: the rule gspo; refused beside weights of "
           "single tokens (top_entropy_quantile, vLLM's token modes), which TRL spreads over a sequence"),
    **_all(TRANSLATED, "loss_type",
           "the rule's normalization: grpo sequence-mean, dapo and bnpo token-mean, dr_grpo dr-grpo, "
           "luspo the sum over a sequence's tokens; or the rule cispo, sapo or vespo. TRL's default "
           "cannot be told from no choice: dapo beside another rule leaves that rule's normalization"),
    **_all(TRANSLATED, "scale_rewards",
           "group divides by the standard deviation over G - 1, without TRL's 1e-4, and none is "
           "group-centered. Batch is refused. It divides by the deviation of rewards before they are "
           "centered, so that prompts of unequal difficulty make every step short. "
           "The estimator reinforce++-baseline divides by that of centered rewards"),
    **_all(TRANSLATED, "beta use_bias_correction_kl",
           "the rule reference-kl with estimator k3, or k3-corrected"),
    **_all(TRANSLATED, "entropy_coef", "the rule entropy-bonus, averaged over the tokens of a step"),
    **_all(TRANSLATED, "use_adaptive_entropy entropy_coef_min entropy_coef_max entropy_coef_delta "
           "entropy_target",
           "the rule entropy-bonus with a target: its coefficient acts on the policy whose entropy was "
           "measured, TRL's a step later (docs/departures.md)"),
    **_all(TRANSLATED, "top_entropy_quantile",
           "the rule top-entropy, by a quantile of the whole step; refused beside an entropy bonus, "
           "which TRL then gives to the selected tokens alone"),
    **_all(TRANSLATED, "off_policy_mask_threshold",
           "the rule sampler-correction of kind none with this off_policy_threshold"),
    **_refused(
        "normalizes each reward, and their sum over all prompts of a generation. A rule has its own "
        "normalization, of one reward: combine the rewards in one reward function",
        multi_objective_aggregation=("sum_then_normalize",)),
    **_all(SUPPORTED, "sync_ref_model ref_model_mixup_alpha ref_model_sync_steps",
           "with a rule that has a reference, of whole weights; a checkpoint then holds the reference "
           "too"),
    **_all(SUPPORTED, "router_aux_loss_coef",
           "the load-balancing loss acts as in TRL, on the tokens of each micro-batch, beside the rule; "
           "its part of the account is load_balancing, and forecast (i) leaves it out"),
    **_all(TRANSLATED, "sapo_temperature_neg sapo_temperature_pos", "the rule sapo's tau"),
    **_all(TRANSLATED, "vespo_k_pos vespo_lambda_pos vespo_k_neg vespo_lambda_neg",
           "the rule vespo's powers and decays"),
    **_all(WITHOUT_EFFECT, "label_smoothing_factor average_tokens_across_devices",
           "of transformers' own loss, which GRPO does not have"),
    **_all(SUPPORTED, "reward_weights"),
    **_all(DEPARTS, "mask_truncated_completions",
           "the rows that are masked leave the group's baseline and the number of sequences as well; TRL "
           "keeps them in both (docs/departures.md)"),
    # ---------------------------------------------------------------------------------- the samples
    **_all(SUPPORTED, "temperature",
           "T: the policy is softmax(logits / T), as in TRL; a second batch is drawn at the controller's "
           "temperature times T"),
    **_all(SUPPORTED, "top_p top_k min_p repetition_penalty vllm_structured_outputs_regex",
           "act on the samples alone, as in TRL: log-probs, entropies and forecasts are those of the "
           "whole softmax, which is told at the start. The rule sampler-correction weighs each token by "
           "what it was drawn from, under every sampler (docs/departures.md)"),
    **_all(SUPPORTED, "generation_kwargs",
           "keys that act on each next token's distribution, as top_p, that end a completion, or "
           "that decode it with vLLM. Searches are refused, which do not draw from the policy. So are "
           "limits of time, as lengths then depend on a machine's speed. Numbers of sequences are "
           "refused since TRL takes one completion for each row"),
    **_all(SUPPORTED, "num_generations max_completion_length num_iterations"),
    **_all(SUPPORTED, "steps_per_generation generation_batch_size", _GENERATION, free=True),
    **_all(SUPPORTED, "cache_implementation use_transformers_continuous_batching "
           "transformers_continuous_batching_config",
           "TRL then draws, a prompt once for each sample. Continuous batching would hang with sharded "
           "weights, and is refused. So it is with bf16 or fp16 on weights of another format, which TRL "
           "would round for good, and with a seed of its own, which would repeat the same draws"),
    **_all(SUPPORTED, "use_transformers_paged", "the old name of use_transformers_continuous_batching"),
    **_all(SUPPORTED, "chat_template_kwargs max_tool_calling_iterations"),
    **_same("pad_to_multiple_of"),
    **_all(SUPPORTED, "use_vllm",
           "tested with vLLM's engine for CPUs, colocated; what that cannot do: docs/engines_matrix.md"),
    **_all(SUPPORTED, "vllm_importance_sampling_correction vllm_importance_sampling_mode "
           "vllm_importance_sampling_clip_max vllm_importance_sampling_clip_min",
           "a factor of a token's whole objective, its reference KL included, which TRL leaves without"),
    **_all(SUPPORTED, "vllm_importance_sampling_cap",
           "the old name of vllm_importance_sampling_clip_max"),
    **_all(SUPPORTED, "vllm_gpu_memory_utilization", "tested with vLLM's engine for CPUs", free=True),
    **_all(SUPPORTED, "vllm_max_model_length", "tested with vLLM's engine for CPUs"),
    **_all(SUPPORTED, "vllm_mode", "colocate is tested; a server takes weights on GPUs only"),
    **_all(PASSED_ON, "vllm_server_base_url vllm_server_host vllm_server_port vllm_server_timeout "
           "vllm_group_port", "a server takes weights on GPUs only", free=True),
    **_all(PASSED_ON, "vllm_enable_sleep_mode", "refused by vLLM's engine for CPUs; on a GPU untested",
           free=True),
    **_all(PASSED_ON, "vllm_model_impl vllm_tensor_parallel_size", "vLLM's own, and no test ran it"),
    **_all(PASSED_ON, "ds3_gather_for_generation",
           "False is refused beside continuous batching, and no test ran it"),
    # ------------------------------------------------------------------------------ the forward pass
    **_all(DEPARTS, "disable_dropout",
           "dropout and other noise of training are off either way, with a warning if the option "
           "would keep them. Completions are drawn without noise, and ratios and entropies are "
           "those of the policy that draws"),
    **_refused("trains another policy than the one that draws the completions",
               neftune_noise_alpha=(None, 0, 0.0)),
    **_all(SUPPORTED, "bf16"),
    **_all(SUPPORTED, "use_cpu model_init_kwargs trust_remote_code", free=True),
    **_all(SUPPORTED, "fp16",
           "a step whose scaled gradient overflows is skipped and recorded; refused on a CPU"),
    **_all(SUPPORTED, "gradient_checkpointing gradient_checkpointing_kwargs "
           "activation_checkpointing activation_checkpointing_kwargs",
           "prompts are then read again for each sample", free=True),
    **_all(SUPPORTED, "cast_lm_head_to_fp32", "logits are then held in memory"),
    **_all(PASSED_ON, "use_liger_kernel liger_kernel_config",
           "kernels of layers, for GPUs, that no test here ran; TRL 2 drops them. Without a forward mode "
           "of theirs an account tells tokens apart by differences", free=True),
    **_same("use_cache torch_empty_cache_steps"),
    **_all(SUPPORTED, "torch_compile torch_compile_backend",
           "a step is the same with it, tested with the backend eager", free=True),
    **_same("full_determinism"),
    **_all(PASSED_ON, "tf32", "of GPUs; transformers refuses it without one", free=True),
    **_all(PASSED_ON, "torch_compile_mode", "of the backend inductor, and no test ran it",
           free=True),
    # ------------------------------------------------------------------------------------- the steps
    **_all(SUPPORTED, "per_device_train_batch_size",
           "rows of a forward pass; those of a second batch come on top, up to as many again", free=True),
    **_all(SUPPORTED, "gradient_accumulation_steps", free=True),
    **_all(SUPPORTED, "max_steps learning_rate lr_scheduler_type "
           "max_grad_norm seed"),
    **_all(SUPPORTED, "optim",
           "tested with torch's AdamW and SGD; those that step inside the backward pass (LOMO, and those "
           "by layer) are refused"),
    **_all(SUPPORTED, "num_train_epochs lr_scheduler_kwargs warmup_steps weight_decay adam_beta1 "
           "adam_beta2 adam_epsilon"),
    **_all(SUPPORTED, "optim_args",
           "sgd takes momentum, dampening, weight_decay and nesterov. Passed on to optimizers of "
           "further packages, which no test here ran. Refused for AdamW and Adafactor, where "
           "transformers ignores it in silence"),
    **_all(PASSED_ON, "optim_target_modules",
           "belongs to GaLore and APOLLO, which no test here ran; refused for all others, which leave it "
           "out in silence"),
    **_refused("halves the rows of a step after the rule has seen them, and TRL 1.16 refuses it itself: "
               "lower per_device_train_batch_size", auto_find_batch_size=(False,)),
    # ----------------------------------------------------------------------------------- the machines
    **_all(SUPPORTED, "fsdp fsdp_config deepspeed",
           "the configurations of llm_bridge/accelerate_configs", free=True),
    **_all(PASSED_ON, "parallelism_config",
           "replicas and shards of data reach accelerate, untested. TRL itself refuses cp_size and "
           "sp_size above 1, by its pull request 5699, and tp_size is refused here: ranks that share a "
           "row would each count it",
           free=True),
    **_all(SUPPORTED, "accelerator_config",
           "without split_batches, dispatch_batches and a num_steps of its own, which are refused",
           free=True),
    **_refused("a step may call the model another number of times than the one before (shared prompts, a "
               "second batch), and a static graph takes it for the same", ddp_static_graph=(None, False)),
    **_all(SUPPORTED, "ddp_find_unused_parameters ddp_bucket_cap_mb ddp_broadcast_buffers ddp_backend "
           "ddp_timeout", "a step of two ranks is the same with it; the backend tested is gloo",
           free=True),
    **_all(WITHOUT_EFFECT, "local_rank", "read by scripts, not by a trainer"),
    # --------------------------------------------------------------------------------------- the data
    **_all(SUPPORTED, "shuffle_dataset", "grpo_config has it off: prompts in the order given"),
    **_all(WITHOUT_EFFECT, "train_sampling_strategy length_column_name data_seed",
           "TRL has a sampler of its own, and shuffles by seed"),
    **_same("dataloader_drop_last dataloader_num_workers dataloader_persistent_workers "
            "dataloader_prefetch_factor dataloader_multiprocessing_context dataloader_in_order "
            "remove_unused_columns label_names"),
    **_all(SUPPORTED, "dataloader_pin_memory", "grpo_config has it on where there is a GPU"),
    # ------------------------------------------------------------------------- evaluation, logs, saves
    **_all(SUPPORTED, "eval_strategy eval_steps eval_delay eval_on_start per_device_eval_batch_size "
           "num_generations_eval prediction_loss_only eval_do_concat_batches eval_use_gather_object "
           "eval_accumulation_steps batch_eval_metrics bf16_full_eval fp16_full_eval",
           "an evaluation's loss is TRL's own, under TRL's options; a step is the same with it but for "
           "the random numbers that an evaluation before it draws"),
    **_refused("is for a compute_metrics, which GRPO has none of, and with 'inputs' transformers fails "
               "in the first evaluation", include_for_metrics=([], ["loss"])),
    **_all(SUPPORTED, "load_best_model_at_end metric_for_best_model greater_is_better",
           "the best checkpoint is loaded at the end"),
    **_all(SUPPORTED, "output_dir logging_steps report_to disable_tqdm", free=True),
    **_same("logging_strategy logging_first_step log_on_each_node logging_nan_inf_filter "
            "include_num_input_tokens_seen log_level log_level_replica run_name project debug "
            "skip_memory_metrics log_completions log_multimodal num_completions_to_print "
            "log_unique_prompts"),
    **_all(PASSED_ON, "trackio_space_id trackio_bucket_id trackio_static_space_id",
           "read by trackio, which puts them on the hub", free=True),
    **_all(SUPPORTED, "save_strategy save_steps",
           "whole generations: save_steps is a multiple of the optimizer steps that share one",
           free=True),
    **_all(SUPPORTED, "save_total_limit", free=True),
    **_refused("saves between the steps of a generation too, whose samples are not saved, so that a run "
               "would not continue exactly: set save_steps", enable_jit_checkpoint=(False,)),
    **_all(DEPARTS, "save_only_model",
           "such a checkpoint is never resumed from, which is an error, nor by `llm_bridge train`; in "
           "transformers a run goes on from it with a new optimizer", free=True),
    **_all(SUPPORTED, "ignore_data_skip",
           "a run that is resumed with it reads its epoch from the beginning again, and says so: it is "
           "not the run that was interrupted", free=True),
    **_same("save_on_each_node restore_callback_states_from_checkpoint"),
    **_all(PASSED_ON, "push_to_hub hub_token hub_private_repo hub_model_id hub_strategy hub_always_push "
           "hub_revision log_completions_hub_repo", "needs the hub, which no test here reaches",
           free=True),
    **_all(WITHOUT_EFFECT, "do_train do_eval do_predict resume_from_checkpoint",
           "read by scripts, not by a trainer"),
}
"""What becomes of each option, by its name in TRL 1.13 to 1.16 with transformers 5.10 to 5.24."""

RENAMED = {"gradient_checkpointing": "activation_checkpointing",
           "gradient_checkpointing_kwargs": "activation_checkpointing_kwargs"}
"""Options that transformers 5.23 has given another name; it keeps the old one, with a warning."""

TRAINER_ARGUMENTS = {
    "model": ("supported", "a model, a folder or a hub id; with a processor it sees images too"),
    "reward_funcs": ("supported", "functions, and reward models"),
    "train_dataset": ("supported", "a Dataset or an IterableDataset of texts or conversations; images "
                      "need a processor, and are not audited; resampling from a stream is refused, as it "
                      "draws prompts at random"),
    "eval_dataset": ("supported", "its loss is TRL's own, under TRL's options"),
    "processing_class": ("supported", "a tokenizer, or a processor, tested with LLaVA's and Gemma 3's: "
                         "prompts with images are read again for each sample"),
    "peft_config": ("supported", "LoRA is tested; a reference is the model without the adapter"),
    "callbacks": ("supported", "called as TRL calls them"),
    "optimizers": ("supported", "what is accounted for and forecast knows torch's SGD, Adam and AdamW"),
    "rollout_func": ("supported", "it draws all completions, of a second batch too: that it samples from "
                     "the policy, and at which temperature, nothing here can see"),
    "tools": ("supported", "a tool's output is read, but is not part of the step, a measurement "
                           "or a forecast. Refused where ranks sample together (FSDP, ZeRO-3, a "
                           "vLLM server, tensor parallelism), as each rank samples as often as "
                           "its own completions call tools"),
    "environment_factory": ("supported", "as tools; its reward is one more, of weight 1"),
    "quantization_config": ("supported", "tested with int8 layers of the tests' own, not with "
                                         "bitsandbytes, which no test environment has. A "
                                         "quantized head holds its logits, and the account takes "
                                         "its rounding for bfloat16's. 4 bits are refused on a "
                                         "CPU, where bitsandbytes 0.50.2 loses their gradient"),
    "reward_processing_classes": ("supported", "read by reward models"),
}
"""What becomes of the arguments of TRL's GRPOTrainer beside its options: fate and note."""

OTHER_TRAINERS = (
    "its asynchronous trainer (trl.experimental.async_grpo) hands out single samples with "
    "advantages from a worker, in rows that depend on their lengths. So no rule could get whole "
    "groups or an optimizer step's rows. Its loss is its own, one temperature holds for all "
    "samples, and samples are up to max_staleness steps late"
)
"""Why no other trainer's options are taken."""


def check_refused(args: Any) -> None:
    """Raise ValueError for an option that is refused, or that is unknown and not at TRL's default."""
    from llm_bridge.trainer.trl_release import GRPOConfig

    if not isinstance(args, GRPOConfig):
        raise ValueError(f"args are a {type(args).__name__}, not a GRPOConfig of TRL: {OTHER_TRAINERS}")
    for name, option in OPTIONS.items():
        if option.fate == REFUSED and hasattr(args, name):
            value = getattr(args, name)
            if value not in option.allowed:
                raise ValueError(
                    f"option {name}={value!r} is refused: {option.note}; leave it at "
                    f"{option.allowed[0]!r}")
    unknown = {field.name: field for field in dataclasses.fields(args)
               if field.name not in OPTIONS and field.init}
    if not unknown:
        return
    defaults: dict[str, Any] = {
        name: field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        for name, field in unknown.items()}
    with warnings.catch_warnings(action="ignore"):
        # Options that are made fill in what is unset, from each other too.
        plain = dataclasses.replace(args, generation_batch_size=None, **defaults)
    for name in unknown:
        value, default = getattr(args, name), getattr(plain, name)
        if value != default:
            raise ValueError(
                f"option {name}={value!r} is not known to llm_bridge, which cannot say what it would do "
                f"to the update rule: leave it at {default!r}")
    if args.process_index == 0:
        _warn_of_unknown(tuple(unknown))


@functools.cache
def _warn_of_unknown(names: tuple[str, ...]) -> None:
    """Say once that options of a later release were met."""
    logger.warning(
        "this release of TRL or transformers has options that llm_bridge does not know, %s: leave them "
        "at their defaults, as they are now", ", ".join(names))


def page(config: type) -> str:
    """Write the table of TRL's options, as a Markdown page.

    Args:
        config: TRL's GRPOConfig, or another dataclass of options.
    """
    lines = [
        "# What becomes of TRL's options", "",
        "`EntropyTrainer` takes a `GRPOConfig` of TRL. This table is made by `python -m "
        "llm_bridge.trainer.trl_options` with the pinned releases. A test compares it with the "
        "installed releases, and fails on an option of a later one until it is listed. At run "
        "time such an option is named in a warning, and refused unless it has its default value. "
        "TRL has been 1.13 to 1.16, transformers 5.10 to 5.24.",
        "", *(f"- **{fate}**: {meaning}." for fate, meaning in MEANING.items()), "",
        "Options of other trainers are refused: " + OTHER_TRAINERS + " (what lateness does to a held "
        "entropy: [measured](holding_an_entropy_measured.md#samples-that-are-late)).", "",
        "## Arguments of the trainer", "", "| argument | here | |", "|---|---|---|",
        *(f"| {name} | {fate} | {note} |" for name, (fate, note) in TRAINER_ARGUMENTS.items()), "",
        "## Options", "", "| option | TRL's default | here | |", "|---|---|---|---|",
    ]
    for field in sorted(dataclasses.fields(config), key=lambda field: field.name):
        if field.name in RENAMED.values():
            continue  # not in every release
        option = OPTIONS[field.name]
        shown = f"`{field.default or repr(field.default)}`"  # repr: "" would show nothing
        default = "" if field.default is dataclasses.MISSING else shown
        note = option.note.replace("|", "\\|")
        if field.name in RENAMED:
            note += f"; {RENAMED[field.name]} from transformers 5.23 on"
        if option.fate == REFUSED:
            note += "; accepted: " + ", ".join(f"`{value}`" for value in option.allowed)
        lines.append(f"| {field.name} | {default} | {option.fate} | {note} |")
    text = "\n".join(lines) + "\n"
    for term in LINKED_TERMS:
        text = text.replace(term, f"{{term}}`{term}`", 1)
    return text


if __name__ == "__main__":
    from llm_bridge.trainer.trl_release import GRPOConfig

    print(page(GRPOConfig), end="")
