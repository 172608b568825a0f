"""Guards what every rule makes of a bad batch: the table in the docstring of token_batch.py."""

import dataclasses

import numpy as np
import pytest
import torch

from entropy_theory import advantages, tabular, update_rules
from entropy_theory.token_batch import (
    OPTIONAL_COLUMNS,
    REQUIRED_COLUMNS,
    TokenBatch,
    concatenate,
    sequence_value,
)
from entropy_theory.token_tree import TokenTree
from entropy_theory.verification.rule_batches import converted, random_batch, to_torch
from tests.entropy_theory.test_update_rules import VARIANTS

EVERY_RULE = pytest.mark.parametrize(("name", "options"), VARIANTS)
OF_AEPO = [v for v in VARIANTS if v[0] == "aepo" or "aepo" in v[1].values()]
PER_TOKEN = [v for v in VARIANTS if v == ("reinforce", {}) or v[1].get("base") == "reinforce"]
"""Rules for which rewards may differ by token, and which have no baseline."""


def every_column(seed=0):
    batch = random_batch(seed)
    column = np.zeros(batch.mask.shape)
    return batch.replace(
        advantage=column, clamped_entropy=column, sampling_log_prob=batch.old_log_prob,
        coefficient=column, target_offset=column, state=column.astype(int), action=column.astype(int),
    )


# ------------------------------------------------------------------ shapes and missing columns


@pytest.mark.parametrize("name", REQUIRED_COLUMNS[1:] + OPTIONAL_COLUMNS)
def test_a_column_of_another_shape_is_named_with_both_shapes(name):
    batch = every_column()
    for change in (lambda c: c[:, :4], lambda c: c[:-1], lambda c: c[None], lambda c: c[0]):
        wrong = change(getattr(batch, name))
        with pytest.raises(ValueError, match=rf"column '{name}' has shape .*'log_prob' has \(24, 5\)"):
            batch.replace(**{name: wrong})
        with pytest.raises(ValueError, match=rf"column '{name}' has shape"):
            dataclasses.replace(batch, **{name: wrong})


@pytest.mark.parametrize("convert", [lambda batch: batch, to_torch], ids=["numpy", "torch"])
def test_batches_of_other_shapes_or_columns_are_not_joined(convert):
    batch = convert(random_batch())
    wider = convert(random_batch(positions=6))
    with pytest.raises(ValueError, match=r"shapes \(24, 5\), \(24, 6\) cannot be joined: .*pad"):
        concatenate([batch, wider])
    with pytest.raises(ValueError, match="'entropy' is present in some"):
        concatenate([batch, batch.replace(entropy=None)])
    fewer = concatenate([batch, batch.take_sequences(slice(0, 3))])
    assert tuple(fewer.mask.shape) == (27, 5)
    assert not concatenate([batch.replace(listed=True), batch]).listed


@pytest.mark.parametrize("name", REQUIRED_COLUMNS)
def test_a_missing_required_column_is_named(name):
    columns = {n: getattr(random_batch(), n) for n in REQUIRED_COLUMNS}
    with pytest.raises(ValueError, match=f"needs the column '{name}', got None"):
        TokenBatch(**{**columns, name: None})
    with pytest.raises(ValueError, match=f"needs the column '{name}', got None"):
        TokenBatch(**columns).replace(**{name: None})
    columns.pop(name)
    with pytest.raises(TypeError, match=name):
        TokenBatch(**columns)


def test_a_prepared_column_of_another_shape_is_named_where_it_takes_anothers_place():
    batch = random_batch().with_prepared(mine=np.zeros((24, 5)))
    with pytest.raises(ValueError, match=r"column 'mine' has shape \(24, 1\)"):
        batch.with_prepared(mine=np.zeros((24, 1)))


