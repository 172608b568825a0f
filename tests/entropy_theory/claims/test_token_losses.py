"""The claims on token losses judge the rules that ship, and what is claimed of many is true of each."""

from types import SimpleNamespace

import numpy as np
import pytest

from entropy_theory import entropy_change, tabular, update_rules
from entropy_theory.policy import log_softmax, softmax
from entropy_theory.update_rules import RULES
from entropy_theory.update_rules.unlikeliness import rank
from entropy_theory.verification.on_policy import relation
from tests.entropy_theory.claims.shipped import ROUNDINGS, shipped_step
from tests.entropy_theory.claims.test_shipped_rules import NO_REWARD, assert_same, draws, module

PLAIN = {"normalization": "token-mean"}
FAR, NEAR = {"rtol": 0, "atol": 1e-13}, {"rtol": 0, "atol": 1e-14}
"""Float64 rounds a difference of logits by 1.1e-16 of it, and a number made of them has such roundings
times probabilities and numbers below 1. Logits of the claims' instances are up to 107 apart, which is
1.2e-14: FAR is eight roundings. Those of standard deviation 2 are up to 16 apart, which is 1.8e-15: NEAR
is five. Roundings of sums, 1.1e-16 times a dozen actions, are below one of these."""
losses = module("extensions.loss_coefficient")
positives_only = module("later_work.entrocraft").positives_only
RELATIONS = {name: relation(kind()) for name, kind in RULES.items()}


def related(how):
    return [name for name, found in RELATIONS.items() if found == how]


def plain(name):
    """Options with which answers of one token count once each."""
    return PLAIN if "normalization" in RULES[name].__dataclass_fields__ else {}


def options_of(i):
    """The options that the claim's numbers are, for each loss that it names."""
    clip = {"clip_low": i.clip_low, "clip_high": i.clip_high}
    return {
        "grpo": clip, "cispo": clip, "topr": {}, "dro": {"beta": i.beta},
        "ce-gppo": {**clip, "beta_low": i.kept_low, "beta_high": i.kept_high, "dual_clip": None},
        "dppo": {"delta_low": i.delta, "delta_high": i.delta, "truncation": np.inf},
        "sapo": {"tau_positive": i.tau, "tau_negative": i.tau},
        "vespo": {f"{name}_{sign}": value for sign in ("positive", "negative")
                  for name, value in (("power", i.power), ("decay", i.decay))},
    }


def test_losses_of_the_ratio_have_the_claims_coefficients_off_policy():
    for where, i in draws("extensions.loss_on_policy", "loss_on_policy", size=20):
        old = i.logits - np.random.default_rng(0).normal(size=i.logits.shape)
        before = softmax(old)
        claimed = where.coefficients(i, softmax(i.logits), before)
        options = options_of(i)
        assert claimed.keys() == options.keys() <= set(related("same"))
        for name, coefficient in claimed.items():
            found = shipped_step(name, i.logits, NO_REWARD, old_logits=old, advantage=i.score,
                                 **options[name], **plain(name))
            weighted = before * coefficient
            assert_same(found, losses.score_step(i.logits, weighted), 8 + np.abs(weighted).max(axis=-1))


@pytest.mark.parametrize(("name", "slope", "options"), [
    ("reinforce", 0.0, {}), ("topr", 0.0, {}), ("grpo", 1.0, {}), ("sapo", 1.0, {}), ("cispo", 1.0, {}),
    ("vespo", 1.5, {"power_positive": 2.0, "decay_positive": 0.5})])
def test_a_loss_misses_the_policy_gradient_by_its_slope(name, slope, options):
    """To first order in a drift of at most 1.5e-4: what is left is of its square, times scores."""
    small = 1e-4
    for where, i in draws("extensions.loss_off_policy", "loss_off_policy", size=20):
        i.score, i.slope = np.abs(i.score), np.full(len(i.score), slope)
        after = i.logits + small * i.drift
        found = shipped_step(name, after, NO_REWARD, old_logits=i.logits, advantage=i.score,
                             **options, **plain(name)) - losses.expected_step(after, i.score)
        np.testing.assert_allclose(found, small * where._missed(i), atol=40 * small**2)
        assert slope == 1 or np.abs(found).max() > small / 20


