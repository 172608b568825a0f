"""Puts a training run together: model, task, trainer and auditor of a config, and the model it leaves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import transformers

from entropy_theory import update_rules
from llm_bridge.accounting.accountant import Accountant
from llm_bridge.analysis import audit
from llm_bridge.commands.train_config import (
    AuditConfig,
    TrainConfig,
    parse_trl_options,
    round_up,
    trackers,
)
from llm_bridge.data import models, tasks
from llm_bridge.running import ranks
from llm_bridge.running.run_folder import RunFolder
from llm_bridge.trainer.entropy_trainer import EntropyTrainer, grpo_config


def model_and_task(config: TrainConfig) -> tuple[Any, Any, tasks.Task]:
    """Load the model, its tokenizer, and a task of as many prompts as the steps of the run take."""
    assert config.prompts is not None
    # TRL drops prompts that do not fill a generation.
    size = round_up(config.steps, config.mini_batches) * config.prompts
    task = tasks.load(
        str(config.data or config.task), size=size, seed=config.seed,
        reward=config.reward, max_new_tokens=config.max_new_tokens,
    )
    transformers.utils.logging.disable_progress_bar()
    model, tokenizer = models.load(config.model, dtype=config.dtype)
    if config.chat_template:
        task = tasks.with_chat_template(task, tokenizer)
    return model, tokenizer, task


def options_of_trl(config: TrainConfig, *, max_new_tokens: int, world: int) -> dict[str, Any]:
    """Make the options of TRL that a resolved config comes to on one of ``world`` processes.

    Raises ValueError for a ``trl_options`` that the config says itself, in other words.
    """
    assert config.output is not None
    assert config.prompts is not None
    rows = config.prompts * config.samples // world
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
        "report_to": trackers(config),
        "run_name": config.output.name,
        "disable_tqdm": True,
    }
    further = parse_trl_options(config.trl_options)
    for name in options.keys() & further.keys():
        raise ValueError(f"option {name} of TRL follows from the run's own options: leave it out")
    # A task's prompts come in an order that was drawn.
    return {"shuffle_dataset": False, **options, **further}


def build_trainer(
    config: TrainConfig, model: Any, tokenizer: Any, task: tasks.Task,
    rule: update_rules.UpdateRule, on_step: Any = None,
) -> EntropyTrainer:
    """Make the trainer of a resolved config."""
    assert config.output is not None
    # TRL reads the folder from the environment alone.
    os.environ["TENSORBOARD_LOGGING_DIR"] = str(RunFolder(config.output).tensorboard)
    arguments = grpo_config(
        RunFolder(config.output).checkpoints,
        **options_of_trl(config, max_new_tokens=task.max_new_tokens, world=ranks.count()))
    trainer = EntropyTrainer(
        model, [task.reward], arguments, rule=rule, tempered_fraction=config.tempered_fraction,
        reward_timeout=config.reward_timeout, stop=task.stop, on_step=on_step,
        train_dataset=task.dataset(), processing_class=tokenizer,
    )
    if config.account_every:
        trainer.add_callback(Accountant(
            trainer, every=config.account_every, tokens=config.account_tokens,
            sequences=config.account_sequences or None))
    trainer.remove_callback(transformers.PrinterCallback)
    return trainer


def auditor(
    trainer: EntropyTrainer, config: TrainConfig, done: int, provenance: dict[str, Any]
) -> audit.Auditor:
    """Make the auditor that writes into the folder of the run, going on after ``done`` steps."""
    assert config.output is not None
    folder = RunFolder(config.output)
    details = None
    if isinstance(config, AuditConfig):
        details = audit.Details(
            folder=folder.audit_details, kernel_states=config.kernel_states,
            kernel_actions=config.kernel_actions,
        )
    return audit.Auditor(
        trainer,
        every=config.audit_every,
        details=details,
        earlier=[step for step in audit.read(folder.audit) if step.step <= done],
        on_audit=lambda steps: audit.write(folder.audit, steps, provenance),
    )


def save_model(trainer: EntropyTrainer, tokenizer: Any, target: Path) -> None:
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
