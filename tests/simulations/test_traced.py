"""Rules compiled from their own array code: the same runs as NumPy's, or NumPy's own with the reason.

Sampled runs and rules that select tokens jump where two numbers are compared. Starts, rewards and
learning rates are drawn from continuous distributions, so that no comparison is within rounding of a tie;
where it were, runs would part by far more than the tolerance, which would fail the test.
"""

import math
from dataclasses import field

import numpy as np
import pytest

from entropy_theory.policy import namespace
from entropy_theory.update_rules import combine, get
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.modifier import Modifier
from entropy_theory.update_rules.rule import Needs, update_rule
from simulations.engine import Dynamics, Samples, simulate
from simulations.engine.runs import Runs
from simulations.engine.task import Task

pytest.importorskip("llvmlite")

from simulations.engine.block import RefusedError
from simulations.engine.traced import machine, traced_runs
from simulations.engine.traced.arrays import Trace
from simulations.engine.traced.functions import NAMESPACE
from simulations.engine.traced.intervals import Interval
from simulations.engine.traced.plan import Step
from simulations.engine.traced.program import program
from simulations.engine.traced.traced_runs import TracedRuns

SAMPLES = Samples(group_size=5, tempered=7)
N_RUNS = 19
"""A group of runs and a part of one."""


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def task(rule, *, samples=None, n_states=1, n_actions=7, graded=False, scale=1.0, **dynamics):
    generator = np.random.default_rng(7)
    start = generator.normal(scale=scale, size=(N_RUNS, n_states, n_actions))
    reward = generator.random((1, n_states, n_actions)) if graded else np.arange(n_actions) < 2
    dynamics = {"steps": 1000, "learning_rate": tuple(np.linspace(0.05, 0.5, N_RUNS))} | dynamics
    return Task.checked(start, reward, Dynamics(rule=rule, samples=samples, **dynamics))


