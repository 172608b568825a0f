"""JAX takes every rule's own code along whole runs, or says why not: guards jax_runs.py."""

import dataclasses
import importlib.util

import numpy as np
import pytest

from entropy_theory.policy import namespace
from entropy_theory.update_rules import RULES, get
from entropy_theory.update_rules.rule import UpdateRule, update_rule
from simulations.engine import Dynamics, Samples, simulate
from simulations.problems import Bandit
from tests.adversarial_rules import Fading
from tests.simulations import engine_matrix
from tests.simulations.engine_matrix import RUN, Case
from tests.simulations.test_engines_agree import GOLDEN, ROUNDING

needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")


@update_rule("asks-for-types")
class AsksForTypes(UpdateRule):
    def _scores(self, batch):
        return (batch.reward - 0.5) * (1 - batch.step / 100 if isinstance(batch.step, int) else 1.0)


@update_rule("breaks")
class Breaks(UpdateRule):
    def _scores(self, batch):
        xp = namespace(batch.reward)
        return xp.where(xp.asarray(batch.step > 10), xp.nan, batch.reward - 0.5)


PROBLEM = Bandit(n_actions=6, n_correct=2)
DAILY = ("aepo", "aent", "clip-cov", "diverse-bonus", "natural-gradient")
"""A second batch, a controller, a selection, rows of right answers, and a step of whole states."""


def trained(rule, engine="jax", n_runs=3, **dynamics):
    return simulate(PROBLEM.starts(n_runs, seed=0), PROBLEM.reward, Dynamics(
        rule=rule, engine=engine, **{"steps": 30, "record_every": 7, "tail": 12} | dynamics))


@needs_jax
@pytest.mark.parametrize(("place", "rule"), [
    pytest.param(*case, marks=() if case[1] in DAILY else pytest.mark.deep) for case in enumerate(RULES)],
    ids=str)
def test_jax_takes_the_plain_steps_of_every_rule(place, rule):
    """Rules take turns on one prompt and several, listed and drawn."""
    case = Case(rule, ("bandit", "prompts")[place % 2],
                place // 2 % 2 == 1 and not get(rule).needs.listing)
    found = simulate(*case.arguments, dataclasses.replace(case.dynamics, engine="jax")).final_logits[RUN]
    np.testing.assert_allclose(found, GOLDEN[case.name], rtol=0, atol=ROUNDING)


@needs_jax
def test_everything_recorded_is_numpys_and_the_users_settings_stay():
    import jax

    def falling(step):
        return np.linspace(0.9, 1.1, 3) - 0.002 * step

    dynamics = {"samples": Samples(group_size=5, tempered=4), "steps": 450, "target_schedule": falling,
                "learning_rate": (0.05, 0.1, 0.2), "first_run": 7}
    before = jax.config.jax_enable_x64
    found, expected = (trained(get("aepo"), engine, **dynamics) for engine in ("jax", "numpy"))
    assert jax.config.jax_enable_x64 == before
    for field in dataclasses.fields(found):
        value, known = getattr(found, field.name), getattr(expected, field.name)
        if isinstance(value, np.ndarray):
            np.testing.assert_allclose(value, known, rtol=0, atol=ROUNDING, err_msg=field.name)
    assert np.ptp(expected.temperature) > 0


@needs_jax
def test_logits_that_diverge_are_told_with_numpys_step():
    errors = []
    for engine in ("numpy", "jax"):
        with pytest.raises(ValueError, match="diverged in step") as error:
            trained(Breaks(), engine)
        errors.append(str(error.value))
    assert errors[0] == errors[1]


@needs_jax
@pytest.mark.parametrize(("case", "told"), [
    (Case("grpo", "token tree", True), "it knows no tree"),
    (Case("grpo", "bandit", True, 3), "several optimizer steps on the same samples"),
    (Case("entropy-bonus, forecast", "bandit", False), "the forecast of each step"),
], ids=str)
def test_what_it_cannot_take_exactly_is_refused(case, told):
    dynamics = dataclasses.replace(case.dynamics, engine="jax")
    with pytest.raises(ValueError, match=f"engine 'jax' cannot simulate .*{told}.*; use engine"):
        simulate(*case.arguments, dynamics, **case.world)


@needs_jax
def test_a_rule_that_asks_for_values_is_refused():
    rule = Fading(steps=30)
    assert "a user's: fading" in engine_matrix.RULE_OF, "which other engines take"
    with pytest.raises(ValueError, match=r"'fading' here: TracerBoolConversionError under jax\.jit"):
        trained(rule)


@needs_jax
def test_a_rule_that_asks_for_types_is_refused():
    """Its steps are NumPy's at first, and others once the integer that it asks for counts."""
    with pytest.raises(ValueError, match="does something else with JAX's arrays"):
        trained(AsksForTypes())


def test_without_jax_the_error_names_the_extra(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"JAX is not installed \(pip install 'policy-entropy\[jax\]'\)"):
        trained(get("grpo"))
