"""Every experiment at its smallest: what its Dataset must show, and its profiles."""

import math

import numpy as np
import pytest

from entropy_theory import entropy_change, tabular
from entropy_theory.update_rules import get
from simulations.computing.store import path_of, read
from simulations.experiments import EXPERIMENTS, aepo_figure_1
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
    np.testing.assert_allclose(dataset.ceiling, np.log(dataset.right_answers))
    assert not dataset.held.where(~dataset.sustainable, False).any()
    assert not dataset.sampled_held.where(~dataset.sustainable, False).any()
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


def test_figure_1_sampled_cells_belong_to_their_target(smoke):
    """Guards the unstacking of repeats: the target of a sampled curve is that of its coordinate."""
    config = aepo_figure_1.Config(
        right_answers=(1, 8), targets=(0.25, 1.5), alphas=(1.0,), n_starts=1, steps=20,
        n_sampled_starts=1, n_sampling_seeds=3, sampled_steps=1500,
    )
    dataset = aepo_figure_1.compute(config, 0, lambda steps: None)
    tail = dataset.sampled_tail_entropy.sel(right_answers=8).squeeze("sampled_start")
    assert tail.dims == ("sampling_seed", "target")
    assert np.all(np.abs(tail - dataset.target) < 0.3)
    seeds = dataset.sampled_entropy.sel(right_answers=8, target=1.5).isel(sampled_step=-1)
    assert len(np.unique(seeds)) == 3, "repeats must be independent"


def test_figure_1_threshold_is_where_the_step_at_high_temperature_turns():
    """alpha just above the threshold raises entropy to first order, just below it lowers it."""
    config = aepo_figure_1.Config()
    problem = Bandit(n_correct=4, accuracies=(0.9,))
    logits = problem.starts(20, seed=0)
    correct = np.broadcast_to(problem.correct, logits.shape)
    threshold = aepo_figure_1.raising_alpha(
        logits[:, 0], correct[:, 0], config.temperature_high, config.group_size)
    finite = np.isfinite(threshold) & (threshold > 0)
    assert finite.any()
    for i in np.flatnonzero(finite):
        rates = []
        for alpha in (0.99 * threshold[i], 1.01 * threshold[i]):
            rule = get("aepo", alpha=float(alpha), base=get("grpo", group_size=config.group_size))
            z = logits[i : i + 1]
            reward = correct[i : i + 1].astype(float)
            hot = np.full(1, config.temperature_high)
            batch = tabular.exact_batch(z, reward, temperature=hot)
            step = tabular.logit_step(z, batch, rule)
            rates.append(float(entropy_change.first_order(z, step)[0, 0]))
        assert rates[0] < 0 < rates[1]


def test_figure_2_shows_the_rate_as_it_is(smoke):
    """The recorded F(T) is the slope of the recorded curve at small steps, sign and size."""
    dataset = smoke("aepo_figure_2")
    first = dataset.isel(step=0)
    assert (first.rate.sel(accuracy=0.99, right_answers=4).sel(temperature=[0.6, 0.8]) < 0).all()
    assert (first.rate.sel(accuracy=0.99, right_answers=4).sel(temperature=[1.5, 2.0]) > 0).all()
    one = np.sign(first.rate.sel(right_answers=1))
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
    assert float(dataset.first_order_error.min()) > 1e-10, "first order must err at these steps"
    assert float(dataset.correlation.min()) > 0.9


def test_accounts_hold_where_logits_share_parameters(smoke):
    """(i) is (i') for independent logits alone; what is accounted for is the change, and its parts it."""
    dataset = smoke("entropy_accounts")
    gap = abs(dataset.coefficients - dataset.entropy_gradient).sel(momentum=0.0)
    for independent, shared in (("coupling 0", "coupling 0.75"),
                                ("token tree", "token tree, tied tokens")):
        assert gap.sel(model=independent).max() < 1e-14
        assert gap.sel(model=shared).max() > 1e-4
    assert (abs(dataset.by_gradient + dataset.by_momentum - dataset.accounted) < 1e-14).all()
    assert (dataset.by_momentum.sel(momentum=0.0) == 0).all()
    assert (abs(dataset.by_momentum.sel(momentum=0.9)).max("step") > 1e-4).all()
    assert (abs(dataset.accounted - dataset.measured) <= 0.02 * abs(dataset.measured) + 1e-15).all()
    assert (dataset.entropy_gradient_correlation > 0.98).all()
    assert dataset.coefficients_correlation.sel(model="coupling 0.75", momentum=0.0) < 0.7
