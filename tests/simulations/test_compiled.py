"""The compiled path: the same steps as NumPy's, or a refusal with its reason; never another rule."""

import dataclasses
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from entropy_theory.controllers import TemperatureSwitch
from entropy_theory.policy import entropy
from entropy_theory.rounding import TOLERANCE
from entropy_theory.update_rules import combine, get
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.rule import Needs, update_rule
from simulations.engine import Dynamics, engines, simulate
from simulations.engine.block import RefusedError
from simulations.engine.compiled import compilation
from simulations.engine.compiled.tables import _read, polynomials
from simulations.engine.sampling import Samples
from simulations.problems import Bandit
from tests.tolerances import FLOAT64

numba = pytest.importorskip("numba")
kernels = pytest.importorskip("simulations.engine.compiled.kernels")


@pytest.fixture(scope="module", autouse=True)
def tables_alone():
    """Without the engine that traces rules, which would take what the tables refuse."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines, "COMPILED", (compilation.of,))
        yield


G8 = get("grpo", group_size=8)
EXACT = {
    "policy gradient": get("reinforce"),
    "GRPO": G8,
    "GRPO, infinite group": get("grpo"),
    "AEPO": get("aepo", target=0.6, base=G8),
    "AEPO over positives": get("aepo", target=0.6, base=G8, normalize="positives"),
    "AEPO, advantage": get("aepo", target=0.6, base=get("grpo"), ablation="advantage"),
    "entropy bonus": get("entropy-bonus", coefficient=0.15, base=G8),
    "AEPO and a bonus": get("aepo", base=get("entropy-bonus", coefficient=0.05, base=G8)),
    "sum": combine(get("reinforce"), get("aepo", base=G8)),
}
SAMPLED = {
    "policy gradient": get("reinforce"),
    "GRPO": get("grpo"),
    "GRPO over G - 1": get("grpo", std_ddof=1),
    "RLOO": get("grpo", estimator="leave-one-out"),
    "AEPO": get("aepo", target=0.6),
    "entropy bonus": get("entropy-bonus", coefficient=0.15),
}
COLUMNS = ("final_logits", "entropy", "reward", "temperature", "entropy_within_correct",
           "covariance", "covariance_pg", "distinct_answers", "pass_at_k", "response_length",
           "entropy_by_state", "reward_by_state", "covariance_by_state", "coefficient",
           "tail_entropy", "tail_reward", "tail_spread", "tail_switches")


def both(start, correct, dynamics):
    return [simulate(start, correct, dataclasses.replace(dynamics, engine=engine))
            for engine in ("numpy", "compiled")]


def assert_same(numpy_run, compiled_run, atol=1e-10):
    """Rounding is 1e-16 a step and grows little in a few hundred steps."""
    for name in COLUMNS:
        np.testing.assert_allclose(
            getattr(compiled_run, name), getattr(numpy_run, name), rtol=0, atol=atol, err_msg=name)


@pytest.mark.parametrize("n_actions", [7, 300])
@pytest.mark.parametrize("accuracies", [(None,), (0.1, 0.6)])
@pytest.mark.parametrize(
    ("rule", "samples"),
    [(rule, None) for rule in EXACT.values()]
    + [(rule, Samples(group_size=5, tempered=9)) for rule in SAMPLED.values()],
    ids=[f"{name}, exact" for name in EXACT] + [f"{name}, sampled" for name in SAMPLED],
)
def test_every_rule_on_short_and_long_rows(rule, samples, n_actions, accuracies):
    """Short rows and long ones; several records, a tail, odd block ends."""
    problem = Bandit(n_actions=n_actions, n_correct=3, accuracies=accuracies)
    n_runs = 37 if n_actions < 64 else 3
    dynamics = Dynamics(
        rule=rule, steps=150, record_every=40, tail=33, samples=samples, seed=5,
        learning_rate=tuple(np.linspace(0.1, 0.7, n_runs).tolist()))
    if "normalize='positives'" in repr(rule) and len(accuracies) > 1:
        with pytest.raises(ValueError, match="compares the states"):
            simulate(problem.starts(n_runs, seed=1), problem.correct,
                     dataclasses.replace(dynamics, engine="compiled"))
        return
    assert_same(*both(problem.starts(n_runs, seed=1), problem.correct, dynamics))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_problem_gives_the_same_run(data):
    n_actions = data.draw(st.sampled_from([2, 3, 8, 33, 64, 65, 130, 700]), "actions")
    n_runs = data.draw(st.integers(1, 4 if n_actions > 64 else 40), "runs")
    n_states = data.draw(st.sampled_from([1, 1, 2, 3]), "states")
    seed = data.draw(st.integers(0, 2**20), "seed")
    is_sampled = data.draw(st.booleans(), "sampled")
    rules = SAMPLED if is_sampled else {k: v for k, v in EXACT.items() if "positives" not in k}
    rule = rules[data.draw(st.sampled_from(sorted(rules)), "rule")]
    generator = np.random.default_rng(seed)
    start = generator.normal(scale=data.draw(st.sampled_from([0.0, 1.0, 8.0])),
                             size=(n_runs, n_states, n_actions))
    correct = generator.random((n_runs, n_states, n_actions)) < 0.4
    if n_actions > 64:  # right answers in one piece: scattered ones are refused
        correct[:] = np.arange(n_actions) // 7 == generator.integers(n_actions // 7)
    correct[..., 0] |= ~correct.any(axis=-1)
    dynamics = Dynamics(
        rule=rule, steps=120, record_every=50, seed=seed, learning_rate=0.3,
        samples=Samples(group_size=4, tempered=3) if is_sampled else None)
    found, compiled = both(start, correct, dynamics)
    # Of the rarer of right and wrong, of probability q = e^-gap, a normed group's scores are 1/sqrt(q).
    # As 1 - p it is known to 1e-16 only: a step is off by that over sqrt(q) (a gap of 27 nats: 1.6e-10).
    gap = float(np.ptp(found.final_logits, axis=-1).max())
    assert_same(found, compiled, max(1e-10, 120 * 0.3 * FLOAT64 * math.exp(gap / 2)))


def test_options_of_each_run_targets_that_move_and_a_fixed_temperature():
    problem = Bandit(n_actions=20, n_correct=4)
    start = problem.starts(12, seed=0)
    alphas = tuple(np.linspace(0, 2, 12).tolist())
    for dynamics in (
        Dynamics(rule=get("aepo", alpha=alphas, base=G8), targets=tuple(np.linspace(0.1, 1.5, 12))),
        Dynamics(rule=get("aepo", base=G8), target_schedule=lambda step: 0.7 + 0.3 * math.sin(step / 9)),
        Dynamics(rule=get("entropy-bonus", coefficient=alphas, base=G8), learning_rate=0.1),
        Dynamics(rule=get("reinforce"), temperature=tuple(np.linspace(0.7, 1.4, 12))),
        Dynamics(rule=get("grpo"), temperature=1.3, samples=Samples()),
    ):
        assert_same(*both(start, problem.correct, dataclasses.replace(dynamics, steps=200)))


def test_rewards_other_than_one_and_all_answers_right():
    start = np.random.default_rng(0).normal(size=(9, 1, 12))
    graded = np.where(np.arange(12) < 4, 0.7, -0.2)[None, None]
    everything = np.ones((1, 1, 12), dtype=bool)
    assert_same(*both(start, graded, Dynamics(rule=get("reinforce"), steps=100)))
    assert_same(*both(start, everything, Dynamics(rule=get("aepo", base=G8), steps=100)))


def test_entropy_keeps_its_digits_at_collapse():
    """A gap of 700 nats leaves an entropy of 1e-301; short and long rows have every digit of it."""
    gaps = np.array([0.0, 1.0, 30.0, 100.0, 700.0] * 4)
    for n_actions in (12, 120):
        start = np.zeros((20, 1, n_actions))
        start[:, 0, 5] = gaps
        dynamics = Dynamics(rule=get("reinforce"), learning_rate=1e-300, steps=1, tail=1,
                            engine="compiled")
        run = simulate(start, np.arange(n_actions) < 3, dynamics)
        np.testing.assert_allclose(run.tail_entropy, entropy(start)[:, 0], rtol=4e-15)


def test_the_largest_logit_may_change_hands():
    """A wrong answer far ahead, and steps so large that right ones overtake it within a few."""
    start = np.zeros((3, 1, 200))
    start[:, 0, 150] = [2.0, 5.0, 6.0]
    dynamics = Dynamics(rule=G8, learning_rate=8.0, steps=60, record_every=1)
    assert_same(*both(start, np.arange(200) < 2, dynamics))


@pytest.mark.parametrize("n_actions", [9, 90])
def test_divergence_is_reported_alike(n_actions):
    start = np.random.default_rng(0).normal(size=(10, 1, n_actions))
    rule = get("entropy-bonus", coefficient=1e200, base=G8)
    dynamics = Dynamics(rule=rule, learning_rate=1e200, steps=40, record_every=1000)
    for engine in ("numpy", "compiled"):
        with pytest.raises(ValueError, match="diverged in step 1: lower the learning rate"):
            simulate(start, np.arange(n_actions) < 2, dataclasses.replace(dynamics, engine=engine))


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch):
    problem = Bandit(n_actions=10, n_correct=2)
    start = problem.starts(150, seed=0)
    dynamics = Dynamics(rule=get("aepo"), samples=Samples(), steps=100, engine="compiled")
    finals = []
    for number in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", number)
        reported = []
        finals.append(simulate(start, problem.correct, dynamics, progress=reported.append))
        assert sum(reported) == 100
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(finals[0], name), getattr(finals[1], name))


@update_rule("fewer")
class FewerActions(Grpo):
    """It sees the state's entropy, and declares nothing."""

    _needs = Needs(columns=("entropy",))

    def _scores(self, batch):
        return Grpo._scores(self, batch) * batch.entropy


