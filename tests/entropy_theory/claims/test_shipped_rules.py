"""The claims judge the rules that ship: a claim's step is that of `update_rules.get` on its instances.

A claim types its formula in arithmetic that can be exact, a rule is written for samples: without these
tests a mistake in either would leave a verdict on a method that nobody runs. All instances are drawn by
the claim's own sampler.
"""

import importlib
import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from entropy_theory import entropy_change, tabular, update_rules
from entropy_theory.advantages import ESTIMATORS
from entropy_theory.controllers import AdaptiveCoefficient, TemperatureSwitch
from entropy_theory.policy import entropy, kept_actions, softmax
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.reinforce import Reinforce
from entropy_theory.verification.certify import precision
from entropy_theory.verification.instances import as_balls
from tests.entropy_theory.claims.shipped import ROUNDINGS, agreement, shipped_step

CENTERED = Reinforce(estimator="group-centered")
NO_REWARD = 0.0


def module(name):
    """A module of claims; its name may be that of a claim in it, which a package shows in its place."""
    return importlib.import_module(f"entropy_theory.claims.{name}")


def draws(name, claim, size=60):
    """Instances of a claim, two batches of them, and the module that it is in."""
    where = module(name)
    for seed in range(2):
        batch = vars(where)[claim].instances.sample(np.random.default_rng(seed), size)
        yield where, SimpleNamespace(**batch)


def assert_same(found, expected, scale=1.0):
    """To rounding of terms of the size ``scale`` ([instances] or one number) and of the step's own."""
    same, told = agreement(found, expected, scale)
    assert same, told
    assert len(found) == 1 or np.abs(expected).max() > 0


def test_reinforce():
    """Equations 4 and 5 of AEPO (tempered rows alone) and the gradient of the other claims."""
    for where, i in draws("aepo.equation_5", "equation_5"):
        claimed = where.unit_step(i.logits, i.correct, i.temperature)
        assert_same(shipped_step("reinforce", i.logits, i.correct, temperature=i.temperature), claimed)
        plain = module("entropy_mechanism.one_right_answer").gradient_step(i.logits, i.correct)
        assert_same(shipped_step("reinforce", i.logits, i.correct), plain)
        assert_same(shipped_step("reinforce", i.logits, i.correct, estimator="group-centered"), plain)
    for where, i in draws("aent.c_stays_away", "c_stays_away"):
        found = shipped_step("reinforce", i.logits, i.reward, learning_rate=i.learning_rate)
        claimed = where.gradient_step(i.logits, i.reward, i.learning_rate)
        assert_same(found, claimed, i.learning_rate)


def test_policy_gradient_on_trees():
    """Theorem 1: sum over tokens of d(s) pi A. The rule averages each response over its tokens."""
    for where, i in draws("entropy_mechanism.theorem_1", "theorem_1"):
        horizon = round(math.log(i.reward.shape[-1], i.logits.shape[-1]))
        batch = tabular.response_batch(i.logits, i.reward)
        found = tabular.logit_step(i.logits, batch, Reinforce())
        assert_same(horizon * found, where._step(i), np.abs(i.reward).max(axis=-1))


def test_natural_gradient():
    """Theorem 2 on one state: dz = A, to a constant that the softmax does not see."""
    where = module("entropy_mechanism.theorem_2")
    for _, i in draws("entropy_mechanism.clip_cov", "clip_cov"):
        claimed = where._step(SimpleNamespace(logits=i.logits[:, None], reward=i.reward))[:, 0]
        found = shipped_step("natural-gradient", i.logits, i.reward)
        centered = claimed - claimed.mean(axis=-1, keepdims=True)
        assert_same(found - found.mean(axis=-1, keepdims=True), centered, np.abs(i.reward).max(axis=-1))


