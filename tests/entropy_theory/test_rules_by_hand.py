"""Guards the rules that modify others, against their formulas written out."""

import numpy as np
import pytest

from entropy_theory import advantages, forecast, policy, tabular, update_rules
from entropy_theory.targets import ShorterResponses
from entropy_theory.update_rules.modifier import clip_bounds, length_normalization
from entropy_theory.verification.rule_batches import random_batch
from tests.tolerances import SAME_STEP


def on_policy(seed):
    batch = random_batch(seed, second_batch=False)
    return batch.replace(log_prob=batch.old_log_prob)


def test_gspo_is_sequence_mean_grpo_on_policy_and_one_ratio_a_sequence_off_it():
    batch = on_policy(30)
    np.testing.assert_allclose(update_rules.get("gspo").scores(batch),
                               update_rules.get("grpo").scores(batch), rtol=1e-14)
    batch = random_batch(30, second_batch=False)
    rule = update_rules.get("gspo", clip_low=0.1, clip_high=0.1)
    length = batch.mask.sum(-1, keepdims=True)
    change = np.where(batch.mask, batch.log_prob - batch.old_log_prob, 0).sum(-1, keepdims=True)
    s = np.exp(change / length)
    a = advantages.group_normalized(batch, batch.mask)
    clipped = ((a > 0) & (s > 1.1)) | ((a < 0) & (s < 0.9))
    expected = np.where(clipped, 0, s * a * batch.mask.sum() / (12 * length)) * batch.mask
    np.testing.assert_allclose(rule.scores(batch), expected, rtol=1e-12)
    assert clipped.any()


def test_dynamic_sampling_is_grpo_on_the_groups_with_signal_alone():
    batch = random_batch(33, second_batch=False)
    reward = np.array([1, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 1.0])[:, None] * np.ones((12, 5))
    batch = batch.replace(reward=reward)
    for normalization in ("sequence-mean", "token-mean"):
        rule = update_rules.get("grpo", dynamic_sampling=True, normalization=normalization)
        live = batch.take_sequences(np.r_[0:4, 8:12])
        live = live.replace(weight=live.weight / live.weight[live.mask].sum())
        alone = update_rules.get("grpo", normalization=normalization).scores(live) * live.weight
        scores = rule.scores(batch) * batch.weight
        np.testing.assert_allclose(scores[np.r_[0:4, 8:12]], alone, rtol=1e-12)
        assert (scores[4:8] == 0).all()
    nothing = batch.replace(reward=np.ones_like(reward))
    assert (rule.scores(nothing) == 0).all()
    assert rule.metrics(nothing)["groups_without_signal"] == 1


def test_entropy_advantage_is_capped_and_never_reverses_a_sign():
    batch = random_batch(36, second_batch=False)
    rule = update_rules.get("entropy-advantage", beta=0.4, kappa=2.0)
    plain = rule.base.advantages(batch)
    shaped = rule.advantages(batch)
    expected = plain + np.minimum(0.4 * batch.entropy, np.abs(plain) / 2)
    np.testing.assert_allclose(shaped[batch.mask], expected[batch.mask], rtol=1e-14)
    assert (np.sign(shaped[batch.mask]) == np.sign(plain[batch.mask])).all()
    given = rule.base.scores(batch.replace(advantage=shaped))
    np.testing.assert_array_equal(rule.scores(batch), given)


def kl(p, q):
    return (p * np.log(p / q)).sum(-1)


@pytest.mark.parametrize("estimator", ["k2", "k3", "k3-corrected", "abs"])
def test_reference_kl_in_the_loss_is_the_gradient_of_a_kl(estimator):
    """k2: of KL(pi || ref); k3: of KL(ref || pi); corrected, of the former on samples of an older policy
    too; abs: of sum |pi - ref|. In exact expectation, against finite differences."""
    rng = np.random.default_rng(37)
    logits, reference, old = rng.normal(size=(3, 3, 5))
    if estimator != "k3-corrected":
        old = logits
    reward = np.zeros((3, 5))
    rule = update_rules.get("reference-kl", coefficient=1.0, estimator=estimator, base="reinforce")
    batch = tabular.exact_batch(old, reward, reference_logits=reference)
    now = policy.log_softmax(logits)[batch.state, batch.action]
    step = tabular.logit_step(logits, batch.replace(log_prob=now), rule)

    def divergence(z):
        p, q = policy.softmax(z), policy.softmax(reference)
        if estimator == "abs":
            return np.abs(p - q).sum(-1).mean()
        return (kl(q, p) if estimator == "k3" else kl(p, q)).mean()

    slope = np.empty_like(logits)
    h = 1e-6
    for index in np.ndindex(*logits.shape):
        up, down = logits.copy(), logits.copy()
        up[index] += h
        down[index] -= h
        slope[index] = (divergence(up) - divergence(down)) / (2 * h)
    # Central differences: rounding of 1e-16 / h and h^2.
    np.testing.assert_allclose(step, -slope, atol=1e-9)