@pytest.mark.parametrize(
    ("dynamics", "accuracies", "reason"),
    [
        (Dynamics(rule=get("grpo", estimator="reinforce++")), (0.2, 0.7), "compares the states"),
        (Dynamics(rule=get("grpo", estimator="reinforce++"), samples=Samples()), (0.2, 0.7),
         "compares the states"),
        (Dynamics(rule=get("kl-cov"), steps_per_batch=2, samples=Samples()), (None,),
         "several optimizer steps"),
        (Dynamics(rule=get("natural-gradient")), (None,), "depend on action, log_prob, rows, state"),
        (Dynamics(rule=get("reference-kl", base=G8)), (None,), "depend on log_prob, reference_log_prob"),
        (Dynamics(rule=get("aent", base=G8)), (None,), "adapts a coefficient"),
        (Dynamics(rule=get("clip-cov"), samples=Samples()), (None,),
         "depend on old_log_prob, seed, sequence, step"),
        (Dynamics(rule=FewerActions(), samples=Samples()), (None,), "declares nothing"),
        (Dynamics(rule=get("entropy-bonus", target=0.3, base=G8)), (None,), "adapts a coefficient"),
        (Dynamics(rule=get("aepo", control="proportional", base=G8)), (None,), "two-point switch"),
    ],
    ids=lambda value: getattr(getattr(value, "rule", None), "name", None),
)
def test_what_cannot_be_tabulated_is_refused_with_the_reason(dynamics, accuracies, reason):
    problem = Bandit(n_actions=6, n_correct=2, accuracies=accuracies)
    with pytest.raises(ValueError, match=rf"engine 'compiled' cannot simulate .*{reason}"):
        simulate(problem.starts(2, seed=0), problem.correct,
                 dataclasses.replace(dynamics, steps=2, engine="compiled"))


