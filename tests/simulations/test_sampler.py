"""A sampler that is not the policy: its distribution, what rules see of it, and where training goes."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from entropy_theory import entropy_change
from entropy_theory.policy import log_softmax, softmax
from entropy_theory.tabular import logit_step, response_batch
from entropy_theory.update_rules import get
from simulations.engine import Dynamics, Record, Samples, simulate
from simulations.engine.optimizer import Adam
from simulations.engine.runs import Runs
from simulations.engine.sampler import Sampler, noise_lanes, normal
from simulations.engine.sampling import ORDINARY, TEMPERED, batch_key, uniforms
from simulations.engine.task import Task
from simulations.engine.tree_runs import TreeRuns
from simulations.problems import Bandit
from simulations.problems.shared_parameters import coupled_features
from simulations.problems.token_trees import TokenProblem
from tests.adversarial_rules import Reweighted

LOGITS = np.random.default_rng(0).normal(scale=2.0, size=(4, 2, 7))
CORRECT = np.arange(7) < 2
RATE = 0.3
SAMPLERS = {
    "temperature": Sampler(temperature=0.7), "top-p": Sampler(top_p=0.9), "top-k": Sampler(top_k=3),
    "min-p": Sampler(min_p=0.1), "old": Sampler(steps_old=3), "bfloat16": Sampler(rounding="bfloat16"),
    "int8": Sampler(rounding="int8", rounded="log-probabilities"), "noise": Sampler(noise=0.3),
    "all": Sampler(temperature=1.2, min_p=0.02, top_k=4, top_p=0.95, steps_old=2, rounding="bfloat16",
                   noise=0.2)}


def policy_of(sampler, logits=LOGITS):
    return np.exp(sampler.log_probabilities(logits))


def one_step(dynamics, logits=LOGITS, reward=CORRECT, **world):
    return simulate(logits, reward, dataclasses.replace(dynamics, steps=1), **world).final_logits - logits


# ------------------------------------------------------------------------- the distribution


@pytest.mark.parametrize(("sampler", "warper", "option"), [
    (Sampler(top_p=0.8), "TopPLogitsWarper", 0.8), (Sampler(top_p=0.31), "TopPLogitsWarper", 0.31),
    (Sampler(top_k=3), "TopKLogitsWarper", 3), (Sampler(min_p=0.15), "MinPLogitsWarper", 0.15),
    (Sampler(temperature=0.6), "TemperatureLogitsWarper", 0.6)])
def test_what_is_cut_off_is_what_transformers_cuts_off(sampler, warper, option):
    torch = pytest.importorskip("torch")
    process = pytest.importorskip("transformers.generation.logits_process")
    logits = np.random.default_rng(1).normal(scale=2.0, size=(200, 12))
    cut = getattr(process, warper)(option)(None, torch.tensor(logits))
    np.testing.assert_allclose(policy_of(sampler, logits), torch.softmax(cut, -1).numpy(), atol=1e-15)


def test_what_is_cut_off_in_turn_is_renormalized():
    """Probabilities .4, .3, .2, .1: top-k 3 leaves 4/9, 3/9, 2/9, of which .75 takes two; min-p first."""
    logits = np.log([[0.2, 0.4, 0.1, 0.3]])
    np.testing.assert_allclose(
        policy_of(Sampler(top_k=3, top_p=0.75), logits), [[0, 4 / 7, 0, 3 / 7]], atol=1e-15)
    np.testing.assert_allclose(
        policy_of(Sampler(top_k=3, top_p=0.8), logits), [[2 / 9, 4 / 9, 0, 3 / 9]], atol=1e-15)
    np.testing.assert_allclose(
        policy_of(Sampler(min_p=0.6, top_p=0.99), logits), [[0, 4 / 7, 0, 3 / 7]], atol=1e-15)
    np.testing.assert_allclose(
        policy_of(Sampler(top_k=99), logits), policy_of(Sampler(), logits), rtol=1e-15)


def test_ties_stay_together_and_sums_that_reach_the_share_are_enough():
    """Two of four equal actions reach .5 exactly; which two would be an accident of their order."""
    np.testing.assert_allclose(policy_of(Sampler(top_p=0.5), np.zeros((1, 4))), 0.25)
    np.testing.assert_allclose(policy_of(Sampler(top_k=1), np.zeros((1, 4))), 0.25)
    thirds = np.log([[0.7, 0.1, 0.1, 0.1]])
    assert np.array_equal(policy_of(Sampler(top_p=0.7), thirds) > 0, [[True, False, False, False]])


def test_roundings_are_torchs():
    torch = pytest.importorskip("torch")
    logits = np.concatenate([LOGITS.ravel(), np.arange(-3000, 3000) / 16, [257.0, 259.0]]).astype("f4")
    want = torch.tensor(logits).to(torch.bfloat16).to(torch.float64).numpy()
    np.testing.assert_array_equal(
        policy_of(Sampler(rounding="bfloat16"), logits.astype(float)), policy_of(Sampler(), want))
    for row in LOGITS.reshape(-1, 7):
        scale = np.abs(row).max() / 127
        want = torch.fake_quantize_per_tensor_affine(
            torch.tensor(row, dtype=torch.float32), scale, 0, -127, 127).numpy()
        np.testing.assert_allclose(
            policy_of(Sampler(rounding="int8"), row), policy_of(Sampler(), want), rtol=1e-5)
    zeros = np.zeros((1, 3))
    np.testing.assert_allclose(policy_of(Sampler(rounding="int8"), zeros), 1 / 3)
    shifted = LOGITS + 100.0
    both = [Sampler(rounding="bfloat16", rounded=what) for what in ("logits", "log-probabilities")]
    assert np.abs(policy_of(both[0], shifted) - policy_of(both[0])).max() > 0.01
    np.testing.assert_allclose(policy_of(both[1], shifted), policy_of(both[1]), atol=0.02)


def test_noise_is_normal_and_new_for_each_batch_run_and_action():
    lanes = noise_lanes(np.arange(40), 5, 300)
    found = np.stack([normal(np, *(uniforms(lane, batch_key(seed, batch)) for lane in lanes))
                      for seed, batch in ((0, 1), (0, 2), (1, 1))])
    assert stats.kstest(found.ravel(), "norm").pvalue > 0.01
    assert len(np.unique(found)) == found.size
    # Independent: no correlation, between batches or between neighbours, beyond chance.
    for x, y in ((found[0], found[1]), (found[0], found[2]), (found[..., :-1], found[..., 1:])):
        assert abs(np.corrcoef(x.ravel(), y.ravel())[0, 1]) < 5 / math.sqrt(x.size)


# ----------------------------------------------------------------------- expectations, exactly


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_without_correction_the_step_at_a_temperature_is_the_tabular_formula(temperature):
    """eta (1_A mu - mu(A) pi) with mu = pi^T, as written apart for AEPO's Theorem 4.3; states weigh the
    same."""
    found = one_step(Dynamics(
        rule=get("reinforce"), learning_rate=RATE, sampler=Sampler(temperature=temperature)))
    expected = entropy_change.tempered_reinforce_step(LOGITS, CORRECT, temperature, RATE / 2)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)


def test_tempered_rows_alone_are_the_samplers_temperature():
    """AEPO's Figure 2 in two ways: a second batch without a first, and a hot engine."""
    for engine in ("numpy", "compiled"):
        dynamics = Dynamics(rule=get("reinforce"), learning_rate=RATE, steps=30, engine=engine)
        found = [simulate(LOGITS, CORRECT, dataclasses.replace(dynamics, **of)).final_logits for of in (
            {"temperature": 0.6}, {"sampler": Sampler(temperature=0.6)},
            {"temperature": 0.6, "sampler": Sampler()})]
        for other in found[1:]:
            np.testing.assert_allclose(other, found[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["temperature", "bfloat16", "int8", "noise", "old"])
def test_full_importance_weights_give_the_on_policy_run(name):
    """E_mu[pi/mu f] = E_pi[f] wherever mu draws all that pi does."""
    dynamics = Dynamics(rule=Reweighted(base=get("reinforce")), learning_rate=RATE, steps=40)
    on_policy = simulate(LOGITS, CORRECT, dataclasses.replace(dynamics, rule=get("reinforce")))
    for rule, least in ((dynamics.rule, 0), (get("reinforce"), 1e-4)):
        found = simulate(LOGITS, CORRECT, dataclasses.replace(
            dynamics, rule=rule, sampler=SAMPLERS[name]))
        gap = np.abs(found.final_logits - on_policy.final_logits).max()
        assert gap > least if least else gap < 1e-12


def test_a_cut_tail_has_no_gradient_and_no_weight_brings_it_back():
    """Reward on what top-p cuts off alone: nothing is learnt; elsewhere weights give pi's part of it."""
    sampler = Sampler(top_p=0.9)
    tail = policy_of(sampler) == 0
    assert tail.any(axis=-1).all()
    assert (~tail).sum(axis=-1).min() > 1
    for rule in (get("reinforce"), Reweighted(base=get("reinforce"))):
        dynamics = Dynamics(rule=rule, learning_rate=RATE, sampler=sampler)
        np.testing.assert_array_equal(one_step(dynamics, reward=tail), 0)
    assert np.abs(one_step(Dynamics(rule=get("reinforce"), learning_rate=RATE), reward=tail)).max() > 0
    found = one_step(Dynamics(
        rule=Reweighted(base=get("reinforce")), learning_rate=RATE, sampler=sampler))
    kept = softmax(LOGITS) * CORRECT * ~tail
    expected = RATE / 2 * (kept - softmax(LOGITS) * kept.sum(axis=-1, keepdims=True))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)


