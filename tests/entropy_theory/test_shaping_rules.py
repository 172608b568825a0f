"""Guards the rules that shape advantages and select tokens: each formula, on numbers written out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from entropy_theory.controllers import ProportionalIntegral
from entropy_theory.schedules import Points
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import combine, get
from entropy_theory.verification.rule_batches import random_batch
from tests.tolerances import ROUNDING

REINFORCE = get("reinforce", normalization="token-mean")
"""A base rule whose score is the advantage."""


def column(*values):
    return np.array(values, dtype=float)[:, None]


def tokens(advantage, log_prob=None, entropy=None, **columns):
    """Answers of one token each, with given advantages."""
    advantage = column(*advantage)
    ones = np.ones_like(advantage)
    log_prob = -ones if log_prob is None else column(*log_prob)
    columns = {"old_log_prob": log_prob, "reward": advantage, "advantage": advantage, **columns}
    return TokenBatch(log_prob=log_prob, mask=ones > 0, weight=ones / len(ones),
                      entropy=ones if entropy is None else column(*entropy), **columns)


def scores(name, batch, **options):
    return get(name, **{"base": REINFORCE, **options}).scores(batch)[:, 0]


def test_w_reinforce_weighs_right_answers():
    """Rewards 1, 0 and 1 become .1, -1 and .1; NSR leaves right answers out; lambda is for any base."""
    batch = tokens([1, 0, 1]).replace(advantage=None)
    assert get("w-reinforce").scores(batch)[:, 0].tolist() == [0.1, -1.0, 0.1]
    assert get("w-reinforce", positive_weight=0.0).scores(batch)[:, 0].tolist() == [0.0, -1.0, 0.0]
    np.testing.assert_allclose(
        scores("w-reinforce", tokens([2, -3, 0]), positive_weight=0.5), [1.0, -3.0, 0.0])


def test_repo_takes_the_centered_log_probability_off():
    batch = tokens([1, -1, 0], log_prob=[-2, -0.5, -1], entropy=[1.5, 1.5, 1.0])
    np.testing.assert_allclose(scores("repo", batch, beta=0.2), [1.1, -1.2, 0.0], rtol=ROUNDING)
    two = batch.replace(**{name: np.stack([c, c]) for name, c in batch._columns()})
    found = get("repo", base=REINFORCE, beta=np.array([0.2, 0.0])).scores(two)[..., 0]
    np.testing.assert_allclose(found, [[1.1, -1.2, 0.0], [1.0, -1.0, 0.0]], rtol=ROUNDING)


def test_repo_r_rescales_by_surprise_and_keeps_the_sign():
    batch = tokens([1, -1, -1, 0], log_prob=[-2, -0.5, -9, -3])
    np.testing.assert_allclose(scores("repo-r", batch, zeta=0.2), [1.4, -0.9, 0.0, 0.0], atol=1e-15)


def test_a_shaped_advantage_goes_by_the_policy_asked_for():
    batch = tokens([1.0], log_prob=[-2], old_log_prob=column(-3))
    assert scores("repo-r", batch, zeta=0.1) == pytest.approx(1.3)
    assert scores("repo-r", batch, zeta=0.1, log_prob="current") == pytest.approx(1.2)
    assert get("repo-r", log_prob="current").needs.every_step
    assert not get("repo-r").needs.every_step


@pytest.mark.parametrize("mapping", ["exponential", "linear"])
def test_steer_weighs_by_the_estimated_change_of_entropy(mapping):
    probability, old = np.array([0.5, 0.1, 0.9]), np.array([0.5, 0.2, 0.8])
    advantage, entropy = np.array([1.0, -2.0, 0.5]), np.array([1.0, 1.2, 0.3])
    omega = np.abs(advantage / old * probability * (1 - probability) * (np.log(probability) + entropy))
    if mapping == "exponential":
        weight = np.maximum(0.8, np.exp(math.log(0.8) / max(omega.max(), 0.02) * omega))
    else:
        weight = 1.2 - 0.4 * (omega - omega.min()) / (omega.max() - omega.min())
    batch = tokens(advantage, log_prob=np.log(probability), entropy=entropy,
                   old_log_prob=column(*np.log(old)))
    np.testing.assert_allclose(scores("steer", batch, mapping=mapping, log_prob="current"),
                               weight * advantage, rtol=ROUNDING)
    assert len({*weight}) == 3


def test_steer_leaves_steps_that_are_too_small_to_matter():
    """The largest change counts as at least .02; tokens that all change alike have the mean weight."""
    batch = tokens([1e-3, 0.0], log_prob=[-1, -3], entropy=[0.5, 0.5])
    omega = 1e-3 * (1 - math.exp(-1)) * 0.5
    np.testing.assert_allclose(scores("steer", batch), [1e-3 * 0.8 ** (omega / 0.02), 0], rtol=ROUNDING)
    alike = tokens([1.0, 1.0], log_prob=[-2, -2])
    assert scores("steer", alike, mapping="linear", weight_high=1.4) == pytest.approx(1.1)


def test_stare_reweights_the_least_likely_tokens_of_each_sign():
    """Six good tokens and two bad: 30 % of each, rounded up, are two and one."""
    log_prob = [-1, -5, -2, -7, -3, -0.5, -4, -6]
    batch = tokens([1] * 6 + [-1, -1], log_prob=log_prob, entropy=[0.2] * 8)
    one, both = ([1, 1.5, 1, 1.5, 1, 1, -1, low] for low in (-1.0, -0.5))
    options = {"share": 0.3, "coefficient": 0.5}
    assert scores("stare", batch, **options).tolist() == one
    assert scores("stare", batch, both=True, **options).tolist() == both
    above = batch.replace(entropy=0.3 + 0 * batch.weight)
    assert scores("stare", above, **options).tolist() == [1] * 6 + [-1, -1]
    # What the loop chose, 0 above the target, counts where the coefficient is adapted, and there alone.
    chosen = batch.replace(coefficient=0.1 + 0 * batch.weight)
    assert scores("stare", chosen, **options).tolist() == one
    adapted = scores("stare", chosen, coefficient_step=0.01, **options)
    np.testing.assert_allclose(adapted, [1, 1.1, 1, 1.1, 1, 1, -1, -1])


def test_stare_adapts_as_the_authors_do():
    loop = get("stare", coefficient_step=0.01).coefficient_controller()
    assert [float(loop.observe(np.array(h))) for h in (0.2, 0.2, 0.4, 0.2)] == pytest.approx(
        [0.11, 0.12, 0.0, 0.12])
    assert get("stare").coefficient_controller() is None


def test_entropic_adds_to_likely_tokens_what_no_clip_holds():
    """Good answers weigh 1 + alpha, bad ones 1 - alpha; a ratio of 2 is beyond PPO's clip."""
    batch = tokens([1, -1, 1, 1], log_prob=np.log([0.6, 0.6, 0.4, 0.8]),
                   old_log_prob=column(*np.log([0.6, 0.6, 0.4, 0.4])))
    base = get("grpo", normalization="token-mean")
    found = scores("entropic", batch, base=base, target=None, coefficient=0.3, threshold=0.5)
    np.testing.assert_allclose(found, [1.3, -0.7, 1.0, 0.6], rtol=ROUNDING)
    held = batch.replace(coefficient=-0.3 + 0 * batch.weight)
    np.testing.assert_allclose(scores("entropic", held, base=base, threshold=0.0),
                               [0.7, -1.3, 0.7, -0.6], rtol=ROUNDING)


