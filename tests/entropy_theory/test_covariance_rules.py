"""Guards selection.py, Clip-Cov and KL-Cov: which tokens are picked, and what is done to them."""

import dataclasses

import numpy as np
import pytest

from entropy_theory import policy, tabular, update_rules
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import selection
from entropy_theory.update_rules.clip_cov import fraction
from entropy_theory.verification.rule_batches import to_torch
from tests.tolerances import FLOAT64

WIDE = {"clip_low": np.inf, "clip_high": np.inf, "normalization": "token-mean"}


def tokens(log_prob, advantage, *, drift=0.0, seed=0, step=0):
    """One row of ordinary tokens a sequence."""
    column = np.asarray(log_prob, dtype=float)[:, None]
    n = len(column)
    return TokenBatch(
        log_prob=column + drift, old_log_prob=column, reward=0 * column,
        advantage=np.asarray(advantage, dtype=float)[:, None], mask=np.ones((n, 1), dtype=bool),
        weight=np.full((n, 1), 1 / n), sequence=np.arange(n)[:, None], seed=seed, step=step,
    )


def test_covariance_is_eq_10_and_its_mean_is_the_covariance():
    rng = np.random.default_rng(0)
    log_prob, advantage = -rng.exponential(size=50), rng.normal(size=50)
    batch = tokens(log_prob, advantage)
    found = selection.token_covariance(batch, batch.old_log_prob, batch.advantage)[:, 0]
    expected = (log_prob - log_prob.mean()) * (advantage - advantage.mean())
    np.testing.assert_allclose(found, expected, atol=8 * FLOAT64)
    assert found.mean() == pytest.approx(np.cov(log_prob, advantage, bias=True)[0, 1])


def test_weights_are_the_expectation():
    """An exact listing and the sample it stands for have the same covariances."""
    log_prob, advantage = np.log([0.25, 0.75]), np.array([1.0, -1.0])
    listed = tokens(log_prob, advantage).replace(weight=np.array([[0.25], [0.75]]))
    sampled = tokens(log_prob[[0, 1, 1, 1]], advantage[[0, 1, 1, 1]])
    one, many = (selection.token_covariance(b, b.old_log_prob, b.advantage)[:, 0]
                 for b in (listed, sampled))
    np.testing.assert_allclose(one, many[:2], rtol=1e-14)
    for total in (0.25, 4.0):  # powers of two, by which nothing is rounded
        scaled = listed.replace(weight=total * listed.weight)
        found = selection.token_covariance(scaled, scaled.old_log_prob, scaled.advantage)[:, 0]
        np.testing.assert_array_equal(found, one)


def test_clip_cov_silences_floor_of_the_quota_and_only_the_band():
    rng = np.random.default_rng(1)
    batch = tokens(-3 * rng.exponential(size=1000), rng.normal(size=1000))
    rule = update_rules.get("clip-cov", ratio=0.0159, lower=1, upper=5, base=update_rules.get(
        "grpo", **WIDE))
    base = rule.base.scores(batch)
    scores = rule.scores(batch)
    silenced = (scores == 0) & (base != 0)
    assert silenced.sum() == 15
    covariance = selection.token_covariance(batch, batch.old_log_prob, batch.advantage)
    assert ((covariance[silenced] >= 1) & (covariance[silenced] <= 5)).all()
    assert rule.metrics(batch)["selected_fraction"] == pytest.approx(0.015)
    np.testing.assert_array_equal(scores[~silenced], base[~silenced])


def test_the_ends_of_the_band_belong_to_it():
    """lower <= Cov <= upper: a band that begins, or ends, at a token's covariance holds the token."""
    batch = tokens([0.0, -4.0, -2.0, -1.0], [1.0, -1.0, 0.5, 0.0])
    covariance = selection.token_covariance(batch, batch.old_log_prob, batch.advantage)
    at = float(covariance[0, 0])
    for lower, upper in ((at, 99.0), (-99.0, at)):
        rule = update_rules.get("clip-cov", ratio=1.0, lower=lower, upper=upper)
        found = rule.prepare(batch).prepared["clip-cov.candidate"]
        np.testing.assert_array_equal(
            found, (covariance >= lower) & (covariance <= upper))
        assert found[0]


def test_clip_cov_picks_uniformly_and_by_key():
    """Over steps each candidate is picked equally often; the same key gives the same pick."""
    batch = tokens([0.0, -4.0] * 20, [1.0, -1.0] * 20)
    rule = update_rules.get("clip-cov", ratio=0.25, lower=1, upper=5)
    picks = np.stack([
        rule.prepare(dataclasses.replace(batch, step=step)).prepared["clip-cov.selected"][:, 0]
        for step in range(400)
    ])
    assert (picks.sum(axis=1) == 10).all()
    # Binomial(400, 1/4): standard deviation 8.7; five of them for 40 tokens.
    assert np.abs(picks.sum(axis=0) - 100).max() < 43
    again = rule.prepare(dataclasses.replace(batch, step=7)).prepared["clip-cov.selected"][:, 0]
    np.testing.assert_array_equal(again, picks[7])
    other = rule.prepare(dataclasses.replace(batch, step=7, seed=1)).prepared["clip-cov.selected"]
    assert (other[:, 0] != picks[7]).any()


