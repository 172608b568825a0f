"""Whether entropy grew or fell on public runs, against what would explain it: docs/entropy-by-size.svg.

    python benchmarks/public_growth.py      draw the figure and print the tests

public_levels.csv has fourteen runs of one recipe, Qwen2.5-Instruct by GRPO in verl: adapters of rank 32,
Adam at a constant 3e-5, a KL penalty (k3) of .001 and an entropy bonus of .001, one epoch of 64 prompts
with 5 answers. So say the scripts of 0.5B, 7B, 14B, 32B and 72B on GSM8K, and of 32B and 72B on MATH; the
others were not read. The levels are the curves of 40 and 25 points that W&B prints at the end of a log,
from 0 to 7 over each run's own range; it draws the points at random, so that times agree approximately.
Entropy in nats is that of the step named, or the last; MATH's start was not read. Source: GitHub
eric-haibin-lin/verl-data, gsm8k/ and math/.

The runs without a bonus are those of tests/diagnosis/public_runs: Qwen2.5-7B-Instruct on GSM8K, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas
from matplotlib import rc_context
from matplotlib.figure import Figure
from scipy.stats import binomtest, rankdata, spearmanr

HERE = Path(__file__).parent
LEVELS = HERE / "public_levels.csv"
NO_BONUS = HERE.parent / "tests/diagnosis/public_runs/qwen2.5-7b-gsm8k-grpo-33-runs.csv"
PICTURE = HERE.parent / "docs" / "entropy-by-size.svg"
STYLE = {"svg.hashsalt": "policy-entropy", "svg.fonttype": "none", "font.size": 9,
         "axes.spines.top": False, "axes.spines.right": False}
DRAWS, BLOCK = 2000, 5
FLAT = 6
"""The level of seven from which on a validation score counts as flat."""
KEPT = 0.8
"""The least reward at the end of a run that counts as sound."""
LIMITS = """\
One recipe, one author, one seed a run; an entropy bonus of .001
in all seven scripts that were read.
Above: 25 points at 8 levels, 95 % by bootstrap in blocks of 5.
Size goes with success and with entropy at the start: no cause is shown."""


def levels() -> pandas.DataFrame:
    """The table of the fourteen runs, curves as arrays of floats."""
    table = pandas.read_csv(LEVELS, dtype={"entropy_levels": str, "validation_levels": str})
    for name in ("entropy_levels", "validation_levels"):
        table[name] = [np.array(list(text), dtype=float) for text in table[name]]
    return table


def correlation(entropy: np.ndarray, score: np.ndarray) -> tuple[float, float, float]:
    """Rank correlation of a run's two curves, and its 95 % interval by the circular block bootstrap."""
    n = len(score)
    entropy = np.interp(np.linspace(0, 1, n), np.linspace(0, 1, len(entropy)), entropy)
    begins = np.random.default_rng(0).integers(n, size=(DRAWS, n // BLOCK, 1))
    drawn = (begins + np.arange(BLOCK)).reshape(DRAWS, -1) % n
    ranks = [rankdata(curve[drawn], axis=1) for curve in (entropy, score)]
    x, y = (rank - rank.mean(axis=1, keepdims=True) for rank in ranks)
    size = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    found = (x * y).sum(axis=1)[size > 0] / size[size > 0]  # (no curve that stands still)
    low, high = np.quantile(found, [0.025, 0.975])
    return float(spearmanr(entropy, score).statistic), float(low), float(high)


def grows(entropy: np.ndarray, score: np.ndarray) -> bool:
    """Whether entropy is higher at the end than where the score became flat: means of 4 and 3 points."""
    flat = np.flatnonzero(score >= FLAT)[0] / (len(score) - 1)
    place = round(flat * (len(entropy) - 1))
    return bool(entropy[-4:].mean() > entropy[max(place - 1, 0): place + 2].mean())


def exact_p(*strata: tuple[np.ndarray, np.ndarray]) -> tuple[float, float]:
    """Mean rank correlation of a few pairs in each stratum, and its two-sided p over all their orders."""
    found, values, chances = 0.0, np.zeros(1), np.ones(1)
    for x, y in strata:
        x, y = (rankdata(one) - (len(one) + 1) / 2 for one in (x, y))
        scale = np.sqrt((x @ x) * (y @ y)) * len(strata)
        found += x @ y / scale
        one, count = np.unique(np.array(list(permutations(y))) @ x / scale, return_counts=True)
        values = np.add.outer(values, one).ravel()
        chances = np.multiply.outer(chances, count / count.sum()).ravel()
    return float(found), float(chances[np.abs(values) >= abs(found) - 1e-9].sum())


@dataclass(frozen=True, slots=True)
class Count:
    """How many of some runs grow, with the two-sided p of a fair coin."""

    what: str
    grow: int
    runs: int

    @property
    def p(self) -> float:
        """The two-sided p of the sign test."""
        return float(binomtest(self.grow, self.runs).pvalue)


def counts() -> list[Count]:
    """Growth of entropy with a bonus (after the score is flat) and without one (start to end)."""
    table, found = levels(), []
    risen = np.array([grows(*run) for run in
                      zip(table["entropy_levels"], table["validation_levels"], strict=True)])
    large = table["billions"] >= 7
    for task in ("GSM8K", "MATH"):
        for size, some in (("7B to 72B", large), ("0.5B to 3B", ~large)):
            chosen = risen[(table["task"] == task) & some]
            found.append(Count(f"bonus .001, {task}, {size}", int(chosen.sum()), len(chosen)))
    runs = [run for _, run in pandas.read_csv(NO_BONUS).groupby("run")]
    sound = [run["entropy"].iloc[-8:].mean() > run["entropy"].iloc[:5].mean() for run in runs
             if run["reward"].iloc[-8:].mean() >= KEPT]
    return [*found, Count("no bonus, GSM8K, 7B, reward kept", sum(sound), len(sound))]


def draw(table: pandas.DataFrame) -> Figure:
    """The sign of the relation by size, and what entropy did in nats."""
    figure = Figure(figsize=(4.6, 7), layout="constrained")
    above, below = figure.subplots(2, 1)
    for (task, some), marker, color, shift in zip(
            table.groupby("task"), "os", ("#0b6e99", "#c44e00"), (0.95, 1.05), strict=True):
        found = np.array([correlation(*run) for run in zip(
            some["entropy_levels"], some["validation_levels"], strict=True)])
        above.errorbar(some["billions"] * shift, found[:, 0], np.abs(found[:, 1:].T - found[:, 0]),
                       fmt=marker, color=color, label=task, elinewidth=0.8, markersize=5)
    above.axhline(0, color="0.6", linewidth=0.8)
    above.set(ylim=(-1, 1), ylabel="rank correlation of entropy\nand validation reward")
    above.text(2, -0.95, "$R = b - a e^H$ needs a negative one", color="0.4")
    above.legend(frameon=False, loc="upper left")
    known = table.dropna(subset="first_entropy")
    for size, first, last in zip(known["billions"], known["first_entropy"], known["last_entropy"],
                                 strict=True):
        below.annotate("", (size, last), (size, first), arrowprops={
            "arrowstyle": "->", "color": "#c44e00" if last > 1.1 * first else "#0b6e99"})
        below.plot(size, first, ".", color="0.3")
    below.set(yscale="log", ylim=(0.07, 2), ylabel="entropy, first to last step, GSM8K\n(nats per token)")
    below.set_yticks(ticks := [0.1, 0.2, 0.5, 1, 2], [f"{tick:g}" for tick in ticks])
    for panel in (above, below):
        panel.set(xscale="log", xlabel="parameters (billions)", xlim=(0.42, 90))
        panel.set_xticks(sizes := sorted(set(table["billions"])), [f"{size:g}" for size in sizes])
        panel.minorticks_off()
    figure.supxlabel(LIMITS, fontsize=8, color="0.3", x=0.01, ha="left")
    return figure


def main() -> None:
    """Draw the figure, and print what explains growth and what does not."""
    table, strata = levels(), []
    for task, some in table.groupby("task"):
        found = [correlation(*run) for run in zip(
            some["entropy_levels"], some["validation_levels"], strict=True)]
        strata.append((some["billions"].to_numpy(), np.array(found)[:, 0]))
        for size, (value, low, high) in zip(some["billions"], found, strict=True):
            print(f"{task} {size:g}B  {value:+.2f} ({low:+.2f} to {high:+.2f})")
    print(f"correlation by size: {[exact_p(one) for one in strata]}, both tasks {exact_p(*strata)}")
    for one in counts():
        print(f"{one.what}: {one.grow} of {one.runs} grow, p {one.p:.3g}")
    known = table.dropna(subset="first_entropy")
    growth = np.log(known["last_entropy"] / known["first_entropy"])
    for name in ("billions", "first_entropy", "last_score"):
        print(f"growth on GSM8K and {name}: {exact_p((known[name], growth))}")
    with rc_context(STYLE):
        draw(table).savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