def both_kinds_likely(i):
    """Instances whose right and wrong answers have chances above 1e-3, which rounding is divided by."""
    right = np.where(i.correct, softmax(i.logits), 0).sum(axis=-1)
    keep = (right > 1e-3) & (right < 1 - 1e-3)
    return SimpleNamespace(**{name: value[keep] for name, value in vars(i).items()})


@pytest.mark.parametrize("ddof", [0, 1])
def test_group_normalized_advantages(ddof):
    """GRPO's expected step is kappa(p) times the gradient, and that of all n^G groups one by one."""
    for where, i in draws("extensions.group_normalization_gain", "group_normalization_gain"):
        right, wrong = (np.where(mask, softmax(i.logits), 0).sum(axis=-1) for mask in
                        (i.correct, ~i.correct))
        for size in where.GROUPS:
            found = shipped_step("grpo", i.logits, i.correct, group_size=size, std_ddof=ddof)
            kappa = where.gain(right, wrong, size, ddof)
            assert_same(found, kappa[:, None] * where.unit_step(i.logits, i.correct), 2.0)
            assert_same(found, where.enumerated_step(i.logits, i.correct, size, ddof), 2.0)


@pytest.mark.parametrize(("estimator", "name"), [
    ("reward", "without_baseline"), ("group-centered", "with_group_mean"),
    ("leave-one-out", "with_others")])
def test_advantages_of_sampled_groups(estimator, name):
    """Mean and variance over all n^G groups, each a batch of G samples with the trainer's advantages."""
    for where, i in draws("extensions.sampled_groups", "sampled_group_mean"):
        policy = softmax(i.logits)
        along = i.direction - (policy * i.direction).sum(axis=-1, keepdims=True)
        for size in where.SIZES:
            groups = np.array(list(itertools.product(range(policy.shape[-1]), repeat=size)))
            reward = i.reward[:, groups][..., None]
            ones = np.ones_like(reward)
            batch = TokenBatch(log_prob=-ones, old_log_prob=-ones, reward=reward, mask=ones > 0,
                               weight=ones / size)
            advantage = ESTIMATORS[estimator](batch, batch.mask)[..., 0]
            estimate = (advantage * along[:, groups]).mean(axis=-1)
            chance = policy[:, groups].prod(axis=-1)
            mean = (chance * estimate).sum(axis=-1)
            variance = (chance * estimate**2).sum(axis=-1) - mean**2
            for moment, found in (("mean", mean), ("variance", variance)):
                claimed = getattr(where, f"{moment}_{name}")(i.logits, i.reward, i.direction, size)
                # Rewards and directions are within 2 of 0: an estimate is below 4 x 4 x G/(G - 1).
                assert_same(found[:, None], claimed[:, None], 32.0**2)


def test_aepo():
    """kappa grad p + alpha (1 pi^T - P_T pi): kappa 1 for REINFORCE, 1 / sqrt(p (1 - p)) for GRPO."""
    for where, i in draws("aepo.combined_update", "combined_update"):
        i = both_kinds_likely(i)
        right = np.where(i.correct, softmax(i.logits), 0).sum(axis=-1)
        how = {"temperature": i.temperature, "alpha": i.alpha}
        for base, weight in (("reinforce", np.ones_like(right)),
                             ("grpo", 1 / np.sqrt(right * (1 - right)))):
            claimed = where.combined_step(i.logits, i.correct, i.temperature, weight, i.alpha)
            found = shipped_step("aepo", i.logits, i.correct, base=base, **how)
            # GRPO's deviation is a root of p (1 - p), which rounds relative to the smaller of both.
            assert_same(found, claimed, i.alpha + 1e3 * (base == "grpo"))


def exact_step(after, i, *fields):
    """after(z, i, fields of i) - z, in balls: floats would lose the digits of a small step."""
    steps = []
    with precision(256):
        for k in range(len(i.logits)):
            one = as_balls({name: value[k].tolist() for name, value in vars(i).items()})
            moved = after(one.logits, one, *(vars(one)[name] for name in fields))
            steps.append([float(x.mid()) for x in (moved - one.logits)[0]])
    return np.array(steps)


