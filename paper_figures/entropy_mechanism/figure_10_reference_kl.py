"""Cui et al., Figure 10: a KL penalty to the starting model at several coefficients.

We run the rule at coefficients from zero to too large, with sampled groups of eight. Tabular
prompts have logits of their own, or share parameters. The small transformer is added where runs
with several coefficients exist.
"""

from __future__ import annotations

from pathlib import Path

import pandas

from paper_figures.data.training_curves import Choice
from paper_figures.entropy_mechanism import sweeps
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure

RULE = "reference KL"
RUNS = (Choice(label="none", rule="grpo", strength=0.0),
        Choice(label="{coefficient:g}", rule="reference-kl", free=("coefficient",)))


def data(results: Path) -> pandas.DataFrame:
    """Return the columns of `sweeps.data`."""
    return sweeps.data(results, {RULE: RUNS})


def finding(table: pandas.DataFrame) -> Finding:
    """State what the largest coefficient does to entropy, and what it costs."""
    criteria: list[Criterion] = []
    for (world, family), group in sweeps.effects(table).groupby(["world", "family"], sort=False):
        here = sweeps.place(str(world), str(family))
        most = group.iloc[-1]
        criteria += [
            Criterion("entropy with the largest coefficient less that without, 99 % interval",
                      sweeps.gain(most, "entropy"), ">", 0, *here),
            Criterion("accuracy with the largest coefficient less that without, 99 % interval",
                      sweeps.gain(most, "reward"), "<", 0, *here),
        ]
    return Finding(criteria=tuple(criteria))


FIGURE = PaperFigure.of(
    __name__, name="entropy-mechanism-figure-10",
    source="Cui et al., Figure 10",
    title="a KL penalty to the starting model",
    paper="A KL penalty to the reference model controls entropy at the cost of a drop in performance.",
    place="Figure 10",
    ours="GRPO on sampled groups with a KL penalty; the number at a line's end is its "
         "coefficient. Lines are means over starts, bands their 95 % intervals.",
    headline=Headline(
        says="The largest KL penalty to the starting model leaves more entropy than none, and costs "
             "accuracy.",
        holds=("with five right answers", "with one right, shared parameters"),
    ),
    draw=sweeps.draw,
    recipes=("paper/entropy-mechanism-reference-kl", "gpu-small/reference-kl"),
)
