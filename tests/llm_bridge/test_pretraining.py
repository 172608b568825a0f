"""Guards llm_bridge/commands/pretrain.py: what the small model learns from, and what it leaves behind."""

import json
import random

import pytest
import torch

from entropy_theory import policy
from llm_bridge.commands import pretrain
from llm_bridge.data import models, tasks


def test_examples_are_right_and_never_held_out():
    examples = pretrain.solved_examples(random.Random(0), 2000, sum_share=0.5)
    assert not [prompt for prompt, _ in examples if tasks.is_held_out(prompt)]
    sums = [example for example in examples if "+" in example[0]]
    assert 850 < len(sums) < 1150
    assert all(int(p[:2]) + int(p[3:5]) == int(a) and len(a) == 3 for p, a in sums)
    splits = [example for example in examples if "+" not in example[0]]
    prompts, answers = map(list, zip(*splits, strict=True))
    assert sum(tasks.load("split").judge(prompts, answers, answers)) == len(splits)
    # Many right answers to one prompt, not always the first.
    seen = {answer for prompt, answer in splits if prompt == splits[0][0]}
    assert len(seen) > 1


def test_loss_is_over_the_answers_tokens_and_end_of_sequence_only():
    """Against one sequence at a time, without padding; prompts of several lengths."""
    torch.manual_seed(0)
    tokenizer = pretrain.build_tokenizer()
    model = pretrain.build_model(tokenizer)
    examples = [("23+34=", "057"), ("57=", "23+34"), ("123=", "60+63")]
    terms = []
    for prompt, answer in examples:
        start = len(tokenizer(prompt).input_ids)
        ids = tokenizer(prompt + answer + pretrain.EOS, return_tensors="pt").input_ids
        assert ids.shape[1] == start + len(answer) + 1
        log_probs = policy.log_softmax(model(ids).logits[0])
        terms += [-log_probs[i - 1, ids[0, i]] for i in range(start, ids.shape[1])]
    expected = torch.stack(terms).mean()
    loss = pretrain.supervised_loss(model, tokenizer, examples)
    # float32, 16 terms of size 3.
    torch.testing.assert_close(loss, expected, rtol=1e-5, atol=0)


def config(folder, **changes):
    small = {"steps": 4, "measure_every": 2, "measure_prompts": 8, "batch_size": 8}
    return pretrain.PretrainConfig(output=folder, **small | changes)


def test_missed_target_is_one_clear_error_and_writes_nothing(tmp_path):
    with pytest.raises(ValueError, match=r"after 4 steps, below the target of 0\.99"):
        pretrain.pretrain(config(tmp_path / "model", target_accuracy=0.99))
    assert not (tmp_path / "model").exists()


def test_model_written_is_the_model_measured(tmp_path):
    found = pretrain.pretrain(config(tmp_path / "one", target_accuracy=0.0))
    assert [step["step"] for step in found["history"]] == [2]
    written = json.loads((tmp_path / "one" / "provenance.json").read_text(encoding="utf-8"))
    assert written["provenance"]["config"]["batch_size"] == 8
    model, tokenizer = models.load(str(tmp_path / "one"))
    assert model.config.hidden_size == 128
    assert tokenizer("57=").input_ids[0] == tokenizer.bos_token_id
