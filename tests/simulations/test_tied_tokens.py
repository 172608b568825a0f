"""Guards tied tokens: the engine's steps where classes are single, exchangeable where they are not."""

import numpy as np
import pytest

from entropy_theory.policy import entropy, log_softmax
from entropy_theory.update_rules import get
from simulations.engine import Dynamics, simulate
from simulations.engine.sampling import Samples
from simulations.engine.tied_tokens import TiedTokens, tie, train

RULES = {
    "no bonus": get("grpo"),
    "full": get("entropy-bonus", coefficient=0.3),
    "clamped": get("aent", coefficient=0.4, removed_fraction=0.6, adaptive=False),
    "not centered": get("reinforce", estimator="reward"),
}


def state(n=60, local=0.2):
    """Logits by rank, a likely token of little reward, three optimal ones."""
    logits = -1.2 * np.log(np.arange(1, n + 1))
    reward = np.zeros(n)
    reward[0], reward[[7, 11, 20]] = local, 1.0
    return logits, reward


def single(logits, reward):
    return TiedTokens(logits=logits, reward=reward, counts=np.ones(len(logits)))


@pytest.mark.parametrize("name", RULES)
def test_single_tokens_are_trained_as_by_the_engine(name):
    """Two prompts: rule, uniforms, kept set and scale of the step are those of `engine.simulate`."""
    logits, reward = state()
    steps, group = 150, Samples(group_size=6)
    run = simulate(
        np.stack([logits, logits])[None], np.stack([reward, reward]),
        Dynamics(rule=RULES[name], learning_rate=2 * 1.5, steps=steps, record_every=50, seed=3,
                 samples=group))
    curves = [
        train(single(logits, reward), RULES[name], learning_rate=1.5, steps=steps, record_every=50,
              samples=group, seed=3, prompt=prompt)
        for prompt in range(2)
    ]
    for prompt, curve in enumerate(curves):
        np.testing.assert_allclose(
            log_softmax(curve.final.logits), log_softmax(run.final_logits[0, prompt]), atol=1e-9)
    for column in ("reward", "entropy"):
        mean = np.mean([getattr(curve, column) for curve in curves], axis=0)
        np.testing.assert_allclose(mean, getattr(run, column)[:, 0], atol=1e-10)
    assert not np.array_equal(*(curve.final.logits for curve in curves)), "prompts draw on their own"


@pytest.mark.parametrize("name", RULES)
def test_one_step_from_ties_moves_the_tokens_that_it_would_move_singly(name):
    """Which of the tied tokens were drawn, the same one twice included, and who shares their fate."""
    logits = np.log(np.repeat([5.0, 3.0, 2.0, 0.5], [1, 3, 1, 20]))
    reward = np.repeat([0.2, 1.0, 0.0, 0.0], [1, 3, 1, 20])
    tied = tie(logits, reward, np.array([1, 4, 5, 25]))
    assert tied.counts.tolist() == [1, 3, 1, 20]
    for seed in range(20):
        how = {"learning_rate": 2.0, "steps": 1, "record_every": 1, "seed": seed,
               "samples": Samples(group_size=12)}
        ends = [train(start, RULES[name], **how) for start in (single(logits, reward), tied)]
        expanded = [np.sort(np.repeat(end.final.logits, end.final.counts.astype(int))) for end in ends]
        np.testing.assert_allclose(expanded[1], expanded[0], atol=1e-12)
        np.testing.assert_allclose(ends[1].entropy, ends[0].entropy, atol=1e-12)
        assert ends[1].final.counts.min() >= 1, "a class whose tokens were all drawn is one of them"


@pytest.mark.parametrize("name", RULES)
def test_there_is_room_for_a_class_of_each_draw(name):
    """A million tied tokens, of which none is drawn twice; those kept end within their class."""
    start = TiedTokens(logits=np.array([0.0, 0.0]), reward=np.array([1.0, 0.0]),
                       counts=np.array([1.0, 1e6]))
    end = train(start, RULES[name], learning_rate=0.1, steps=4, record_every=4, seed=0,
                samples=Samples(group_size=6)).final
    assert end.counts.sum() == 1e6 + 1
    assert len(end.counts) >= 2 + 4 * 6