@pytest.mark.parametrize("rule", [
    update_rules.get("aepo", base="entropy-advantage"), update_rules.get("reference-kl"),
    update_rules.get("clip-cov", covariance="network"),
    update_rules.combine(update_rules.get("grpo"), update_rules.get("aent", prompt_gain=1.0)),
], ids=lambda rule: rule.name)
def test_a_missing_column_and_an_empty_mask_are_named_in_any_part_and_run(rule):
    batch = random_batch()
    assert rule.needs.columns
    for column in rule.needs.columns:
        with pytest.raises(ValueError, match=f"needs the column '{column}'"):
            rule.prepare(batch.replace(**{column: None}))
    two = batch.replace(**{k: np.stack([c, c]) for k, c in batch._columns()})
    half = two.mask.copy()
    half[1] = False
    for empty in (batch.replace(mask=batch.mask & False), two.replace(mask=half)):
        with pytest.raises(ValueError, match="mask is False everywhere"):
            rule.prepare(empty)

# ------------------------------------------------------------------ rewards


@EVERY_RULE
def test_rewards_that_vary_within_a_sequence_are_refused_where_one_is_needed(name, options):
    rule = update_rules.get(name, **options)
    batch = random_batch(17)
    reward = batch.reward.copy()
    for row in (int(np.flatnonzero(batch.mask[:12].sum(1) > 2)[0]),
                12 + int(np.flatnonzero(batch.mask[12:].sum(1) > 2)[0])):
        varied = reward.copy()
        varied[row, 2] += 0.5
        varied = batch.replace(reward=varied)
        if (name, options) in PER_TOKEN:
            assert (rule.scores(varied) != rule.scores(batch)).sum() == 1
            np.testing.assert_allclose(rule.advantages(varied)[row, 2], reward[row, 2] + 0.5)
            continue
        for cut in (varied, to_torch(varied)):
            with pytest.raises(ValueError, match="'reward' varies within a sequence"):
                rule.prepare(cut)


def test_a_prompt_that_varies_within_a_sequence_is_refused():
    batch = random_batch(17)
    group = batch.group.copy()
    group[int(np.flatnonzero(batch.mask.sum(1) > 1)[0]), 1] += 1
    with pytest.raises(ValueError, match="'group' varies within a sequence"):
        update_rules.get("grpo").prepare(batch.replace(group=group))


def test_an_own_advantage_column_may_differ_by_token_and_so_may_the_reward_beside_it():
    batch = random_batch(18, second_batch=False)
    advantage = np.random.default_rng(0).normal(size=batch.mask.shape)
    batch = batch.replace(reward=advantage, advantage=advantage)
    scores = update_rules.get("grpo").scores(batch)
    assert "groups_without_signal" not in update_rules.get("grpo").metrics(batch)
    assert (np.sign(scores) * np.sign(advantage) >= 0).all()
    assert (scores != 0).any()


@pytest.mark.parametrize(("name", "options"), [v for v in VARIANTS if v not in PER_TOKEN])
def test_rewards_that_rounding_tells_apart_are_equal(name, options):
    """As of reward functions added in float32: divided by a deviation of one ulp, last digits would be
    a full step in a random direction. float32 rounding does not go away in a float64 batch."""
    number = VARIANTS.index((name, options))
    scale, dtype = (1e-3, 1.0, -100.0)[number % 3], (torch.float64, torch.float32)[number % 2]
    rule = update_rules.get(name, **options)
    batch = random_batch(19, group_size=7, second_batch=rule.controller() is not None)
    if "overlong_buffer" in options:
        rule = dataclasses.replace(rule, max_length=99)
    value = np.float32(0.7 * scale)
    rows = np.arange(len(batch.reward))[:, None] % 2
    reward = np.where(rows, value, np.nextafter(value, np.float32(np.inf)))
    reward = np.where(batch.tempered, batch.reward, reward)
    if name == "diverse-bonus":
        batch = batch.replace(old_log_prob=0 * batch.log_prob)
    batch = to_torch(batch.replace(reward=reward, log_prob=batch.old_log_prob,
                                   reference_log_prob=batch.old_log_prob))
    batch = converted(batch, lambda c: c.to(dtype) if c.is_floating_point() else c)
    scores = torch.where(batch.tempered, 0.0, rule.scores(batch))
    assert (scores == 0).all()
    if "groups_without_signal" in rule.metrics(batch):
        assert rule.metrics(batch)["groups_without_signal"] == pytest.approx(1)
    ordinary = batch.is_ordinary
    assert advantages.equal_reward_groups(batch, ordinary) == pytest.approx(1)
    assert (advantages.without_signal(batch, ordinary) == ordinary).all()


