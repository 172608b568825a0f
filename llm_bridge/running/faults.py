"""Faults that end a run, each with an error that has the remedy.

These are too little memory, a lost GPU, a gradient that is not finite, and a tracker without setup.
So are a lost sampling server, and a policy that differs between training and scoring.
"""

from __future__ import annotations

import contextlib
import math
import shutil
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from entropy_theory.rounding import ACCUMULATION, log_prob_tolerance
from entropy_theory.token_batch import TokenBatch
from llm_bridge.running import ranks

DIVERGED = "diverged.pt"
TRACKING = "transformers.integrations.integration_utils"
"""The module that calls trackers."""
EXPERTS_OF_A_TOKEN = ("num_experts_per_tok", "top_k_experts", "moe_k")
"""Under which names configs of transformers keep how many experts a token goes to."""
SAMPLING_CLIENT = "trl.generation.vllm_client"
"""The module that calls a sampling server."""
TELLING = 0.05
"""Nats, root mean square. Normal differences of this size take one ratio of 10,000 out of the clip
range of 0.2 (4 deviations). Larger ones could hide another policy, so rounding is then measured
instead."""
MARGIN = 4.0
"""How many times the rounding that was measured on a few rows that of all rows may be."""
LEAST_ROUNDINGS = 8.0
"""Roundings allowed where 0 was measured, since two layouts may round alike on a CPU. It is sqrt(2
L) of a model of 32 layers, with logits that spread by one nat."""
ROUTING = 3.0
"""In a mixture of experts rounding sends tokens to other experts, in proportion to the roundoff u
and to the number of layers L. So log-probs differ by a root mean square of c sqrt(u L). On random
mixtures c was .3 to 1.9 where logits spread by 3 nats, which is 2.8 at a spread of 4.5 nats as for
`FORWARD_ROUNDINGS`. They were Qwen3-MoE, Mixtral and gpt-oss with 4 to 24 layers and 8 to 64
experts, in bfloat16 and float16, a pass with a cache against one without."""
FLIP = 1.5
"""Nats: by how much a token that goes to another expert changes its log-prob. There it was .2 to 1.0,
root mean square of these tokens: up to 1.5 where logits spread by 4.5 nats."""
SMALLEST_LOSS_SCALE = 1.0
"""Below this scale, a float16 gradient that is not finite does not come from an overflow of the scale."""

GPU_LOST = (
    "unknown error", "unspecified launch failure", "no CUDA-capable device", "busy or unavailable",
    "uncorrectable ECC", "hardware stack error", "has fallen off the bus", "is lost",
    "driver shutting down",
)
"""CUDA's messages for a device that no longer answers, which wrong code alone does not cause."""


def training_settings(args: Any, rows: int) -> str:
    """Say which of TRL's options ``args`` set the memory that training takes, and how to change them.

    Args:
        args: the options.
        rows: completions of one forward pass, those of a second batch included.
    """
    return (
        f"{rows} completions of up to {args.max_completion_length} tokens "
        "at once: raise micro_batches (gradient_accumulation_steps, with a smaller "
        "per_device_train_batch_size), lower max_new_tokens (max_completion_length), or turn "
        "gradient_checkpointing on"
    )


def sampling_settings(batch_size: int, max_new_tokens: int) -> str:
    """Say which of TRL's options set the memory that sampling takes, and how to change them."""
    return (
        f"{batch_size} completions of up to {max_new_tokens} tokens at once: lower batch_size or "
        "max_new_tokens, or take dtype bfloat16"
    )


