"""Compares forecasts of a step's entropy change with its measurement, in a simulation and on a network.

There are three forecasts of the change of the mean entropy at a step's own states:

- **(i)** from the update's coefficients, as if every state had logits of its own;
- **(i')** the inner product of the optimizer's step with the entropy's gradient by the parameters;
- **(ii)** first order in the measured change of the logits, which is known only after the step.

We run, with every step audited:

- `simulations run entropy_accounts`: GRPO exactly on prompts that share more and more of their
  parameters and on token trees;
- `llm_bridge.commands.forecast_comparison`: GRPO on the bundled model by two optimizers at several
  learning rates.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.data import inputs
from paper_figures.drawing import MARKERS, REFERENCE, SERIES, Table, panels
from paper_figures.figure import MODELS, Criterion, Finding, Headline, PaperFigure

FILE = "forecasts/result.json"
COMMAND = f"python -m llm_bridge.commands.forecast_comparison --output build/{FILE}"
FORECASTS = {
    "coefficients": "(i) independent logits", "entropy_gradient": "(i') entropy gradient",
    "first_order": "(ii) from the logit change",
}
LOOKS = {name: {**SERIES[i], "marker": MARKERS[i]} for i, name in enumerate(FORECASTS)}
TABLED = {**FORECASTS, "second_order": "(ii) with second order"}
SIMULATED = ("coefficients", "entropy_gradient")
"""The forecasts of the simulation: what (ii) needs is exact there, and differs from (i') nowhere."""
DIFFERENCE = "entropy_gradient - first_order"
"""In a run: by how much the correlation of (i') is above that of (ii)."""
FOLLOWS = 0.5
"""The correlation above which one change follows another at least loosely."""
BLOCK = 5
"""Steps that are drawn together in a bootstrap: with momentum a step resembles the one before."""
DRAWS = 2000
COVERED = (2.5, 97.5)
"""The percentiles between which an interval of 95 % lies."""
SETTING = ("task", "optimizer", "learning_rate", "seed")
"""What tells runs apart, in the order in which they are listed."""
OPTIMIZERS = {"adamw": "AdamW", "sgd": "SGD"}
COLUMNS = ["panel", "where", "variant", "forecast", "correlation", "low", "high", "slope", "steps"]


def data(results: Path) -> pandas.DataFrame:
    """Return columns COLUMNS: how a forecast met the measured changes of one run's steps.

    Panel "simulated": a row a model, momentum (``variant``) and forecast, the mean over starts with the
    least and the most (``low``, ``high``). "trained": a row per setting, seed (``variant``) and forecast,
    with an interval of 95 %; the forecast DIFFERENCE among them. Slopes are of measured against forecast,
    through the origin; on the network that of (i) is per unit learning rate.

    Raises:
        MissingInputError: no simulation, or no runs.
    """
    return pandas.DataFrame([*_simulated(results), *trained(results)], columns=COLUMNS)


def _simulated(results: Path) -> Iterator[dict[str, Any]]:
    dataset = inputs.simulation(results, "entropy_accounts")
    for model in dataset["model"].values:
        for momentum in dataset["momentum"].values:
            run = dataset.sel(model=model, momentum=momentum)
            for name in SIMULATED:
                pairs = [(run[name].sel(start=start).values, run["measured"].sel(start=start).values)
                         for start in dataset["start"].values]
                found = [float(correlations(x, y)) for x, y in pairs]
                yield {
                    "panel": "simulated", "where": str(model), "variant": f"momentum {momentum:g}",
                    "forecast": name, "correlation": float(np.mean(found)), "low": min(found),
                    "high": max(found), "slope": float(np.mean([_slope(x, y) for x, y in pairs])),
                    "steps": dataset.sizes["step"],
                }


def trained(results: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of panel "trained" (`data`).

    Raises:
        MissingInputError: no runs.
    """
    found = inputs.comparison(results, FILE)
    if found is None:
        raise inputs.MissingInputError(f"the audited runs are missing: run `{COMMAND}`")
    for record in sorted(found["records"], key=lambda one: [one[name] for name in SETTING]):
        series = {name: np.array(values) for name, values in record["series"].items()}
        measured = series["measured"]
        common = {
            "panel": "trained", "where": f"{record['task']}, {_optimizer(record)}",
            "variant": f"seed {record['seed']}", "steps": len(measured),
        }
        one: dict[str, float] = {}
        resampled: dict[str, np.ndarray] = {}
        for name in TABLED:
            one[name] = float(correlations(series[name], measured))
            resampled[name] = redrawn(series[name], measured)
            low, high = np.percentile(resampled[name], COVERED)
            yield {**common, "forecast": name, "correlation": one[name], "low": low, "high": high,
                   "slope": _slope(series[name], measured)}
        first, second = DIFFERENCE.split(" - ")
        low, high = np.percentile(resampled[first] - resampled[second], COVERED)
        yield {**common, "forecast": DIFFERENCE, "correlation": one[first] - one[second], "low": low,
               "high": high, "slope": np.nan}


def blocks(steps: int) -> np.ndarray:
    """Draw steps in blocks of BLOCK that follow each other, the first after the last: [DRAWS, steps]."""
    count = -(-steps // BLOCK)
    starts = np.random.default_rng(0).integers(steps, size=(DRAWS, count, 1))
    return ((starts + np.arange(BLOCK)) % steps).reshape(DRAWS, -1)[:, :steps]


def redrawn(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the correlation of the steps of each of DRAWS draws, the same steps of every series."""
    drawn = blocks(len(y))
    return correlations(x[drawn], y[drawn])


def correlations(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Pearson correlations over the last axis: [...]."""
    x, y = (values - values.mean(-1, keepdims=True) for values in (x, y))
    return (x * y).sum(-1) / np.sqrt((x**2).sum(-1) * (y**2).sum(-1))


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y / (x @ x))


def _optimizer(record: dict[str, Any]) -> str:
    digits, power = f"{record['learning_rate']:e}".split("e")
    return f"{OPTIMIZERS[record['optimizer']]} {float(digits):g}e{int(power)}"


def finding(table: pandas.DataFrame) -> Finding:
    """State how the two forecasts correlate on trained policies."""
    of = table[table["panel"] == "trained"].groupby("forecast")["correlation"]
    worst = float(of.min()["entropy_gradient"])
    return Finding(standing="our own", model=MODELS["small-sums"], criteria=(
        Criterion("correlation of the measured change with (i'), smallest of a run", worst, ">",
                  FOLLOWS),
        Criterion("that correlation less the largest with (i) of a run",
                  worst - float(of.max()["coefficients"]), ">", 0),
    ))


def tables(table: pandas.DataFrame) -> list[Table]:
    """Return the correlations of every run of the network with their intervals, and slopes."""
    runs = table[table["panel"] == "trained"]
    rows = []
    for (where, seed), group in runs.groupby(["where", "variant"], sort=False):
        of = group.set_index("forecast")
        rows.append((
            f"{where}, {seed}", _correlation(of.loc["coefficients"]),
            *(cell for name in ("entropy_gradient", "first_order")
              for cell in (_correlation(of.loc[name]), f"{of.loc[name, 'slope']:.2f}")),
            _correlation(of.loc["second_order"]),
        ))
    return [Table(
        title=f"Correlation with the measured change over {runs['steps'].min()} steps",
        header=("run", "(i)", "(i')", "slope", "(ii)", "slope", "(ii) with second order"),
        rows=tuple(rows), origin="ours",
        note="GRPO on the bundled model. Intervals of 95 % from a bootstrap of the run's steps in blocks "
        f"of {BLOCK}; slopes of measured against forecast, through the origin.",
    )]


def _correlation(row: pandas.Series) -> str:
    return f"{row['correlation']:.3f} ({row['low']:.3f} to {row['high']:.3f})".replace("-", "−")


def draw(table: pandas.DataFrame) -> Figure:
    """Draw correlations by model above, by run of the network below."""
    figure, ((above,), (below,)) = panels(2, 1, height=2.5)
    _draw(above, table[table["panel"] == "simulated"], SIMULATED)
    above.set_title("exactly, on shared parameters (hollow: with momentum)")
    _draw(below, table[table["panel"] == "trained"], tuple(FORECASTS))
    below.set_title("a small transformer (hollow: another seed)")
    handles = [above.plot([], [], markersize=4, **{**look, "linestyle": "none"})[0]
               for look in LOOKS.values()]
    figure.legend(handles, list(FORECASTS.values()), loc="outside lower center", ncols=3)
    return figure


def _draw(panel: Axes, rows: pandas.DataFrame, forecasts: tuple[str, ...]) -> None:
    """Draw a place a model or setting, forecasts and variants beside each other."""
    places, variants = list(rows["where"].unique()), list(rows["variant"].unique())
    beside = len(forecasts) * len(variants)
    for i, name in enumerate(forecasts):
        for j, variant in enumerate(variants):
            drawn = rows[(rows["forecast"] == name) & (rows["variant"] == variant)]
            x = np.array([places.index(where) for where in drawn["where"]], dtype=float)
            x += 0.6 * ((i * len(variants) + j + 0.5) / beside - 0.5)
            y = drawn["correlation"].to_numpy()
            error = np.abs(drawn[["low", "high"]].to_numpy() - y[:, None]).T
            panel.errorbar(x, y, yerr=error, markersize=4, elinewidth=0.8,
                           markerfacecolor=LOOKS[name]["color"] if j == 0 else "none",
                           **{**LOOKS[name], "linestyle": "none"})
    for level in (0, 1):
        panel.axhline(level, **REFERENCE)
    panel.set_xticks(range(len(places)), [_broken(where) for where in places])
    panel.set(xlim=(-0.5, len(places) - 0.5), ylabel="correlation")
    panel.minorticks_off()


def _broken(where: str) -> str:
    """Break the name of a model or setting into lines that fit under its place."""
    for before in (", ", "coupling ", "token ", "AdamW ", "SGD "):
        where = where.replace(before, f"{before.rstrip(', ')}\n")
    return where


FIGURE = PaperFigure.of(
    __name__, name="forecasts",
    source="This project",
    title="which forecast meets a step's entropy change",
    paper="Cui et al. (Figure 8) show the covariance and the entropy difference to have similar trends; "
    "neither a correlation nor the gradient's forecast is given.",
    ours="Correlation of forecast and measured change over a run's steps. Above: GRPO's exact "
    "expectation on prompts of shared parameters and on token trees (mean, least and most of the "
    "starts). Below: GRPO on the bundled model, by task, optimizer and learning rate, with intervals of "
    "95 %.",
    claims=("aepo.assumption-b4", "extension.score-covariance", "extension.score-forecast"),
    headline=Headline(
        says="A step's entropy change follows the entropy gradient in every run, in the worst "
             "more closely than the papers' coefficients in their best.",
    ),
)