@pytest.mark.parametrize("estimator", [e for e in advantages.ESTIMATORS if e != "reward"])
@pytest.mark.parametrize("rewards", [(0.1, 0.2), (1.0, 1.00001), (1e-9, 2e-9), (0.0, 1e-12), (-1.0, 1.0)])
def test_rewards_that_differ_are_a_signal_however_small(estimator, rewards):
    """An absolute tolerance would silence small rewards."""
    batch = random_batch(19, group_size=6, second_batch=False)
    rows = np.arange(len(batch.reward))[:, None] % 2
    reward = np.where(rows, *rewards) * np.ones(batch.mask.shape)
    batch = batch.replace(reward=reward)
    found = advantages.ESTIMATORS[estimator](batch, batch.mask)
    assert (np.sign(found) == np.sign(reward - np.mean(rewards)))[batch.mask].all()
    assert advantages.equal_reward_groups(batch, batch.mask) == 0


@pytest.mark.parametrize(("name", "options"), OF_AEPO)
@pytest.mark.parametrize("missing", ["right answers", "rows"])
def test_a_second_batch_without_right_answers_or_rows_is_a_step_of_the_base_rule(
    name, options, missing
):
    rule = update_rules.get(name, **options)
    batch = random_batch(20)
    if missing == "rows":
        batch = batch.take_sequences(slice(0, 12))
    batch = batch.replace(reward=np.where(batch.tempered, 0.0, batch.reward))
    metrics = rule.metrics(batch)
    assert metrics["tempered_positive_share"] == 0
    assert metrics["tempered_sequences"] == (0 if missing == "rows" else 12)
    scores = rule.scores(batch)
    assert (scores[12:] == 0).all()
    without = {k: v for k, v in options.items() if k != "base"}
    plain = rule.base
    if name in ("clip-cov", "diverse-bonus"):  # whose base has the second batch
        plain = update_rules.get(name, **without, base="grpo")
    ordinary = batch.take_sequences(slice(0, 12))
    # Group sums in another order: a few roundings of terms of order 1.
    np.testing.assert_allclose(scores[:12], plain.scores(ordinary), rtol=1e-12)
    assert (scores[:12] != 0).any()
    assert rule.metrics(random_batch(20))["tempered_sequences"] == 12


# ------------------------------------------------------------------ samples in place of a listing


LISTING_ONLY = [
    update_rules.get("natural-gradient"),
    update_rules.get("grpo", group_size=4),
    update_rules.get("aepo", base=update_rules.get("grpo", group_size=4)),
    update_rules.get("aepo", base=update_rules.get("grpo", group_size=4), ablation="advantage"),
    update_rules.get("entropy-advantage", base=update_rules.get("grpo", group_size=4)),
    update_rules.get("kl-cov", base=update_rules.get("clip-higher", group_size=4)),
    update_rules.combine(update_rules.get("reinforce"), update_rules.get("gspo", group_size=4)),
]