def run_both(problem, steps=120, tolerance=1e-10):
    """Both after so many steps; what they measured must agree. Errors of rounding are 1e-16 a step."""
    ours, numpys = TracedRuns(problem), Runs(problem)
    for part in (steps // 3, steps - steps // 3):
        found = ours.advance(part, measured=True)
        expected = numpys.advance(part, measured=True)
        for name in ("entropy", "reward", "temperature"):
            np.testing.assert_allclose(
                getattr(found, name), getattr(expected, name), rtol=0, atol=tolerance, err_msg=name)
        np.testing.assert_allclose(ours.logits, numpys.logits, rtol=0, atol=tolerance)
    ours.evaluate()
    numpys.evaluate()
    for mine, other in ((ours.coefficient, numpys.coefficient), (ours.temperature, numpys.temperature)):
        assert (mine is None) == (other is None)
        if other is not None:
            np.testing.assert_allclose(mine, other, rtol=0, atol=tolerance)
    return ours


RULES = {
    "natural-gradient": get("natural-gradient"),
    "entropy-advantage": get("entropy-advantage"),
    "aent": get("aent", coefficient=0.1, removed_fraction=0.4, warm_up_steps=20, coefficient_step=0.05,
                coefficient_high=0.5, entropy_low=0.6, entropy_high=0.7),
    "sum": combine(get("reinforce"), get("aepo", base=get("clip-cov", ratio=0.2, lower=-0.3))),
}


@pytest.mark.parametrize(("name", "samples"), [
    ("natural-gradient", None), ("aent", None), ("entropy-advantage", SAMPLES), ("sum", SAMPLES)])
def test_several_prompts_with_graded_rewards(name, samples):
    """Means over a prompt's rows, and over all, would be mixed up."""
    assert run_both(task(RULES[name], samples=samples, n_states=3, graded=True)).left is None


@pytest.mark.parametrize("name", ["aent", "natural-gradient"])
def test_policies_near_collapse(name):
    """Gaps of up to 100 nats: probabilities underflow, logarithms must not, and ties of the smallest
    logits decide what the clamped entropy keeps."""
    problem = task(RULES[name], scale=30.0, n_actions=6)
    problem.logits[:, :, 3] = problem.logits[:, :, 4] = problem.logits.min()
    assert run_both(problem, tolerance=1e-9).left is None


def test_options_that_runs_do_not_share():
    """Numbers one a run reach the right runs, and moving targets the right steps."""
    alphas = tuple(np.linspace(0.0, 1.5, N_RUNS))
    rule = get("aepo", alpha=alphas, base=get("reference-kl", coefficient=alphas))
    targets = np.linspace(0.3, 1.5, N_RUNS)
    run_both(task(rule, targets=tuple(targets)))
    run_both(task(rule, samples=SAMPLES,
                  target_schedule=lambda step: targets * (1 + 0.3 * math.sin(step / 9))))
    run_both(task(get("reinforce"), temperature=tuple(np.linspace(0.7, 1.3, N_RUNS)), samples=SAMPLES))


# --------------------------------------------------------------------------------- users' rules


@update_rule("users")
class Users(Modifier):
    """A rule that changes its base's scores by a function of them and the batch."""

    _needs = Needs(columns=("entropy",), reads={"step", "seed", "log_prob", "old_log_prob", "sequence"})
    change: object = None
    base: object = field(default_factory=Grpo)

    def _scores(self, batch):
        return self.change(self.base.scores(batch), batch)


def fading(scores, batch):
    return max(0.0, 1 - batch.step / 40) * scores


def with_numpy(scores, batch):
    rare = np.where(batch.log_prob < np.log(0.1), 0.5, np.minimum(1.0, -batch.log_prob))
    return scores * rare / np.sqrt(1 + np.square(batch.entropy))


def in_place(scores, batch):
    shaped = scores.copy()
    shaped *= np.exp(batch.log_prob)
    shaped += 0.1 * np.sign(scores)
    return shaped


def sorted_scores(scores, batch):
    xp = namespace(scores)
    order = xp.argsort(batch.log_prob[..., 0], axis=-1, stable=True)
    ranked = xp.take_along_axis(xp.cumulative_sum(scores[..., 0], axis=-1), order, axis=-1)
    return scores + 0.1 * ranked[..., None]


def keyed_noise(scores, batch):
    xp = namespace(scores)
    bits = (xp.astype(batch.sequence, xp.int64) * 1_000_003 + batch.step * 7919) % 1024
    return scores * (1 + xp.astype(bits, scores.dtype) / 1024)


def early_and_late(scores, batch):
    return scores if batch.step < 25 else 0.5 * scores


@pytest.mark.parametrize(
    "change", [fading, with_numpy, in_place, sorted_scores, keyed_noise, early_and_late],
    ids=lambda change: change.__name__)
def test_users_rules(change):
    """Python's conditions on the step, NumPy's functions and changes in place mean what they say; a
    condition that were taken for granted would show after it flips."""
    assert run_both(task(Users(change=change), samples=SAMPLES)).left is None


def asks_each_time(scores, batch):
    return scores * np.random.random()  # noqa: NPY002 (a mistake)


def remembers(scores, batch, seen=[]):  # noqa: B006 (a mistake)
    seen.append(scores)
    return scores + seen[0]


def over_runs(scores, batch):
    return scores - scores.mean(axis=0, keepdims=True)


def loops_over_rows(scores, batch):
    return scores * sum(float(x) for x in batch.weight.reshape(-1))


def by_unique_values(scores, batch):
    return scores * len(np.unique(batch.log_prob))


def verdict_as_a_number(scores, batch):
    return np.where(np.any(batch.entropy < 5), 2 * scores, scores)


def some_runs_only(scores, batch):
    return scores * 2 if np.any(batch.entropy < 1.2) else scores


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (asks_each_time, "returns other scores"),
        (remembers, "left from an earlier step"),
        (over_runs, "over runs"),
        (loops_over_rows, "mixes the runs"),
        (by_unique_values, "unique_values"),
        (verdict_as_a_number, "a condition on all runs"),
        (some_runs_only, "some of the runs"),
    ],
    ids=lambda value: getattr(value, "__name__", ""))
def test_what_cannot_be_traced_is_left_to_numpy(change, reason):
    """Each would otherwise be compiled into another rule."""
    runs = TracedRuns(task(Users(change=change)))
    assert not runs._trace()
    assert reason in runs.left


def test_a_rule_that_raises_in_a_later_step_raises_it_alike():
    """The condition under which it raises is a guard; what it says is its own."""
    def stops(scores, batch):
        if bool(np.any(batch.entropy < 0.5)):
            raise ValueError(f"too sure in step {batch.step}")
        return scores

    assert messages(task(Users(change=stops)), 900) not in ("", "too sure in step 0")


