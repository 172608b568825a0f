"""Guards training on several ranks (see rank_steps.py), whose completions differ in length: accelerate's
data parallelism, FSDP2, DeepSpeed's ZeRO-2 and -3 make the step of one process, on CPU ranks.

Run whole by `make test-sharding`, in an environment that has DeepSpeed; `make deep` runs what is there.
"""

import functools
import tempfile

import pytest
import torch

from entropy_theory import entropy_change, policy, update_rules
from entropy_theory.accounting import SHARE
from entropy_theory.rounding import FORWARD_ROUNDINGS
from llm_bridge.data import models
from llm_bridge.objective import batches
from llm_bridge.objective.loss import policy_loss
from tests.llm_bridge import accelerators, forked_ranks
from tests.llm_bridge.language_models import PROMPTS, tabular, tiny_llama
from tests.llm_bridge.llama_steps import plain_statistics
from tests.llm_bridge.rank_steps import (
    CASES,
    DAILY,
    EVERY,
    LONGEST,
    NODES,
    ROUTED,
    SAMPLED,
    adapted,
)
from tests.tolerances import SAME_STEP

ROUNDING = {"ddp": 1e-6, "fsdp2": 1e-6, "zero2": 1e-4, "zero3": 1e-4}
"""Of the largest change of a weight. Llama's norms compute in float32 even in a float64 model, where
gradients that are added up in another order differ by some 1e-7. DeepSpeed reduces gradients and keeps
the weights that it trains in float32: each of a few hundred terms of a gradient is rounded by 2^-24.
Statistics of a rank's own rows, weights of a rank's own tokens, or a micro-batch too many change a step
by percents."""
STORED = {"ddp": 0.0, "fsdp2": 0.0, "zero2": 2.0**-23, "zero3": 2.0**-23}
"""Of the largest weight: a rounding before and one after the step, where weights are kept in float32."""
IN_BFLOAT16 = 4 * 2**0.5 * (FORWARD_ROUNDINGS / 3) ** 0.5 * 2.0**-8
"""Of the largest change of a weight, between two steps that hold the same numbers in bfloat16. On its way
through the model and back a token's part of a gradient is rounded R = ``FORWARD_ROUNDINGS`` times, each
time by up to 2^-8 of itself: if independently, by sqrt(R / 3) 2^-8, root mean square, and so is a sum of
such parts. Two steps differ by sqrt(2) of that; 4 deviations for the largest of some 3,000 weights. That
is 0.1: a rank that is left out or counted twice changes a step by half or more."""


@functools.cache
def launched(sharding: str, job: str, ranks: int = 2, nodes: int = 1) -> list[dict]:
    """What each rank brought back from all cases of a job, in one launch."""
    reason = accelerators.obstacle(sharding)
    if reason is not None:
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix=f"{sharding}-") as folder:
        run = forked_ranks.run(
            "tests.llm_bridge.rank_steps", folder, sharding, job, timeout=1500, ranks=ranks, nodes=nodes,
            **accelerators.environment(sharding))
        assert run.returncode == 0, run.stderr[-3000:]
        return [torch.load(f"{folder}/steps-{rank}.pt", weights_only=True) for rank in range(ranks)]


@pytest.fixture(scope="module")
def runs() -> list[dict]:
    return launched("ddp", "daily")


# --------------------------------------------------------------------- what the ranks do together


@pytest.mark.parametrize("case", DAILY)
def test_ranks_make_the_same_collectives(runs, case):
    """They have one name, dtype and shape, in one order. A mask that is padded into integers on the rank
    with the shorter completions, and a column that only one rank gathers, end a run or garble its
    numbers."""
    first, second = (run[case]["collectives"] for run in runs)
    assert len(first) > 10
    assert first == second
    for step in zip(*(run[case]["steps"] for run in runs), strict=True):
        widths = {part["completion_ids"].shape[1] for parts in step for part in parts}
        assert case in ("second batch", "resampled", "both controllers") or widths == set(LONGEST)


def test_options_of_data_parallelism_reach_it(runs):
    """The case that has them makes the step of one process as all others do."""
    for run in runs:
        assert run["two generations"]["data parallelism"] == [False, 2**20, False]
        assert run["prepared again"]["data parallelism"][0] is True


def test_the_cases_are_what_they_say(runs):
    """Selections, dead groups and rows of the second batch are there to be got wrong."""
    columns = {name for run in runs for part in run["off-policy"]["steps"][0] for name in part}
    assert batches.PREPARED + "kl-cov.selected" in columns
    assert any(part["tempered"].any() for run in runs for part in run["second batch"]["steps"][0])
    judged = [bool(run["judged on one rank"]["steps"][0][0]["mask"].any()) for run in runs]
    assert judged == [True, False]
    cut = [part for run in runs for part in run["cut off"]["steps"][0]]
    assert any((~part["mask"].any(dim=1)).any() for part in cut)
    usable = [[record["usable_fraction"] for record in runs[0][case]["records"]]
              for case in ("judged on one rank", "judged by nobody")]
    assert usable == [[0.5], [0, 0]]
    for run in runs:  # what no rank can judge moves nothing
        start, *_, end = run["judged by nobody"]["weights"]
        assert all(torch.equal(start[name], end[name]) for name in start)


