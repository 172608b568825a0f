"""Trains a model; a run is a folder with its options, the record of each step, and the results.

`llm_bridge.running.run_folder` lists the files. The same command continues an interrupted run from its
last whole checkpoint, to the same numbers as an uninterrupted one, and computes a finished run no second
time.

Under a launcher (``accelerate launch``, ``torchrun``) several processes take each step together: its
prompts and completions are dealt out over them, and all statistics are those of the whole step. Files
are the main process's; the folder must be one that all of them see. Random numbers are drawn by each
process, so that a run is continued by as many as began it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from typing import Any

from entropy_theory.support import results, user_code
from entropy_theory.update_rules import UpdateRule, rule_options
from llm_bridge.analysis import audit
from llm_bridge.commands.assembly import auditor, build_trainer, model_and_task, save_model
from llm_bridge.commands.train_config import (
    AuditConfig,
    TrainConfig,
    device_name,
    parse_trl_options,
    resolved,
    trackers,
)
from llm_bridge.data import models, rewards, tasks
from llm_bridge.running import checkpoints, ranks
from llm_bridge.running.faults import full_disk_named, tracker_named
from llm_bridge.running.run_folder import FINISHED, RunFolder
from llm_bridge.running.step_log import StepProgress
from llm_bridge.trainer import resuming

__all__ = ["AuditConfig", "TrainConfig", "closing_averages", "parse_trl_options", "train"]

PACKAGES = ("torch", "transformers", "trl", "accelerate", "numpy", "reasoning-gym", "math-verify")


def train(config: TrainConfig) -> dict[str, Any]:
    """Run a training run, continue it, or read a finished one; return what its run.json says.

    While another process is at work in the same folder, this one waits.

    Raises:
        ValueError: an unknown name or a bad value, or an output folder with another run in it.
        OSError: an output folder that cannot be written.
    """
    ranks.join(cpu=config.device == "cpu")
    config = resolved(config)
    rule = rule_options.from_texts(config.rule, config.rule_options)
    assert config.output is not None
    folder, output = RunFolder(config.output), str(config.output)
    reward = rewards.load_own(config.reward) if config.reward and ":" in config.reward else None
    code = user_code.digests(rule, reward)
    # The first of each machine fetches and converts; the others find it done. A run that is there already
    # may be read where its model is not.
    if not folder.described():
        ranks.agreed(lambda: models.locate(config.model) if ranks.is_main_of_node() else None)
    with contextlib.ExitStack() as held:
        ranks.agreed(lambda: held.enter_context(folder.alone()) if ranks.is_main() else None)
        found = ranks.on_main(lambda: _claim(folder, config, code))
        if found["status"] != FINISHED:
            found = _continued(config, folder, rule, found)
        elif ranks.is_main():
            print(f"already finished: {output}", file=sys.stderr)
    return {**found, "output": output}


def _continued(
    config: TrainConfig, folder: RunFolder, rule: UpdateRule, found: dict[str, Any]
) -> dict[str, Any]:
    """Train from the last whole checkpoint on, or from the start, and return what run.json says then."""
    ranks.agreed(lambda: models.locate(config.model) if ranks.is_main_of_node() else None)
    model, tokenizer, task = ranks.agreed(lambda: model_and_task(config))
    provenance = results.provenance(
        config=config, seed=config.seed, device=device_name(config), packages=PACKAGES
    )

    checkpoint = checkpoints.last_whole(folder.checkpoints)
    done = 0 if checkpoint is None else checkpoints.step_of(checkpoint)
    ranks.on_main(lambda: folder.begin(provenance, step=done))
    title = f"{rule.name} on {task.name}"
    with StepProgress(config.steps, title=title, done=done, shown=ranks.is_main()) as progress:

        def on_step(record: dict[str, Any]) -> None:
            folder.log.append(record)
            progress.update(record)

        trainer = build_trainer(config, model, tokenizer, task, rule, on_step)
        if config.audit_every:
            trainer.add_callback(auditor(trainer, config, done, provenance))
        with full_disk_named(folder.path), tracker_named(trackers(config)):
            trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    if config.save_model:
        with full_disk_named(folder.path):
            save_model(trainer, tokenizer, folder.model)
    return ranks.on_main(lambda: _finish(config, folder, found, task))


def _claim(folder: RunFolder, config: TrainConfig, code: dict[str, str]) -> dict[str, Any]:
    # Where its options stood, where a run lies and how it is watched does not change its numbers.
    options = {
        key: value for key, value in results.plain(config).items()
        if key not in ("config", "recipe", "launcher", "output", "log_to", "reward_timeout", "json",
                       "dry_run")
    }
    return folder.claim(
        options, defaults={field.name: field.default for field in dataclasses.fields(config)},
        code=code, world_size=ranks.count(), device=device_name(config),
        steady_rate=resuming.is_steady(**parse_trl_options(config.trl_options)),
    )


def _finish(
    config: TrainConfig, folder: RunFolder, found: dict[str, Any], task: tasks.Task
) -> dict[str, Any]:
    constant, constant_reward = task.constant_answer()
    found = {
        **found,
        "constant_answer": constant,
        "constant_answer_reward": constant_reward,
        "closing": closing_averages(folder.log.read()),
    }
    if config.audit_every:
        found["audit"] = audit.summary(audit.read(folder.audit))
    return folder.finish(found)


def closing_averages(records: list[dict[str, Any]]) -> dict[str, float]:
    """Mean of every metric over those steps of the run's last tenth that have it."""
    last = records[-max(1, len(records) // 10) :]
    found = {
        name: [record[name] for record in last if record.get(name) is not None]
        # Some steps have more: those that are accounted for.
        for name in dict.fromkeys(name for record in last for name in record) if name != "step"
    }
    return {name: sum(values) / len(values) for name, values in found.items() if values}
