"""Guards vLLM's colocated engine under data parallelism: one on each of two ranks (two_ranks.py)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("vllm")

import torch

from llm_bridge.data import models
from tests.vllm.test_colocated import IN_BFLOAT16, log_prob_of, of_vllm, rms

STEPS = range(3)


@pytest.fixture(scope="module")
def model(folder):
    return models.load(folder)[0].double()


@pytest.fixture(scope="module")
def runs(folder, tmp_path_factory):
    """What each rank drew, and the weights at each step."""
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