def test_two_ranks_watch_a_users_own_loss(runs):
    """Diagnostics of a plain GRPOTrainer: gradients are averaged over ranks, rows lie on both."""
    found = runs[0]["diagnostics"]
    before, after = (table.numpy() for table in found["tables"])
    states = [row[-1] for row in tabular()[1](list(PROMPTS)).input_ids]
    expected = entropy_change.first_order(before, after - before)[states].mean()
    (record,) = found["records"]
    assert abs(expected) > 1e-5
    assert record["forecast_entropy_change"] == pytest.approx(expected, abs=SAME_STEP)
    assert record["entropy"] == pytest.approx(policy.entropy(before)[states].mean(), abs=1e-12)


def test_each_rank_has_the_whole_reference_where_one_reads_the_checkpoint(runs, tmp_path):
    """fsdp_cpu_ram_efficient_loading: the other rank's own copy, loaded or copied, is zeros.

    Under transformers 5.24 every rank reads the checkpoint all the same.
    """
    first, second = (run["references"] for run in runs)
    assert all(not tensor.any() for tensor in second["loaded"].values()) or all(
        torch.equal(tensor, first["loaded"][name]) for name, tensor in second["loaded"].items())
    expected = models.load(str(tiny_llama(tmp_path)))[0].state_dict()
    for found in (first, second):
        for kind in ("copied", "named"):
            for name, tensor in expected.items():
                torch.testing.assert_close(found[kind][name], tensor, rtol=0, atol=0)


# ---------------------------------------------------------------------------- steps of one process


def with_weights(model, weights):
    """The model with these weights in float64, whatever they were trained in."""
    named = dict(model.named_parameters())
    with torch.no_grad():
        for name, weight in weights.items():
            named[name].copy_(weight)
    return model


def multiplied(model, run):
    """A model in the format that a run multiplies in, and the context of its forward passes.

    In bfloat16 data parallelism holds weights and the residual stream in float32, and rounds what is
    multiplied (autocast); FSDP2 and DeepSpeed hold both in bfloat16.
    """
    is_autocast = run["bf16"] and run["kind"] == "MULTI_CPU"
    if run["bf16"]:
        model = model.float() if is_autocast else model.bfloat16()
    return model, torch.autocast("cpu", torch.bfloat16, enabled=is_autocast)


def all_rows(runs, case: str, step: int) -> dict[str, torch.Tensor]:
    """Those of a step on all ranks, as they were sampled."""
    columns = functools.reduce(
        functools.partial(batches.join, pad_token=0),
        [part for run in runs for part in run[case]["steps"][step]])
    return {name: column for name, column in columns.items() if not name.startswith(batches.PREPARED)}


def one_process_step(runs, case: str, step: int) -> dict[str, torch.Tensor]:
    """What an optimizer step changes each weight by: the rows of all ranks in one batch, plain logits
    in float64 (or in the bfloat16 of the run), the rule prepared on all rows, old log-probs from the
    weights that sampled."""
    name, rule_options, options = EVERY[case]
    rule = update_rules.get(name, **rule_options)
    columns = all_rows(runs, case, step)
    sampled_at = 0 if options.get("num_iterations", 1) > 1 else step
    (start, rounded), (middle, _), (reference, _) = (
        multiplied(model, runs[0][case]) for model in (
            *(with_weights(adapted(case), runs[0][case]["weights"][at]) for at in (sampled_at, step)),
            adapted(case, is_reference=True)))
    with torch.no_grad(), rounded:
        first = plain_statistics(start, columns, rule)
        columns["old_log_prob"] = first.log_prob
        if "reference_log_prob" in columns:
            columns["reference_log_prob"] = plain_statistics(reference, columns, rule).log_prob
    batch_of = functools.partial(batches.token_batch, columns, seed=42)
    with rounded:
        found = plain_statistics(middle, columns, rule)
    batch = batch_of(found.log_prob, found.entropy, found.clamped_entropy, step=step)
    for rows in (batch.is_ordinary, batch.is_tempered):
        # The weights of a step are those of its tokens, whichever rank they are on.
        if len(runs[0][case]["steps"]) == 1 and bool(rows.any()):
            torch.testing.assert_close(
                batch.weight[rows], torch.full_like(batch.weight[rows], 1 / int(rows.sum())))
    if not rule.needs.every_step:
        sampled = batch_of(first.log_prob, first.entropy, first.clamped_entropy, step=sampled_at)
        batch = batch.with_prepared(**rule.prepare(sampled).prepared)
    policy_loss(batch, rule).backward()
    if options.get("experts"):
        balancing_loss([part for run in runs for part in run[case]["steps"][step]], middle).backward()
    gradient = {n: w.grad for n, w in middle.named_parameters() if w.requires_grad}
    limit = options.get("max_grad_norm")
    if limit:
        norm = torch.nn.utils.get_total_norm(list(gradient.values()))
        assert norm > 2 * limit
        gradient = {n: g * limit / norm for n, g in gradient.items()}
    return {n: -options.get("learning_rate", 1.0) * g for n, g in gradient.items()}