def test_a_stale_sampler_is_the_policy_of_so_many_steps_before():
    """Three steps behind, the start's until there are three: stepped by hand."""
    logits, past = LOGITS, [LOGITS] * 3
    for _ in range(8):
        mu, pi = softmax(past[-1]), softmax(logits)
        step = RATE / 2 * (mu * CORRECT - pi * (mu * CORRECT).sum(axis=-1, keepdims=True))
        past, logits = [logits, *past[:-1]], logits + step
    for engine in ("numpy", "compiled"):
        found = simulate(LOGITS, CORRECT, Dynamics(
            rule=get("reinforce"), learning_rate=RATE, steps=8, sampler=Sampler(steps_old=3),
            engine=engine))
        np.testing.assert_allclose(found.final_logits, logits, rtol=0, atol=1e-14)


# ------------------------------------------------------------------ the batch, and what is drawn


def block(dynamics, **world):
    task = Task.checked(LOGITS, CORRECT, dynamics, **world)
    runs = Runs(task)
    runs.draw()
    return runs


def test_a_rule_sees_the_sampler_in_one_column_and_the_weights():
    sampler = Sampler(temperature=0.8, top_p=0.9)
    mu = sampler.log_probabilities(LOGITS)
    for samples in (None, Samples(group_size=500)):
        batch = block(Dynamics(rule=get("grpo"), sampler=sampler, samples=samples)).token_batch()
        at = np.arange(4)[:, None, None], batch.state, batch.action
        np.testing.assert_array_equal(batch.sampling_log_prob, mu[at])
        np.testing.assert_allclose(batch.log_prob, log_softmax(LOGITS)[at], rtol=1e-14)
        np.testing.assert_array_equal(batch.old_log_prob, batch.log_prob)
        assert np.isneginf(batch.sampling_log_prob).any() == (samples is None)
        expected = np.exp(mu[at]) / 2 if samples is None else 1 / 1000
        np.testing.assert_allclose(batch.weight, np.broadcast_to(expected, batch.weight.shape))
        assert (batch.sampling_temperature == 1).all()
        assert not batch.is_tempered.any()


