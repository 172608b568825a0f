"""How far `policy-entropy fit` forecasts, and how often its intervals hold.

    python benchmarks/forecasts.py                    runs of this repository and simulated ones
    python benchmarks/forecasts.py LOG...             and other runs, of which nothing was calibrated
    python benchmarks/forecasts.py --write            make entropy_theory/performance_law/calibration.json

From many places of each run, entropy and performance are forecast up to five times as many steps ahead,
and compared with the mean of ten values there. The intervals are quantiles of the errors of this
repository's runs and of simulated ones, the two groups with the same weight. Each of these runs is judged
by quantiles of those that are not of its family, a LOG as a user's is.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, get_args

import numpy as np
import tyro

from entropy_theory.performance_law import ahead
from entropy_theory.performance_law.ahead import FARTHEST, LAST, LEAST, REACH, Kind, LocalLaw
from entropy_theory.performance_law.forecast import forecast, law_is_refused
from entropy_theory.performance_law.training_log import read
from entropy_theory.support.results import write_text
from entropy_theory.update_rules import get
from simulations.engine.dynamics import Dynamics
from simulations.engine.simulation import simulate
from simulations.problems.bandits import Bandit

ROOT = Path(__file__).parents[1]
CALIBRATION = ROOT / "entropy_theory" / "performance_law" / "calibration.json"
ORIGINS = np.linspace(0.1, 0.8, 15)
AHEAD = (1.25, 1.5, 2.0, 3.0, 5.0)
LEVEL = 0.9
KINDS: tuple[Kind, ...] = get_args(Kind)
PROBABILITIES = np.linspace(0, 1, 101)
PROBLEMS = {
    "many right": Bandit(n_actions=50, n_correct=5, accuracies=(None,) * 24),
    "graded": Bandit(n_actions=10, accuracies=(0.125, 0.5, 0.875) * 8),
    "peaked": Bandit(n_actions=100, n_correct=10, scale=3.0, accuracies=(0.125, 0.5, 0.875) * 8),
    "one right": Bandit(n_actions=20, accuracies=(None,) * 24),
}
RULES = {"grpo": get("grpo", group_size=8), "reinforce": get("reinforce"),
         "bonus": get("entropy-bonus", coefficient=0.05)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """The entropies and performances [N] of a run, and the family of runs that it is like."""

    group: str
    family: str
    step: np.ndarray
    entropy: np.ndarray
    performance: np.ndarray


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One forecast, in the units in which its error is judged, and its error and that of no change."""

    run: str
    group: str
    kind: Kind
    score: float
    scale: float
    error: float
    stays: float


def measured() -> dict[str, Series]:
    """The twelve runs of a small transformer that forecasts are calibrated on."""
    folder = ROOT / "paper_figures" / "measured"
    return {name.parent.name: _logged(name, "repository", name.parent.name.partition("-seed")[0])
            for name in sorted(folder.glob("split-first-*/metrics.jsonl"))}


def _logged(path: Path, group: str, family: str) -> Series:
    found = read([path])
    return Series(group=group, family=family, step=found.step, entropy=found.entropy,
                  performance=found.performance)


def simulated() -> dict[str, Series]:
    """Sets of one-token prompts in exact expectation, seen through batches of prompts and answers.

    A batch of hard prompts has more entropy and less reward, as in a real log.
    """
    random = np.random.default_rng(0)
    found = {}
    for (name, problem), (rule, update), rate, steps in product(
            PROBLEMS.items(), RULES.items(), (2.0, 8.0), (150, 600)):
        starts = problem.starts(1, seed=int(random.integers(1000)))
        run = simulate(starts, problem.correct, Dynamics(
            rule=update, steps=steps, learning_rate=rate, record_every=1))
        entropy, reward = run.entropy[:, 0], run.reward[:, 0]
        for answers in (128, 1024):
            hard = random.normal(size=len(entropy)) / math.sqrt(answers)
            chance = np.clip(reward - hard * np.sqrt(reward * (1 - reward)), 0, 1)
            noise = 1 + 0.5 * hard + 0.02 * random.normal(size=len(entropy))
            found[f"{name}, {rule}, rate {rate:g}, {steps} steps, {answers} answers"] = Series(
                group="simulated", family=f"{name}, {rule}", step=np.arange(len(entropy)) + 1.0,
                entropy=np.maximum(entropy * noise, 0),
                performance=random.binomial(answers, chance) / answers)
    return found


def attempts(name: str, run: Series) -> Iterator[Attempt]:
    """Forecast a run from many of its places."""
    time = np.arange(len(run.step)) + 1.0
    best = 1.0
    for used in dict.fromkeys(math.ceil(share * len(time)) for share in ORIGINS):
        if used < LEAST:
            continue
        seen, gained = run.entropy[:used], run.performance[:used]
        local, holds = LocalLaw(seen, gained), not law_is_refused(seen, gained)
        decays = {"entropy": ahead.entropy_decay(time[:used], seen),
                  "failure": ahead.failure_decay(time[:used], gained, best)}
        for end in (round(factor * used) for factor in AHEAD):
            if end > len(time):
                break
            there = slice(end - LAST, end)
            reward, entropy = float(run.performance[there].mean()), float(run.entropy[there].mean())
            place = math.log1p(float(np.expm1(run.entropy[there]).mean()))
            when = math.exp(float(np.log(time[there]).mean()))
            truth = {"entropy": math.log(max(entropy, ahead.LEAST_ENTROPY)),
                     "failure": best - reward + ahead.offset(gained, best), "law": reward}
            guesses = {kind: decay.at(when) for kind, decay in decays.items()}
            if holds and local.distance(place) <= REACH:
                guesses["law"] = local.at(place)
            for kind, guess in guesses.items():
                # Entropy is compared in the logarithm, performance as it is.
                last = math.log(decays["entropy"].last) if kind == "entropy" else local.last
                target = truth["entropy"] if kind == "entropy" else reward
                off = truth[kind] - guess.value
                yield Attempt(run=name, group=run.group, kind=kind, score=off / guess.scale,
                              scale=guess.scale, error=abs(off), stays=abs(last - target))


