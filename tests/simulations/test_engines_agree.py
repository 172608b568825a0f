"""Every rule means the same in every engine along whole runs, or is refused with a reason.

The reference is the plainest code that can be written (`engine_matrix.plain`): one run after the other,
all rows written out, the rule prepared and asked about them at every step. Where it leads is kept in
``golden.npz``; `make deep` walks one case per rule again. A bug that shows only once
probabilities are small, temperatures have switched or a schedule has moved does not show in a first step.
"""

import dataclasses
import itertools
import re

import numpy as np
import pytest

from entropy_theory.update_rules import get
from simulations.engine import Dynamics, Samples, simulate
from simulations.problems import Bandit
from tests.adversarial_rules import LogProbSensitive, Stateful, TailSensitive, Undeclared
from tests.simulations import engine_matrix
from tests.simulations.engine_matrix import CASES, RUN, Case

pytest.importorskip("llvmlite")
ROUNDING = 1e-10
"""60 steps of logits of a few nats: rounding is 1e-15 a step, and grows at most some 1e4-fold where
scores are normalized by small deviations."""
DEFINED = [case for case in CASES if not engine_matrix.refusal(case)]


def marked(case):
    """Every day: each rule on each kind of problem, exact and sampled by turns, with one step per batch,
    and on sampled bandits with several. The others take three times as long."""
    places = [*engine_matrix.RULE_OF].index(case.rule), [*engine_matrix.KINDS].index(case.kind)
    daily = sum(places) % 2 == case.sampled
    if case.steps_per_batch > 1:
        daily = case.kind == "bandit" and case.sampled
    return pytest.param(case, id=case.name, marks=() if daily else pytest.mark.deep)


EVERY_DAY = [marked(case) for case in DEFINED]
GOLDEN = dict(np.load(engine_matrix.GOLDEN))
DIAGONAL = [next(case for case in DEFINED if case.rule == rule and case.kind == kind
                 and case.sampled == (place % 2 == 1 and not case.dynamics.rule.needs.listing))
            for place, (rule, kind) in enumerate(zip(
                engine_matrix.RULE_OF, itertools.cycle(["bandit", "prompts"]), strict=False))]


def run(case, **changes):
    task = case.task
    dynamics = dataclasses.replace(case.dynamics, **changes)
    return simulate(task.logits, task.reward, dynamics, tree=task.tree, features=task.features)


def test_the_golden_runs_are_those_of_every_case():
    assert set(GOLDEN) == {case.name for case in DEFINED}
    for case in DEFINED:
        moved = np.abs(GOLDEN[case.name] - case.task.logits[RUN]).max()
        assert moved > 0.01, "a run that stands still shows nothing"