def test_aepo_ablations():
    """(2): the second batch at T = 1; (3): group-normalized advantages on it."""
    for where, i in draws("aepo.ablation_2", "ablation_2"):
        i.grpo_weight = np.ones_like(i.learning_rate)
        found = shipped_step("aepo", i.logits, i.correct, base="reinforce", ablation="untempered",
                             temperature=1.0, learning_rate=i.learning_rate)
        assert_same(found, exact_step(where._after, i), i.learning_rate)
    for where, i in draws("aepo.ablation_3", "ablation_3"):
        right = np.where(i.correct, softmax(i.logits, i.temperature), 0).sum(axis=-1)
        keep = (right > 1e-3) & (right < 1 - 1e-3)
        i = SimpleNamespace(**{name: value[keep] for name, value in vars(i).items()})
        right, alpha = right[keep], i.advantage_weight
        i.grpo_weight, i.advantage_weight = np.ones_like(alpha), alpha / np.sqrt(right * (1 - right))
        found = shipped_step(
            "aepo", i.logits, i.correct, base="reinforce", ablation="advantage", alpha=alpha,
            temperature=i.temperature, learning_rate=i.learning_rate)
        claimed = exact_step(where._after, i, "temperature")
        assert_same(found, claimed, 1e3 * i.learning_rate * (1 + alpha))


def test_terms_are_averaged_over_the_tokens_of_a_response():
    """The factors 1/|o| of Eq. (1), tempered, and of GRPO, where responses differ in length."""
    for where, i in draws("aepo.length_factors", "length_factors", size=8):
        for k in range(len(i.logits)):
            one = SimpleNamespace(**{name: value[k : k + 1] for name, value in vars(i).items()})
            for temperature, rule in ((one.temperature, Reinforce()), (None, CENTERED)):
                found = tabular.logit_step(one.logits, ended(one, where, temperature), rule)
                _, claimed = where._updates(one, centered=temperature is None)
                assert_same(found.reshape(1, -1), claimed.reshape(1, -1))


def ended(i, where, temperature):
    """The leaves of a tree as rows, each cut off after its first end token."""
    reward, lengths = where.rewards(i.logits, i.reward), where.lengths(i.logits)[0]
    rows = tabular.response_batch(i.logits, reward, temperature=temperature)
    mask = np.arange(rows.mask.shape[-1]) < lengths[:, None]
    chance = rows.weight / rows.weight.sum(axis=-2, keepdims=True)
    mean_length = (chance[..., :1] * lengths[:, None]).sum(axis=-2, keepdims=True)
    return rows.replace(mask=np.broadcast_to(mask, rows.mask.shape), weight=chance / mean_length)


def test_entropy_bonus():
    """-c S, S = pi (log pi + H); and what it does to each probability."""
    for where, i in draws("extensions.entropy_bonus", "entropy_bonus"):
        c = i.share * where._limit(i)
        found = shipped_step("entropy-bonus", i.logits, NO_REWARD, base="reinforce", coefficient=c)
        assert_same(found, -c[:, None] * where.own_covariance(i.logits), c)
        change = entropy_change.exact(i.logits, found)
        assert_same(change[:, None], where.rise(i, where._limit(i))[:, None], c)
    for where, i in draws("aent.bonus_pulls_to_uniform", "bonus_pulls_to_uniform"):
        found = shipped_step("entropy-bonus", i.logits, NO_REWARD, base="reinforce", coefficient=1.0)
        drift = found - (softmax(i.logits) * found).sum(axis=-1, keepdims=True)
        assert_same(drift, where.gains(i.logits))


