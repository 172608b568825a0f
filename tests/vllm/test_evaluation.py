"""Guards evaluation by vLLM on a real engine: one of them, what is drawn follows from the seed, and its
log-probabilities are those that the model in memory gives.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("vllm")

import vllm

from llm_bridge import evaluation
from llm_bridge.data import models, tasks
from llm_bridge.sampling import sampling
from tests.vllm.test_colocated import rms

pytestmark = pytest.mark.filterwarnings("ignore")
IN_FLOAT32 = 64 * 2.0**-24
"""Nats, root mean square: `FORWARD_ROUNDINGS` of float32, in which engine and model hold the weights."""
CHUNK = 24
"""Completions: six prompts with four samples, of sixteen prompts."""


@pytest.fixture
def engines(monkeypatch):
    """The options of each engine that is started, in chunks of few completions."""
    made, init = [], vllm.LLM.__init__
    monkeypatch.setattr(evaluation, "ENGINE_CHUNK", CHUNK)
    monkeypatch.setattr(vllm.LLM, "__init__", lambda self, **options: made.append(options) or init(
        self, **options))
    return made


def evaluate(model, keep, **options):
    return evaluation.evaluate(
        *model, tasks.load("sum", split="held-out", size=16), num_samples=4, sampler="vllm", keep=keep,
        **options)


def test_one_engine_draws_what_the_seed_decides_resumed_too(folder, engines, tmp_path):
    """An engine for each chunk; random numbers that go on from chunk to chunk, or that hang on what the
    scheduler's other process has read by then, or on prefixes in its cache."""
    model, keep = models.load(folder), tmp_path / "samples.jsonl"
    evaluate(model, keep)
    assert len(engines) == 1
    lines = keep.read_text().splitlines()
    assert len(set(lines)) == 1 + 64
    keep.write_text("\n".join(lines[: 1 + CHUNK]) + "\n")
    found = evaluate(model, keep)
    assert len(engines) == 2
    assert keep.read_text().splitlines() == lines
    assert found["pass@1"] > 0.3
    keep.unlink()
    evaluate(model, keep, seed=1)
    other = keep.read_text().splitlines()
    assert [json.loads(line)["completion"] for line in other[1:]] != [
        json.loads(line)["completion"] for line in lines[1:]]


@pytest.mark.parametrize("options", [{}, {"temperature": 0.7}, {"top_p": 0.8, "top_k": 3}], ids=str)
def test_the_scores_are_the_engines_own_log_probabilities(folder, tmp_path, monkeypatch, options):
    """Of another position, at another temperature, of a part of the vocabulary, or rounded."""
    seen, check = [], sampling._check_same_model
    monkeypatch.setattr(sampling, "_check_same_model", lambda drawn, scored, mask, model: seen.append(
        (drawn[mask], scored.log_prob[mask])) or check(drawn, scored, mask, model))
    evaluate(models.load(folder), tmp_path / "samples.jsonl", **options)
    ((drawn, scored),) = seen
    assert len(drawn) > 200
    assert rms(drawn - scored) < IN_FLOAT32
    assert rms(drawn - scored / 1.01) > 4 * IN_FLOAT32  # the test would see it


def test_a_nucleus_is_what_generate_draws_from(folder):
    """Left to vLLM's defaults, top-p and top-k would cut nothing."""
    model, tokenizer = models.load(folder)
    for options in ({"top_p": 0.5}, {"top_k": 2}):
        heads = [set(sampling.sample(
            model, tokenizer, ["57="], num_samples=200, max_new_tokens=1, sampler=sampler, **options,
        ).token_ids[:, 0].tolist()) for sampler in ("vllm", "generate")]
        assert heads[0] == heads[1]
        assert len(heads[0]) < 10


@pytest.mark.deep
def test_two_ranks_with_an_engine_each_give_the_numbers_of_one(folder, tmp_path):
    """The command on processes of a launcher; the second of them has fewer chunks, and its engine starts
    with the first's."""
    found = []
    for ranks in (1, 2):
        output = tmp_path / f"on-{ranks}.json"
        shown = subprocess.run(
            [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
             str(ranks), "-m", "tests.vllm.evaluating_rank", str(CHUNK), "evaluate", "--model", folder,
             "--task", "sum", "--num-prompts", "16", "--num-samples", "4", "--sampler", "vllm",
             "--output", str(output)],
            cwd=Path(__file__).parents[2], env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False,
            capture_output=True, text=True, timeout=600)
        assert shown.returncode == 0, shown.stderr[-3000:]
        found.append(output.with_suffix(".samples.jsonl").read_text())
    assert found[0] == found[1]
