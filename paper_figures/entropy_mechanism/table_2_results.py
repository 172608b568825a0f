"""Cui et al., Table 2: GRPO, clip-higher, Clip-Cov and KL-Cov on seven benchmarks.

We run the four rules on small transformers, with several optimizer steps per generation. Accuracy
is that of the samples over the last tenth of training. Where trained models were evaluated, we add
the paper's evaluation, avg@n at T = 0.6 and greedy. The recipes of paper/ rerun it at its size.
"""

from __future__ import annotations

from pathlib import Path

import pandas

from paper_figures.data import inputs, paper_numbers, training_curves
from paper_figures.data.tables import stacked
from paper_figures.drawing import Table
from paper_figures.entropy_mechanism.methods import BASE, LOOKS, METHODS, RUNS
from paper_figures.figure import PRINTED_NUMBERS, Criterion, Finding, Headline, Number, PaperFigure

PRINTED = paper_numbers.read(__file__)
METRICS = ("reward", "entropy", "distinct_answers")
TEMPERATURE, GREEDY = 0.6, "greedy"
COLUMNS = ["origin", "block", "row", "column", "value", "low", "high", "seeds"]


def data(results: Path) -> pandas.DataFrame:
    """Return columns origin, block, row, column, value, low, high, seeds.

    The paper's rows: block is the model, column a benchmark or "recomputed". Ours: block is a setting,
    column a metric or an evaluation ("avg@32 at T = 0.6", "greedy"), low and high the extreme seeds.
    """
    for printed in PRINTED.values():
        inputs.printed(printed.source)
    paper = pandas.concat([table.tidy() for table in PRINTED.values()], ignore_index=True)
    paper = paper.rename(columns={"title": "block"}).assign(origin="the paper")
    runs = training_curves.read(results, RUNS, metrics=METRICS, least=2)
    with_methods = runs[runs["label"].isin(METHODS)]["setting"].unique()
    runs = runs[runs["setting"].isin(with_methods)]
    ours = training_curves.ends(runs).rename(
        columns={"setting": "block", "label": "row", "metric": "column", "last": "value"})
    evaluated = _evaluations(results, runs)
    return stacked([paper, ours.assign(origin="ours"), evaluated], COLUMNS, runs if len(runs) else None)


def _evaluations(results: Path, runs: pandas.DataFrame) -> pandas.DataFrame:
    """Read evaluations of the trained models on their own task: mean and extremes over seeds."""
    known = runs.drop_duplicates("run").set_index("run")
    rows = []
    for found in inputs.evaluations(results):
        run = Path(str(found.get("model"))).parent.name  # RUN/model
        if run not in known.index or found.get("task") != known["task"][run]:
            continue
        if found.get("top_k") == 1:
            column, value = GREEDY, found["pass@1"]
        elif found.get("temperature") == TEMPERATURE:
            name = f"avg@{found['num_samples']}"
            column, value = f"{name} at T = {TEMPERATURE}", found[name]
        else:
            continue
        rows.append({"block": known["setting"][run], "row": known["label"][run], "column": column,
                     "value": float(value)})
    if not rows:
        return pandas.DataFrame(columns=COLUMNS)
    by = ["block", "row", "column"]
    return pandas.DataFrame(rows).groupby(by, sort=False)["value"].agg(
        value="mean", low="min", high="max", seeds="size").reset_index().assign(origin="ours")


def finding(table: pandas.DataFrame) -> Finding:
    """Judge our runs, or count the paper's averages that are not the means of their rows."""
    ours = table[(table["origin"] == "ours") & (table["column"] == "reward")]
    criteria: list[Criterion] = []
    for block, rows in ours.groupby("block", sort=False):
        by_rule = rows.set_index("row")
        criteria += [
            Criterion(f"accuracy of {rule} less GRPO's, from lowest less highest seed to the reverse",
                      Number(by_rule["value"][rule] - by_rule["value"][BASE],
                             by_rule["low"][rule] - by_rule["high"][BASE],
                             by_rule["high"][rule] - by_rule["low"][BASE],
                             int(by_rule.loc[[rule, BASE], "seeds"].min())), ">", 0, f"on {block}",
                      training_curves.model_of(str(block)))
            for rule in METHODS if {rule, BASE} <= set(by_rule.index)]
    if criteria:
        return Finding(criteria=tuple(criteria))
    wrong = sum(len(printed.wrong_averages()) for printed in PRINTED.values())
    return Finding(standing="awaits runs", model=PRINTED_NUMBERS, criteria=(
        Criterion("averages that differ from the mean of their row", float(wrong), ">", 0,
                  "in the printed averages"),))


def tables(table: pandas.DataFrame) -> tuple[Table, ...]:
    """Return the paper's two blocks, and one of ours for each setting."""
    ours = table[table["origin"] == "ours"]
    return (
        *(printed.printed() for printed in PRINTED.values()),
        *(_ours(str(block), rows) for block, rows in ours.groupby("block", sort=False)),
    )


WORDS = {"reward": "accuracy", "entropy": "entropy (nats)", "distinct_answers": "distinct answers"}


def _ours(block: str, rows: pandas.DataFrame) -> Table:
    constant = rows[rows["column"] == training_curves.CONSTANT]["value"].mean()
    shown = [name for name in rows["column"].unique() if name != training_curves.CONSTANT]
    cells = rows.set_index(["row", "column"])
    lines = []
    for rule in LOOKS:
        if (rule, "reward") not in cells.index:
            continue
        line = [rule, f"{cells.loc[(rule, 'reward'), 'seeds']:.0f}"]
        for name in shown:
            if (rule, name) not in cells.index:
                line.append("–")
                continue
            cell = cells.loc[(rule, name)]
            spread = f" ({cell['low']:.2f} to {cell['high']:.2f})" if cell["seeds"] > 1 else ""
            line.append(f"{cell['value']:.3f}{spread}")
        lines.append(tuple(line))
    return Table(
        title=block, header=("Method", "seeds", *(WORDS.get(name, name) for name in shown)),
        rows=tuple(lines), origin="ours",
        note="Means over seeds (lowest to highest) of the last tenth of training, sampled at T = 1"
        + (f"; always giving one answer scores {constant:.3f}" if constant == constant else "") + ".",
    )


FIGURE = PaperFigure.of(
    __name__, name="entropy-mechanism-table-2",
    source="Cui et al., Table 2",
    title="accuracy after training with Clip-Cov and KL-Cov",
    paper="On seven benchmarks Clip-Cov and KL-Cov are above GRPO in the average, at 7 and at 32 billion "
    "parameters.",
    place="Table 2",
    ours="The four rules on small transformers, with several optimizer steps per generation.",
    headline=Headline(
        says="Some of the printed averages are not the mean of their row.",
        holds=("in the printed averages",),
    ),
    recipes=(
        "paper/entropy-mechanism-grpo", "paper/entropy-mechanism-clip-higher",
        "paper/entropy-mechanism-clip-cov", "paper/entropy-mechanism-kl-cov", "gpu-small/grpo-off-policy",
        "gpu-small/clip-higher", "gpu-small/clip-cov", "gpu-small/kl-cov",
    ),
)