def test_aent():
    """The gradient of the clamped entropy, on as many kept actions as the claim's level keeps."""
    for where, i in draws("extensions.clamped_bonus", "clamped_bonus"):
        mask = where.kept(i)
        removed = 1 - mask.sum(axis=-1) / mask.shape[-1]
        for one, share, kept in zip(i.logits[:, None], removed, mask[:, None], strict=True):
            np.testing.assert_array_equal(kept_actions(one, share), kept)
            found = shipped_step("aent", one, NO_REWARD, base="reinforce", coefficient=1.0,
                                 adaptive=False, removed_fraction=share)
            expected = -where.clamped_tilt(one, kept)
            assert np.abs(found - expected).max() <= ROUNDINGS * (1 + np.abs(expected).max())


def test_diverse_bonus():
    """pi x at right answers, the bonus alone: its base has no step where the advantage is 0."""
    for where, i in draws("extensions.diverse_bonus", "diverse_bonus"):
        found = shipped_step("diverse-bonus", i.logits, i.correct, base="reinforce", coefficient=1.0,
                             advantage=np.zeros(i.logits.shape))
        assert_same(found, where.diverse_step(i.logits, i.correct), 1 + np.ptp(i.logits, axis=-1))


def test_clip_cov():
    """No gradient where K is in [omega, 5 omega]: the claim's gain is what the rule adds to its base."""
    seen = 0
    for where, i in draws("entropy_mechanism.clip_cov", "clip_cov"):
        rule = {"base": CENTERED, "ratio": 1.0, "lower": i.lower, "upper": 5 * i.lower}
        found = shipped_step("clip-cov", i.logits, i.reward, **rule)
        base = shipped_step("reinforce", i.logits, i.reward)
        size = np.abs(i.reward).max(axis=-1) * (1 + np.ptp(i.logits, axis=-1))
        gain = entropy_change.first_order(i.logits, found - base)
        assert_same(gain[:, None], where._gain(i)[:, None], size)
        seen += int((where._gain(i) != 0).sum())
    assert seen > 20


def test_kl_cov():
    """The penalty's slope on the tokens of the largest covariance, off-policy, and none on-policy."""
    seen = 0
    for where, i in draws("entropy_mechanism.kl_cov", "kl_cov"):
        chosen = where._selected(i)
        how = {"old_logits": i.logits - i.drift}
        rule = {"base": CENTERED, "ratio": chosen.mean(axis=-1), "cov_log_prob": "current"}
        found = shipped_step("kl-cov", i.logits, i.reward, **rule, **how)
        base = shipped_step("reinforce", i.logits, i.reward, estimator="group-centered", **how)
        gain = entropy_change.first_order(i.logits, found - base)
        size = 1 + np.ptp(i.logits, axis=-1) + np.ptp(i.drift, axis=-1)
        settled = (np.abs(where.log_ratio(i.logits, i.drift)) > 1e-9).all(axis=-1)
        assert_same(gain[settled, None], where._gain(i)[settled, None], size[settled])
        # The natural gradient divides the step that is added by pi.
        pi = softmax(i.logits)
        natural = entropy_change.first_order(i.logits, (found - base) / pi)
        assert_same(natural[settled, None], where._natural_gain(i)[settled, None],
                    (size / pi.min(axis=-1))[settled])
        seen += int((where._gain(i) != 0).sum())
    assert seen > 20
    for where, i in draws("entropy_mechanism.kl_cov", "kl_cov_on_policy"):
        kl_cov = shipped_step("kl-cov", i.logits, i.reward, base=CENTERED, ratio=1.0)
        base = shipped_step("reinforce", i.logits, i.reward, estimator="group-centered")
        np.testing.assert_array_equal(kl_cov, base)
        assert np.abs(where._extra_step(i)).max() <= ROUNDINGS