@pytest.mark.parametrize("rule", LISTING_ONLY, ids=lambda rule: rule.name)
@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_rules_that_need_every_answer_take_listings_and_refuse_samples(rule, backend):
    logits = np.log([[[1.0, 2.0, 5.0], [1.0, 1.0, 2.0]], [[3.0, 1.0, 1.0], [1.0, 1.0, 1.0]]])
    reward = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    listed = tabular.exact_batch(logits, reward, temperature=1.3)
    listed = to_torch(listed) if backend == "torch" else listed
    assert rule.needs.listing
    assert bool((rule.scores(listed) != 0).any())
    for rows in ([0, 1, 1, 2, 3, 4, 5], [0, 2, 3, 4, 5], [0, 1, 2]):
        rows = [*rows, *range(6, 12)]
        cut = listed.take_sequences(rows)
        equal = cut.replace(weight=0 * cut.weight + 1 / len(rows))
        for samples in (cut, equal) if len(rows) != 9 else (equal,):
            with pytest.raises(ValueError, match=r"samples|every action of each state"):
                rule.prepare(samples)


def test_sampled_responses_are_refused_and_a_listed_tree_is_not():
    rule = update_rules.get("grpo", group_size=4)
    with pytest.raises(ValueError, match="leave group_size None"):
        rule.prepare(random_batch(second_batch=False))
    tree = TokenTree(2, 3)
    logits = np.random.default_rng(0).normal(size=(tree.n_states, 2))
    reward = np.arange(tree.n_responses) % 3 == 0
    for temperature in (None, 0.7):
        rule.prepare(tabular.response_batch(logits, reward, temperature=temperature))
    cut = tabular.response_batch(logits, reward).take_sequences([0, 1, 2, 3, 3, 5, 6, 7])
    with pytest.raises(ValueError, match="leave group_size None"):
        rule.prepare(cut)


def test_float32_listings_are_listings():
    rng = np.random.default_rng(1)
    logits = (4 * rng.normal(size=(2, 5000))).astype(np.float32)
    batch = tabular.exact_batch(logits, (rng.random((2, 5000)) < 0.5).astype(np.float32))
    for rule in LISTING_ONLY[:2]:
        rule.prepare(batch)


# ------------------------------------------------------------------ large groups


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize(("group_size", "dtype"), [(513, np.float64), (1100, np.float64),
                                                   (2000, np.float64), (70, np.float32),
                                                   (1100, np.float32)])
def test_kappa_of_large_groups_neither_overflows_nor_errs(group_size, dtype, ddof):
    """Against the mean over Binomial(G, p), its weights from scipy, which share no code."""
    from scipy import stats

    p = np.array([0.0, 1e-12, 0.001, 0.3, 0.5, 0.97, 1.0])
    k = np.arange(group_size + 1)
    deviation = np.sqrt(k * (group_size - k) / (group_size * (group_size - ddof)))
    # Dividing by G - 1 makes deviations larger and advantages smaller.
    deviation = deviation * ((group_size - 1) / group_size if ddof else 1.0)
    expected = [(stats.binom.pmf(k, group_size, x) * deviation).sum() / (x * (1 - x))
                for x in p[1:-1]]
    found = advantages.group_normalization_gain(
        p.astype(dtype), (1 - p).astype(dtype), group_size=group_size, ddof=ddof)
    assert found.dtype == dtype
    # Exponents of about G log 2, each rounded; and scipy's weights are good to 1e-11.
    accuracy = max(4 * group_size * float(np.finfo(dtype).eps), 1e-10)
    np.testing.assert_allclose(found[1:-1], expected, rtol=accuracy)
    ends = np.sqrt(group_size - 1) * (np.sqrt((group_size - 1) / group_size) if ddof else 1)
    np.testing.assert_allclose(found[[0, -1]], ends, rtol=accuracy)


# ------------------------------------------------------------------ metrics and options


