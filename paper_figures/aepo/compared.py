"""The four rules that AEPO's Figure 4 and Table 1 compare, as training runs and as lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas

from paper_figures.data import training_curves
from paper_figures.data.training_curves import Choice
from paper_figures.drawing import SERIES

COEFFICIENT = 0.015
"""The coefficient lambda of Entropy-Reg (AEPO, Table 4)."""
TARGET = 0.5
"""The best target of AEPO, Table 3, nats."""
RULES = ("GRPO", "Entropy-Reg", "Entropy-Adv", "AEPO")
CHOICES = (
    Choice(label="GRPO", rule="grpo"),
    Choice(label="Entropy-Reg", rule="entropy-bonus", options={"coefficient": COEFFICIENT}),
    Choice(label="Entropy-Adv", rule="entropy-advantage"),
    Choice(label="AEPO", rule="aepo"),
)
"""The four rules. Entropy-Adv's beta and kappa (AEPO, Table 4) and AEPO's `TARGET` are the defaults."""
def right_answers(size: float) -> str:
    """Name how many answers are right."""
    return "one right answer" if size == 1 else f"{size:g} right answers"


LOOKS: dict[str, dict[str, Any]] = {
    "AEPO": {**SERIES[0], "linewidth": 2.2},
    **{rule: {**look, "linewidth": 1.2} for rule, look in zip(RULES[:3], SERIES[1:], strict=False)},
}


def runs(results: Path, choices: tuple[Choice, ...] = CHOICES, least: int = 2) -> pandas.DataFrame:
    """Read the runs of settings in which at least ``least`` of the rules were trained."""
    return training_curves.read(results, choices, least=least)


def curves(table: pandas.DataFrame, metric: str = "entropy") -> pandas.DataFrame:
    """Return a smoothed metric of runs: columns panel, setting, rule, start (seed), x (step), y."""
    chosen = training_curves.smoothed(table[table["metric"] == metric])
    return pandas.DataFrame({
        "panel": "training", "setting": chosen["setting"], "rule": chosen["label"],
        "start": chosen["seed"], "x": chosen["step"], "y": chosen["value"],
    })
