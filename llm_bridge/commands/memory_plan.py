"""Says what a run will take before anything is downloaded or loaded: memory of a rank, tokens, steps.

    python -m llm_bridge train --dry-run ...                a run's own plan
    WORLD_SIZE=8 python -m llm_bridge train --dry-run ...   that of a rank of eight
    python -m llm_bridge train --dry-run --accelerate-config FILE.yaml ...     that of a rank of a launch
    python -m llm_bridge.commands.memory_plan > docs/memory.md

Parameters are counted on a model of fake tensors, which have shapes and no data, and so is what its
forward pass keeps for the backward pass, each storage once. What the head, the optimizer and sampling
hold beside that is counted from their shapes. Completions are taken to be as long as they may be, and a
prompt to be read for each of its samples; logits are held where an option or the shape says so.
Of sharded weights (FSDP2, ZeRO) a rank holds its
part, and beside it what `_gathered` says is whole at the same time. Not counted, so that the sum is no
bound: fragmentation, what libraries take by themselves (CUDA's context: about half a GiB; DeepSpeed's
buckets, whose sizes are its options), an engine of vLLM's in the same process (its share of the GPU is
printed beside the sum), and the logits of a model whose head turns out at its first pass to be none that
can be fused (`llm_bridge.forward.fused_forward.obstacle`), which training tells.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import transformers
from torch._subclasses.fake_tensor import FakeTensorMode

from entropy_theory import update_rules
from entropy_theory.update_rules import rule_options
from llm_bridge.commands.assembly import options_of_trl
from llm_bridge.commands.sharding_plan import SHARDINGS, WHOLE, Sharding, launched
from llm_bridge.commands.train_config import TrainConfig, resolved
from llm_bridge.data import models, tasks
from llm_bridge.head import per_token, row_statistics
from llm_bridge.trainer.options import (
    check_config,
    check_rule,
    grpo_config,
)
from llm_bridge.trainer.run_numbers import check_tempered_fraction

GIB = 2**30
CHAT_TEMPLATE_TOKENS = 64
"""What a chat template may add to a prompt."""


def _qwen2(
    vocabulary: int, hidden: int, layers: int, heads: tuple[int, int], inner: int, tied: bool
) -> Any:
    return transformers.Qwen2Config(
        vocab_size=vocabulary, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads[0],
        num_key_value_heads=heads[1], intermediate_size=inner, tie_word_embeddings=tied,
    )


SHAPES: dict[str, Any] = {
    "smollm2-135m-instruct": lambda: transformers.LlamaConfig(
        vocab_size=49_152, hidden_size=576, num_hidden_layers=30, num_attention_heads=9,
        num_key_value_heads=3, intermediate_size=1536, tie_word_embeddings=True,
    ),
    "Qwen/Qwen2.5-1.5B": lambda: _qwen2(151_936, 1536, 28, (12, 2), 8960, True),
    "Qwen/Qwen2.5-7B": lambda: _qwen2(152_064, 3584, 28, (28, 4), 18_944, False),
}
"""Shapes of models that are not on this machine, by their names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload:
    """The sizes that memory goes by."""

    rows: int
    """Completions of a forward pass with gradient."""
    sampled: int
    """Completions that a rank samples at once."""
    prompt_tokens: int
    new_tokens: int
    dtype: torch.dtype
    adamw: bool = True
    reference: bool = False
    """Whether a frozen copy of the starting model is kept."""
    checkpointing: bool = False
    """Gradient checkpointing: only the inputs of layers are kept, and one layer is computed again."""
    accumulates: bool = False
    """Whether gradients of earlier micro-batches are there in a forward pass."""
    ranks: int = 1
    sharding: Sharding = WHOLE
    on_gpu: bool = True
    holds_logits: bool = False
    """Whether the completions' logits are held, because the head cannot be fused."""
    float32_head: bool = False
    """Whether the head is in float32 beside other weights (``cast_lm_head_to_fp32``)."""

    @property
    def positions(self) -> int:
        """Tokens of a row."""
        return self.prompt_tokens + self.new_tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """What is counted on a model of fake tensors."""

    parameters: int
    layer: int
    """Parameters of the largest layer of those that are sharded apart."""
    outside: int
    """Parameters outside these layers: embeddings, the last norm, the head."""
    vocabulary: int
    features: int
    row: int
    """Bytes that a forward pass over one row keeps for the backward pass."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """Bytes of a rank, by what they hold."""

    parameters: int
    """The number of parameters; not bytes."""
    always: dict[str, int]
    training: dict[str, int]
    """Beside those, at the peak of a step."""
    sampling: dict[str, int]
    """Beside those, at the end of sampling; not at the same time as training."""

    @property
    def peak(self) -> int:
        """The most at any time."""
        return sum(self.always.values()) + max(sum(self.training.values()), sum(self.sampling.values()))


def shape_of(name: str) -> Any:
    """Return the configuration of a model, without its weights and without a network.

    Raises:
        ValueError: a model whose shape is not on this machine.
    """
    if name in SHAPES:
        return SHAPES[name]()
    source = models.locate(name)
    if not Path(source).is_dir():
        raise ValueError(
            f"the shape of '{name}' is not on this machine, and a plan fetches nothing: put the model's "
            f"config.json into a folder and give that as model; known without one: {', '.join(SHAPES)}"
        )
    return transformers.AutoConfig.from_pretrained(source, local_files_only=True)


def kept_for_backward(model: Any, positions: int) -> int:
    """Count the bytes that a forward pass over one row of fake ``positions`` keeps for the backward pass.

    Args:
        model: in training mode.
        positions: the row's tokens; one of them is padding, without which there would be no mask.
    """
    own = {weight.untyped_storage()._cdata for weight in model.parameters()}
    kept: dict[int, Any] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in own:
            kept[storage._cdata] = storage  # alive, so that its address is not given to another
        return tensor

    ids = torch.zeros(1, positions, dtype=torch.long)
    mask = torch.ones_like(ids)
    mask[:, 0] = 0
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model.base_model(input_ids=ids, attention_mask=mask, use_cache=False)
    return sum(storage.nbytes() for storage in kept.values())


def count(shape: Any, work: Workload) -> Counts:
    """Count a model's parameters, and what a row of the workload's length keeps in it."""
    with FakeTensorMode():
        model = transformers.AutoModelForCausalLM.from_config(shape, dtype=work.dtype).train()
        vocabulary, features = model.get_output_embeddings().weight.shape
        row = kept_for_backward(model, work.positions)
        if work.checkpointing:
            a_layer = row // shape.get_text_config().num_hidden_layers
            named = hasattr(model, "activation_checkpointing_enable")  # from transformers 5.23 on
            enable = (model.activation_checkpointing_enable if named
                      else model.gradient_checkpointing_enable)
            enable({"use_reentrant": False})
            row = kept_for_backward(model, work.positions) + a_layer
        layers = [sum(weight.numel() for weight in module.parameters()) for module in model.modules()
                  if type(module).__name__ in model._no_split_modules]
        parameters = sum(weight.numel() for weight in model.parameters())
        return Counts(
            parameters=parameters, layer=max(layers), outside=parameters - sum(layers),
            vocabulary=vocabulary, features=features, row=row,
        )


def memory(shape: Any, counts: Counts, work: Workload) -> Memory:
    """Work out what a rank holds.

    Args:
        shape: the model's configuration.
        counts: of this shape and a row of this workload's length.
        work: the sizes.
    """
    width, sharding = work.dtype.itemsize, work.sharding
    weights = counts.parameters * width

    def part(size: int, is_split: bool) -> int:
        return -(-size // work.ranks) if is_split else size

    always = {"weights": part(weights, sharding.weights)}
    if work.float32_head:
        always["the head in float32"] = 4 * counts.vocabulary * counts.features
    stepped = weights
    if sharding.steps_in_float32:
        stepped = 4 * counts.parameters
        always["the weights that are stepped, in float32"] = part(stepped, sharding.optimizer)
    if work.adamw:
        always["AdamW's two moments"] = 2 * part(stepped, sharding.optimizer)
    if work.reference:
        always["the reference"] = part(weights, sharding.weights)
    if work.ranks > 1 and not sharding.gradients:
        always["buckets of data parallelism"] = weights
    activations = work.rows * counts.row
    head_bytes = _head_bytes(work, counts)
    gradients = part(weights, sharding.gradients)
    forward, backward = _gathered(work, counts)
    # With one micro-batch gradients come as activations go; the optimizer's temporary comes after.
    passes = activations + head_bytes + backward + gradients * work.accumulates
    temporary = part(stepped, sharding.optimizer) if work.adamw and work.on_gpu else 0
    if sharding.steps_in_float32:
        temporary += part(stepped, sharding.optimizer)  # the gradient of the weights that are stepped
    if passes >= gradients + temporary:
        name = "logits, and the head's gradients" if work.holds_logits else (
            "the head's chunk and weight gradient")
        training = {"activations": activations, name: head_bytes}
        if backward:
            training["what is whole in a pass"] = backward
        if work.accumulates:
            training["gradients"] = gradients
    else:
        training = {"gradients": gradients}
        if temporary:
            training["AdamW's temporary"] = temporary
    keys = shape.get_text_config()
    size = getattr(keys, "head_dim", None) or keys.hidden_size // keys.num_attention_heads
    of_token = 2 * keys.num_hidden_layers * keys.num_key_value_heads * size * width
    cache = of_token * work.positions * work.sampled
    # Logits in float32, log-probabilities and noise.
    sampling = {"keys and values": cache, "logits of a token": 12 * counts.vocabulary * work.sampled}
    if forward:
        sampling["what is whole in a pass"] = forward
    return Memory(parameters=counts.parameters, always=always, training=training, sampling=sampling)


def _gathered(work: Workload, counts: Counts) -> tuple[int, int]:
    """Count what is put together from all ranks: bytes in a forward pass, and in a pass and back."""
    width = work.dtype.itemsize
    if work.sharding.name == "FSDP2":
        # The embeddings and the head all the time, of the layers one and the next; going back also the
        # gradients of the former, and of a layer its gradient and the copy that is reduced.
        forward = (counts.outside + 2 * counts.layer) * width
        return forward, forward + (counts.outside + 2 * counts.layer) * width
    if work.sharding.weights:
        # ZeRO-3 keeps what it gathered until max_live_parameters, a billion, are there; generation
        # gathers all.
        return counts.parameters * width, min(counts.parameters, 10**9) * width
    if work.sharding.gradients:
        # ZeRO-2 reduces each gradient when its bucket of 500 million is full.
        return 0, min(counts.parameters, 5 * 10**8) * width
    return 0, 0


def _head_bytes(work: Workload, counts: Counts) -> int:
    """Count what the head holds at a chunk of its backward pass (`llm_bridge.head.per_token`).

    Where logits are held these are they, divided by a temperature, and their gradient.
    """
    tokens = work.rows * work.new_tokens
    if work.holds_logits:
        width = 4 if work.float32_head else work.dtype.itemsize
        return (3 * tokens + counts.features) * counts.vocabulary * width
    elements = per_token.CHUNK_ELEMENTS["cuda" if work.on_gpu else "cpu"]
    chunk = min(tokens, max(per_token.LEAST_ROWS, elements // counts.vocabulary)) * counts.vocabulary
    narrow = work.dtype.itemsize if work.dtype != torch.float32 else 0
    logits = chunk * (4 + narrow)
    if not work.on_gpu:
        logits += 4 * 4 * min(chunk, row_statistics.BLOCK_ELEMENTS)
    # The sum in float32, on a GPU the product that is added to it, and the sum in the weight's format.
    copies = 4 + (4 + narrow if narrow and work.on_gpu else narrow)
    return logits + copies * counts.vocabulary * counts.features


def plan(config: TrainConfig) -> str:
    """Write the plan of a run: its steps, and memory of a rank by parts.

    Args:
        config: of the run, with or without its defaults filled in.

    Raises:
        ValueError: for a config or an option of TRL that `train` refuses before it loads the model (what
            depends on the loaded model is refused later), mixed precision, of whose copies a plan knows
            nothing; or as `shape_of`.
    """
    sharding, world = launched(config.accelerate_config)
    config = resolved(config, world=world)
    rule = rule_options.from_texts(config.rule, config.rule_options)
    assert config.prompts is not None
    shape = shape_of(config.model)
    task = tasks.load(
        str(config.data or config.task), size=config.prompts, seed=config.seed, reward=config.reward,
        max_new_tokens=config.max_new_tokens,
    )
    asked = options_of_trl(config, max_new_tokens=task.max_new_tokens, world=world)
    check_rule(rule)
    check_tempered_fraction(config.tempered_fraction, rule)
    with as_one_process():
        # Of one process with all rows: TRL asks for the processes and devices of this machine.
        alone = options_of_trl(config, max_new_tokens=task.max_new_tokens, world=1)
        alone |= {"use_cpu": True, "tf32": None, "report_to": "none"}
        check_config(grpo_config("unused", **alone), rule)
    dtype = models.torch_dtype(config.dtype)
    for name, format_ in (("bf16", torch.bfloat16), ("fp16", torch.float16)):
        if asked.get(name) and dtype != format_:
            raise ValueError(
                f"{name}=True keeps copies of weights and activations in two formats, which a plan "
                f"does not count: leave it out to see what {config.dtype} takes, or plan with --dtype "
                "bfloat16")
    longest = max(len(prompt.encode()) for prompt in task.prompts) + 1
    longest += CHAT_TEMPLATE_TOKENS * config.chat_template
    on_gpu = config.device == "cuda" or (config.device == "auto" and torch.cuda.is_available())
    casts = bool(asked.get("cast_lm_head_to_fp32"))
    second = config.tempered_fraction if rule.controller() is not None else 0.0
    completions = round(config.prompts * config.samples * (1 + second))
    work = Workload(
        rows=-(-completions // (world * config.micro_batches)),
        sampled=-(-config.prompts * config.samples * config.mini_batches // world),
        prompt_tokens=longest, new_tokens=task.max_new_tokens, dtype=dtype,
        adamw=config.optimizer == "adamw", reference="reference_log_prob" in rule.required_columns,
        checkpointing=bool(asked.get("gradient_checkpointing", asked.get("activation_checkpointing"))),
        accumulates=config.micro_batches > 1, ranks=world, sharding=sharding, on_gpu=on_gpu,
        holds_logits=casts or changes_logits(shape), float32_head=casts and dtype != torch.float32,
    )
    shares_gpu = asked.get("use_vllm") and asked.get("vllm_mode", "colocate") == "colocate"
    engine = asked.get("vllm_gpu_memory_utilization", 0.3) if shares_gpu else 0.0
    return "\n".join([
        *_steps(config, rule, work, task, completions, second, world), "",
        *_memory_lines(memory(shape, count(shape, work), work), work, engine), "",
        "Nothing was loaded, downloaded or written.",
    ])


def _steps(
    config: TrainConfig, rule: update_rules.UpdateRule, work: Workload, task: tasks.Task,
    completions: int, second: float, world: int,
) -> list[str]:
    shared = config.mini_batches * config.iterations
    tokens = completions * work.new_tokens
    lines = [
        f"plan: {rule.name} on {task.name}, {config.model} in {config.dtype}, {world} "
        f"process{'es' if world > 1 else ''}" + (f", {work.sharding.name}" if world > 1 else ""),
        f"  steps       {config.steps}, a generation every {shared}" if shared > 1
        else f"  steps       {config.steps}, each on a generation of its own",
        f"  a step      {config.prompts} prompts x {config.samples} completions"
        + (f", and {second:g} of the prompts again in a second batch" if second else ""),
        f"  a rank      {work.rows} rows at once, {config.micro_batches} micro-batches, {work.sampled} "
        "sampled at once",
        f"  a row       up to {work.prompt_tokens} + {work.new_tokens} tokens (a prompt has no more "
        "tokens than bytes)",
        f"  tokens      up to {tokens:,} sampled a step, {tokens * config.steps:,} in the run: for a run "
        f"of a day {tokens * config.steps / 86400:,.1f} a second",
    ]
    if config.save_every:
        saved = list(range(config.save_every, config.steps + 1, config.save_every))
        shown = ", ".join(map(str, saved[:5])) + (" ..." if len(saved) > 5 else "")
        lines.append(f"  checkpoints after steps {shown}, the last two kept")
    told = "accounted for" if config.account_tokens else "accounted for, without tokens"
    for name, every in (("audited", config.audit_every), (told, config.account_every)):
        if every:
            lines.append(f"  {name}: every {every} steps")
    return lines


@contextlib.contextmanager
def as_one_process() -> Iterator[None]:
    """Hide a launch from what would join its processes, and undo what is written to the environment."""
    kept = dict(os.environ)
    try:
        for name in kept:
            if name in ("WORLD_SIZE", "RANK", "LOCAL_RANK") or name.startswith(("ACCELERATE_", "FSDP_")):
                del os.environ[name]
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)


CHANGED_LOGITS: dict[str, tuple[Any, ...]] = {
    "final_logit_softcapping": (None,), "logit_scale": (None, 1.0), "logits_scaling": (None, 1.0)}
"""What shapes say of a change to the logits after the head, and the values that say none."""


def changes_logits(shape: Any) -> bool:
    """Whether a shape says that logits are capped or scaled after the head, which then is not fused."""
    text = shape.get_text_config()
    return any(getattr(text, name, None) not in none for name, none in CHANGED_LOGITS.items())


def _memory_lines(found: Memory, work: Workload, engine: float) -> list[str]:
    parts = [
        ("always", found.always), ("at the peak of a step", found.training),
        ("while sampling, in its place", found.sampling),
    ]
    lines = [f"memory of a rank: {_size(found.peak)} ({found.parameters:,} parameters"
             f"{', counted as on a GPU' if work.on_gpu else ', counted as on a CPU'}; fragmentation and "
             "what libraries take come on top)"]
    if engine:
        lines.append(
            f"  vLLM's engine in the same process: {engine:g} of the GPU's memory beside that "
            "(vllm_gpu_memory_utilization), in place of what sampling takes here")
    for title, part in parts:
        lines.append(f"  {title}: {_size(sum(part.values()))}")
        lines += [f"    {name:<38} {_size(size):>10}" for name, size in part.items()]
    if work.on_gpu and torch.cuda.is_available():
        total = torch.cuda.get_device_properties(0).total_memory
        fits = "fits" if found.peak < (0.9 - engine) * total else "does not fit with a tenth to spare"
        lines.append(f"  the GPU here has {_size(total)}: it {fits}")
    return lines


def _size(count: int) -> str:
    return f"{count / GIB:.2f} GiB" if count >= GIB / 10 else f"{count / 2**20:.1f} MiB"


LENGTHS = (1024, 4096, 8192)
GROUPS = (4, 8, 16)
RANKS = 8
SHARDED = ("fsdp2", "zero2", "zero3")


def page() -> str:
    """Write the table of memory against length and group size, as a Markdown page."""
    lines = [
        "# How much memory a run takes", "",
        "Peak of a rank in GiB, by model, length of the completions (prompts of 256 tokens beside them) "
        "and rows of a micro-batch: with gradient checkpointing (`--trl-options "
        "gradient_checkpointing=true`) / without it. Weights in bfloat16, AdamW, four micro-batches a "
        "step, all sampled at once, one process on a GPU. `python -m llm_bridge train --dry-run` "
        "says it of your own run, by parts, before anything is downloaded.", "",
        "Counted from shapes (`llm_bridge.commands.memory_plan`, which makes this page), not measured "
        "on a GPU: leave a tenth for fragmentation.", "",
        "| model | vocabulary | new tokens | " + " | ".join(f"{rows} rows" for rows in GROUPS) + " |",
        "|---|---|---|" + "---|" * len(GROUPS),
    ]
    for name in SHAPES:
        for length in LENGTHS:
            lines.append(table_row(name, length))
    names = [WHOLE.name, *(SHARDINGS[kind].name for kind in SHARDED)]
    lines += [
        "", f"## On {RANKS} ranks", "",
        "Peak of a rank in GiB with gradient checkpointing, 8 rows of 4,096 new tokens, all else as "
        "above. `train --dry-run --accelerate-config llm_bridge/accelerate_configs/fsdp2.yaml` says it "
        "of your own launch.", "",
        "On two CPU ranks under gloo, a model of 11 million parameters in float32 was trained for two "
        "steps (`make test-sharding` does it again). Each rank's weights and moments are the plan's to "
        "the byte, and its peak was 356 MiB where 355 were planned under data parallelism (its buckets "
        "are a copy of the gradients), 257 where 265 were under FSDP2, 266 where 313 were under ZeRO-2, "
        "and 305 where 292 were under ZeRO-3; `tests/llm_bridge/test_memory_plan.py` allows nine tenths "
        "to twice. DeepSpeed allocates a bucket whole, by default 500 million numbers (0.9 GiB in "
        "bfloat16): what of it is never written takes no memory on a CPU, and comes on top on a GPU.", "",
        "| model | " + " | ".join(names) + " |", "|---|" + "---|" * len(names),
    ]
    lines += [sharding_row(name) for name in SHAPES]
    return "\n".join(lines) + "\n"


def sharding_row(name: str) -> str:
    """Write one row of the second table of `page`."""
    shape = shape_of(name)
    work = Workload(
        rows=8, sampled=32, prompt_tokens=256, new_tokens=4096, dtype=torch.bfloat16,
        checkpointing=True, accumulates=True, ranks=RANKS)
    counts = count(shape, work)
    peaks = [memory(shape, counts, replace(work, sharding=sharding)).peak / GIB
             for sharding in (WHOLE, *(SHARDINGS[kind] for kind in SHARDED))]
    return f"| {name} | " + " | ".join(f"{peak:.1f}" for peak in peaks) + " |"


def table_row(name: str, length: int) -> str:
    """Write one row of `page`."""
    shape = shape_of(name)
    peaks: dict[int, list[str]] = {rows: [] for rows in GROUPS}
    for checkpointing in (True, False):
        work = Workload(
            rows=1, sampled=1, prompt_tokens=256, new_tokens=length, dtype=torch.bfloat16,
            checkpointing=checkpointing, accumulates=True,
        )
        counts = count(shape, work)
        for rows in GROUPS:
            found = memory(shape, counts, replace(work, rows=rows, sampled=4 * rows))
            peaks[rows].append(f"{found.peak / GIB:.1f}")
    cells = [" / ".join(pair) for pair in peaks.values()]
    return f"| {name} | {shape.vocab_size:,} | {length:,} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    transformers.utils.logging.set_verbosity_error()
    print(page(), end="")
