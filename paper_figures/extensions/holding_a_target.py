"""Compares controllers of a small transformer's entropy: distance from the target, and price in reward.

Each controller trains the bundled model towards the same targets, with several seeds. Controllers
are AEPO's second batch, the integral rule of Skywork-OR1 and TRL, and the forecast of each step.
The latter two act on the bonus on all entropy, or on the bonus on the entropy among right answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from entropy_theory.tracking import second_half, stretches
from llm_bridge.commands import comparison, holding_comparison
from llm_bridge.commands.train_config import LEARNING_RATES
from paper_figures.data import inputs
from paper_figures.data.tables import Shared
from paper_figures.drawing import MARKERS, SERIES, Table, estimate, panels
from paper_figures.figure import MODELS, Criterion, Finding, Headline, PaperFigure

CONTROLLERS, LAST = holding_comparison.MAIN, holding_comparison.LAST
"""The controllers that are compared, and the number of last steps that rewards are of."""
DRAWN = tuple(name for name in CONTROLLERS if "two-sided" not in name)
"""Those that are drawn: the fast ones are two-sided, too."""
LOOKS = {name: {**SERIES[i], "marker": MARKERS[i]} for i, name in enumerate(DRAWN)}
K = "pass@4"
"""The pass@k that is drawn: at larger k it is 1 for all, where many answers are right."""
RATES_AT = 0.6
"""The target at which learning rates are compared, nats."""
ENOUGH_CELLS = 5
"""From how many cells on, a setting at a seed that ran all settings, controllers are ranked."""
FORECAST, AEPO = "forecast, entropy bonus", "AEPO"
LEVEL = 0.95
"""Two distances are told apart at this level, by Holm's correction for all that are compared."""
ABOVE, OTHERS = "targets above the entropy of the first step", "other targets"
"""The groups of settings that are also ranked by themselves: to raise an entropy costs another price."""
SHAPES = ("step", "constant", "ramp", "sine")
MEASURED = ("deviation", "reward", "pass_at_k", "distinct", "saturated")
COLUMNS = ["panel", "setting", "task", "shape", "low", "learning_rate", "other_prompts", "controller",
           "seed", "step", "target", "entropy", *MEASURED, "steps_to_follow"]


def data(results: Path, model: str = "small-sums") -> pandas.DataFrame:
    """Return columns COLUMNS, of the runs of one model.

    Panel "held": a row for each target that a run was to hold, with means over its settled steps. "run":
    a row per run. "curve": ``entropy``, ``target`` and ``reward`` at each step.

    Raises:
        MissingInputError: no run.
    """
    rows: list[dict[str, Any]] = []
    provenance = {}
    for record in inputs.held_targets(results, model):
        run, series, about = record["run"], record["series"], record["summary"]
        common = {"setting": setting(run), **{key: run[key] for key in (
            "task", "shape", "low", "learning_rate", "other_prompts", "controller", "seed")}}
        target, entropy, reward = (
            np.asarray(series[key], dtype=float) for key in ("target", "entropy", "reward"))
        if run["shape"] in ("constant", "step"):
            rows += [{"panel": "held", **common, "target": target[part].mean(),
                      "entropy": entropy[part].mean(), "reward": reward[part].mean(),
                      "deviation": np.abs(entropy - target)[part].mean()}
                     for part in map(second_half, stretches(target))]
        rows.append({"panel": "run", **common, "target": target[-1], "entropy": about["mean"],
                     "pass_at_k": record["held_out"][K],
                     "distinct": record["held_out"]["distinct_completions"],
                     **{key: about[key] for key in
                        ("reward", "deviation", "steps_to_follow", "saturated")}})
        rows += [{"panel": "curve", **common, "step": step, "target": aim, "entropy": value,
                  "reward": paid}
                 for step, (aim, value, paid) in enumerate(zip(target, entropy, reward, strict=True))]
        provenance[record["name"]] = record["provenance"]
    table = pandas.DataFrame(rows).reindex(columns=COLUMNS)
    table.attrs["inputs"] = Shared(provenance)
    return table


def setting(run: dict[str, Any]) -> str:
    """Name what a run was to do, whoever did it; a learning rate only where it is not the task's own."""
    target = {
        "constant": f"{run['low']:g}",
        "step": f"{run['high']:g}, then {run['low']:g}",
        "ramp": f"ramp {run['high']:g} to {run['low']:g}",
        "sine": f"sine {run['low']:g} to {run['high']:g}",
    }[run["shape"]]
    changes = []
    if run["learning_rate"] != _own_rate(run["task"]):
        changes.append(f"rate {run['learning_rate']:g}")
    if run["other_prompts"]:
        changes.append("other prompts")
    return ", ".join([f"{run['task']}: {target}", *changes])


