"""Guards experiment performance_law_curves: the exact curve and the schedule."""

import numpy as np
import pytest

from simulations.experiments import performance_law_curves as experiment


@pytest.fixture(scope="module")
def dataset():
    config = experiment.Config(
        families=("one right, all alike", "one right"), sizes=(10, 30),
        steps=(260, 700), prompts=9, n_starts=2,
    )
    return experiment.compute(config, 0, lambda steps: None)


def test_alike_answers_lie_on_the_exact_curve_and_others_do_not(dataset):
    """A wrong n, mask or stacking of families would move the runs off the curve."""
    # R = p and H = h(p) + (1 - p) log(n - 1): the points lie on chords between steps of that curve.
    p = dataset.reward
    exact = -p * np.log(p) - (1 - p) * np.log(1 - p) + (1 - p) * np.log(dataset["size"] - 1)
    off = abs(dataset.entropy - exact).max(("point", "start"))
    assert (off.sel(family="one right, all alike") < 0.02).all()
    assert (off.sel(family="one right") > 0.05).all()
    alike = dataset.sel(family="one right, all alike")
    assert (alike.aicc.argmin("rival") == experiment.RIVALS.index("one right answer")).all()


def test_runs_end_where_the_papers_schedule_does(dataset):
    lost = dataset.entropy.isel(point=0) - dataset.entropy
    end = experiment.EARLY + experiment.LATER - 1
    share = np.interp(end / 12, dataset.point, (lost / lost.isel(point=end)).mean("start")
                      .sel(family="one right", size=30))
    assert share == pytest.approx(0.73, abs=0.03)
    assert (dataset.final_reward > 0.95).all()


@pytest.mark.parametrize("profile", experiment.PROFILES)
def test_profiles_are_consistent(profile):
    config = experiment.PROFILES[profile]
    assert set(config.families) <= set(experiment.FAMILIES)
    assert len(config.sizes) == len(config.steps)