def test_the_tokens_that_the_covariance_rules_select():
    """K over a batch of equally weighted tokens of many states, as the claim about narratives has it."""
    for where, i in draws("entropy_mechanism.selected_tokens", "selected_tokens", size=30):
        for surprisal, advantage, lower, chosen in zip(
            i.surprisal, i.advantage, i.lower, where._selected(i), strict=True
        ):
            n = len(surprisal)
            ones = np.ones((n, 1))
            batch = TokenBatch(
                log_prob=-surprisal[:, None], old_log_prob=-surprisal[:, None], reward=0 * ones,
                mask=ones > 0, weight=ones / n, advantage=advantage[:, None])
            rule = update_rules.get("clip-cov", ratio=1.0, lower=lower, upper=math.inf, base="reinforce")
            found = rule.prepare(batch).prepared["clip-cov.selected"][:, 0]
            np.testing.assert_array_equal(found, chosen)


def test_clip_low_and_clip_high():
    """PPO's clip as GRPO has it, over advantages of +1 and -1 with equal chance."""
    for where, i in draws("later_work.clip_low_high", "clip_low_high"):
        steps = [
            shipped_step("grpo", i.logits, NO_REWARD, old_logits=i.logits - i.drift,
                         advantage=np.full(i.logits.shape, sign), clip_low=i.epsilon,
                         clip_high=i.epsilon)
            for sign in (1.0, -1.0)
        ]
        claimed = where._expected_step(i, clip_low=True, clip_high=True)
        assert_same(sum(steps) / 2, claimed, 1 + np.abs(i.drift).max(axis=-1))


def test_the_switch_is_the_controller(monkeypatch):
    """T = 1.2 below the target and 0.8 elsewhere, as the rule's controller has it, step by step."""
    chosen = set()
    for where, i in draws("aepo.arbitrary_entropy", "arbitrary_entropy"):
        steps = where.STEPS
        monkeypatch.setattr(where, "STEPS", 1)
        for _ in range(steps):
            degrees = TemperatureSwitch(target=i.target).observe(entropy(i.logits))
            chosen |= set(degrees.tolist())
            found = shipped_step("aepo", i.logits, i.correct, base="reinforce", temperature=degrees,
                                 learning_rate=i.learning_rate)
            after = where._after_run(i)
            assert_same(i.logits + found, after, i.learning_rate + np.abs(i.logits).max(axis=-1))
            i.logits = after
        monkeypatch.undo()
    assert chosen == {0.8, 1.2}


def test_the_adaptive_coefficient_is_the_controller():
    """Eq. 4.1 as the claim has it twice, beside `AdaptiveCoefficient`."""
    for where, i in draws("aent.adaptive_coefficient", "adaptive_coefficient"):
        for k in np.flatnonzero((i.low < i.high) & (i.least < i.most))[:20]:
            one = SimpleNamespace(**{name: value[k] for name, value in vars(i).items()})
            loop = AdaptiveCoefficient(
                coefficient=one.least, entropy_low=one.low, entropy_high=one.high, rate=one.gain,
                low=one.least, high=one.most)
            for seen in np.linspace(0, 2, 9):
                moved = loop.coefficient + one.gain * where.force(seen, one.low, one.high)
                expected = min(max(moved, one.least), one.most)
                assert float(loop.observe(seen)) == pytest.approx(float(expected), rel=ROUNDINGS)
    where = module("aent.adaptive_coefficient")
    for gain, vanilla, size in ((0.5, False, 0.02), (0.5, True, 0.02), (50.0, False, 0.9)):
        path = where._run(gain, vanilla, 300, start=6.0, size=size)
        loop = AdaptiveCoefficient(coefficient=0.05, entropy_low=0.4, entropy_high=0.8,
                                   rate=size * gain, low=0.05, high=1.0)
        x, coefficient = 6.0, 0.05
        for seen in path:
            weight = np.exp(-x)
            p = 1 / (1 + 9 * weight)
            assert -np.log(p) + 9 * weight * p * x == pytest.approx(seen, rel=1e-9)
            speed = 10 / 9 * p * (1 - p) if vanilla else 1.0
            x += size * speed * (1 - coefficient * x)
            coefficient = float(loop.observe(np.asarray(seen)))
