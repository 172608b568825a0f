"""The train command in two processes, as test_processes and test_runs_left_alone start it."""

import dataclasses
import os
import subprocess
import sys
import time
from pathlib import Path

import llm_bridge
from llm_bridge.commands import train as training
from llm_bridge.running import step_log
from tests.llm_bridge import forked_ranks

SECONDS = 60
"""What the other ranks may take to end: they wait 10 s for the one that failed to speak (`LAST_WORDS`),
and the launcher 30 s for those that it asks to end."""
REPOSITORY = Path(__file__).parents[2]
CONFIG = Path(llm_bridge.__file__).parent / "accelerate_configs" / "ddp.yaml"


def options_of(config: training.TrainConfig) -> list[str]:
    """The options of a config that are not at their defaults, as they are typed."""
    options: list[str] = []
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if value == field.default:
            continue
        name = "--" + field.name.replace("_", "-")
        if isinstance(value, bool):
            options.append(name if value else "--no-" + name.removeprefix("--"))
        else:
            options += [name, *(value if isinstance(value, tuple) else (str(value),))]
    return options


def fork(config: training.TrainConfig, **environment: str) -> subprocess.CompletedProcess:
    """Two ranks, sooner started than by a launcher."""
    return forked_ranks.run("llm_bridge", "train", *options_of(config), **environment)


def launch(config: training.TrainConfig, **environment: str) -> subprocess.CompletedProcess:
    """The command of the README."""
    return subprocess.run(
        [sys.executable, "-m", "accelerate.commands.launch", "--config_file", str(CONFIG),
         "--num_processes", "2", "--main_process_port", "0",
         "-m", "llm_bridge", "train", *options_of(config)],
        cwd=REPOSITORY, capture_output=True, text=True, check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "",
             **environment},
        timeout=200,  # ranks that wait for each other would wait for half an hour
    )


def seconds_since(failed: Path) -> float:
    """How long ago a rank failed (rewards_that_fail's $FAILED)."""
    return time.time() - failed.stat().st_mtime


def numbers(folder: Path) -> list[dict]:
    """metrics.jsonl without the one thing that no rerun can repeat."""
    return [
        {key: value for key, value in record.items() if key != "seconds"}
        for record in step_log.StepLog(folder / "metrics.jsonl").read()
    ]