def splitmix(seed, step, rows):
    """The hash written out on Python's integers, for rows of one token."""
    golden, one, two = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
    found = []
    for row in range(rows):
        state = row * 2**20
        for key in (seed, step):
            state = (state + (key + 1) * golden) % 2**64
            state = (state ^ (state >> 30)) * one % 2**64
            state = (state ^ (state >> 27)) * two % 2**64
            state ^= state >> 31
        found.append((state >> 11) * 2.0**-53)
    return found


def test_keyed_numbers_are_uniform_and_the_same_on_torch():
    batch = tokens(np.zeros(20_000), np.zeros(20_000), seed=3, step=5)
    numbers = selection.keyed_uniform(batch)
    # 20 bins of 1000: chi-square with 19 degrees of freedom is below 55 but for 2e-5.
    counts = np.histogram(numbers, bins=20, range=(0, 1))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 55
    assert numbers.min() >= 0
    assert numbers.max() < 1
    np.testing.assert_array_equal(selection.keyed_uniform(to_torch(batch)).numpy(), numbers)
    # Fixed for good: a change would change every run that is resumed.
    assert numbers[0, 0] == pytest.approx(0.9935192997011463)
    first = selection.keyed_uniform(tokens(np.zeros(2), np.zeros(2), seed=0, step=0))[:, 0]
    assert first.tolist() == splitmix(0, 0, 2)


@pytest.mark.parametrize(
    ("penalty", "slope"),
    [("absolute", np.sign), ("k2", lambda d: d), ("k3", np.expm1)],
)
def test_kl_cov_slope_is_the_derivative_of_its_penalty(penalty, slope):
    drift = np.array([[0.3], [-0.2], [0.0], [0.5]])
    batch = tokens([0.0, -4.0, -1.0, -2.0], [1.0, -1.0, 1.0, 0.0], drift=drift)
    rule = update_rules.get("kl-cov", ratio=1.0, coefficient=0.7, penalty=penalty)
    expected = np.exp(drift) * batch.advantage - 0.7 * slope(drift)
    np.testing.assert_allclose(rule.scores(batch), expected, rtol=1e-13)


# ------------------------------------------------------------------------------- covariance="network"


def test_the_effect_of_a_move_along_a_score_is_that_on_the_mean_entropy():
    """Against a difference quotient of the mean over states, which fails for the entropy of one state."""
    logits = np.random.default_rng(0).normal(size=(3, 4))
    found, width = tabular.entropy_effects(logits), 1e-5
    for state, action in np.ndindex(logits.shape):
        score = np.eye(4)[action] - np.exp(policy.log_softmax(logits[state]))
        ends = []
        for sign in (1, -1):
            moved = logits.copy()
            moved[state] += sign * width * score
            ends.append(policy.entropy(moved).mean())
        # A symmetric difference is off by width^2 / 6 of a third derivative, and by rounding / width.
        assert found[state, action] == pytest.approx((ends[0] - ends[1]) / (2 * width), abs=1e-9)


@pytest.mark.parametrize("name", ["clip-cov", "kl-cov"])
def test_network_chooses_by_score_times_effect(name):
    """The tokens whose own move takes most from the mean entropy, whatever their log-probability."""
    rng = np.random.default_rng(3)
    n = 40
    batch = tokens(-rng.exponential(size=n), rng.normal(size=n))
    batch = batch.replace(entropy_effect=rng.normal(size=(n, 1)))
    band = {"lower": -np.inf, "upper": np.inf} if name == "clip-cov" else {}
    base = update_rules.get("grpo", **WIDE)
    rule = update_rules.get(name, ratio=0.1, covariance="network", base=base, **band)
    drops = -(batch.advantage * batch.entropy_effect)[:, 0]
    if name == "kl-cov":
        chosen = rule.prepare(batch).prepared["kl-cov.selected"][:, 0]
        assert set(np.flatnonzero(chosen)) == set(np.argsort(-drops)[:4])
    covariance = selection.token_covariance(batch, batch.old_log_prob, batch.advantage)
    found = selection.network_covariance(batch, base.scores(batch), covariance)
    np.testing.assert_allclose(np.mean(found**2), np.mean(covariance**2), rtol=1e-12)
    np.testing.assert_allclose(found[:, 0] / found[0, 0], drops / drops[0], rtol=1e-12)
    # One factor on all effects, such as the learning rate, changes nothing.
    scaled = rule.prepare(batch.replace(entropy_effect=1e-6 * batch.entropy_effect))
    np.testing.assert_array_equal(
        rule.prepare(batch).prepared[f"{name}.selected"], scaled.prepared[f"{name}.selected"])


# ------------------------------------------------------------------------------- quotas, ids and shares


def wide(mask, **columns):
    """Several tokens a sequence."""
    ones = np.ones(mask.shape)
    return TokenBatch(**{"log_prob": -ones, "old_log_prob": -ones, "reward": ones, "mask": mask,
                         "weight": ones / mask.sum(), **columns})


