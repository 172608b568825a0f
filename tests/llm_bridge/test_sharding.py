"""Guards training on sharded weights: accelerate's FSDP2, DeepSpeed's ZeRO-2 and -3, on two CPU ranks.

Run whole by `make test-sharding`, in an environment that has DeepSpeed; `make deep` runs what is there.
"""

import functools
import json
import os
import re
import tempfile
import types
from pathlib import Path

import pytest
import torch

from entropy_theory import update_rules
from entropy_theory.rounding import FORWARD_ROUNDINGS
from llm_bridge.head.token_statistics import from_logits
from llm_bridge.objective import batches
from llm_bridge.objective.loss import clamped_fraction, policy_loss
from llm_bridge.running import checkpoints
from tests.llm_bridge import accelerators, forked_ranks
from tests.llm_bridge.llama_steps import llama_trainer
from tests.llm_bridge.sharded_processes import CASES, EVERY, RATE, SAMPLED, TWICE, adapted

pytestmark = pytest.mark.deep

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
RECORD = "SHARDING_RECORD"
"""The folder where differences are written for docs/engines_matrix.md, where it is set."""


@functools.cache
def launched(sharding: str, job: str = "all") -> list[dict]:
    """What each rank brought back from all cases of a job, in one launch."""
    reason = accelerators.obstacle(sharding)
    if reason is not None:
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix=f"{sharding}-") as folder:
        run = forked_ranks.run(
            "tests.llm_bridge.sharded_processes", folder, sharding, job, timeout=1500,
            **accelerators.environment(sharding))
        assert run.returncode == 0, run.stderr[-3000:]
        return [torch.load(f"{folder}/steps-{rank}.pt", weights_only=True) for rank in (0, 1)]


def statistics(model, columns, rule):
    """Of the completions' tokens, from plain logits."""
    ids = torch.cat([columns["prompt_ids"], columns["completion_ids"]], dim=1)
    present = torch.cat([columns["prompt_mask"], columns["completion_mask"]], dim=1)
    logits = model(
        input_ids=ids, attention_mask=present, position_ids=(present.cumsum(-1) - 1).clamp(min=0)
    ).logits[:, columns["prompt_ids"].shape[1] - 1 : -1]
    return from_logits(
        logits, columns["completion_ids"], removed_fraction=clamped_fraction(rule))


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
    """Those of a step on both ranks, as they were sampled."""
    columns = functools.reduce(
        functools.partial(batches.join, pad_token=0),
        [part for run in runs for part in run[case]["steps"][step]])
    return {name: column for name, column in columns.items() if not name.startswith(batches.PREPARED)}


def one_process_step(runs, case: str, step: int) -> dict[str, torch.Tensor]:
    """What an optimizer step changes each weight by: the rows of both ranks in one batch, plain logits
    in float64 (or in the bfloat16 of the run), the rule prepared on all rows, old log-probs from the
    weights that sampled."""
    name, rule_options, options = EVERY[case]
    rule = update_rules.get(name, **rule_options)
    columns = all_rows(runs, case, step)
    sampled_at = 0 if {**TWICE, **options}["num_iterations"] > 1 else step
    (start, rounded), (middle, _), (reference, _) = (
        multiplied(model, runs[0][case]) for model in (
            *(with_weights(adapted(case), runs[0][case]["weights"][at]) for at in (sampled_at, step)),
            adapted(case, reference=True)))
    with torch.no_grad(), rounded:
        first = statistics(start, columns, rule)
        columns["old_log_prob"] = first.log_prob
        if "reference_log_prob" in columns:
            columns["reference_log_prob"] = statistics(reference, columns, rule).log_prob
    batch_of = functools.partial(batches.token_batch, columns, step=step, seed=42)
    with rounded:
        found = statistics(middle, columns, rule)
    batch = batch_of(found.log_prob, found.entropy, found.clamped_entropy)
    if not rule.needs.every_step:
        sampled = batches.token_batch(
            columns, first.log_prob, first.entropy, first.clamped_entropy, step=sampled_at, seed=42)
        batch = batch.with_prepared(**rule.prepare(sampled).prepared)
    policy_loss(batch, rule).backward()
    gradient = {n: w.grad for n, w in middle.named_parameters() if w.requires_grad}
    limit = options.get("max_grad_norm")
    if limit:
        norm = torch.nn.utils.get_total_norm(list(gradient.values()))
        assert norm > 2 * limit
        gradient = {n: g * limit / norm for n, g in gradient.items()}
    return {n: -RATE * g for n, g in gradient.items()}


