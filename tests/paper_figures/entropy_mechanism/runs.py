"""Training runs as files, for the figures that read their curves."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tests.paper_figures.conftest import write_run


def write_curve(
    folder: Path, results: Path, *, entropy: np.ndarray, reward: np.ndarray | None = None,
    model: str = "small-sums", seed: int = 0, name: str = "run",
) -> Path:
    """A results folder with the simulations of ``results`` and a GRPO run of these values; ``folder``.

    By default reward follows the law 1.2 - 0.3 e^H.
    """
    run = folder / "runs" / name
    write_run(run, rule="grpo", entropies=[float(h) for h in entropy], model=model, seed=seed)
    reward = 1.2 - 0.3 * np.exp(entropy) if reward is None else reward
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    lines = [json.dumps(row | {"reward": float(r)}) for row, r in zip(rows, reward, strict=True)]
    (run / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    if not (folder / "simulations").exists():
        (folder / "simulations").symlink_to(results / "simulations")
    return folder