@pytest.mark.deep
@pytest.mark.parametrize("case", DIAGONAL, ids=lambda case: case.name)
def test_the_golden_runs_are_the_plain_steps(case):
    np.testing.assert_allclose(engine_matrix.plain(case), GOLDEN[case.name], rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("case", EVERY_DAY)
def test_numpy_takes_the_plain_steps(case):
    """Rows that are summed, carried up a tree or kept for several steps: the same run."""
    found = run(case, engine="numpy").final_logits[RUN]
    np.testing.assert_allclose(found, GOLDEN[case.name], rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("case", [
    marked(case) for case in DEFINED if case.steps_per_batch == 1 and case.kind in ("bandit", "prompts")])
def test_the_compiled_engine_takes_the_plain_steps_or_says_why_not(case):
    found = engine_matrix.made_ready(case)
    if isinstance(found, str):
        assert found, "a refusal has a reason"
        return
    logits = engine_matrix.trained(case, found)[RUN]
    np.testing.assert_allclose(logits, GOLDEN[case.name], rtol=0, atol=ROUNDING)


def test_insisting_on_what_is_refused_tells_the_reason():
    for case in (Case("clip-cov", "token tree", True), Case("kl-cov", "bandit", True, 3),
                 Case("grpo", "shared parameters", False)):
        with pytest.raises(ValueError, match=re.escape(
                f"engine 'compiled' cannot simulate '{case.dynamics.rule.name}' here: "
                f"{engine_matrix.made_ready(case)}; use engine 'auto'")):
            run(case, engine="compiled")


@pytest.mark.parametrize("case", [case for case in CASES if case not in DEFINED],
                         ids=lambda case: case.name)
def test_what_is_not_defined_is_refused_with_a_remedy(case):
    with pytest.raises(ValueError, match=rf"'{case.dynamics.rule.name}' is defined .*use 'reinforce'"
                                         if not case.sampled else "leave samples None"):
        run(case)


# ------------------------------------------------------- what engines once made another rule of


def engines_of(problem, dynamics, n_runs=64):
    start = problem.starts(n_runs, seed=0)
    return {engine: simulate(start, problem.correct, dataclasses.replace(dynamics, engine=engine))
            for engine in ("numpy", "compiled")}


def test_a_selection_that_acts_late_is_not_left_out():
    """Clip-Cov whose band is empty on policies drawn at random: it was taken for GRPO, whose entropy
    after 300 steps is .02 nats where Clip-Cov's is .13."""
    rule = get("clip-cov", ratio=0.5, lower=8, upper=100)
    dynamics = Dynamics(rule=rule, steps=400, samples=Samples(), seed=1, record_every=100)
    found = engines_of(Bandit(n_actions=10, n_correct=2), dynamics)
    np.testing.assert_allclose(
        found["compiled"].entropy, found["numpy"].entropy, rtol=0, atol=ROUNDING)
    base = engines_of(Bandit(n_actions=10, n_correct=2), dataclasses.replace(dynamics, rule=get("grpo")))
    assert np.abs(base["numpy"].entropy[-1] - found["numpy"].entropy[-1]).max() > 0.01


@pytest.mark.parametrize("samples", [None, Samples()])
def test_a_users_rule_that_reads_the_tail_is_not_pooled(samples):
    """No gradient where p < .001: probes by random policies never get there, and the rule became GRPO."""
    problem = Bandit(n_actions=10, n_correct=1, accuracies=(5e-4,))
    dynamics = Dynamics(rule=TailSensitive(), steps=300, samples=samples, seed=1, record_every=100)
    found = engines_of(problem, dynamics)
    np.testing.assert_allclose(found["compiled"].reward, found["numpy"].reward, rtol=0, atol=ROUNDING)
    base = engines_of(problem, dataclasses.replace(dynamics, rule=get("grpo")))
    assert base["numpy"].reward[-1].mean() > 1.2 * found["numpy"].reward[-1].mean()


@pytest.mark.parametrize("engine", ["numpy", "compiled"])
def test_a_rule_that_declares_too_little_is_not_pooled(engine):
    """It says that it reads nothing: its rows of equal reward, which are not alike, were summed."""
    start = 0.5 * np.random.default_rng(0).normal(size=(2, 1, 4))
    found, expected = (simulate(start, np.arange(4) < 1, Dynamics(rule=rule, steps=9, engine=engine))
                       for rule in (Undeclared(), LogProbSensitive()))
    np.testing.assert_allclose(found.final_logits, expected.final_logits, rtol=0, atol=ROUNDING)


def test_a_rule_that_keeps_state_is_an_error():
    """Silently, blocks of runs would share a count."""
    with pytest.raises(ValueError, match="'stateful' returns other scores when it is called again"):
        simulate(np.zeros((2, 1, 4)), np.arange(4) < 1, Dynamics(rule=Stateful(), steps=3))


@pytest.mark.parametrize("rules", [
    pytest.param([*engine_matrix.RULE_OF][::10], id="some"),
    pytest.param([*engine_matrix.RULE_OF], id="all", marks=pytest.mark.deep)])
def test_the_page_says_which_engine_takes_what(rules):
    others = {rule: row for rule, row in engine_matrix.rows_of_page().items() if rule not in rules}
    assert engine_matrix.PAGE.read_text() == engine_matrix.page(others), "run python -m tests.rules"
