"""Clip-Cov and KL-Cov with the tokens chosen by their true effect on entropy, against the paper's choice.

Both rules choose tokens by the covariance of log-probability and advantage. If logits are
independent, that is the entropy that a token takes from its own state. With
``covariance="network"`` they choose by the entropy that it takes from the batch through the
parameters that all states share.

We run `paper_figures.reproduce.network_covariance`, both rules with either choice, on both tasks;
Clip-Cov of 1 % runs on `split` alone. A choice is better if it leaves more entropy at an equal
reward. We compare the runs of a seed, at rewards that both reached with a quarter of their points
or more. Where fewer than two seeds have such rewards, we give means of the last quarter of the
runs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
from matplotlib.figure import Figure
from scipy import stats

from paper_figures.data import inputs
from paper_figures.drawing import SERIES, panels
from paper_figures.figure import MODELS, Criterion, Finding, Headline, PaperFigure

FILE = "comparisons/network_covariance.json"
CASES = {"clip-cov": "Clip-Cov, 5 %", "clip-cov-0.01": "Clip-Cov, 1 %", "kl-cov": "KL-Cov, 5 %"}
COVARIANCES = {"tabular": "the paper's covariance", "network": "true effect"}
TASKS = {"split": "many right answers", "sum": "one right answer"}
OVERLAP = 0.25
"""The share of each run's points that must lie at rewards in common: a fit through one says nothing."""
SMOOTHED = 5
"""Generations whose mean is a point."""
COMMAND = (
    "python -m paper_figures.reproduce.network_covariance --runs build/runs/covariance "
    f"--output build/{FILE}"
)


def data(results: Path) -> pandas.DataFrame:
    """Return columns task, rule, covariance, seed, generation, reward, entropy; running means.

    Raises:
        MissingInputError: the runs were not made.
    """
    found = inputs.comparison(results, FILE)
    if found is None:
        raise inputs.MissingInputError(f"the runs of both covariances are missing: run `{COMMAND}`")
    parts = []
    for record in found["records"]:
        rule, _, covariance = record["label"].partition(" ")
        frame = pandas.DataFrame({name: record[name] for name in ("reward", "entropy")})
        parts.append(frame.rolling(SMOOTHED).mean().dropna().reset_index(names="generation").assign(
            task=record["task"], rule=rule, covariance=covariance, seed=record["seed"]))
    return pandas.concat(parts, ignore_index=True)


def at_equal_reward(table: pandas.DataFrame) -> pandas.DataFrame:
    """Entropy with the true effect less that with the paper's covariance, of each task, rule and seed.

    Entropy is interpolated on a linear fit in the reward of each run's points. The difference is
    averaged over the rewards that both runs have, with OVERLAP of the points of each. Columns are
    task, rule, seed and difference, nats.
    """
    rows = []
    chosen = table[table["rule"].isin(CASES)]
    for (task, rule, seed), group in chosen.groupby(["task", "rule", "seed"]):
        runs = {name: group[group["covariance"] == name] for name in COVARIANCES}
        if any(run.empty for run in runs.values()):
            continue
        low = max(run["reward"].min() for run in runs.values())
        high = min(run["reward"].max() for run in runs.values())
        if any(run["reward"].between(low, high).mean() < OVERLAP for run in runs.values()):
            continue
        rewards = np.linspace(low, high, 20)
        entropy = {
            name: np.polyval(np.polyfit(run["reward"], run["entropy"], 1), rewards).mean()
            for name, run in runs.items()
        }
        rows.append({"task": task, "rule": rule, "seed": seed,
                     "difference": float(entropy["network"] - entropy["tabular"])})
    return pandas.DataFrame(rows, columns=["task", "rule", "seed", "difference"])


def sure(seeds: int) -> float:
    """Return by how many standard errors of so many seeds a mean is away from zero, at 95 %."""
    return float(stats.t.ppf(0.975, seeds - 1))


def finding(table: pandas.DataFrame) -> Finding:
    """State in how many cases the true effect leaves more entropy at equal reward."""
    better = comparable = 0
    for _, group in at_equal_reward(table).groupby(["rule", "task"]):
        if len(group) > 1:
            comparable += 1
            better += bool(group["difference"].mean() > sure(len(group)) * group["difference"].sem())
    return Finding(standing="our own", model=MODELS["small-sums"], criteria=(
        Criterion("cases that can be compared at equal reward", float(comparable), ">", 0),
        Criterion("of these, cases in which the true effect left more entropy, beyond what seeds "
                  "explain",
                  float(better), "≤", 0),
    ))


def draw(table: pandas.DataFrame) -> Figure:
    """Draw entropy against reward, a panel for each rule and task, a line for each run."""
    figure, axes = panels(3, 2, height=2.0, sharex="col", sharey="col")
    for row, (rule, rule_title) in enumerate(CASES.items()):
        for column, (task, task_title) in enumerate(TASKS.items()):
            panel = axes[row, column]
            chosen = table[(table["task"] == task) & (table["rule"] == rule)]
            panel.set_visible(not chosen.empty)
            for look, (covariance, label) in zip(SERIES, COVARIANCES.items(), strict=False):
                of_choice = chosen[chosen["covariance"] == covariance]
                for place, (_, run) in enumerate(of_choice.groupby("seed")):
                    panel.plot(run["reward"], run["entropy"], linewidth=0.9, alpha=0.8, **look,
                               label=label if place == 0 else None)
            panel.set_title(f"{rule_title}: {task_title}")
            if row == len(CASES) - 1:
                panel.set_xlabel("reward")
            if column == 0:
                panel.set_ylabel("entropy (nats)")
    axes[0, 0].legend(loc="best")
    return figure


FIGURE = PaperFigure.of(
    __name__, name="network-covariance",
    source="This project",
    title="tokens chosen by their true effect",
    paper="Not studied: in the paper both rules choose by the covariance of a table.",
    ours="Clip-Cov and KL-Cov on the bundled model, four steps on each generation, with the paper's "
    f"covariance and with the true effect; running means over {SMOOTHED} generations, a line per seed.",
    claims=("entropy-mechanism.clip-cov", "entropy-mechanism.kl-cov", "extension.score-covariance"),
    headline=Headline(
        says="Chosen by true effect, tokens of Clip-Cov and KL-Cov left more entropy at equal reward, "
             "beyond seeds, in none of the comparable cases.",
    ),
)
