"""What a trace shows of a rule's reading, and whether its rows may be summed: guards traced/reads.py."""

from typing import Any

import numpy as np
import pytest

from entropy_theory.policy import namespace
from entropy_theory.update_rules import get
from entropy_theory.update_rules.outputs import outputs
from entropy_theory.update_rules.rule import UpdateRule, per_run, update_rule
from simulations.engine.task import is_ours
from simulations.engine.traced import reads
from simulations.engine.traced.reads import pools
from tests.simulations.engine_matrix import RULE_OF


@update_rule("users")
class Users(UpdateRule):
    """Adds a function of the batch to the reward, and declares nothing."""

    function: Any = None
    coefficient: Any = 1.0

    def _scores(self, batch):
        more = 0.0 if self.function is None else self.function(batch)
        return batch.reward + per_run(self.coefficient, batch.reward) * more


def test_rules_of_the_package_are_what_they_declare():
    assert is_ours(get("aepo", base=get("entropy-bonus")))
    assert is_ours(get("entropy-bonus", coefficient=np.array([0.1, 0.2])))
    assert not is_ours(Users())
    assert not is_ours(get("aepo", base=Users()))


def equal_rows_are_alike(rule):
    """Whether the trace's own listing gives rows of one state and one reward the same coefficients.

    Those of equal rows differ by the order of sums over at most 90 rows, 1.1e-16 each of terms near 1.
    """
    batch = reads._listing(rule, 1)
    rows = np.stack([batch.state, batch.reward, batch.is_tempered], axis=-1).reshape(-1, 3)
    _, kind = np.unique(rows, axis=0, return_inverse=True)
    first = np.array([np.flatnonzero(kind == each)[0] for each in kind])
    return all(np.allclose(column.ravel(), column.ravel()[first], rtol=0, atol=1e-14)
               for column in outputs(rule, batch).values())


@pytest.mark.parametrize("rule", RULE_OF)
def test_a_trace_finds_what_rules_declare(rule, monkeypatch):
    """Where every ratio is 1 a rule may read less than it declares, and its rows may be summed."""
    monkeypatch.setattr(reads, "is_ours", lambda rule: False)
    declared, found = RULE_OF[rule].needs.pools, pools(RULE_OF[rule], 2)
    assert declared <= found <= equal_rows_are_alike(RULE_OF[rule])


def count(batch):
    ones = namespace(batch.weight).ones_like(batch.weight)
    return ones.sum(axis=(-2, -1), keepdims=True)


def only_on_a_condition(batch):
    return batch.log_prob if bool(namespace(batch.weight).all(batch.weight > 0.5)) else batch.reward


@pytest.mark.parametrize(("function", "expected"), [
    (None, True),
    (lambda batch: batch.log_prob - batch.old_log_prob, True),
    (lambda batch: 1e-6 * batch.log_prob, False),
    (lambda batch: batch.entropy, False),
    (lambda batch: batch.reward * batch.step, False),
    (lambda batch: 0.0 * batch.reward + batch.seed, False),
    (lambda batch: batch.state * batch.reward, False),
    (lambda batch: (batch.weight * batch.reward).sum(axis=-2, keepdims=True), True),
    (lambda batch: batch.weight, False),
    (count, False),
    (only_on_a_condition, False),
    (lambda batch: np.quantile(batch.reward * batch.weight, 0.5), False),
], ids=["nothing", "log-ratio", "rounding", "entropy", "step", "seed", "state", "sum", "weight", "count",
        "condition", "quantile"])
def test_a_users_rule_is_pooled_where_a_trace_shows_all_that_it_reads(function, expected):
    assert pools(Users(function=function), 3) == expected
    assert pools(get("aepo", base=Users(function=function)), 3) == expected
    assert pools(get("entropy-bonus", base=Users(function=function), target=0.5), 3) == expected


@pytest.mark.parametrize("shows", [0, 1, 2])
def test_each_run_has_its_own_options(shows):
    """A rule that hides behind 0 is seen in the run where it does not."""
    coefficient = tuple(float(run == shows) for run in range(3))
    assert not pools(Users(function=lambda batch: batch.log_prob, coefficient=coefficient), 3)
    assert pools(Users(function=lambda batch: batch.log_prob, coefficient=(0.0,) * 3), 3)


def test_a_rule_that_draws_or_counts_is_an_error():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"'users' returns other scores .* read batch\.step"):
        pools(Users(function=lambda batch: rng.random()), 1)
