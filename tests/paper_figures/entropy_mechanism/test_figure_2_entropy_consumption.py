"""Cui et al., Figure 2: shares of entropy and gain over training."""

import numpy as np
import pytest

from entropy_theory import performance_law as law
from paper_figures.entropy_mechanism import figure_2_entropy_consumption as figure
from tests.paper_figures.entropy_mechanism.runs import write_curve


def test_the_first_twelfth_consumes_what_the_schedule_says(table):
    """The printed 73 % is met by choice of the length: a step more or less of some 100 apart."""
    share = figure.at(table, "entropy", figure.FIRST)
    assert share.to_numpy() == pytest.approx(figure.PRINTED["entropy", figure.FIRST], abs=0.02)


def test_gain_of_the_law_is_that_of_the_law():
    """The closed form against the law itself, whatever its coefficients."""
    fitted = law.fit([0.0, 0.4, 0.9], [2 - 3 * np.exp(h) for h in (0.0, 0.4, 0.9)])
    start, share = 0.9, 0.73
    reward = fitted.predict([start, (1 - share) * start, 0.0])
    gain = (reward[1] - reward[0]) / (reward[2] - reward[0])
    assert float(figure.gain_of_law(share, start)) == pytest.approx(gain, rel=1e-12)


def test_training_runs_get_a_panel(results, tmp_path):
    """Runs left out, or their shares read at the wrong step."""
    assert figure.data(results).query("panel == 'model'").empty
    folder = write_curve(tmp_path, results, entropy=np.linspace(1.0, 0.0, 121))
    table = figure.data(folder)
    # A straight line, but for the smoothing at its ends.
    assert len(figure.draw(table).axes) == 4
    assert not any("twelfth" in one.says for one in figure.finding(table).criteria if not one.where)


def test_runs_that_end_where_they_began_are_no_error(results, tmp_path):
    """A division by a change of zero."""
    folder = write_curve(tmp_path, results, entropy=np.full(30, 0.5), reward=np.full(30, 0.5))
    table = figure.data(folder)
    assert table.query("panel == 'model'")["y"].isna().all()
    figure.finding(table)
    figure.draw(table)