def quantiles(found: list[Attempt]) -> np.ndarray:
    """Quantiles of the scores at `PROBABILITIES`; groups have the same weight, and in each its runs."""
    counts = Counter(one.run for one in found)
    runs = Counter(group for group, _ in {(one.group, one.run) for one in found})
    order = sorted(found, key=lambda one: one.score)
    weight = np.cumsum([1 / counts[one.run] / runs[one.group] for one in order])
    return np.interp(PROBABILITIES, weight / weight[-1], [one.score for one in order])


def crossings(run: Series) -> Iterator[tuple[bool, bool]]:
    """Whether the step at which entropy first fell below a level was in its interval, if it was told."""
    mean = np.convolve(run.entropy, np.ones(LAST) / LAST, "valid")  # of the ten values up to each step
    for used in dict.fromkeys(math.ceil(share * len(run.step)) for share in ORIGINS):
        level = mean[used - LAST] * 0.7 if used >= LEAST else 0.0
        below = np.flatnonzero(mean[max(used - LAST, 0):] <= level)
        if level == 0 or not len(below):
            continue
        count = used + int(below[0])
        if count > FARTHEST * used:
            continue
        (found,) = forecast(run.entropy, run.performance, at=(level,), first=used / len(run.step),
                            level=LEVEL).entropies
        # A forecast is of the ten values around a step, the mean of those up to it.
        place = count - LAST / 2
        yield ((found.earliest or math.inf) <= place <= (found.latest or math.inf),
               found.latest is not None)


def judge(runs: Mapping[str, Series], tried: list[Attempt]) -> list[dict[str, Any]]:
    """A row for each group of runs and kind of forecast: coverage, width, and errors beside no change."""
    rows = []
    for group, kind in product(dict.fromkeys(run.group for run in runs.values()), KINDS):
        held, widths, errors, better = [], [], [], []
        for name in (name for name, run in runs.items() if run.group == group):
            own = [one for one in tried if one.run == name and one.kind == kind]
            if not own:
                continue
            table = ahead.scores(kind)
            if group != "other":
                table = quantiles([one for one in tried if one.kind == kind
                                   and runs[one.run].group != "other"
                                   and runs[one.run].family != runs[name].family])
            low, high = np.interp([(1 - LEVEL) / 2, (1 + LEVEL) / 2], PROBABILITIES, table)
            held.append(np.mean([low <= one.score <= high for one in own]))
            widths.append(np.mean([(high - low) * one.scale for one in own]))
            errors.append(np.mean([(one.error, one.stays) for one in own], axis=0))
            better.append(np.mean([one.error < one.stays for one in own]))
        if held:
            error, stays = np.mean(errors, axis=0)
            rows.append({"runs": group, "forecast": kind, "n": len(held), "coverage": np.mean(held),
                         "width": np.mean(widths), "error": error, "stays": stays,
                         "nearer": np.mean(better)})
    return rows


def main(logs: tyro.conf.Positional[tuple[Path, ...]] = (), /, *, write: bool = False) -> None:
    """Measure the forecasts.

    Args:
        logs: logs of other runs, each judged by itself.
        write: write calibration.json from the repository's runs and simulated ones first.
    """
    runs = measured() | simulated()
    tried = [one for name, run in runs.items() for one in attempts(name, run)]
    if write:
        write_text(CALIBRATION, json.dumps({
            kind: [float(f"{score:.4g}") for score in quantiles([t for t in tried if t.kind == kind])]
            for kind in KINDS}) + "\n")
        ahead.scores.cache_clear()
    others = {log.stem: _logged(log, "other", log.stem) for log in logs}
    runs |= others
    tried += [one for name, run in others.items() for one in attempts(name, run)]
    print("runs        forecast     n  coverage   width   error   stays  nearer")
    for row in judge(runs, tried):
        print(f"{row['runs']:12}{row['forecast']:10}{row['n']:4}{row['coverage']:10.1%}{row['width']:8.3f}"
              f"{row['error']:8.4f}{row['stays']:8.4f}{row['nearer']:8.0%}")
    for group in dict.fromkeys(run.group for run in runs.values()):
        found = [one for run in runs.values() if run.group == group for one in crossings(run)]
        if found:
            held, told = np.mean(found, axis=0)
            print(f"{group:12}the step at which entropy is down to 70 %: in its interval {held:.0%} of "
                  f"{len(found)} times, {told:.0%} with an end")
    for name, run in others.items():
        report = forecast(run.entropy, run.performance)
        print(f"{name}: R = {report.formula}; {report.verdict}")


if __name__ == "__main__":
    tyro.cli(main)
