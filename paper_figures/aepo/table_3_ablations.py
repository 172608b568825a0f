"""AEPO, Table 3: target entropies, and AEPO without temperature (2) or with advantages (3).

We run GRPO, AEPO and both ablations on 20-answer bandits from the same starts, in exact expectation
and from equally many samples. AEPO also runs at several targets from samples, before judges as
strict as the training's verifier and stricter. Language models are added where ablations were
trained.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import xarray
from matplotlib.figure import Figure

from paper_figures.aepo import compared
from paper_figures.data import inputs, paper_numbers, training_curves
from paper_figures.data.tables import long, pick, stacked
from paper_figures.data.training_curves import Choice
from paper_figures.drawing import SERIES, Table, estimate, level, lines, panels
from paper_figures.figure import Criterion, Finding, Headline, Number, PaperFigure, mean_of

VARIANTS = {"GRPO": "GRPO", "AEPO": "AEPO", "ablation (2)": "without temperature (2)",
            "ablation (3)": "with advantages (3)"}
SHORT = {"GRPO": "GRPO", "AEPO": "AEPO", "ablation (2)": "no temperature (2)",
         "ablation (3)": "advantages (3)"}
NEAR = 0.05
"""How close to its target, in nats, the entropy of AEPO must be to count as held."""
LOOKS = dict(zip(("AEPO", "GRPO", "ablation (2)", "ablation (3)"), SERIES, strict=False))
CHOICES = (
    Choice(label="GRPO", rule="grpo"),
    Choice(label="AEPO, target {target:g}", rule="aepo", free=("target",)),
    Choice(label="AEPO without temperature (2)", rule="aepo", options={"ablation": "untempered"}),
    Choice(label="AEPO with advantages (3)", rule="aepo", options={"ablation": "advantage"}),
)
ABLATED = ("(2)", "(3)")
"""How the labels of the ablations' training runs end; a setting without such a run is left out."""
COLUMNS = ["panel", "title", "row", "column", "start", "x", "y", "error", "seeds", "low", "high"]


def data(results: Path) -> pandas.DataFrame:
    """Return a tidy table with columns COLUMNS.

    Panels:

    - "exact" and "sampled": ``row`` a variant, ``column`` right answers, x step, y entropy, a row
      per start;
    - "reward": y mean reward over the steps of a run from samples;
    - "targets": ``row`` a target, ``column`` prompts and judge, y pass@1 in percent with its
      standard error;
    - "training": ``title`` the setting, ``column`` a quantity;
    - "paper": the printed table.
    """
    ablations = inputs.simulation(results, "aepo_ablations")
    names = {"variant": "row", "right_answers": "column", "sampled_run": "start"}
    runs = compared.runs(results, CHOICES)
    runs = runs[runs["setting"].isin(runs.loc[runs["label"].str.endswith(ABLATED), "setting"])]
    table = stacked([
        long(ablations.entropy, "exact", "step", names),
        long(ablations.sampled_entropy, "sampled", "sampled_step", names),
        long(ablations.sampled_reward.mean("sampled_step"), "reward", rename=names),
        _targets(inputs.simulation(results, "entropy_against_performance")),
        *(table.tidy().rename(columns={"value": "y"}).assign(panel="paper")
          for table in paper_numbers.read(__file__).values()),
        pick(training_curves.ends(runs), metric=["reward", "entropy"]).rename(columns={
            "setting": "title", "label": "row", "metric": "column", "last": "y"}).assign(
                panel="training"),
    ], COLUMNS)
    table.attrs.update(target=float(ablations.attrs["target"]), inputs=training_curves.provenance(runs))
    return table


def _targets(dataset: xarray.Dataset) -> pandas.DataFrame:
    last = 100 * dataset.pass_at_k.sel(k=1, passing=dataset.passing.values[[0, -1]]).isel(step=-1)
    error = last.std("start", ddof=1) / np.sqrt(last.sizes["start"])
    frame = xarray.Dataset({"y": last.mean("start"), "error": error}).to_dataframe().reset_index()
    frame["column"] = [f"{family}, {passing:g} pass" for family, passing in
                       zip(frame["family"], frame["passing"], strict=True)]
    return frame.rename(columns={"target": "x"}).assign(panel="targets", row="AEPO")


def final_entropy(table: pandas.DataFrame) -> pandas.DataFrame:
    """The median over starts of the last exact entropy: [variant, right answers], nats."""
    exact = table[table["panel"] == "exact"]
    last = exact[exact["x"] == exact["x"].max()]
    return last.pivot_table(index="row", columns="column", values="y", aggfunc="median")


def finding(table: pandas.DataFrame) -> Finding:
    """State whether the ablations collapse where AEPO holds, and whether they lose reward."""
    target = float(table.attrs["target"])
    ends = final_entropy(table)
    ablations = ("ablation (2)", "ablation (3)")
    reward = table[table["panel"] == "reward"].pivot_table(index="start", columns="row", values="y")
    criteria: list[Criterion] = []
    for v in ablations:
        criteria.append(Criterion(f"reward {VARIANTS[v]} less GRPO's from as many samples",
                                  mean_of((reward[v] - reward["GRPO"]).dropna()), "<", 0, "for reward"))
    for size in ends.columns:
        where = f"for entropy, with {size} right answers" if size > 1 else "for entropy, with one right"
        criteria.append(Criterion("distance of AEPO's entropy at the end from its target, nats",
                                  abs(float(ends.loc["AEPO", size]) - target), "≤", NEAR, where,
                                  beyond=size == 1))
        criteria += [
            Criterion(f"entropy at the end {VARIANTS[v]}, over AEPO's target",
                      float(ends.loc[v, size]) / target, "<", 0.5, where, beyond=size == 1)
            for v in ablations]
    return Finding(criteria=(*criteria, *_trained_criteria(table)))


