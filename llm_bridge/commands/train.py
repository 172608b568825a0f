"""Trains a model; a run is a folder with its options, the record of each step, and the results.

    run.json          options, digests of the user's own code (`user_code.digests`: the files of rules and
                      rewards given by import path), number of processes, constant-answer line, status,
                      closing averages
    provenance.json   commit, versions, device, seed, time
    metrics.jsonl     one line an optimizer step
    audit.json        forecasts beside measured entropy changes, with audit_every
    audit/            tokens and logit kernels of the audited steps, their pages (the audit command)
    checkpoints/      TRL's checkpoints, the controller's state included, each sealed
    tensorboard/      the same metrics for TensorBoard
    model/            the trained model and its tokenizer

The same command continues an interrupted run from its last whole checkpoint, to the same numbers
as an uninterrupted one, and computes a finished run no second time.

Under a launcher (``accelerate launch``, ``torchrun``) several processes take each step together: its
prompts and completions are dealt out over them, and all statistics are those of the whole step. Files
are the main process's; the folder must be one that all of them see. Random numbers are drawn by each
process, so that a run is continued by as many as began it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import math
import os
import shutil
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import transformers
from trl import GRPOConfig

from entropy_theory import update_rules
from entropy_theory.support import results, user_code
from entropy_theory.support.user_errors import lookup
from entropy_theory.typed_values import NO_MATCH, from_text
from entropy_theory.update_rules import rule_options
from llm_bridge.analysis import audit
from llm_bridge.data import models, rewards, tasks
from llm_bridge.running import checkpoints, ranks
from llm_bridge.running.step_log import StepLog, StepProgress
from llm_bridge.sampling import sampling
from llm_bridge.trainer.entropy_trainer import EntropyTrainer, grpo_config

LEARNING_RATES = {
    ("small-sums", "split"): 3e-4,
    ("small-sums", "sum"): 1e-4,
    ("smollm2-135m-instruct", None): 5e-6,
}
DEFAULT_LEARNING_RATE = 1e-6
PACKAGES = ("torch", "transformers", "trl", "accelerate", "numpy", "reasoning-gym", "math-verify")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TrainConfig:
    """Train a model with an update rule."""

    model: str = "small-sums"
    """Bundled name (small-sums, smollm2-135m-instruct), folder in Hugging Face format, or hub id."""
    task: str = "split"
    """Task name (sum, split, chain-sum, products, reasoning-gym:NAME)."""
    data: Path | None = None
    """JSONL file of {"prompt": ..., "answer": ...} lines, in place of a named task."""
    reward: str | None = None
    """Reward function: a name, my_rewards.py:score or module:function; the task's own by default."""
    rule: str = "grpo"
    """Update rule: reinforce, grpo, gspo, clip-higher, entropy-bonus, entropy-advantage, reference-kl
    (keeps a frozen copy of the starting model: its weights take memory once more), clip-cov, kl-cov
    (acts with iterations above 1), aepo, aent; or your own, as my_rules.py:Thrifty."""
    rule_options: tuple[str, ...] = ()
    """The rule's options as name=value, such as alpha=3 target=0.6; those of a rule that it modifies
    with a dot, such as base=grpo base.clip_high=0.28."""
    steps: int = 160
    """Number of optimizer steps."""
    prompts: int | None = None
    """Prompts a step, of all processes together; 32 for small-sums, else 4."""
    samples: int = 8
    """Number of completions of each prompt."""
    iterations: int = 1
    """Optimizer steps on each batch of samples; from the second on they are off-policy."""
    mini_batches: int = 1
    """Optimizer steps on each generation, each on its own share of the completions: a generation has
    this many times the prompts of a step. From the second step on they are off-policy."""
    tempered_fraction: float = 1.0
    """Share of the prompts answered again in a second batch (aepo); the authors' code has 0.25."""
    learning_rate: float | None = None
    """Learning rate; default 3e-4 for small-sums on split, 1e-4 on sum, 5e-6 for SmolLM2, else 1e-6."""
    optimizer: Literal["adamw", "sgd"] = "adamw"
    """The optimizer; sgd has neither momentum nor weight decay."""
    max_grad_norm: float = 1.0
    """Gradients are scaled down to this norm; 0 leaves them as they are."""
    micro_batches: int = 1
    """Parts into which each process cuts its rows of a step: more take less memory, and one more forward
    pass."""
    max_new_tokens: int | None = None
    """Longest completion, in tokens; the task's own limit by default."""
    chat_template: bool = False
    """Render each prompt as a user's turn of the model's chat template."""
    audit_every: int = 0
    """Compare forecast and measured entropy change at every N-th step; 0: never."""
    save_every: int | None = None
    """Steps between checkpoints, 0: none; by default a quarter of the run."""
    save_model: bool = True
    """Whether to keep the trained model."""
    seed: int = 0
    """Seed of prompts and samples."""
    dtype: str = "float32"
    """Number format of the weights: float32 or bfloat16."""
    trl_options: tuple[str, ...] = ()
    """Further options of TRL's GRPOConfig as name=value, such as use_vllm=true warmup_steps=10."""
    device: Literal["auto", "cuda", "cpu"] = "auto"
    """Where the model is trained. auto: a GPU where there is one; cuda: a GPU, or an error."""
    log_to: Literal["tensorboard", "trackio", "none"] = "tensorboard"
    """Where metrics go beside metrics.jsonl."""
    output: Path | None = None
    """Folder of the run; runs/MODEL-TASK-RULE-seedN by default."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class AuditConfig(TrainConfig):
    """Compare forecast and measured entropy changes over a few optimizer steps."""

    steps: int = 4
    """Optimizer steps, each of them audited."""
    audit_every: int = 1
    kernel_states: int = 6
    """At how many states of each audited step logit gradients are compared (Assumption B.4); 0: none."""
    kernel_actions: int = 4
    """How many actions are compared at each state; every one costs a pass backward and one forward."""
    save_every: int | None = 0
    save_model: bool = False
    log_to: Literal["tensorboard", "trackio", "none"] = "none"


def train(config: TrainConfig) -> dict[str, Any]:
    """Run a training run, continue it, or read a finished one; return what its run.json says.

    Raises:
        ValueError: an unknown name or a bad value, or an output folder with another run in it.
        OSError: an output folder that cannot be written.
    """
    ranks.join(cpu=config.device == "cpu")
    config = _resolved(config)
    rule = rule_options.from_texts(config.rule, config.rule_options)
    assert config.output is not None
    output = config.output
    reward = rewards.load_own(config.reward) if config.reward and ":" in config.reward else None
    code = user_code.digests(rule, reward)
    found = ranks.on_main(lambda: _claim(output, config, code))
    if found["status"] == "finished":
        if ranks.is_main():
            print(f"already finished: {output}", file=sys.stderr)
        return {**found, "output": str(output)}
    # The first of each machine fetches and converts; the others find it done.
    ranks.agreed(lambda: models.locate(config.model) if ranks.is_main_of_node() else None)
    model, tokenizer, task = ranks.agreed(lambda: _model_and_task(config))
    provenance = results.provenance(
        config=config, seed=config.seed, device=_device_name(config), packages=PACKAGES
    )
    log = StepLog(output / "metrics.jsonl")

    def prepare_folder() -> Path | None:
        results.write_json(output / "provenance.json", provenance)
        checkpoint = checkpoints.last_whole(output / "checkpoints")
        log.keep_until(0 if checkpoint is None else checkpoints.step_of(checkpoint))
        return checkpoint

    checkpoint = ranks.on_main(prepare_folder)
    done = 0 if checkpoint is None else checkpoints.step_of(checkpoint)
    title = f"{rule.name} on {task.name}"
    with StepProgress(config.steps, title=title, done=done, shown=ranks.is_main()) as progress:

        def on_step(record: dict[str, Any]) -> None:
            log.append(record)
            progress.update(record)

        trainer = build_trainer(config, model, tokenizer, task, rule, on_step)
        if config.audit_every:
            trainer.add_callback(_auditor(trainer, config, done, provenance))
        with _full_disk_named(output):
            trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    if config.save_model:
        with _full_disk_named(output):
            _save(trainer, tokenizer, output / "model")
    found = ranks.on_main(lambda: _finish(config, found, task, log))
    return {**found, "output": str(output)}


def _model_and_task(config: TrainConfig) -> tuple[Any, Any, tasks.Task]:
    assert config.prompts is not None
    # TRL drops prompts that do not fill a generation.
    size = _round_up(config.steps, config.mini_batches) * config.prompts
    task = tasks.load(
        str(config.data or config.task), size=size, seed=config.seed,
        reward=config.reward, max_new_tokens=config.max_new_tokens,
    )
    transformers.utils.logging.disable_progress_bar()
    model, tokenizer = models.load(config.model, dtype=config.dtype)
    if config.chat_template:
        task = tasks.with_chat_template(task, tokenizer)
    sampling.check_room(model, tokenizer, list(dict.fromkeys(task.prompts)), task.max_new_tokens)
    models.sample_plainly(model, tokenizer, task.stop)
    return model, tokenizer, task


def _finish(
    config: TrainConfig, found: dict[str, Any], task: tasks.Task, log: StepLog
) -> dict[str, Any]:
    """Write what a finished run's run.json says, and drop what only a resumption needs."""
    assert config.output is not None
    constant, constant_reward = task.constant_answer()
    records = log.read()
    found = {
        **found,
        "status": "finished",
        "constant_answer": constant,
        "constant_answer_reward": constant_reward,
        "closing": closing_averages(records),
    }
    if config.audit_every:
        found["audit"] = audit.summary(audit.read(config.output / "audit.json"))
    results.write_json(config.output / "run.json", found)
    shutil.rmtree(config.output / "checkpoints", ignore_errors=True)
    return found


