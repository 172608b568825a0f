"""Cui et al., Figure 9: an entropy bonus at several coefficients.

We run the rule at coefficients from zero to too large, with sampled groups of eight. Tabular
prompts have logits of their own, or share parameters. The small transformer is added where runs
with several coefficients exist. Coefficients reach further than the paper's, since its runs of
2,400 steps are eight to ten times as long as ours.
"""

from __future__ import annotations

import math
from pathlib import Path

import pandas

from paper_figures.data.training_curves import Choice
from paper_figures.entropy_mechanism import sweeps
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure
from simulations.experiments.intervention_sweeps import FAMILIES

RULE = "entropy bonus"
RUNS = (Choice(label="none", rule="grpo", strength=0.0),
        Choice(label="{coefficient:g}", rule="entropy-bonus", free=("coefficient",)))
COLLAPSED = 0.5  # share of the starting entropy below which a run counts as collapsed
EXPLODED = 0.1
"""Rise of entropy that counts as an explosion, as a share of the way from its start to its largest
value, log(number of answers). Entropy held at its start has not exploded. Runs of a transformer do
not record the largest value, so there it is a share of the start."""
GAIN = 0.02
"""The gain in accuracy that must be ruled out for us to say that there is none: that of the paper's
KL-Cov over GRPO at 7B (Table 2, averages of 38.6 and 40.6 %)."""


def data(results: Path) -> pandas.DataFrame:
    """Return the columns of `sweeps.data`."""
    return sweeps.data(results, {RULE: RUNS})


def finding(table: pandas.DataFrame) -> Finding:
    """State whether the weakest coefficient collapses, the strongest explodes, and any one gains."""
    criteria: list[Criterion] = []
    for (world, family), group in sweeps.effects(table).groupby(["world", "family"], sort=False):
        here = sweeps.place(str(world), str(family))
        none, rest = group.iloc[0], group.iloc[1:]
        small, most, best = rest.iloc[0], rest.iloc[-1], rest.loc[rest["reward_gain"].idxmax()]
        criteria += [
            Criterion(f"entropy at the end {said}, over its start",
                      sweeps.number(row, row["entropy_last"] / row["entropy_first"]), "<", COLLAPSED,
                      *here)
            for said, row in (("without a bonus", none), ("with the smallest bonus", small))[:len(rest)]]
        rise = float(most["entropy_last"] - most["entropy_first"])
        way, of = float(most["entropy_first"]), "share of its start"
        if world == sweeps.TABULAR:
            way = math.log(FAMILIES[str(family)].problem.n_actions) - way
            of = "share of the way to log(answers)"
        criteria += [
            Criterion(f"rise of entropy with the largest bonus, {of}", sweeps.number(most, rise / way),
                      ">", EXPLODED, *here),
            Criterion("gain in accuracy of the best coefficient, 99 % interval",
                      sweeps.gain(best, "reward"), "≤", GAIN, *here),
        ]
    return Finding(criteria=tuple(criteria))


FIGURE = PaperFigure.of(
    __name__, name="entropy-mechanism-figure-9",
    source="Cui et al., Figure 9",
    title="an entropy bonus at several coefficients",
    paper="An entropy loss is sensitive to its coefficient: small ones change little, the largest makes "
    "entropy explode, and none gains accuracy.",
    place="Figure 9",
    ours="GRPO on sampled groups with an entropy bonus; the number at a line's end is its "
         "coefficient. Lines are means over starts, bands their 95 % intervals.",
    claims=("aepo.collapse-or-explosion", "extension.entropy-bonus"),
    headline=Headline(
        says="With five right answers the largest bonus makes entropy explode, and a gain like KL-Cov's "
             "is ruled out; with one right this fails.",
        holds=("with five right answers",),
        fails=("with one right, shared parameters",),
    ),
    draw=sweeps.draw,
    recipes=("paper/entropy-mechanism-entropy-bonus", "gpu-small/entropy-bonus"),
)
