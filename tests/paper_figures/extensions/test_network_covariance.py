"""Guards paper_figures/extensions/figure.py: entropy is compared at equal reward."""

from pathlib import Path

import numpy as np
import pytest

import paper_figures
from entropy_theory.support.results import read_json, write_json
from paper_figures.data import inputs
from paper_figures.extensions import network_covariance as figure
from paper_figures.reproduce import network_covariance as runs


def write_comparison(results, gap, far=(), seeds=3, aside=1.0):
    """Entropy falls by one nat a reward, and is ``gap`` higher where tokens are chosen by true effect.

    In the seeds that are ``far`` its rewards are ``aside`` of the paper's.
    """
    rewards = np.linspace(0.2, 0.6, 16)
    records = []
    for seed in range(seeds):
        for covariance in figure.COVARIANCES:
            true = covariance == "network"
            reward = rewards + (aside if seed in far else 0.1) * true
            records.append({
                "label": f"clip-cov {covariance}", "task": "split", "seed": seed,
                "reward": reward.tolist(),
                "entropy": (1 - reward + (gap + 0.001 * seed) * true).tolist(),
            })
    write_json(results / figure.FILE, {"provenance": {}, "records": records})


def test_without_a_reward_in_common_nothing_is_compared(tmp_path):
    write_comparison(tmp_path, 0.05, far=(0, 1, 2))
    found = figure.finding(figure.data(tmp_path))
    assert [one.met for one in found.criteria] == [False, True]


def test_two_seeds_are_judged_as_two(tmp_path):
    """Two seeds that differ by chance, as sure as three of the same standard error."""
    assert figure.sure(3) == pytest.approx(4.3027, abs=1e-4)
    # .0025 and .0035 are six standard errors, less than the 12.7 asked of two seeds; 0.05 is more.
    for gap, seeds, more in ((0.0025, 2, 0), (0.05, 3, 1)):
        write_comparison(tmp_path, gap, seeds=seeds)
        found = figure.finding(figure.data(tmp_path))
        assert [one.value for one in found.criteria] == [1, more]


def test_the_measured_runs_are_those_of_the_script(monkeypatch):
    """Cases of the script that no panel shows, or runs that were left out."""
    measured = Path(paper_figures.__file__).parent / "measured"
    monkeypatch.setattr(inputs, "MEASURED", measured)
    found = read_json(measured / figure.FILE)
    assert set(runs.CASES) == set(figure.CASES)
    expected = [
        (label, config.task, config.seed)
        for label, config in runs.configs(Path("runs"), seeds=3, steps=64, prompts=4)
    ]
    assert [(r["label"], r["task"], r["seed"]) for r in found["records"]] == expected
    assert all(len(record["reward"]) == 16 for record in found["records"])
    drawing = figure.draw(figure.data(Path("nowhere")))
    assert sum(panel.get_visible() for panel in drawing.axes) == 5
