"""Guards strategies.py: what theorems trip over is drawn, and shrinking ends at readable cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from entropy_theory import strategies

FAST = settings(max_examples=400, derandomize=True, database=None, deadline=None,
                suppress_health_check=list(HealthCheck))
BANDITS = strategies.bandits(actions=(2, 5), temperature=strategies.temperatures())


TRAPS = {
    "two actions": lambda b: len(b["logits"]) == 2,
    "tie": lambda b: len(set(b["logits"])) < len(b["logits"]),
    "saturated": lambda b: max(b["logits"]) - min(b["logits"]) > 20,
    "one correct": lambda b: sum(b["correct"]) == 1 and len(b["correct"]) > 2,
    "all correct": lambda b: all(b["correct"]) and len(b["correct"]) > 2,
    "cold": lambda b: b["temperature"] < 0.5,
    "hot": lambda b: b["temperature"] > 2,
}
BATCH_TRAPS = {
    "groups": lambda b: len(np.unique(b.group)) > 1,
    "second batch": lambda b: b.tempered.any(),
    "ragged": lambda b: (~b.mask).any(),
    "clips": lambda b: (np.exp(b.log_prob - b.old_log_prob) > 1.28)[b.mask].any(),
    "equal rewards": lambda b: b.mask.shape[0] > 2 and (b.reward == b.reward[0, 0]).all(),
}


@pytest.mark.parametrize(("strategy", "traps"), [
    (BANDITS, TRAPS), (strategies.token_batches(), BATCH_TRAPS)], ids=["bandits", "batches"])
def test_what_theorems_and_rules_trip_over_is_drawn(strategy, traps):
    missed = set(traps)

    @settings(FAST, max_examples=150, phases=[Phase.generate])
    @given(strategy)
    def look(drawn):
        missed.difference_update({name for name in missed if traps[name](drawn)})

    look()
    assert missed == set()


def test_shrinks_to_small_integers():
    simplest = find(BANDITS, lambda b: b["logits"][0] != b["logits"][1], settings=FAST)
    assert sorted(simplest["weights"]) == [1, 2]
    assert simplest["temperature"] == 1.0
    assert sum(simplest["correct"]) == 1


@settings(FAST, max_examples=60)
@given(strategies.token_batches())
def test_token_batches_are_what_rules_read(batch):
    tempered = batch.tempered
    for rows in (~tempered, tempered):
        if rows.any():
            assert batch.weight[rows].sum() == pytest.approx(1)
    assert batch.mask.any(axis=-1).all()
    assert (batch.log_prob <= 0).all()
    assert len(np.unique(batch.sequence)) == batch.mask.shape[0]
    assert (batch.reward == batch.reward[:, :1]).all()
