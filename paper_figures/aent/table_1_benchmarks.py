"""AEnt, Table 1: six benchmarks after GRPO, EntReg and AEnt.

What we run: in place of benchmarks the synthetic MDP at several sizes and sparsities (the reward after
training, bonuses at their best constant coefficient, AEnt with the paper's p = 1/3 of the tokens removed
and, as a row that decides nothing, clamped to the tokens that an oracle gives); and language models where
at least two of the methods were trained in one setting.
"""

from __future__ import annotations

from pathlib import Path

import pandas

from paper_figures.aent import methods
from paper_figures.data import inputs, paper_numbers, training_curves
from paper_figures.data.tables import stacked
from paper_figures.drawing.table import Table
from paper_figures.figure import Finding, PaperFigure
from paper_figures.verdict import Criterion, Headline

COLUMNS = ["origin", "title", "row", "column", "value", "low", "high", "seeds"]
MDP_TITLE = "Expected reward at the end of training on synthetic MDPs"
MDP_ROWS = {"AEnt": "AEnt, p = 1/3"}
"""The names of rows on the MDPs that say more than the name of the method."""


def data(results: Path) -> pandas.DataFrame:
    """Return a tidy table with columns ``COLUMNS``.

    ``origin`` is "paper", "mdp" or "training"; ``low`` and ``high`` are extremes over contexts or
    ``seeds``, which is how many of either there are.
    """
    paper = pandas.concat([table.tidy() for table in paper_numbers.read(__file__).values()])
    runs = training_curves.read(results, methods.RUNS, metrics=("reward", "entropy"), least=2)
    parts = [paper.assign(origin="paper"), _mdp(results)]
    if len(runs):
        ends = training_curves.ends(runs)
        ends = ends[ends["metric"].isin(["reward", "entropy"])]
        parts.append(pandas.DataFrame({
            "origin": "training", "title": ends["setting"], "row": ends["label"],
            "column": ends["metric"].map({"reward": "reward (0 to 1)", "entropy": "entropy (nats)"}),
            "value": ends["last"], "low": ends["low"], "high": ends["high"], "seeds": ends["seeds"]}))
    return stacked(parts, COLUMNS, runs)


def _mdp(results: Path) -> pandas.DataFrame:
    dataset = inputs.simulation(results, "aent_one_step", "sampled")
    last = dataset.trained_reward.isel(step=-1)
    best = last.mean("context").idxmax("coefficient")
    rows = []
    for i in range(dataset.sizes["problem"]):
        one = dataset.isel(problem=i)
        for treatment, method in methods.TREATMENTS.items():
            coefficient = best.isel(problem=i).sel(trained_treatment=treatment)
            values = last.isel(problem=i).sel(trained_treatment=treatment, coefficient=coefficient)
            rows.append({
                "origin": "mdp", "title": MDP_TITLE, "row": MDP_ROWS.get(method, method),
                "column": f"{int(one.trained_optimal)} of {int(one.trained_vocabulary):,}",
                "value": float(values.mean()), "low": float(values.min()), "high": float(values.max()),
                "seeds": values.size,
            })
    return pandas.DataFrame(rows)


def finding(table: pandas.DataFrame) -> Finding:
    """State who is ahead on the MDPs, and in each setting of training runs."""
    mdp = table[table["origin"] == "mdp"].pivot_table(
        index="row", columns="column", values="value", sort=False)
    ahead = mdp.loc[MDP_ROWS["AEnt"]] - mdp.loc[["GRPO", "EntReg"]].max()
    criteria = [
        Criterion("AEnt's reward at the end (p = 1/3) less the better of GRPO's and EntReg's",
                  float(lead), ">", methods.LEAD, f"on the MDP with {column} tokens optimal")
        for column, lead in ahead.items()]
    training = table[(table["origin"] == "training") & (table["column"] == "reward (0 to 1)")]
    for setting, rows in training.groupby("title", sort=False):
        is_ours = rows["row"].str.startswith("AEnt")
        best = rows[~is_ours]["value"].max()
        criteria += [
            Criterion(f"reward of {row} at the end less the best of the others", float(value - best),
                      ">", 0, f"on {setting}")
            for row, value in rows[is_ours][["row", "value"]].to_numpy() if best == best]
    return Finding(criteria=tuple(criteria))


def tables(table: pandas.DataFrame) -> list[Table]:
    """Return the paper's two settings with means, then ours."""
    found = [_with_means(block) for block in paper_numbers.read(__file__).values()]
    notes = {
        "mdp": "Columns: optimal tokens of all. Mean over contexts, lowest to highest in brackets; "
        "bonuses at the constant coefficient that ends best. AEnt removes a third of the tokens, as in "
        "the paper's runs; \"clamped, oracle set\" keeps only those among which we put the optimal ones.",
        "training": "Mean over the last tenth of the steps; of several seeds their mean, lowest to "
        "highest in brackets.",
    }
    ours = table[table["origin"] != "paper"]
    for (origin, title), rows in ours.groupby(["origin", "title"], sort=False):
        columns = list(rows["column"].unique())
        cells = {(r.row, r.column): training_curves.spread(r.value, r.low, r.high, r.seeds, 2)
                 for r in rows.itertuples()}
        found.append(Table(
            title=str(title), header=("Method", *map(str, columns)), origin="ours",
            rows=tuple((str(name), *(cells.get((name, c), "") for c in columns))
                       for name in rows["row"].unique()),
            note=notes[str(origin)]))
    return found


def _with_means(block: paper_numbers.PaperTable) -> Table:
    """Add the mean of each row to the printed numbers, in a column that says so."""
    printed, means = block.printed(), block.averages()
    return Table(
        title=printed.title, header=(*printed.header, "mean of the row"), origin="the paper",
        rows=tuple((*row, f"{means[row[0]]:.4f}") for row in printed.rows),
        note=printed.note + " The means are ours: none are printed.")


FIGURE = PaperFigure(
    name="aent-table-1",
    source="AEnt, Table 1",
    title="benchmarks after GRPO, EntReg and AEnt",
    paper="AEnt outperforms the baselines on average, and on 5 of the 6 benchmarks across two settings.",
    place="Table 1 and Section 5.2",
    ours="Reward after training on synthetic MDPs of 10,000 to 1,000,000 tokens, mean over contexts.",
    data=data,
    finding=finding,
    headline=Headline(
        says="With the paper's clamping of a third of the tokens AEnt's lead counts on none of our "
             "synthetic MDPs.",
        fails=("on the MDP with 15 of 10,000 tokens optimal",
               "on the MDP with 15 of 100,000 tokens optimal",
               "on the MDP with 15 of 1,000,000 tokens optimal",
               "on the MDP with 5 of 100,000 tokens optimal",
               "on the MDP with 1 of 100,000 tokens optimal"),
    ),
    tables=tables,
    recipes=methods.RECIPES,
)
