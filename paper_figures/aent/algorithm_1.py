"""AEnt, Algorithm 1: adaptive entropy regularization with token space clamping.

We run the algorithm on a tabular problem and show the clamped entropy, its band and the coefficient
per global step. The coefficient is compared with Eq. 4.1 at the logged entropies. A global step
draws one batch and takes four optimizer steps on it. A table has each step of the algorithm beside
the function that performs it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
from matplotlib.figure import Figure

from paper_figures.data import inputs
from paper_figures.drawing import REFERENCE, SERIES, Table, dots, lines, note, panels
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure, exact
from simulations.experiments.aent_coefficient import ALGORITHM as RULE

STEPS = (
    ("input", r"$\theta$, $\lambda$, $p$, $\beta$, $[\tilde H_{low}, \tilde H_{high}]$, "
     r"$[\lambda_{low}, \lambda_{high}]$", "entropy_theory.update_rules.aent:Aent"),
    ("1", r"$\pi_b \leftarrow \pi_\theta$, the policy of the last global step",
     "simulations.engine.runs:Runs.evaluate"),
    ("2", r"sample queries, roll out responses from $\pi_b$", "simulations.engine.runs:Runs.draw"),
    ("3", r"keep $A(s)$, the $1 - p$ likeliest tokens", "entropy_theory.policy:kept_actions"),
    ("4", r"$\tilde H = -\sum_{a \in A(s)} \tilde\pi \log \tilde\pi$, $\tilde\pi$ renormalized on $A(s)$",
     "entropy_theory.policy:clamped_entropy"),
    ("5", r"mini-epochs: ascend $L_{PO} + \lambda \tilde H$ (4.2)",
     "entropy_theory.tabular:logit_step"),
    ("6", r"$\lambda \leftarrow$ Proj$[\lambda - \beta \min(\tilde H - \tilde H_{low}, 0) + "
     r"\beta \min(\tilde H_{high} - \tilde H, 0)]$ (4.1)",
     "entropy_theory.controllers:AdaptiveCoefficient.observe"),
)
LANGUAGE_MODELS = {
    "1": "llm_bridge.trainer.entropy_trainer:EntropyTrainer.generating_model",
    "2": "llm_bridge.trainer.entropy_trainer:EntropyTrainer._generate_single_turn",
    "4": "llm_bridge.head.per_token:per_token_statistics",
    "5": "llm_bridge.objective.loss:policy_loss",
}
"""The function of a step for language models, where it is a different one."""
EXACT = 1e-12
ONE_RUN = 1
"""The seeds of the run that is shown step by step; one alone decides nothing."""


def data(results: Path) -> pandas.DataFrame:
    """Return one row for each global step, 0 being the start.

    Columns step, entropy (full), clamped_entropy, coefficient, reward, and ``formula``: the coefficient
    that Eq. 4.1 gives from the one before and this clamped entropy.
    """
    dataset = inputs.simulation(results, "aent_coefficient")
    names = ("entropy", "clamped_entropy", "coefficient", "reward")
    table = pandas.DataFrame({
        "step": dataset.global_step.values,
        **{name: dataset[f"algorithm_{name}"].values for name in names}})
    before = table["coefficient"].shift(fill_value=float(np.asarray(RULE.coefficient)))
    moved = (before - RULE.coefficient_step * np.minimum(table["clamped_entropy"] - RULE.entropy_low, 0)
             + RULE.coefficient_step * np.minimum(RULE.entropy_high - table["clamped_entropy"], 0))
    formula = moved.clip(RULE.coefficient_low, RULE.coefficient_high)
    table["formula"] = formula.where(table["step"] > 0, before)
    return table


def finding(table: pandas.DataFrame) -> Finding:
    """State how far the coefficients are from Eq. 4.1, and how long entropy is in its band."""
    error = float((table["coefficient"] - table["formula"]).abs().max())
    late = table[table["step"] > table["step"].max() / 2]
    inside = float(late["clamped_entropy"].between(RULE.entropy_low, RULE.entropy_high).mean())
    end = float(table["clamped_entropy"].iloc[-1])
    outside = max(RULE.entropy_low - end, end - RULE.entropy_high)
    return Finding(criteria=(
        Criterion("largest difference of the coefficient from Eq. 4.1's", error, "<", EXACT),
        Criterion("share of the second half of the steps in which the clamped entropy is in its band",
                  exact(inside, ONE_RUN), ">", 0.5, "for staying in the band"),
        Criterion("distance of the clamped entropy at the end from its band, nats, negative inside",
                  exact(outside, ONE_RUN), "≤", 0, "for staying in the band"),
    ))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw clamped and full entropy with the band; the coefficient with its box and Eq. 4.1."""
    figure, axes = panels(1, 2, height=2.3)
    left, right = axes[0]
    left.axhspan(RULE.entropy_low, RULE.entropy_high, color="#dddddd", linewidth=0, zorder=0)
    entropies = table.rename(columns={"clamped_entropy": "clamped", "entropy": "full"}).melt(
        "step", ["clamped", "full"], var_name="name")
    lines(left, entropies, "name", ("clamped", "full"), x="step", y="value", band=None,
          xlabel="global step", ylabel="entropy (nats)", ylim=(0, None), title="entropy and its band")
    dots(right, table["step"], table["formula"], color="#000000", markersize=2.6, markeredgewidth=0.5)
    right.plot(table["step"], table["coefficient"], **SERIES[0])
    right.axhline(RULE.coefficient_low, **REFERENCE)
    note(right, "circles: Eq. 4.1", 0.4, 0.3)
    right.set(xlabel="global step", ylabel=r"coefficient $\lambda$", ylim=(0, None), title="coefficient")
    right.margins(x=0)
    return figure


