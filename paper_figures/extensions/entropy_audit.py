"""Forecast against measured entropy change, step by step: tabular, small transformer, SmolLM2.

No paper compares them step by step in nats. Their theorems forecast an entropy change from the update's
coefficients under two assumptions: every state has logits of its own (tabular), and steps are small
(first order). Each audited optimizer step has three forecasts of the mean entropy change beside the
measured one:

- **(i)** from the coefficients;
- **(ii)** first order in the measured logit change;
- **(iii)** exact in it.

The gap between (i) and (ii) is the error of the tabular assumption, and of any optimizer but plain
gradient descent. The gap between (ii) and (iii) is the error of first order.

In the tabular simulator (i) = (ii) and (iii) = measured, to rounding. On a transformer (i) and (ii)
may differ.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from entropy_theory.forecast import ForecastComparison, compare
from paper_figures.data import inputs
from paper_figures.drawing import REFERENCE, Table, marked, panels
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure

FORECASTS = {
    "coefficients": "(i) coefficients", "first_order": "(ii) first order", "exact": "(iii) exact",
}
DRAWN = ("coefficients", "first_order")
"""The forecasts that are drawn: the exact one is the measured change, to rounding."""
NETWORKS = "networks of 0.8M to 135M parameters"
CLOSELY = 0.9
"""The correlation above which one change follows another closely."""
MOST_ROWS = 3
FEW_STEPS = 10  # below this many audited steps, single tokens are compared instead of their means
COLUMNS = ["policy", "level", "rule", "step", *FORECASTS, "measured"]
TABULAR = "tabular, learning rate {:g}"
PLAIN = ", plain SGD"


def data(results: Path) -> pandas.DataFrame:
    """Return columns policy, level, rule, step, coefficients, first_order, exact, measured; nats.

    With ``level`` "steps" each row is the mean entropy change of an optimizer step. With "tokens",
    for models with few audited steps, it is that of one token's distribution. ``coefficients`` is
    in nats for tabular policies. For models it is per unit learning rate, since the optimizer sets
    the size of a step; the finding scales it by its best slope.

    Raises:
        MissingInputError: neither the tabular audit nor any audited run exists.
    """
    parts: list[pandas.DataFrame] = []
    provenance: dict[str, Any] = {}
    try:
        dataset = inputs.simulation(results, "tabular_audit", "sampled")
    except inputs.MissingInputError as error:
        missing = error
    else:
        frame = dataset[[*FORECASTS, "measured"]].sel(mode="sampled").to_dataframe().reset_index()
        # The smallest rate would repeat the middle one, only closer to its line.
        frame = frame[frame["learning_rate"].isin(sorted(dataset.learning_rate.values)[-2:])]
        frame["policy"] = frame["learning_rate"].map(TABULAR.format)
        parts.append(frame.assign(level="steps")[COLUMNS])
    for run in inputs.training_runs(results):
        if not run.audit.empty:
            device = f", {run.device}" if run.measured else ""
            plain = PLAIN if run.options.get("optimizer") == "sgd" else ""
            model = Path(str(run.options["model"])).name
            policy = f"{model}, {run.options['task']}{plain}{device}"
            parts.append(_of_run(run).assign(policy=policy, rule=run.options["rule"])[COLUMNS])
            provenance[run.name] = run.provenance
    if not parts:
        raise missing
    table = pandas.concat(parts, ignore_index=True)
    table.attrs["inputs"] = provenance
    return table


def _of_run(run: inputs.TrainingRun) -> pandas.DataFrame:
    """Return the audited steps of a run, or their tokens where steps are few."""
    if len(run.audit) >= FEW_STEPS:
        return run.audit.assign(level="steps")
    tokens = [
        pandas.DataFrame(step["by_token"]).assign(step=step["step"])
        for step in run.audit.to_dict("records")
    ]
    return pandas.concat(tokens, ignore_index=True).assign(level="tokens")


def comparison(steps: pandas.DataFrame) -> ForecastComparison:
    """How the forecasts of one policy did over its audited steps.

    Forecast (i) of a tabular policy is in nats as it stands, so its error is taken without the
    fitted slope that stands in for a model's step size.
    """
    found = compare(*(steps[name] for name in (*FORECASTS, "measured")))
    if not _is_tabular(steps["policy"].iloc[0]):
        return found
    gap = float(np.sqrt(np.mean((steps["coefficients"] - steps["first_order"]) ** 2)))
    return dataclasses.replace(found, tabular_error=gap)


def comparisons(table: pandas.DataFrame) -> dict[tuple[str, str, str], ForecastComparison]:
    """How the forecasts of each (policy, level, rule) did over its audited steps or tokens."""
    return {
        (str(policy), str(level), str(rule)): comparison(group)
        for (policy, level, rule), group in table.groupby(["policy", "level", "rule"], sort=False)
    }


def finding(table: pandas.DataFrame) -> Finding:
    """State the smallest correlation with forecast (i) in tables and on networks."""
    found = [(_is_tabular(policy), one.correlation["coefficients"])
             for (policy, _, _), one in comparisons(table).items()]
    of = {where: [value for is_tabular, value in found if is_tabular == tabular]
          for where, tabular in (("in a table", True), ("on networks", False))}
    return Finding(standing="our own", criteria=tuple(
        Criterion("correlation of the measured change with forecast (i), smallest of a policy",
                  min(values), ">", CLOSELY, where, "" if where == "in a table" else NETWORKS)
        for where, values in of.items() if values))


def larger_error(policy: str, found: ForecastComparison) -> str:
    """Return the larger error of forecast (i): an optimizer other than plain SGD has its part in it."""
    if found.dominant == "first order":
        return "first-order expansion"
    alone = _is_tabular(policy) or PLAIN in policy
    return "tabular assumption" if alone else "tabular assumption and the optimizer"


def _is_tabular(policy: object) -> bool:
    return str(policy).startswith("tabular")


def draw(table: pandas.DataFrame) -> Figure:
    """Draw forecasts (i) and (ii) against the measured change, a row for each of a few policies."""
    rows = _drawn(table)
    rules = list(dict.fromkeys(table.loc[table["policy"].isin([policy for policy, _ in rows]), "rule"]))
    figure, axes = panels(len(rows), len(DRAWN), height=1.8, sharey="row")
    for row, (policy, level) in enumerate(rows):
        chosen = table[(table["policy"] == policy) & (table["level"] == level)]
        found = {rule: one for (_, _, rule), one in comparisons(chosen).items()}
        for column, name in enumerate(DRAWN):
            panel = axes[row, column]
            # (i) of a model is per unit learning rate; a rule's best slope brings it to nats.
            in_nats = name != "coefficients" or _is_tabular(policy)
            _scatter(panel, chosen, name,
                     {rule: 1.0 if in_nats else one.slope[name] for rule, one in found.items()}, rules)
            r = sorted({f"{one.correlation[name]:.2f}" for one in found.values()}, key=float)
            panel.annotate(
                f"r = {' to '.join(dict.fromkeys((r[0], r[-1])))}", (0.05, 0.93),
                xycoords="axes fraction", fontsize=7, va="top",
                bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 0.5},
            )
            if row == 0:
                panel.set_title(FORECASTS[name])
            if row == len(rows) - 1:
                panel.set_xlabel("forecast (10⁻³ nats)")
        who = policy.replace(", ", "\n", 1)
        axes[row, 0].set_ylabel(f"{who}, {level}\nmeasured (10⁻³ nats)", fontsize=7)
    handles = [Line2D([], [], label=rule, **_look(i)) for i, rule in enumerate(rules)]
    figure.legend(handles=handles, loc="outside upper center", ncols=5, handletextpad=0.1)
    return figure


def _drawn(table: pandas.DataFrame) -> list[tuple[str, str]]:
    """Choose the (policy, level) of each row: the largest tabular rate, then one of each model."""
    known = list(dict.fromkeys(zip(table["policy"], table["level"], strict=True)))
    chosen: dict[str, tuple[str, str]] = {}
    for policy, level in known:
        model = policy.partition(",")[0]
        if model == "tabular" or model not in chosen:  # tabular rates rise: the last one stays
            chosen[model] = (policy, level)
    rest = [row for row in known if row not in chosen.values() and not row[0].startswith("tabular")]
    return [*chosen.values(), *rest][:MOST_ROWS]


def tables(table: pandas.DataFrame) -> tuple[Table, ...]:
    """Return how each forecast met the measured change, a row per policy and rule."""
    return (Table(
        title="Forecasts against the measured entropy change, all policies and rules",
        header=("policy, rule", "compared", "r of (i)", "r of (ii)", "slope of (ii)",
                "(iii) − measured (nats)", "larger error"),
        rows=tuple(
            (f"{policy}, {rule}", f"{found.steps} {level}", f"{found.correlation['coefficients']:.3f}",
             f"{found.correlation['first_order']:.3f}", f"{found.slope['first_order']:.3f}",
             f"{found.identity_error:.0e}", larger_error(policy, found))
            for (policy, level, rule), found in comparisons(table).items()),
        origin="ours",
        note="r: correlation. Larger error: of the assumption that logits are independent (tabular), "
             "with the optimizer where it is not plain SGD, or of the first order.",
    ),)


def _look(i: int) -> dict[str, Any]:
    return {**marked(i), "linestyle": "none", "markersize": 2.6, "markerfacecolor": "none",
            "markeredgewidth": 0.6}


def _scatter(
    panel: Axes, steps: pandas.DataFrame, name: str, scales: dict[str, float], rules: list[str]
) -> None:
    for rule, group in steps.groupby("rule", sort=False):
        panel.plot(
            1e3 * scales[str(rule)] * group[name], 1e3 * group["measured"], alpha=0.8,
            **_look(rules.index(rule)),
            # Thousands of outlines would make a vector file of megabytes.
            rasterized=len(steps) > 500,
        )
    low, high = 1e3 * float(steps["measured"].min()), 1e3 * float(steps["measured"].max())
    panel.plot([low, high], [low, high], **REFERENCE)
    panel.locator_params(nbins=4)


FIGURE = PaperFigure.of(
    __name__, name="entropy-audit",
    source="This project",
    title="forecast against measured entropy change",
    paper="The papers did not measure their theorems' assumptions on a model.",
    ours="A point is an optimizer step, or a token where few steps were audited. Dashed: forecast "
         "= measured. r is the least and most of the rules' correlations. Forecast (iii) is exact "
         "to rounding and not drawn. For models, forecast (i) is scaled by each rule's best "
         "slope, in place of the learning rate.",
    claims=("extension.score-forecast",),
    headline=Headline(
        says="Forecast from an update's coefficients alone, the entropy change follows the measured one "
             "closely in a table, and not always on networks.",
        holds=("in a table",),
        fails=("on networks",),
    ),
)
