"""Guards paper_figures/extensions/holding_a_target.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paper_figures.data import inputs
from paper_figures.extensions import holding_a_target as figure


def record(controller: str, seed: int, off: float, **about: Any) -> dict[str, Any]:
    """A run of a step from 0.8 to 0.4 whose entropy is ``off`` above its target."""
    target = np.repeat([0.8, 0.4], 10)
    run = {"controller": controller, "seed": seed, "shape": "step", "low": 0.4, "high": 0.8}
    return {
        "run": run, "name": f"split, {controller}, step 0.4 0.8, seed {seed}",
        "series": {"target": list(target), "entropy": list(target + off), "reward": [0.5] * 20},
        "summary": {"mean": 0.4 + off, "deviation": off, "steps_to_follow": 3.0, "reward": 0.7,
                    "saturated": 0.0, **about},
        "held_out": {"pass@4": 0.9},
    }


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results with runs of one's own, none of which came with the repository."""
    monkeypatch.setattr(inputs, "MEASURED", tmp_path / "measured")
    runs = [*(record("AEPO", seed, 0.1 + 0.1 * (seed == 0)) for seed in range(5)),
            *(record("forecast, diverse bonus", seed, 0.05, reward=0.6) for seed in range(6)),
            record("wide forecast, diverse bonus", 0, 0.01, reward=0.1, steps_to_follow=None)]
    folder = tmp_path / "holding-a-target"
    folder.mkdir()
    (folder / "result.json").write_text(json.dumps({"provenance": {"commit": "c"}, "records": runs}))
    return tmp_path


def test_numbers_are_those_of_the_runs(written: Path) -> None:
    """Means over seeds mixed up, or a controller without bounds praised for what cost its reward."""
    table = figure.data(written)
    found = figure.finding(table)
    assert found.numbers["AEPO: deviation"] == pytest.approx(0.12)
    assert found.numbers["AEPO: seeds"] == 5
    assert "nearest to its target by: forecast, diverse bonus (0.050 nats off, 5 to 6 seeds)" in (
        found.headline)
    assert "Wide forecast, diverse bonus: 0.010 nats off, reward 0.10." in found.text
    held = table[(table["panel"] == "held") & (table["controller"] == "AEPO") & (table["seed"] == 0)]
    np.testing.assert_allclose(held.sort_values("target")["entropy"], [0.6, 1.0])
    figure.draw(table).draw_without_rendering()
    (listed,) = figure.tables(table)
    assert len(listed.rows) == 3
    assert listed.rows[-1][-2] == "never"


def test_few_seeds_rank_nothing(written: Path) -> None:
    table = figure.data(written)
    found = figure.finding(table[table["seed"] < 4])
    assert found.verdict == "awaits runs"
    assert "nearest" not in found.headline
    assert "AEPO: 0.125 nats off" in found.text


def test_runs_of_ones_own_take_the_place_of_committed_ones(written: Path) -> None:
    committed = written / "measured" / "holding-a-target"
    committed.mkdir(parents=True)
    runs = [record("AEPO", 0, 0.9), record("AEPO", 7, 0.3)]
    (committed / "result.json").write_text(json.dumps({"provenance": {}, "records": runs}))
    found = figure.finding(figure.data(written))
    assert found.numbers["AEPO: seeds"] == 6
    assert found.numbers["AEPO: deviation"] == pytest.approx((0.2 + 4 * 0.1 + 0.3) / 6)


def test_without_runs_the_command_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "MEASURED", tmp_path / "measured")
    with pytest.raises(inputs.MissingInputError, match=r"llm_bridge\.commands\.holding_comparison"):
        figure.data(tmp_path)