@pytest.mark.parametrize("name", SAMPLERS)
def test_draws_are_the_samplers(name):
    """Chi-square on 20,000 draws a state; what is cut off is never drawn."""
    runs = block(Dynamics(rule=get("grpo"), sampler=SAMPLERS[name], samples=Samples(group_size=20_000)))
    mu = np.exp(runs.sampling[ORDINARY])
    counts = np.stack([(runs.draws[ORDINARY] == a).sum(axis=-1) for a in range(7)], axis=-1)
    assert (counts[mu == 0] == 0).all()
    expected = 20_000 * np.where(mu > 0, mu, 1)
    chi = np.where(mu > 0, (counts - 20_000 * mu) ** 2 / expected, 0).sum()
    assert stats.chi2.sf(chi, (mu > 0).sum() - 8) > 1e-4


def test_a_second_batch_has_its_own_temperature_and_all_else_of_the_sampler():
    """AEPO's: the request sets the temperature, the engine that answers cuts, lags and rounds it too."""
    rule = get("aepo", target=0.9)
    runs = block(Dynamics(rule=rule, sampler=Sampler(temperature=0.8, top_p=0.9)))
    batch = runs.token_batch()
    degree = runs.temperature
    assert (degree != 1).all()
    second = np.stack([Sampler(temperature=t, top_p=0.9).log_probabilities(logits)
                       for t, logits in zip(degree, LOGITS, strict=True)])
    expected = (Sampler(temperature=0.8, top_p=0.9).log_probabilities(LOGITS), second)
    for rows, mu in zip((batch.is_ordinary, batch.is_tempered), expected, strict=True):
        np.testing.assert_allclose(
            batch.sampling_log_prob[rows].reshape(LOGITS.shape), mu, rtol=1e-14)
        np.testing.assert_allclose(batch.weight[rows].reshape(LOGITS.shape), np.exp(mu) / 2)
    np.testing.assert_array_equal(np.unique(batch.sampling_temperature), np.unique([1.0, *degree]))
    assert set(runs.sampling) == {ORDINARY, TEMPERED}


