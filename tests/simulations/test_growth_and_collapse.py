"""Guards experiment growth_and_collapse: products of policies, coins, and where noise ends."""

import numpy as np
import pytest

from entropy_theory import entropy_change
from entropy_theory.policy import entropy, softmax
from simulations.experiments import growth_and_collapse as experiment

CONFIG = experiment.Config(n_seeds=40, n_draws=5, steps=60, n_records=2, n_idle=1)


def trained(name, config=CONFIG, **options):
    return experiment._trained(config, 0, name, lambda steps: None, **options)


def test_starts_have_one_action_ahead_and_the_entropy_that_was_asked_for():
    logits = experiment.ahead(8, 0.2)
    assert entropy(logits) == pytest.approx(0.2 * np.log(8), rel=1e-9)
    assert logits[0] > logits[1]
    np.testing.assert_array_equal(logits[1:], logits[1])


def test_a_response_has_the_entropies_and_the_reward_of_its_tokens():
    """Of a product of policies, before any training: also with parameters that tokens share."""
    for capacity in (0.0, 0.5):
        found = trained("sgd", ceilings=(1.0, 0.8), capacity=capacity, starts=(0.6, 0.1, 0.3))
        np.testing.assert_allclose(
            found.entropy[:, 0], np.broadcast_to([0.6, 0.1, 0.3], (2, 40, 3)), rtol=1e-6)
        right = softmax(experiment.ahead(4, 0.6))[1]
        np.testing.assert_allclose(found.reward[:, 0], [[right] * 40, [0.8 * right] * 40], rtol=1e-6)


def test_coins_at_a_flat_policy_take_what_the_second_order_takes():
    """One step of a group of 8, plain SGD, within four standard errors.

    Advantages sum to 0 and their squares to 8 in a group whose rewards differ, so that the step, their
    mean times the actions' indicators, has an eighth of the covariance of one score.
    """
    config = experiment.Config(n_seeds=4000, steps=1, n_records=1)
    found = trained("sgd", config, coins=(0.5,), starts=(1.0,), factors=(5.0,))
    change = (found.entropy[0, 1, :, 0] - found.entropy[0, 0, :, 0]) * np.log(4)
    flat = np.zeros(4)
    square = (5 * experiment.OPTIMIZERS["sgd"][1]) ** 2 * (1 - 2 * 0.5**8) / 8
    expected = square * entropy_change.of_noise(flat, entropy_change.score_covariance(flat))
    error = change.std(ddof=1) / np.sqrt(change.size)
    assert abs(change.mean() - expected) < 4 * error
    assert expected < -40 * error, "a tenth more or less would be seen"


def test_a_coin_moves_nothing_on_average_and_signal_does():
    """A reward that tells actions apart where it should not; one that does not reach them."""
    coin = trained("sgd", coins=(0.5,))
    assert np.ptp(coin.reward) < 1e-9
    signal = trained("sgd", ceilings=(1.0,))
    rise = signal.reward[0, -1] - signal.reward[0, 0]
    assert rise.mean() > 8 * rise.std(ddof=1) / np.sqrt(40)


def test_noise_ends_with_the_contrast_of_groups_under_sgd_but_not_under_adam():
    """Rewards nearly always 1: groups alike move nothing, and Adam scales the rare others up."""
    config = experiment.Config(n_seeds=20, steps=300, n_records=2)
    moved = {}
    for name in ("sgd", "adam"):
        found = trained(name, config, coins=(0.998,), starts=(0.5,))
        moved[name] = np.abs(found.entropy[0, -1] - found.entropy[0, 0]).mean()
    assert moved["sgd"] < 0.5 * moved["adam"]


def test_learning_rates_and_seeds_are_told_apart():
    """Runs of one variant differ by seed; variants by the factor of the rate."""
    found = trained("adam", coins=(0.5, 0.5), factors=(0.25, 4.0), starts=(0.5,))
    change = found.entropy[:, -1, :, 0] - found.entropy[:, 0, :, 0]
    assert len(np.unique(change[0])) > 20
    assert np.abs(change[1]).mean() > 4 * np.abs(change[0]).mean()


def test_a_sampler_that_departs_from_the_policy_is_sampled():
    """top-p leaves unlikely answers undrawn: nothing moves at a policy that is peaked enough."""
    config = experiment.Config(n_seeds=10, steps=60, start_entropy=0.05)
    cut, whole = (
        experiment._sampler((config, 0, "sgd", name), lambda steps: None)
        for name in ("top-p 0.95", "none"))
    assert abs(cut.sampler_change) < 1e-9 < abs(whole.sampler_change)
    assert whole.sampler_reward > cut.sampler_reward


def test_adam_moves_entropy_under_a_coin_by_the_skew_of_advantages():
    """At a peaked policy it rises where successes are likely, sinks where they are rare, and pairs,
    whose advantages have no skew, do neither: four standard errors. SGD, which is linear, does not tell
    the two apart."""
    config = experiment.Config(n_seeds=60, steps=300, n_records=2)

    def change(name, group_size, factor):
        found = trained(name, config, coins=(0.03, 0.97), factors=(factor,) * 2, starts=(0.1,),
                        group_size=group_size)
        moved = found.entropy[:, -1, :, 0] - found.entropy[:, 0, :, 0]
        return moved.mean(axis=-1), moved.std(axis=-1, ddof=1) / np.sqrt(60)

    (rare, likely), (of_rare, of_likely) = change("adam", 16, 3.0)
    assert rare < -4 * of_rare
    assert likely > 4 * of_likely
    for name, group_size, factor in (("adam", 2, 3.0), ("sgd", 16, 15.0)):
        (rare, likely), errors = change(name, group_size, factor)
        assert abs(likely - rare) < 4 * np.hypot(*errors)