def test_equal_names_of_metrics_are_all_shown():
    get, combine = update_rules.get, update_rules.combine
    batch = random_batch(21, second_batch=False)
    narrow, wide = get("grpo", clip_low=0.01, clip_high=0.01), get("grpo")
    shown = combine(narrow, wide, get("clip-cov", ratio=0.5, lower=-9, upper=9)).metrics(batch)
    assert shown["clipped_fraction"] == narrow.metrics(batch)["clipped_fraction"]
    assert shown["2.grpo.clipped_fraction"] == wide.metrics(batch)["clipped_fraction"]
    assert shown["clipped_fraction"] > shown["2.grpo.clipped_fraction"] > 0
    assert "3.clip-cov.clipped_fraction" in shown
    assert shown["selected_fraction"] > 0
    nested = combine(wide, combine(narrow, wide)).metrics(batch)
    assert len([name for name in nested if name.endswith("clipped_fraction")]) == 3
    outer = get("clip-cov", ratio=0.1, lower=-9, base=get("kl-cov", ratio=0.3)).metrics(batch)
    assert outer["kl-cov.selected_fraction"] > outer["selected_fraction"] > 0


def test_options_of_each_run_may_be_tensors():
    batch = random_batch(22)
    two = batch.replace(**{k: np.stack([c, c]) for k, c in batch._columns()})
    for name, option in (("aepo", "alpha"), ("entropy-bonus", "coefficient"),
                         ("reference-kl", "coefficient")):
        ours = update_rules.get(name, **{option: np.array([0.1, 0.3])})
        theirs = update_rules.get(name, **{option: torch.tensor([0.1, 0.3], dtype=torch.float64)})
        # Torch sums in another order than NumPy: roundings.
        np.testing.assert_allclose(theirs.scores(to_torch(two)).numpy(), ours.scores(two), rtol=1e-12)
        for key, term in ours.state_terms(two).items():
            other = theirs.state_terms(to_torch(two))[key]
            np.testing.assert_allclose(other.numpy(), term, rtol=1e-12)


def test_sequence_values_are_read_where_the_mask_holds():
    column = np.array([[9.0, 2.0, 2.0], [3.0, 3.0, 9.0], [4.0, 5.0, 6.0]])
    rows = np.array([[False, True, True], [True, True, False], [False] * 3])
    for back in (np.asarray, torch.as_tensor):
        assert sequence_value(back(column), back(rows)).tolist() == [[2.0], [3.0], [4.0]]


@pytest.mark.parametrize("value", [np.nan, -np.inf, -1.7e308])
def test_a_reference_that_counts_for_nothing_gives_no_score(value):
    """A token of weight 0 is not looked at, and its score was NaN, which a weight of 0 does not mend."""
    batch = TokenBatch(
        log_prob=np.array([[-1.0], [1e308]]), old_log_prob=np.full((2, 1), -1.0),
        reward=np.array([[1.0], [0.0]]), mask=np.ones((2, 1), dtype=bool),
        weight=np.array([[1.0], [0.0]]), reference_log_prob=np.array([[-1.5], [value]]))
    rule = update_rules.get("reference-kl")
    with np.errstate(over="ignore"):
        scores = rule.scores(rule.prepare(batch))
        assert np.isfinite(scores).all()
    weighed = batch.replace(weight=np.full((2, 1), 0.5), log_prob=batch.old_log_prob)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="reference_log_prob"):
        rule.prepare(weighed)


@pytest.mark.parametrize("weight", [[0.0, 0.0, 0.0], [0.25, 0.25, 0.0]])
def test_an_answer_that_counts_for_nothing_adds_nothing_to_a_spread(weight):
    """The sum of its log-probabilities overflows, which a weight of 0 does not mend."""
    log_prob = np.array([[-1.0, -1.0], [-2.0, -2.0], [-1e308, -1e308]])
    batch = TokenBatch(
        log_prob=log_prob, old_log_prob=log_prob, reward=np.ones((3, 2)),
        mask=np.ones((3, 2), dtype=bool), weight=np.repeat(np.array(weight)[:, None], 2, axis=1))
    rule = update_rules.get("diverse-bonus")
    with np.errstate(over="ignore"):
        spread, scores = rule.metrics(batch)["right_answer_spread"], rule.scores(rule.prepare(batch))
    assert spread == (1.0 if any(weight) else 0.0)
    assert np.isfinite(scores).all()