def test_graded_rewards_and_scattered_right_answers_are_refused():
    start = np.zeros((2, 1, 200))
    dynamics = Dynamics(rule=get("reinforce"), steps=2, engine="compiled")
    with pytest.raises(ValueError, match="answers have 3 different rewards"):
        simulate(start, np.arange(200) % 3, dynamics)
    with pytest.raises(ValueError, match="scattered"):
        simulate(start, np.arange(200) % 2 == 0, dynamics)
    with pytest.raises(ValueError, match="unknown engine 'numba'"):
        Dynamics(rule=get("reinforce"), engine="numba")


def test_auto_takes_numpy_where_it_must(monkeypatch):
    """Long runs of a rule that cannot be compiled; and all runs where numba is not installed."""
    monkeypatch.setattr(engines, "COMPILE_FROM_SECONDS", 0.0)
    problem = Bandit(n_actions=6, n_correct=2)
    start = problem.starts(2, seed=0)
    simulate(start, problem.correct, Dynamics(rule=get("natural-gradient"), steps=5))
    monkeypatch.setattr(compilation.importlib.util, "find_spec", lambda name: None)
    simulate(start, problem.correct, Dynamics(rule=G8, steps=5))
    with pytest.raises(ValueError, match=r"numba is not installed \(pip install"):
        simulate(start, problem.correct, Dynamics(rule=G8, steps=5, engine="compiled"))