def test_other_forms_of_the_reference_kl_by_hand():
    """verl's straight-through forms have the gradient of k2, and an absolute value that of its sign."""
    batch = random_batch(39, second_batch=False)
    of = {name: update_rules.get("reference-kl", coefficient=1.0, estimator=name, base=update_rules.get(
        "grpo", normalization="token-mean")) for name in ("k2", "k1+", "abs+", "k3+", "abs")}
    for name in ("k1+", "abs+", "k3+"):
        np.testing.assert_array_equal(of[name].scores(batch), of["k2"].scores(batch))
    penalty = of["abs"].base.scores(batch) - of["abs"].scores(batch)
    np.testing.assert_allclose(
        penalty, np.sign(batch.log_prob - batch.reference_log_prob) * batch.mask, atol=1e-15)


@pytest.mark.parametrize("estimator", ["k2", "k3", "k3-corrected", "abs"])
def test_a_policy_at_its_reference_is_not_penalized(estimator):
    """A constant in every score has no expected gradient, and on samples it is noise."""
    batch = on_policy(39)
    batch = batch.replace(reference_log_prob=batch.log_prob)
    rule = update_rules.get("reference-kl", coefficient=1.0, estimator=estimator)
    np.testing.assert_array_equal(rule.scores(batch), rule.base.scores(batch))


def test_reference_kl_in_the_reward_is_the_gradient_of_the_penalized_objective():
    rng = np.random.default_rng(38)
    logits, reference = rng.normal(size=(2, 1, 4))
    reward = rng.random((1, 4))
    rule = update_rules.get("reference-kl", coefficient=0.3, estimator="k1", placement="reward",
                            base="reinforce")
    batch = tabular.exact_batch(logits, reward, reference_logits=reference)
    p, q = policy.softmax(logits), policy.softmax(reference)
    gain = reward - 0.3 * np.log(p / q)
    expected = p * (gain - (p * gain).sum(-1, keepdims=True))
    np.testing.assert_allclose(tabular.logit_step(logits, batch, rule), expected, atol=SAME_STEP)


def test_aent_adds_the_gradient_of_the_clamped_entropy():
    rng = np.random.default_rng(40)
    logits = 2 * rng.normal(size=(2, 6))
    reward = (rng.random((2, 6)) < 0.5).astype(float)
    rule = update_rules.get("aent", coefficient=0.7, removed_fraction=0.4, adaptive=False)
    batch = tabular.exact_batch(logits, reward, removed_fraction=rule.needs.removed_fraction)
    bonus = tabular.logit_step(logits, batch, rule) - tabular.logit_step(logits, batch, rule.base)
    slope, h = np.empty_like(logits), 1e-6
    for index in np.ndindex(*logits.shape):
        up, down = logits.copy(), logits.copy()
        up[index] += h
        down[index] -= h
        change = policy.clamped_entropy(up, 0.4) - policy.clamped_entropy(down, 0.4)
        slope[index] = change.mean() / (2 * h)
    np.testing.assert_allclose(bonus, 0.7 * slope, atol=1e-9)
    # and the full entropy never falls by it, to first order
    alignment = forecast.clamped_alignment(logits, 0.4)
    assert (alignment > 0).all()


