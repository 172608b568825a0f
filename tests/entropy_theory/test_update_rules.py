"""Guards update_rules/ and advantages.py: the formulas, every rule on both backends, any batch cut."""

import functools
import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings

from entropy_theory import advantages, policy, tabular, update_rules
from entropy_theory.strategies import token_batches
from entropy_theory.targets import ShorterResponses
from entropy_theory.token_batch import TokenBatch, mean_entropy
from entropy_theory.update_rules.outputs import outputs
from entropy_theory.verification.rule_batches import converted, random_batch, to_torch
from entropy_theory.verification.rule_clauses import CLAUSES
from entropy_theory.verification.rule_contract import ACCURACY, check_rule
from tests.tolerances import FLOAT32, FLOAT64, SAME_STEP

TOKEN_MEAN = update_rules.get("grpo", normalization="token-mean")
VARIANTS = [
    ("reinforce", {}),
    ("reinforce", {"estimator": "leave-one-out"}),
    ("grpo", {}),
    ("grpo", {"normalization": "token-mean", "std_ddof": 1}),
    ("grpo", {"normalization": "dr-grpo", "clip_low": 0.05, "clip_high": 0.1}),
    ("aepo", {}),
    ("aepo", {"alpha": 0.3, "normalize": "positives"}),
    ("aepo", {"ablation": "advantage"}),
    ("aepo", {"ablation": "untempered", "base": "grpo"}),
    ("aepo", {"form": "code", "replaced_rows": 4, "base": TOKEN_MEAN}),
    ("aepo", {"towards": ShorterResponses(per_token=0.7), "control": "proportional"}),
    ("entropy-bonus", {"coefficient": 0.2}),
    ("entropy-bonus", {"prompt_gain": 1.5, "base": "aepo"}),
    ("diverse-bonus", {"coefficient": 0.2}),
    ("diverse-bonus", {"normalization": "sequence-mean", "base": "aepo", "positive_reward": 0.5}),
    ("diverse-bonus", {"normalization": "dr-grpo", "target": 0.6, "hold": "forecast"}),
    ("diverse-bonus", {"target": 0.6, "prompt_gain": 0.5}),
    ("grpo", {"estimator": "leave-one-out", "dual_clip": 1.2}),
    ("grpo", {"dynamic_sampling": True, "overlong_buffer": 2, "max_length": 5}),
    ("grpo", {"estimator": "reinforce++"}),
    ("grpo", {"estimator": "reinforce++-baseline", "dynamic_sampling": True}),
    ("gspo", {"clip_low": 0.1, "clip_high": 0.1}),
    ("clip-higher", {"normalization": "token-mean"}),
    ("entropy-advantage", {}),
    ("reference-kl", {}),
    ("reference-kl", {"estimator": "k3", "coefficient": 0.1, "base": "reinforce"}),
    ("reference-kl", {"estimator": "k3-corrected"}),
    ("reference-kl", {"estimator": "k1", "placement": "reward"}),
    ("clip-cov", {"ratio": 0.1, "lower": 0.05}),
    ("clip-cov", {"ratio": 0.2, "lower": -5, "cov_log_prob": "current", "base": "aepo"}),
    ("kl-cov", {"ratio": 0.1}),
    ("kl-cov", {"ratio": 0.2, "penalty": "k3", "base": "entropy-advantage"}),
    ("aent", {}),
    ("aent", {"prompt_gain": 0.2}),
    ("aent", {"adaptive": False, "base": "clip-higher", "removed_fraction": 0.2}),
]


KNOWN = {("clip-cov", "prepared once")}
"""It selects among the tokens that are not clipped when it is prepared, as clip_cov.py says."""


