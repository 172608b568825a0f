"""The remainder of the first order, and how tight its bound is.

By `entropy_change.remainder_bound` the entropy change differs from its first order by at most (5/16
+ (1/10) log n) ||step||^2. This holds for every policy over n actions and every step (claim
``extension.remainder-constant``). We compare the bound with the remainder of random policies, under
random and policy-gradient steps. We also take the worst kind of policy known: two likely actions
that trade places, the rest uniform. The bound certifies the sign of a step's entropy change up to
some learning rate. We compare that rate with the rate up to which the sign is right.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropy_theory import entropy_change
from paper_figures.data import inputs
from paper_figures.data.tables import by_panel
from paper_figures.drawing import REFERENCE, SERIES, dots, lines, marked, note, panels
from paper_figures.figure import Criterion, Finding, Headline, PaperFigure

N_ACTIONS, N_POLICIES = 20, 150
NORMS = np.geomspace(0.01, 30, 21)
"""The norms ||step||_2 of the steps."""
KINDS = {"worst": "worst known", "random": "random step", "gradient": "policy gradient"}
COUNTS = (2, 3, 5, 10, 30, 100, 300, 1000)
LARGEST_COUNT = 151_936
"""The largest number of actions: the vocabulary of Qwen2.5."""
RATES = np.geomspace(0.01, 1e4, 241)


def data(results: Path) -> pandas.DataFrame:
    """Return columns panel, kind, policy, x, y.

    Panels:

    - "share": x norm of the step, y remainder over its bound;
    - "constant": x number of actions, y remainder over ||step||^2, of kind "bound" and "reached";
    - "sign": x learning rate up to which the bound certifies the sign of the entropy change, y the
      rate up to which the sign is right. It is inf where right at all rates tried.
    """
    del results
    inputs.theory()
    return pandas.concat([_shares(), _constants(), _signs()], ignore_index=True)


def remainder_share(logits: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The remainder abs(exact - first order) as a share of its bound: [...], from [..., actions]."""
    left = entropy_change.exact(logits, step) - entropy_change.first_order(logits, step)
    return np.abs(left) / entropy_change.remainder_bound(logits.shape[-1], step)


def two_likely(n: int, probability: np.ndarray) -> np.ndarray:
    """Logits of two actions of this probability each and a uniform rest: [..., n]."""
    rest = (1 - 2 * probability) / max(n - 2, 1)
    tall = (np.log(probability) - np.log(rest))[..., None] if n > 2 else 0 * probability[..., None]
    return np.where(np.arange(n) < 2, tall, 0.0)


def _shares() -> pandas.DataFrame:
    generator = np.random.default_rng(0)
    scale = generator.choice([0.5, 1.0, 2.0, 4.0], size=(N_POLICIES, 1))
    logits = scale * generator.normal(size=(N_POLICIES, N_ACTIONS))
    worst = two_likely(N_ACTIONS, np.linspace(0.02, 0.49, N_POLICIES))
    swap = np.zeros_like(worst)
    swap[:, 0], swap[:, 1] = 1.0, -1.0
    kinds = {
        "worst": (worst, swap),
        "random": (logits, generator.normal(size=logits.shape)),
        "gradient": (logits, _gradient(logits)),
    }
    parts = []
    for kind, (start, step) in kinds.items():
        unit = step / np.linalg.norm(step, axis=-1, keepdims=True)
        share = remainder_share(start[:, None], NORMS[:, None] * unit[:, None])
        if kind == "worst":  # over the probability of the two
            share = share.max(axis=0, keepdims=True)
        number, norm = np.meshgrid(np.arange(len(share)), NORMS, indexing="ij")
        parts.append(pandas.DataFrame({
            "panel": "share", "kind": kind, "policy": number.ravel(), "x": norm.ravel(),
            "y": share.ravel(),
        }))
    return pandas.concat(parts)


def _gradient(logits: np.ndarray) -> np.ndarray:
    """The exact policy-gradient step for one right answer, action 0."""
    return np.asarray(entropy_change.tempered_reinforce_step(
        logits, np.arange(logits.shape[-1]) == 0, 1.0))


def _constants() -> pandas.DataFrame:
    """The proved constant, and the largest remainder found over steps and two likely actions."""
    rows = []
    for n in COUNTS:
        start = two_likely(n, np.linspace(0.01, 0.4999, 99) if n > 2 else np.array([0.5]))
        swap = np.where(np.arange(n) == 0, 1.0, np.where(np.arange(n) == 1, -1.0, 0.0))
        steps = np.array([0.02, 0.2, 0.5, 1.0])[:, None, None] * swap
        left = entropy_change.exact(start, steps) - entropy_change.first_order(start, steps)
        reached = np.abs(left) / (steps**2).sum(axis=-1)
        rows.append((n, "reached", float(reached.max())))
    rows += [(n, "bound", float(entropy_change.remainder_bound(n, np.array([1.0]))))
             for n in (*COUNTS, LARGEST_COUNT)]
    # Written out the vocabulary would take minutes; to second order the sum over the rest is one term.
    p = np.linspace(0, 0.5, 20_001)[1:-1]
    curvature = p * (1 + (1 - 2 * p) * np.log(p * (LARGEST_COUNT - 2) / (1 - 2 * p)))
    rows.append((LARGEST_COUNT, "reached", float(curvature.max()) / 2))
    table = pandas.DataFrame(rows, columns=["x", "kind", "y"])
    return table.assign(panel="constant")


