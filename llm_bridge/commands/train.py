"""Trains a model; a run is a folder with its options, the record of each step, and the results.

`llm_bridge.running.run_folder` lists the files. The same command continues an interrupted run from
its last whole checkpoint, to the same numbers as an uninterrupted one. A finished run is not
computed again.

Under a launcher (``accelerate launch``, ``torchrun``) several processes take each step together.
They share its prompts and completions, and all statistics are of the whole step. The main process
writes the files; all processes need access to the folder. Each process draws its own random
numbers, so that a run needs as many processes to continue as began it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
from pathlib import Path
from typing import Any

import transformers

from diagnosis.live import Verdicts
from entropy_theory.support import results, user_code
from llm_bridge.accounting.accountant import Accountant
from llm_bridge.analysis import audit
from llm_bridge.commands.train_config import (
    AuditConfig,
    Run,
    TrainConfig,
    parse_trl_options,
    resolved,
    round_up,
)
from llm_bridge.data import models, rewards, tasks
from llm_bridge.running import checkpoints, devices, ranks
from llm_bridge.running.faults import full_disk_named, tracker_named
from llm_bridge.running.run_folder import FINISHED
from llm_bridge.running.step_log import StepProgress
from llm_bridge.trainer import resuming
from llm_bridge.trainer.entropy_trainer import EntropyTrainer, grpo_config

__all__ = ["AuditConfig", "TrainConfig", "closing_averages", "parse_trl_options", "train"]

PACKAGES = ("torch", "transformers", "trl", "accelerate", "numpy", "reasoning-gym", "math-verify")


def train(asked: TrainConfig | Run) -> dict[str, Any]:
    """Run a training run, continue it, or read a finished one; return what its run.json says.

    While another process is at work in the same folder, this one waits.

    Args:
        asked: the run, or its options, which are checked here.

    Raises:
        ValueError: an unknown name or a bad value, or an output folder with another run in it.
        OSError: an output folder that cannot be written.
    """
    config = asked.config if isinstance(asked, Run) else asked
    ranks.join(cpu=config.device == "cpu")
    run = asked if isinstance(asked, Run) else resolved(asked, world=ranks.count())
    reward = rewards.load_own(config.reward) if config.reward and ":" in config.reward else None
    code = user_code.digests(run.rule, reward)
    # The first of each machine fetches and converts; the others find it done. A run that is there already
    # may be read where its model is not.
    if not run.folder.described():
        ranks.agreed(lambda: models.locate(config.model) if ranks.is_main_of_node() else None)
    with contextlib.ExitStack() as held:
        ranks.agreed(lambda: held.enter_context(run.folder.alone()) if ranks.is_main() else None)
        found = ranks.on_main(lambda: _claim(run, code))
        if found["status"] != FINISHED:
            found = _continued(run, found)
        elif ranks.is_main():
            print(f"already finished: {run.folder.path}", file=sys.stderr)
    return {**found, "output": str(run.folder.path)}


def _continued(run: Run, found: dict[str, Any]) -> dict[str, Any]:
    """Train from the last whole checkpoint on, or from the start, and return what run.json says then."""
    config, folder = run.config, run.folder
    ranks.agreed(lambda: models.locate(config.model) if ranks.is_main_of_node() else None)
    model, tokenizer, task = ranks.agreed(lambda: model_and_task(run))
    provenance = results.provenance(
        config=config, seed=config.seed, device=devices.product(config.device), packages=PACKAGES
    )

    checkpoint = checkpoints.last_whole(folder.checkpoints)
    done = 0 if checkpoint is None else checkpoints.step_of(checkpoint)
    ranks.on_main(lambda: folder.begin(provenance, step=done))
    title = f"{run.rule.name} on {task.name}"
    verdicts = Verdicts(title, records=folder.log.read() if ranks.is_main() else ())
    with StepProgress(config.steps, title=title, done=done, shown=ranks.is_main()) as progress:

        def on_step(record: dict[str, Any]) -> None:
            folder.log.append(record)
            progress.update(record)
            if said := verdicts.add(record):
                progress.say(said)

        trainer = build_trainer(run, model, tokenizer, task, on_step)
        if config.audit_every:
            trainer.add_callback(_auditor(trainer, run, done, provenance))
        with full_disk_named(folder.path), tracker_named(run.trackers):
            trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    if config.save_model:
        with full_disk_named(folder.path):
            _save_model(trainer, tokenizer, folder.model)
    return ranks.on_main(lambda: _finish(run, found, task))


def model_and_task(run: Run) -> tuple[Any, Any, tasks.Task]:
    """Load the model, its tokenizer, and a task of as many prompts as the steps of the run take."""
    config = run.config
    # TRL drops prompts that do not fill a generation.
    task = task_of(config, size=round_up(config.steps, config.mini_batches) * run.prompts)
    transformers.utils.logging.disable_progress_bar()
    model, tokenizer = models.load(config.model, dtype=config.dtype)
    if config.chat_template:
        task = tasks.with_chat_template(task, tokenizer)
    return model, tokenizer, task


def task_of(config: TrainConfig, *, size: int) -> tasks.Task:
    """Load a run's task with so many prompts."""
    return tasks.load(
        str(config.data or config.task), size=size, seed=config.seed, reward=config.reward,
        max_new_tokens=config.max_new_tokens)