@functools.cache
def drawn_batches():
    """A large batch and what Hypothesis draws: ties, tokens of probability near 0 and 1."""
    found = []

    @settings(max_examples=4, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
    @given(token_batches(second_batch=True, prompts=(2, 3), group_size=(2, 3)))
    def draw(batch):
        found.append(batch)

    draw()
    return random_batch(1), *found


def broken_clauses(rule):
    """Every clause, on a large batch and on the first that Hypothesis drew."""
    return {clause.name: violation for clause in CLAUSES if not clause.skip_reason(rule)
            for batch in drawn_batches()[:4]
            if (violation := clause.broken(rule, batch, ACCURACY))}


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_every_rule_keeps_the_contract(name, options):
    """Any cut and order, padding, empty rows, torch, float32, ...: see rule_contract.py."""
    broken = broken_clauses(update_rules.get(name, **options))
    assert {c: violation for c, violation in broken.items() if (name, c) not in KNOWN} == {}


LAYOUTS = {
    "Fortran order": np.asfortranarray,
    "backwards in memory": lambda c: np.ascontiguousarray(c[..., ::-1, ::-1])[..., ::-1, ::-1],
    "torch, transposed": lambda c: torch.tensor(np.ascontiguousarray(c.T)).T,
}


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_memory_order_changes_nothing_and_single_precision_rounds(name, options):
    rule = update_rules.get(name, **options)
    batch = random_batch(70)
    ours = outputs(rule, batch, metrics=True)
    for layout in LAYOUTS.values():
        for key, value in outputs(rule, converted(batch, layout), metrics=True).items():
            # Sums over another axis first: some dozens of terms of order 1, 1e-14 where they cancel.
            np.testing.assert_allclose(value, ours[key], rtol=1e-12, atol=1e-14, err_msg=key)
    single = converted(random_batch(71), lambda c: c.astype(np.float32) if c.dtype == np.float64 else c)
    double = converted(single, lambda c: c.astype(np.float64) if c.dtype == np.float32 else c)
    exact = outputs(rule, double, metrics=True)
    for rounded in (single, to_torch(single)):
        for key, value in outputs(rule, rounded, metrics=True).items():
            # Ratios of log-probabilities of a few nats, and sums over two dozen rows, each rounded.
            accuracy = 200 * FLOAT32
            np.testing.assert_allclose(value, exact[key], rtol=accuracy, err_msg=key,
                                       atol=accuracy * max(np.max(np.abs(exact[key])), 1))
    runs = [random_batch(seed) for seed in (72, 73)]
    both = runs[0].replace(**{key: np.stack([column, dict(runs[1]._columns())[key]])
                              for key, column in runs[0]._columns()})
    for key, value in rule.metrics(both).items():  # One number a run: no sum or maximum is over runs.
        apart = [float(rule.metrics(run)[key]) for run in runs]
        np.testing.assert_allclose(value, apart, rtol=1e-12, err_msg=key)


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_small_scores_are_as_accurate_as_large_ones(name, options):
    """On torch, in another cut and order, on a leading axis; the contract looks at the largest alone."""
    rule = update_rules.get(name, **options)
    # Sums over two dozen rows in another order: a few hundred roundings of 2e-16, relative.
    same = {"rtol": 1e-12, "atol": 0}
    batch, other = random_batch(), random_batch(1)
    ours, whole = outputs(rule, batch, metrics=True), outputs(rule, other, metrics=True)
    for key, value in outputs(rule, to_torch(batch), metrics=True).items():
        np.testing.assert_allclose(value, ours[key], **same, err_msg=key)
    order = np.random.default_rng(2).permutation(other.mask.shape[-2])
    shuffled = rule.prepare(other.take_sequences(order))
    pieces = [rule.scores(shuffled.take_sequences(slice(k, k + 5))) for k in range(0, 24, 5)]
    np.testing.assert_allclose(np.concatenate(pieces)[np.argsort(order)], whole["scores"], **same)
    columns = dict(other._columns())
    both = batch.replace(**{key: np.stack([column, columns[key]]) for key, column in batch._columns()})
    for together, apart in zip(rule.scores(both), (ours, whole), strict=True):
        np.testing.assert_allclose(together, apart["scores"], **same)


def test_a_sum_of_rules_keeps_the_contract():
    get = update_rules.get
    broken = broken_clauses(update_rules.combine(
        get("aepo"), get("clip-cov", ratio=0.2, lower=-5.0), get("entropy-bonus", coefficient=0.2)))
    assert broken.keys() <= {"prepared once"}


@pytest.mark.parametrize("rule", [
    update_rules.get("natural-gradient"), update_rules.get("grpo", group_size=4),
    update_rules.get("aepo", base=update_rules.get("grpo", group_size=4)),
], ids=lambda rule: rule.name)
def test_rules_of_listings_keep_the_contract(rule):
    found = check_rule(rule, repeats=1)
    assert {f.clause.name: f.detail for f in found if f.outcome == "broken"} == {}
    assert {f.clause.name for f in found if f.outcome == "skipped"} <= {"empty rows", "pooling"}


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_a_rule_is_a_function_of_arrays_where_values_are_vouched_for(name, options):
    """`torch.func.vmap` refuses what looks at a value, as a tracer and `jax.jit` do."""
    rule = update_rules.get(name, **options)
    runs = [to_torch(random_batch(seed)) for seed in (3, 4)]
    runs = [run.replace(clamped_entropy=run.entropy, sampling_log_prob=run.old_log_prob) for run in runs]
    names = [key for key, column in runs[0]._columns() if column.is_floating_point()]
    mask = runs[0].mask

    def scores(*columns):
        given = runs[0].replace(**dict(zip(names, columns, strict=True)), checked=True)
        return rule.scores(given), rule.state_terms(given)

    both = [torch.stack([getattr(run, key) for run in runs]) for key in names]
    found, terms = torch.func.vmap(scores)(*both)
    for k, run in enumerate(runs):
        alone = runs[0].replace(**{key: getattr(run, key) for key in names}, mask=mask)
        torch.testing.assert_close(found[k], rule.scores(alone), rtol=1e-12, atol=1e-14)
        for key, term in rule.state_terms(alone).items():
            torch.testing.assert_close(terms[key][k], term, rtol=1e-12, atol=1e-14)


def test_mean_entropy_does_not_depend_on_the_order_of_rows():
    batch = random_batch(1)
    shuffled = batch.take_sequences(np.random.default_rng(0).permutation(24))
    # Two dozen terms of one sign, added in another order.
    assert mean_entropy(shuffled) == pytest.approx(mean_entropy(batch), rel=1e-12)


def test_grpo_by_hand():
    """Two prompts, groups of two; the ratio 1.5 is clipped where it rises and kept where it falls."""
    reward = np.array([1.0, 0.0, 1.0, 1.0])[:, None] * np.ones((4, 2))
    mask = np.array([[True, True], [True, False], [True, True], [True, True]])
    log_prob = np.log(np.array([[1.5, 1.0], [1.5, 1.0], [1.0, 1.0], [1.0, 1.0]]))
    batch = TokenBatch(
        log_prob=log_prob,
        old_log_prob=np.zeros((4, 2)),
        reward=reward,
        mask=mask,
        weight=np.where(mask, 1 / 7, 0.0),
        group=np.array([[0, 0], [0, 0], [1, 1], [1, 1]]),
    )
    # Advantages +1, -1 and, in the group without signal, 0; factor N / (B L) = 7 / (4 L).
    expected = np.array([[0, 7 / 8], [-1.5 * 7 / 4, 0], [0, 0], [0, 0]])
    rule = update_rules.get("grpo")
    np.testing.assert_allclose(rule.scores(batch), expected, rtol=4 * FLOAT64)
    metrics = rule.metrics(batch)
    assert metrics["groups_without_signal"] == pytest.approx(0.5)
    assert metrics["clipped_fraction"] == pytest.approx(1 / 7)


@pytest.mark.parametrize("bound", [1.2, 1.28, 0.8, 0.73])
def test_a_ratio_exactly_at_the_bound_counts_as_unclipped(bound):
    """exp(log r) may miss r by a rounding, on either side."""
    one = np.ones((1, 1))
    advantage = one if bound > 1 else -one
    batch = TokenBatch(
        log_prob=np.log(one * bound),
        old_log_prob=0 * one,
        reward=one,
        mask=one > 0,
        weight=one,
        advantage=advantage,
    )
    epsilon = abs(bound - 1)
    at_bound = update_rules.get("grpo", clip_low=epsilon, clip_high=epsilon)
    assert at_bound.scores(batch)[0, 0] == pytest.approx(advantage[0, 0] * bound)
    tighter = update_rules.get("grpo", clip_low=epsilon - 1e-5, clip_high=epsilon - 1e-5)
    assert tighter.scores(batch)[0, 0] == 0


@pytest.mark.parametrize("ddof", [0, 1])
def test_expected_grpo_step_matches_enumeration_of_all_groups(ddof):
    """E = kappa(p) grad p: every ordered group of 3 samples of 3 actions, by brute force."""
    logits = np.log(np.array([[1.0, 2.0, 5.0]]))
    reward = np.array([[1.0, 0.0, 1.0]])
    probabilities = policy.softmax(logits)[0]
    expected = np.zeros(3)
    for group in itertools.product(range(3), repeat=3):
        rewards = reward[0, list(group)]
        deviation = rewards.std(ddof=ddof)
        if deviation == 0:
            continue
        chance = probabilities[list(group)].prod()
        for action, r in zip(group, rewards, strict=True):
            gradient = -probabilities.copy()
            gradient[action] += 1
            expected += chance * (r - rewards.mean()) / deviation * gradient / 3
    rule = update_rules.get("grpo", group_size=3, std_ddof=ddof)
    step = tabular.logit_step(logits, tabular.exact_batch(logits, reward), rule)
    np.testing.assert_allclose(step[0], expected, atol=16 * FLOAT64, rtol=0)


@pytest.mark.parametrize("p", [1e-12, 1 - 1e-12])
def test_kappa_tends_to_the_root_of_group_size_minus_one(p):
    weight = np.array([[p], [1 - p]])
    ones = np.ones((2, 1))
    batch = TokenBatch(
        log_prob=np.log(weight), old_log_prob=np.log(weight), mask=ones > 0, weight=weight,
        reward=np.array([[1.0], [0.0]]),
    )
    value = advantages.expected_group_normalized(batch, batch.mask, group_size=8)
    kappa = value[0, 0] - value[1, 0]
    assert kappa == pytest.approx(math.sqrt(7), rel=1e-10)


def test_aepo_without_alpha_is_grpo_and_ordinary_rows_ignore_the_second_batch():
    batch = random_batch(6)
    ordinary = random_batch(6).take_sequences(slice(0, 12))
    grpo = update_rules.get("grpo").scores(ordinary)
    for alpha in (0.0, 2.0):
        scores = update_rules.get("aepo", alpha=alpha).scores(batch)
        np.testing.assert_allclose(scores[:12], grpo, rtol=1e-13)
        assert (np.abs(scores[12:]).sum() > 0) == (alpha > 0)


def test_aepo_second_batch_by_hand():
    """alpha N/(B L) r R, clipped from above only: a right answer is never pushed down."""
    batch = random_batch(7)
    alpha = 0.6
    scores = update_rules.get("aepo", alpha=alpha).scores(batch)[12:]
    rows = batch.take_sequences(slice(12, 24))
    ratio = np.exp(rows.log_prob - rows.old_log_prob)
    length = rows.mask.sum(-1, keepdims=True)
    factor = rows.mask.sum() / (12 * length)
    expected = alpha * factor * ratio * rows.reward * (ratio <= 1.2) * rows.mask
    np.testing.assert_allclose(scores, expected, rtol=1e-12)
    assert (scores >= 0).all()


def test_aepo_per_positive_normalization_divides_by_their_share():
    batch = random_batch(8)
    rule = update_rules.get("aepo", normalize="positives")
    share = float(rule.metrics(batch)["tempered_positive_share"])
    by_samples = update_rules.get("aepo").scores(batch)[12:]
    np.testing.assert_allclose(rule.scores(batch)[12:] * share, by_samples, rtol=1e-12)


def test_aepo_survives_a_second_batch_without_positives():
    batch = random_batch(9)
    batch = batch.replace(reward=np.where(batch.tempered, 0.0, batch.reward))
    for normalize in ("samples", "positives"):
        rule = update_rules.get("aepo", normalize=normalize)
        assert (rule.scores(batch)[12:] == 0).all()
        assert rule.metrics(batch)["tempered_positive_share"] == 0


def test_aepo_ablations_are_what_table_3_prints():
    """Eq. 2 draws the second batch at T = 1; Eq. 3 puts the group advantage in place of R."""
    untempered = update_rules.get("aepo", ablation="untempered").controller()
    assert untempered.observe(np.array(0.1)) == 1.0
    batch = random_batch(10)
    scores = update_rules.get("aepo", alpha=1.0, ablation="advantage").scores(batch)[12:]
    grpo = update_rules.get("grpo").scores(batch.take_sequences(slice(12, 24)))
    np.testing.assert_allclose(scores, grpo, rtol=1e-12)


def test_entropy_bonus_adds_its_term_on_ordinary_rows_only():
    batch = random_batch(11)
    rule = update_rules.get("entropy-bonus", coefficient=0.2)
    term = rule.state_terms(batch)["entropy"]
    length = batch.mask.sum(-1, keepdims=True)[:12]
    expected = 0.2 * batch.mask[:12].sum() / (12 * length) * np.ones((12, 5))
    np.testing.assert_allclose(term[:12][batch.mask[:12]], expected[batch.mask[:12]], rtol=1e-12)
    assert (term[12:] == 0).all()


def test_combine_adds_and_one_rule_reduces_to_itself():
    batch = random_batch(12)
    grpo, reinforce = update_rules.get("grpo"), update_rules.get("reinforce")
    alone = update_rules.combine(grpo).scores(batch)
    np.testing.assert_array_equal(alone, grpo.scores(batch))
    both = update_rules.combine(grpo, reinforce, grpo).scores(batch)
    np.testing.assert_allclose(both, 2 * grpo.scores(batch) + reinforce.scores(batch), rtol=1e-12)
    with pytest.raises(ValueError, match="at most one"):
        update_rules.combine(update_rules.get("aepo"), update_rules.get("aepo"))
    with pytest.raises(ValueError, match="at least one"):
        update_rules.combine()


def test_exact_steps_of_a_symmetric_reward_are_policy_gradients():
    """REINFORCE's exact step is pi (R - J); GRPO's over an infinite group divides it by the std."""
    rng = np.random.default_rng(13)
    logits = rng.normal(size=(1, 6))
    reward = (rng.random((1, 6)) < 0.5).astype(float)
    probabilities = policy.softmax(logits)
    mean = (probabilities * reward).sum()
    gradient = probabilities * (reward - mean)
    batch = tabular.exact_batch(logits, reward)
    step = tabular.logit_step(logits, batch, update_rules.get("reinforce"))
    np.testing.assert_allclose(step, gradient, atol=SAME_STEP, rtol=0)
    step = tabular.logit_step(logits, batch, update_rules.get("grpo"))
    np.testing.assert_allclose(
        step, gradient / math.sqrt(mean * (1 - mean)), atol=SAME_STEP, rtol=0
    )


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("grppo", {}, "did you mean grpo"),
        ("grpo", {"clip_hihg": 0.1}, "did you mean clip_high"),
        ("grpo", {"normalization": "mean"}, "unknown normalization"),
        ("reinforce", {"normalization": "mean"}, "unknown normalization"),
        ("reinforce", {"estimator": "rlo"}, "unknown advantage estimator"),
        ("aepo", {"temperature_high": 0.5}, "above temperature_high"),
        ("aepo", {"normalize": "rows"}, "unknown normalize"),
        ("aepo", {"ablation": "no"}, "unknown ablation"),
        ("aepo", {"control": "pid"}, "unknown control"),
        ("aepo", {"form": "cod"}, "unknown form"),
        ("aepo", {"form": "code", "ablation": "advantage"}, "belongs to form"),
        ("aepo", {"form": "code"}, "averages over tokens"),
        ("aepo", {"towards": "shorter"}, "must be a target"),
        ("clip-cov", {"base": update_rules.get("clip-cov")}, "modifies itself"),
        ("aepo", {"base": update_rules.get("aent", base="aepo")}, "modifies itself"),
        ("aepo", {"base": "gropo"}, "did you mean grpo"),
        ("grpo", {"overlong_buffer": 2}, "needs max_length"),
        ("grpo", {"group_size": 4, "dynamic_sampling": True}, "exact expectation"),
        ("reference-kl", {"estimator": "k1"}, "penalizes nothing"),
        ("reference-kl", {"placement": "reward"}, "does not estimate"),
        ("reference-kl", {"estimator": "k4"}, "unknown estimator"),
        ("clip-cov", {"cov_log_prob": "new"}, "unknown cov_log_prob"),
        ("kl-cov", {"penalty": "k1"}, "unknown penalty"),
        ("clip-cov", {"base": 3}, "must be an update rule"),
        ("aepo", {"target": "0.5"}, "target must be a number, got '0.5'"),
        ("aepo", {"alpha": "1"}, "alpha must be a number, got '1'"),
        ("entropy-bonus", {"target": "low"}, "target must be a number or None, got 'low'"),
        ("aent", {"warm_up_steps": "3"}, "warm_up_steps must be a whole number, got '3'"),
        ("grpo", {"dynamic_sampling": "no"}, "dynamic_sampling must be true or false, got 'no'"),
    ],
)
def test_bad_options_are_named(name, options, message):
    with pytest.raises(ValueError, match=message):
        update_rules.get(name, **options)


