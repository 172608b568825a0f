"""AEPO, Table 1: seven benchmarks under GRPO, Entropy-Reg, Entropy-Adv and AEPO.

In place of benchmarks we run the four rules from sampled groups on families of bandits. AEPO and
GRPO also run with equally many samples, before judges as strict as the training's verifier and
stricter. Language models are added where at least two of the rules were trained in one setting
(``make gpu``).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import xarray

from paper_figures.aepo import compared
from paper_figures.data import inputs, paper_numbers, training_curves
from paper_figures.data.tables import stacked
from paper_figures.drawing import Table, estimate
from paper_figures.figure import Criterion, Finding, Headline, Number, PaperFigure
from paper_figures.verdict import within
from simulations.experiments.rules_at_equal_reward import PROFILES

BONUS = f"Entropy-Reg (a bonus of {PROFILES['default'].coefficient:g})"
ROWS = {"GRPO": "GRPO", "entropy bonus": BONUS, "Entropy-Adv": "Entropy-Adv", "AEPO": "AEPO"}
"""Names of rows by the rules' names in the experiment: the paper's names, but for the larger bonus."""
TITLES = {
    "bandits": "Probability of a right answer at the end of training, in percent",
    "equal samples": "The same with as many samples for GRPO as for AEPO, before judges of two kinds",
}
COLUMNS = ["origin", "title", "row", "column", "value", "error", "seeds", "low", "high"]
CERTAIN = 2.0
"""How many standard errors a lead must have to count, about a 95 % interval."""


def data(results: Path) -> pandas.DataFrame:
    """Return a tidy table with columns COLUMNS.

    ``origin`` is "paper", "bandits", "equal samples" or "training". Values are in percent;
    ``error`` is the standard error of the mean over starts. Training runs have the number of
    ``seeds`` and their extremes, ``low`` and ``high``.
    """
    paper = [table.tidy() for table in paper_numbers.read(__file__).values()]
    parts = [
        pandas.concat(paper, ignore_index=True).assign(origin="paper"),
        _bandits(inputs.simulation(results, "rules_at_equal_reward")),
        _equal_samples(inputs.simulation(results, "entropy_against_performance")),
    ]
    runs = compared.runs(results)
    return stacked([*parts, _training(runs)], COLUMNS, runs)


def _bandits(dataset: xarray.Dataset) -> pandas.DataFrame:
    last = 100 * dataset.reward.sel(rule=list(ROWS)).isel(step=-1)
    first = 100 * dataset.reward.sel(rule=["GRPO"]).isel(step=0).assign_coords(rule=["before training"])
    values = xarray.concat([first.drop_vars("step"), last.drop_vars("step")], "rule")
    return _tidy(values.rename(rule="row", family="column"), "bandits").replace({"row": ROWS})


def _equal_samples(dataset: xarray.Dataset) -> pandas.DataFrame:
    """Read AEPO at the paper's target and GRPO with as many samples, under the extreme judges."""
    judges = dataset.passing.values[[0, -1]]
    last = dataset.sel(k=1, passing=judges).isel(step=-1)
    aepo = last.pass_at_k.sel(target=compared.TARGET, method="nearest", drop=True)
    grpo = last.grpo_pass_at_k
    parts = {"GRPO": grpo, "AEPO": aepo, "AEPO less GRPO": aepo - grpo}
    values = 100 * xarray.concat(list(parts.values()), "row").assign_coords(row=list(parts))
    frame = _tidy(values, "equal samples")
    frame["column"] = [f"{family}, {passing:g} pass" for family, passing in
                       zip(frame["family"], frame["passing"], strict=True)]
    return frame


def _tidy(values: xarray.DataArray, origin: str) -> pandas.DataFrame:
    error = values.std("start", ddof=1) / np.sqrt(values.sizes["start"])
    frame = xarray.Dataset({"value": values.mean("start"), "error": error}).to_dataframe().reset_index()
    return frame.assign(origin=origin, title=TITLES[origin])


def _training(runs: pandas.DataFrame) -> pandas.DataFrame:
    ends = training_curves.ends(runs)
    ends = ends[ends["metric"].isin(["reward", "entropy"])]
    scale = np.where(ends["metric"] == "reward", 100.0, 1.0)
    return pandas.DataFrame({
        "origin": "training", "title": ends["setting"], "row": ends["label"],
        "column": ends["metric"].map({"reward": "reward (%)", "entropy": "entropy (nats)"}),
        "value": scale * ends["last"], "low": scale * ends["low"], "high": scale * ends["high"],
        "seeds": ends["seeds"],
    })


def finding(table: pandas.DataFrame) -> Finding:
    """State AEPO's lead over each rule as rerun, and with equal samples."""
    bandits = table[table["origin"] == "bandits"].pivot_table(
        index="row", columns="column", values=["value", "error"])
    value, error = bandits["value"], bandits["error"]
    best = value.loc[[row for row in ROWS.values() if row != "AEPO"]].idxmax()
    leads = {column: within(value.loc["AEPO", column] - value.loc[rival, column],
                            np.hypot(error.loc["AEPO", column], error.loc[rival, column]), CERTAIN)
             for column, rival in best.items()}
    equal = table[(table["origin"] == "equal samples") & (table["row"] == "AEPO less GRPO")]
    return Finding(criteria=(
        *(Criterion(f"AEPO less the best of the others, with {CERTAIN:g} standard errors over starts",
                    lead, ">", 0, f"on {column}, with its second batch on top of GRPO's samples")
          for column, lead in leads.items()),
        *(Criterion(f"AEPO less GRPO, with {CERTAIN:g} standard errors over starts",
                    within(row.value, row.error, CERTAIN), ">", 0, f"at as many samples ({row.column})",
                    beyond=True)
          for row in equal.itertuples()),
        *_trained_criteria(table),
    ))


