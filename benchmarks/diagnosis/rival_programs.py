"""Runs other programs that judge a training log, in the environment where they are installed.

    python rival_programs.py RECORDS.json FOUND.json [FOLDER_OF_POST_TRAINING_TOOLKIT]

RECORDS.json: {run: [{name of TRL: number}, ...]}. FOUND.json: {program: {run: [[finding, severity]]}}.
Nothing of this repository is imported, so that the programs need not be installed beside it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

Records = list[dict[str, float]]
Found = list[list[str]]

TO_RLWATCH = {"entropy": "entropy", "kl": "kl_divergence", "reward": "reward_mean",
              "reward_std": "reward_std", "loss": "loss", "learning_rate": "learning_rate",
              "clip_ratio/region_mean": "clip_fraction", "grad_norm": "grad_norm"}
TO_RLPROBE = {
    "reward": "reward_mean", "reward_std": "reward_std", "kl": "kl_mean", "entropy": "entropy_mean",
    "frac_reward_zero_std": "zero_variance_group_frac", "clip_ratio/region_mean": "clip_fraction",
    "loss": "loss", "learning_rate": "lr", "grad_norm": "grad_norm",
    "completions/mean_length": "completion_len_mean", "completions/clipped_ratio": "truncation_rate"}
TO_TOOLKIT = {
    "reward": ("reward_mean", "group_reward_mean"), "reward_std": ("reward_std", "group_reward_std"),
    "loss": ("grpo_loss",), "kl": ("kl",), "entropy": ("entropy",), "grad_norm": ("grad_norm",),
    "completions/mean_length": ("completion_length", "output_length_mean"),
    "completions/clipped_ratio": ("truncation_rate",), "clip_ratio/region_mean": ("clip_fraction",)}
"""More than its own callback for TRL passes on, which knows fewer names."""


def rldoctor(records: Records) -> Found:
    from rl_doctor.diagnosis import diagnose
    from rl_doctor.ingest import run_from_records

    return [[one.detector, one.severity.name.lower()]
            for one in diagnose(run_from_records(records)).problems]


def rlprobe(records: Records) -> Found:
    from rlprobe.doctor import RunView, diagnose_view
    from rlprobe.schemas import RunManifest, StepRecord

    steps = []
    for record in records:
        values: dict[str, Any] = {TO_RLPROBE[name]: value for name, value in record.items()
                                  if name in TO_RLPROBE}
        values["reward_components"] = {name.split("/")[1]: value for name, value in record.items()
                                       if name.startswith("rewards/") and name.endswith("/mean")}
        steps.append(StepRecord(step=int(record["step"]), **values))
    manifest = RunManifest(run_id="run", created_at="2026-01-01T00:00:00", algorithm="grpo")
    return [[one.signature_id.lower(), one.severity] for one in diagnose_view(RunView(manifest, steps))]


def rlwatch(records: Records) -> Found:
    from rlwatch.config import load_config
    from rlwatch.core import RLWatch

    found: dict[tuple[str, str], None] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        config = load_config(None)
        config.storage.log_dir = folder
        watch = RLWatch(config)
        for record in records:
            values = {TO_RLWATCH[name]: value for name, value in record.items() if name in TO_RLWATCH}
            for alert in watch.log_step(int(record["step"]), **values):
                found[(alert.detector, alert.severity)] = None
        watch.store.close()
    return [list(one) for one in found]


def toolkit(folder: str) -> Callable[[Records], Found]:
    # Its own first file imports trainers; the rules alone need none.
    package = types.ModuleType("post_training_toolkit")
    package.__path__ = [f"{folder}/post_training_toolkit"]
    sys.modules["post_training_toolkit"] = package
    import pandas
    from post_training_toolkit.models.heuristics import TrainerType, run_heuristics

    def found(records: Records) -> Found:
        table = pandas.DataFrame.from_records([
            {"step": record["step"]} | {own: value for name, value in record.items()
                                        for own in TO_TOOLKIT.get(name, ())}
            for record in records])
        return [[one.type, one.severity] for one in run_heuristics(table, TrainerType.GRPO)]

    return found


def main(source: str, target: str, folder: str | None = None) -> None:
    logging.disable()
    runs: dict[str, Records] = json.loads(Path(source).read_text())
    programs: dict[str, Callable[[Records], Found]] = {
        "rldoctor": rldoctor, "rlprobe": rlprobe, "rlwatch": rlwatch}
    if folder is not None:
        programs["post-training-toolkit"] = toolkit(folder)
    found: dict[str, dict[str, Found]] = {}
    for program, judge in programs.items():
        try:
            found[program] = {name: judge(records) for name, records in runs.items()}
        except ImportError as error:
            print(f"{program} is not installed: {error}", file=sys.stderr)
    Path(target).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
