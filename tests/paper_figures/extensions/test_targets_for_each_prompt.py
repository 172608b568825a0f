"""Guards paper_figures/extensions/targets_for_each_prompt.py."""

import pytest

from paper_figures.extensions import targets_for_each_prompt as figure
from tests.paper_figures.extensions.held_runs import record, write

NAMES = ("forecast, entropy bonus", "fast integral, diverse bonus")


def of_prompts(name, gain, seed, apart):
    """A run whose kinds of prompts end ``apart`` nats apart around 0.4; a tenth of a seed is noise."""
    made = record(name, seed, 0.0, shape="constant", reward=0.7 - 0.05 * gain + 0.03 * seed * (gain > 0))
    made["run"] |= {"offset": 0.2, "prompt_gain": gain}
    made["name"] += f", gain {gain}"
    made["series"]["prompt_shortfall"] = [9.0] * 10 + [0.2 - apart / 2] * 10
    made["held_out"] |= {"entropy_higher": 0.4 + apart / 2 + 0.1 * seed, "entropy_lower": 0.4 - apart / 2}
    return made


@pytest.fixture
def written(tmp_path):
    """Three seeds of two controllers at two gains, and a run whose prompts share a target."""
    write(tmp_path / "holding-a-target-each-prompt", [
        *(of_prompts(name, gain, seed, apart) for name in NAMES
          for gain, apart in ((0.0, 0.02), (4.0, 0.3)) for seed in range(3)),
        record(NAMES[0], 0, 0.1, shape="constant")])
    return tmp_path


def test_numbers_are_those_of_the_runs(written):
    """The first half of the steps in a mean, kinds changed about, or a shared target's run among them."""
    table = figure.data(written)
    assert len(table) == len(table.attrs["inputs"]) == 12
    (made,) = figure.tables(table)
    assert made.title == "Targets of 0.6 and 0.2 nats at once (3 seeds)"
    assert [row[:2] for row in made.rows] == [
        (name, gain) for name in sorted(NAMES) for gain in ("0", "4")]
    # Means of seeds 0, 1 and 2: .1 above the first; their standard error is .1 / sqrt(3).
    assert made.rows[1][2:] == ("0.65 ± 0.06", "0.25", "0.050", "0.000", "0.53 ± 0.02", "0.90")
    found = figure.finding(table)
    assert [round(one.value, 6) for one in found.criteria] == [0.3, 1.0]
    assert "AEnt" in figure.FIGURE.paper  # which Cui et al. are not among
    assert "three papers" not in figure.FIGURE.paper
