"""Guards paper_figures/extensions/independent_logits.py: kernels as the audit writes them."""

import numpy as np
import pytest

from entropy_theory.support import results
from llm_bridge.analysis import kernel_record
from llm_bridge.analysis.tangent_kernel import RUNGS, Kernel, Ladder
from paper_figures.extensions import independent_logits as figure
from paper_figures.figure import MissingInputError
from tests.paper_figures.conftest import write_run

STATES, ACTIONS = 3, 2


def audited(folder, matrix, *, explained_from):
    """A run audited at two steps, each with this kernel [6, 6]; rungs from this one on are exact."""
    write_run(folder, rule="grpo", entropies=[1.0, 0.9])
    measured = np.array([-0.1, 0.02, -0.05, 0.03])
    other = np.array([0.02, 0.1, 0.03, 0.05])  # at right angles to what was measured
    records = [
        kernel_record.KernelRecord(
            step=step, prefixes=[[1]] * STATES,
            kernel=Kernel(values=matrix.reshape(STATES, ACTIONS, STATES, ACTIONS),
                          actions=np.zeros((STATES, ACTIONS), dtype=int)),
            ladder=Ladder(
                rungs={name: measured if i >= explained_from else other for i, name in enumerate(RUNGS)},
                measured=measured),
        ) for step in (1, 2)
    ]
    for record in records:
        kernel_record.write(folder / "audit" / f"kernel-{record.step:05d}.npz", record)
    steps = [{"step": step, "measured": -0.1, "by_token": {}} for step in (1, 2)]
    results.write_json(folder / "audit.json", {
        "summary": {}, "steps": steps, "kernel": kernel_record.summary(records)})


def test_a_dependent_kernel_is_said_and_so_is_what_explains(tmp_path):
    """A verdict typed in; rungs in the wrong order."""
    half = np.full((6, 6), 0.5) + 0.5 * np.eye(6)
    audited(tmp_path / "runs" / "network", half, explained_from=2)
    table = figure.data(tmp_path)
    row = figure.measures(table).iloc[0]
    assert row["within_state"] == pytest.approx(0.5)
    assert row["across_states"] == pytest.approx(0.5)
    assert row["identity"] == pytest.approx(1)
    assert row["all states"] == pytest.approx(0, abs=1e-12)
    assert [one.met for one in figure.finding(table).criteria] == [True, True, True]


def test_assumption_b4_is_of_the_logits_of_a_state(tmp_path):
    """A policy whose states share parameters counted against an assumption that says nothing of them."""
    blocks = np.kron(np.full((STATES, STATES), 0.5) + 0.5 * np.eye(STATES), np.eye(ACTIONS))
    audited(tmp_path / "runs" / "shared", blocks, explained_from=2)
    found = figure.finding(figure.data(tmp_path))
    assert [one.value for one in found.criteria[:1]] == [1]


def test_audits_without_a_kernel_are_no_input(tmp_path):
    """A figure of nothing; an error that does not say what to run."""
    write_run(tmp_path / "runs" / "plain", rule="grpo", entropies=[1.0])
    results.write_json(tmp_path / "runs" / "plain" / "audit.json",
                       {"summary": {}, "steps": [{"step": 1}], "kernel": None})
    with pytest.raises(MissingInputError, match=r"run `python -m llm_bridge audit .*--optimizer sgd"):
        figure.data(tmp_path)
