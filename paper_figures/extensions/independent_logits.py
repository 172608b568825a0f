"""Are a network's logits independent? AEPO's Assumption B.4, measured.

AEPO's theorem assumes that the gradients of a state's logits are orthonormal (Assumption B.4). In a
table they are, and those of other states are orthogonal too. Then a step moves each logit by the
learning rate times its coefficient from the update rule. On a network the inner products of logit
gradients form another matrix, the empirical neural tangent kernel. We drop one assumption after the
other and measure the error of the entropy forecast. Logits move

- as if independent;
- within each state by the kernel;
- by the whole kernel;
- by the optimizer's own step;
- as measured, with entropy to first order.

We run ``llm_bridge audit``, which measures the kernel at a few states and actions of each audited
step. Under the assumption it is 0 off the diagonal within a state, with no spread along the
diagonal. The assumption is not about logits of different states, which we judge separately.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from llm_bridge.analysis.stored_arrays import read_arrays
from paper_figures.data import inputs
from paper_figures.drawing import SERIES, Table, level, panels
from paper_figures.figure import MODELS, Criterion, Finding, Headline, PaperFigure

MEANING = {
    "identity": "independent (B.4)", "own state": "+ within a state", "all states": "+ across states",
    "optimizer": "+ the optimizer", "first order": "logits as measured",
}
"""The assumptions under which the logits' motion is forecast, from all of them to fewer."""
SHAPE = {
    "diagonal_spread": "spread along the diagonal", "within_state": "off it, same state",
    "across_states": "off it, other states", "contrast_within": "same state, differences",
    "contrast_across": "other states, differences",
}
DRAWN = 2
"""How many policies are drawn; the table has all."""
EXPLAINED = 0.1
"""A forecast explains the entropy changes if it leaves at most this share of them unexplained."""
HOLDS = 0.1
"""Logits count as independent if what they are judged by is below this share of the mean diagonal."""
WITHIN = ("diagonal_spread", "within_state")
"""The measures by which the logits of a state count as independent, as Assumption B.4 takes them."""
COMMAND = (
    "python -m llm_bridge audit --model small-sums --task split --rule grpo --optimizer sgd "
    "--max-grad-norm 0 --learning-rate 1e-4 --steps 3 --kernel-actions 3 "
    "--output build/runs/small-sums-split-kernel"
)


def data(results: Path) -> pandas.DataFrame:
    """Return columns policy, panel, step, name, x, y, value.

    Panels:

    - "cosine": of the first audited step; x and y index logits, state by state, ``value`` is the
      cosine of their gradients;
    - "diagonal": x share of the logits, y squared norm of the gradient over its mean, sorted;
    - "shape": ``value`` of a measure ``name`` of the kernel at a step;
    - "rung": ``value`` is the share of the entropy changes that assumption ``name`` leaves
      unexplained after its best slope x.

    Measures include the numbers of ``states`` and ``actions`` at which the kernel was measured.
    Where its file was kept, ``forecast_states`` is the number of states with forecast entropy
    changes.

    Raises:
        MissingInputError: no run was audited with a kernel.
    """
    parts: list[pandas.DataFrame] = []
    provenance = {}
    for run in inputs.training_runs(results):
        if run.kernel is None:
            continue
        policy = _policy(run)
        if policy in {part["policy"].iloc[0] for part in parts}:
            policy += f", {run.name}"
        parts.append(_of_run(run, run.kernel).assign(policy=policy))
        provenance[run.name] = run.provenance
    if not parts:
        raise inputs.MissingInputError(f"no audit has a kernel of logit gradients: run `{COMMAND}`")
    table = pandas.concat(parts, ignore_index=True)
    table.attrs["inputs"] = provenance
    return table[["policy", "panel", "step", "name", "x", "y", "value"]]


