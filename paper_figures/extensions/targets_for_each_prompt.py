"""Prompts with targets of their own: how near each comes to its own, and at which price.

The runs are those of `llm_bridge.commands.holding_comparison --design each-prompt`: half of the prompts
are to be held above the mean target, the others as far below it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
from matplotlib.figure import Figure

from entropy_theory.tracking import second_half, stretches
from paper_figures.data import inputs
from paper_figures.drawing import Table, estimate, panels
from paper_figures.extensions.holding_a_target import LOOKS, K
from paper_figures.figure import MODELS, Criterion, Finding, Headline, PaperFigure

KINDS = ("higher", "lower")
LITTLE = 0.25
"""The share of a distance below which it counts as little."""
"""The kinds of prompts, by their targets."""
COLUMNS = (("entropy_higher", "entropy, higher target", 2), ("entropy_lower", "entropy, lower target", 2),
           ("shortfall", "prompts' own distance", 3),
           ("deviation", "the mean's distance", 3), ("reward", "reward", 2),
           ("pass_at_k", f"held-out {K}", 2))
"""A column of the table: of `data`, its title and digits."""


def data(results: Path) -> pandas.DataFrame:
    """Return a row per run: what was asked for (``target``, ``offset``, ``gain``) and COLUMNS.

    Entropies of either kind are those of prompts that were never trained on, after the run; the
    distances (nats) are means over the second half of the steps.

    Raises:
        MissingInputError: no run.
    """
    rows: list[dict[str, Any]] = []
    provenance = {}
    for record in inputs.held_targets(results, "small-sums", of_prompts=True):
        run, series, about, after = (record[key] for key in ("run", "series", "summary", "held_out"))
        (settled,) = map(second_half, stretches(np.asarray(series["target"], dtype=float)))
        rows.append({
            "controller": run["controller"], "gain": run["prompt_gain"], "seed": run["seed"],
            "target": run["low"], "offset": run["offset"],
            "shortfall": float(np.mean(np.asarray(series["prompt_shortfall"], dtype=float)[settled])),
            **{key: about[key] for key in ("deviation", "reward")},
            **{f"entropy_{kind}": after[f"entropy_{kind}"] for kind in KINDS}, "pass_at_k": after[K]})
        provenance[record["name"]] = record["provenance"]
    table = pandas.DataFrame(rows).sort_values(["controller", "gain", "seed"], ignore_index=True)
    table.attrs["inputs"] = provenance
    return table


def summary(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return one row per controller and gain, with the number of ``seeds``. Means over seeds of
    COLUMNS, and of the distance ``apart`` of the two kinds' entropies, have standard errors
    (``reward_se``)."""
    found = table.assign(apart=table["entropy_higher"] - table["entropy_lower"])
    names = (*(name for name, _, _ in COLUMNS), "apart")
    groups = found.groupby(["controller", "gain"])
    columns: dict[str, Any] = {"seeds": ("seed", "size")}
    for name in names:
        columns |= {name: (name, "mean"), f"{name}_se": (name, "sem")}
    return groups.agg(**columns).reset_index()


def finding(table: pandas.DataFrame) -> Finding:
    """State how far apart the two kinds are, with one coefficient and with the largest gain."""
    found = summary(table)
    one, most = (found[found["gain"] == gain] for gain in (found["gain"].min(), found["gain"].max()))
    asked = 2 * float(table["offset"].iloc[0])
    return Finding(standing="our own", model=MODELS["small-sums"], criteria=(
        Criterion("distance between the kinds under one coefficient, over that asked, largest",
                  float(one["apart"].max()) / asked, "<", LITTLE),
        Criterion("distance between the kinds at the largest gain, over that asked, smallest",
                  float(most["apart"].min()) / asked, ">", 0.5),
    ))


def tables(table: pandas.DataFrame) -> list[Table]:
    """Return a table with a row per controller and gain."""
    found = summary(table)
    target, offset = table["target"].iloc[0], table["offset"].iloc[0]
    return [Table(
        title=f"Targets of {target + offset:g} and {target - offset:g} nats at once "
        f"({found['seeds'].max()} seeds)",
        header=("controller", "gain", *(title for _, title, _ in COLUMNS)),
        rows=tuple((row["controller"], f"{row['gain']:g}", *(
            estimate(row[name], row[f"{name}_se"], digits=digits)
            for name, _, digits in COLUMNS)) for _, row in found.iterrows()),
        origin="ours",
        note="Means over seeds with their standard errors. Entropies, in nats, are of held-out "
             "prompts of both kinds after the run, distances, in nats, of the second half of the "
             "steps. Prompts' own: the root mean square of prompts' distances beyond the mean's.")]


def draw(table: pandas.DataFrame) -> Figure:
    """Draw the entropy of either kind of prompts by gain, and reward by the prompts' distance."""
    found = summary(table)
    gains = sorted(found["gain"].unique())
    figure, (axes,) = panels(1, 2, height=2.6)
    entropies, price = axes
    target, offset = table["target"].iloc[0], table["offset"].iloc[0]
    for level in (target + offset, target - offset):
        entropies.axhline(level, color="#777777", linewidth=0.9, linestyle=":")
    for controller, rows in found.groupby("controller"):
        look = {**LOOKS[controller], "markersize": 3.5, "markerfacecolor": "none"}
        places = [gains.index(gain) for gain in rows["gain"]]
        for kind in KINDS:
            mean, error = rows[f"entropy_{kind}"], rows[f"entropy_{kind}_se"].fillna(0.0)
            entropies.errorbar(places, mean, yerr=error, linewidth=0.9, elinewidth=0.7, **look)
        price.errorbar(rows["shortfall"], rows["reward"], xerr=rows["shortfall_se"].fillna(0.0),
                       yerr=rows["reward_se"].fillna(0.0), linewidth=0.9, elinewidth=0.7, **look)
        for _, row in rows.iterrows():
            price.annotate(f"{row['gain']:g}", (row["shortfall"], row["reward"]), fontsize=6,
                           xytext=(3, 3), textcoords="offset points")
    entropies.set(xlabel="gain (1/nat)", ylabel="entropy of new prompts (nats)",
                  xticks=range(len(gains)), xticklabels=[f"{gain:g}" for gain in gains],
                  title="two kinds of prompts (dotted: targets)")
    price.set(xlabel="prompts' own distance (nats)", ylabel="reward", xlim=(0, None),
              title="its price (numbers: gains)")
    shown = list(found["controller"].unique())
    handles = [price.plot([], [], markersize=4, **LOOKS[name])[0] for name in shown]
    figure.legend(handles, shown, loc="outside lower center", ncols=3, fontsize=6.5)
    return figure


FIGURE = PaperFigure.of(
    __name__, name="targets-for-each-prompt",
    source="This project",
    title="targets for each prompt, a small transformer",
    paper="AEPO, AEnt, Skywork-OR1 and TRL steer the mean entropy of a batch by one number.",
    ours="The bundled model on `split`. Targets are 0.2 nats above the mean target for prompts "
         "with a total below 100, and 0.2 below it for the others. Left: entropy of both kinds "
         "after 80 steps. Right: reward against prompts' own distance from target, root mean "
         "square. Marks: means over seeds with standard errors.",
    claims=("extension.level-set-one-coefficient",),
    headline=Headline(
        says="One coefficient keeps little of the distance asked between two kinds of prompts, and "
             "coefficients of their own at the largest gain over half.",
    ),
)
