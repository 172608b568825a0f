"""AEPO, Figure 4: entropy under AEPO, GRPO, Entropy-Reg and Entropy-Adv.

We run the four rules with Table 4's settings from the same starts on 20-answer bandits, in exact
expectation, with one right answer and with several. Language models are added where at least two of
the rules were trained in one setting (``make gpu``).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.aepo import compared
from paper_figures.data import inputs, training_curves
from paper_figures.data.tables import even_in_log, last_tenth, stacked
from paper_figures.drawing.bands import draw_lines
from paper_figures.drawing.style import REFERENCE, label_ends, panels, step_axis
from paper_figures.figure import Finding, PaperFigure
from paper_figures.verdict import Criterion, Headline, mean_of, share_of

POINTS = 100
NEAR = 0.05
"""A run is held if its tail's mean is within so many nats of the target, collapsed if below so many."""
COLUMNS = ["panel", "setting", "right_answers", "rule", "start", "x", "y"]


def data(results: Path) -> pandas.DataFrame:
    """Return a tidy table with columns COLUMNS.

    Panels:

    - "curve" and "training": x step, y entropy, nats;
    - "tail": y mean entropy over the end of the run;
    - "lowest": y AEPO's lowest entropy after it first falls to its target.
    """
    dataset = inputs.simulation(results, "aepo_figure_3")
    runs = compared.runs(results)
    parts = [_long(dataset, "entropy", "curve"), _long(dataset, "tail_entropy", "tail"),
             _lowest(dataset), compared.curves(runs)]
    table = stacked(parts, COLUMNS, runs)
    table.attrs["target"] = _target(dataset)
    return table


def _target(dataset: xarray.Dataset) -> float:
    return float(dataset.target.sel(target=compared.TARGET, method="nearest"))


def _coefficient(dataset: xarray.Dataset) -> float:
    """The positive coefficient of the bonus that is nearest to Table 4's."""
    positive = dataset.coefficient.values[dataset.coefficient.values > 0]
    return float(positive[np.abs(np.log(positive / compared.COEFFICIENT)).argmin()])


def _long(dataset: xarray.Dataset, name: str, panel: str) -> pandas.DataFrame:
    rules = {
        "GRPO": dataset[f"bonus_{name}"].sel(coefficient=0.0),
        "Entropy-Reg": dataset[f"bonus_{name}"].sel(coefficient=_coefficient(dataset)),
        "Entropy-Adv": dataset[f"shaped_{name}"],
        "AEPO": dataset[f"aepo_{name}"].sel(target=_target(dataset)),
    }
    array = xarray.concat(
        [rule.drop_vars(["coefficient", "target"], errors="ignore") for rule in rules.values()],
        dim="rule").assign_coords(rule=list(rules))
    if panel == "curve":
        array = array.isel(step=even_in_log(dataset.step.values, POINTS))
    frame = array.to_dataframe(name="y").reset_index()
    return frame.rename(columns={"step": "x"}).assign(panel=panel)


def _lowest(dataset: xarray.Dataset) -> pandas.DataFrame:
    entropy = dataset.aepo_entropy.sel(target=_target(dataset), drop=True)
    reached = (entropy <= _target(dataset)).cumsum("step") > 0
    lowest = entropy.where(reached).min("step").fillna(entropy.min("step"))
    return lowest.to_dataframe(name="y").reset_index().assign(panel="lowest", rule="AEPO")


def finding(table: pandas.DataFrame) -> Finding:
    """State in how many starts AEPO keeps its target, and the others collapse."""
    target = float(table.attrs["target"])
    criteria: list[Criterion] = []
    for size in map(int, sorted(table[table["panel"] == "tail"]["right_answers"].unique())):
        here = table[table["right_answers"] == size]
        lowest = here[here["panel"] == "lowest"]["y"]
        ends = here[here["panel"] == "tail"].groupby("rule")["y"]
        shares = {f"AEPO ends within {NEAR:g} nats of its target":
                      np.abs(ends.get_group("AEPO") - target) <= NEAR,
                  f"AEPO's entropy never falls below {NEAR:g} nats once it is down at its target":
                      lowest >= NEAR}
        shares |= {f"{rule} ends below {NEAR:g} nats": ends.get_group(rule) < NEAR
                   for rule in compared.RULES[:3]}
        where = f"with {compared.right_answers(size)}"
        criteria += [
            Criterion(f"share of starts in which {said}", share_of(found), ">", 0.5, where,
                      beyond=size == 1)
            for said, found in shares.items()]
    return Finding(criteria=(*criteria, *_trained_criteria(table)))