def _policy(run: inputs.TrainingRun) -> str:
    """Name a run: model, task, optimizer, learning rate if given, and device if it is another one."""
    options = run.options
    task = Path(str(options.get("data") or options.get("task"))).stem
    named = [Path(str(options["model"])).name, task, str(options.get("optimizer", "adamw"))]
    if options.get("learning_rate"):
        named.append(f"rate {options['learning_rate']:g}")
    return ", ".join([*named, run.device] if run.measured else named)


def _of_run(run: inputs.TrainingRun, kernel: dict[str, Any]) -> pandas.DataFrame:
    parts = []
    for i, step in enumerate(kernel["steps"]):
        number = step["step"]
        shape = {name: step[name] for name in ("diagonal", *SHAPE)}
        shape |= {"states": kernel["states"], "actions": kernel["actions"]}
        parts.append(pandas.DataFrame(
            {"panel": "shape", "step": number, "name": list(shape), "value": list(shape.values())}))
        path = run.folder / "audit" / f"kernel-{number:05d}.npz"
        if path.exists():
            stored = read_arrays(path)
            size = stored["actions"].size
            matrix = stored["values"].reshape(size, size)
            parts.append(pandas.DataFrame({
                "panel": "shape", "step": [number], "name": "forecast_states",
                "value": float(stored["measured"].size)}))
            parts.append(_diagonal(np.diag(matrix)).assign(step=number))
            if i == 0:
                parts.append(_cosines(matrix).assign(step=number))
    rungs = kernel["rungs"]
    parts.append(pandas.DataFrame({
        "panel": "rung", "name": list(rungs), "x": [rung["slope"] for rung in rungs.values()],
        "value": [rung["unexplained"] for rung in rungs.values()],
    }))
    return pandas.concat(parts, ignore_index=True)


def _diagonal(norms: np.ndarray) -> pandas.DataFrame:
    share = (np.arange(len(norms)) + 0.5) / len(norms)
    return pandas.DataFrame({"panel": "diagonal", "x": share, "y": np.sort(norms / norms.mean())})


def _cosines(matrix: np.ndarray) -> pandas.DataFrame:
    norm = np.sqrt(np.diag(matrix))
    x, y = np.meshgrid(np.arange(len(matrix)), np.arange(len(matrix)))
    value = (matrix / np.outer(norm, norm)).ravel()
    return pandas.DataFrame({"panel": "cosine", "x": x.ravel(), "y": y.ravel(), "value": value})