def _signs() -> pandas.DataFrame:
    generator = np.random.default_rng(1)
    logits = generator.normal(size=(N_POLICIES, N_ACTIONS))
    logits[:, 0] += generator.uniform(-4, 6, size=N_POLICIES)  # from rare to nearly learned
    step = _gradient(logits)
    rate = np.asarray(entropy_change.first_order(logits, step))
    certified = np.abs(rate) / np.asarray(entropy_change.remainder_bound(N_ACTIONS, step))
    exact = np.asarray(entropy_change.exact(logits[:, None], RATES[:, None] * step[:, None]))
    wrong = np.sign(exact) != np.sign(rate)[:, None]
    right_up_to = np.where(wrong.any(axis=1), RATES[np.maximum(wrong.argmax(axis=1) - 1, 0)], np.inf)
    return pandas.DataFrame({
        "panel": "sign", "kind": np.where(rate < 0, "falls", "rises"),
        "policy": np.arange(N_POLICIES), "x": certified, "y": right_up_to,
    })


def finding(table: pandas.DataFrame) -> Finding:
    """State how much of the bound is reached, and whether a sign it certifies is ever wrong."""
    of = {name: table[table["panel"] == name] for name in ("share", "constant", "sign")}
    constant = of["constant"].pivot(index="x", columns="kind", values="y")
    return Finding(standing="our own", criteria=(
        Criterion("share of the bound that a policy or step fills, largest",
                  float(of["share"]["y"].max()), "≤", 1),
        Criterion("policies whose sign is certified though it is wrong",
                  float((of["sign"]["x"] > of["sign"]["y"]).sum()), "≤", 0),
        Criterion("bound over what the worst policies known reach, largest of a number of actions",
                  float((constant["bound"] / constant["reached"]).max()), "≤", 2),
    ))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw the bound's share by step, the constant by number of actions, certified and right rates."""
    figure, axes = panels(1, 3, height=2.3)
    of = by_panel(table)
    left, middle, right = axes[0]
    left.axhline(1, **REFERENCE)
    lines(left, of["share"], "kind", [*KINDS], name=None, xscale="log", yscale="log", ylim=(1e-6, 3),
          xlabel="step, norm (nats)", ylabel="remainder / bound", title=f"{N_ACTIONS} actions")
    for i, title in enumerate(KINDS.values()):
        note(left, title, 0.04, 0.05 + 0.1 * i, size=6.5, color=SERIES[i]["color"])
    kinds = (("bound", "proved bound", 0.08, 0.72), ("reached", "reached", 0.55, 0.2))
    lines(middle, of["constant"], "kind",
          {kind: {**marked(i), "markersize": 3} for i, (kind, *_) in enumerate(kinds)}, name=None,
          band=None, xscale="log", ylim=(0, None), xlabel="actions", ylabel="remainder / norm²",
          title="the constant")
    middle.set_xticks([2, 100, LARGEST_COUNT], ["2", "100", f"{LARGEST_COUNT:,}"])
    middle.minorticks_off()
    for i, (_, title, x, y) in enumerate(kinds):
        middle.annotate(title, (x, y), xycoords="axes fraction", fontsize=6.5, color=SERIES[i]["color"])
    _draw_signs(right, of["sign"])
    return figure


def _draw_signs(panel: Axes, sign: pandas.DataFrame) -> None:
    top = RATES[-1] * 10
    for i, (kind, rows) in enumerate(sign.groupby("kind")):
        dots(panel, rows["x"], rows["y"].clip(upper=top), i, markersize=2.4, markeredgewidth=0.6)
        note(panel, f"entropy {kind}", 0.95, 0.05 + 0.1 * i, size=6.5, color=SERIES[i]["color"])
    ends = [float(sign["x"].min()), float(sign["x"].max())]
    panel.plot(ends, ends, **REFERENCE)
    panel.set(xscale="log", yscale="log", xlabel="certified rate", ylabel="right up to rate",
              title="sign of a step")
    panel.set_yticks([0.01, 1, 100, 1e4, top], ["0.01", "1", "100", "10,000", "all"])
    panel.minorticks_off()


FIGURE = PaperFigure.of(
    __name__, name="remainder-bound",
    source="This project",
    title="the remainder of the first order and its bound",
    paper="Neither AEPO nor Cui et al. bound what their first order leaves.",
    ours="Left: remainder over its bound by size of step. Lines are medians over policies, bands "
         "10 to 90 %. Middle: the bound's constant, and the largest remainder found. Right: one "
         "point per policy, with the learning rate up to which the first order has the right "
         "sign, against the rate that the bound certifies.",
    claims=("extension.remainder-constant-two-actions",),
    headline=Headline(
        says="The bound on what the first order leaves is kept by all policies and steps tried; "
             "the worst known fill at least half of it.",
    ),
)