def test_the_engine_does_not_import_numba():
    code = "import simulations.engine, sys; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@numba.njit
def _exp(x, out):
    for i in range(x.size):
        out[i] = kernels.exp(x[i])


@numba.njit
def _log1p(x, out):
    for i in range(x.size):
        out[i] = kernels.log1p(x[i])


@pytest.mark.parametrize(("dtype", "low", "high"), [(np.float64, -760, 600), (np.float32, -115, 60)])
def test_exp_over_the_whole_range(dtype, low, high):
    """Within 1.2 units in the last place, subnormal numbers and what lies below them included."""
    generator = np.random.default_rng(0)
    x = np.concatenate([
        generator.uniform(low, 0, 200_000), generator.uniform(0, high, 50_000),
        generator.normal(size=50_000), -(2.0 ** generator.uniform(-60, 3, 50_000)), [0.0],
    ]).astype(dtype)
    found = np.empty_like(x)
    _exp(x, found)
    expected = np.exp(x.astype(np.longdouble))
    ulp = np.spacing(np.maximum(expected.astype(dtype), np.finfo(dtype).smallest_subnormal))
    assert np.all(np.abs(found - expected) <= 1.2 * ulp)
    edge = np.array([-np.inf, np.nan, -1e30], dtype=dtype)
    found = np.empty_like(edge)
    _exp(edge, found)
    np.testing.assert_array_equal(found, [0, np.nan, 0])


def test_log1p_keeps_relative_accuracy():
    x = np.concatenate([[0.0], 2.0 ** np.random.default_rng(0).uniform(-1070, 60, 200_000),
                        np.linspace(0, 3, 50_001)])
    found = np.empty_like(x)
    _log1p(x, found)
    assert np.all(np.abs(found - np.log1p(x)) <= 2 * np.spacing(np.log1p(x)))


def test_tables_are_exact_between_their_nodes_and_refuse_what_is_rough():
    t = 0.5 ** np.random.default_rng(1).uniform(1, 60, 20_000)

    def smooth(t):
        return np.stack([1 / np.sqrt(np.maximum(t, 1e-300) * (1 - t)), (1 - t) ** 62 + t])

    table = polynomials(smooth, 2)
    np.testing.assert_allclose(_read(table, t), smooth(t), rtol=2e-13)
    np.testing.assert_array_equal(polynomials(lambda t: np.ones((1, t.size)), 1), [[[1.0]]])
    with pytest.raises(RefusedError, match="not smooth"):
        polynomials(lambda t: np.where(t > 0.3, 1.0, 2.0)[None], 1)


@pytest.mark.parametrize("engine", [  # (compiling for float32 takes seconds)
    "numpy", pytest.param("compiled", marks=pytest.mark.deep)])