def test_bad_batches_are_named():
    batch = random_batch(14, second_batch=False)
    grpo = update_rules.get("grpo")
    with pytest.raises(ValueError, match="column 'reward'"):
        grpo.prepare(batch.replace(reward=batch.reward * np.nan))
    with pytest.raises(ValueError, match="column 'log_prob'"):
        grpo.prepare(batch.replace(log_prob=batch.log_prob + np.inf))
    with pytest.raises(ValueError, match="'mask' must be boolean"):
        batch.replace(mask=batch.mask.astype(int))
    with pytest.raises(ValueError, match="column 'advantage'"):
        grpo.prepare(batch.replace(advantage=batch.reward * np.nan))
    with pytest.raises(ValueError, match="brings its own 'advantage'"):
        update_rules.get("reference-kl", estimator="k1", placement="reward").prepare(
            batch.replace(advantage=batch.reward))
    with pytest.raises(ValueError, match="at least two sequences"):
        lonely = batch.replace(group=np.arange(12)[:, None] * np.ones((12, 5), dtype=int))
        update_rules.get("reinforce", estimator="leave-one-out").prepare(lonely)


def test_a_row_that_is_all_padding_does_not_touch_its_group():
    """Distributed batches are padded with empty rows; 0 x NaN is NaN."""
    batch = random_batch(15, second_batch=False)
    mask = batch.mask.copy()
    mask[3] = False
    batch = batch.replace(mask=mask, weight=np.where(mask, 1 / mask.sum(), 0.0))
    poisoned = batch.replace(reward=np.where(mask, batch.reward, np.nan))
    for name, options in VARIANTS[2:5] + VARIANTS[12:16]:
        rule = update_rules.get(name, **options)
        np.testing.assert_array_equal(rule.scores(poisoned), rule.scores(batch))


