"""Guards checkpoints of runs on several ranks: they go on, on as many ranks to the last digit."""

import re
import types
from pathlib import Path

import pytest
import torch

from entropy_theory import update_rules
from llm_bridge.running import checkpoints
from tests.llm_bridge import accelerators, forked_ranks
from tests.llm_bridge.llama_steps import llama_trainer
from tests.llm_bridge.rank_steps import adapted
from tests.llm_bridge.test_rank_steps import ROUNDING, difference, launched


@pytest.mark.deep
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


def on_any_number(sharding: str, folder: Path, ranks: int, *checkpoint: str) -> list[dict]:
    """What each rank brought back from a run of four steps on the same completions, or the end of one."""
    folder.mkdir()
    run = forked_ranks.run(
        "tests.llm_bridge.rank_steps", str(folder), sharding, "on any number", *checkpoint,
        timeout=300, ranks=ranks, **accelerators.environment(sharding))
    assert run.returncode == 0, run.stderr[-3000:]
    return [torch.load(folder / f"steps-{rank}.pt", weights_only=True) for rank in range(ranks)]


@pytest.mark.deep
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