def options_of_trl(run: Run, *, max_new_tokens: int) -> dict[str, Any]:
    """Make the options of TRL that a run comes to on one of its processes.

    Raises ValueError for a ``trl_options`` that the config says itself, in other words.
    """
    config = run.config
    rows = run.prompts * config.samples // run.world
    options: dict[str, Any] = {
        "seed": config.seed,
        "use_cpu": config.device == "cpu",
        "per_device_train_batch_size": rows // config.micro_batches,
        "gradient_accumulation_steps": config.micro_batches,
        "steps_per_generation": config.micro_batches * config.mini_batches,
        "num_iterations": config.iterations,
        "num_generations": config.samples,
        "max_completion_length": max_new_tokens,
        "max_steps": config.steps,
        "learning_rate": config.learning_rate,
        "optim": {"adamw": "adamw_torch", "sgd": "sgd"}[config.optimizer],
        "max_grad_norm": config.max_grad_norm,
        "save_strategy": "steps" if config.save_every else "no",
        "save_steps": config.save_every or 1,
        "save_total_limit": 2,
        "report_to": run.trackers,
        "run_name": run.folder.path.name,
        "disable_tqdm": True,
    }
    for name in options.keys() & run.trl_options.keys():
        raise ValueError(f"option {name} of TRL follows from the run's own options: leave it out")
    # A task's prompts come in an order that was drawn.
    return {"shuffle_dataset": False, **options, **run.trl_options}


def build_trainer(
    run: Run, model: Any, tokenizer: Any, task: tasks.Task, on_step: Any = None
) -> EntropyTrainer:
    """Make the trainer of a run."""
    config = run.config
    # TRL reads the folder from the environment alone.
    os.environ["TENSORBOARD_LOGGING_DIR"] = str(run.folder.tensorboard)
    arguments = grpo_config(
        run.folder.checkpoints, **options_of_trl(run, max_new_tokens=task.max_new_tokens))
    trainer = EntropyTrainer(
        model, [task.reward], arguments, rule=run.rule, tempered_fraction=config.tempered_fraction,
        reward_timeout=config.reward_timeout, stop=task.stop, on_step=on_step,
        train_dataset=task.dataset(), processing_class=tokenizer,
    )
    if config.account_every:
        trainer.add_callback(Accountant(
            trainer, every=config.account_every, tokens=config.account_tokens,
            sequences=config.account_sequences or None, offload=config.account_offload))
    trainer.remove_callback(transformers.PrinterCallback)
    return trainer


def _auditor(
    trainer: EntropyTrainer, run: Run, done: int, provenance: dict[str, Any]
) -> audit.Auditor:
    """Make the auditor that writes into the folder of the run, going on after ``done`` steps."""
    config, folder, details = run.config, run.folder, None
    if isinstance(config, AuditConfig):
        details = audit.Details(
            folder=folder.audit_details, kernel_states=config.kernel_states,
            kernel_actions=config.kernel_actions,
        )
    return audit.Auditor(
        trainer, every=config.audit_every, details=details,
        earlier=[step for step in audit.read(folder.audit) if step.step <= done],
        on_audit=lambda steps: audit.write(folder.audit, steps, provenance),
    )


def _save_model(trainer: EntropyTrainer, tokenizer: Any, target: Path) -> None:
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


def _claim(run: Run, code: dict[str, str]) -> dict[str, Any]:
    # Where its options stood, where a run lies and how it is watched does not change its numbers.
    options = {
        key: value for key, value in results.plain(run.config).items()
        if key not in ("config", "recipe", "launcher", "output", "log_to", "reward_timeout", "json",
                       "dry_run")
    }
    return run.folder.claim(
        options, defaults={field.name: field.default for field in dataclasses.fields(run.config)},
        code=code, world_size=run.world, device=devices.product(run.config.device),
        steady_rate=resuming.is_steady(**run.trl_options),
    )


def _finish(run: Run, found: dict[str, Any], task: tasks.Task) -> dict[str, Any]:
    constant, constant_reward = task.constant_answer()
    found = {
        **found,
        "constant_answer": constant,
        "constant_answer_reward": constant_reward,
        "closing": closing_averages(run.folder.log.read()),
    }
    if run.config.audit_every:
        found["audit"] = audit.summary(audit.read(run.folder.audit))
    return run.folder.finish(found)


def closing_averages(records: list[dict[str, Any]]) -> dict[str, float]:
    """Mean of every metric over those steps of the run's last tenth that have it."""
    last = records[-max(1, len(records) // 10) :]
    found = {
        name: [record[name] for record in last if record.get(name) is not None]
        # Some steps have more: those that are accounted for.
        for name in dict.fromkeys(name for record in last for name in record) if name != "step"
    }
    return {name: sum(values) / len(values) for name, values in found.items() if values}