def _trained_criteria(table: pandas.DataFrame) -> list[Criterion]:
    """Ask of each setting of training runs that AEPO is near its targets and every ablation far below."""
    runs = table[(table["panel"] == "training") & (table["column"] == "entropy")]
    found = []
    for setting, rows in runs.groupby("title", sort=False):
        for end in rows.itertuples():
            here = (f"on {setting}", training_curves.model_of(str(setting)))
            _, _, target = str(end.row).partition("AEPO, target ")
            if target:
                off = [abs(value - float(target)) for value in (end.y, end.low, end.high)]
                found.append(Criterion(
                    f"distance of the entropy of {end.row} at the end from its target, nats per token",
                    Number(off[0], min(off), max(off), int(end.seeds)), "≤",
                    training_curves.TARGET_SPACING / 2, *here))
            elif str(end.row).endswith(ABLATED):
                found.append(Criterion(
                    f"entropy of {end.row} at the end, over the target of {compared.TARGET:g} nats",
                    Number(end.y / compared.TARGET, end.low / compared.TARGET,
                           end.high / compared.TARGET, int(end.seeds)), "<", 0.5, *here))
    return found


def tables(table: pandas.DataFrame) -> list[Table]:
    """Return the paper's two blocks, and our targets, ablations and training runs, if there are any."""
    paper = paper_numbers.read(__file__)
    found = [paper["targets"].printed(), paper["ablations"].printed(), _targets_table(table),
             _ablations_table(table)]
    training = table[table["panel"] == "training"]
    for setting, rows in training.groupby("title", sort=False):
        cells = rows.set_index(["row", "column"])
        body = tuple(
            (str(name), f"{cells.loc[(name, 'entropy'), 'seeds']:.0f}", *(
                training_curves.spread(cell["y"], cell["low"], cell["high"], int(cell["seeds"]), 3)
                for cell in (cells.loc[(name, metric)] for metric in ("entropy", "reward"))))
            for name in rows["row"].unique())
        found.append(Table(
            title=str(setting), header=("Rule", "Seeds", "Entropy (nats)", "Reward"), rows=body,
            origin="ours",
            note="Over the last tenth of the steps, mean over seeds (lowest to highest)."))
    return found


def _targets_table(table: pandas.DataFrame) -> Table:
    rows = table[table["panel"] == "targets"]
    columns = list(rows["column"].unique())
    cells = rows.set_index(["x", "column"])
    return Table(
        title="Pass@1 of AEPO by target entropy",
        header=("Target (nats)", *columns),
        rows=tuple(
            (f"{target:g}", *(estimate(*cells.loc[(target, c), ["y", "error"]], digits=1)
                              for c in columns))
            for target in sorted(rows["x"].unique())),
        origin="ours",
        note="Percent, mean over starts ± its standard error. A judge passes all answers that training "
        "rewards or the likeliest of them.",
    )


def _ablations_table(table: pandas.DataFrame) -> Table:
    ends = final_entropy(table)
    reward = table[table["panel"] == "reward"].groupby("row")["y"].agg(["mean", "sem"])
    return Table(
        title="AEPO's ablations",
        header=("Rule", *(f"Entropy, {size} right" for size in ends.columns), "Reward from samples"),
        rows=tuple(
            (name, *(f"{ends.loc[variant, size]:.3f}" for size in ends.columns),
             estimate(*reward.loc[variant, ["mean", "sem"]], digits=4))
            for variant, name in VARIANTS.items()),
        origin="ours",
        note=f"Median entropy at the end in exact expectation, nats (target {table.attrs['target']:g}); "
        "mean reward along training from equally many samples ± its standard error over runs.",
    )


def draw(table: pandas.DataFrame) -> Figure:
    """Draw entropy of the variants with the most right answers, in expectation and from samples."""
    figure, axes = panels(1, 2, height=2.4)
    exact, target = pick(table, panel="exact"), float(table.attrs["target"])
    most = exact["column"].max()
    shown = ((pick(exact, column=most), f"{most} right answers, exact"),
             (pick(table, panel="sampled"), "from samples, mixed prompts"))
    for panel, (rows, title) in zip(axes[0], shown, strict=True):
        level(panel, target, f"target {target:g}")
        lines(panel, rows, "row", {v: LOOKS[v] for v in VARIANTS}, name=SHORT.__getitem__, xlabel="step",
              ylabel="entropy (nats)", ylim=(-0.05, None), title=title)
    return figure


FIGURE = PaperFigure.of(
    __name__, name="aepo-table-3",
    source="AEPO, Table 3",
    title="target entropies and ablations",
    paper="Without temperature (2), and with advantages in place of rewards (3), entropy collapses and "
    "the average falls below GRPO's.",
    place="Table 3 and Section 6",
    ours="GRPO, AEPO and its ablations by Eqs. (2) and (3) on 20-answer bandits. Lines are "
         "medians over starts, bands 10 to 90 %. Dashed: AEPO's target. Tables: AEPO at several "
         "targets, judged by all answers that training rewards or by the likeliest.",
    claims=("aepo.all-entropy-levels",),
    headline=Headline(
        says="With several right answers both ablations collapse while AEPO holds its target; "
             "lower reward of both than of GRPO, at as many samples, is not shown.",
        holds=("for entropy, with 4 right answers", "for entropy, with 8 right answers"),
        fails=("for reward",),
    ),
    recipes=("paper/aepo-targets", "paper/aepo-ablations", "gpu-small/aepo-targets",
             "gpu-small/aepo-ablations"),
)
