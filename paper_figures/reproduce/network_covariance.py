"""Do Clip-Cov and KL-Cov choose better tokens by their true effect on entropy than by the covariance?

::

    python -m paper_figures.reproduce.network_covariance --runs build/runs/covariance --output FILE

Trains the bundled small model by GRPO, and by both rules with the paper's covariance or with
``covariance="network"``. Each is run on both tasks with some seeds, off-policy as the authors do.
All runs are made in one process, one after the other; an interrupted call goes on where it stopped.
FILE gets the reward and the entropy of each generation, with provenance; a finished call writes it
again from the runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tyro

from entropy_theory.support.results import provenance, write_json
from entropy_theory.support.user_errors import run_command
from llm_bridge.commands.train import PACKAGES, TrainConfig, train
from llm_bridge.running.run_folder import RunFolder

TASKS = ("split", "sum")
COVARIANCES = ("tabular", "network")
MINI_BATCHES = 4
"""Steps on a generation, so that ratios move: so Cui et al. run both rules."""
UNCLIPPED = ("base=grpo", "base.clip_low=1.0", "base.clip_high=1.0")
"""GRPO without a clip that binds, as in the authors' scripts of Clip-Cov."""
CASES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "clip-cov": ("clip-cov", ("ratio=0.05", "lower=0.2", "upper=20.0", *UNCLIPPED), TASKS),
    "kl-cov": ("kl-cov", ("ratio=0.05", "coefficient=1.0", *UNCLIPPED), TASKS),
    "clip-cov-0.01": ("clip-cov", ("ratio=0.01", "lower=0.2", "upper=20.0", *UNCLIPPED), ("split",)),
}
"""Rule, options and tasks. Larger shares than the papers' 2e-4 and 2e-3: a step here has some 200 tokens,
not half a million."""


def configs(runs: Path, *, seeds: int, steps: int, prompts: int) -> Iterator[tuple[str, TrainConfig]]:
    """Yield each run's label and config, seed by seed, so that an interrupted call has whole seeds.

    Plain GRPO, for orientation, is last.
    """
    made = [
        (seed, task, f"{case} {covariance}", rule, (*options, f"covariance={covariance}"))
        for seed in range(seeds) for case, (rule, options, tasks) in CASES.items()
        for task in tasks for covariance in COVARIANCES]
    made += [(seed, task, "grpo", "grpo", ("clip_low=1.0", "clip_high=1.0"))
             for seed in range(seeds) for task in TASKS]
    for seed, task, label, rule, options in made:
        yield label, TrainConfig(
            task=task, rule=rule, rule_options=options, steps=steps, prompts=prompts,
            mini_batches=MINI_BATCHES, seed=seed, save_every=0, save_model=False, log_to="none",
            device="cpu", output=runs / f"{task}-{label.replace(' ', '-')}-seed{seed}",
        )


def record(label: str, config: TrainConfig) -> dict[str, Any]:
    """Reward and entropy of each generation of a finished run: means over its optimizer steps."""
    assert config.output is not None
    steps = RunFolder(config.output).log.read()
    parts = [steps[at : at + MINI_BATCHES] for at in range(0, len(steps), MINI_BATCHES)]
    return {
        "label": label, "task": config.task, "seed": config.seed,
        **{name: [sum(step[name] for step in part) / len(part) for part in parts]
           for name in ("reward", "entropy")},
    }


def compare(*, runs: Path, output: Path, seeds: int = 3, steps: int = 64, prompts: int = 4) -> None:
    """Train the small model by both rules and either covariance, and write reward and entropy.

    An interrupted call goes on where it stopped.

    Args:
        runs: folder of the runs' folders.
        output: the JSON file of the records.
        seeds: number of seeds of each case.
        steps: optimizer steps of each run.
        prompts: prompts per step, 8 samples each.
    """
    settings = {"seeds": seeds, "steps": steps, "prompts": prompts}
    origin = provenance(config={**settings, "cases": CASES}, seed=0, device="cpu", packages=PACKAGES)
    records = []
    for label, config in configs(runs, **settings):
        train(config)
        records.append(record(label, config))
        write_json(output, {"provenance": origin, "records": records})


def main() -> None:
    """Run `compare` from the command line."""
    tyro.cli(compare, prog="python -m paper_figures.reproduce.network_covariance")


if __name__ == "__main__":
    run_command(main)