def test_a_step_takes_a_class_for_each_draw_and_for_each_cut_at_most():
    """Some seeds draw a token kept, which falls below those left out: its class is cut again."""
    rule = get("aent", coefficient=0.4, removed_fraction=0.3, adaptive=False)
    start = TiedTokens(logits=np.zeros(2), reward=np.array([1.0, 0.0]), counts=np.array([5e5, 5e5]))
    grown = [len(train(start, rule, learning_rate=1.0, steps=1, record_every=1, seed=seed,
                       samples=Samples(group_size=2)).final.counts) - 2 for seed in range(20)]
    assert max(grown) == 2 + 2


def test_a_token_left_out_that_overtakes_tied_ones_is_kept():
    """Only right tokens move, and none of them is among the three kept at first, which stay tied."""
    rule = get("aent", coefficient=0.4, removed_fraction=0.5, adaptive=False,
               base=get("reinforce", estimator="reward"))
    logits, reward = np.repeat([0.0, -0.2], 3), np.repeat([0.0, 1.0], 3)
    samples = Samples(group_size=6)
    end = train(single(logits, reward), rule, learning_rate=0.5, steps=30, record_every=30, seed=2,
                samples=samples).final
    run = simulate(logits[None, None], reward[None], Dynamics(
        rule=rule, learning_rate=0.5, steps=30, seed=2, samples=samples))
    np.testing.assert_allclose(log_softmax(end.logits), log_softmax(run.final_logits[0, 0]), atol=1e-9)
    assert end.logits[3:].max() > end.logits[:3].max()


def test_training_from_ties_has_the_distribution_of_training_singly():
    """Later draws take tokens in another order: equal in the mean over seeds, not run by run."""
    logits = np.log(np.repeat([8.0, 2.0, 0.5], [1, 4, 30]))
    reward = np.repeat([0.2, 1.0, 0.0], [1, 4, 30])
    ends = []
    for start in (single(logits, reward), tie(logits, reward, np.array([1, 5, 35]))):
        curves = [
            train(start, RULES["clamped"], learning_rate=1.0, steps=15, record_every=15, seed=seed,
                  samples=Samples(group_size=4))
            for seed in range(60)
        ]
        assert {curve.final.counts.sum() for curve in curves} == {35.0}
        ends.append(np.array([(curve.reward[-1], curve.entropy[-1]) for curve in curves]))
    gap = ends[0].mean(axis=0) - ends[1].mean(axis=0)
    error = np.sqrt(sum(end.var(axis=0, ddof=1) / len(end) for end in ends))
    assert (abs(gap) < 4 * error).all(), (gap, error)
    assert (error < 0.1).all(), "too few seeds to see a difference"


def test_a_constant_added_to_all_logits_changes_nothing():
    """Far beyond where exp overflows or is 0; and the first prompt is the one that is trained."""
    logits, reward = state()
    for name, rule in RULES.items():
        how = {"learning_rate": 1.5, "steps": 30, "record_every": 7, "seed": 3,
               "samples": Samples(group_size=6)}
        plain = train(single(logits, reward), rule, **how, prompt=0)
        assert plain.step.tolist() == [0, 7, 14, 21, 28, 30]
        for shift in (1000.0, -1000.0):
            moved = train(single(logits + shift, reward), rule, **how)
            # A logit of 1000 is stored to 1e-13, and moves thirty times.
            np.testing.assert_allclose(
                moved.final.logits - shift, plain.final.logits, rtol=0, atol=1e-11, err_msg=name)
            np.testing.assert_allclose(moved.reward, plain.reward, rtol=0, atol=1e-11)
            np.testing.assert_allclose(moved.entropy, plain.entropy, rtol=0, atol=1e-11)


def test_a_collapsed_state_has_the_one_entropy():
    """38 nats below the first token: log(1 + e^-38) in place of log1p is 2.6 % off."""
    start = single(np.array([0.0, -38.0]), np.array([1.0, 0.0]))
    curve = train(start, RULES["no bonus"], learning_rate=0.0, steps=1, record_every=1, seed=0,
                  samples=Samples())
    np.testing.assert_allclose(curve.entropy, entropy(start.logits), rtol=1e-14)