def balancing_loss(parts, model) -> torch.Tensor:
    """The router's loss: the mean of those of micro-batches, each of its own tokens."""
    found = []
    for part in parts:
        ids, mask = (torch.cat([part[f"prompt_{name}"], part[f"completion_{name}"]], dim=1)
                     for name in ("ids", "mask"))
        found.append(model(ids, attention_mask=mask, output_router_logits=True).aux_loss)
    return ROUTED * torch.stack(found).mean()


def difference(found, expected) -> float:
    """The largest difference of a weight's change, of the largest change."""
    largest = max(float(change.abs().max()) for change in expected.values())
    assert largest > 1e-5
    return max(float((found[n].double() - expected[n].double()).abs().max()) for n in expected) / largest


def check_steps(runs, sharding: str, case: str) -> None:
    """Of a case are those of one process, to rounding."""
    assert all(all(run[case]["fused"]) for run in runs)
    checkpointed = EVERY[case][2].get("gradient_checkpointing", False)
    assert {run[case]["checkpoints"] for run in runs} == {checkpointed}
    kind = {"ddp": "MULTI_CPU", "fsdp2": "FSDP"}.get(sharding, "DEEPSPEED")
    assert {run[case]["kind"] for run in runs} == {kind}
    for step in range(EVERY[case][2].get("steps", 1)):
        expected = one_process_step(runs, case, step)
        for run in runs:
            before, after = run[case]["weights"][step : step + 2]
            assert before.keys() == expected.keys()
            found = difference({n: after[n] - before[n] for n in before}, expected)
            largest = max(float(w.abs().max()) for w in before.values())
            change = max(float(c.abs().max()) for c in expected.values())
            bound = ROUNDING[sharding] + STORED[sharding] * largest / change
            assert found < (IN_BFLOAT16 if run[case]["bf16"] else bound)


@pytest.mark.parametrize("case", [
    case for case in DAILY if case not in ("judged by nobody", "both controllers", "accounted")])
def test_the_step_of_two_ranks_is_that_of_one_process(runs, case):
    """Padding that counts, a rank's own statistics, or weights that are those of a rank's own rows."""
    check_steps(runs, "ddp", case)


def check_accounts(runs) -> None:
    """The record is of the rows of all ranks: their mean entropy, its gradient times the weights' change,
    and its own; the account of each part of the step adds up to that, and tokens to theirs."""
    name, rule_options, _ = EVERY["accounted"]
    rule, weights = update_rules.get(name, **rule_options), runs[0]["accounted"]["weights"]
    for step in (0, 1):
        rows, entropies = all_rows(runs, "accounted", step), []
        mask = rows["mask"]
        for at in (step, step + 1):
            model = with_weights(adapted("accounted"), weights[at])
            entropy = plain_statistics(model, rows, rule).entropy
            entropies.append(((entropy * mask).sum(-1) / mask.sum(-1)).mean())
            if at == step:
                named = dict(model.named_parameters())
                slope = torch.autograd.grad(entropies[0], list(named.values()))
        first, second = (float(entropy.detach()) for entropy in entropies)
        forecast = sum(float((s * (weights[step + 1][n].double() - weights[step][n])).sum())
                       for n, s in zip(named, slope, strict=True))
        assert abs(forecast) > 1e-4
        record = runs[0]["accounted"]["records"][step]
        # Norms compute in float32: another order of sums is another rounding there.
        assert record["entropy"] == pytest.approx(first, abs=1e-6)
        assert record["entropy_gradient"] == pytest.approx(forecast, rel=1e-4, abs=1e-6)
        assert record["measured_entropy_change"] == pytest.approx(second - first, rel=1e-4, abs=1e-6)
        # SHARE is the residual that an account lets stand.
        assert record["accounted"] == pytest.approx(second - first, rel=SHARE, abs=1e-6)
        parts = {name: record[f"accounted/{name}"] for name in (
            "gradient", "clipping", "weight_decay", *["momentum"] * step)}
        assert sum(parts.values()) == pytest.approx(record["accounted"], abs=1e-6)
        by_rule = record["accounted/entropy-bonus"] + record["accounted/grpo"]
        # Several processes tell tokens apart by differences, whose parts miss the whole by more. A rank
        # that is left out or counted twice takes half of it away.
        assert by_rule == pytest.approx(parts["gradient"] + parts["clipping"], rel=2e-3)
        assert record["accounted_token_gap"] < 2e-3