def test_entropic_holds_by_proportion_and_sum():
    loop = get("entropic", target=0.1).coefficient_controller()
    assert isinstance(loop, ProportionalIntegral)
    found = [float(loop.observe(np.array(h))) for h in (0.3, 0.2, 0.05, 3.0, 0.1)]
    assert found == pytest.approx([0.2, 0.1 + 0.002, -0.05 + 0.003, 1.0, 0.0315])
    loop.load_state_dict(loop.state_dict())
    assert float(loop.observe(np.array([0.1]))[0]) == pytest.approx(0.0315)


def test_entrocraft_drops_one_sign_outside_of_its_band():
    for level, expected in ((0.5, [0, -1]), (0.6, [1, -1]), (0.7, [1, -1]), (0.8, [1, 0])):
        batch = tokens([1, -1], entropy=[level, level])
        assert scores("entrocraft", batch).tolist() == expected, level
    schedule = Points(points=((0, 0.6), (100, 0.4)))
    batch = tokens([1, -1], entropy=[0.55, 0.55])
    moved = [scores("entrocraft", batch.replace(step=step), low_schedule=schedule).tolist()
             for step in (0, 50, 100)]
    assert moved == [[0, -1], [1, -1], [1, 0]]


@pytest.mark.parametrize(("share", "kept"), [(0.0, 1), (0.2, 2), (0.39, 2), (0.5, 3), (1.0, 6)])
def test_tokens_of_the_most_entropy_are_those_that_trl_keeps(share, kept):
    """torch.quantile interpolates between order statistics, as NumPy's does."""
    entropy = np.array([0.3, 1.2, 0.7, 0.1, 2.0, 0.9])
    batch = tokens([1] * 6, entropy=entropy)
    expected = entropy >= np.quantile(entropy, 1 - share)
    assert expected.sum() == kept
    np.testing.assert_array_equal(scores("top-entropy", batch, share=share) != 0, expected)
    assert get("top-entropy", share=share).metrics(batch)["kept_fraction"] == pytest.approx(kept / 6)


def test_states_of_one_entropy_are_kept_together_and_listings_go_by_weight():
    batch = tokens([1] * 5, entropy=[0.5, 2.0, 2.0, 1.0, 1.0])
    assert scores("top-entropy", batch, share=0.3).tolist() == [0, 1, 1, 0, 0]
    assert scores("top-entropy", batch, share=0.5).tolist() == [0, 1, 1, 1, 1]
    weight = column(0.1, 0.2, 0.2, 0.3, 0.2)
    listed = batch.replace(weight=weight, listed=True)
    assert scores("top-entropy", listed, share=0.39).tolist() == [0, 1, 1, 0, 0]
    assert scores("top-entropy", listed, share=0.4).tolist() == [0, 1, 1, 1, 1]


