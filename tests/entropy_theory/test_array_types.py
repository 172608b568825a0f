"""Guards array_types.py, and that the tests check calls against the annotated shapes at all."""

import numpy as np
import pytest
import torch
from jaxtyping import TypeCheckError

from entropy_theory import entropy_change, policy


@pytest.mark.parametrize("array", [np.zeros, torch.zeros])
@pytest.mark.parametrize(
    "call",
    [
        lambda logits: policy.entropy(logits((2, 3)), logits(3) + 1),
        lambda logits: policy.covariance(logits((2, 3)), logits((2, 3)), logits((2, 4))),
        lambda logits: entropy_change.first_order(logits((2, 3)), logits((3, 3))),
        lambda logits: entropy_change.tempered_reinforce_rate(
            logits((2, 3)), logits((4, 3)) == 0, 1.0),
    ],
    ids=["temperatures of other states", "other actions", "steps of other states", "other sets"],
)
def test_a_wrong_shape_is_refused(call, array):
    """Fails where the import hook is off, or comes after an import of the module."""
    with pytest.raises(TypeCheckError):
        call(array)


@pytest.mark.parametrize("array", [np.zeros, torch.zeros])
def test_temperatures_and_correct_sets_broadcast(array):
    """An annotation that asks for full shapes would refuse what the docstrings allow."""
    logits = array((2, 3))
    for temperature in (1, 0.5, array(()) + 2, array(1) + 2, array(2) + 2):
        assert policy.entropy(logits, temperature).shape == (2,)
    correct = array(3) == 0
    assert entropy_change.tempered_reinforce_rate(logits, correct, 1.0).shape == (2,)