def _trained_criteria(table: pandas.DataFrame) -> list[Criterion]:
    """Compare AEPO with GRPO in each setting of training runs that has both."""
    runs = table[(table["origin"] == "training") & (table["column"] == "reward (%)")]
    found = []
    for setting, rows in runs.groupby("title", sort=False):
        ends = rows.set_index("row")
        if {"AEPO", "GRPO"} <= set(ends.index):
            aepo, grpo = ends.loc["AEPO"], ends.loc["GRPO"]
            found.append(Criterion(
                "AEPO's reward over the last tenth of the steps, less GRPO's, points; from lowest less "
                "highest seed to highest less lowest",
                Number(aepo["value"] - grpo["value"], aepo["low"] - grpo["high"],
                       aepo["high"] - grpo["low"], int(min(aepo["seeds"], grpo["seeds"]))),
                ">", 0, f"on {setting}", training_curves.model_of(str(setting))))
    return found


def tables(table: pandas.DataFrame) -> list[Table]:
    """Return the paper's three blocks with averages recomputed, then ours."""
    found = [block.printed(means=True) for block in paper_numbers.read(__file__).values()]
    notes = {
        "bandits": "Mean over starts ± its standard error. Families of bandits in place of benchmarks. "
        f"The paper's Entropy-Reg has a bonus of {compared.COEFFICIENT:g}. AEPO draws a second batch of "
        "as many samples.",
        "equal samples": "A judge passes all answers that training rewards or the likeliest of them. "
        f"AEPO's target: {compared.TARGET:g} nats or the nearest that was run.",
        "training": "Mean over seeds (lowest to highest), over the last tenth of the steps.",
    }
    ours = table[table["origin"] != "paper"]
    for (origin, title), rows in ours.groupby(["origin", "title"], sort=False):
        found.append(_ours(rows, str(title), notes[str(origin)], mean=origin == "bandits"))
    return found


def _ours(rows: pandas.DataFrame, title: str, note: str, *, mean: bool) -> Table:
    columns, names = rows["column"].unique(), rows["row"].unique()
    cells = rows.set_index(["row", "column"])[["value", "error", "seeds", "low", "high"]]
    seeds = rows.groupby("row")["seeds"].max()  # of training runs only
    counted = bool(seeds.notna().any())
    body = []
    for name in names:
        values = {c: cells.loc[(name, c)] for c in columns if (name, c) in cells.index}
        text = [_cell(values[c]) if c in values else "" for c in columns]
        average = [f"{np.mean([cell['value'] for cell in values.values()]):.2f}"] if mean else []
        body.append((str(name), *([f"{seeds[name]:.0f}"] if counted else []), *text, *average))
    header = ("Rule", *(["Seeds"] if counted else []), *map(str, columns), *(["Mean"] if mean else []))
    return Table(title=title, header=header, rows=tuple(body), origin="ours", note=note)


def _cell(cell: pandas.Series) -> str:
    if pandas.notna(cell["seeds"]):
        return training_curves.spread(cell["value"], cell["low"], cell["high"], int(cell["seeds"]), 2)
    return estimate(cell["value"], cell["error"], digits=2)


FIGURE = PaperFigure.of(
    __name__, name="aepo-table-1",
    source="AEPO, Table 1",
    title="benchmarks under four rules",
    paper="AEPO has the highest average pass@1 over seven mathematics benchmarks, for each of three "
    "models.",
    place="Table 1 and Section 5.2",
    ours="The four rules from sampled groups on families of bandits, and AEPO against GRPO with equally "
    "many samples, judged by all answers that training rewards or by the likeliest.",
    claims=("aepo.consistent-improvements", "aepo.fixed-positives"),
    headline=Headline(
        says="With its second batch on top AEPO ends first on five families of bandits; at as "
             "many samples a lead over GRPO is shown in one case of six.",
        holds=(*(f"on {family}, with its second batch on top of GRPO's samples" for family in (
            "five right answers, hard", "five right answers, mixed", "one right answer, hard",
            "one right answer, mixed", "ten right answers, peaked")),
            "at as many samples (rare, shared, 2 pass)"),
        fails=tuple(f"at as many samples ({family} pass)" for family in (
            "solved, 5", "rare, 5", "rare, shared, 5", "solved, 2", "rare, 2")),
    ),
    recipes=("paper/aepo-grpo", "paper/aepo-entropy-reg", "paper/aepo-entropy-advantage",
             "paper/aepo-targets", "paper/aepo-code", "gpu-small/grpo", "gpu-small/entropy-bonus",
             "gpu-small/entropy-advantage", "gpu-small/aepo-targets"),
)