def tables(table: pandas.DataFrame) -> list[Table]:
    """Return the steps beside our functions, and the first global steps in numbers."""
    steps = Table(
        title="Algorithm 1 and the code", header=("Step", "Statement", "Tabular", "Language models"),
        rows=tuple((number, what, _dotted(where), _dotted(LANGUAGE_MODELS.get(number, where)))
                   for number, what, where in STEPS),
        origin="ours", note="Put together from the paper's section 4.3; its box is not in the text we "
        "had. Steps 1 to 6 are repeated for each batch of queries.")
    picks = np.linspace(1, len(table) - 1, 9).round().astype(int)
    before = table["coefficient"].shift()
    worked = Table(
        title="Some global steps in numbers", origin="ours",
        header=("Global step", r"$\tilde H$ after it (nats)", r"$\lambda$ during it",
                r"$\lambda$ after it", r"by (4.1)", "Reward after it"),
        rows=tuple((f"{row.step:.0f}", f"{row.clamped_entropy:.4f}", f"{before[row.Index]:.6f}",
                    f"{row.coefficient:.6f}", f"{row.formula:.6f}", f"{row.reward:.3f}")
                   for row in table.iloc[picks].itertuples()),
        note=f"Band {RULE.entropy_low:g} to {RULE.entropy_high:g} nats, rate {RULE.coefficient_step:g}, "
        f"box {RULE.coefficient_low:g} to {RULE.coefficient_high:g}, p = {RULE.removed_fraction:g}.")
    return [steps, worked]


def _dotted(where: str) -> str:
    return where.replace(":", ".")


FIGURE = PaperFigure.of(
    __name__, name="aent-algorithm-1",
    source="AEnt, Algorithm 1",
    title="AEnt step by step",
    paper="AEnt moves the coefficient of a clamped entropy so that this entropy stays in a band.",
    place="Section 4.3 with Eqs. 4.1 and 4.2 as reconstructed; the box of Algorithm 1 is not in the "
    "text we had",
    ours="One run of sampled GRPO on four prompts of 60 answers, with four optimizer steps per "
         "batch. Left: full and clamped entropy per global step, and the band in grey. Right: the "
         "coefficient, dots from Eq. 4.1, and the lower end of its box dashed.",
    headline=Headline(
        says="The coefficient follows Eq. 4.1 step by step; one run does not decide whether the clamped "
             "entropy stays in its band.",
        holds=("",),
        fails=("for staying in the band",),
    ),
    recipes=("paper/aent-math", "paper/aent-openr1", "gpu-small/aent-adaptive"),
)
