"""Guards every rule against how numbers lie in memory, and against their precision."""

import numpy as np
import pytest
import torch

from entropy_theory import update_rules
from entropy_theory.verification import rule_contract
from entropy_theory.verification.rule_contract import converted, random_batch
from tests.entropy_theory.test_update_rules import VARIANTS, drawn_batches
from tests.tolerances import FLOAT32

EVERY_RULE = pytest.mark.parametrize(("name", "options"), VARIANTS)
LAYOUTS = {
    "Fortran order": np.asfortranarray,
    "every second of a longer array": lambda c: np.repeat(c, 2, axis=-1)[..., ::2],
    "backwards in memory": lambda c: np.ascontiguousarray(c[..., ::-1, ::-1])[..., ::-1, ::-1],
    "torch, transposed": lambda c: torch.tensor(np.ascontiguousarray(c.T)).T,
}


def outputs(rule, batch):
    return rule_contract.outputs(rule, batch, metrics=True)


@EVERY_RULE
@pytest.mark.parametrize("layout", LAYOUTS)
def test_memory_order_changes_nothing(name, options, layout):
    rule = update_rules.get(name, **options)
    batch = random_batch(70)
    other = converted(batch, LAYOUTS[layout])
    column = other.log_prob
    contiguous = column.is_contiguous() if "torch" in layout else column.flags.c_contiguous
    assert not contiguous
    ours, theirs = outputs(rule, batch), outputs(rule, other)
    assert ours.keys() == theirs.keys()
    for key, value in ours.items():
        # Sums over another axis first: some dozens of terms of order 1, 1e-14 where they cancel.
        np.testing.assert_allclose(theirs[key], value, rtol=1e-12, atol=1e-14, err_msg=key)


@EVERY_RULE
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_batch_in_any_memory_order(name, options, layout):
    rule = update_rules.get(name, **options)
    for batch in drawn_batches()[1:4]:
        ours, theirs = outputs(rule, batch), outputs(rule, converted(batch, LAYOUTS[layout]))
        for key, value in ours.items():
            # Sums over another axis first, relative to the largest term where they cancel.
            largest = np.max(np.abs(value))
            np.testing.assert_allclose(
                theirs[key], value, rtol=1e-12, atol=1e-12 * largest, err_msg=key)


@EVERY_RULE
@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_single_precision_is_double_precision_rounded(name, options, backend):
    rule = update_rules.get(name, **options)
    batch = random_batch(71)

    def single(column):
        column = column.astype(np.float32) if column.dtype == np.float64 else column
        return torch.tensor(column) if backend == "torch" else column

    rounded = converted(batch, single)
    back = converted(rounded, lambda c: np.asarray(c).astype(
        np.float64 if np.asarray(c).dtype == np.float32 else np.asarray(c).dtype))
    ours, theirs = outputs(rule, back), outputs(rule, rounded)
    for key, value in ours.items():
        # Ratios of log-probabilities of a few nats, and sums over two dozen rows, each rounded.
        accuracy = 200 * FLOAT32
        np.testing.assert_allclose(theirs[key], value, rtol=accuracy,
                                   atol=accuracy * max(np.max(np.abs(value)), 1), err_msg=key)


@EVERY_RULE
def test_what_a_log_shows_of_runs_side_by_side_is_that_of_each(name, options):
    """A metric has one number a run: no sum or largest value may be over runs."""
    rule = update_rules.get(name, **options)
    runs = [random_batch(seed) for seed in (72, 73)]
    both = runs[0].replace(**{name: np.stack([column, dict(runs[1]._columns())[name]])
                              for name, column in runs[0]._columns()})
    together = rule.metrics(both)
    for k, alone in enumerate(runs):
        for key, value in rule.metrics(alone).items():
            # Sums of some dozens of terms of one sign.
            assert together[key][k] == pytest.approx(value, rel=1e-12), key