def build_trainer(
    config: TrainConfig, model: Any, tokenizer: Any, task: tasks.Task,
    rule: update_rules.UpdateRule, on_step: Any = None,
) -> EntropyTrainer:
    """Make the trainer of a resolved config."""
    assert config.output is not None
    assert config.prompts is not None
    rows = config.prompts * config.samples // ranks.count()
    # TRL reads the folder from the environment alone.
    os.environ["TENSORBOARD_LOGGING_DIR"] = str(config.output / "tensorboard")
    options: dict[str, Any] = {
        "seed": config.seed,
        "use_cpu": config.device == "cpu",
        "per_device_train_batch_size": rows // config.micro_batches,
        "gradient_accumulation_steps": config.micro_batches,
        "steps_per_generation": config.micro_batches * config.mini_batches,
        "num_iterations": config.iterations,
        "num_generations": config.samples,
        "max_completion_length": task.max_new_tokens,
        "max_steps": config.steps,
        "learning_rate": config.learning_rate,
        "optim": {"adamw": "adamw_torch", "sgd": "sgd"}[config.optimizer],
        "max_grad_norm": config.max_grad_norm,
        "save_strategy": "steps" if config.save_every else "no",
        "save_steps": config.save_every or 1,
        "save_total_limit": 2,
        "report_to": config.log_to,
        "disable_tqdm": True,
    }
    further = parse_trl_options(config.trl_options)
    for name in options.keys() & further.keys():
        raise ValueError(f"option {name} of TRL follows from the run's own options: leave it out")
    arguments = grpo_config(config.output / "checkpoints", **options, **further)
    trainer = EntropyTrainer(
        model, [task.reward], arguments, rule=rule, tempered_fraction=config.tempered_fraction,
        on_step=on_step, train_dataset=task.dataset(), processing_class=tokenizer,
    )
    trainer.remove_callback(transformers.PrinterCallback)
    return trainer