def test_a_ratio_that_overflows_gives_no_nan():
    """exp(800) is inf, and 0 x inf, clipped or with an advantage of 0, is NaN."""
    one = np.ones((2, 1))
    batch = TokenBatch(log_prob=-one * 1e-9, old_log_prob=-800 * one, mask=one > 0, weight=one / 2,
                       reward=np.array([[1.0], [0.0]]), advantage=one,
                       sampling_temperature=np.array([[1.0], [1.2]]))
    assert (update_rules.get("aepo").scores(batch) == 0).all()
    assert np.isfinite(update_rules.get("aepo").scores(to_torch(batch)).numpy()).all()


def test_a_ratio_that_underflows_gives_no_nan():
    """exp(-800) is 0, and what is clipped must not be divided by it."""
    one = np.ones((2, 1))
    batch = TokenBatch(log_prob=-800 * one, old_log_prob=-one, mask=one > 0, weight=one / 2,
                       reward=np.array([[1.0], [0.0]]), advantage=-one)
    assert (update_rules.get("grpo").scores(batch) == 0).all()


def test_the_entropy_bonus_keeps_the_second_batch_of_its_base():
    rule = update_rules.get("entropy-bonus", base="aepo")
    assert rule.controller() == update_rules.get("aepo").controller()


def test_the_advantage_ablation_uses_the_advantage_of_its_base():
    """At T = 1 both batches of an exact listing are the same rows: so are their scores."""
    logits, reward = np.array([[0.0, 1.0, 2.0, 0.0]]), np.array([[1.0, 0.0, 0.0, 1.0]])
    base = update_rules.get("grpo", group_size=8)
    rule = update_rules.get("aepo", ablation="advantage", base=base)
    scores = rule.scores(tabular.exact_batch(logits, reward, temperature=1.0))
    np.testing.assert_allclose(scores[4:], scores[:4], rtol=1e-13)