# ------------------------------------------------------------------------------- the engines

PROMPTS = Bandit(n_actions=6, n_correct=2, accuracies=(0.1, 0.5))
RULES = {"grpo": get("grpo"), "kl": get("reference-kl", coefficient=0.2),
         "aepo": get("aepo", target=0.9), "reweighted": Reweighted(base=get("grpo"))}
EVERY_DAY = {("grpo", "all", False), ("aepo", "all", True), ("reweighted", "top-p", False),
             ("reweighted", "noise", True), ("kl", "old", True), ("grpo", "int8", True)}


@pytest.mark.parametrize(("rule", "name", "sampled"), [
    pytest.param(rule, name, sampled, marks=() if (rule, name, sampled) in EVERY_DAY
                 else pytest.mark.deep)
    for rule in RULES for name in SAMPLERS for sampled in (False, True)])
def test_the_compiled_engine_takes_numpys_steps(rule, name, sampled):
    pytest.importorskip("llvmlite")
    dynamics = Dynamics(
        rule=RULES[rule], sampler=SAMPLERS[name], learning_rate=RATE, steps=60, record_every=17, seed=2,
        samples=Samples(group_size=6, tempered=4) if sampled else None)
    start = PROMPTS.starts(5, seed=0)
    compiled, numpy = (simulate(start, PROMPTS.reward, dataclasses.replace(dynamics, engine=engine))
                       for engine in ("compiled", "numpy"))
    np.testing.assert_allclose(compiled.final_logits, numpy.final_logits, rtol=0, atol=1e-10)
    on_policy = simulate(start, PROMPTS.reward, dataclasses.replace(dynamics, sampler=None))
    assert np.abs(on_policy.final_logits - numpy.final_logits).max() > 1e-4


def test_long_states_many_runs_and_adam_together():
    """Vectors along actions (100 of them), runs side by side, all that is carried from step to step."""
    pytest.importorskip("llvmlite")
    for problem, n_runs in ((Bandit(n_actions=100, n_correct=5), 2), (PROMPTS, 40)):
        start = problem.starts(n_runs, seed=0)
        compiled, numpy = (simulate(start, problem.reward, Dynamics(
            rule=get("grpo"), sampler=SAMPLERS["all"], optimizer=Adam(eps=1e-4), samples=Samples(),
            learning_rate=0.03, steps=40, seed=2, engine=engine)) for engine in ("compiled", "numpy"))
        np.testing.assert_allclose(compiled.final_logits, numpy.final_logits, rtol=0, atol=1e-10)


@pytest.mark.parametrize("rule", ["grpo", "aepo", "entropy-bonus"])
@pytest.mark.parametrize("name", ["top-p", "all"])
def test_summed_rows_are_all_rows(rule, name):
    """On bandits, and on trees by a recursion."""
    rule = get(rule, **({"coefficient": 0.1} if rule == "entropy-bonus" else {"target": 0.9}
                        if rule == "aepo" else {}))
    dynamics = Dynamics(rule=rule, sampler=SAMPLERS[name])
    found = block(dynamics)
    assert found.levels is not None
    np.testing.assert_allclose(
        found.direction(), logit_step(LOGITS, found.token_batch(), rule), rtol=0, atol=1e-14)
    tree = TokenProblem(n_tokens=3, horizon=3, n_correct=4, accuracies=(0.2, 0.6))
    runs = TreeRuns(Task.checked(
        tree.starts(3, seed=2), tree.correct, dynamics, tree=tree.tree))
    runs.draw()
    assert runs.levels is not None
    np.testing.assert_allclose(
        runs.direction(), logit_step(runs.logits, runs.token_batch(), rule), rtol=0, atol=1e-14)