def measures(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return the kernel's measures and what each rung leaves, means over audited steps, by policy."""
    chosen = table[table["panel"].isin(["shape", "rung"])]
    wide = chosen.pivot_table(index="policy", columns="name", values="value", sort=False)
    return wide.reindex(table["policy"].unique())


def finding(table: pandas.DataFrame) -> Finding:
    """State how far from independent logits are, and which assumption loses the forecast."""
    found = measures(table)
    independent = (found[list(WITHIN)] <= HOLDS).all(axis=1)
    return Finding(standing="our own", model=MODELS["small-sums"], criteria=(
        Criterion("policies for which logits of a state are independent", float(independent.sum()), "≤",
                  0),
        Criterion("share of the entropy changes that the whole kernel leaves unexplained, largest",
                  float(found["all states"].max()), "≤", EXPLAINED),
        Criterion("share that independent logits leave unexplained, smallest",
                  float(found["identity"].min()), ">", EXPLAINED),
    ))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw cosines of logit gradients, their squared norms and what each assumption leaves, by policy."""
    policies = list(table["policy"].unique())[:DRAWN]
    figure, axes = panels(len(policies), 3, height=2.0, width_ratios=(1, 0.9, 1))
    for row, policy in zip(axes, policies, strict=True):
        rows = table[table["policy"] == policy]
        shape = rows[rows["panel"] == "shape"].set_index("name")["value"]
        _draw_cosines(row[0], rows[rows["panel"] == "cosine"], int(shape["actions"].iloc[0]))
        _draw_diagonal(row[1], rows[rows["panel"] == "diagonal"])
        _draw_rungs(row[2], rows[rows["panel"] == "rung"])
        row[0].set_ylabel(policy.replace(", ", "\n"), fontsize=7)
    for panel, title in zip(axes[0], ("cosines of gradients", "squared norms / mean",
                                      "unexplained share"), strict=True):
        panel.set_title(title)
    axes[-1, 0].set_xlabel("logits, by state")
    axes[-1, 1].set_xlabel("share of logits")
    return figure


def _draw_cosines(panel: Axes, cosine: pandas.DataFrame, actions: int) -> None:
    panel.grid(visible=False)
    panel.set(xticks=[], yticks=[])
    if cosine.empty:
        panel.annotate("kernel file\nnot kept", (0.5, 0.5), xycoords="axes fraction", ha="center",
                       fontsize=7)
        return
    matrix = cosine.pivot(index="y", columns="x", values="value").to_numpy()
    size = len(matrix)
    panel.imshow(np.abs(matrix), cmap="Greys", vmin=0, vmax=1, extent=(0, size, size, 0))
    for edge in range(0, size + 1, actions):
        panel.axhline(edge, color=SERIES[0]["color"], linewidth=0.5)
        panel.axvline(edge, color=SERIES[0]["color"], linewidth=0.5)
    panel.set(xlim=(0, size), ylim=(size, 0))


def _draw_diagonal(panel: Axes, diagonal: pandas.DataFrame) -> None:
    for _, rows in diagonal.groupby("step"):
        panel.plot(rows["x"], rows["y"], color=SERIES[0]["color"], linewidth=0.9, alpha=0.8)
    level(panel, 1, "B.4", x=0.03, above=2)
    panel.set(yscale="log", xlim=(0, 1))


def _draw_rungs(panel: Axes, rungs: pandas.DataFrame) -> None:
    place = np.arange(len(rungs))[::-1]
    panel.barh(place, rungs["value"], height=0.62, color=SERIES[0]["color"])
    panel.set_yticks(place, [MEANING.get(name, name) for name in rungs["name"]], fontsize=6.5)
    for y, value in zip(place, rungs["value"], strict=True):
        panel.annotate(f"{value:.1%}", (value, y), xytext=(2, 0), textcoords="offset points",
                       va="center", fontsize=6.5)
    panel.set(xlim=(0, 1.35), xticks=[0, 0.5, 1])


def tables(table: pandas.DataFrame) -> tuple[Table, ...]:
    """Return the kernel's measures, a row per policy."""
    found = measures(table)
    return (Table(
        title="Inner products of logit gradients (Assumption B.4: in a state a multiple of the identity)",
        header=("policy", "mean diagonal", *SHAPE.values()),
        rows=tuple(
            (str(policy), f"{row['diagonal']:.3g}", *(f"{row[name]:.0%}" for name in SHAPE))
            for policy, row in found.iterrows()
        ),
        origin="ours",
        note="Means over audited steps, relative to the mean diagonal; root mean squares off the "
             "diagonal. Differences leave out the part that moves all logits of a state alike, "
             "since it moves no entropy.",
    ),)


FIGURE = PaperFigure.of(
    __name__, name="independent-logits",
    source="This project",
    title="are logits independent? Assumption B.4 measured",
    paper="AEPO assumes orthonormal gradients of a state's logits (Assumption B.4), as in a table, and "
    "does not measure them.",
    ours="Left: absolute cosines of logit gradients at a few states (blocks) and actions in the "
         "first audited step. Under the assumption a block is dark on its diagonal alone. Middle: "
         "squared norms, sorted, one line per step. Right: unexplained share of the measured "
         "entropy changes after the best slope, as one assumption after the other is dropped.",
    headline=Headline(
        says="Assumption B.4 (orthonormal gradients of a state's logits) fails for every policy "
             "audited; the whole kernel explains the entropy changes, independent logits do not.",
    ),
)