def difference(found, expected) -> float:
    """The largest difference of a weight's change, of the largest change."""
    largest = max(float(change.abs().max()) for change in expected.values())
    assert largest > 1e-5
    return max(float((found[n].double() - expected[n].double()).abs().max()) for n in expected) / largest


def largest_difference(runs, sharding: str, case: str) -> float:
    """Of a case's two steps from those of one process, which is checked to be rounding."""
    assert all(all(run[case]["fused"]) for run in runs)
    checkpoints = EVERY[case][2].get("gradient_checkpointing", False)
    assert {run[case]["checkpoints"] for run in runs} == {checkpoints}
    kind = {"ddp": "MULTI_CPU", "fsdp2": "FSDP"}.get(sharding, "DEEPSPEED")
    assert {run[case]["kind"] for run in runs} == {kind}
    worst = 0.0
    for step in (0, 1):
        expected = one_process_step(runs, case, step)
        for run in runs:
            before, after = run[case]["weights"][step : step + 2]
            assert before.keys() == expected.keys()
            found = difference({n: after[n] - before[n] for n in before}, expected)
            largest = max(float(w.abs().max()) for w in before.values())
            change = max(float(c.abs().max()) for c in expected.values())
            bound = ROUNDING[sharding] + STORED[sharding] * largest / change
            assert found < (IN_BFLOAT16 if run[case]["bf16"] else bound)
            worst = max(worst, found)
    return worst


def record(sharding: str, case: str, value: float) -> None:
    """Keep a difference for the page, where it is asked for."""
    folder = os.environ.get(RECORD)
    if folder:
        path = Path(folder) / f"{sharding}.json"
        known = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**known, case: value}, indent=1, sort_keys=True) + "\n")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("sharding", accelerators.KINDS)
def test_a_step_on_shards_is_that_of_one_process(sharding, case):
    """Both steps on a generation: gradients that are averaged twice or not at all, a norm that is a
    shard's own, a head whose weight is not whole, an adapter or a tied weight that is counted twice, a
    head that holds all logits, since what leaves the model is rounded."""
    record(sharding, case, largest_difference(launched(sharding), sharding, case))


def longest(parts) -> tuple[int, int]:
    """The lengths of a rank's longest completions: those of the policy, and tempered ones."""
    lengths = torch.cat([part["completion_mask"].sum(-1) for part in parts])
    tempered = torch.cat([part["tempered"] for part in parts])
    return int(lengths[~tempered].max()), int(lengths[tempered].max())


@pytest.mark.parametrize(("sharding", "cases"), [
    ("fsdp2", ["TRL's generate"]), ("zero2", ["TRL's generate", "continuous batching"]),
    ("zero3", list(SAMPLED))])
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
                found = statistics(model, columns, rule)
            drawn = columns["completion_mask"].bool() & ~columns["tempered"][:, None]
            # One rank calls the model when all its own completions have ended.
            assert longest(runs[0][case]["steps"][step]) != longest(runs[1][case]["steps"][step])
            surprise = float((-found.log_prob - found.entropy)[drawn].sum())
            assert abs(surprise) < 4.5 * float(found.log_prob_variance[drawn].sum().sqrt())
        largest_difference(runs, sharding, case)


