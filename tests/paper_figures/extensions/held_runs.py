"""Made-up records of the comparison of what holds a target."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

TARGETS = {
    "constant": np.full(20, 0.4),
    "step": np.repeat([0.8, 0.4], 10),
    "ramp": np.linspace(0.8, 0.4, 20),
    "sine": 0.6 + 0.2 * np.sin(np.arange(20) / 3),
}


def record(controller: str, seed: int, off: float, *, shape: str = "step", task: str = "split",
           learning_rate: float = 3e-4, other_prompts: bool = False, low: float = 0.4,
           **about: Any) -> dict[str, Any]:
    """A run whose entropy is ``off`` above its target; a step goes from 0.8 to 0.4.

    Another ``low`` is but said: entropies are those of 0.4.
    """
    target = TARGETS[shape]
    run = {"controller": controller, "seed": seed, "shape": shape, "low": low, "high": 0.8, "task": task,
           "learning_rate": learning_rate, "other_prompts": other_prompts}
    return {
        "run": run, "name": ", ".join(map(str, run.values())),
        "series": {"target": list(target), "entropy": list(target + off), "reward": [0.5] * 20},
        "summary": {"mean": 0.4 + off, "deviation": off, "steps_to_follow": 3.0, "reward": 0.7,
                    "saturated": 0.0, **about},
        "held_out": {"pass@4": 0.9, "distinct_completions": 8.0},
    }


def write(folder: Path, records: list[dict[str, Any]]) -> None:
    """Write records as a comparison does, measured on a CPU."""
    folder.mkdir(parents=True)
    content = {"provenance": {"commit": "c", "device": "cpu", "config": {}}, "records": records}
    (folder / "result.json").write_text(json.dumps(content))