def test_what_would_do_nothing_is_said():
    get = update_rules.get
    quiet = {"on_policy": True, "tokens": 10_000}
    for rule, said in (
        (get("entropy-bonus", coefficient=0.0), "does nothing"),
        (get("aepo", alpha=0.0), "ignores it"),
        (get("aepo", alpha=[0.0, 0.0]), "ignores it"),
        (get("reference-kl", coefficient=0.0), "does nothing"),
        (get("reference-kl", coefficient=np.zeros(3)), "does nothing"),
        (get("entropy-advantage", beta=0.0), "is its base rule"),
        (get("clip-cov", ratio=0.0), "selects nothing"),
        (get("kl-cov", ratio=0.0), "selects nothing"),
        (get("kl-cov", coefficient=0.0), "is its base rule"),
        (get("gspo", dual_clip=3.0), "dual_clip of 'gspo' never binds"),
        (get("entropy-bonus", base=get("clip-higher", dual_clip=3.0)), "dual_clip"),
        (get("aepo", temperature_high=1.0), "cannot raise entropy"),
        (get("aent", removed_fraction=0.0), "removes nothing"),
        (get("clip-cov", base=get("entropy-bonus", coefficient=0.0)), "does nothing"),
        (update_rules.combine(get("grpo"), get("kl-cov")), "no gradient"),
    ):
        assert any(said in warning for warning in rule.warnings(**quiet)), said
    assert not get("aent", removed_fraction=0.1).warnings(on_policy=True, actions=10)
    few = get("aent").warnings(on_policy=True, actions=3)
    assert any("removes nothing" in warning for warning in few)
    assert not get("aent").warnings(on_policy=True, actions=4)
    assert not get("grpo", dual_clip=3.0).warnings(on_policy=False)


def test_aepo_in_the_codes_form_overwrites_the_first_rows():
    """Group 0 of the second batch is all right and gives none; of the rest the first two are kept."""
    get = update_rules.get
    batch = random_batch(50)
    second = np.array([1, 1, 1, 1, 0, 1, 0, 1, 1, 0, 0, 0.0])
    reward = np.concatenate([batch.reward[:12, 0], second])[:, None] * np.ones((24, 5))
    batch = batch.replace(reward=reward, log_prob=batch.old_log_prob)
    base = get("grpo", normalization="token-mean")
    rule = get("aepo", form="code", replaced_rows=2, base=base)
    kept = [17, 19]
    left = np.zeros(24, dtype=bool)
    left[2:12] = left[kept] = True
    tokens = batch.mask[left].sum()
    step = rule.scores(batch) * batch.weight
    expected = np.zeros((24, 5))
    expected[2:12] = base.scores(batch.take_sequences(slice(0, 12)))[2:] / tokens
    expected[kept] = 1 / tokens
    np.testing.assert_allclose(step, expected * batch.mask, atol=1e-15)
    bonus = get("aepo", form="code", replaced_rows=2, base=get("entropy-bonus", base=base))
    term = bonus.state_terms(batch)["entropy"]
    assert (term[:2] == 0).all()
    assert (term[2:12][batch.mask[2:12]] > 0).all()
    cooled = batch.replace(sampling_temperature=np.where(batch.tempered, 0.8, 1.0))
    lowered = rule.scores(cooled)
    np.testing.assert_array_equal(lowered[12:].any(axis=1).nonzero()[0] + 12, [17])


def test_shorter_target_reweights_right_answers_within_their_prompt():
    batch = random_batch(51)
    reward = np.concatenate([batch.reward[:12, 0], [1, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0]])
    batch = batch.replace(reward=reward[:, None] * np.ones((24, 5)), log_prob=batch.old_log_prob)
    plain = update_rules.get("aepo").scores(batch)[12:, 0]
    shorter = update_rules.get("aepo", towards=ShorterResponses(per_token=0.7)).scores(batch)[12:, 0]
    length = batch.mask[12:].sum(-1)
    right = [0, 1, 3]
    tilt = np.exp(-0.7 * length[right])
    np.testing.assert_allclose(shorter[right] / plain[right], 3 * tilt / tilt.sum(), rtol=1e-12)
    # a prompt with one right answer keeps it, and one without stays without
    assert shorter[9] == pytest.approx(plain[9])
    assert (shorter[4:8] == 0).all()


def test_a_second_batch_is_for_the_part_of_a_sum_that_asked_for_it():
    """combine(aepo, clip-higher) must not put group advantages on tempered rows (ablation 3)."""
    get = update_rules.get
    batch = random_batch(60)
    for other in (get("clip-higher"), get("entropy-bonus"), get("reinforce")):
        both = update_rules.combine(get("aepo"), other)
        alone = get("aepo").scores(batch)
        added = other.scores(batch.replace(mask=batch.is_ordinary))
        np.testing.assert_allclose(both.scores(batch), alone + added, rtol=1e-12)


def test_a_penalized_reward_leaves_the_second_batch_to_its_answers():
    batch = random_batch(61)
    rule = update_rules.get("reference-kl", base="aepo", estimator="k1", placement="reward")
    plain = update_rules.get("aepo").scores(batch)
    np.testing.assert_allclose(rule.scores(batch)[12:], plain[12:], rtol=1e-12)
    assert np.abs(rule.scores(batch)[:12] - plain[:12]).max() > 1e-4


