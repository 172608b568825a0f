"""Guards llm_bridge/data/tasks.py: which prompts, which answers, what is held out, what files say."""

import json
from pathlib import Path

import pytest

from llm_bridge.data import models, tasks


@pytest.mark.parametrize("name", ["sum", "split", "chain-sum", "products", "reasoning-gym:gcd"])
def test_a_task_draws_by_its_seed_judges_right_and_holds_prompts_back(name):
    one, same, *others = (tasks.load(name, size=60, seed=seed) for seed in (3, 3, 4, 5))
    assert (one.prompts, one.answers) == (same.prompts, same.answers)
    assert one.prompts != others[0].prompts
    assert len(one.prompts) == 60
    prompts, answers = list(one.prompts), list(one.answers)
    assert one.judge(prompts, answers, answers) == [1.0] * 60
    assert one.judge(prompts, [a + "1" for a in answers], answers) == [0.0] * 60
    held_out = {
        p for seed in range(3) for p in tasks.load(name, split="held-out", size=20, seed=seed).prompts}
    assert held_out
    assert not {p for task in (one, *others) for p in task.prompts} & held_out


def test_the_page_on_tasks_has_their_numbers():
    page = (Path(__file__).parents[2] / "docs" / "how_to" / "task.md").read_text()
    for name, items in (("sum", tasks.sum_items()), ("split", tasks.split_items())):
        held_out = sum(tasks.is_held_out(prompt) for prompt, _ in items)
        assert f"| `{name}` | {len(items):,} | {held_out:,} |" in page
    answers = [len(tasks.split_answers(total)) for total in range(10, 190)]
    assert f"| {min(answers)} to {max(answers)}: " in page
    assert tasks.split_answers(57)[23] == "23+34"
    assert len(tasks.split_answers(57)) == 58


def test_prompts_come_round_again_when_they_run_out():
    task = tasks.load("split", split="held-out", size=100)
    distinct = set(task.prompts)
    assert len(task.prompts) == 100
    counts = [task.prompts.count(prompt) for prompt in distinct]
    assert max(counts) - min(counts) <= 1


def test_reasoning_gym_prompt_has_four_solved_items_that_are_never_asked():
    task = tasks.load("chain-sum", size=64)
    *solved, _ = task.prompts[0].splitlines()
    assert len(solved) == tasks.SHOTS
    questions = {line.rsplit("=", maxsplit=1)[0] + "=" for line in solved}
    assert not questions & {prompt.splitlines()[-1] for prompt in task.prompts}
    long = tasks.load("reasoning-gym:gcd", size=2)
    assert long.prompts[0].count("Q: ") == tasks.SHOTS + 1
    assert long.prompts[0].endswith("\nA:")
    assert task.stop == long.stop == "\n"


def write(path, *lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def test_jsonl_file_is_used_whole_and_in_order(tmp_path):
    name = write(
        tmp_path / "items.jsonl",
        json.dumps({"prompt": "1+1=", "answer": 2, "more": "ignored"}), "",
        json.dumps({"prompt": "1/2=", "answer": "\\frac{1}{2}"}),
    )
    task = tasks.load(name)
    assert task.prompts == ("1+1=", "1/2=")
    assert task.answers == ("2", "\\frac{1}{2}")
    assert task.judge(list(task.prompts), ["2", "0.5"], list(task.answers)) == [1.0, 1.0]
    assert len(tasks.load(name, size=5).prompts) == 5
    assert tasks.load(name, reward="exact", max_new_tokens=7).max_new_tokens == 7


def test_chat_template_wraps_the_prompt_and_the_reward_sees_it_plain():
    """The split checker reads the prompt: rendered text would make it raise."""
    _, tokenizer = models.load("small-sums")
    with pytest.raises(ValueError, match="no chat template"):
        tasks.with_chat_template(tasks.load("split"), tokenizer)
    tokenizer.chat_template = (
        "{{ bos_token }}{% for m in messages %}+{{ m.content }}{% endfor %}"
        "{% if add_generation_prompt %}={% endif %}"
    )
    task = tasks.with_chat_template(tasks.load("split", size=3), tokenizer)
    plain = tasks.load("split", size=3)
    # The template's own BOS goes, for the tokenizer puts one there.
    assert task.prompts == tuple(f"+{prompt}=" for prompt in plain.prompts)
    assert task.judge(list(task.prompts), list(plain.answers), list(plain.answers)) == [1.0] * 3
