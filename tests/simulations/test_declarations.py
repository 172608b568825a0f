"""Guards declarations.py: whose rules are probed, with which runs' options, and what a probe must see."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from entropy_theory.reads import NOTHING
from entropy_theory.update_rules import get
from entropy_theory.update_rules.rule import Needs, UpdateRule, per_run, update_rule
from simulations.engine.declarations import UndeclaredError, confirm, extreme_runs, is_ours


@update_rule("users")
class Users(UpdateRule):
    """Adds a function of the batch to the reward, and declares nothing."""

    _needs = Needs(reads=NOTHING)
    function: Any = None
    coefficient: Any = 1.0
    label: str = "abcd"

    def _scores(self, batch):
        more = 0.0 if self.function is None else self.function(batch)
        return batch.reward + per_run(self.coefficient, batch.reward) * more


@dataclass(frozen=True, kw_only=True, slots=True)
class Refuses(Users):
    """Refuses the probe, as a rule may that wants larger groups."""

    def prepare(self, batch):
        raise ValueError("groups of at least 100")


def test_rules_of_the_package_are_not_probed():
    assert is_ours(get("aepo", base=get("entropy-bonus")))
    assert is_ours(get("entropy-bonus", coefficient=np.array([0.1, 0.2])))
    assert not is_ours(Users())
    assert not is_ours(get("aepo", base=Users()))


def test_the_first_run_and_the_extremes_of_options_are_probed():
    assert extreme_runs(Users(), 4) == [0]
    assert extreme_runs(Users(coefficient=(0.5, 0.1, 0.9, 0.3)), 4) == [0, 1, 2]
    assert extreme_runs(Users(coefficient=(0.9, 0.5, 0.5, 0.1)), 4) == [0, 3]
    # A text of as many letters, and numbers of another count, are no options of runs.
    assert extreme_runs(Users(coefficient=(0.5, 0.1)), 4) == [0]


@pytest.mark.parametrize("n_runs", [1, 2, 3])
def test_each_probed_run_has_its_own_options(n_runs):
    """A rule that hides behind 0 is seen in the run where it does not, and only there."""
    hides = Users(function=lambda batch: batch.log_prob, coefficient=(0.0,) * n_runs)
    confirm(hides, n_runs)
    for shows in range(n_runs):
        coefficient = [0.0] * n_runs
        coefficient[shows] = 1.0
        with pytest.raises(UndeclaredError, match=r"'users' is not what it declares: .*'log_prob'"):
            confirm(Users(function=hides.function, coefficient=tuple(coefficient)), n_runs)


@pytest.mark.parametrize("size", [1.0, 1e-6])
def test_small_effects_are_seen_and_rounding_is_not(size):
    with pytest.raises(UndeclaredError):
        confirm(Users(function=lambda batch: size * batch.log_prob), 1)
    # What cancels to 1e-16 is no effect.
    confirm(Users(function=lambda batch: np.sqrt(-batch.log_prob) ** 2 + batch.log_prob), 1)


@pytest.mark.parametrize(("around", "options"), [("aepo", {}), ("entropy-bonus", {"target": 0.5})])
def test_the_probe_has_what_a_controller_chooses(around, options):
    """A temperature, or a coefficient, without which the rule around it would refuse every batch."""
    confirm(get(around, base=Users(), **options), 1)
    reads = Users(function=lambda batch: batch.log_prob)
    with pytest.raises(UndeclaredError):
        confirm(get(around, base=reads, **options), 1)


def test_a_rule_that_refuses_the_probe_is_left_to_the_run():
    confirm(Refuses(), 1)
