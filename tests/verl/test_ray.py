"""Guards llm_bridge/verl_second_batch.py: under Ray, verl's trainer with a second batch takes on two
ranks the steps that it takes on one.

`ray_run` says what of it is verl's: all but the servers of completions.
"""

import json
import os
import signal
import subprocess
import sys

import pytest

pytest.importorskip("verl")
pytest.importorskip("transfer_queue", reason="verl's trainers want TransferQueue: make test-verl")

import torch

from tests.verl import worker_ranks
from tests.verl.test_two_ranks import ROUNDING
from tests.verl.worker_ranks import LIMIT, RANKS

STEPS = 2


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ray")
    said = folder / "said.txt"
    with said.open("w") as log:
        run = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.verl.ray_run", folder, "1", str(RANKS)],
            stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            env={**os.environ, **worker_ranks.ENVIRONMENT})
        try:
            ended = run.wait(timeout=2 * LIMIT)
        finally:
            if run.poll() is None:  # with all that Ray started
                os.killpg(run.pid, signal.SIGKILL)
    assert ended == 0, said.read_text()[-6000:]
    return torch.load(folder / "found.pt", weights_only=True), folder


@pytest.mark.deep
def test_two_ranks_end_where_one_does(found):
    """Weights after two steps on the same completions, to float32's rounding: a term lost on a rank, or
    counted twice, changes a step by percents."""
    (one, two), folder = (found[0][1]["weights"][0], found[0][RANKS]["weights"]), found[1]
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(folder / "model", dtype=torch.float32)
    changes = {name: one[name] - weight.detach() for name, weight in model.named_parameters()}
    largest = max(float(change.abs().max()) for change in changes.values())
    rounded = max(float(w.abs().max()) for w in one.values()) * 2 * 2.0**-24 / largest
    assert largest > 1e-3
    assert len(two) == RANKS
    for weights in two:
        for name in changes:
            off = (weights[name] - one[name]).abs().max()
            assert off < (STEPS * ROUNDING + rounded) * largest, name


@pytest.mark.deep
def test_a_second_batch_was_drawn_and_learned_from(found):
    """Two prompts of four, two answers each, at the switch's temperature; none of it is left behind."""
    for ranks in (1, RANKS):
        run = found[0][ranks]
        assert len(run["logs"]) == STEPS
        assert run["left"] == []
        for log in run["logs"]:
            assert log["actor/tempered_sequences"] == 4
            assert log["tempered/temperature"] in (1.2, 0.8)
            assert 0 <= log["actor/tempered_positive_share"] == log["tempered/reward"] <= 1
        kept = found[1] / f"checkpoints-{ranks}/global_step_{STEPS}" / "second_batch.json"
        state = json.loads(kept.read_text())
        assert state["optimizer_steps"] == STEPS
        assert state["temperature"]["temperature"] == run["logs"][-1]["tempered/temperature"]
    one, two = (found[0][ranks]["logs"] for ranks in (1, RANKS))
    for mine, other in zip(one, two, strict=True):
        assert mine["actor/grad_norm"] == pytest.approx(other["actor/grad_norm"], rel=1e-3)