@pytest.mark.parametrize(
    ("name", "options"), [("reinforce", {"estimator": "leave-one-out"}), ("grpo", {"std_ddof": 1})]
)
def test_estimators_that_count_rows_refuse_an_exact_listing(name, options):
    """Rows of a listing carry probabilities: their number is no group size."""
    batch = tabular.listing(np.array([[0.0, 1.0, 2.0]]), np.array([[1.0, 0.0, 1.0]]))
    with pytest.raises(ValueError, match="equally weighted"):
        update_rules.get(name, **options).prepare(batch)


def test_a_rule_that_needs_every_action_refuses_samples():
    rule = update_rules.get("natural-gradient")
    logits, reward = np.log([[1.0, 2.0, 5.0]]), np.array([[1.0, 0.0, 0.5]])
    listed = tabular.exact_batch(logits, reward)
    # A gradient preconditioned by the inverse Fisher matrix: A minus its mean over actions.
    np.testing.assert_allclose(tabular.logit_step(logits, listed, rule),
                               reward - reward.mean(), atol=8 * FLOAT64)
    for rows in (np.array([0, 1, 1, 2]), np.array([0, 2])):
        with pytest.raises(ValueError, match="every action of each state"):
            rule.prepare(listed.take_sequences(rows))
    with pytest.raises(ValueError, match="'state'"):
        rule.prepare(random_batch(second_batch=False))


def test_natural_gradient_survives_actions_of_no_probability():
    logits, reward = np.array([[0.0, -800.0, -1.0]]), np.array([[0.0, 1.0, 1.0]])
    step = tabular.logit_step(logits, tabular.exact_batch(logits, reward),
                              update_rules.get("natural-gradient"))
    # The action that cannot move takes no part in the mean: the other two move apart, by 1.
    np.testing.assert_allclose(step, [[-0.5, 0.0, 0.5]], atol=8 * FLOAT64)


def test_natural_gradient_keeps_the_odds_of_right_answers_after_the_wrong_ones_are_gone():
    logits = np.array([[1.0, 0.0, -800.0, -900.0]])
    batch = tabular.exact_batch(logits, np.array([[1.0, 1.0, 0.0, 0.0]]))
    step = tabular.logit_step(logits, batch, update_rules.get("natural-gradient"))
    assert abs(step[0, 0] - step[0, 1]) < 8 * FLOAT64