def parse_trl_options(options: tuple[str, ...]) -> dict[str, Any]:
    """Read ``name=value`` texts as options of TRL's GRPOConfig, each of the kind that it has there.

    Raises ValueError for an unknown option, a text without "=", or a value of another kind.
    """
    kinds = typing.get_type_hints(GRPOConfig)
    fields = {field.name: field for field in dataclasses.fields(GRPOConfig) if field.init}
    parsed: dict[str, Any] = {}
    for text in options:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"TRL option '{text}' is not of the form name=value, as in warmup_steps=10")
        lookup(fields, name, "option of TRL's GRPOConfig")
        parsed[name] = from_text(kinds[name], value)
        if parsed[name] is NO_MATCH:
            raise ValueError(f"TRL option {name} must be {kinds[name]}, got '{value}'")
    return parsed


def closing_averages(records: list[dict[str, Any]]) -> dict[str, float]:
    """Return the mean of every metric over those steps of the run's last tenth that have it."""
    last = records[-max(1, len(records) // 10) :]
    found = {
        name: [record[name] for record in last if record.get(name) is not None]
        for name in last[-1] if name != "step"
    }
    return {name: sum(values) / len(values) for name, values in found.items() if values}


def _resolved(config: TrainConfig) -> TrainConfig:
    """Check the config and fill in every default that depends on model or task."""
    small = config.model == "small-sums"
    rate = LEARNING_RATES.get(
        (config.model, config.task),
        LEARNING_RATES.get((config.model, None), DEFAULT_LEARNING_RATE),
    )
    name = Path(config.model).name
    task = config.data.stem if config.data else config.task.replace(":", "-")
    filled: dict[str, Any] = {
        "prompts": 32 if small else 4,
        "learning_rate": rate,
        # Whole batches of samples: between them a resumed run would not continue exactly.
        "save_every": _round_up(
            max(1, config.steps // 4), max(1, config.iterations * config.mini_batches)
        ),
        "output": Path("runs") / f"{name}-{task}-{config.rule.rpartition(':')[2]}-seed{config.seed}",
    }
    missing = {key: value for key, value in filled.items() if getattr(config, key) is None}
    config = dataclasses.replace(config, **missing)
    for label in ("steps", "prompts", "micro_batches", "mini_batches", "iterations"):
        if getattr(config, label) < 1:
            raise ValueError(f"{label} must be at least 1, got {getattr(config, label)}")
    if config.samples < 2:
        raise ValueError(f"samples must be at least 2, got {config.samples}: rules compare them")
    assert config.prompts is not None
    rows, world = config.prompts * config.samples, ranks.count()
    if rows % (config.micro_batches * world):
        shares = f" x {world} processes" if world > 1 else ""
        raise ValueError(
            f"micro_batches {config.micro_batches}{shares} does not divide the step's {rows} "
            f"completions ({config.prompts} prompts x {config.samples} samples)"
        )
    for label in ("audit_every", "save_every", "max_grad_norm"):
        if getattr(config, label) < 0:
            raise ValueError(f"{label} must be at least 0, got {getattr(config, label)}")
    if not (config.learning_rate is not None and 0 < config.learning_rate < math.inf):
        raise ValueError(f"learning_rate must be above 0 and finite, got {config.learning_rate}")
    if config.dtype == "float16":
        raise ValueError("float16 weights overflow in training: give dtype float32 or bfloat16")
    if config.audit_every and ranks.count() > 1:
        raise ValueError("an audit runs in one process: start it without a launcher")
    if config.log_to == "trackio" and importlib.util.find_spec("trackio") is None:
        raise ValueError("log_to trackio needs the package trackio: pip install trackio")
    if config.device == "cuda" and _device_name(config) == "cpu":
        raise ValueError(
            "device cuda asks for a GPU, and torch finds none: see that `nvidia-smi` lists it, or give "
            "device auto or cpu"
        )
    asks_vllm = parse_trl_options(config.trl_options).get("use_vllm")
    if asks_vllm and importlib.util.find_spec("vllm") is None:
        raise ValueError(
            "use_vllm needs the package vllm, which is not installed: pip install 'trl[vllm]' on a "
            "machine with a GPU, or give trl_options without it"
        )
    return config


def _round_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def _claim(output: Path, config: TrainConfig, code: dict[str, str]) -> dict[str, Any]:
    """Return the content of run.json; it is written now if the folder is new, or has no step logged.

    Raises ValueError when the folder holds a run with other options, with a rule or reward whose file has
    changed since (``code``), with another number of processes, or begun on a GPU that is missing now.
    """
    # Where a run lies and how it is watched does not change its numbers.
    options = {
        key: value for key, value in results.plain(config).items() if key not in ("output", "log_to")
    }
    path = output / "run.json"
    if path.exists():
        found: dict[str, Any] = results.read_json(path)
        # An option that the folder's version did not have was what its default is now.
        defaults = {field.name: field.default for field in dataclasses.fields(config)}
        differ = [key for key in options
                  if found["options"].get(key, defaults[key]) != options[key]]
        # A mistake that is found only after the folder was made must not take the folder.
        begun = found["status"] == "finished" or StepLog(output / "metrics.jsonl").read()
        if differ and begun:
            raise ValueError(
                f"{output} holds a run with other options ({', '.join(differ)}): choose another "
                "output folder, or delete this one"
            )
        changed = [name for name in code if found.get("code", code).get(name) != code[name]]
        if changed and begun:
            raise ValueError(
                f"{output} holds a run with another version of {', '.join(changed)}: choose another "
                "output folder, or bring the file back to what it was"
            )
        if found["status"] == "finished":
            return found
        world = found.get("world_size", 1)
        if begun and world != ranks.count():
            raise ValueError(
                f"{output} holds a run of {world} processes, and this is one of {ranks.count()}: "
                f"continue it with {world} (each has its own random numbers), or choose another "
                "output folder"
            )
        device = _device_begun_on(output) if begun else "cpu"
        if device != "cpu" and _device_name(config) == "cpu":
            raise ValueError(
                f"{output} holds a run that began on {device}, and torch finds no GPU now: see that "
                "`nvidia-smi` lists it, or choose another output folder (a CPU rounds otherwise)"
            )
    elif (output / "checkpoints").exists():
        raise ValueError(
            f"{output} holds checkpoints of something else, which a run would replace: choose "
            "another output folder"
        )
    found = {"status": "running", "options": options, "code": code, "world_size": ranks.count()}
    results.write_json(path, found)
    return found


def _device_begun_on(output: Path) -> str:
    path = output / "provenance.json"
    return str(results.read_json(path)["device"]) if path.exists() else "cpu"


@contextlib.contextmanager
def _full_disk_named(output: Path) -> Iterator[None]:
    """Turn the errors that libraries raise for a full disk, each its own, into one OSError."""
    try:
        yield
    except Exception as error:
        # safetensors says so and removes what it wrote; torch leaves it, and says something else.
        if "No space left" in str(error) or shutil.disk_usage(output).free < 2**20:
            raise OSError(
                f"no space left for {output}: free some or choose another output directory"
            ) from error
        raise


def _auditor(
    trainer: EntropyTrainer, config: TrainConfig, done: int, provenance: dict[str, Any]
) -> audit.Auditor:
    assert config.output is not None
    path = config.output / "audit.json"
    details = None
    if isinstance(config, AuditConfig):
        details = audit.Details(
            folder=config.output / "audit", kernel_states=config.kernel_states,
            kernel_actions=config.kernel_actions,
        )
    return audit.Auditor(
        trainer,
        every=config.audit_every,
        details=details,
        earlier=[step for step in audit.read(path) if step.step <= done],
        on_audit=lambda steps: audit.write(path, steps, provenance),
    )


def _save(trainer: EntropyTrainer, tokenizer: Any, target: Path) -> None:
    """Write the model to a folder, whole or not at all; sharded weights are gathered from all ranks."""

    def fill(folder: Path | None) -> None:
        folder = ranks.on_main(lambda: folder)
        assert folder is not None
        trainer.save_model(str(folder))
        if ranks.is_main():
            tokenizer.save_pretrained(folder)

    if ranks.is_main():
        models.install_folder(target, fill)
    else:
        fill(None)


def _device_name(config: TrainConfig) -> str:
    import torch

    if config.device == "cpu" or not torch.cuda.is_available():
        return "cpu"
    return torch.cuda.get_device_name(0)
