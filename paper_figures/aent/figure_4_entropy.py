"""AEnt, Figure 4: policy entropy during training under GRPO, EntReg and AEnt.

What we run: as for Figure 3, with the full entropy of the policy.
"""

from __future__ import annotations

import pandas
from matplotlib.figure import Figure

from paper_figures.aent import methods
from paper_figures.aent.figure_2_constant_coefficient import FLUCTUATES
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure, Relation

DEPLETED = 0.05  # share of its starting entropy
LATE = 0.5  # share of the steps, at the end, over which entropy is called stable or not
STABLE = 0.25  # relative change over that time, below which it is
CALMER = 0.5  # of EntReg's fluctuation: the paper has one "drastically fluctuate", the other "stable"
DEPLETES, KEEPS, CALM, UNSTEADY = "GRPO", "AEnt", "AEnt against EntReg", "EntReg"
"""The settings of the criteria: whose entropy they are about."""


def finding(table: pandas.DataFrame) -> Finding:
    """State how much entropy each method keeps on the MDP, and how much it fluctuates late."""
    rows = table[(table["world"] == methods.MDP) & (table["quantity"] == "entropy")]
    wide = {method: group.pivot_table(index="step", columns="start", values="value")
            for method, group in rows.groupby("method")}
    late = {method: runs[runs.index >= LATE * runs.index[-1]] for method, runs in wide.items()}
    kept = {method: float(runs.iloc[-1].mean() / runs.iloc[0].mean()) for method, runs in wide.items()}
    fluctuation = {method: methods.fluctuation(runs) for method, runs in late.items()}
    change = float(late["AEnt"].iloc[-1].mean() / late["AEnt"].iloc[0].mean()) - 1
    asked: tuple[tuple[str, float, Relation, float, str], ...] = (
        ("GRPO's entropy at the end, over its start", kept["GRPO"], "<", DEPLETED, DEPLETES),
        ("AEnt's entropy at the end, over its start", kept["AEnt"], ">", DEPLETED, KEEPS),
        ("change of AEnt's entropy over the second half, over its value halfway", abs(change), "<",
         STABLE, KEEPS),
        ("AEnt's late fluctuation, over EntReg's", fluctuation["AEnt"] / fluctuation["EntReg"], "<",
         CALMER, CALM),
        ("EntReg's late fluctuation, over its mean in that time",
         fluctuation["EntReg"] / float(late["EntReg"].mean().mean()), ">", FLUCTUATES, UNSTEADY),
    )
    return Finding(criteria=(
        *(Criterion(says, value, relation, threshold, methods.HERE + where, beyond=True)
          for says, value, relation, threshold, where in asked),
        *methods.language_model_criteria(table, "entropy"),
    ))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw entropy against step."""
    return methods.draw(table, "entropy", "policy entropy (nats)", None)


FIGURE = PaperFigure.of(
    __name__, name="aent-figure-4",
    source="AEnt, Figure 4",
    title="entropy during training under GRPO, EntReg and AEnt",
    paper="GRPO's entropy is largely depleted and EntReg's starts to fluctuate drastically, while AEnt's "
    "is kept stable.",
    place="Section 5.2 on Figure 4(a), whose caption is not in the text we had",
    ours="Entropy of the full policy in the runs of Figure 3. Lines are medians over contexts, "
         "starts or seeds, bands their range. AEnt on the MDP removes a third of the tokens. The "
         "paper does not have \"clamped, oracle set\".",
    claims=("aent.clamping-reduces-bias",),
    data=methods.data,
    headline=Headline(
        says="With constant coefficients GRPO's entropy is used up on an MDP and AEnt's is kept; "
             "large fluctuations of EntReg, and calmer entropy of AEnt, are not seen.",
        holds=(methods.HERE + DEPLETES, methods.HERE + KEEPS),
        fails=(methods.HERE + CALM, methods.HERE + UNSTEADY),
    ),
    recipes=methods.RECIPES,
)
