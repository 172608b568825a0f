"""Guards every rule against how numbers lie in memory, and against their precision."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from entropy_theory import update_rules
from entropy_theory.strategies import token_batches
from tests.entropy_theory.test_update_rules import VARIANTS, random_batch
from tests.tolerances import FLOAT32

EVERY_RULE = pytest.mark.parametrize(("name", "options"), VARIANTS)
LAYOUTS = {
    "Fortran order": np.asfortranarray,
    "every second of a longer array": lambda c: np.repeat(c, 2, axis=-1)[..., ::2],
    "backwards in memory": lambda c: np.ascontiguousarray(c[..., ::-1, ::-1])[..., ::-1, ::-1],
    "torch, transposed": lambda c: torch.tensor(np.ascontiguousarray(c.T)).T,
}


def outputs(rule, batch):
    """Scores, state terms and metrics, as float64 numpy by name."""
    prepared = rule.prepare(batch)
    found = {"scores": rule.scores(prepared), **rule.state_terms(prepared), **rule.metrics(prepared)}
    return {name: np.asarray(value, dtype=np.float64) for name, value in found.items()}


def converted(batch, convert):
    return batch.replace(**{name: convert(column) for name, column in batch._columns()})


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
@settings(max_examples=8, derandomize=True, database=None, deadline=None)
@given(batch=token_batches(second_batch=True, prompts=(2, 3), group_size=(2, 3)),
       layout=st.sampled_from(sorted(LAYOUTS)))
def test_any_batch_in_any_memory_order(name, options, batch, layout):
    rule = update_rules.get(name, **options)
    ours, theirs = outputs(rule, batch), outputs(rule, converted(batch, LAYOUTS[layout]))
    for key, value in ours.items():
        largest = np.max(np.abs(value))
        np.testing.assert_allclose(theirs[key], value, rtol=1e-12, atol=1e-12 * largest, err_msg=key)


@EVERY_RULE
@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_single_precision_is_double_precision_rounded(name, options, backend):
    """And stays single: one float64 constant would double a language model's memory."""
    rule = update_rules.get(name, **options)
    batch = random_batch(71)

    def single(column):
        column = column.astype(np.float32) if column.dtype == np.float64 else column
        return torch.tensor(column) if backend == "torch" else column

    rounded = converted(batch, single)
    prepared = rule.prepare(rounded)
    columns = {"scores": rule.scores(prepared), **rule.state_terms(prepared), **{
        k: v for k, v in prepared.prepared.items() if "bool" not in str(v.dtype)}}
    for key, column in columns.items():
        assert str(column.dtype).endswith("float32"), key
    back = converted(rounded, lambda c: np.asarray(c).astype(
        np.float64 if np.asarray(c).dtype == np.float32 else np.asarray(c).dtype))
    ours, theirs = outputs(rule, back), outputs(rule, rounded)
    for key, value in ours.items():
        # Ratios of log-probabilities of a few nats, and sums over two dozen rows, each rounded.
        accuracy = 200 * FLOAT32
        np.testing.assert_allclose(theirs[key], value, rtol=accuracy,
                                   atol=accuracy * max(np.max(np.abs(value)), 1), err_msg=key)
