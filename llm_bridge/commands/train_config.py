"""The options of a training run, their defaults, and the checks before it starts.

torch is imported only where a check needs it, and TRL only to read its options, so that a mistyped
option of ours is refused at once.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import typing
from pathlib import Path
from typing import Any, Literal

from entropy_theory.support.results import check_folders
from entropy_theory.support.typed_values import NO_MATCH, from_text, in_words
from entropy_theory.support.user_errors import (
    EXTRA_OF,
    check_choice,
    check_file,
    lookup,
    need,
    one_line,
)
from entropy_theory.update_rules import UpdateRule, rule_options
from llm_bridge.data import models, rewards, tasks
from llm_bridge.running import devices
from llm_bridge.running.run_folder import RunFolder
from llm_bridge.running.time_limit import REWARDS, check_reward_timeout
from llm_bridge.trainer import run_numbers

LEARNING_RATES = {
    ("small-sums", "split"): 3e-4,
    ("small-sums", "sum"): 1e-4,
    ("smollm2-135m-instruct", None): 5e-6,
}
DEFAULT_LEARNING_RATE = 1e-6
TRACKERS = {
    "tensorboard": "tensorboard", "trackio": "trackio", "wandb": "wandb", "mlflow": "mlflow",
    "comet_ml": "comet_ml", "clearml": "clearml", "swanlab": "swanlab", "neptune": "neptune",
    "dvclive": "dvclive", "codecarbon": "codecarbon", "azure_ml": "azureml",
}
"""Where transformers' ``report_to`` can send metrics, and the module that each needs."""
LEAST = {0: ("audit_every", "account_every", "account_sequences", "save_every"),
         1: ("steps", "prompts", "micro_batches", "mini_batches", "iterations"), 2: ("samples",)}
