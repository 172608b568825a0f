"""Every experiment at its smallest: what its Dataset must show, and its profiles."""

import math

import numpy as np
import pytest

from simulations.computing.store import path_of, read
from simulations.experiments import EXPERIMENTS
from simulations.problems import Bandit


@pytest.fixture
def smoke(simulated):
    """An experiment's smoke Dataset by name. (Its progress is checked where it is computed.)"""

    def dataset(name):
        return read(path_of(EXPERIMENTS[name], simulated(name) / "simulations"))

    return dataset


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_profile_of_a_name_has_its_own_key(name):
    experiment = EXPERIMENTS[name]
    keys = {experiment.key(profile, seed) for profile in experiment.profiles for seed in (0, 1)}
    assert len(keys) == 6


def test_figure_1_holds_no_target_above_the_ceiling_and_some_below(smoke):
    dataset = smoke("aepo_figure_1")
    assert not dataset.held.where(~dataset.sustainable, False).any()
    assert dataset.held.where(dataset.sustainable, False).any()
    assert not dataset.held.sel(right_answers=1).any()
    assert dataset.entropy.dims == ("right_answers", "start", "target", "step")


def test_figure_1_runs_start_where_their_problem_starts(smoke):
    """Guards the flattening of the grid: every curve belongs to its own start and mask."""
    dataset = smoke("aepo_figure_1")
    logits = Bandit().starts(2, seed=0)[:, 0]
    probabilities = np.exp(logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True))
    for m in dataset.right_answers.values:
        first = dataset.sel(right_answers=m).isel(step=0)
        for start in range(2):
            reward = probabilities[start, :m].sum()
            np.testing.assert_allclose(first.reward.sel(start=start), reward, atol=1e-12)
    # Below its target a run samples hot, above it cold.
    assert ((dataset.temperature == 1.2) == (dataset.entropy < dataset.target)).all()
    assert ((dataset.temperature == 0.8) == (dataset.entropy >= dataset.target)).all()


def test_figure_2_shows_the_rate_as_it_is(smoke):
    rate = smoke("aepo_figure_2").initial_rate
    solved = rate.sel(accuracy=0.99, right_answers=4)
    assert (solved.sel(temperature=[0.6, 0.8]) < 0).all()
    assert (solved.sel(temperature=[1.5, 2.0]) > 0).all()
    one = np.sign(rate.sel(right_answers=1))
    assert (one == one.isel(temperature=0)).all(), "with one right answer T cannot change the sign"


def test_figure_3_bonus_collapses_or_explodes_and_aepo_keeps_reward(smoke):
    dataset = smoke("aepo_figure_3")
    # These steps are too few to reach the end: far below where it started, log 20, is what to see.
    assert float(dataset.bonus_tail_entropy.sel(coefficient=0.0).max()) < 0.1
    assert dataset.collapsed.sel(coefficient=0.0, right_answers=1).all()
    assert dataset.exploded.sel(coefficient=3.0).all()
    assert float(dataset.aepo_tail_reward.min()) > 0.99
    # Uniform is the limit of a large bonus: entropy near log n, accuracy near m / n.
    largest = dataset.sel(coefficient=3.0)
    assert float(largest.bonus_tail_entropy.min()) > 0.9 * math.log(20)


def test_audit_identities_hold_in_every_cell(smoke):
    dataset = smoke("tabular_audit")
    assert float(abs(dataset.coefficients - dataset.first_order).max()) < 1e-10
    assert float(abs(dataset.exact - dataset.measured).max()) < 1e-10
    assert float(abs(dataset.first_order - dataset.measured).max()) > 1e-6, "first order must err"


def test_accounts_hold_where_logits_share_parameters(smoke):
    """(i) is (i') for independent logits alone."""
    dataset = smoke("entropy_accounts")
    gap = abs(dataset.coefficients - dataset.entropy_gradient).sel(momentum=0.0)
    for independent, shared in (("coupling 0", "coupling 0.75"),
                                ("token tree", "token tree, tied tokens")):
        assert gap.sel(model=independent).max() < 1e-14
        assert gap.sel(model=shared).max() > 1e-4
