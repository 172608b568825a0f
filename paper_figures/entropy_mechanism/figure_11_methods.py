"""Cui et al., Figure 11: GRPO, clip-higher, Clip-Cov and KL-Cov in entropy, length and accuracy.

We run the four rules on tabular prompts that have logits of their own, or share parameters. Groups
have eight samples, a batch four optimizer steps, and the rules the strongest settings of Figure 12.
Length is measured on token trees where it does not bear on the reward. A small transformer is added
where runs of at least two of the rules exist.
"""

from __future__ import annotations

import pandas
from matplotlib.figure import Figure

from paper_figures.data import training_curves
from paper_figures.data.tables import last_tenth, pick
from paper_figures.drawing import panels
from paper_figures.entropy_mechanism import methods, sweeps
from paper_figures.entropy_mechanism.drawing import fill_rows
from paper_figures.entropy_mechanism.figure_9_entropy_loss import COLLAPSED
from paper_figures.entropy_mechanism.methods import BASE, METHODS, METRICS, draw_rules, gaps_to_grpo
from paper_figures.figure import Criterion, Finding, Headline, Number, PaperFigure, mean_of


def finding(table: pandas.DataFrame) -> Finding:
    """State the paper's three differences to GRPO at the end of training."""
    last = _last(table)
    criteria: list[Criterion] = []
    for panel, word in (("entropy", "entropy"), ("reward", "accuracy"), ("length", "length")):
        gaps = gaps_to_grpo(last[last["panel"] == panel], absolute=panel == "length")
        for (family, rule), row in gaps.drop(index=BASE, level="rule").iterrows():
            if rule in METHODS:
                place = "on token trees" if panel == "length" else f"with {sweeps.name(str(family))}"
                criteria.append(Criterion(f"{word} of {rule} at the end beyond GRPO's, 99 % interval",
                                          Number(row["mean"], row["low"], row["high"]), ">", 0,
                                          f"for {word}, {rule} {place}"))
    criteria += [
        Criterion(f"entropy of {rule} at the end, over its start", float(kept), "≥", COLLAPSED,
                  f"for entropy kept, {rule} with {sweeps.name(str(family))}", beyond=True)
        for (family, rule), kept in _kept(table).items()]
    return Finding(criteria=(*criteria, *_trained_criteria(table)))


def _trained_criteria(table: pandas.DataFrame) -> list[Criterion]:
    """Ask of training runs that both rules end with more entropy, length and accuracy than GRPO."""
    runs = table[table["panel"].str.startswith("transformer")]
    if runs.empty:
        return []
    keys = ["panel", "rule", "start"]
    ends = last_tenth(runs, keys, "x").groupby(keys)["y"].mean().unstack("start")
    where = str(runs["family"].iloc[0])
    words = {"entropy": "entropy, nats per token", "mean_length": "length, tokens", "reward": "accuracy"}
    return [
        Criterion(f"{rule} less GRPO over the last tenth of the steps: {word}",
                  mean_of((ends.loc[panel, rule] - ends.loc[panel, BASE]).dropna(), seeds=True), ">", 0,
                  f"on {where}", training_curves.model_of(where))
        for name, word in words.items() for rule in METHODS
        if {(panel := f"transformer {name}", rule), (panel, BASE)} <= set(ends.index)
    ]


def _last(table: pandas.DataFrame) -> pandas.DataFrame:
    """The mean over the last tenth of each tabular run."""
    runs = table[table["panel"].isin(["entropy", "reward", "length"])]
    keys = ["panel", "family", "rule", "start"]
    return last_tenth(runs, keys, "x").groupby(keys, sort=False)["y"].mean().reset_index()


def _kept(table: pandas.DataFrame) -> pandas.Series:
    """The mean entropy at the end of the tabular runs over that at their start, by family and rule."""
    runs = table[(table["panel"] == "entropy") & table["rule"].isin(METHODS)]
    keys = ["family", "rule"]
    last = _last(runs).groupby(keys, sort=False)["y"].mean()
    return last / runs[runs["x"] == 0].groupby(keys, sort=False)["y"].mean()


def draw(table: pandas.DataFrame) -> Figure:
    """Draw entropy and accuracy in each world, length, and the entropy of language models that ran."""
    families = list(pick(table, panel="entropy")["family"].unique())
    transformer = pick(table, panel="transformer entropy")
    figure, axes = panels(len(families) + 1, 2, height=1.9)
    for row, family in zip(axes, families, strict=False):
        for panel, name, label in zip(row, ("entropy", "reward"), ("entropy (nats)", "accuracy (0 to 1)"),
                                      strict=True):
            draw_rules(panel, pick(table, family=family, panel=name), label,
                       title=sweeps.name(str(family)))
    draw_rules(axes[-1, 0], pick(table, panel="length"), "tokens beyond GRPO", gap=True,
               title="length on token trees")
    if not transformer.empty:
        draw_rules(axes[-1, 1], transformer, METRICS["entropy"], seeds=True,
                   title=training_curves.in_two_lines(str(transformer["family"].iloc[0])))
    fill_rows(axes, 2 * len(families) + 1 + (not transformer.empty))
    return figure


FIGURE = PaperFigure.of(
    __name__, name="entropy-mechanism-figure-11",
    source="Cui et al., Figure 11",
    title="Clip-Cov and KL-Cov against GRPO",
    paper="Clip-Cov and KL-Cov keep entropy from collapse, make responses longer, and end with more "
    "accuracy than GRPO.",
    place="Figure 11 and its caption",
    ours="The four rules in the strongest settings of Figure 12 on two families of tabular "
         "prompts. Length is that of right responses beyond GRPO's, where length does not bear on "
         "the reward. Lines are means over starts, bands 95 % intervals.",
    claims=("entropy-mechanism.clip-cov", "entropy-mechanism.kl-cov"),
    data=methods.data,
    headline=Headline(
        says="Clip-Cov keeps more entropy than GRPO with five right answers and gains accuracy with one "
             "right; that it gains accuracy with five is not shown.",
        holds=("for entropy, Clip-Cov with five right answers",
               "for accuracy, Clip-Cov with one right, shared parameters"),
        fails=("for accuracy, Clip-Cov with five right answers",),
    ),
    recipes=(
        "paper/entropy-mechanism-grpo", "paper/entropy-mechanism-clip-higher",
        "paper/entropy-mechanism-clip-cov", "paper/entropy-mechanism-kl-cov", "gpu-small/grpo-off-policy",
        "gpu-small/clip-higher", "gpu-small/clip-cov", "gpu-small/kl-cov",
    ),
)