def test_a_quota_is_the_floor_of_the_share_and_one_only_where_asked_for():
    batch = wide(np.ones((5, 2), dtype=bool))
    for share, floor in ((0.0, 0), (0.09, 0), (0.1, 1), (0.29, 2), (0.3, 3), (1.0, 10)):
        assert selection.quota(batch, share, False).tolist() == [[float(floor)]]
        assert selection.quota(batch, share, True).tolist() == [[float(max(floor, 1))]]


def test_the_largest_are_taken_over_positions_too_and_ties_go_to_the_smaller_id():
    values = np.array([[3.0, 1.0, 3.0], [3.0, 9.0, 2.0]])
    candidates = np.array([[True, True, True], [True, False, True]])
    batch = wide(candidates | True)
    found = selection.largest(batch, values, candidates, np.array([[2.0]]))
    assert found.tolist() == [[True, False, True], [False, False, False]]
    other_way = batch.replace(sequence=np.array([[8] * 3, [4] * 3]))
    found = selection.largest(other_way, values, candidates, np.array([[2.0]]))
    assert found.tolist() == [[True, False, False], [True, False, False]]
    assert (selection.largest(batch, values, candidates, np.array([[99.0]])) == candidates).all()
    many = wide(np.ones((400, 1), dtype=bool), sequence=np.arange(400)[::-1, None])
    graded = np.random.default_rng(0).integers(0, 3, size=(400, 1)).astype(float)
    found = selection.largest(many, graded, many.mask, np.array([[200.0]]))
    ordered = sorted(range(400), key=lambda row: (-graded[row, 0], many.sequence[row, 0]))
    assert set(np.flatnonzero(found[:, 0])) == set(ordered[:200])
    assert not selection.largest(batch, values, candidates, np.array([[0.0]])).any()
    assert selection.rank(other_way).tolist() == [[3.0, 4.0, 5.0], [0.0, 1.0, 2.0]]
    runs = wide(np.ones((2, 3, 2), dtype=bool), sequence=np.array([4, 9, 2])[None, :, None] + np.zeros(
        (2, 1, 2), dtype=int))
    assert selection.rank(runs).tolist() == [[[2.0, 3.0], [4.0, 5.0], [0.0, 1.0]]] * 2
    assert selection.identity(other_way)[1].tolist() == [2**22, 2**22 + 1, 2**22 + 2]
    assert selection.identity(batch)[1].tolist() == [2**20, 2**20 + 1, 2**20 + 2]


def test_the_first_token_of_a_response_stands_for_it():
    mask = np.array([[False, True, True], [True, False, True], [False, False, False]])
    assert selection.first_tokens(wide(mask)).tolist() == [
        [False, True, False], [True, False, False], [False, False, False]]


def test_shares_are_of_the_ordinary_tokens_alone():
    """Four tokens count, one of them is chosen; none is no division by zero."""
    mask = np.array([[True, True], [True, True], [True, True]])
    hot = np.array([[1.0], [1.0], [1.2]]) * np.ones((3, 2))
    batch = wide(mask, sampling_temperature=hot)
    chosen = np.array([[True, False], [False, False], [True, True]])
    assert float(fraction(batch, chosen)) == 0.25
    single = batch.replace(mask=mask & (np.arange(6).reshape(3, 2) == 0))
    assert float(fraction(single, chosen)) == 1.0
    empty = batch.replace(mask=mask & (hot > 1))
    assert float(fraction(empty, chosen)) == 0.0


def test_covariances_are_over_the_ordinary_rows_and_zero_elsewhere():
    log_prob = np.array([[-1.0], [-3.0], [-50.0], [-np.inf]])
    advantage = np.array([[2.0], [-2.0], [100.0], [0.0]])
    batch = wide(np.ones((4, 1), dtype=bool), weight=np.array([[0.5], [0.5], [1.0], [0.0]]),
                 sampling_temperature=np.array([[1.0], [1.0], [1.2], [1.0]]))
    found = selection.token_covariance(batch, log_prob, advantage)
    np.testing.assert_allclose(found, [[2.0], [2.0], [0.0], [0.0]], atol=8 * FLOAT64)
    nothing = batch.replace(mask=batch.mask & (batch.sampling_temperature > 1))
    assert (selection.token_covariance(nothing, log_prob, advantage) == 0).all()
    still = batch.replace(entropy_effect=np.zeros((4, 1)))
    assert (selection.network_covariance(still, advantage, found) == 0).all()


@pytest.mark.parametrize(("name", "share", "tokens_of_a_step", "warned"), [
    ("clip-cov", 0.1, 9, True), ("clip-cov", 0.1, 10, False), ("kl-cov", 0.1, 9, True),
    ("kl-cov", 0.1, 10, False), ("kl-cov", 0.1, None, False)])
def test_a_quota_of_exactly_one_token_is_enough(name, share, tokens_of_a_step, warned):
    found = update_rules.get(name, ratio=share).warnings(on_policy=False, tokens=tokens_of_a_step)
    assert bool(found) == warned
