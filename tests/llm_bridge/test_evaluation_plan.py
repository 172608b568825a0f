"""Guards llm_bridge/commands/evaluation_plan.py: a paper's protocol, planned before a model is loaded."""

import json

import pytest
import transformers

from llm_bridge import __main__ as main
from llm_bridge import evaluation
from llm_bridge.commands import evaluation_plan
from llm_bridge.data import models, tasks
from llm_bridge.sampling.drawing_options import Drawing, EvaluateConfig


@pytest.fixture
def model(tmp_path):
    """A folder with a configuration and nothing else."""
    folder = tmp_path / "model"
    transformers.LlamaConfig(
        vocab_size=64, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=48, max_position_embeddings=16_384).save_pretrained(folder)
    return str(folder)


def test_a_papers_protocol_is_planned_and_nothing_else_happens(model, tmp_path, monkeypatch, capsys):
    """AIME with 1,024 samples, on eight processes: 30 chunks of a prompt each, four rounds of them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORLD_SIZE", "8")
    monkeypatch.setattr(models, "load", None)
    monkeypatch.setattr("sys.argv", ["llm_bridge", "evaluate", "--model", model, "--task", "aime24",
                                     "--protocol", "aepo-pass-at-k", "--sampler", "vllm", "--dry-run",
                                     "--tokens-per-second", "5000", "--json", "plan.json"])
    main.main()
    shown = capsys.readouterr().out
    for expected in (
        "by the protocol of aepo-pass-at-k, float32, sampler vllm, 8 processes",
        "30 prompts x 1,024 samples = 30,720",
        "up to 8,192 a completion, 251,658,240 in all",
        "30 of up to 1,024 completions, 4 a process",
        "1 engine for its 4 chunks, 1,024 completions at once",
        "prompts of 512 tokens (taken for granted)",
        "the logits of 32 would be 0.062 GiB",  # 32 x 8,192 x 64 x 4 bytes
        # 4 x 1,024 x 8,192 / 5,000 = 6,711 s
        "at most 1 h 51 min, at 5,000 tokens a second and process, as --tokens-per-second says",
        "Nothing was loaded, downloaded or written.",
    ):
        assert expected in shown
    assert json.loads((tmp_path / "plan.json").read_text())["plan"] == shown.splitlines()
    assert {path.name for path in tmp_path.iterdir()} == {"model", "plan.json"}


def test_the_plan_is_what_is_then_done(monkeypatch):
    """Chunks and batches of an evaluation, counted as it draws."""
    config = EvaluateConfig(task="sum", num_prompts=10, num_samples=3, batch_size=7, device="cpu",
                            sampler="static", dry_run=True)
    text = evaluation_plan.plan(config)
    assert "2 of up to 27 completions, 2 a process" in text
    assert "batches of 6 completions, 5 a chunk" in text
    drawn, sample = [], evaluation.sampling.sample
    batches, at_once = [], evaluation.sampling._sample_batch
    monkeypatch.setattr(evaluation.sampling, "sample", lambda *a, **o: drawn.append(
        len(a[2]) * o["num_samples"]) or sample(*a, **o))
    monkeypatch.setattr(evaluation.sampling, "_sample_batch", lambda *a: batches.append(
        len(a[3].ids) * a[3].copies) or at_once(*a))
    evaluation.evaluate(*models.load("small-sums"), tasks.load("sum", size=10), num_samples=3,
                        batch_size=7, sampler="static")
    assert drawn == [27, 3]
    assert max(batches) == 6
    assert len(batches) == 5 + 1


def test_a_probe_measures_this_machine(capsys):
    text = evaluation_plan.plan(EvaluateConfig(num_prompts=64, device="cpu", dry_run=True, probe=True))
    (line,) = (line for line in text.splitlines() if line.startswith("time: "))
    assert "measured on cpu by 32 completions of up to 6 tokens" in line
    assert "Nothing was written." in text
    assert "not estimated: give --tokens-per-second" in evaluation_plan.plan(
        EvaluateConfig(device="cpu", dry_run=True))


@pytest.mark.parametrize(("new", "samples", "largest"), [
    (64, 8, 4096), (3072, 1024, 2048), (8192, 1024, 1024), (100_000, 1024, 512)])
def test_an_engines_chunk_is_whole_prompts_of_bounded_tokens(new, samples, largest):
    how = Drawing(num_samples=samples, max_new_tokens=new, sampler="vllm")
    chunks = evaluation.chunks_of(600, how)
    assert max(map(len, chunks)) == largest
    assert sorted(place for chunk in chunks for place in chunk) == [
        (prompt, sample) for prompt in range(600) for sample in range(samples)]