"""The least value of numbers."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TrainConfig:
    """Train a model with an update rule."""

    # Read before the others, by the commands alone.
    config: Path | None = None
    """A run in a TOML file of your own, which the other options override."""
    recipe: str | None = None
    """A run of the package's recipes in place of a file: NAME or NAME:RUN (policy-entropy recipes)."""
    like: Path | None = None
    """A recipe of another engine (policy-entropy translate), whose loss, samples and model the other
    options override."""
    launcher: str | None = None
    """Another launcher for the recipe: number of processes, machines, and the sampler."""
    model: str = "small-sums"
    """Bundled name (small-sums, smollm2-135m-instruct), folder in Hugging Face format, or hub id."""
    task: str = "split"
    """Task name (sum, split, chain-sum, products, reasoning-gym:NAME)."""
    data: Path | None = None
    """JSONL file of {"prompt": ..., "answer": ...} lines, in place of a named task."""
    reward: str | None = None
    """Reward function: a name, my_rewards.py:score or module:function; the task's own by default."""
    rule: str = "grpo"
    """Update rule: one that "policy-entropy rules" lists, or your own, as my_rules.py:Thrifty."""
    rule_options: tuple[str, ...] = ()
    """The rule's options as name=value, such as alpha=3 target=0.6. Options of a rule that it
    modifies have a dot, such as base=grpo base.clip_high=0.28."""
    steps: int = 160
    """Number of optimizer steps."""
    prompts: int | None = None
    """Prompts per step, over all processes; 32 for small-sums, else 4."""
    samples: int = 8
    """Number of completions of each prompt."""
    iterations: int = 1
    """Optimizer steps on each batch of samples. From the second step on they are off-policy."""
    mini_batches: int = 1
    """Optimizer steps on each generation, each on its own share of the completions. A generation
    has this many times the prompts of a step. From the second step on they are off-policy."""
    tempered_fraction: float = 1.0
    """Share of the prompts answered again in a second batch (aepo); the authors' code has 0.25."""
    learning_rate: float | None = None
    """Learning rate; default 3e-4 for small-sums on split, 1e-4 on sum, 5e-6 for SmolLM2, else 1e-6."""
    optimizer: Literal["adamw", "sgd"] = "adamw"
    """The optimizer; sgd has neither momentum nor weight decay."""
    max_grad_norm: float = 1.0
    """Gradients are scaled down to this norm; 0 leaves them as they are."""
    micro_batches: int = 1
    """Parts into which each process cuts its rows of a step. More parts use less memory; more than
    one adds a forward pass."""
    max_new_tokens: int | None = None
    """Longest completion, in tokens; the task's own limit by default."""
    chat_template: bool = False
    """Render each prompt as a user's turn of the model's chat template."""
    audit_every: int = 0
    """Compare forecast and measured entropy change at every N-th step. 0: never."""
    account_every: int = 0
    """At every N-th step, log the forecast and the measured entropy change (metrics.jsonl), divided
    by the optimizer's terms, rules, right and wrong answers. Such a step takes three to four times
    as long, see docs/where_did_my_entropy_go.md. 0: never."""
    account_tokens: bool = True
    """Divide an account by token too, and from there by rule, right and wrong answers. This costs
    about three more forward passes on all completions of the step, whatever account_sequences
    is."""
    account_sequences: int = 0
    """Number of completions of each process's step on which the accounted entropy is measured.
    Fewer cost less. 0: all."""
    account_offload: bool = False
    """Hold the gradients and weights that an account needs in main memory, not on the device."""
    reward_timeout: float = REWARDS
    """Seconds that the reward function may take for a process's completions of one step. After that
    the run ends with an error that names the function; the same command resumes. 0: no limit."""
    save_every: int | None = None
    """Steps between checkpoints; by default a quarter of the run. 0: none."""
    save_model: bool = True
    """Whether to keep the trained model."""
    seed: int = 0
    """Seed of prompts and samples."""
    dtype: str = "float32"
    """Number format of the weights: float32 or bfloat16."""
    trl_options: tuple[str, ...] = ()
    """Further options of TRL's GRPOConfig as name=value, such as use_vllm=true warmup_steps=10."""
    device: devices.Device = "auto"
    """Device for training. auto: a GPU where there is one. cuda: a GPU, or an error."""
    log_to: str | tuple[str, ...] = "tensorboard"
    """Trackers that get the metrics too, with spaces or commas between them: tensorboard, trackio,
    wandb, mlflow, comet_ml and the other names of transformers' report_to. none: metrics.jsonl
    alone. Each tracker reads environment variables of its own."""
    output: Path | None = None
    """Folder of the run; runs/MODEL-TASK-RULE-seedN by default."""
    json: Path | None = None
    """Write the run's results (its run.json), or the plan of a dry run, to this file; "-" prints them."""
    dry_run: bool = False
    """Print the plan (tokens, batches, steps, an estimate of memory) and stop: nothing is
    downloaded, loaded or written. WORLD_SIZE=8 before the command plans for one of eight processes,
    --device cuda for a GPU that this machine may lack."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class AuditConfig(TrainConfig):
    """Compare forecast and measured entropy changes over a few optimizer steps."""

    steps: int = 4
    """Optimizer steps, each of them audited."""
    audit_every: int = 1
    kernel_states: int = 6
    """Number of states of each audited step at which logit gradients are compared (Assumption B.4).
    0: none."""
    kernel_actions: int = 4
    """Number of actions compared at each state; each costs a backward and a forward pass."""
    save_every: int | None = 0
    save_model: bool = False
    log_to: str = "none"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """A run whose options were checked, with what they stand for."""

    config: TrainConfig
    """The options, every default filled in."""
    rule: UpdateRule
    trackers: list[str]
    """The trackers, as transformers' report_to takes them."""
    trl_options: dict[str, Any]
    """Options of TRL's GRPOConfig beside those that follow from the run's own."""
    folder: RunFolder
    prompts: int
    """Prompts a step, of all processes together."""
    world: int
    """The number of processes."""