@pytest.mark.parametrize("name", related("same"))
def test_a_rule_whose_coefficient_is_the_advantage_takes_plain_steps(name):
    for where, i in draws("extensions.loss_coefficient", "loss_coefficient", size=20):
        claimed = where.expected_step(i.logits, i.score)
        assert_same(shipped_step(name, i.logits, NO_REWARD, advantage=i.score, **plain(name)), claimed, 2)
        rate = entropy_change.first_order(i.logits, claimed)
        np.testing.assert_allclose(rate, -where.plain_covariance(i.logits, i.score), **FAR)


@pytest.mark.parametrize("name", related("line"))
def test_a_rule_that_judges_the_reward_alone_follows_positives(name):
    rng = np.random.default_rng(1)
    logits, right = rng.normal(size=(40, 6)), rng.random((40, 6)) < 0.5
    right[:, :2] = True, False
    step = tabular.logit_step(logits, tabular.exact_batch(logits, right.astype(float)), RULES[name]())
    line = positives_only(logits, right)
    factor = (step * line).sum(axis=-1, keepdims=True) / (line * line).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(step, factor * line, rtol=0, atol=ROUNDINGS * np.abs(step).max())
    assert factor.min() >= 0 < factor.max()


def test_a_baseline_drops_out_of_the_quantile_rule():
    for where, i in draws("later_work.quantile_baseline", "quantile_baseline"):
        claimed = losses.expected_step(i.logits, where.with_baseline(i.correct, i.baseline))
        size = np.linalg.norm(claimed, axis=-1, keepdims=True)
        mixed = size[:, 0] > 0.05
        for k in (0.2, 0.9):
            step = shipped_step("reinforce", i.logits, i.correct, estimator="quantile",
                                estimator_parameter=k, **PLAIN)[mixed]
            length = np.linalg.norm(step, axis=-1, keepdims=True)  # (The advantage is over a deviation.)
            # A step is off by p (1 - p) <= 1/4 of a rounding, and divided by .05 at least: five of these.
            np.testing.assert_allclose(step / length, claimed[mixed] / size[mixed], **FAR)
        given = where.with_baseline(i.correct, i.baseline)
        assert_same(shipped_step("reinforce", i.logits, NO_REWARD, advantage=given, **PLAIN), claimed, 2)


def test_the_estimate_of_steer_is_its_own_and_wrong_for_one_token_in_fifteen():
    where = module("later_work.steer")
    rng = np.random.default_rng(0)
    wrong, drawn = 0, 2_000
    for draw in range(drawn):
        logits = 2 * rng.normal(size=(1, rng.integers(3, 13)))
        estimate, change = where.estimate(logits)[0], -where.excess(logits)[0]
        wrong += softmax(logits)[0] @ (estimate * change < 0)
        if draw < 20:
            batch = tabular.exact_batch(logits, np.ones_like(logits))
            own = update_rules.get("steer").effect(batch, np.ones(batch.weight.shape))[:, 0]
            np.testing.assert_allclose(softmax(logits)[0] * own, np.abs(estimate), **NEAR)
            np.testing.assert_allclose(where.effect_of_sample(logits)[0], change, **NEAR)
    assert wrong / drawn == pytest.approx(0.067, abs=0.01)  # over 3 standard errors of the mean share


def test_repo_and_its_rescaled_form():
    for where, i in draws("later_work.repo", "repo", size=20):
        found = shipped_step("repo", i.logits, NO_REWARD, advantage=i.score, beta=i.strength)
        assert_same(found, where._repo_step(i), 4 * (1 + i.strength) * (1 + np.ptp(i.logits, axis=-1)))
    for where, i in draws("later_work.repo", "repo_rescaled", size=20):
        found = shipped_step("repo-r", i.logits, NO_REWARD, zeta=i.strength,
                             advantage=np.where(i.correct, 1.0, -1.0))
        signs = np.where(i.correct, 1, -1 + np.minimum(1, -i.strength[:, None] * log_softmax(i.logits)))
        advantage = np.where(
            i.correct, 1 - i.strength[:, None] * log_softmax(i.logits), signs)  # no sign turns over
        expected = where.expected_step(i.logits, advantage)
        assert_same(found, expected, 4 * (1 + i.strength) * (1 + np.ptp(i.logits, axis=-1)))


