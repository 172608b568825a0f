"""Data and lines of Figure 11 and Table 2: rules at equal steps, accuracy, entropy, and in training.

Tabular runs are those of four experiments, the gaps to GRPO from the same start; a transformer's are of
the setting with most runs of Clip-Cov and KL-Cov.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from paper_figures.data import inputs, training_curves
from paper_figures.data.tables import long, stacked
from paper_figures.data.training_curves import Choice
from paper_figures.drawing import MARKERS, REFERENCE, SERIES
from paper_figures.entropy_mechanism.figure_12_strengths import WIDE
from paper_figures.entropy_mechanism.sweeps import GAIN_LEVEL
from simulations.experiments.curves import mean_interval, value_when_reached

BASE = "GRPO"
METHODS = ("Clip-Cov", "KL-Cov")
LOOKS = dict(zip((BASE, "clip-higher", *METHODS), SERIES, strict=False))
DOTS = dict(zip(("clip-higher", *METHODS), MARKERS, strict=False))
CLIP_HIGH = 0.28  # Cui et al., Table 2
RUNS = (
    Choice(label=BASE, rule="grpo"),
    Choice(label="clip-higher", rule="clip-higher"),
    Choice(label="Clip-Cov", rule="clip-cov", options={**WIDE, "ratio": 0.01}),
    Choice(label="KL-Cov", rule="kl-cov", options={"ratio": 0.02}),
)
METRICS = {"entropy": "entropy\n(nats per token)", "mean_length": "length (tokens)",
           "reward": "accuracy (0 to 1)"}
LEVELS = 8
REWARD_LEVEL = 0.9  # at which families are compared; the highest below it where a dataset has none
COLUMNS = ("panel", "family", "rule", "start", "x", "y")


def data(results: Path) -> pandas.DataFrame:
    """Return columns panel, family, rule, start, x, y.

    Panels "entropy", "reward" and "length" (x: step), "transformer METRIC".
    Lengths are those of right responses, over GRPO's from the same start.
    """
    curves = _curves(inputs.simulation(results, "intervention_sweeps"))
    transformer, provenance = _transformer(results)
    length = _length(inputs.simulation(results, "response_length", "sampled"))
    table = stacked([curves, length, transformer], COLUMNS)
    table.attrs["inputs"] = provenance
    return table


def compared(results: Path) -> pandas.DataFrame:
    """Return columns panel, family, rule, start, x, y, selected, penalty at equal accuracy and entropy.

    Panels:

    - "at equal reward": x accuracy, y entropy beyond GRPO's from the same start;
    - "families": as that at one accuracy, over further families;
    - "at equal entropy": y accuracy beyond GRPO's, mean over levels of entropy.

    ``selected`` is the share of the tokens that Clip-Cov or KL-Cov selects, ``penalty`` KL-Cov's
    beta on them.
    """
    strong = inputs.simulation(results, "intervention_sweeps")
    most = {rule: float(strong.strength.sel(rule=rule)[-1]) for rule in METHODS}
    parts = [_at_equal(_curves(strong)).assign(
        clip=most["Clip-Cov"], kl=_config(strong)["kl_cov_ratio"], penalty=most["KL-Cov"])]
    for read, weak in (
        (_families, inputs.simulation(results, "rules_at_equal_reward")),
        (_at_equal_entropy, inputs.simulation(results, "interventions_on_the_curve", "sampled")),
    ):
        parts.append(read(weak).assign(clip=_config(weak)["ratio"], kl=_config(weak)["ratio"],
                                       penalty=training_curves.default("kl-cov", "coefficient")))
    table = pandas.concat(parts, ignore_index=True)
    is_clip, is_kl = table["rule"] == "Clip-Cov", table["rule"] == "KL-Cov"
    selected = table["clip"].where(is_clip, table["kl"].where(is_kl))
    table = table.assign(selected=selected, penalty=table["penalty"].where(is_kl).astype(float))
    return table[[*COLUMNS, "selected", "penalty"]]


def _config(dataset: xarray.Dataset) -> dict[str, Any]:
    return dict(inputs.dataset_provenance(dataset)["config"])


def _curves(dataset: xarray.Dataset) -> pandas.DataFrame:
    """Read the curves of GRPO, clip-higher at its printed clip, and the strongest of the other rules."""
    clips = dataset.strength.sel(rule="clip-higher").values
    chosen = {BASE: ("entropy bonus", 0),
              "clip-higher": ("clip-higher", int(abs(clips - CLIP_HIGH).argmin())),
              **{rule: (rule, -1) for rule in METHODS}}
    return pandas.concat([
        long(dataset[["entropy", "reward", "step"]].sel(rule=rule).isel(level=level), "").melt(
            id_vars=["family", "start", "step"], value_vars=["entropy", "reward"], var_name="panel",
            value_name="y").rename(columns={"step": "x"}).assign(rule=label)
        for label, (rule, level) in chosen.items()], ignore_index=True)


def _at_equal(curves: pandas.DataFrame) -> pandas.DataFrame:
    """Read the gaps to GRPO: in entropy at equal accuracy, and in accuracy at equal entropy.

    Only levels that all runs of a family reach count; the gap in accuracy is the mean over them.
    """
    parts = []
    for family, here in curves.groupby("family", sort=False):
        wide = {panel: {rule: rows.pivot_table(index="x", columns="start", values="y")
                        for rule, rows in here[here["panel"] == panel].groupby("rule")}
                for panel in ("entropy", "reward")}
        entropy, reward = wide["entropy"], wide["reward"]
        rising = _levels([curve.iloc[0].max() for curve in reward.values()],
                         [curve.max().min() for curve in reward.values()])
        falling = _levels([curve.min().max() for curve in entropy.values()],
                          [curve.iloc[0].min() for curve in entropy.values()])
        for rule in LOOKS:
            gap, loss = (
                value_when_reached(x[rule].to_numpy(), y[rule].to_numpy(), levels, falling=down)
                - value_when_reached(x[BASE].to_numpy(), y[BASE].to_numpy(), levels, falling=down)
                for x, y, levels, down in ((reward, entropy, rising, False),
                                           (entropy, reward, falling, True))
            )
            frame = pandas.DataFrame(gap, columns=rising).rename_axis("start")
            parts += [
                frame.melt(ignore_index=False, var_name="x", value_name="y").reset_index().assign(
                    panel="at equal reward", family=family, rule=rule),
                pandas.DataFrame({"panel": "at equal entropy", "family": family, "rule": rule,
                                  "start": frame.index, "x": np.nan, "y": loss.mean(axis=1)}),
            ]
    return pandas.concat(parts, ignore_index=True)


def _levels(low: list[float], high: list[float]) -> np.ndarray:
    """Choose levels that all curves pass through."""
    return np.linspace(max(low), min(high), LEVELS + 2)[1:-1]


def _length(dataset: xarray.Dataset) -> pandas.DataFrame:
    """Read the length of right responses; the mean length of all responses moves with accuracy."""
    mean = dataset.intervention_right_length.mean("accuracy")
    return long(mean - mean.sel(intervention=BASE, drop=True), "length", "step",
                {"intervention": "rule"}, family="token trees")


def _families(dataset: xarray.Dataset) -> pandas.DataFrame:
    levels = dataset.reward_level.values
    at = dataset.entropy_at_reward.sel(
        rule=list(LOOKS), reward_level=float(levels[levels <= REWARD_LEVEL].max()))
    return long(at - at.sel(rule=BASE, drop=True), "families", "reward_level")


def _at_equal_entropy(dataset: xarray.Dataset) -> pandas.DataFrame:
    gap = dataset.reward_gap.sel(rule=list(LOOKS), mode="sampled").mean("share")
    return long(gap, "at equal entropy").assign(x=np.nan)


def _transformer(results: Path) -> tuple[pandas.DataFrame, dict[str, object]]:
    runs = training_curves.read(results, RUNS, metrics=tuple(METRICS), least=2)
    if runs.empty:
        return pandas.DataFrame(columns=[*COLUMNS]), {}
    # Several optimizer steps a generation first: without, three of the rules are GRPO.
    setting = _off_policy(runs)
    shown = training_curves.smoothed(runs[(runs["setting"] == setting) & runs["metric"].isin(METRICS)])
    return shown.assign(
        panel="transformer " + shown["metric"], family=setting, rule=shown["label"],
        start=shown["seed"], x=shown["step"], y=shown["value"],
    ), training_curves.provenance(shown)


def _off_policy(runs: pandas.DataFrame) -> str:
    """Choose the setting with most runs of Clip-Cov and KL-Cov."""
    counts = runs[runs["label"].isin(METHODS)].groupby("setting")["seed"].count()
    return str(counts.idxmax()) if len(counts) else training_curves.settings(runs)[0]


def gaps_to_grpo(rows: pandas.DataFrame, *, absolute: bool = False) -> pandas.DataFrame:
    """Mean, low, high over starts of y beyond GRPO's (or of y, if that is a gap), by (family, rule)."""
    found = {}
    for family, here in rows.groupby("family", sort=False):
        wide = here.pivot_table(index="start", columns="rule", values="y", sort=False)
        for rule in wide:
            gap = wide[rule] - (0 if absolute else wide[BASE])
            found[family, rule] = mean_interval(gap.to_numpy(), level=GAIN_LEVEL)
    return pandas.DataFrame.from_dict(
        {key: [float(v) for v in values] for key, values in found.items()}, orient="index",
        columns=["mean", "low", "high"],
    ).set_axis(pandas.MultiIndex.from_tuples(found, names=["family", "rule"]))


def draw_rules(
    panel: Axes, rows: pandas.DataFrame, label: str, *, gap: bool = False, seeds: bool = False,
    **options: Any,
) -> None:
    """Draw means over starts with their 95 % intervals, or over seeds with the lowest and the highest;
    each line is named at its end."""
    if gap:
        panel.axhline(0, **REFERENCE)
    else:
        options["ylim"] = (0, None)
    shown = rows.rename(columns={"rule": "label", "x": "step", "y": "value"})
    training_curves.draw_curves(
        panel, shown, {rule: look for rule, look in LOOKS.items() if not (gap and rule == BASE)},
        level=None if seeds else 0.95, seed="start", ylabel=label, **options)


def add_key(figure: Figure) -> None:
    """Say above a figure of gaps to GRPO which mark is which rule."""
    handles = [Line2D([], [], label=rule, marker=marker, markersize=3.5, **LOOKS[rule])
               for rule, marker in DOTS.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(DOTS), handlelength=3)
