"""Cui et al., Figure 10: a KL penalty to the starting model at several coefficients.

What the paper shows: beta x KL(policy, reference) added to the loss of Qwen2.5-7B at 0.001, 0.01, 0.05
and 0.1. The penalty holds entropy, "at the cost of performance drop".

What we run: the same rule from nothing to too much on tabular prompts, each with logits of its own and
with parameters shared by all, groups of eight sampled; and the small transformer where runs with several
coefficients exist.

Whether it reproduces: entropy at the end rises with every step of the coefficient, and the largest one
costs accuracy, by 99 % intervals over starts. A transformer's runs, of few seeds, stand beside the
verdict.
"""

from __future__ import annotations

from pathlib import Path

import pandas

from paper_figures.data.training_curves import Choice
from paper_figures.entropy_mechanism import sweeps
from paper_figures.figure import Finding, PaperFigure, Verdict

RULE = "reference KL"
RUNS = (Choice(label="none", rule="grpo", strength=0.0),
        Choice(label="{coefficient:g}", rule="reference-kl", free=("coefficient",)))


def data(results: Path) -> pandas.DataFrame:
    """Return the columns of `sweeps.data`."""
    return sweeps.data(results, {RULE: RUNS})


def finding(table: pandas.DataFrame) -> Finding:
    """State whether entropy rises with the coefficient, and what the largest one costs."""
    effects = sweeps.effects(table)
    numbers: dict[str, float] = {}
    sentences, tests = [], []
    for (world, family), group in effects.groupby(["world", "family"], sort=False):
        none, most = group.iloc[0], group.iloc[-1]
        rises = bool((group["entropy_last"].diff().iloc[1:] > 0).all())
        costs = bool(most["reward_high"] < 0)
        gains = group[group["reward_low"] > 0]
        numbers |= {
            f"{family}: entropy without": float(none["entropy_last"]),
            f"{family}: entropy with the most": float(most["entropy_last"]),
            f"{family}: entropy rises with the coefficient": float(rises),
            f"{family}: cost of the most": -float(most["reward_gain"]),
            f"{family}: coefficients that gain": float(len(gains)),
        }
        if world == sweeps.TABULAR:
            tests += [rises, costs]
        between = group.iloc[1:-1]
        best = between.loc[between["reward_gain"].idxmax()] if len(between) else most
        sentences.append(
            f"With {sweeps.name(str(family))}, {most['strength']:g} leaves {most['entropy_last']:.2f} "
            f"nats where none leaves {none['entropy_last']:.2f}, and ends at an accuracy of "
            f"{most['reward_last']:.2f} in place of {none['reward_last']:.2f}; "
            f"{best['strength']:g} changes accuracy by {best['reward_gain']:+.3f}"
            + ("" if pandas.isna(best["reward_low"]) else
               f" (99 % interval {best['reward_low']:+.3f} to {best['reward_high']:+.3f})")
        )
    verdict: Verdict = "reproduces" if all(tests) else (
        "reproduces in part" if any(tests) else "does not reproduce")
    tabular = effects[effects["world"] == sweeps.TABULAR].groupby("family", sort=False)
    cost = -tabular.last()["reward_gain"]
    headline = (
        f"Under a KL penalty to the start of {tabular.last()['strength'].max():g} entropy ends at "
        f"{sweeps.span(tabular.last()['entropy_last'], 2)} nats (without: "
        f"{sweeps.span(tabular.first()['entropy_last'], 2)}), and it costs "
        f"{sweeps.span(cost, 2)} of accuracy."
    )
    return Finding(verdict=verdict, headline=headline, text=". ".join(sentences) + ".", numbers=numbers)


FIGURE = PaperFigure(
    name="entropy-mechanism-figure-10",
    source="Cui et al., Figure 10",
    title="a KL penalty to the starting model",
    paper="A KL penalty to the reference model holds entropy and costs accuracy (Qwen2.5-7B).",
    ours="GRPO on sampled groups with a penalty of the coefficient at each line's end; means over starts "
    "and their 95 % intervals.",
    data=data,
    finding=finding,
    draw=sweeps.draw,
    recipes=("paper/entropy-mechanism-reference-kl", "gpu-small/reference-kl"),
)