def _trained_criteria(table: pandas.DataFrame) -> list[Criterion]:
    """Ask of each setting of training runs that AEPO is near its target and that GRPO collapses."""
    training = table[table["panel"] == "training"]
    aepo = training[training["rule"] == "AEPO"]
    found = training_curves.targets_held(pandas.DataFrame({
        "setting": aepo["setting"], "target": compared.TARGET, "step": aepo["x"], "value": aepo["y"],
        "start": aepo["start"]}))
    for setting, runs in training[training["rule"] == "GRPO"].groupby("setting", sort=False):
        late = last_tenth(runs, "setting", "x").groupby("start")["y"].mean()
        early = runs[runs["x"] <= 0.1 * runs["x"].max()].groupby("start")["y"].mean()
        found.append(Criterion(
            "GRPO's entropy over the last tenth of the steps, over that of the first tenth",
            mean_of(late / early, seeds=True), "<", 0.5, f"on {setting}",
            training_curves.model_of(str(setting))))
    return found


def draw(table: pandas.DataFrame) -> Figure:
    """Draw entropy against step, with one and with the most right answers and in training runs."""
    settings = list(table.loc[table["panel"] == "training", "setting"].unique())[:2]
    figure, axes = panels(1 + bool(settings), 2, height=2.4)
    curves = table[table["panel"] == "curve"]
    sizes = sorted(curves["right_answers"].unique())
    for panel, size in zip(axes[0], (sizes[0], sizes[-1]), strict=True):
        rows = curves[curves["right_answers"] == size]
        panel.set_title(compared.right_answers(size))
        step_axis(panel, rows["x"])
        _draw_entropies(panel, rows, table.attrs["target"])
    for panel, setting in zip(axes[1:].flat, settings, strict=False):
        panel.set_title(setting.partition(",")[0])
        _draw_entropies(panel, table[table["setting"] == setting], compared.TARGET)
    if len(settings) == 1:
        axes[1, 1].set_axis_off()
    return figure


def _draw_entropies(panel: Axes, rows: pandas.DataFrame, target: float) -> None:
    labels = draw_lines(panel, rows, "rule", {rule: compared.LOOKS[rule] for rule in compared.RULES})
    panel.axhline(target, **REFERENCE)
    on_top = target > rows["y"].max()  # of all curves: above it stands the title
    panel.annotate(f"AEPO's target {target:g}", (0.98, target), xycoords=("axes fraction", "data"),
                   xytext=(0, -3 if on_top else 3), va="top" if on_top else "bottom", ha="right",
                   textcoords="offset points", fontsize=6.5, color="#555555")
    panel.set(ylabel="entropy (nats)", ylim=(-0.03 * rows["y"].max(), None))
    if not panel.get_xlabel():
        panel.set(xlabel="optimizer step", xlim=(rows["x"].min(), rows["x"].max()))
    label_ends(panel, labels)


FIGURE = PaperFigure(
    name="aepo-figure-4",
    source="AEPO, Figure 4",
    title="entropy under four rules",
    paper="AEPO keeps entropy around a moderate level throughout training, where GRPO and the other "
    "baselines suffer from entropy collapse.",
    place="Figure 4, its caption and Section 5.2",
    ours="The four rules with Table 4's settings, in exact expectation from the same starts on "
         "20-answer bandits. Lines are medians over starts, bands 10 to 90 %. Dashed: AEPO's "
         "target.",
    claims=("aepo.entropy-adv",),
    data=data,
    finding=finding,
    headline=Headline(
        says="With 8 right answers AEPO holds its target in most starts, where GRPO and Entropy-Adv "
             "collapse in most; Entropy-Reg is open there, and so is AEPO with 4 right answers.",
        fails=("with 8 right answers", "with 4 right answers"),
    ),
    draw=draw,
    recipes=("paper/aepo-grpo", "paper/aepo-entropy-reg", "paper/aepo-entropy-advantage",
             "paper/aepo-targets", "gpu-small/grpo", "gpu-small/entropy-bonus",
             "gpu-small/entropy-advantage", "gpu-small/aepo-targets"),
)
