"""Cui et al., Figure 12: entropy under Clip-Cov and KL-Cov of several strengths.

We run both rules from no tokens to a large share of them; a step has a hundred tokens, the paper's
a million. Tabular prompts have logits of their own, or share parameters. The small transformer is
added where runs of several strengths exist.
"""

from __future__ import annotations

from pathlib import Path

import pandas

from paper_figures.data.training_curves import Choice
from paper_figures.entropy_mechanism import sweeps
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure

WIDE = {"base.clip_low": 1.0, "base.clip_high": 1.0, "lower": 0.2}  # as in the recipes of gpu-small
RUNS = {
    "Clip-Cov": (Choice(label="{ratio:g}", rule="clip-cov", free=("ratio",), options=WIDE),),
    "KL-Cov": (Choice(label="{coefficient:g}", rule="kl-cov", free=("coefficient",),
                      options={"ratio": 0.02}),),
}


def data(results: Path) -> pandas.DataFrame:
    """Return the columns of `sweeps.data`."""
    return sweeps.data(results, RUNS, ("entropy",))


def finding(table: pandas.DataFrame) -> Finding:
    """State whether the strongest setting leaves more entropy than the weakest."""
    criteria: list[Criterion] = []
    for rule, of_rule in sweeps.effects(table).groupby("rule", sort=False):
        for (world, family), group in of_rule.groupby(["world", "family"], sort=False):
            place, model = sweeps.place(str(world), str(family))
            criteria.append(Criterion(
                "entropy at the strongest less that at the weakest, 99 % interval",
                sweeps.gain(group.iloc[-1], "entropy"), ">", 0, f"under {rule} {place}", model))
    return Finding(criteria=tuple(criteria))


FIGURE = PaperFigure.of(
    __name__, name="entropy-mechanism-figure-12",
    source="Cui et al., Figure 12",
    title="Clip-Cov and KL-Cov at several strengths",
    paper="The KL coefficient of KL-Cov and the clip ratio of Clip-Cov control entropy.",
    place="Figure 12 and its caption",
    ours="GRPO on sampled groups, with four optimizer steps per batch. The number at a line's end "
         "is the share of tokens without gradient for Clip-Cov, and the coefficient on a fifth of "
         "the tokens for KL-Cov. Lines are means over starts, bands 95 % intervals.",
    claims=("entropy-mechanism.clip-cov", "entropy-mechanism.kl-cov"),
    headline=Headline(
        says="The strongest setting of Clip-Cov and of KL-Cov leaves more entropy than none, on both "
             "kinds of prompts.",
        holds=tuple(f"under {rule} with {kind}" for rule in RUNS
                    for kind in ("five right answers", "one right, shared parameters")),
    ),
    draw=sweeps.draw,
    recipes=("paper/entropy-mechanism-clip-cov", "paper/entropy-mechanism-kl-cov",
             "gpu-small/clip-cov", "gpu-small/kl-cov"),
)
