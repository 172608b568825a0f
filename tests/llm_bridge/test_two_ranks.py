"""Guards llm_bridge/trainer/entropy_trainer.py on two ranks: their rows make one step."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from entropy_theory import entropy_change, policy, tabular, update_rules
from llm_bridge.data import models
from tests.llm_bridge import forked_ranks, two_processes
from tests.llm_bridge.language_models import PROMPTS, tiny_llama
from tests.llm_bridge.language_models import tabular as tabular_model
from tests.llm_bridge.recorded_steps import off_policy_step, rebuilt_batch
from tests.tolerances import SAME_STEP


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory):
    """Everything that runs on two processes, in one launch."""
    folder = tmp_path_factory.mktemp("two_ranks")
    tiny_llama(folder / "llama")
    run = forked_ranks.run("tests.llm_bridge.two_processes", str(folder))
    assert run.returncode == 0, run.stderr[-3000:]
    return folder


def of_both_ranks(folder, name):
    """The rows of each step, the tables around them on each rank, and the log."""
    found = torch.load(folder / f"{name}.pt", weights_only=True)
    steps = [[SimpleNamespace(inputs=inputs) for inputs in step] for step in found["steps"]]
    assert [len(step) for step in steps] == [2] * len(steps)
    for first, second in steps:
        ordinary = [part.inputs["group"][~part.inputs["tempered"]] for part in (first, second)]
        assert set(ordinary[0].tolist()) & set(ordinary[1].tolist())  # a group on both ranks
    return steps, [table.numpy() for table in found["tables"]], found["records"]


def test_two_ranks_take_the_step_of_all_their_rows(two_ranks):
    """Data parallelism averages gradients, and one prompt's samples lie on both ranks: neither may
    show. Guards every statistic that a rank could compute on its own rows."""
    (parts,), tables, (record,) = of_both_ranks(two_ranks, "aepo")
    before = tables[0][0]
    made = SimpleNamespace(processing_class=tabular_model()[1], args=SimpleNamespace(seed=42))
    name, options = two_processes.AEPO
    rule = update_rules.get(name, **options)
    batch = rebuilt_batch(parts, before, made)
    expected = 0.5 * tabular.logit_step(before, batch, rule)
    assert np.abs(expected).max() > 1e-2
    for after in tables[1]:
        np.testing.assert_allclose(after - before, expected, rtol=0, atol=SAME_STEP)
    assert record["reward"] == pytest.approx(batch.reward[~batch.tempered].mean())


@pytest.mark.parametrize("case", list(two_processes.OFF_POLICY))
def test_two_ranks_select_tokens_together(two_ranks, case):
    """The quota, the means and the keys of the random choice are those of all rows, and a coefficient
    is steered by both ranks' entropy: one process with all rows picks the same tokens."""
    steps, tables, records = of_both_ranks(two_ranks, case)
    made = SimpleNamespace(processing_class=tabular_model()[1], args=SimpleNamespace(seed=42))
    rule = two_processes.off_policy_rule(case)
    start, middle = tables[0][0], tables[1][0]
    first = rule.prepare(rebuilt_batch(steps[0], start, made, rule))
    step, second = off_policy_step(steps[1], [start, middle], made, rule)
    second = second if second.prepared else rule.prepare(second)
    for parts, batch in ((steps[0], first), (steps[1], second)):
        picked = np.concatenate([part.inputs["selected"].numpy() for part in parts])
        assert picked.sum() == 4  # floor(0.2 x 24)
        np.testing.assert_array_equal(picked, batch.prepared[f"{rule.name}.selected"])
    for before, after in zip(*tables[1:3], strict=True):
        np.testing.assert_allclose(after - before, 0.5 * step, rtol=0, atol=SAME_STEP)
    assert [record["selected_fraction"] for record in records] == [pytest.approx(4 / 24)] * 2
    if "base" in two_processes.OFF_POLICY[case]:
        chosen = torch.cat([part.inputs["coefficient"] for part in steps[1]])
        assert len(chosen.unique()) == 1
        assert float(chosen[0]) != two_processes.STEERED["coefficient"]


def test_two_ranks_watch_a_users_own_loss(two_ranks):
    """Diagnostics of a plain GRPOTrainer: gradients are averaged over ranks, rows lie on both."""
    found = torch.load(two_ranks / "diagnostics.pt", weights_only=True)
    before, after = (table.numpy() for table in found["tables"])
    states = [row[-1] for row in tabular_model()[1](list(PROMPTS)).input_ids]
    expected = entropy_change.first_order(before, after - before)[states].mean()
    (record,) = found["records"]
    assert abs(expected) > 1e-5
    assert record["forecast_entropy_change"] == pytest.approx(expected, abs=SAME_STEP)
    assert record["entropy"] == pytest.approx(policy.entropy(before)[states].mean(), abs=1e-12)


def test_rows_that_one_rank_cannot_judge_are_left_out_on_both(two_ranks):
    """The step is that of the other rank's rows, with their weights."""
    ((judged, _),), tables, (record,) = of_both_ranks(two_ranks, "judged-on-one-rank")
    made = SimpleNamespace(processing_class=tabular_model()[1], args=SimpleNamespace(seed=42))
    name, options = two_processes.AEPO
    batch = rebuilt_batch([judged], tables[0][0], made)
    expected = 0.5 * tabular.logit_step(tables[0][0], batch, update_rules.get(name, **options))
    assert np.abs(expected).max() > 1e-2
    for after in tables[1]:
        np.testing.assert_allclose(after - tables[0][0], expected, rtol=0, atol=SAME_STEP)
    assert record["usable_fraction"] == 0.5


def test_rows_that_no_rank_can_judge_move_nothing(two_ranks):
    _, tables, records = of_both_ranks(two_ranks, "judged-by-nobody")
    assert [record["usable_fraction"] for record in records] == [0, 0]
    np.testing.assert_array_equal(tables[0], tables[2])


def test_each_rank_has_the_whole_reference_where_one_reads_the_checkpoint(two_ranks):
    """fsdp_cpu_ram_efficient_loading: the other rank's own copy, loaded or copied, is zeros.

    Under transformers 5.24 every rank reads the checkpoint all the same.
    """
    first, second = (
        torch.load(two_ranks / f"references-{rank}.pt", weights_only=True) for rank in (0, 1)
    )
    assert all(not tensor.any() for tensor in second["loaded"].values()) or all(
        torch.equal(tensor, first["loaded"][name]) for name, tensor in second["loaded"].items())
    for found in (first, second):
        for kind in ("copied", "named"):
            for name, tensor in models.load(str(two_ranks / "llama"))[0].state_dict().items():
                torch.testing.assert_close(found[kind][name], tensor, rtol=0, atol=0)
