"""Token trees in the engine: three ways to the same step, draws, lengths, and what is recorded."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from entropy_theory import policy
from entropy_theory.policy import entropy, log_softmax, softmax
from entropy_theory.tabular import logit_step, response_batch
from entropy_theory.targets import ShorterResponses
from entropy_theory.token_batch import TokenBatch, mean_entropy
from entropy_theory.token_tree import TokenTree
from entropy_theory.update_rules import RULES, combine, get
from entropy_theory.update_rules.reinforce import Reinforce
from simulations.engine import Dynamics, Record, Samples, simulate
from simulations.engine.pooled import MOST_LEVELS
from simulations.engine.task import Task
from simulations.engine.tree_runs import TreeRuns
from simulations.problems import Bandit
from simulations.problems.token_trees import TokenProblem

PROBLEM = TokenProblem(n_tokens=3, horizon=3, n_correct=4, placement="every length",
                       accuracies=(0.15, 0.7))
EXPECTED = get("grpo", group_size=4)
POOLED = {
    "reinforce": get("reinforce"),
    "reinforce, token mean": get("reinforce", normalization="token-mean"),
    "reinforce, over a length": get("reinforce", normalization="dr-grpo"),
    "reinforce++": get("reinforce", estimator="reinforce++"),
    "grpo": get("grpo"),
    "grpo, groups": EXPECTED,
    "grpo, token mean": get("grpo", normalization="token-mean", group_size=4),
    "grpo, dr": get("grpo", normalization="dr-grpo", group_size=4, max_length=5),
    "grpo, overlong": get("grpo", overlong_buffer=2, max_length=3),
    "gspo": get("gspo"),
    "clip-higher": get("clip-higher", dynamic_sampling=True),
    "entropy-bonus": get("entropy-bonus", coefficient=0.3, base=EXPECTED),
    "entropy-bonus, adaptive": get("entropy-bonus", coefficient=0.3, target=0.8),
    "aent": get("aent", coefficient=0.3, removed_fraction=0.4, warm_up_steps=0),
    "aepo": get("aepo", alpha=0.7, base=EXPECTED),
    "aepo, positives": get("aepo", normalize="positives"),
    "aepo, advantage": get("aepo", ablation="advantage"),
    "aepo, shorter": get("aepo", towards=ShorterResponses(per_token=0.5)),
    "combined": combine(get("reinforce"), get("entropy-bonus"), get("aepo")),
}


def a_run(rule, *, samples=None, runs=3, steps_per_batch=1, problem=PROBLEM, reward=None):
    dynamics = Dynamics(rule=rule, samples=samples, seed=5, steps_per_batch=steps_per_batch)
    reward = problem.correct.astype(float) if reward is None else reward
    run = TreeRuns(Task.checked(
        problem.starts(runs, seed=7), reward, dynamics, tree=problem.tree))
    run.draw()
    return run


@pytest.mark.parametrize("name", POOLED)
def test_backward_recursion_is_enumeration(name):
    """One row a (reward, length) and a recursion, against the rule asked about every response."""
    run = a_run(POOLED[name])
    assert run.levels is not None
    by_rows = logit_step(run.logits, run.token_batch(), run.rule)
    # Sums of some hundred products of order 1.
    np.testing.assert_allclose(run.direction(), by_rows, atol=1e-13, rtol=1e-11)
    assert np.abs(by_rows).max() > 1e-3


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Spy(Reinforce):
    """Keeps the batches that it is asked about."""

    seen: list[TokenBatch] = dataclasses.field(default_factory=list, compare=False)

    def scores(self, batch):
        self.seen.append(batch)
        return batch.reward


@pytest.mark.parametrize("accuracies", [(0.3,), (0.15, 0.7)])
def test_the_rule_is_asked_about_one_row_for_each_reward_and_length(accuracies):
    """Rows of a response's length, at the temperature of their kind, whose weights sum to 1."""
    problem = dataclasses.replace(PROBLEM, accuracies=accuracies)
    run = a_run(get("aepo", base=EXPECTED), problem=problem)
    run.temperature = np.array([0.5, 1.5, 2.5])
    run._drawn = -1
    run.draw()
    run.rule = Spy()
    run.direction()
    (batch,) = run.rule.seen
    prompts = len(accuracies)
    lengths = np.broadcast_to(problem.tree.lengths, problem.correct.shape)
    classes = sorted(set(zip(problem.correct.ravel(), lengths.ravel(), strict=True)))
    assert len(classes) == 5  # the one response of length 1 is right
    assert (batch.step, batch.seed, batch.listed) == (0, 5, True)
    assert (batch.group is None) == (prompts == 1)
    expected = [(kind, prompt, *one) for kind in (False, True) for prompt in range(prompts)
                for one in classes]
    for r, heat in enumerate(run.temperature):
        for row, (tempered, prompt, reward, length) in enumerate(expected):
            assert batch.mask[r, row].tolist() == [i < length for i in range(3)]
            assert (batch.reward[r, row] == reward).all()
            assert (batch.tempered[r, row] == tempered).all()
            temperature = batch.sampling_temperature[r, row, :length]  # the rest is no token
            assert temperature.tolist() == [heat if tempered else 1.0] * length
            assert batch.group is None or (batch.group[r, row] == prompt).all()
        for kind in (batch.is_tempered[r], ~batch.is_tempered[r]):
            # A dozen shares of one sum.
            assert batch.weight[r][batch.mask[r] & kind].sum() == pytest.approx(1, rel=1e-14)
    plain = a_run(get("reinforce"), problem=problem)
    plain.rule = Spy()
    plain.direction()
    np.testing.assert_array_equal(plain.rule.seen[0].sampling_temperature, np.ones(
        (3, len(expected) // 2, 3)))


def test_graded_rewards_of_responses_pool_too():
    rng = np.random.default_rng(0)
    reward = rng.integers(0, 4, size=(3, 2, PROBLEM.tree.n_responses)) / 3
    run = a_run(get("reinforce", estimator="group-centered"), reward=reward)
    assert len(run.levels.rewards) > 4
    by_rows = logit_step(run.logits, run.token_batch(), run.rule)
    np.testing.assert_allclose(run.direction(), by_rows, atol=1e-13)
    p = softmax(run.logits).reshape(3, 2, -1, 3)
    tree = PROBLEM.tree
    # Sequence-mean REINFORCE is the gradient of E[R / |o|], a baseline's included.
    centered = reward - (tree.response_probabilities(p) * reward).sum(-1, keepdims=True)
    slope = tree.expectation_gradient(p, tree.edge_reward(centered / tree.lengths))
    np.testing.assert_allclose(run.direction(), slope.reshape(run.logits.shape) / 2, atol=1e-13)


def test_rewards_without_number_are_listed():
    """Those are more than eight."""
    rng = np.random.default_rng(0)
    few = rng.permuted(np.arange(2 * PROBLEM.tree.n_responses) % MOST_LEVELS).reshape(1, 2, -1)
    assert a_run(get("reinforce"), reward=few).levels is not None
    run = a_run(get("reinforce"), reward=rng.random((1, 2, PROBLEM.tree.n_responses)))
    assert run.levels is None
    assert np.abs(run.direction()).max() > 1e-3


@pytest.mark.parametrize("samples", [None, Samples(group_size=5, tempered=7)])
@pytest.mark.parametrize("rule", [get("aepo"), get("kl-cov", ratio=0.3), get("reinforce")],
                         ids=lambda rule: rule.name)
@pytest.mark.parametrize("steps_per_batch", [1, 3])
def test_a_tree_of_one_token_is_a_bandit(samples, rule, steps_per_batch):
    """The same draws, rows and records."""
    problem = Bandit(n_actions=6, n_correct=2, accuracies=(0.2, 0.6))
    start = problem.starts(4, seed=1)
    dynamics = Dynamics(rule=rule, steps=24, samples=samples, steps_per_batch=steps_per_batch,
                        record_every=6, seed=3)
    record = Record(forecasts=True, pass_at=(1, 4))
    bandit = simulate(start, problem.correct, dynamics, record=record)
    tree = simulate(start, problem.correct, dynamics, record=record, tree=TokenTree(6, 1))
    for field in dataclasses.fields(bandit):
        one, other = getattr(bandit, field.name), getattr(tree, field.name)
        if field.name == "forecasts":
            one, other = (np.array([getattr(f, k.name) for k in dataclasses.fields(f)])
                          for f in (one, other))
        # Two dozen steps, rounded differently.
        np.testing.assert_allclose(one, other, atol=1e-12, err_msg=field.name)


def test_steps_on_one_batch_move_the_ratios_of_its_tokens():
    """Two steps on one exact batch, by hand: importance ratios token by token, and clips that bind."""
    rule = get("grpo", clip_low=0.01, clip_high=0.01)
    tree, start = PROBLEM.tree, PROBLEM.starts(3, seed=1)
    batch = rule.prepare(response_batch(start, PROBLEM.correct.astype(float), tree=tree))
    logits = start + 0.5 * logit_step(start, batch, rule)
    runs = np.arange(3)[:, None, None]
    moved = batch.replace(log_prob=log_softmax(logits)[runs, batch.state, batch.action])
    logits = logits + 0.5 * logit_step(logits, moved, rule)

    def found(steps_per_batch):
        dynamics = Dynamics(rule=rule, learning_rate=0.5, steps=2, steps_per_batch=steps_per_batch)
        return simulate(start, PROBLEM.correct, dynamics, tree=tree).final_logits

    np.testing.assert_allclose(found(2), logits, atol=1e-13)
    assert np.abs(found(1) - logits).max() > 1e-3


@pytest.mark.parametrize("samples", [None, Samples(group_size=4, tempered=3)])
@pytest.mark.parametrize("steps_per_batch", [1, 2])
def test_forecast_identities_along_runs(samples, steps_per_batch):
    """(i) = (ii) at every step, on and off policy, and (iii) is what is measured."""
    rule = get("aepo", base=get("entropy-bonus", coefficient=0.2))
    dynamics = Dynamics(rule=rule, learning_rate=3.0, steps=24, samples=samples, record_every=1,
                        steps_per_batch=steps_per_batch)
    run = simulate(PROBLEM.starts(3, seed=1), PROBLEM.correct, dynamics, tree=PROBLEM.tree,
                   record=Record(forecasts=True))
    np.testing.assert_allclose(run.forecasts.coefficients, run.forecasts.first_order, atol=1e-13)
    np.testing.assert_allclose(run.forecasts.exact, run.forecasts.measured, atol=1e-13)
    assert np.abs(run.forecasts.exact - run.forecasts.first_order).max() > 1e-3


def test_runs_batches_kinds_and_positions_have_random_numbers_of_their_own():
    run = a_run(get("aepo"), samples=Samples(group_size=6, tempered=6))
    drawn = []
    for _ in range(2):
        drawn += [run.uniforms(kind, position).ravel() for kind in (0, 1) for position in (0, 1)]
        run.advance(1, measured=False)
    drawn = np.concatenate(drawn)
    assert len(np.unique(drawn)) == drawn.size == 2 * 2 * 2 * (3 * 2 * 6)
    # What a rule's own random choices are keyed by: no two runs share a sequence.
    run.draw()
    sequence = run.token_batch().sequence[..., 0]
    assert len(np.unique(sequence)) == sequence.size == 3 * 2 * (6 + 6)


@pytest.mark.parametrize("end_token", [False, True])
def test_responses_are_drawn_as_often_as_they_are_likely(end_token):
    """Chi-square over all responses of 40,000 draws (p above 1e-4; the seed is fixed)."""
    problem = TokenProblem(n_tokens=3, horizon=3, end_token=end_token, n_correct=1)
    run = a_run(get("reinforce"), samples=Samples(group_size=40_000), runs=1, problem=problem)
    batch, tree = run.token_batch(), problem.tree
    last = batch.mask.sum(axis=-1, keepdims=True) - 1
    state, token = (np.take_along_axis(c, last, axis=-1).ravel() for c in (batch.state, batch.action))
    drawn = tree.response_of_edge()[state, token]
    assert drawn.min() >= 0
    expected = 40_000 * tree.response_probabilities(softmax(run.logits))[0]
    found = np.bincount(drawn, minlength=tree.n_responses)
    assert stats.chisquare(found, expected).pvalue > 1e-4
    # Each row is the path of its response.
    paths = tree.paths()
    np.testing.assert_array_equal(batch.state[0], paths.state[drawn])
    np.testing.assert_array_equal(batch.action[0], paths.token[drawn])
    np.testing.assert_array_equal(batch.mask[0], paths.mask[drawn])
    assert batch.weight[batch.mask].sum() == pytest.approx(1)


@pytest.mark.parametrize("rule", [
    get("reinforce", normalization="dr-grpo", estimator="reward"),
    get("aepo", alpha=0.7, base=get("reinforce", normalization="dr-grpo")),
], ids=lambda rule: rule.name)
def test_sampled_steps_average_to_the_exact_step(rule):
    """Within 5 standard errors, 30,000 runs; dr-grpo over a constant, so that no mean length is
    divided by (the mean of a ratio is not the ratio of the means)."""
    start = PROBLEM.starts(1, seed=2)
    n = 30_000
    one = Dynamics(rule=rule, steps=1, learning_rate=1.0)
    exact = simulate(start, PROBLEM.correct, one, tree=PROBLEM.tree).final_logits - start
    sampled = simulate(
        np.repeat(start, n, axis=0), PROBLEM.correct,
        dataclasses.replace(one, samples=Samples(group_size=8, tempered=8)), tree=PROBLEM.tree,
    ).final_logits - start
    error = np.abs(sampled.mean(axis=0) - exact[0])
    standard_error = sampled.std(axis=0) / np.sqrt(n)
    assert (error <= 5 * standard_error + 1e-12).all()
    assert np.abs(exact).max() > 20 * standard_error.max()


def test_sequence_mean_weighs_every_response_alike():
    """1/|o|: the exact step is the gradient of E[R/|o|] for REINFORCE; token-mean, of E[R]/E|o|."""
    tree, start = PROBLEM.tree, PROBLEM.starts(1, seed=3)
    p = softmax(start).reshape(1, 2, -1, 3)
    right = PROBLEM.correct.astype(float)
    mean_length = (tree.response_probabilities(p) * tree.lengths).sum(-1).mean()

    def step(normalization):
        rule = get("reinforce", normalization=normalization)
        dynamics = Dynamics(rule=rule, steps=1, learning_rate=1.0)
        found = simulate(start, PROBLEM.correct, dynamics, tree=tree).final_logits - start
        return found.reshape(p.shape)

    for normalization, reward in (("sequence-mean", right / tree.lengths),
                                  ("token-mean", right / mean_length),
                                  ("dr-grpo", right / tree.horizon)):
        expected = tree.expectation_gradient(p, tree.edge_reward(reward)) / 2
        np.testing.assert_allclose(step(normalization), expected, atol=1e-14)


def test_records_are_what_enumeration_says():
    record = Record(logits=True, pass_at=(1, 3), distinct_of=4)
    dynamics = Dynamics(rule=get("grpo", group_size=4), steps=40, record_every=10, learning_rate=2.0)
    tree = PROBLEM.tree
    run = simulate(PROBLEM.starts(2, seed=1), PROBLEM.correct, dynamics, tree=tree, record=record)
    paths, right = tree.paths(), PROBLEM.correct[0].astype(float)
    for k, r in np.ndindex(len(run.step), 2):
        logits = run.logits[k, r].reshape(2, -1, 3)
        log_p = log_softmax(logits)
        chance = np.exp(np.where(paths.mask, log_p[:, paths.state, paths.token], 0).sum(-1))
        h = np.where(paths.mask, entropy(logits)[:, paths.state], 0).sum(-1) / paths.mask.sum(-1)
        p = (chance * right).sum(-1)
        expected = {
            "entropy": (chance * h).sum(-1).mean(), "entropy_by_state": (chance * h).sum(-1),
            "reward": p.mean(), "reward_by_state": p,
            "response_length": (chance * paths.mask.sum(-1)).sum(-1).mean(),
            "pass_at_k": np.array([p.mean(), (1 - (1 - p) ** 3).mean()]),
            "distinct_answers": (right * (1 - (1 - chance) ** 4)).sum(-1).mean(),
            "entropy_within_correct": np.mean([
                entropy(np.log(chance[i][right[i] > 0])) for i in range(2)]),
        }
        for name, value in expected.items():
            np.testing.assert_allclose(getattr(run, name)[k, r], value, atol=1e-12, err_msg=name)
    # The batch's own mean entropy, which the controllers of a trainer would read.
    batch = response_batch(run.final_logits, np.zeros((1, 1, tree.n_responses)), tree=tree)
    np.testing.assert_allclose(mean_entropy(batch), run.entropy[-1], atol=1e-13)


@pytest.mark.parametrize("name", ["reinforce", "natural"])
def test_recorded_covariances_are_the_entropy_lost_to_first_order(name):
    """-eta Cov(log pi, pi A) of a policy-gradient step; -eta Cov(log pi, A) of a natural one."""
    problem = Bandit(n_actions=8, n_correct=3)
    rule = get("reinforce") if name == "reinforce" else get("natural-gradient")
    run = simulate(problem.starts(5, seed=0), problem.correct,
                   Dynamics(rule=rule, steps=6, record_every=1, learning_rate=0.3),
                   record=Record(forecasts=True))
    column = run.covariance_pg if name == "reinforce" else run.covariance
    np.testing.assert_allclose(run.forecasts.first_order, -0.3 * column[:-1], atol=1e-15)
    np.testing.assert_allclose(run.covariance_by_state.mean(-1), run.covariance, atol=1e-15)


def test_the_shorter_target_shortens_right_responses():
    """AEPO towards shorter right responses ends with shorter ones than towards plain ones.

    Every length has a right response; both runs answer right in the end.
    """
    problem = TokenProblem(n_tokens=3, horizon=4, n_correct=8, placement="every length")
    start = problem.starts(8, seed=0)

    def lengths(per_token):
        rule = get("aepo", alpha=2.0, target=0.3, towards=ShorterResponses(per_token=per_token))
        dynamics = Dynamics(rule=rule, steps=400, learning_rate=2.0)
        return simulate(start, problem.correct, dynamics, tree=problem.tree)

    longer, plain, shorter = (lengths(x) for x in (-2.0, 0.0, 2.0))
    assert min(run.reward[-1].min() for run in (longer, plain, shorter)) > 0.9
    assert (shorter.response_length[-1] < plain.response_length[-1]).all()
    assert (plain.response_length[-1] < longer.response_length[-1]).all()


def test_every_rule_is_pooled_here_or_listed():
    pooled = {rule.name for rule in POOLED.values()} - {"combined"}
    assert {name for name in RULES if get(name).needs.pools} == pooled


def test_impossible_trees_are_refused():
    start, tree = PROBLEM.starts(2, seed=0), PROBLEM.tree
    one_step = Dynamics(rule=get("reinforce"), steps=1)
    with pytest.raises(ValueError, match=r"natural-gradient.*answers of one token"):
        simulate(start, PROBLEM.correct, Dynamics(rule=get("natural-gradient"), steps=1), tree=tree)
    with pytest.raises(ValueError, match=r"\(2, 14, 3\) do not fit the tree, which has 13 states"):
        simulate(start, PROBLEM.correct, one_step, tree=TokenTree(3, 3))
    with pytest.raises(ValueError, match=r"reward of shape .* does not fit \(runs, prompts"):
        simulate(start, PROBLEM.correct[..., :3], one_step, tree=tree)
    with pytest.raises(ValueError, match=r"no right answer.*\(run, prompt\) \(0, 1\)"):
        simulate(start, PROBLEM.correct & (np.arange(2) == 0)[:, None], one_step, tree=tree)
    graded = PROBLEM.correct.astype(float)
    graded[0, 1, 2] = np.nan
    with pytest.raises(ValueError, match=r"reward is nan at \(run, prompt, response\) \(0, 1, 2\)"):
        simulate(start, graded, one_step, tree=tree)
    with pytest.raises(ValueError, match="horizon >= 1, got 3 and 0"):
        TokenProblem(horizon=0)
    # 40^12 prefixes; the message says how much that is and what to do.
    with pytest.raises(ValueError, match=r"[\d,]+\.\d GB, more than half .* smaller horizon"):
        TokenProblem(n_tokens=41, horizon=13)


def test_too_many_responses_for_rows_are_refused_and_can_be_sampled(monkeypatch):
    from simulations.problems import bandits

    monkeypatch.setattr(bandits.os, "sysconf", lambda name: 2**7)  # 16 KiB of memory
    start = np.zeros((1, PROBLEM.tree.n_states * 2, 3))
    rule = get("kl-cov")
    with pytest.raises(ValueError, match="'kl-cov' in exact expectation sees all 2 x 15 responses"):
        simulate(start, PROBLEM.correct, Dynamics(rule=rule, steps=1), tree=PROBLEM.tree)
    simulate(start, PROBLEM.correct, Dynamics(rule=get("grpo"), steps=1), tree=PROBLEM.tree)
    simulate(start, PROBLEM.correct, Dynamics(rule=rule, steps=1, samples=Samples()),
             tree=PROBLEM.tree)


def test_a_start_has_the_accuracies_asked_for_and_keeps_the_odds_within():
    drawn = dataclasses.replace(PROBLEM, accuracies=(None, None)).starts(3, seed=4)
    tree, right = PROBLEM.tree, PROBLEM.correct
    before, after = (tree.response_probabilities(softmax(z).reshape(3, 2, -1, 3))
                     for z in (drawn, PROBLEM.starts(3, seed=4)))
    np.testing.assert_allclose((after * right).sum(-1), np.tile((0.15, 0.7), (3, 1)), rtol=1e-12)
    for mask in (right, ~right):
        share = [np.where(mask, p, 0) / np.where(mask, p, 0).sum(-1, keepdims=True)
                 for p in (before, after)]
        np.testing.assert_allclose(share[1], share[0], atol=1e-14)
    np.testing.assert_array_equal(PROBLEM.starts(2, seed=4), PROBLEM.starts(3, seed=4)[:2])
    lengths = [set(tree.lengths[mask]) for mask in right[0]]
    assert lengths == [{1, 2, 3}] * 2
    assert policy.entropy(drawn).min() > 0