@contextlib.contextmanager
def device_errors_named(settings: str) -> Iterator[None]:
    """Turn torch's errors for a lack of memory, and for a lost GPU, into an OSError for the user.

    Args:
        settings: the settings that decide how much memory is taken, and how to change them.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        # A GPU's is a class of its own; a CPU's is a RuntimeError of the default allocator.
        if isinstance(error, torch.OutOfMemoryError | MemoryError) or (
            "DefaultCPUAllocator" in str(error)
        ):
            raise OSError(f"out of memory with {settings} ({reason})") from error
        if "CUDA" in reason and any(words in reason for words in GPU_LOST):
            raise OSError(
                f"the GPU no longer answers ({reason}): see that `nvidia-smi` lists it, or choose "
                "another by CUDA_VISIBLE_DEVICES, and run the same command again: it goes on from what "
                "was saved"
            ) from error
        raise


@contextlib.contextmanager
def full_disk_named(output: Path) -> Iterator[None]:
    """Turn what libraries make of a full disk, each in its own way, into one OSError."""
    try:
        yield
    except Exception as error:
        # safetensors says so and removes what it wrote; torch leaves it, and says something else.
        if "No space left" in str(error) or shutil.disk_usage(output).free < 2**20:
            raise OSError(
                f"no space left for {output}: free some or choose another output directory"
            ) from error
        raise


@contextlib.contextmanager
def tracker_named(trackers: Sequence[str]) -> Iterator[None]:
    """Turn what a tracker raises, such as one that nobody is logged in to, into one ValueError.

    Args:
        trackers: those of the run.
    """
    try:
        yield
    except Exception as error:
        if _came_through(error, TRACKING):
            raise ValueError(f"log_to {' '.join(trackers)}: the tracker ended the run ({error}); set "
                             "it up as it says, or give log_to none") from error
        raise


@contextlib.contextmanager
def sampling_server_named(args: Any) -> Iterator[None]:
    """Turn what a vLLM server that was killed, or that fails, leaves its client with into one OSError.

    The client tries again for a minute before (TRL's own retries).

    Args:
        args: TRL's options, which say where the server is.
    """
    try:
        yield
    except Exception as error:
        # The HTTP library's errors are OSErrors; an answer that is no success is a plain Exception there.
        failed = isinstance(error, OSError) or type(error) is Exception
        if failed and _came_through(error, SAMPLING_CLIENT):
            address = args.vllm_server_base_url or (
                f"http://{args.vllm_server_host}:{args.vllm_server_port}")
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise OSError(
                f"the vLLM server at {address} no longer answers ({reason}): start it again, and run the "
                "same command again to resume"
            ) from error
        raise


def _came_through(error: BaseException, module: str) -> bool:
    """Whether a function of the module was being called when the error was raised."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return module in {frame.f_globals.get("__name__") for frame in frames}


def check_gradient(
    model: Any, accelerator: Any, *, folder: Path, step: int, rows: list[dict[str, Any]]
) -> None:
    """Refuse a step whose gradient is not finite, before it spoils the weights.

    In float16 a gradient that overflows is normal: it was scaled up too far, the step is skipped and the
    scale is lowered. It is refused once there is nothing left to lower. DeepSpeed has taken the step by
    now, or skipped it itself.

    Args:
        model: the model, whose gradients are no longer scaled.
        accelerator: accelerate's, which scales the loss and knows DeepSpeed's engine.
        folder: where the step's rows are written, if the step is refused (`diverged_name`).
        step: number of optimizer steps taken so far.
        rows: the micro-batches' columns.

    Raises:
        ValueError: NaN or an infinity in the gradient.
    """
    engine = _deepspeed_engine(accelerator)
    if engine is None:
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients) if gradients else 0.0
    else:
        # It keeps gradients in buffers of its own, and has their norm.
        norm = engine.get_global_grad_norm()
    if norm is None or bool(torch.isfinite(torch.as_tensor(norm))) or _is_overflow(accelerator):
        return
    path = folder / diverged_name()
    folder.mkdir(parents=True, exist_ok=True)
    torch.save({"step": step, "micro_batches": rows}, path)
    state = (f"the weights are those after step {step}" if engine is None
             else "DeepSpeed has taken the step, and spoiled the weights: go on from the last checkpoint")
    raise ValueError(
        f"the gradient of step {step + 1} is not finite: {state}, and the step's rows are in {path}; "
        "lower learning_rate, set max_grad_norm, or look at the rule's coefficients"
    )


def diverged_name() -> str:
    """Name the file of the rows of a step that was refused: each rank has rows of its own."""
    return DIVERGED if ranks.count() == 1 else f"diverged-rank{dist.get_rank()}.pt"


def _is_overflow(accelerator: Any) -> bool:
    """Whether a gradient that is not finite is skipped, and may be finite at a smaller loss scale."""
    if accelerator.scaler is not None:
        return bool(accelerator.scaler.get_scale() > SMALLEST_LOSS_SCALE)
    return bool(skipped(accelerator))