def test_responses_are_listed_with_the_samplers_probabilities():
    """A response of several tokens has the product, and with top-p responses of probability 0."""
    problem = TokenProblem(n_tokens=3, horizon=3, n_correct=4, accuracies=(0.2,))
    logits, sampler = problem.starts(2, seed=0), Sampler(temperature=0.7, top_p=0.8)
    mu = sampler.log_probabilities(logits)
    batch = response_batch(logits, problem.correct, tree=problem.tree, sampling_log_prob=mu)
    chance = problem.tree.response_probabilities(np.exp(mu)[:, None])[:, 0]
    assert (chance == 0).any()
    weight = chance / (chance * problem.tree.lengths).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(batch.weight[..., 0], weight, atol=1e-16)
    np.testing.assert_allclose(chance.sum(axis=-1), 1)


def test_sampled_responses_follow_the_sampler_token_by_token():
    problem = TokenProblem(n_tokens=3, horizon=2, n_correct=2, accuracies=(0.4,))
    dynamics = Dynamics(rule=get("grpo"), sampler=Sampler(top_k=1), samples=Samples(group_size=50))
    runs = TreeRuns(Task.checked(problem.starts(2, seed=0), problem.correct, dynamics, tree=problem.tree))
    runs.draw()
    batch = runs.token_batch()
    for run in range(2):
        drawn = {tuple(row) for row in np.where(batch.mask[run], batch.action[run], -1)}
        assert len(drawn) == 1, "the one greedy response"
        state, action = (column[run][batch.mask[run]] for column in (batch.state, batch.action))
        np.testing.assert_array_equal(action, runs.logits[run].argmax(axis=-1)[state])
    assert (batch.sampling_log_prob[batch.mask] == 0).all()


def test_shared_parameters_and_several_steps_on_a_batch():
    """A temperature, on parameters that logits share: the formula's step through the features."""
    features = coupled_features(2, 7, 0.4, rank=3)
    dynamics = Dynamics(rule=get("reinforce"), learning_rate=RATE, sampler=Sampler(temperature=2.0))
    step = entropy_change.tempered_reinforce_step(LOGITS, CORRECT, 2.0, RATE / 2).reshape(4, -1)
    np.testing.assert_allclose(
        one_step(dynamics, features=features).reshape(4, -1), step @ features @ features.T, atol=1e-14)
    # The second step on a batch has the weights of the first one's sampler.
    runs = block(dataclasses.replace(dynamics, steps_per_batch=2))
    weight = runs.rows().weight
    runs.advance(1, measured=False)
    runs.evaluate()
    runs.draw()
    np.testing.assert_array_equal(runs.rows().weight, weight)
    assert np.abs(runs.rows().log_prob - runs.rows().old_log_prob).max() > 0.01


def test_the_forecast_of_a_mismatched_batch_is_the_measured_change():
    run = simulate(LOGITS, CORRECT, Dynamics(
        rule=get("grpo"), learning_rate=1e-5, steps=3, record_every=1, sampler=SAMPLERS["top-p"]),
        record=Record(forecasts=True))
    found = run.forecasts
    assert np.abs(found.measured).min() > 1e-8
    for column in (found.coefficients, found.first_order, found.exact):
        np.testing.assert_allclose(column, found.measured, rtol=2e-4)


def test_noise_does_not_depend_on_the_other_runs_of_a_block():
    dynamics = Dynamics(rule=get("grpo"), sampler=Sampler(noise=0.5), steps=5, learning_rate=RATE)
    whole = simulate(LOGITS, CORRECT, dynamics).final_logits
    part = simulate(LOGITS[1:3], CORRECT, dynamics.take_runs(4, slice(1, 3))).final_logits
    np.testing.assert_allclose(part, whole[1:3], rtol=0, atol=1e-14)
    other = simulate(LOGITS, CORRECT, dataclasses.replace(dynamics, seed=1)).final_logits
    assert np.abs(other - whole).max() > 1e-3


def test_jax_refuses_what_it_does_not_know():
    pytest.importorskip("jax")
    for options, message in (({"sampler": Sampler()}, "its sampler departs from the policy"),
                             ({"optimizer": Adam()}, "its optimizer is another than plain")):
        with pytest.raises(ValueError, match=message):
            simulate(LOGITS, CORRECT, Dynamics(rule=get("grpo"), steps=1, engine="jax", **options))
