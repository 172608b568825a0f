"""Guards rule.py, combine.py and modifier.py: what a rule says of itself and makes of its parts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from entropy_theory import update_rules
from entropy_theory.controllers import ProportionalTemperature, TemperatureSwitch
from entropy_theory.schedules import Cosine, Points
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.rule import strength
from entropy_theory.verification.rule_batches import random_batch
from tests.tolerances import ROUNDING

get, combine = update_rules.get, update_rules.combine


def test_the_outermost_coefficient_is_a_rules_strength():
    assert strength(get("grpo")) is None
    assert strength(get("reference-kl", coefficient=0.3)) == 0.3
    assert strength(get("entropy-bonus", coefficient=0.3, base=get("aent", coefficient=0.1))) == 0.3
    assert strength(get("clip-cov", base=get("kl-cov", coefficient=0.4))) == 0.4
    assert strength(get("aepo", alpha=0.7)) == 0.7
    assert strength(combine(get("grpo"), get("kl-cov", coefficient=0.4))) == 0.4


@pytest.mark.parametrize("name", ["entropy-bonus", "diverse-bonus", "aent"])
def test_a_scheduled_coefficient_is_the_one_of_its_step(name):
    """Of its cosine, from the first to the last value and neither before nor after."""
    fixed = {"adaptive": False} if name == "aent" else {}
    rule = get(name, coefficient_schedule=Cosine(first=0.3, last=0.1, steps=4.0, start=2.0), **fixed)
    batch = random_batch(7)
    assert "step" in rule.needs.reads
    for step, expected in ((0, 0.3), (2, 0.3), (3, 0.2 + 0.1 * math.sqrt(0.5)), (4, 0.2), (9, 0.1)):
        assert strength(rule, step) == pytest.approx(expected)
        plain = get(name, coefficient=expected, **fixed)
        here = batch.replace(step=step)
        here, there = rule.prepare(here), plain.prepare(here)
        np.testing.assert_allclose(rule.scores(here), plain.scores(there), rtol=1e-12)
        for moved, terms in plain.state_terms(there).items():
            np.testing.assert_allclose(rule.state_terms(here)[moved], terms, rtol=1e-12)


@pytest.mark.parametrize("name", ["grpo", "gspo", "reinforce"])
def test_a_batch_of_tempered_rows_alone_has_scores(name):
    """A trainer may cut a batch so that a piece has no ordinary row."""
    batch = random_batch(70)
    second = batch.take_sequences(slice(12, 24))
    rule = get(name)
    np.testing.assert_allclose(rule.scores(second), rule.scores(batch)[12:], rtol=1e-12)
    np.testing.assert_allclose(rule.advantages(second)[second.mask],
                               rule.advantages(batch)[12:][second.mask], rtol=1e-12)
    assert np.abs(rule.scores(second)).sum() > 0


def test_what_a_rule_needs_is_what_its_parts_need():
    """Engines pool rows and prepare anew by it."""
    for name in ("entropy-bonus", "clip-cov"):
        current = get(name, base=get("kl-cov", cov_log_prob="current"))
        assert current.needs.every_step is True
        assert get(name).needs.every_step is False
    assert combine(get("grpo"), current).needs.every_step is True
    assert combine(get("gspo"), get("entropy-bonus"), get("aent")).needs.moves == (
        "entropy", "clamped_entropy")
    both = get("entropy-advantage", base="reference-kl")
    assert both.needs.columns == ("entropy", "reference_log_prob")
    assert not combine(get("grpo"), get("natural-gradient")).needs.pools


def test_an_overlong_answer_is_worth_less_before_advantages_are_taken():
    """DAPO: the penalty is added to the reward, of 5 tokens at most and 3 of buffer."""
    batch = random_batch(71, second_batch=False)
    length = batch.mask.sum(-1, keepdims=True)
    penalty = -np.clip((length - 2) / 3, 0, 1)
    assert len(np.unique(penalty)) > 1
    shaped = get("grpo", overlong_buffer=3, max_length=5)
    by_hand = get("grpo").scores(batch.replace(reward=batch.reward + penalty))
    np.testing.assert_allclose(shaped.scores(batch), by_hand, rtol=1e-12)


def test_a_rules_loop_is_of_the_kind_asked_for_and_starts_where_its_schedule_does():
    assert type(combine(get("reinforce"), get("aepo")).controller()) is TemperatureSwitch
    assert type(get("aepo", control="proportional").controller()) is ProportionalTemperature
    schedule = Points(points=((-5, 0.8), (5, 0.3)))
    assert get("aepo", target_schedule=schedule).controller().target == schedule(0)
    held = get("entropy-bonus", target_schedule=schedule).coefficient_controller()
    assert held.target == schedule(0)


def test_parts_that_clamp_alike_are_added():
    aent = get("aent", adaptive=False)
    assert combine(aent, aent).needs.removed_fraction == 0.33


def test_a_constant_coefficient_is_not_the_one_that_a_controller_chose():
    """In a sum with a bonus that is held, whose coefficient the whole batch carries."""
    batch = random_batch(76, second_batch=False)
    chosen = batch.replace(coefficient=np.full(batch.mask.shape, 0.7))
    rule = get("entropy-bonus", coefficient=0.2)
    np.testing.assert_array_equal(
        rule.state_terms(chosen)["entropy"], rule.state_terms(batch)["entropy"])


def test_what_a_clip_silences_is_counted_among_ordinary_tokens():
    """Ratio 2: a bad token at dual_clip 2 is not beyond it; one without advantage is never clipped."""
    ones = np.ones((3, 1))
    batch = random_batch(77, second_batch=False).take_sequences(slice(0, 3))
    batch = batch.replace(**{name: column[:, :1] for name, column in batch._columns()})
    log_ratio = np.log(np.array([[2.0], [3.0], [3.0]]))
    batch = batch.replace(log_prob=log_ratio - 1, old_log_prob=-ones, mask=ones > 0, weight=ones / 3,
                          advantage=np.array([[-1.0], [0.0], [-1.0]]))
    rule = get("grpo", dual_clip=float(np.exp(log_ratio[0, 0] - 1 + 1)))
    assert rule.metrics(batch)["clipped_fraction"] == pytest.approx(1 / 3)
    np.testing.assert_allclose(rule.scores(batch)[:, 0], [-2.0, 0.0, 0.0])
    assert rule.metrics(batch.take_sequences([2]))["clipped_fraction"] == 1.0
    tempered = batch.replace(tempered=ones > 0)
    assert rule.metrics(tempered)["clipped_fraction"] == 0.0


def test_the_natural_gradient_centers_each_state_by_its_own_mean():
    """Two states of two actions, and a row that does not count; the step is A less its mean."""
    column = np.array([[0.25], [0.75], [0.5], [0.5], [0.0]])
    advantage = np.array([[1.0], [0.0], [5.0], [1.0], [9.0]])
    log_prob = np.log(np.where(column > 0, column, 1.0))
    batch = TokenBatch(
        log_prob=log_prob, old_log_prob=log_prob, reward=advantage, mask=column > 0,
        weight=column / 2, state=np.array([[3], [3], [8], [8], [3]]),
        action=np.array([[0], [1], [0], [1], [2]]))
    found = get("natural-gradient").scores(batch) * batch.weight
    np.testing.assert_allclose(found[:, 0], [0.25, -0.25, 1.0, -1.0, 0.0], rtol=1e-12)


def test_the_natural_gradient_leaves_a_state_where_one_action_is_left():
    """The other's probability is none as a float; beside it a state of rows that do not count."""
    log_prob = np.array([[0.0], [-800.0], [0.0]])
    batch = TokenBatch(
        log_prob=log_prob, old_log_prob=log_prob, reward=np.array([[2.0], [7.0], [1.0]]),
        mask=np.array([[True], [True], [False]]), weight=np.array([[1.0], [0.0], [0.0]]),
        state=np.array([[3], [3], [8]]), action=np.array([[0], [1], [0]]))
    assert get("natural-gradient").scores(batch)[:, 0].tolist() == [0.0, 0.0, 0.0]


def test_a_bonus_on_a_sum_that_has_one_adds_to_it():
    batch = random_batch(75, second_batch=False)
    inner = combine(get("grpo"), get("entropy-bonus", coefficient=0.2))
    found = get("entropy-bonus", coefficient=0.1, base=inner).state_terms(batch)["entropy"]
    one = get("entropy-bonus", coefficient=0.3).state_terms(batch)["entropy"]
    np.testing.assert_allclose(found, one, rtol=ROUNDING)


def test_reinforce_divides_each_answers_part_by_its_length():
    batch = random_batch(78, second_batch=False)
    length = batch.mask.sum(-1, keepdims=True)
    expected = batch.reward * batch.mask * batch.mask.sum() / (12 * length)
    np.testing.assert_allclose(get("reinforce").scores(batch), expected, rtol=ROUNDING)