def test_the_lever_of_entropic():
    for where, i in draws("later_work.entropic", "entropic", size=20):
        signs, alpha = np.where(i.correct, 1.0, -1.0), 0.7
        steps = {threshold: shipped_step(
            "entropic", i.logits, NO_REWARD, advantage=signs, coefficient=alpha, target=None,
            threshold=limit, base=update_rules.get("reinforce", **PLAIN))
            for threshold, limit in (("none", 0.0), ("own", i.threshold))}
        base = losses.expected_step(i.logits, signs)
        assert_same(steps["none"], base, 4)
        assert_same(steps["own"], base + alpha * where._added(i), 4)


def test_the_weights_of_stare():
    """On a state of high surprisal for its right answers: the least likely ones count 1 + c."""
    logits = np.log([[0.02, 0.01, 0.05, 0.92]])
    right = np.array([[True, True, True, False]])
    where = module("later_work.stare")
    base = update_rules.get("reinforce", **PLAIN)
    for share, level in ((0.3, 0.015), (0.6, 0.03), (1.0, 0.1)):
        rule = {"share": share, "coefficient": 0.5, "target": 10.0, "base": base}
        added = (shipped_step("stare", logits, right, **rule)
                 - shipped_step("stare", logits, right, **rule | {"coefficient": 0.0}))
        i = SimpleNamespace(logits=logits, correct=right, level=np.array([level]))
        assert_same(added / 0.5, where._step(i), 4)
        assert entropy_change.first_order(logits, added)[0] > 0


def test_the_rank_of_unlikeliness():
    for where, i in draws("later_work.unlikeliness", "unlikeliness", size=20):
        distinct = i.logits + 1e-3 * np.arange(i.logits.shape[-1])
        for row, logits in zip(where.less_likely(distinct), distinct, strict=True):
            batch = tabular.exact_batch(logits[None], np.ones_like(logits)[None])
            np.testing.assert_allclose(rank(batch)[:, 0], row, **FAR)


def test_the_pull_of_lp_reg():
    """The rule adds to the rate of entropy what the claim has, of either sign."""
    where, rng = module("later_work.lp_reg"), np.random.default_rng(0)
    base, pulled = update_rules.get("reinforce", **PLAIN), []
    rule = update_rules.get("lp-reg", share=1.0, base=base)
    for floor in rng.uniform(size=20):
        logits, right = 2 * rng.normal(size=(1, 6)), np.arange(6)[None] == 0
        keep, mass = where.kept(logits, np.array([floor])), where.kept_mass(logits, np.array([floor]))
        batch = tabular.exact_batch(logits[:, None], right[:, None])
        proxy = np.where(keep, log_softmax(logits) - np.log(mass), -100.0)
        batch = batch.replace(
            reference_log_prob=proxy.reshape(batch.mask.shape),
            advantage=np.where(right, 1.0, -1.0).reshape(batch.mask.shape))
        added = (tabular.logit_step(logits[:, None], batch, rule)
                 - tabular.logit_step(logits[:, None], batch, base))[:, 0]
        held = where.held(logits, right, np.array([floor]), np.ones(1))
        claimed = (1 / mass - 1) * where.raised(logits, held)
        np.testing.assert_allclose(entropy_change.first_order(logits, added), claimed, **FAR)
        pulled.append(float(claimed[0]))
    assert min(pulled) < -0.01
    assert max(pulled) > 0.001


def test_hot_negatives_are_tempered_rows():
    for where, i in draws("later_work.scope_rl", "scope_rl_negatives"):
        step = shipped_step("reinforce", i.logits, np.where(i.correct, 0.0, -1.0),
                            temperature=i.temperature)
        claimed = where.rate_of_hot_negatives(i.logits, i.correct, i.temperature)
        np.testing.assert_allclose(entropy_change.first_order(i.logits, step), claimed, **FAR)
