"""The four rules that AEPO's Figure 4 and Table 1 compare, as training runs and as lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas

from paper_figures.data import training_curves
from paper_figures.data.training_curves import Choice
from paper_figures.drawing.style import SERIES

COEFFICIENT = 0.015
"""Entropy-Reg's lambda (AEPO, Table 4)."""
TARGET = 0.5
"""Nats: the best target of AEPO, Table 3."""
RULES = ("GRPO", "Entropy-Reg", "Entropy-Adv", "AEPO")
CHOICES = (
    Choice(label="GRPO", rule="grpo"),
    Choice(label="Entropy-Reg", rule="entropy-bonus", options={"coefficient": COEFFICIENT}),
    Choice(label="Entropy-Adv", rule="entropy-advantage"),
    Choice(label="AEPO", rule="aepo"),
)
"""Entropy-Adv's beta and kappa (AEPO, Table 4) and AEPO's target (`TARGET`) are the rules' defaults."""
LOOKS: dict[str, dict[str, Any]] = {
    "AEPO": {**SERIES[0], "linewidth": 2.2},
    **{rule: {**look, "linewidth": 1.2} for rule, look in zip(RULES[:3], SERIES[1:], strict=False)},
}


def runs(results: Path, choices: tuple[Choice, ...] = CHOICES, least: int = 2) -> pandas.DataFrame:
    """`real_runs.read` of the settings in which at least ``least`` of the rules were trained."""
    return training_curves.read(results, choices, least=least)


def curves(table: pandas.DataFrame, metric: str = "entropy") -> pandas.DataFrame:
    """A metric of training runs, smoothed: columns panel, setting, rule, start (seed), x (step), y."""
    chosen = training_curves.smoothed(table[table["metric"] == metric])
    return pandas.DataFrame({
        "panel": "training", "setting": chosen["setting"], "rule": chosen["label"],
        "start": chosen["seed"], "x": chosen["step"], "y": chosen["value"],
    })