def messages(problem, steps):
    """What both say when they take so many steps, which is the same."""
    told = []
    for kind in (Runs, TracedRuns):
        with pytest.raises(ValueError, match="in step") as error:
            kind(problem).advance(steps, measured=False)
        told.append(str(error.value))
    assert told[0] == told[1]
    return told[0]


def test_divergence_is_reported_alike():
    assert "diverged" in messages(
        task(get("entropy-bonus", coefficient=1e200), learning_rate=1e200), 40)


def test_a_simulation_is_traced_by_blocks():
    """Block by block in threads, measured at the end and recorded in between; where runs stand in a block
    must not matter to the constants that they do not share."""
    start = np.random.default_rng(3).normal(size=(150, 1, 6))
    rule = get("aent", coefficient=tuple(np.linspace(0.0, 0.2, 150)), adaptive=False)
    found, expected = (
        simulate(start, np.arange(6) < 2, Dynamics(
            rule=rule, steps=90, record_every=40, tail=25, samples=SAMPLES, engine=engine))
        for engine in ("compiled", "numpy"))
    for name in ("final_logits", "entropy", "reward", "tail_entropy", "tail_spread"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=0, atol=1e-10, err_msg=name)


@pytest.mark.parametrize(("rule", "samples"), [("aepo", SAMPLES), ("entropy-advantage", None)])
def test_many_prompts_share_a_loop_over_states(rule, samples):
    """2,400 logits: prompts follow one another, and what all of them share is found before and after."""
    run_both(task(get(rule), samples=samples, n_states=120, n_actions=20, scale=2.0), steps=40)


def test_the_engine_refuses_before_it_starts():
    """A reason that shows at once is told to whoever chooses the engine."""
    with pytest.raises(RefusedError, match="unique_values"):
        traced_runs.of(task(Users(change=by_unique_values)))
    with pytest.raises(RefusedError, match="an order of 1100 numbers"):
        traced_runs.of(task(get("aent"), n_actions=1100))
    with pytest.raises(RefusedError, match="1100000 actions"):
        traced_runs.of(Task.checked(
            np.zeros((1, 1, 1_100_000)), np.arange(1_100_000) < 2, Dynamics(rule=get("grpo"))))
    with pytest.raises(RefusedError, match="several optimizer steps"):
        traced_runs.of(task(get("kl-cov"), steps_per_batch=2, samples=SAMPLES))


def test_options_are_no_part_of_the_code():
    """Another number for an option must not be compiled again; a sweep would take minutes."""
    digests = {
        traced_runs._written(traced_runs.traced_step(
            Runs(task(get("clip-cov", ratio=0.3, lower=lower, upper=5), seed=seed)),
            asked_again=False), 6).digest
        for lower, seed in ((-0.3, 3), (-0.4, 4))}
    assert len(digests) == 1


# --------------------------------------------------------------------------------- operations


def evaluated(function, values, lanes=16, narrow=False):
    """What machine code makes of a function of one column [runs, numbers]."""
    trace = Trace(len(values))
    column = trace.input("logits", values, Interval())
    result = NAMESPACE.broadcast_to(function(column), values.shape)
    written = program(Step(
        graph=trace.graph, n_logits=values.shape[1], n_states=1, along_actions=lanes == 1, narrow=narrow,
        logits=result.recorded, memory=(), measured=(), choices=()), lanes)
    code = traced_runs._Code(
        program=written, call=machine.function(written), by_run=np.zeros((len(values), 1)), choices=())
    if written.by_run:
        code = traced_runs.dataclasses.replace(code, by_run=np.concatenate(written.by_run, axis=1))
    out = code.packed(values, written.dtype)
    code(out, code.packed(np.zeros((len(values), 1))), np.zeros((1, len(values))), 1, 0, False, False)
    return code.unpacked(out)


EDGES = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 5e-324, 709.0, 710.0, -745.0, -746.0, 1e308,
                  math.inf, -math.inf, math.nan, -0.3, -0.29, -0.999, 0.41, 3.7, -3.7])


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize(
    ("name", "ulps"),
    [("exp", 2), ("log", 2), ("log1p", 2), ("expm1", 2), ("sqrt", 0), ("tanh", 2), ("floor", 0),
     ("ceil", 0), ("sign", 0), ("abs", 0), ("square", 0), ("log2", 3), ("log10", 3)])