@pytest.mark.parametrize("n_actions", [10, 200])
def test_float32_logits_are_float32_and_near_the_others(engine, n_actions):
    """200 steps of at most 1/2, each rounded at 2^-24 of logits below 8."""
    problem = Bandit(n_actions=n_actions, n_correct=3)
    dynamics = Dynamics(rule=G8, steps=200, engine=engine, precision="float32")
    start = problem.starts(8, seed=0)
    found = simulate(start, problem.correct, dynamics).final_logits
    np.testing.assert_array_equal(found, found.astype(np.float32))
    double = dataclasses.replace(dynamics, precision="float64")
    expected = simulate(start, problem.correct, double).final_logits
    np.testing.assert_allclose(found, expected, atol=200 * 8 * 2.0**-24)
    assert not np.array_equal(found, expected)


@pytest.mark.parametrize("n_actions", [8, 300])
def test_the_compiled_switch_is_the_controller_s(n_actions):
    """At an entropy that is the target, up to rounding, T is T_low, with one above it by more T_high.

    The loops have the comparison of `TemperatureSwitch` a second time. The step tells which temperature
    they took: it is bit for bit that under a far target.
    """
    start = np.random.default_rng(3).normal(size=(9, 1, n_actions))
    rule = get("aepo", base=get("reinforce"))

    def trained(targets):
        return simulate(start, np.arange(n_actions) < 3, Dynamics(
            rule=rule, targets=tuple(targets), steps=1, tail=1, engine="compiled"))

    seen = trained([0.0] * 9).tail_entropy
    places = [0.0, -np.inf, np.inf] * 3
    targets = [h if to == 0 else math.nextafter(h, to) for h, to in zip(seen, places, strict=True)]
    # Either side of the end of what is rounding.
    targets[3:6] = [seen[3] / (1 - TOLERANCE * 1.01), seen[4] / (1 - TOLERANCE * 0.99), 1.001 * seen[5]]
    cold, hot, found = (trained(t).final_logits for t in ([0.0] * 9, [9.0] * 9, targets))
    for run, (target, held) in enumerate(zip(targets, seen, strict=True)):
        chosen = TemperatureSwitch(target=target).observe(held)
        expected = {0.8: cold, 1.2: hot}[float(chosen)][run]
        np.testing.assert_array_equal(found[run], expected)
    assert (cold != hot).any(axis=(1, 2)).all()


@pytest.mark.deep
def test_what_was_just_compiled_and_what_is_read_from_disk_give_the_same_digits(tmp_path):
    """A function that is compiled by itself too rounds otherwise than within the one that calls it."""
    code = (
        "import dataclasses, hashlib\n"
        "import numpy as np\n"
        "from entropy_theory.update_rules import get\n"
        "from simulations.engine import Dynamics, simulate\n"
        "from simulations.engine.sampling import Samples\n"
        "random = np.random.default_rng(0)\n"
        "for rule in ('grpo', 'entropy-bonus', 'aepo'):\n"
        "    for samples in (None, Samples(group_size=8)):\n"
        "        for runs, actions in ((3, 60), (40, 9)):  # long rows and short ones\n"
        "            start = random.normal(size=(runs, 1, actions))\n"
        "            right = np.zeros(start.shape)\n"
        "            right[..., :2] = 1\n"
        "            rule_ = get(rule, **({'coefficient': 0.01} if rule == 'entropy-bonus' else {}))\n"
        "            found = simulate(start, right, Dynamics(steps=200, learning_rate=0.2, rule=rule_,\n"
        "                             samples=samples, engine='compiled'))\n"
        "            for field in dataclasses.fields(found):\n"
        "                value = np.asarray(getattr(found, field.name), dtype=float)\n"
        "                digest = hashlib.sha256(value.tobytes()).hexdigest()[:12]\n"
        "                print(rule, samples is None, actions, field.name, digest)\n"
    )
    lines = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)})
        assert done.returncode == 0, done.stderr
        lines.append(done.stdout.splitlines())
    assert list(tmp_path.rglob("*.nbc"))
    assert len(lines[0]) > 100
    assert lines[0] == lines[1]
