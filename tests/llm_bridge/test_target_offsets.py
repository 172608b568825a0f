"""Guards llm_bridge/trainer: prompts with targets of their own, from the data set to the step."""

import json

import pytest
import torch

from entropy_theory import update_rules
from llm_bridge.data import tasks
from tests.llm_bridge.llama_steps import llama_trainer, weights
from tests.tolerances import FLOAT64

OFFSETS = (0.6, -0.3, 0.0)
RULE = update_rules.get("entropy-bonus", target=2.0, prompt_gain=1.5, coefficient=0.2, coefficient_low=-1)


def trained(folder, rule=RULE, *, micro_batches=1, offsets=OFFSETS, **options):
    """A trainer after its run, and the records of its steps."""
    records = []
    made = llama_trainer(folder, rule, micro_batches=micro_batches, on_step=records.append,
                         target_offsets=offsets, **options)
    made.train()
    return made, records


@pytest.mark.parametrize("rule", [RULE, update_rules.get("aepo", target=2.0)], ids=lambda r: r.name)
def test_controllers_see_entropies_less_the_mean_offset(tmp_path, rule):
    made, records = trained(tmp_path, rule)
    loop = made.coefficient_controller or made.controller
    expected = records[0]["entropy"] - sum(OFFSETS) / 3
    assert float(loop.entropy) == pytest.approx(expected, abs=64 * FLOAT64)


def test_a_prompt_without_offset_has_the_rules_target(tmp_path):
    none, zero, other = (weights(trained(tmp_path, offsets=(0.6, given, 0.0))[0])
                         for given in (None, 0.0, 0.3))
    assert all(torch.equal(none[name], zero[name]) for name in none)
    assert not all(torch.equal(none[name], other[name]) for name in none)


def test_any_cut_into_micro_batches_makes_the_same_step(tmp_path):
    """A mean over a micro-batch's prompts alone would shift its coefficients."""
    options = {"target": 2.0, "coefficient": 0.2, "coefficient_low": -1}
    rule = update_rules.get("diverse-bonus", **options, prompt_gain=1.5)
    whole, cut = [weights(trained(tmp_path / str(n), rule, micro_batches=n)[0]) for n in (1, 4)]
    for key, weight in whole.items():
        torch.testing.assert_close(cut[key], weight, rtol=0, atol=1e-6)
    plain = weights(trained(tmp_path / "plain", update_rules.get("diverse-bonus", **options))[0])
    assert max(float((plain[key] - whole[key]).abs().max()) for key in whole) > 1e-3


def written(path, *offsets):
    lines = [{"prompt": f"{i}=", "answer": "0", **({} if offset is None else {"target_offset": offset})}
             for i, offset in enumerate(offsets)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def test_a_file_of_prompts_says_offsets(tmp_path):
    task = tasks.load(written(tmp_path / "a.jsonl", 0.25, None, -1))
    assert task.target_offsets == (0.25, 0.0, -1)
    assert task.dataset()["target_offset"][:] == [0.25, 0.0, -1.0]
    drawn = tasks.load(written(tmp_path / "b.jsonl", 0.25, None, -1), size=7, seed=3)
    found = dict(zip(drawn.prompts, drawn.target_offsets, strict=True))
    assert found == {"0=": 0.25, "1=": 0.0, "2=": -1}
    bare = tasks.load(written(tmp_path / "c.jsonl", None, 0))
    assert "target_offset" not in bare.dataset().column_names
