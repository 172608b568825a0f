"""Guards llm_bridge/accounting under data parallelism (DDP) and with sharded weights (FSDP2)."""

import numpy as np
import pytest
import torch

from entropy_theory import entropy_change, policy
from tests.llm_bridge import forked_ranks
from tests.llm_bridge.language_models import PROMPTS
from tests.llm_bridge.language_models import tabular as tabular_model

EXACT = 1e-11
"""Nats: sums of some thousand float64 numbers of order 1."""


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("account_ranks")
    run = forked_ranks.run("tests.llm_bridge.accounting.account_processes", str(folder))
    assert run.returncode == 0, run.stderr[-3000:]
    return folder


def test_rows_on_two_ranks_make_one_account(two_ranks):
    """A tabular policy, its rows on two ranks in two micro-batches each: the forecast is the first-order
    change of the table that both hold, the measured change the table's."""
    found = [torch.load(two_ranks / f"data-parallel-{rank}.pt") for rank in (0, 1)]
    one = found[0]
    assert torch.equal(one["after"], found[1]["after"])
    for name in ("forecast", "parts", "by_rule"):
        assert one[name] == pytest.approx(found[1][name], abs=EXACT)
    before, after = one["before"].numpy(), one["after"].numpy()
    states = [row[-1] for row in tabular_model()[1](list(PROMPTS)).input_ids]
    expected = entropy_change.first_order(before, after - before)[states].mean()
    assert abs(expected) > 1e-3
    assert sum(one["forecast"].values()) == pytest.approx(expected, abs=EXACT)
    change = policy.entropy(after)[states].mean() - policy.entropy(before)[states].mean()
    assert one["measured"] == pytest.approx(change, abs=EXACT)
    assert sum(one["parts"].values()) == pytest.approx(change, rel=0.02)
    assert one["gap"] < 1e-4
    assert 0.5 * one["unit"] > 1e-3


def test_sharded_weights_give_the_account_of_whole_ones(two_ranks):
    """Local inner products and one sum over ranks: the same numbers as one process with all rows."""
    for rank in (0, 1):
        found = torch.load(two_ranks / f"sharded-{rank}.pt")
        (whole, tokens), (sharded, own) = found["whole"], found["sharded"]
        assert whole.keys() == sharded.keys()
        assert {"gradient", "clipping", "momentum", "weight_decay"} < whole.keys()
        # Several processes tell tokens apart by differences, whose parts miss the whole by more.
        assert sharded.pop("gap") < 1e-4
        assert whole.pop("gap") < 1e-6
        for name in whole:
            # Norms compute in float32: another order of sums is another rounding there.
            assert sharded[name] == pytest.approx(whole[name], rel=1e-4, abs=1e-6), name
        assert abs(whole["measured"]) > 1e-4
        scale = float(torch.cat(list(tokens.values())).abs().max())
        np.testing.assert_allclose(own[rank], tokens[rank], rtol=0, atol=2e-3 * scale)
