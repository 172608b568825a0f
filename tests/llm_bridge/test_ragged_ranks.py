"""Guards several processes whose completions differ in length (see ragged_processes.py)."""

import functools

import pytest
import torch

from entropy_theory import update_rules
from entropy_theory.token_batch import TokenBatch
from llm_bridge.head.token_statistics import from_logits
from llm_bridge.objective import batches
from llm_bridge.objective.loss import policy_loss
from tests.llm_bridge import forked_ranks
from tests.llm_bridge.llama_steps import llama
from tests.llm_bridge.ragged_processes import (
    CASES,
    LONGEST,
    OF_ALL_RULES,
    OF_NODES,
    OF_SAMPLING,
    OF_WHOLE_RUNS,
    READ_ONCE,
    SHARDED_CASES,
)
from tests.llm_bridge.test_shared_prompts import ROUNDING, assert_same

SELECTED = {"kl-cov.selected", "clip-cov.selected"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Everything that runs on two processes, in one launch."""
    folder = tmp_path_factory.mktemp("ragged_ranks")
    run = forked_ranks.run("tests.llm_bridge.ragged_processes", str(folder))
    assert run.returncode == 0, run.stderr[-3000:]
    return folder


@pytest.fixture(scope="module")
def runs(folder):
    return [torch.load(folder / f"runs-{rank}.pt", weights_only=True) for rank in (0, 1)]


@pytest.mark.parametrize("case", [*CASES, "sharded"])
def test_ranks_make_the_same_collectives(runs, case):
    """They have one name, dtype and shape, in one order. A mask that is padded into integers on the rank
    with the shorter completions, and a column that only one rank gathers, end a run or garble its
    numbers."""
    first, second = (run[case]["collectives"] for run in runs)
    assert len(first) > 10
    assert first == second
    for step in zip(*(run[case]["steps"] for run in runs), strict=True):
        widths = {parts[0]["completion_ids"].shape[1] for parts in step}
        assert case in ("second batch", "resampled") or widths == set(LONGEST)


def test_options_of_data_parallelism_reach_it(runs):
    """The case that has them makes the step of one process as all others do."""
    for run in runs:
        assert run["two generations"]["data parallelism"] == [False, 2**20, False]
        assert run["off-policy"]["data parallelism"][0] is True


@pytest.mark.parametrize("case", OF_WHOLE_RUNS)
def test_ranks_make_the_same_collectives_over_whole_runs(runs, case):
    """Dead groups and their replacements, rows cut off, rows that one rank cannot judge, second batches
    of other lengths, generations that serve several steps, in several micro-batches."""
    first, second = (run[case]["collectives"] for run in runs)
    assert len(first) > 40
    assert first == second


@pytest.mark.deep
def test_ranks_make_the_same_collectives_with_every_rule(tmp_path):
    """Each rule reads, prepares and records other columns, in one micro-batch and in several."""
    run = forked_ranks.run("tests.llm_bridge.ragged_processes", str(tmp_path), "of_all_rules")
    assert run.returncode == 0, run.stderr[-3000:]
    first, second = (torch.load(tmp_path / f"rules-{rank}.pt", weights_only=True) for rank in (0, 1))
    assert list(first) == list(OF_ALL_RULES)
    for case, collectives in first.items():
        assert len(collectives) > 20, case
        assert collectives == second[case], case


def test_gathered_rows_are_those_of_both_ranks(folder):
    """Booleans of the narrow rank too, prepared ones included."""
    for rank in (0, 1):
        found = torch.load(folder / f"gathered-{rank}.pt", weights_only=True)
        own = [torch.arange(2 * width).reshape(2, width) + 100 * rank
               for rank, width in enumerate(LONGEST)]
        place = torch.cat([torch.nn.functional.pad(own[0], (0, 3)), own[1]])
        present = torch.ones(4, 6, dtype=torch.bool)
        present[:2, 3:] = False
        expected = {
            "mask": present & (place % 2 == 0), "tempered": present & (place % 3 == 0),
            "selected": present & (place % 5 == 0), "sequence": place, "reward": place.float(),
            "scale": place.double(), "group": place[:, :1].expand(4, 6),
        }
        for name, column in expected.items():
            torch.testing.assert_close(found[name], column, rtol=0, atol=0, msg=name)


def scored(runs, case, rule, step=0):
    """All rows of a step, the model before it, and its statistics of them, from plain logits."""
    parts = [part for run in runs for part in run[case]["steps"][step]]
    whole = functools.reduce(functools.partial(batches.join, pad_token=0), parts)
    model, _ = llama()
    if step:
        model.load_state_dict(runs[0][case]["weights"][step], strict=False)
    ids = torch.cat([whole["prompt_ids"], whole["completion_ids"]], dim=1)
    present = torch.cat([whole["prompt_mask"], whole["completion_mask"]], dim=1)
    logits = model(
        input_ids=ids, attention_mask=present, position_ids=(present.cumsum(-1) - 1).clamp(min=0)
    ).logits[:, whole["prompt_ids"].shape[1] - 1 : -1]
    removed = getattr(rule, "removed_fraction", None)
    return whole, model, from_logits(logits, whole["completion_ids"], removed_fraction=removed)


def one_process_step(runs, case, step=0) -> dict[str, torch.Tensor]:
    """What a step changes each weight by: all rows in one batch, plain logits."""
    name, rule_options, options = {**CASES, **OF_SAMPLING, **OF_NODES}[case]
    rule = update_rules.get(name, **rule_options)
    whole, model, found = scored(runs, case, rule, step)
    batch: TokenBatch = batches.token_batch(
        {name: column for name, column in whole.items() if not name.startswith(batches.PREPARED)},
        found.log_prob, found.entropy, found.clamped_entropy, step=step, seed=42,
    )
    # The weights of a step are those of its tokens, whichever rank they are on.
    for name in (batch.is_ordinary, batch.is_tempered):
        if bool(name.any()):
            torch.testing.assert_close(
                batch.weight[name], torch.full_like(batch.weight[name], 1 / int(name.sum())))
    policy_loss(batch, rule).backward()
    rate = options.get("learning_rate", 1.0)
    return {name: -rate * w.grad for name, w in model.named_parameters() if w.grad is not None}


@pytest.mark.parametrize("case", [case for case in CASES if case != "judged by nobody"])
def test_the_step_of_two_ranks_is_that_of_one_process(runs, case):
    """Padding that counts, a rank's own statistics, or weights that are those of a rank's own rows."""
    expected = one_process_step(runs, case)
    for run in runs:
        before, after = run[case]["weights"][:2]
        assert_same({name: after[name] - before[name] for name in before}, expected)


def test_sharded_weights_are_called_equally_often_and_make_the_same_step(runs):
    """Each call gathers shards from all ranks. Where prompts were read once on the rank whose two rows
    share one, and twice on the other, the ranks gathered different layers."""
    first, second = (run["sharded"] for run in runs)
    assert first["calls"] == second["calls"]
    assert set(first["calls"]) == {"FSDPLlamaForCausalLM"}
    several = [len(set(map(tuple, part["prompt_ids"].tolist()))) > 1
               for part in first["steps"][0] + second["steps"][0]]
    assert any(several)
    assert not all(several)
    expected = one_process_step([{"two generations": run["sharded"]} for run in runs], "two generations")
    for run in (first, second):
        before, after = run["weights"][:2]
        assert_same({name: after[name] - before[name] for name in before}, expected)


def test_ranks_score_nothing_that_the_rule_does_not_read(runs):
    """On-policy GRPO reads rewards and masks alone: two calls of all ranks together try the head, and
    each step is one more. Prompts are read once there as well, by calls of each rank's own."""
    for run in runs:
        calls = run["two generations"]["calls"]
        assert calls.count("DistributedDataParallel") == 2 + 2
        # The trial, which reads all in one way and in the other, and the prompts of each step.
        assert calls.count("LlamaForCausalLM") == 3 + 2


@pytest.mark.parametrize(("case", "gathers"), [
    ("two generations", 2), ("off-policy", 1), ("micro-batches", 1), ("checkpointed", 1),
    # Later steps need the policy as it is then; the controller's rows are seen before the second batch.
    ("prepared again", 2), ("second batch", 2),
])
def test_the_rows_of_all_ranks_are_gathered_once(runs, case, gathers):
    """Columns that nobody reads, or that were there already, are as many bytes between machines."""
    assert [run[case]["gathers"] for run in runs] == [gathers, gathers]


EXACT = 1e-11
"""Of the largest change: float64's 1.1e-16 in sums of a few thousand terms, of either sign, that are a
hundred times their sum at most."""


def test_prompts_read_once_under_data_parallelism_make_the_same_step(tmp_path):
    """What differs is the float32 of Llama's norms, whose gradients are rounded once for a prompt here
    and once for each of its copies there: with norms in float64 nothing is left."""
    run = forked_ranks.run("tests.llm_bridge.ragged_processes", str(tmp_path), "of_shared")
    assert run.returncode == 0, run.stderr[-3000:]
    for rank in (0, 1):
        found = torch.load(tmp_path / f"shared-{rank}.pt", weights_only=True)
        for case in READ_ONCE:
            for norms, largest in (("float32", ROUNDING), ("float64", EXACT)):
                once, copies = (found[case, norms, reads] for reads in ("once", "copies"))
                calls = [run["calls"].count("LlamaForCausalLM") for run in (once, copies)]
                assert calls[0] > calls[1]  # those around data parallelism read the prompts
                (before, *_, after), (_, *_, expected) = once["weights"], copies["weights"]
                moved = max(float((after[n] - before[n]).abs().max()) for n in before)
                assert moved > 1e-3
                worst = max(float((after[n] - expected[n]).abs().max()) for n in before)
                assert worst <= largest * moved, (case, norms)


@pytest.mark.deep
def test_two_nodes_of_two_ranks_make_the_steps_of_one_process(tmp_path):
    """Steps of uneven lengths, with groups replaced, and with a group on ranks of both nodes; what is
    dealt out stays on the first node, whose disk has it, and each node has one rank that fetches."""
    run = forked_ranks.run("tests.llm_bridge.ragged_processes", str(tmp_path), "of_nodes",
                           ranks=4, nodes=2, timeout=600)
    assert run.returncode == 0, run.stderr[-3000:]
    runs = [torch.load(tmp_path / f"nodes-{rank}.pt", weights_only=True) for rank in range(4)]
    assert [run["first of its node"] for run in runs] == [True, False, True, False]
    assert all(run["dealt"] == [[i, i % 2] for i in range(5)] for run in runs)
    for case, (*_, options) in OF_NODES.items():
        first, *others = (run[case] for run in runs)
        assert len(first["steps"]) == options["steps"]
        for other in others:
            assert other["collectives"] == first["collectives"]
        for step in range(options["steps"]):
            parts = [run[case]["steps"][step] for run in runs]
            widths = {part["completion_ids"].shape[1] for rank in parts for part in rank}
            # Rows of a second batch or in place of others are as wide as either.
            assert case == "replaced groups" or widths == set(LONGEST)
            groups = [set(torch.cat([part["group"] for part in rank]).tolist()) for rank in parts]
            assert (case == "replaced groups") != bool(groups[1] & groups[2])
            expected = one_process_step(runs, case, step)
            for run in runs:
                before, after = run[case]["weights"][step : step + 2]
                assert_same({name: after[name] - before[name] for name in before}, expected)


@pytest.mark.deep
def test_ranks_sample_by_continuous_batching_each_for_itself(tmp_path):
    """Ranks that wait for each other's forward passes, rows in another order than their prompts, one seed
    for all ranks, or another distribution than the policy's: given its state, a token's -log pi has mean
    H and variance Var(log pi), so the sum of -log pi - H lies within 4.5 deviations of 0 but for one
    in 100,000."""
    run = forked_ranks.run("tests.llm_bridge.ragged_processes", str(tmp_path), "of_sampling")
    assert run.returncode == 0, run.stderr[-3000:]
    runs = [torch.load(tmp_path / f"sampling-{rank}.pt", weights_only=True) for rank in (0, 1)]
    for case, (name, options, _) in OF_SAMPLING.items():
        first, second = (run[case] for run in runs)
        assert len(first["collectives"]) > 10
        assert first["collectives"] == second["collectives"]
        assert first["seed"] != second["seed"]
        whole, _, found = scored(runs, case, update_rules.get(name, **options))
        drawn = whole["completion_mask"].bool() & ~whole["tempered"][:, None]
        lengths = whole["completion_mask"].sum(-1)
        assert len(lengths.unique()) > 2
        surprise = (-found.log_prob - found.entropy).detach()[drawn].sum()
        assert abs(float(surprise)) < 4.5 * float(found.log_prob_variance[drawn].sum().sqrt())
        expected = one_process_step(runs, case)
        for run in runs:
            before, after = run[case]["weights"][:2]
            assert_same({name: after[name] - before[name] for name in before}, expected)


@pytest.mark.deep
def test_sharded_weights_make_the_step_of_one_process_in_every_case(tmp_path):
    """FSDP2 on ragged rows, two at a time: second batches, references, several steps a generation,
    checkpointing."""
    run = forked_ranks.run("tests.llm_bridge.ragged_processes", str(tmp_path), "of_sharded")
    assert run.returncode == 0, run.stderr[-3000:]
    runs = [torch.load(tmp_path / f"sharded-{rank}.pt", weights_only=True) for rank in (0, 1)]
    for case in SHARDED_CASES:
        first, second = (run[case] for run in runs)
        assert first["collectives"] == second["collectives"], case
        assert first["calls"] == second["calls"], case
        expected = one_process_step(runs, case)
        for found in (first, second):
            before, after = found["weights"][:2]
            assert_same({name: after[name] - before[name] for name in before}, expected)


def test_the_cases_are_what_they_say(runs):
    """Selections, dead groups and rows of the second batch are there to be got wrong."""
    columns = {name for run in runs for part in run["off-policy"]["steps"][0] for name in part}
    assert columns & {batches.PREPARED + name for name in SELECTED}
    assert any(part["tempered"].any() for run in runs for part in run["second batch"]["steps"][0])
    judged = [bool(run["judged on one rank"]["steps"][0][0]["mask"].any()) for run in runs]
    assert judged == [True, False]
    cut = [part for run in runs for part in run["cut off"]["steps"][0]]
    assert any((~part["mask"].any(dim=1)).any() for part in cut)