def test_functions_of_one_number(name, ulps, lanes):
    """At zeros, infinities, NaN, subnormal numbers and where formulas change; and at random."""
    generator = np.random.default_rng(1)
    values = np.concatenate([EDGES, generator.normal(size=80), 10 ** generator.uniform(-300, 300, 55)])
    values = values.reshape(4, -1)
    found = evaluated(getattr(NAMESPACE, name), values, lanes)
    with np.errstate(all="ignore"):
        expected = {"abs": np.abs}.get(name, getattr(np, name, None))(values)
    same = np.isclose(found, expected, rtol=ulps * 2.3e-16, atol=5e-324 * (ulps > 0), equal_nan=True)
    assert same.all(), (values[~same], found[~same], expected[~same])


@pytest.mark.parametrize(("narrow", "low", "high"), [(False, -760, 600), (True, -115, 60)])
def test_exp_over_the_whole_range(narrow, low, high):
    """Within 1.2 units in the last place, subnormal numbers and what lies below them included."""
    generator = np.random.default_rng(0)
    dtype = np.float32 if narrow else np.float64
    x = np.concatenate([
        generator.uniform(low, 0, 20_000), generator.uniform(0, high, 5_000),
        generator.normal(size=5_000), -(2.0 ** generator.uniform(-60, 3, 5_000)),
        [0.0, -np.inf, np.nan, -1e30]]).astype(dtype)
    found = evaluated(NAMESPACE.exp, x[None].astype(float), 1, narrow)[0]
    expected = np.exp(x.astype(np.longdouble))
    ulp = np.spacing(np.maximum(expected.astype(dtype), np.finfo(dtype).smallest_subnormal))
    assert np.all(np.abs(found - expected)[:-3] <= 1.2 * ulp[:-3])
    np.testing.assert_array_equal(found[-3:], [0, np.nan, 0])


@pytest.mark.parametrize("lanes", [1, 16])
def test_reductions_and_orders(lanes):
    """Ties, NaN and infinities: where the largest is, in which order equal numbers stand."""
    values = np.random.default_rng(2).integers(-2, 3, size=(20, 9)).astype(float)
    values[:5, 4], values[3:8, 2], values[6:9, 7] = math.nan, math.inf, math.nan
    xp = NAMESPACE
    for function in (
        lambda x, np=np: np.max(x, axis=-1, keepdims=True),
        lambda x, np=np: np.min(x, axis=-1, keepdims=True),
        lambda x, np=np: np.argmax(x, axis=-1, keepdims=True) * 1.0,
        lambda x, np=np: np.any(x > 1, axis=-1, keepdims=True) * 1.0,
        lambda x, np=np: np.all(x > -2, axis=-1, keepdims=True) * 1.0,
        lambda x, np=np: np.argsort(x, axis=-1, stable=True) * 1.0,
        lambda x, np=np: np.argsort(np.argsort(x, axis=-1, stable=True), axis=-1, stable=True) * 1.0,
        lambda x, np=np: np.clip(x, -1.0, 1.0),
        lambda x, np=np: np.where(np.isnan(x), -7.0, np.maximum(x, 0.5)),
        lambda x, np=np: x[..., ::-1] - np.concatenate([x[..., 3:], x[..., :3]], axis=-1)
        if np is not xp else x[..., ::-1] - np.concat([x[..., 3:], x[..., :3]], axis=-1),
    ):
        with np.errstate(all="ignore"):
            expected = np.broadcast_to(function(values), values.shape)
        found = evaluated(lambda x, f=function: f(x, xp), values, lanes)
        np.testing.assert_array_equal(found, expected)


# --------------------------------------------------------------------------------------- cache


def test_machine_code_is_kept_and_a_broken_file_is_made_again(tmp_path, monkeypatch):
    """A second process must not compile, and must not run half a file."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    values = np.ones((3, 2))
    unusual = 0.123 + np.arange(2)

    def double():
        machine._LOADED.clear()
        return evaluated(lambda x: x * unusual, values)

    expected = values * unusual
    np.testing.assert_array_equal(double(), expected)
    (path,) = machine.cache_folder().iterdir()
    compiled = []
    compile_ = machine._compile
    monkeypatch.setattr(machine, "_compile", lambda *a: compiled.append(1) or compile_(*a))
    np.testing.assert_array_equal(double(), expected)
    assert not compiled
    path.write_bytes(path.read_bytes()[:-9])
    np.testing.assert_array_equal(double(), expected)
    assert compiled == [1]
    monkeypatch.setattr(machine, "cache_folder", lambda: path / "no folder")
    np.testing.assert_array_equal(double(), expected)