def skipped(accelerator: Any) -> float | None:
    """1 where the step was skipped since its scaled gradient overflowed, else 0; None without a scale."""
    if accelerator.scaler is None and _deepspeed_engine(accelerator) is None:
        return None
    return float(accelerator.optimizer_step_was_skipped)


def _deepspeed_engine(accelerator: Any) -> Any | None:
    is_deepspeed = accelerator.distributed_type.value == "DEEPSPEED"
    return accelerator.deepspeed_engine_wrapped if is_deepspeed else None


def rounding(model: Any, mixed_precision: str, measured: float | None = None) -> float:
    """By how much log-probs of two passes over the same tokens may differ, nats, root mean square.

    `rounding.log_prob_tolerance` of the coarsest format that the model multiplies in: 0.25 for
    bfloat16, 0.03 for float16 and for float32 on a GPU (TF32), 0.001 for float32 and float64 on a CPU
    (norms compute in float32 even there). A prompt that is not read, and a wrong mask or
    position, change log-probs by more. Mixtures of experts are allowed ``ROUTING`` more: 0.9 for 24
    layers in bfloat16. Where rounding was measured, ``MARGIN`` times that is enough.

    Args:
        model: its parameters' formats count, that of quantized ones as bfloat16.
        mixed_precision: accelerate's: "no", "fp16", "bf16" or "fp8".
        measured: root mean square difference of two passes in different layouts, nats.
    """
    unit = roundoff(model, mixed_precision)
    largest = log_prob_tolerance(unit) + ROUTING * math.sqrt(unit * routed_layers(model))
    if measured is None:
        return largest
    return min(largest, MARGIN * measured + LEAST_ROUNDINGS * unit + ACCUMULATION)


def routed_layers(model: Any) -> int:
    """At most how many layers of a model send each token to some of their experts."""
    config: Any = getattr(getattr(model, "module", model), "config", None)
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    is_routed = any(getattr(text, name, None) for name in EXPERTS_OF_A_TOKEN)
    return int(text.num_hidden_layers) if is_routed else 0


def with_a_flip(measured: float, model: Any, tokens: int) -> float:
    """Return a measured difference as it were with one more token sent to another expert, nats.

    On few tokens none may be, while some of the tokens that are checked will.

    Args:
        measured: root mean square over so many tokens, nats.
        model: one without routers leaves the difference as it is.
        tokens: the number of tokens it was measured on.
    """
    return math.hypot(measured, FLIP / math.sqrt(max(tokens, 1))) if routed_layers(model) else measured


def roundoff(model: Any, mixed_precision: str) -> float:
    """The relative rounding error of the coarsest format that the model multiplies in.

    Arguments as `rounding`.
    """
    found = {"no": 0.0, "fp16": 2.0**-11, "bf16": 2.0**-8, "fp8": 2.0**-4}[mixed_precision]
    for weight in model.parameters():
        if not weight.is_floating_point():
            own = 2.0**-8
        elif weight.dtype == torch.float32 and weight.is_cuda:
            own = 2.0**-11
        else:
            own = torch.finfo(weight.dtype).eps / 2
        found = max(found, own)
    return found


def check_ratio(batch: TokenBatch, largest: float, *, step: int) -> None:
    """Refuse rows whose log-probs are not those they were scored with, though the policy is the same.

    Args:
        batch: torch columns, of the first optimizer step since ``old_log_prob`` was taken.
        largest: difference in nats, root mean square over tokens, that may be rounding (`rounding`).
        step: optimizer steps taken so far.

    Raises:
        ValueError: a larger difference: ratios pi / pi_old would not be 1, and the gradient wrong.
    """
    log_prob: Any = batch.log_prob
    difference = (log_prob.detach() - batch.old_log_prob)[batch.mask]
    if not len(difference):
        return
    found = float(difference.square().mean().sqrt())
    if found > largest:
        raise ValueError(
            f"step {step + 1} starts from the policy that scored its tokens, so every ratio pi / "
            f"pi_old must be 1. But their log-probabilities differ by {found:.3g} nats (root mean "
            f"square of {len(difference)} tokens), at most by "
            f"{float(difference.abs().max()):.3g}, where rounding explains {largest:.2g}. The "
            "model computes something else in training than in scoring, and the gradient would be "
            "wrong. Set gradient_checkpointing=False, or score and train at one precision. If it "
            "is rounding after all, give EntropyTrainer a larger rounding"
        )
