"""Where a training run's entropy went: forecasts that know the network, the account by cause and token.

The papers forecast an entropy change from the update's coefficients, as if every state had logits of its
own. Forecast (i') takes the gradient of the entropy by the parameters instead, and the optimizer's
own step. The account averages that gradient along the step. Its parts then add up to the measured
change (`llm_bridge.accounting`).

We run ``llm_bridge audit`` on the bundled model, every step. The account also tests whether the
papers' covariance finds the tokens that take entropy. It gives the share of all decreases by the
tokens that the covariance would choose first.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from llm_bridge.analysis import tokens as audited_tokens
from llm_bridge.running.run_folder import RunFolder
from paper_figures.data import inputs
from paper_figures.data.tables import by_panel, pick
from paper_figures.drawing import REFERENCE, SERIES, lines, panels
from paper_figures.extensions.forecasts_compared import COVERED, OPTIMIZERS, redrawn
from paper_figures.figure import MODELS, Criterion, Finding, Headline, PaperFigure

FORECASTS = {
    "coefficients": "(i) independent logits", "first_order": "(ii) from the logit change",
    "entropy_gradient": "(i') entropy gradient", "accounted": "account",
}
CHOICES = {"attribution": "true effect", "covariance": "covariance"}
SHARES = np.array([0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5])
"""The shares of a step's tokens that are chosen."""
FEWEST = 10
"""Audited steps below which a correlation says nothing."""
MODEL = "small-sums"
COMMAND = (
    f"python -m llm_bridge audit --model {MODEL} --task split --rule grpo --steps 60 "
    "--kernel-states 0 --output build/runs/small-sums-split-audit"
)


def data(results: Path) -> pandas.DataFrame:
    """Return columns panel, name, step, x, y, optimizer, learning_rate of GRPO's longest run; nats.

    The run is one of the bundled model, with an account of each step. A run with an account by
    token goes before a longer run without. An unknown learning rate is NaN.

    Panels:

    - "forecast": x forecast, y measured change;
    - "cause": y effect of part ``name`` of the steps so far, with "measured" among the names;
    - "chosen": of the share x of a step's tokens chosen by ``name``, y their share of all decreases;
    - "sign": y share of a step's tokens for which covariance and effect agree in sign.

    Raises:
        MissingInputError: no audited run with an account.
    """
    runs = [
        run for run in inputs.training_runs(results)
        if "accounted" in run.audit and run.audit["accounted"].notna().sum() >= FEWEST and _is_shown(run)
    ]
    if not runs:
        raise inputs.MissingInputError(
            f"no audit with accounts of {FEWEST} steps was found: run `{COMMAND}`")
    tokens = {run.name: list(_attributed_steps(run.folder)) for run in runs}
    run = max(runs, key=lambda run: (
        bool(tokens[run.name]), run.audit["accounted"].notna().sum(), run.name))
    audit = run.audit[run.audit["accounted"].notna()]
    rows = [
        {"panel": "forecast", "name": name, "step": step, "x": x, "y": y}
        for name in FORECASTS
        for step, x, y in zip(audit["step"], audit[name], audit["measured"], strict=True)
    ]
    causes = pandas.DataFrame(list(audit["parts"]), index=audit["step"]).fillna(0.0)
    causes["measured"] = audit["measured"].to_numpy()
    for name, column in causes.cumsum().items():
        rows += [{"panel": "cause", "name": name, "step": step, "x": step, "y": y}
                 for step, y in column.items()]
    for step in tokens[run.name]:
        rows += _of_tokens(step)
    rate = run.options.get("learning_rate")
    optimizer = OPTIMIZERS.get(str(run.options.get("optimizer")), "an optimizer that is not known")
    table = pandas.DataFrame(rows).assign(
        optimizer=optimizer, learning_rate=np.nan if rate is None else float(rate))
    table.attrs["inputs"] = {run.name: run.provenance}
    return table


def _is_shown(run: inputs.TrainingRun) -> bool:
    """Whether the caption is true of a run: GRPO on the bundled model, each step audited."""
    asked = (run.options.get("rule"), Path(str(run.options.get("model"))).name)
    return asked == ("grpo", MODEL) and run.options.get("audit_every") == 1


def _attributed_steps(run: Path) -> Iterator[audited_tokens.AuditedTokens]:
    for path in sorted(RunFolder(run).audit_details.glob("tokens-*.npz")):
        step = audited_tokens.read(path)
        if audited_tokens.is_attributed(step):
            yield step


