"""AEnt, Figure 3: test scores during training under GRPO, EntReg and AEnt.

What the paper shows (its captions are lost; this is what its text says of the figure): test score against
step in settings (a), Qwen2.5-Math-1.5B on MATH, and (b), DeepSeek-R1-Distill-Qwen-1.5B on OpenR1-Math. In
(a) GRPO and EntReg saturate around the step at which GRPO's entropy is used up, while AEnt "continues to
improve and surpasses the baselines past the collapse time".

What we run: the three methods on the synthetic MDP with 100,000 tokens; GRPO and EntReg on prompts that
share parameters; language models where runs exist. The reward of training stands for the test score.
AEnt on the MDP has a constant coefficient and a kept set of the 500 plausible tokens.

Whether it reproduces: on the MDP GRPO gains nothing after its collapse and AEnt does, and ends first.
EntReg at its best coefficient goes on for some hundred steps and saturates at less, in the tail. On
prompts without a local optimum the bonus gains little over GRPO.
"""

from __future__ import annotations

import pandas
from matplotlib.figure import Figure

from paper_figures.aent import methods
from paper_figures.figure import Finding, PaperFigure, Verdict

COLLAPSED = 0.05  # share of its starting entropy below which GRPO's entropy counts as used up
GAIN = 0.02  # of reward, that counts as going on improving


def finding(table: pandas.DataFrame) -> Finding:
    """Who ends first on the MDP, and who still gains after GRPO's entropy is used up."""
    entropy = methods.mean(table, methods.MDP, "GRPO", "entropy")
    low = entropy.index[entropy < COLLAPSED * entropy.iloc[0]]
    collapse = float(low[0]) if len(low) else float("nan")
    ends = methods.ends(table, methods.MDP, "reward")
    later = {
        method: ends[method] - float(methods.mean(table, methods.MDP, method, "reward").loc[collapse])
        for method in methods.METHODS if len(low)
    }
    numbers = {"collapse step": collapse} | {f"MDP: {m} at the end": v for m, v in ends.items()}
    numbers |= {f"MDP: {m} after the collapse": v for m, v in later.items()}
    tests = {
        "AEnt ends first": ends["AEnt"] > max(ends["GRPO"], ends["EntReg"]),
        "GRPO saturates": bool(later) and later["GRPO"] < GAIN,
        "EntReg saturates": bool(later) and later["EntReg"] < GAIN,
        "AEnt goes on": bool(later) and later["AEnt"] > GAIN,
    }
    numbers["tests passed"] = float(sum(tests.values()))
    verdict: Verdict = (
        "reproduces" if all(tests.values()) else
        "reproduces in part" if tests["AEnt ends first"] and tests["AEnt goes on"] else
        "does not reproduce")
    text = (
        f"On the synthetic MDP GRPO's entropy is below {COLLAPSED:.0%} of its start from step "
        f"{collapse:.0f} on. Reward then changes by "
        + ", ".join(f"{change:+.2f} ({method})" for method, change in later.items())
        + " and ends at " + ", ".join(f"{value:.2f} ({method})" for method, value in ends.items()) + ". "
        if later else
        f"On the synthetic MDP GRPO's entropy stays above {COLLAPSED:.0%} of its start. "
    )
    for world in methods.worlds(table)[1:]:
        last = methods.ends(table, world, "reward")
        numbers |= {f"{world}: {method} at the end": value for method, value in last.items()}
        text += f"On {methods.family(table, world)}: " + ", ".join(
            f"{value:.3f} ({method})" for method, value in last.items()) + ". "
    headline = (
        f"On an MDP of 100,000 tokens AEnt ends with a reward of {ends['AEnt']:.2f}, EntReg with "
        f"{ends['EntReg']:.2f}, GRPO with {ends['GRPO']:.2f}; after GRPO's collapse "
        + (", ".join(m for m in methods.METHODS if later.get(m, 0.0) > GAIN) or "none")
        + " still gains."
    )
    return Finding(verdict=verdict, headline=headline, text=text.strip(), numbers=numbers)


def draw(table: pandas.DataFrame) -> Figure:
    """Reward against step."""
    return methods.draw(table, "reward", "expected reward (0 to 1)", 1.04)


FIGURE = PaperFigure(
    name="aent-figure-3",
    source="AEnt, Figure 3",
    title="scores during training under GRPO, EntReg and AEnt",
    paper="Test scores of GRPO and EntReg saturate when GRPO's entropy is used up; AEnt's goes on and "
    "surpasses them (from the text; the figure's caption is lost).",
    ours="Reward along training, medians with the range over contexts, starts or seeds; bonuses at the "
    "coefficient that ends best. AEnt is clamped to the plausible tokens, with a constant coefficient.",
    data=methods.data,
    finding=finding,
    draw=draw,
    evidence=("tabular, sampled", "small transformer"),
    recipes=("paper/aent-math", "paper/aent-math-grpo", "paper/aent-math-entropy-reg",
             "paper/aent-openr1", "paper/aent-openr1-grpo", "gpu-small/grpo",
             "gpu-small/entropy-bonus", "gpu-small/aent-adaptive"),
)
