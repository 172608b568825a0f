"""Guards paper_figures/extensions/holding_a_pretrained_target.py."""

import pytest

from paper_figures.data import inputs
from paper_figures.extensions import holding_a_pretrained_target as figure
from tests.paper_figures.extensions.held_runs import record, write

OFF = {"AEPO": -0.2, "two-sided integral, diverse bonus": -0.1, "forecast, entropy bonus": 0.02}


@pytest.fixture
def written(tmp_path):
    """Runs of SmolLM2, and one of the small model at the same target."""
    write(tmp_path / "holding-a-target-chain-sum", [
        record(name, seed, off, shape="constant", task="chain-sum", learning_rate=5e-6,
               deviation=abs(off) + 0.01 * seed)
        for name, off in OFF.items() for seed in range(5)])
    write(tmp_path / "holding-a-target", [record("AEPO", 0, 0.3, shape="constant")])
    return tmp_path


def test_numbers_are_those_of_the_pretrained_model(written):
    """The small model's run among them, or a column under another's title."""
    table = figure.data(written)
    assert [one.met for one in figure.finding(table).criteria] == [True]
    (rows,) = (one.rows for one in figure.tables(table))
    assert [row[0] for row in rows] == ["AEPO", "forecast, entropy bonus",
                                        "two-sided integral, diverse bonus"]
    assert rows[0][1:] == ("0.20", "0.220 ± 0.007", "0.70", "0.90", "8.0")


def test_without_runs_the_command_is_named(tmp_path):
    """The command whose runs this figure shows, which are not the small model's."""
    write(tmp_path / "holding-a-target", [record("AEPO", 0, 0.3)])
    with pytest.raises(inputs.MissingInputError, match=r"--design pretrained-small --steps 32") as error:
        figure.data(tmp_path)
    assert "holding-a-target-chain-sum" in str(error.value)
