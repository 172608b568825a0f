"""AEnt, Figure 3: test scores during training under GRPO, EntReg and AEnt.

We run the three methods on the synthetic MDP with 100,000 tokens, and GRPO and EntReg on prompts
that share parameters. Language models are added where runs exist. The reward of training stands for
the test score. AEnt on the MDP removes a third of the vocabulary (p = 1/3, as in the paper's runs)
and has a constant coefficient. Beside it is the same bonus clamped to an oracle's set, the 500
tokens among which we put the optimal ones. That one does not count for the verdict.
"""

from __future__ import annotations

import pandas
from matplotlib.figure import Figure

from paper_figures.aent import methods
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure, mean_of

COLLAPSED = 0.05  # share of its starting entropy below which GRPO's entropy counts as used up
LEAD, LATER = f"{methods.HERE}AEnt's lead", f"{methods.HERE}later gain of "
GAIN = 0.02  # of reward, that counts as going on improving


def finding(table: pandas.DataFrame) -> Finding:
    """State who ends first on the MDP, and who still gains after GRPO's entropy is used up."""
    entropy = methods.mean(table, methods.MDP, "GRPO", "entropy")
    low = entropy.index[entropy < COLLAPSED * entropy.iloc[0]]
    ends = methods.ends(table, methods.MDP, "reward")
    rows = table[(table["world"] == methods.MDP) & (table["quantity"] == "reward")]
    then = rows[rows["step"].isin(low[:1])].pivot_table(index="start", columns="method", values="value")
    # What a method that was behind GRPO then makes up for is no going on.
    later = {method: mean_of(ends[method] - then[then[[method, "GRPO"]].mean().idxmax()])
             for method in then}
    return Finding(criteria=(
        Criterion("AEnt's reward at the end less the better of GRPO's and EntReg's",
                  mean_of(ends["AEnt"] - ends[ends[["GRPO", "EntReg"]].mean().idxmax()]), ">", 0,
                  LEAD, beyond=True),
        *(Criterion(f"reward that {method} gains after GRPO's entropy is used up, over its own or "
                    "GRPO's then, whichever is more", later.get(method, float("nan")),
                    ">" if method == "AEnt" else "<", GAIN, LATER + method, beyond=True)
          for method in ("GRPO", "EntReg", "AEnt")),
        *methods.language_model_criteria(table, "reward"),
    ))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw reward against step."""
    return methods.draw(table, "reward", "expected reward (0 to 1)", 1.04)


FIGURE = PaperFigure.of(
    __name__, name="aent-figure-3",
    source="AEnt, Figure 3",
    title="scores during training under GRPO, EntReg and AEnt",
    paper="Test scores of GRPO and EntReg saturate when GRPO's entropy is used up, while AEnt's goes on "
    "and surpasses them.",
    place="Section 5.2 on Figure 3, whose caption is not in the text we had",
    ours="Reward along training. Lines are medians over contexts, starts or seeds, bands their range. "
    "Bonuses have the constant coefficient that ends best. AEnt on the MDP removes a third of the "
    "tokens. The paper does not have \"clamped, oracle set\", which keeps only tokens among which we put "
    "the optimal ones.",
    claims=("aent.clamping-reduces-bias",),
    data=methods.data,
    headline=Headline(
        says="With constant coefficients GRPO saturates on an MDP and AEnt does not; saturation "
             "of EntReg, and a lead of AEnt, are not seen.",
        holds=(f"{LATER}GRPO", f"{LATER}AEnt"),
        fails=(f"{LATER}EntReg", LEAD),
    ),
    recipes=methods.RECIPES,
)
