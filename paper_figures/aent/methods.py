"""The runs that Figures 3 and 4 and Table 1 share: GRPO, EntReg and AEnt along training.

They have three worlds:

- The *synthetic MDP* (experiment aent_one_step) has 100,000 tokens: a likely local optimum, and
  rare optimal ones. It has all three methods, with bonuses at the constant coefficient that ends
  with most reward. AEnt has the paper's own clamping, with a third of the vocabulary removed (p =
  1/3). Beside it is a bonus clamped to the tokens among which the optimal ones were put, a set that
  only an oracle knows.
- *Prompts with shared parameters* (intervention_sweeps) have GRPO and EntReg.
- *Language models* are shown where training runs of at least two of the methods exist, for EntReg
  and AEnt the settings that end best.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import xarray
from matplotlib.figure import Figure

from paper_figures.data import inputs, training_curves
from paper_figures.data.tables import last_tenth, long, pick
from paper_figures.data.training_curves import Choice
from paper_figures.drawing import SERIES, lines, panels
from paper_figures.figure import Criterion, mean_of

ORACLE = "clamped, oracle set"
"""A bonus clamped to the plausible tokens, which hold the optimal ones. The paper does not have it."""
METHODS = ("GRPO", "EntReg", "AEnt", ORACLE)
LOOKS = dict(zip(METHODS, SERIES, strict=False))
RECIPES = ("paper/aent-math", "paper/aent-math-grpo", "paper/aent-math-entropy-reg", "paper/aent-openr1",
           "paper/aent-openr1-grpo", "gpu-small/grpo", "gpu-small/entropy-bonus",
           "gpu-small/aent-adaptive")
COLUMNS = ["world", "family", "method", "coefficient", "start", "step", "quantity", "value"]
MDP, PROMPTS, TRANSFORMER = "synthetic MDP", "prompts", "language model"
HERE = "on the synthetic MDP with constant coefficients, "
"""How settings of criteria there begin. They are beyond the paper, whose AEnt adapts its coefficient."""
VOCABULARY = 100_000
TREATMENTS = {"none": "GRPO", "full": "EntReg", "clamped by a third": "AEnt",
              "clamped to the plausible": ORACLE}
AENT_FREE = ("coefficient", "entropy_low", "entropy_high", "coefficient_step", "coefficient_low",
             "coefficient_high", "warm_up_steps")
RUNS = (
    Choice(label="GRPO", rule="grpo"),
    Choice(label="EntReg {coefficient:g}", rule="entropy-bonus", free=("coefficient",)),
    Choice(label="AEnt", rule="aent", free=AENT_FREE),
)


def data(results: Path) -> pandas.DataFrame:
    """Return a tidy table with columns ``COLUMNS``.

    ``quantity`` is "reward" (0 to 1) or "entropy" (nats), ``start`` a context, a start or a seed.
    """
    runs = _language_models(results)
    parts = [_mdp(inputs.simulation(results, "aent_one_step", "sampled")),
             _prompts(inputs.simulation(results, "intervention_sweeps")), runs]
    table = pandas.concat([part[COLUMNS] for part in parts if len(part)], ignore_index=True)
    table.attrs["inputs"] = runs.attrs["inputs"]
    return table


def _mdp(dataset: xarray.Dataset) -> pandas.DataFrame:
    here = dataset.isel(problem=problem_of(dataset))
    best = here.trained_reward.isel(step=-1).mean("context").idxmax("coefficient")
    parts = []
    for treatment, method in TREATMENTS.items():
        coefficient = float(best.sel(trained_treatment=treatment))
        run = here[["trained_reward", "trained_entropy"]].sel(
            trained_treatment=treatment, coefficient=coefficient)
        parts.append(long(run, "", rename={
            "trained_reward": "reward", "trained_entropy": "entropy", "context": "start"},
        ).melt(["start", "step"], ["reward", "entropy"], var_name="quantity").assign(
            method=method, coefficient=0.0 if method == "GRPO" else coefficient))
    return pandas.concat(parts).assign(
        world=MDP, family=f"{VOCABULARY:,} tokens, {int(here.trained_optimal)} optimal")


def problem_of(dataset: xarray.Dataset) -> int:
    """The place of the sparsest problem of ``VOCABULARY`` tokens with more than one optimal one."""
    fits = (dataset.trained_vocabulary == VOCABULARY) & (dataset.trained_optimal > 1)
    return int(dataset.trained_optimal.where(fits, np.inf).argmin("problem"))


def _prompts(dataset: xarray.Dataset) -> pandas.DataFrame:
    family = str(dataset.family.values[-1])
    here = dataset.sel(rule="entropy bonus", family=family)
    best = int(here.final_reward.mean("start").isel(level=slice(1, None)).argmax("level")) + 1
    return pandas.concat([
        long(here.isel(level=level)[["reward", "entropy", "step", "strength"]], "",
             rename={"strength": "coefficient"}).melt(
            ["start", "step", "coefficient"], ["reward", "entropy"], var_name="quantity").assign(
                method=method)
        for method, level in (("GRPO", 0), ("EntReg", best))]).assign(world=PROMPTS, family=family)


def _language_models(results: Path) -> pandas.DataFrame:
    runs = training_curves.first(
        training_curves.read(results, RUNS, metrics=("reward", "entropy"), least=2))
    ends = training_curves.ends(runs)
    rewards = ends[ends["metric"] == "reward"].sort_values("last", kind="stable")
    best = rewards.groupby("rule")["label"].last()
    runs = training_curves.smoothed(runs[runs["metric"].isin(["reward", "entropy"])])
    runs = runs[runs["label"].isin(best)]
    found = runs.rename(columns={
        "metric": "quantity", "seed": "start", "strength": "coefficient", "setting": "family"})
    found = found.assign(world=TRANSFORMER, method=found["label"].str.extract(r"(\w+)", expand=False))
    found.attrs["inputs"] = training_curves.provenance(runs)
    return found


def mean(table: pandas.DataFrame, world: str, method: str, quantity: str) -> pandas.Series:
    """The mean over starts of one line at each step; empty where it was not run."""
    rows = pick(table, world=world, method=method, quantity=quantity)
    return rows.groupby("step")["value"].mean()


def fluctuation(entropy: pandas.DataFrame) -> float:
    """Root mean square about its trend, nats, of entropy [step, start], steps evenly spaced."""
    # Second differences leave out a trend; those of white noise have six times its variance.
    return float((entropy.diff().diff().iloc[2:] ** 2).mean().mean() / 6) ** 0.5


def ends(table: pandas.DataFrame, world: str, quantity: str) -> pandas.DataFrame:
    """The mean over the last tenth of the steps, [start, method], of the methods that were run."""
    rows = table[(table["world"] == world) & (table["quantity"] == quantity)]
    return last_tenth(rows, "method").pivot_table(index="start", columns="method", values="value")


def language_model_criteria(table: pandas.DataFrame, quantity: str) -> list[Criterion]:
    """Ask that AEnt's reward or entropy ends above GRPO's and EntReg's in language models that ran."""
    if TRANSFORMER not in worlds(table):
        return []
    last = ends(table, TRANSFORMER, quantity)
    where = family(table, TRANSFORMER)
    rivals = [method for method in ("GRPO", "EntReg") if method in last]
    if quantity == "entropy":  # the paper has EntReg's as high, but unsteady
        rivals = [method for method in rivals if method == "GRPO"]
    return [
        Criterion(f"AEnt's {quantity} over the last tenth of the steps, less {method}'s",
                  mean_of((last["AEnt"] - last[method]).dropna(), seeds=True), ">", 0, f"on {where}",
                  training_curves.model_of(where))
        for method in rivals if "AEnt" in last
    ]


def family(table: pandas.DataFrame, world: str) -> str:
    """Name what was trained in a world, as sentences call it."""
    name = str(table.loc[table["world"] == world, "family"].iloc[0])
    return f"prompts ({name})" if world == PROMPTS else name


def worlds(table: pandas.DataFrame) -> list[str]:
    """List the worlds in the table's order."""
    return [str(world) for world in table["world"].unique()]


def draw(table: pandas.DataFrame, quantity: str, label: str, top: float | None) -> Figure:
    """Draw one panel per world and one line per method: medians over starts, with the range of all."""
    names = worlds(table)
    figure, axes = panels(1, len(names), height=2.3)
    for panel, world in zip(axes[0], names, strict=True):
        here = pick(table, world=world, quantity=quantity)
        name = str(here["family"].iloc[0])
        lines(panel, here, "method", LOOKS, x="step", y="value", band=(0, 1), ylim=(0, top),
              xlabel="optimizer step",
              title=f"prompts,\n{name}" if world == PROMPTS else training_curves.in_two_lines(name))
    axes[0, 0].set_ylabel(label)
    return figure