def _own_rate(task: str) -> float:
    return next(rate for (_, known), rate in LEARNING_RATES.items() if known in (task, None))


def complete(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return the rows of the compared controllers, of those cells that all of the task have.

    A cell is a setting at a seed: an interrupted comparison says nothing of one that not all have run.
    """
    rows = table[table["controller"].isin(CONTROLLERS)]
    runs = rows[rows["panel"] == "run"]
    have = runs.groupby(["task", "setting", "seed"])["controller"].nunique()
    whole = runs.groupby("task")["controller"].nunique().loc[have.index.get_level_values("task")]
    cells = have[have.to_numpy() == whole.to_numpy()].droplevel("task").index
    return rows[pandas.MultiIndex.from_frame(rows[["setting", "seed"]]).isin(cells)]


def settings(table: pandas.DataFrame) -> list[str]:
    """Return the settings in the order of a reader: by task, then resting, moving, and changed ones."""
    runs = table[table["panel"] == "run"].drop_duplicates("setting")
    order = runs.assign(
        task=runs["task"].map(list(comparison.MODELS).index),
        changed=(runs["learning_rate"] != runs["task"].map(_own_rate)) + 2 * runs["other_prompts"],
        shape=runs["shape"].map(SHAPES.index),
    ).sort_values(["task", "changed", "shape", "low", "learning_rate"], kind="stable")
    return list(order["setting"])


def summary(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return a row per setting and controller of the complete cells: means over seeds.

    Columns are ``seeds``, ``entropy`` and each of MEASURED with its standard error, such as
    ``deviation_se``, NaN of one seed. ``follow`` is the mean over seeds that arrived, ``arrived``
    their number.
    """
    runs = complete(table)
    runs = runs[runs["panel"] == "run"]
    columns = {"seeds": ("seed", "size"), "follow": ("steps_to_follow", "mean"),
               "arrived": ("steps_to_follow", "count")}
    for name in ("entropy", *MEASURED):
        columns |= {name: (name, "mean"), f"{name}_se": (name, "sem")}
    found = runs.groupby(["setting", "controller"]).agg(**columns).reset_index()
    order = {"setting": settings(table).index, "controller": CONTROLLERS.index}
    return found.sort_values(
        ["setting", "controller"], key=lambda column: column.map(order[column.name]), ignore_index=True)


def nearest(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return a row per controller, the nearest first: its distance from the target over all settings.

    Columns:

    - ``deviation``, nats, and ``reward``: means over settings and seeds;
    - ``first``: number of settings in which it is nearest. Settings that share runs count once
      there, by their mean;
    - ``settings``: number of settings in the means;
    - ``seeds``, and the columns of `behind`.

    Seeds are paired: a seed's mean over the settings is one row. Settings are not units, since we
    chose them, each has the same seeds, and some share runs. So differences hold at these settings,
    whatever the seed, and need not hold at others. Seeds that lack a setting are left out.
    """
    runs = _ranked(table)
    runs = runs.assign(setting=runs["setting"].map(_twins(table)))
    cells = runs.groupby(["seed", "setting", "controller"])[["deviation", "reward"]].mean().unstack()
    wide = cells.groupby("seed").mean()
    found = summary(table)
    best = found.loc[found.groupby("setting")["deviation"].idxmin(), "controller"]
    return pandas.DataFrame({
        "deviation": wide["deviation"].mean(), "reward": wide["reward"].mean(),
        "first": best.value_counts(), "settings": float(runs["setting"].nunique()),
        "seeds": float(len(wide)), **behind(wide["deviation"]),
    }).fillna({"first": 0.0}).sort_values("deviation")


def _ranked(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return the complete runs of the seeds that have run every setting."""
    runs = complete(table)
    runs = runs[runs["panel"] == "run"]
    have = runs.groupby("seed")["setting"].transform("nunique")
    return runs[have == runs["setting"].nunique()]


def behind(values: pandas.DataFrame) -> pandas.DataFrame:
    """Return how far columns are above the least of them, over rows that are paired.

    ``behind`` is the mean, ``behind_se`` its standard error. ``p`` is of Student's t, by Holm's
    correction for all that are compared with the least; it is NaN for the least itself, and for one
    row.
    """
    least = values.mean().idxmin()
    above = values.sub(values[least], axis=0)
    mean, error = above.mean(), above.sem()
    single = pandas.Series(2 * stats.t.sf(np.abs(mean / error), len(above) - 1), index=mean.index)
    single = single.drop(least).sort_values()
    p = (single * np.arange(len(single), 0, -1)).cummax().clip(upper=1.0)
    return pandas.DataFrame({"behind": mean, "behind_se": error, "p": p})


def are_above_start(table: pandas.DataFrame) -> pandas.Series:
    """Return, by setting, whether the target is always above the entropy of the first step."""
    curves = complete(table).query("panel == 'curve'")
    start = curves[curves["step"] == 0].groupby("setting")["entropy"].mean()
    return curves.groupby("setting")["target"].min() > start


def finding(table: pandas.DataFrame, model: str = MODELS["small-sums"]) -> Finding:
    """State who is nearest over all settings, or over those above the start and over the others."""
    rows = complete(table)
    if len(_ranked(table).drop_duplicates(["setting", "seed"])) < ENOUGH_CELLS:
        return Finding(standing="awaits runs")
    above = are_above_start(table)
    if above.nunique() < 2:
        return Finding(standing="our own", model=model,
                       criteria=(_is_nearest(nearest(table), FORECAST),))
    far, others = (nearest(rows[rows["setting"].isin(above.index[above == is_above])])
                   for is_above in (True, False))
    reward = others["reward"]
    return Finding(standing="our own", model=model, criteria=(
        _is_nearest(far, FORECAST, ABOVE),
        Criterion(f"p of another that is as near as {FORECAST}, largest",
                  float(far["p"].max()) if far.index[0] == FORECAST else np.nan, "<", 1 - LEVEL, ABOVE),
        _is_nearest(others, AEPO, OTHERS),
        Criterion(f"reward of {AEPO}, less the highest of the others",
                  float(reward.get(AEPO, np.nan) - reward.drop(AEPO, errors="ignore").max()), ">", 0,
                  OTHERS),
    ))


def _is_nearest(order: pandas.DataFrame, controller: str, where: str = "") -> Criterion:
    """Ask that a controller is nearest to its targets, in the mean over settings and seeds."""
    off = order["deviation"]
    lead = off.get(controller, np.nan) - off.drop(controller, errors="ignore").min()
    return Criterion(f"distance of {controller} from the target, less the nearest other's, nats",
                     float(lead), "<", 0, where)


def _same_runs(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return a row per run, with ``like``: the first setting in which its controller ran just so."""
    rows = complete(table)
    runs = rows[rows["panel"] == "curve"].groupby(
        ["controller", "seed", "setting"])["entropy"].agg(tuple).reset_index()
    runs["like"] = runs.groupby(["controller", "seed", "entropy"])["setting"].transform("first")
    return runs


def _twins(table: pandas.DataFrame) -> dict[str, str]:
    """Return, by setting, the first of those with which it shares a run."""
    return _same_runs(table).groupby("setting")["like"].min().to_dict()


def tables(table: pandas.DataFrame) -> list[Table]:
    """Return distance and price in each setting, a column a controller, and the step down in detail.

    All controllers have run in the settings of one model (`complete`).
    """
    return [
        *([step] if (step := _step_table(table)) else []),
        *(_by_setting(table, name, title, digits) for name, title, digits in (
            ("deviation", "Distance from the target (nats)", 3),
            ("reward", f"Reward of the last {LAST} steps", 2),
            ("pass_at_k", f"Held-out {K}", 2),
            ("distinct", "Distinct answers of 16 to a held-out prompt", 1))),
    ]


def _by_setting(table: pandas.DataFrame, name: str, title: str, digits: int) -> Table:
    found = summary(table)
    present = _present(found)
    rows = tuple(
        (f"{chosen} ({_seeds(rows['seeds'])})",
         *(estimate(row[name], row[f"{name}_se"], digits=digits) for _, row in rows.iterrows()))
        for chosen, rows in found.groupby("setting", sort=False))
    return Table(title=title, header=("setting", *present), rows=rows, origin="ours",
                 note="Means over seeds with their standard errors.")


def _step_table(table: pandas.DataFrame) -> Table | None:
    rows = complete(table)
    rows = rows[(rows["shape"] == "step") & (rows["task"] == "split")]
    if rows.empty:
        return None
    held = rows[rows["panel"] == "held"].groupby(["controller", "target"])
    mean, error = (getattr(held[["entropy", "deviation", "reward"]], how)() for how in ("mean", "sem"))
    high, low = sorted(rows.loc[rows["panel"] == "held", "target"].unique(), reverse=True)
    about = summary(table).query("setting == @rows['setting'].iloc[0]").set_index("controller")
    cells = [
        (name, *(estimate(mean.loc[(name, level), column], error.loc[(name, level), column],
                          digits=digits)
                 for level in (high, low)
                 for column, digits in (("entropy", 2), ("deviation", 3), ("reward", 2))),
         f"{about.loc[name, 'follow']:.0f} ({about.loc[name, 'arrived']} of {about.loc[name, 'seeds']})"
         if about.loc[name, "arrived"] else "never")
        for name in _present(about.reset_index())]
    return Table(
        title=f"A step down: {high:g}, then {low:g} nats ({_seeds(about['seeds'])})",
        header=("controller", *(f"{what} at {level:g}" for level in (high, low)
                                for what in ("entropy", "distance", "reward")), "steps to follow"),
        rows=tuple(cells), origin="ours",
        note="Means over seeds with their standard errors, of the second half of the steps at a target.")


def _seeds(counts: Sequence[int]) -> str:
    count = max(counts)
    return f"{count} seed{'s' if count > 1 else ''}"


def draw(table: pandas.DataFrame) -> Figure:
    """Draw what is held and its price on each task, and distances by target and by learning rate."""
    rows = complete(table)
    rows = rows[~rows["other_prompts"] & rows["controller"].isin(DRAWN)]
    own = rows[rows["learning_rate"] == rows["task"].map(_own_rate)]
    tasks = [task for task in ("split", "sum") if task in set(own["task"])]
    figure, axes = panels(len(tasks) + 1, 2, height=2.15)
    for (reward, passes), task in zip(axes, tasks, strict=False):
        here = own[(own["task"] == task) & own["shape"].isin(("constant", "step"))]
        draw_front(reward, here[here["panel"] == "held"], "reward")
        reward.set(xlabel="entropy held (nats)", ylabel="reward",
                   title=f"{task}: reward (dotted: targets)")
        draw_front(passes, here[here["panel"] == "run"], "pass_at_k")
        passes.set(xlabel="entropy at last (nats)", ylabel=f"held-out {K}",
                   title=f"{task}: {K} of new prompts")
    split = rows[(rows["task"] == "split") & (rows["panel"] == "held")]
    by_target, by_rate = axes[-1]
    _draw_distances(by_target, own[own["task"] == "split"].query("panel == 'held'"), "target")
    by_target.set(xlabel="target (nats)", title="split: distance by target")
    _draw_distances(by_rate, split[split["target"] == RATES_AT], "learning_rate")
    by_rate.set(xlabel="learning rate", xscale="log",
                title=f"split at {RATES_AT:g} nats: by learning rate")
    if split["learning_rate"].nunique() == 1:
        by_rate.remove()
    shown = [name for name in _present(rows) if name in DRAWN]
    handles = [axes[0, 0].plot([], [], markersize=4, **LOOKS[name])[0] for name in shown]
    figure.legend(handles, shown, loc="outside lower center", ncols=3, fontsize=6.5)
    return figure


def _present(table: pandas.DataFrame) -> list[str]:
    return [name for name in CONTROLLERS if name in set(table["controller"])]


def draw_front(
    panel: Axes, rows: pandas.DataFrame, price: str, looks: Mapping[str, dict[str, Any]] = LOOKS
) -> None:
    """Draw the mean over seeds of entropy and price at each target, with standard errors."""
    for target in rows["target"].unique():
        panel.axvline(target, color="#777777", linewidth=0.7, linestyle=":")
    for name in _present(rows):
        groups = rows[rows["controller"] == name].groupby("target")[["entropy", price]]
        mean, error = groups.mean(), groups.sem().fillna(0.0)
        panel.errorbar(mean["entropy"], mean[price], xerr=error["entropy"], yerr=error[price],
                       markersize=3.5, elinewidth=0.7, markerfacecolor="none",
                       **{**looks[name], "linestyle": "none"})


def _draw_distances(panel: Axes, rows: pandas.DataFrame, by: str) -> None:
    """Draw the mean distance from the target over seeds, with standard errors."""
    for name in _present(rows):
        groups = rows[rows["controller"] == name].groupby(by)["deviation"]
        mean, error = groups.mean(), groups.sem().fillna(0.0)
        panel.errorbar(mean.index, mean, yerr=error, markersize=3.5, linewidth=0.9, elinewidth=0.7,
                       markerfacecolor="none", **LOOKS[name])
    panel.set(ylabel="distance (nats)", ylim=(0, None))


FIGURE = PaperFigure.of(
    __name__, name="holding-a-target",
    source="This project",
    title="what holds a target entropy, a small transformer",
    paper="AEPO holds by a second batch, Skywork-OR1 and TRL by an integral rule; none was compared.",
    ours="The bundled 0.8 M-parameter model, 16 prompts of 8 samples a step. Rows above: reward "
    "and pass@k at the entropy that was held, a point a target; the best are at the upper right. Below: "
    "mean distance from the target. Means over seeds with standard errors.",
    claims=("extension.diverse-bonus", "extension.level-set-diverse-bonus"),
    headline=Headline(
        says="The forecast on the entropy bonus is nearest to targets above the starting entropy, "
             "beyond what seeds explain; AEPO to others, with most reward.",
        holds=(ABOVE, OTHERS),
    ),
)
