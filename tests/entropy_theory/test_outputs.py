"""Guards outputs.py: where two outputs of a rule differ, and where only rounding does."""

from __future__ import annotations

import math

import numpy as np
import pytest

from entropy_theory import update_rules
from entropy_theory.update_rules.outputs import difference, outputs
from entropy_theory.verification.rule_batches import random_batch, to_torch


def scores(values):
    return {"scores": np.array(values, dtype=float)}


@pytest.mark.parametrize(("expected", "found", "accuracy", "said"), [
    ([[1.0, 2.0]], [[1.0, 2.0]], 0.0, ""),
    ([[1.0, 2.0, 3.0]], [[1.0, 2.5, 3.5]], 0.0, "scores of row 0, token 1: 2.5, not 2"),
    # Relative to the largest of the column, at the bound and beyond it.
    ([[0.0], [-8.0]], [[-1.0], [-8.0]], 0.125, ""),
    ([[0.0], [-8.0]], [[-1.25], [-8.0]], 0.125, "scores of row 0, token 0: -1.25, not 0"),
    ([[math.nan, 1.0]], [[math.nan, 1.0]], 0.0, ""),
    ([[math.nan, 1.0]], [[2.0, 1.0]], 9.0, "scores of row 0, token 0: 2, not nan"),
    ([[1.0, 1.0]], [[1.0, math.nan]], 9.0, "scores of row 0, token 1: nan, not 1"),
    ([[[1.0], [2.0]], [[3.0], [4.0]]], [[[1.0], [2.0]], [[3.0], [5.0]]], 0.0,
     "scores of run 1, row 1, token 0: 5, not 4"),
    ([[1.0, 2.0]], [[1.0], [2.0]], 0.0, "scores have shape (2, 1), not (1, 2)"),
])
def test_the_first_number_that_differs_is_named_with_its_place(expected, found, accuracy, said):
    assert difference(scores(expected), scores(found), accuracy) == said


def test_other_terms_are_named_before_any_number():
    one, two = {**scores([[1.0]]), "entropy": np.zeros((1, 1))}, scores([[2.0]])
    assert difference(one, two, 0.0) == "scores are given, not entropy, scores"
    with_more = {**scores([[1.0]]), "entropy": np.ones((1, 1))}
    assert difference(one, with_more, 0.0) == "entropy of row 0, token 0: 1, not 0"


def test_outputs_on_torch_are_numpys():
    rule, batch = update_rules.get("entropy-bonus"), random_batch(3)
    found = outputs(rule, batch)
    on_torch = outputs(rule, to_torch(batch))
    assert all(type(value) is np.ndarray and value.dtype == np.float64 for value in on_torch.values())
    assert difference(found, on_torch, 1e-12) == ""