def test_the_code_halves_the_rows_it_found_when_it_lowers_entropy():
    """Eight right answers and room for twelve: four are kept, not six; at temperature 1 all eight."""
    batch = random_batch(62)
    second = np.array([1, 1, 1, 0] * 2 + [1, 0, 0, 1.0])
    reward = np.concatenate([batch.reward[:12, 0], second])[:, None] * np.ones((24, 5))
    batch = batch.replace(reward=reward, log_prob=batch.old_log_prob)
    base = update_rules.get("grpo", normalization="token-mean")
    rule = update_rules.get("aepo", form="code", replaced_rows=12, base=base)
    for temperature, kept in ((0.8, 4), (1.0, 8), (1.2, 8)):
        drawn = batch.replace(sampling_temperature=np.where(batch.tempered, temperature, 1.0))
        assert (rule.scores(drawn)[12:] > 0).any(axis=1).sum() == kept


def test_clips_and_lengths_reach_through_modifiers():
    get = update_rules.get
    inner = get("clip-higher", normalization="dr-grpo", max_length=7)
    outer = get("aepo", base=get("clip-cov", base=get("entropy-advantage", base=inner)))
    assert clip_bounds(outer.base) == (0.2, 0.28)
    assert length_normalization(outer) == ("dr-grpo", 7)
    assert clip_bounds(get("aepo", base="gspo")) == (0.2, 0.2)
    batch = on_policy(63)
    batch = batch.replace(log_prob=batch.old_log_prob + 0.1)
    rule = get("kl-cov", ratio=1.0, penalty="k2", base=get("grpo", clip_high=9, clip_low=9))
    factor = batch.mask.sum() / (12 * batch.mask.sum(-1, keepdims=True))
    expected = rule.base.scores(batch) - 0.1 * factor * batch.mask
    np.testing.assert_allclose(rule.scores(batch), expected, rtol=1e-10)


def test_the_second_batch_is_judged_by_its_right_answers():
    """Weights of tempered rows 1, 1 and 3 of 10, of which the first and the last are right."""
    batch = random_batch(67).take_sequences(slice(10, 15))
    weight = np.array([[2.0], [3.0], [1.0], [1.0], [3.0]]) / 10 * np.ones((5, 5))
    reward = np.array([[0.0], [1.0], [1.0], [0.0], [1.0]]) * np.ones((5, 5))
    mask = batch.mask.copy()
    mask[:, :2] = True
    batch = batch.replace(weight=weight, reward=reward, mask=mask)
    rule = update_rules.get("aepo")
    found = rule.metrics(batch)
    assert found["tempered_sequences"] == 3
    assert found["tempered_positive_share"] == pytest.approx(0.8)
    second, first = batch.is_tempered, batch.is_ordinary
    own = rule.advantages(batch)
    np.testing.assert_array_equal(own[second], reward[second])
    np.testing.assert_array_equal(own[first], rule.base.advantages(batch)[first])
    ablated = update_rules.get("aepo", ablation="advantage").advantages(batch)
    np.testing.assert_array_equal(
        ablated[second], advantages.group_normalized(batch, second)[second])


def test_given_advantages_take_the_place_of_estimates():
    """Of rules without clips and lengths, whose scores and steps they are."""
    batch = on_policy(0)
    given = np.where(batch.mask, np.random.default_rng(1).normal(size=batch.mask.shape), 0.0)
    rule = update_rules.get("reinforce", estimator="leave-one-out", normalization="token-mean")
    assert not np.allclose(rule.scores(batch), rule.scores(batch.replace(advantage=given)))
    plain = update_rules.get("reinforce", estimator="reward", normalization="token-mean")
    np.testing.assert_allclose(
        rule.scores(batch.replace(advantage=given)), plain.scores(batch.replace(reward=given)),
        rtol=0, atol=SAME_STEP)
    logits = np.random.default_rng(2).normal(size=(2, 4))
    listed = tabular.exact_batch(logits, np.array([[1.0, 0, 0, 0], [0, 1.0, 1.0, 0]]))
    natural = update_rules.get("natural-gradient")
    np.testing.assert_array_equal(
        natural.advantages(listed.replace(advantage=2 * listed.reward)), 2 * listed.reward)