def _of_tokens(found: audited_tokens.AuditedTokens) -> Iterator[dict[str, object]]:
    drop, covariance = -found.attribution[found.mask], found.covariance[found.mask]
    total = drop[drop > 0].sum()
    if not total:
        return
    common = {"step": found.step}
    yield {**common, "panel": "sign", "name": "agree", "x": np.nan,
           "y": float(np.mean((drop > 0) == (covariance > 0)))}
    for name, order in (("attribution", drop), ("covariance", covariance)):
        carried = np.cumsum(drop[np.argsort(-order, kind="stable")]) / total
        for share in SHARES:
            last = max(1, round(share * len(drop))) - 1
            yield {**common, "panel": "chosen", "name": name, "x": share, "y": float(carried[last])}


def finding(table: pandas.DataFrame) -> Finding:
    """State by how much one forecast met the measured changes better than another."""
    forecasts = table[table["panel"] == "forecast"].groupby("name")
    (_, most), (least, _) = (interval(forecasts.get_group(name))
                             for name in ("coefficients", "entropy_gradient"))
    return Finding(standing="our own", model=MODELS["small-sums"], criteria=(
        Criterion("lower end of the 95 % interval of the correlation with (i'), less the upper end of "
                  "that with (i)", least - most, ">", 0),
    ))


def interval(steps: pandas.DataFrame) -> tuple[float, float]:
    """Return an interval of 95 % of the correlation of ``x`` and ``y``, by `forecasts_compared.redrawn`.

    A step resembles the one before, so that an interval of independent steps would be too short.
    """
    low, high = np.percentile(redrawn(steps["x"].to_numpy(), steps["y"].to_numpy()), COVERED)
    return float(low), float(high)


def draw(table: pandas.DataFrame) -> Figure:
    """Draw the four forecasts above, causes and tokens below."""
    figure, axes = panels(3, 2, height=2.0)
    of = by_panel(table)
    for place, (panel, (name, title)) in enumerate(
            zip(axes[:2].flat, FORECASTS.items(), strict=True)):
        _draw_forecast(panel, pick(of["forecast"], name=name), title, name == "coefficients")
        if place % 2 == 0:
            panel.set_ylabel("measured (10⁻³ nats)")
        if place > 1:
            panel.set_xlabel("forecast (10⁻³ nats)")
    causes, chosen = axes[2]
    causes.axhline(0, **REFERENCE)
    lines(causes, of["cause"], "name", [name for name in of["cause"]["name"].unique()
                                        if name != "rounding"],
          band=None, name=lambda name: name.replace("_", " "), title="by cause", xlabel="step",
          ylabel="change so far (nats)")
    if "chosen" in of:
        lines(chosen, of["chosen"], "name", [*CHOICES], band=(0.25, 0.75), name=CHOICES.__getitem__,
              title="tokens chosen by", xlabel="share of the tokens chosen", ylabel="share of decreases",
              ylim=(0, 1.05))
    else:
        chosen.annotate("no step was divided over its tokens", (0.5, 0.5), xycoords="axes fraction",
                        fontsize=7, ha="center")
        chosen.set_axis_off()
    return figure


def _draw_forecast(panel: Axes, group: pandas.DataFrame, title: str, is_scaled: bool) -> None:
    x, y = 1e3 * group["x"].to_numpy(), 1e3 * group["y"].to_numpy()
    correlation = np.corrcoef(x, y)[0, 1]
    if is_scaled:  # per unit learning rate of plain gradient descent
        x = x * (x @ y) / (x @ x)
    panel.plot(x, y, "o", markersize=2.6, markerfacecolor="none", markeredgewidth=0.6,
               color=SERIES[0]["color"], alpha=0.8)
    low, high = min(y.min(), 0.0), max(y.max(), 0.0)
    panel.plot([low, high], [low, high], **REFERENCE)
    panel.set_title(title + (", scaled to fit" if is_scaled else ""))
    panel.annotate(f"r = {correlation:.2f}", (0.05, 0.93), xycoords="axes fraction",
                   fontsize=7, va="top")
    panel.locator_params(nbins=4)


FIGURE = PaperFigure.of(
    __name__, name="entropy-accounts",
    source="This project",
    title="where a run's entropy went",
    paper="Cui et al. (Figure 8) show the covariance and the entropy difference to have similar trends; "
    "neither a correlation nor the gradient's forecast is given.",
    ours="GRPO on the bundled model, each step audited. First: measured change against forecasts, "
         "equality dashed, (i) scaled by its best slope. Second: changes so far by cause. Third: "
         "share of all decreases by tokens chosen by true effect or by the paper's covariance, "
         "median and quartiles of steps.",
    claims=("extension.score-covariance",),
    headline=Headline(
        says="In one run the entropy change of a step follows the entropy gradient's forecast "
             "more closely than the papers' coefficients, beyond chance over steps.",
    ),
)
