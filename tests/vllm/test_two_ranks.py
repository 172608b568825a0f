"""Guards vLLM's colocated engine under data parallelism: one on each of two ranks (two_ranks.py)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("vllm")

import torch

from entropy_theory import update_rules
from llm_bridge.data import models
from llm_bridge.head.token_statistics import from_logits
from llm_bridge.objective import batches
from llm_bridge.objective.loss import policy_loss
from tests.llm_bridge.test_shared_prompts import assert_same
from tests.vllm.test_colocated import IN_BFLOAT16, check_correction, log_prob_of, of_vllm, rms

STEPS = range(3)


@pytest.fixture(scope="module")
def model(folder):
    return models.load(folder)[0].double()


@pytest.fixture(scope="module")
def runs(folder, tmp_path_factory):
    """What each rank drew, its rows of each step, and the weights around the steps."""
    output = tmp_path_factory.mktemp("two_ranks")
    found = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
         "-m", "tests.vllm.two_ranks", folder, str(output)],
        cwd=Path(__file__).parents[2], env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False,
        capture_output=True, text=True, timeout=1200)
    assert found.returncode == 0, found.stderr[-3000:]
    return [torch.load(output / f"rank-{rank}.pt", weights_only=True) for rank in (0, 1)]


def test_each_rank_draws_from_the_weights_of_its_step(runs, model):
    """Weights that reach one rank's engine only; and where the ranks answer the same prompt, they do not
    draw the same completions, which would halve the batch."""
    for step in STEPS:
        for ordinary in (True, False):
            drawn = [run["draws"][2 * step + (not ordinary)] for run in runs]
            assert drawn[0]["prompts"] == drawn[1]["prompts"]
            # Later the policy may be sure of every token.
            assert step > 0 or drawn[0]["completions"] != drawn[1]["completions"]
            temperature = drawn[0]["temperature"]
            assert temperature == drawn[1]["temperature"]
            assert (temperature == 1) is ordinary
            for run, draw in zip(runs, drawn, strict=True):
                own = log_prob_of(model, run["weights"][step], draw, temperature)
                assert rms(of_vllm(draw) - own) < IN_BFLOAT16
    for run in runs:  # the test would see it
        stale = log_prob_of(model, run["weights"][0], run["draws"][-2], 1.0)
        assert rms(of_vllm(run["draws"][-2]) - stale) > 4 * IN_BFLOAT16


def test_each_rank_corrects_its_rows(runs, model):
    """By its own draws' log-probabilities, in its own order."""
    for run in runs:
        for step in STEPS:
            check_correction(
                model, run["parts"][step], run["draws"][2 * step], run["weights"][step],
                is_first=step == 0)


def test_the_step_of_two_ranks_is_that_of_one_process(runs, model):
    """All rows of both in one batch, plain logits, corrections included: the group, its baseline and the
    numbers of tokens are those of both ranks."""
    rule = update_rules.get("aepo", alpha=1.0, target=0.1)
    for step in STEPS:
        whole = batches.join(*(run["parts"][step] for run in runs), pad_token=0)
        before, after = (runs[0]["weights"][at] for at in (step, step + 1))
        model.load_state_dict(before, strict=False)
        model.zero_grad()
        ids = torch.cat([whole["prompt_ids"], whole["completion_ids"]], dim=1)
        present = torch.cat([whole["prompt_mask"], whole["completion_mask"]], dim=1)
        logits = model(
            input_ids=ids, attention_mask=present, position_ids=(present.cumsum(-1) - 1).clamp(min=0)
        ).logits[:, whole["prompt_ids"].shape[1] - 1 : -1]
        found = from_logits(logits, whole["completion_ids"])
        batch = batches.token_batch(
            {name: column for name, column in whole.items() if not name.startswith(batches.PREPARED)},
            found.log_prob, found.entropy, step=step, seed=42)
        assert len(batch.group.unique()) == 1
        for rows in (batch.is_ordinary, batch.is_tempered):
            torch.testing.assert_close(
                batch.weight[rows], torch.full_like(batch.weight[rows], 1 / int(rows.sum())))
        policy_loss(batch, rule, correction=whole["correction"]).backward()
        expected = {name: -2.0 * weight.grad for name, weight in model.named_parameters()}
        assert_same({name: after[name] - before[name] for name in before}, expected)
        assert all(runs[1]["weights"][step + 1][name].equal(after[name]) for name in after)
