"""Guards llm_bridge/trainer/dynamic_sampling.py: prompts without signal make room for others."""


import datasets
import pytest
import torch

from entropy_theory import update_rules
from llm_bridge.trainer import dynamic_sampling
from tests.llm_bridge.language_models import low_digit, tabular_trainer
from tests.llm_bridge.recorded_steps import recorded


def never_right_after_one(prompts, completions, **_):
    return [reward * (prompt != "1")
            for prompt, reward in zip(prompts, low_digit(prompts, completions), strict=True)]


def dapo_trainer(folder, *, rounds=8, rule="grpo", **options):
    return tabular_trainer(
        folder, update_rules.get(rule), reward=never_right_after_one, resampling_rounds=rounds,
        train_dataset=datasets.Dataset.from_dict({"prompt": list("1231")}), **options)


def test_the_batch_is_filled_with_prompts_that_have_signal(tmp_path):
    """Prompt 1 is never answered right: its places go to others, whole, and its weight with them."""
    made = dapo_trainer(tmp_path, rule="aepo", samples=16)
    ((part,),) = recorded(made)
    tempered = part.inputs["tempered"]
    one = made.processing_class("1").input_ids[-1]
    prompt, group = part.inputs["prompt_ids"][:, -1], part.inputs["group"]
    assert not (prompt == one).any()  # the second batch answers the same prompts again
    for k in range(3):
        rows = (group == k) & ~tempered
        assert rows.sum() == 16
        assert len(prompt[rows].unique()) == 1
        assert len(part.inputs["reward"][rows].unique()) == 2
        assert prompt[(group == k) & tempered].unique() == prompt[rows].unique()
    assert len(part.inputs["sequence"].unique()) == len(tempered)
    assert float(part.inputs["weight"][~tempered].sum()) == pytest.approx(1, abs=1e-12)
    assert made.state.log_history[0]["resampled_prompts"] >= 1


def test_groups_of_one_reward_or_without_usable_rows_have_no_signal():
    rows = {"reward": torch.tensor([0.0, 1, 1, 1, 0, 1, 0, 1]),
            "mask": torch.tensor([[1], [1], [1], [1], [0], [1], [0], [0]]).bool()}
    assert dynamic_sampling.without_signal(rows, 2).tolist() == [False, True, True, True]
    source = dynamic_sampling.sources(
        torch.tensor([False, True, True]), torch.tensor([False, False, True]), 2)
    assert source.tolist() == [0, 1, 10, 11, 4, 5]


def test_ranks_draw_different_parts_of_one_choice():
    prompts = list(range(100))
    both = [dynamic_sampling.other_prompts(prompts, 5, 2, key=(1, 2, 3), rank=rank, ranks=2)
            for rank in (0, 1)]
    assert [len(own) for own in both] == [10, 10]
    assert len({*both[0], *both[1]}) == 10