def test_an_unlikely_right_answer_is_worth_more():
    """Ranks from the least likely: 2, 0, and two answers that share 1 and 3 have the mean of theirs."""
    log_prob = [-1.0, -3.0, -2.0, -0.5]
    batch = tokens([1, 1, 0, 1], log_prob=log_prob).replace(advantage=None)
    base = get("reinforce", normalization="token-mean")
    np.testing.assert_allclose(scores("unlikeliness", batch, base=base, beta=0.4),
                               [1 - 0.4 * 2 / 4, 1, 0, 1 - 0.4 * 3 / 4], rtol=ROUNDING)
    tied = tokens([1, 1, 0, 1], log_prob=[-1, -3, -2, -1]).replace(advantage=None)
    np.testing.assert_allclose(scores("unlikeliness", tied, base=base, beta=0.4),
                               [1 - 0.4 * 2.5 / 4, 1, 0, 1 - 0.4 * 2.5 / 4], rtol=ROUNDING)
    listed = tied.replace(weight=column(0.4, 0.1, 0.2, 0.3), listed=True)
    np.testing.assert_allclose(scores("unlikeliness", listed, base=base, beta=0.4),
                               [1 - 0.4 * 0.65, 1 - 0.4 * 0.05, 0, 1 - 0.4 * 0.65], rtol=ROUNDING)
    # A prompt whose answers are all right has a signal by it.
    right = tokens([1, 1], log_prob=[-1, -2]).replace(advantage=None)
    assert scores("unlikeliness", right, base="grpo").tolist() == [-1, 1]


def test_hard_prompts_weigh_more_in_good_answers_and_easy_ones_in_bad():
    group = np.array([[0], [0], [0], [0], [1], [1]])
    batch = tokens([1, 0, 0, 0, 1, 0], group=group).replace(advantage=None)

    def weight(share):
        return 0.4 + 1.1 / (1 + math.exp(10 * (share - 0.75)))

    base = get("reinforce", normalization="token-mean", estimator="group-centered")
    expected = [0.75 * weight(0.25), *3 * [-0.25 * weight(0.75)], 0.5 * weight(0.5), -0.5 * weight(0.5)]
    np.testing.assert_allclose(scores("difficulty", batch, base=base), expected, rtol=ROUNDING)


def test_lp_reg_pulls_unlikely_bad_tokens_towards_the_proxy():
    """Half of four bad tokens are the two least likely; one of them is not below its proxy."""
    log_prob = np.log([0.01, 0.5, 0.02, 0.4, 0.001])
    proxy = np.log([0.02, 0.6, 0.015, 0.5, 0.5])
    batch = tokens([-1, -1, -1, -1, 1], log_prob=log_prob, reference_log_prob=column(*proxy))
    found = scores("lp-reg", batch, share=0.5, coefficient=0.3)
    np.testing.assert_allclose(found, [-1 + 0.3 * (2 - 1), -1, -1, -1, 1], rtol=1e-12)
    # PPO's clip is lifted on the tokens that are held: a ratio of .5 of a bad answer.
    moved = batch.replace(old_log_prob=batch.old_log_prob + math.log(2))
    base = get("grpo", normalization="token-mean")
    clipped = scores("lp-reg", moved, base=base, share=0.5, coefficient=0.3)
    np.testing.assert_allclose(clipped[:4], [-0.5 + 0.3, 0, 0, 0], rtol=1e-12)
    assert get("lp-reg", share=0.5).metrics(batch)["held_fraction"] == pytest.approx(0.4)


def test_shaped_rules_may_be_stacked_and_added():
    batch = random_batch(3, second_batch=False)
    inner = get("w-reinforce", base="grpo", positive_weight=0.5)
    stacked = get("entrocraft", base=inner, entropy_low=0.0, entropy_high=9.0)
    np.testing.assert_allclose(stacked.scores(batch), inner.scores(batch), rtol=ROUNDING)
    between = get("w-reinforce", positive_weight=0.5, base=get(
        "clip-cov", ratio=0.3, lower=-9, base=get("repo-r", zeta=0.1, base="unlikeliness")))
    advantage = get("repo-r", zeta=0.1, base="unlikeliness").advantages(batch)
    np.testing.assert_allclose(
        between.advantages(batch), np.where(advantage > 0, 0.5 * advantage, advantage), rtol=ROUNDING)
    given = batch.replace(advantage=between.advantages(batch))
    plain = get("clip-cov", ratio=0.3, lower=-9).scores(given)
    np.testing.assert_allclose(between.scores(batch), plain, rtol=ROUNDING)
    both = combine(inner, get("repo", beta=0.1))
    np.testing.assert_allclose(
        both.scores(batch), inner.scores(batch) + get("repo", beta=0.1).scores(batch), rtol=ROUNDING)
