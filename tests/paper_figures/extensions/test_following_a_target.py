"""Guards paper_figures/extensions/following_a_target.py."""

import pytest

from paper_figures.extensions import following_a_target as figure
from paper_figures.extensions import holding_a_target
from tests.paper_figures.extensions.held_runs import record, write

OFF = {"AEPO": 0.1, "fast integral, diverse bonus": 0.05, "forecast, diverse bonus": 0.2}


@pytest.fixture
def written(tmp_path):
    """Runs of three controllers, among which AEPO follows the ramp best, the integral rule all else."""
    write(tmp_path / "holding-a-target", [
        record(name, seed, 0.01 if (name, options.get("shape")) == ("AEPO", "ramp") else off, **options,
               steps_to_follow=None if name == "forecast, diverse bonus" else 9.0 + seed)
        for name, off in OFF.items() for seed in range(2) for options in (
            {"shape": "step"}, {"shape": "ramp"}, {"shape": "sine"},
            {"shape": "constant", "other_prompts": True})])
    return tmp_path


def test_only_targets_that_move_are_followed(written):
    """One that rests well praised for following."""
    write(written / "holding-a-target-more", [
        record(name, seed, 0.01 if name == "forecast, diverse bonus" else off, low=low, shape="constant")
        for name, off in OFF.items() for seed in range(2) for low in (0.4, 0.35, 0.3, 0.25)])
    table = holding_a_target.data(written)
    found = figure.finding(table)
    assert [one.value for one in found.criteria] == [2 / 3]  # two of three by the same
    two = table[table["shape"].isin(("ramp", "step", "constant"))]
    assert [one.met for one in figure.finding(two).criteria] == [True]


def test_few_runs_rank_nothing(written):
    table = holding_a_target.data(written)
    assert figure.finding(table[table["shape"] == "ramp"]).standing == "awaits runs"