def resolved(config: TrainConfig, *, world: int = 1) -> Run:
    """Check a config, and fill in every default that depends on model or task.

    Args:
        config: as it was asked for.
        world: number of processes.

    Raises:
        ValueError: a name that is unknown (the nearest ones are given), or a number out of range.
        OSError: an output that is a file.
    """
    rule = rule_options.from_texts(config.rule, config.rule_options)
    _check_names(config)
    _check_numbers(config, rule)
    name = Path(config.model).name
    task = config.data.stem if config.data else config.task.replace(":", "-")
    filled: dict[str, Any] = {
        "prompts": 32 if config.model == "small-sums" else 4,
        "learning_rate": LEARNING_RATES.get(
            (config.model, config.task), LEARNING_RATES.get((config.model, None), DEFAULT_LEARNING_RATE)),
        # Whole batches of samples: between them a resumed run would not continue exactly.
        "save_every": round_up(max(1, config.steps // 4), config.iterations * config.mini_batches),
        "output": Path("runs") / f"{name}-{task}-{config.rule.rpartition(':')[2]}-seed{config.seed}",
    }
    filled |= {key: given for key in filled if (given := getattr(config, key)) is not None}
    folder, prompts = RunFolder(filled["output"]), filled["prompts"]
    check_folders(folder.path / "run.json")
    # A run that is there already may be read where its model is not.
    if not folder.described():
        models.check_name(config.model)
    rows = prompts * config.samples
    if rows % (config.micro_batches * world):
        shares = f" x {world} processes" if world > 1 else ""
        raise ValueError(
            f"micro_batches {config.micro_batches}{shares} does not divide the step's {rows} "
            f"completions ({prompts} prompts x {config.samples} samples)"
        )
    run_numbers.check_learning_rate(filled["learning_rate"], config.max_grad_norm)
    if config.audit_every and world > 1:
        raise ValueError("an audit runs in one process: start it without a launcher")
    if config.device == "cuda" and not config.dry_run:
        devices.kind(config.device)
    trl_options = parse_trl_options(config.trl_options)
    if trl_options.get("use_vllm") and importlib.util.find_spec("vllm") is None:
        raise ValueError(
            "use_vllm needs the package vllm, which is not installed: pip install 'trl[vllm]' on a "
            "machine with a GPU, or give trl_options without it"
        )
    return Run(
        config=dataclasses.replace(config, **filled), rule=rule, trackers=trackers(config),
        trl_options=trl_options, folder=folder, prompts=prompts, world=world)


def _check_names(config: TrainConfig) -> None:
    """Raise ValueError for an unknown task, reward, number format or tracker."""
    if config.data is None:
        tasks.check_name(config.task)
    else:
        check_file(config.data, "a JSONL file of prompts and answers")
    if config.reward is not None:
        rewards.get(config.reward)
    run_numbers.check_trained_format(config.dtype)
    check_choice(config.dtype, [name for name in models.DTYPES if name != "float16"], "dtype")
    for tracker in trackers(config):
        check_choice(tracker, TRACKERS, "tracker")
        if TRACKERS[tracker] in EXTRA_OF:
            need(f"log_to {tracker}", TRACKERS[tracker])
        if importlib.util.find_spec(TRACKERS[tracker]) is None:
            raise ValueError(f"log_to {tracker} needs the package {TRACKERS[tracker]}, which is not "
                             "installed: install it, or give log_to none")


def _check_numbers(config: TrainConfig, rule: UpdateRule) -> None:
    """Raise ValueError for a number out of range."""
    run_numbers.check_tempered_fraction(config.tempered_fraction, rule)
    for least, names in LEAST.items():
        for name in names:
            value = getattr(config, name)
            if value is not None and value < least:
                reason = ": rules compare them" if name == "samples" else ""
                raise ValueError(f"{name} must be at least {least}, got {value}{reason}")
    check_reward_timeout(config.reward_timeout)


def trackers(config: TrainConfig) -> list[str]:
    """Return the trackers of a run, as transformers' report_to takes them; none is an empty list."""
    given = (config.log_to,) if isinstance(config.log_to, str) else config.log_to
    names = [name.strip() for text in given for name in text.split(",")]
    return [] if names == ["none"] else names


def round_up(number: int, multiple: int) -> int:
    """Round ``number`` up to the next multiple of ``multiple``."""
    return -(-number // multiple) * multiple


def parse_trl_options(options: tuple[str, ...]) -> dict[str, Any]:
    """Read ``name=value`` texts as options of TRL's GRPOConfig, each of the kind that it has there.

    Raises ValueError for an unknown option, a text without "=", or a value of another kind.
    """
    if not options:
        return {}
    known = _trl_kinds()
    parsed: dict[str, Any] = {}
    for text in options:
        name, equals, value = text.partition("=")
        name = name.replace("-", "_")
        if not equals:
            raise ValueError(
                f"TRL option '{one_line(text)}' is not of the form name=value, as in warmup_steps=10")
        kind = lookup(known, name, "option of TRL's GRPOConfig",
                      "python -m llm_bridge.trainer.trl_options")
        parsed[name] = from_text(kind, value)
        if parsed[name] is NO_MATCH:
            raise ValueError(
                f"TRL option {name} must be {in_words(kind) or kind}, got '{one_line(value)}'")
    return parsed


@functools.cache
def _trl_kinds() -> dict[str, Any]:
    """Return the annotation of each option of TRL's GRPOConfig by name; to import it takes seconds."""
    need("reading options of TRL", "trl")
    from llm_bridge.trainer.trl_release import GRPOConfig

    kinds = typing.get_type_hints(GRPOConfig)
    return {field.name: kinds[field.name] for field in dataclasses.fields(GRPOConfig) if field.init}