@pytest.mark.parametrize("sharding", accelerators.KINDS)
def test_a_run_goes_on_exactly_from_its_checkpoint(sharding):
    """To the last digit, on completions that the sharded model samples: shards of weights and of Adam's
    state, each rank's random numbers, the controller."""
    for run in launched(sharding, "resumed"):
        whole, resumed = run["whole"], run["resumed"]
        for name, weight in whole["weights"].items():
            assert torch.equal(weight, resumed["weights"][name]), name
        for one, other in zip(whole["records"][2:], resumed["records"], strict=True):
            assert {**one, "seconds": 0} == {**other, "seconds": 0}
    records = launched(sharding, "resumed")[0]["whole"]["records"]
    assert [one["step"] for one in records] == [1, 2, 3, 4]
    assert len({one["entropy"] for one in records}) == 4
    record(sharding, "resumed", 0.0)


def on_any_number(sharding: str, folder: Path, ranks: int, *checkpoint: str) -> list[dict]:
    """What each rank brought back from a run of four steps on the same completions, or the end of one."""
    folder.mkdir()
    run = forked_ranks.run(
        "tests.llm_bridge.sharded_processes", str(folder), sharding, "on any number", *checkpoint,
        timeout=300, ranks=ranks, **accelerators.environment(sharding))
    assert run.returncode == 0, run.stderr[-3000:]
    return [torch.load(folder / f"steps-{rank}.pt", weights_only=True) for rank in range(ranks)]


@pytest.mark.parametrize("sharding", accelerators.KINDS)
def test_a_run_goes_on_on_another_number_of_ranks_or_is_refused(sharding, tmp_path):
    """Two ranks to one and one to two, from the middle: the weights at the end are those of the run that
    was not interrupted. DeepSpeed's shards are those of their ranks: refused before a step."""
    if accelerators.obstacle(sharding):
        pytest.skip(accelerators.obstacle(sharding))
    whole = {ranks: on_any_number(sharding, tmp_path / f"{ranks}", ranks) for ranks in (2, 1)}
    start = adapted("aepo").state_dict()
    changes = {name: weight.double() - start[name] for name, weight in whole[2][0]["weights"].items()}
    for before, after in ((2, 1), (1, 2)):
        checkpoint = tmp_path / f"{before}" / "aepo" / "checkpoint-2"
        digests = {path: path.stat().st_mtime_ns for path in checkpoint.rglob("*")}
        found = on_any_number(sharding, tmp_path / f"{before} to {after}", after, str(checkpoint))
        assert digests == {path: path.stat().st_mtime_ns for path in checkpoint.rglob("*")}
        for rank in found:
            if sharding.startswith("zero"):
                assert re.search(
                    rf"written by {before} processes .* has {after}: continue it with {before}",
                    rank["refused"])
                assert rank["steps"] == 0
                continue
            off = difference({n: w - start[n] for n, w in rank["weights"].items()}, changes)
            assert off < ROUNDING[sharding]
            record(sharding, f"{before} to {after}", off)


def test_float16_is_refused_on_a_cpu(tmp_path):
    """accelerate says nothing, and trains in another format."""
    with pytest.raises(ValueError, match="fp16=True on a CPU would train without a loss scale"):
        llama_trainer(tmp_path, update_rules.get("grpo"), fp16=True)


def test_what_deepspeed_wrote_wants_the_ranks_that_wrote_it(tmp_path):
    """Others go on: their checkpoints hold the optimizer's state whole."""
    def run(kind: str, ranks: int) -> types.SimpleNamespace:
        return types.SimpleNamespace(
            distributed_type=types.SimpleNamespace(value=kind), num_processes=ranks)

    checkpoints.check_ranks(tmp_path, run("DEEPSPEED", 1))
    with pytest.raises(ValueError, match="written by 1 processes under DeepSpeed, and this run has 2"):
        checkpoints.check_ranks(tmp_path, run("DEEPSPEED", 2))
    for rank in (0, 1):
        (tmp_path / f"rng_state_{rank}.pth").touch()
    checkpoints.check_ranks(tmp_path, run("DEEPSPEED", 2))
    checkpoints.check_ranks(tmp_path, run("FSDP", 1))
    with pytest.raises(ValueError, match="continue it with 2, or start a new run from its weights"):
        checkpoints.check_ranks(tmp_path, run("DEEPSPEED", 1))
