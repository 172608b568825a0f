"""Guards llm_bridge/running/sample_store.py and resumed evaluations: a kill changes no number."""


import pytest

from llm_bridge import evaluation
from llm_bridge.data import models, tasks
from llm_bridge.running.sample_store import SampleStore
from llm_bridge.sampling import sampling


class Killed(BaseException):
    """Stands for a kill: no handler of ours may catch it."""


@pytest.fixture(scope="module")
def small():
    return models.load("small-sums")


def numbers(found):
    return {key: value for key, value in found.items() if key != "seconds"}


def evaluate(small, path, **changes):
    options = {"num_samples": 3, "batch_size": 3, "seed": 1, "model_identity": "small", **changes}
    return evaluation.evaluate(*small, tasks.load("split", size=10, seed=2), keep=path, **options)


@pytest.mark.parametrize("torn", [False, True])
def test_a_killed_evaluation_goes_on_to_the_same_numbers(small, tmp_path, monkeypatch, torn):
    """Killed after two of three chunks, or in the middle of the second's write."""
    whole = evaluate(small, tmp_path / "whole.jsonl")
    path = tmp_path / "again.jsonl"
    drawn = []

    def sample(*args, **options):
        if len(drawn) == 2:
            raise Killed
        drawn.append(1)
        return original(*args, **options)

    original = sampling.sample
    with monkeypatch.context() as patch:
        patch.setattr(sampling, "sample", sample)
        with pytest.raises(Killed):
            evaluate(small, path)
    assert len(path.read_text().splitlines()) == 1 + 24  # chunks of four prompts, three samples each
    if torn:
        path.write_bytes(path.read_bytes()[:-150])
    monkeypatch.setattr(
        sampling, "sample", lambda *a, **o: drawn.append(1) or original(*a, **o)
    )
    assert numbers(evaluate(small, path)) == numbers(whole)
    assert len(drawn) == (4 if torn else 3)
    assert path.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    # Finished: nothing is drawn again.
    assert numbers(evaluate(small, path)) == numbers(whole)
    assert len(drawn) == (4 if torn else 3)


def test_a_file_of_something_else_is_refused_and_not_overwritten(small, tmp_path):
    path = tmp_path / "kept.jsonl"
    evaluate(small, path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"something else \(temperature differ"):
        evaluate(small, path, temperature=0.5)
    assert path.read_bytes() == before
    lines = before.split(b"\n")
    path.write_bytes(b"\n".join([*lines[:2], lines[2][:-20], *lines[3:]]))
    with pytest.raises(ValueError, match=r"kept.jsonl, line 3: not a sample, and samples follow it"):
        evaluate(small, path)
    assert len(path.read_bytes().split(b"\n")) == len(lines)
    path.write_text("my notes\n")
    with pytest.raises(ValueError, match="not a file of samples"):
        SampleStore(path, {})
    assert path.read_text() == "my notes\n"


def test_greedy_and_nucleus_sampling(small):
    """top_k = 1 draws each step's most probable token, top_p only from the head of pi^T."""
    model, tokenizer = small
    greedy = sampling.sample(model, tokenizer, ["57=", "120="], num_samples=4, top_k=1,
                             max_new_tokens=6)
    assert len(set(greedy.completions[:4])) == 1
    import torch

    ids = tokenizer("57=", return_tensors="pt").input_ids
    with torch.no_grad():
        prob = model(input_ids=ids).logits[0, -1].softmax(-1)
    assert int(greedy.token_ids[0, 0]) == int(prob.argmax())
    ordered = prob.sort(descending=True)
    size = int((ordered.values.cumsum(0) < 0.5).sum()) + 1
    head = set(ordered.indices[:size].tolist())
    drawn = sampling.sample(model, tokenizer, ["57="], num_samples=200, top_p=0.5, max_new_tokens=1)
    assert set(drawn.token_ids[:, 0].tolist()) == head
    with pytest.raises(ValueError, match="'static' does not have top-p"):
        sampling.sample(model, tokenizer, ["57="], top_k=1, sampler="static", max_new_tokens=4)
