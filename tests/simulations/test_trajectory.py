"""Guards trajectory.py: what is recorded by default; trajectories of some runs, or of several blocks."""

import dataclasses

import numpy as np
import pytest

from entropy_theory.update_rules import get
from simulations.engine import Dynamics, Record, simulate, trajectory
from simulations.problems import Bandit

PROBLEM = Bandit(n_actions=5, n_correct=2, accuracies=(0.2, 0.5))
NOTHING, ALL = Record(), Record(logits=True, forecasts=True, pass_at=(1, 4))


def recorded(part, record):
    dynamics = Dynamics(rule=get("aepo", base=get("grpo", group_size=8)), steps=6, record_every=2)
    return simulate(PROBLEM.starts(5, seed=0)[part], PROBLEM.correct, dynamics, record=record)


def leaves(run):
    """Every array by its name, those of the forecasts included."""
    found = {}
    for field in dataclasses.fields(run):
        value = getattr(run, field.name)
        if dataclasses.is_dataclass(value):
            found |= {f"forecasts.{name}": column for name, column in leaves(value).items()}
        else:
            found[field.name] = value
    return found


def test_by_default_there_is_one_k_and_neither_logits_nor_forecasts():
    assert Record() == Record(logits=False, forecasts=False, pass_at=(1,), distinct_of=8)
    run = recorded(slice(0, 2), NOTHING)
    assert run.forecasts is None
    assert run.logits.size == 0


@pytest.mark.parametrize("record", [NOTHING, ALL], ids=["least", "all"])
def test_some_runs_are_taken_out_of_every_column(record):
    whole = recorded(slice(0, 5), record)
    some = leaves(whole.take_runs(np.array([3, 1])))
    for name, column in leaves(whole).items():
        if name in ("step", "pass_at", "forecasts") or (name == "logits" and record is NOTHING):
            np.testing.assert_array_equal(some[name], column, err_msg=name)
            continue
        runs = int(not (name.startswith(("tail_", "final_")) or name in ("saturated", "held")))
        np.testing.assert_array_equal(some[name], column.take([3, 1], axis=runs), err_msg=name)


def test_blocks_are_put_together_in_every_column():
    whole = leaves(recorded(slice(0, 5), ALL))
    parts = [recorded(slice(0, 2), ALL), recorded(slice(2, 5), ALL)]
    final = np.concatenate([part.final_logits for part in parts])
    for name, column in leaves(trajectory.concatenate(parts, final)).items():
        # Blocks of other sizes lie otherwise in memory: six steps' sums over five actions.
        np.testing.assert_allclose(column, whole[name], rtol=0, atol=1e-12, err_msg=name)