def test_rows_on_two_ranks_make_one_account(runs):
    check_accounts(runs)


@pytest.mark.deep
def test_sharded_weights_are_called_equally_often_and_make_the_same_step():
    """Each call gathers shards from all ranks. Where prompts were read once on the rank whose two rows
    share one, and twice on the other, the ranks gathered different layers."""
    runs = launched("fsdp2", "two rows a pass,accounted")
    check_accounts(runs)
    first, second = (run["two rows a pass"] for run in runs)
    # A scatter has its parts on one rank alone.
    assert [one if one[0] != "scatter_" else "scatter" for one in first["collectives"]] == [
        one if one[0] != "scatter_" else "scatter" for one in second["collectives"]]
    several = [len(set(map(tuple, part["prompt_ids"].tolist()))) > 1
               for part in first["steps"][0] + second["steps"][0]]
    assert any(several)
    assert not all(several)
    check_steps(runs, "fsdp2", "two rows a pass")


@pytest.mark.deep
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("sharding", accelerators.KINDS)
def test_a_step_on_shards_is_that_of_one_process(sharding, case):
    """Both steps on a generation: gradients that are averaged twice or not at all, a norm that is a
    shard's own, a head whose weight is not whole, an adapter or a tied weight that is counted twice, a
    head that holds all logits, since what leaves the model is rounded."""
    check_steps(launched(sharding, "all"), sharding, case)


@pytest.mark.deep
def test_two_nodes_of_two_ranks_make_the_steps_of_one_process():
    """Steps of uneven lengths, with groups replaced, and with a group on ranks of both nodes; what is
    dealt out stays on the first node, whose disk has it, and each node has one rank that fetches."""
    runs = launched("ddp", "nodes", ranks=4, nodes=2)
    assert [run["first of its node"] for run in runs] == [True, False, True, False]
    assert all(run["dealt"] == [[i, i % 2] for i in range(5)] for run in runs)
    for case in NODES:
        check_steps(runs, "ddp", case)
        for step in range(len(runs[0][case]["steps"])):
            parts = [run[case]["steps"][step] for run in runs]
            widths = {part["completion_ids"].shape[1] for rank in parts for part in rank}
            # Rows of a second batch or in place of others are as wide as either.
            assert case == "replaced groups" or widths == set(LONGEST)
            groups = [set(torch.cat([part["group"] for part in rank]).tolist()) for rank in parts]
            assert (case == "replaced groups") != bool(groups[1] & groups[2])


def longest(parts) -> tuple[int, int]:
    """The lengths of a rank's longest completions: those of the policy, and tempered ones."""
    lengths = torch.cat([part["completion_mask"].sum(-1) for part in parts])
    tempered = torch.cat([part["tempered"] for part in parts])
    return int(lengths[~tempered].max()), int(lengths[tempered].max())


@pytest.mark.deep
@pytest.mark.parametrize(("sharding", "cases"), [
    ("ddp", ["continuous batching"]), ("fsdp2", ["TRL's generate"]),
    ("zero2", ["TRL's generate", "continuous batching"]), ("zero3", list(SAMPLED))])
def test_completions_drawn_on_shards_are_the_policys_and_so_is_the_step_on_them(sharding, cases):
    """Ranks that wait for each other's calls, weights that are gathered in part,
    hooks that are not put back: the sum of -log pi - H over the tokens drawn has mean 0 and the variance
    of the sum of log pi, and lies within 4.5 deviations but for one in 100,000."""
    runs = launched(sharding, ",".join(cases))
    for case in cases:
        rule = update_rules.get(EVERY[case][0], **EVERY[case][1])
        for step in (0, 1):
            columns = all_rows(runs, case, step)
            model = with_weights(adapted(case), runs[0][case]["weights"][step])
            with torch.no_grad():
                found = plain_statistics(model, columns, rule)
            drawn = columns["completion_mask"].bool() & ~columns["tempered"][:, None]
            # One rank calls the model when all its own completions have ended.
            assert longest(runs[0][case]["steps"][step]) != longest(runs[1][case]["steps"][step])
            surprise = float((-found.log_prob - found.entropy)[drawn].sum())
            assert abs(surprise) < 4.5 * float(found.log_prob_variance[drawn].sum().sqrt())
        check_steps(runs, sharding, case)
