"""Guards llm_bridge/data/rewards.py: what counts as right, and how a failing reward function is told."""

import sys

import pytest

from llm_bridge.data import rewards


def judge(name, completion, answer="", prompt="57="):
    (value,) = rewards.get(name)(prompts=[prompt], completions=[completion], answer=[answer])
    return value


@pytest.mark.parametrize(
    ("name", "completion", "answer", "value"),
    [
        ("exact", "057", "057", 1.0),
        ("exact", " 057\nQ: more", "057", 1.0),
        ("exact", "57", "057", 0.0),
        ("numeric", " 57.0\n", "57", 1.0),
        ("numeric", "1,000", "1000", 1.0),
        ("numeric", "about 57", "57", 0.0),
        ("numeric", "NaN", "NaN", 0.0),
        ("math", "The answer is $\\frac{1}{2}$", "0.5", 1.0),
        ("math", "so it is \\boxed{13}", "12", 0.0),
        ("math", "Paris", "Paris", 1.0),
    ],
)
def test_built_in_rewards(name, completion, answer, value):
    assert judge(name, completion, answer) == value


@pytest.mark.parametrize(
    ("completion", "value"),
    [
        ("23+34", 1.0), ("00+57", 1.0), (" 57+00\n", 1.0),
        ("23+35", 0.0), ("7+50", 0.0), ("57", 0.0), ("23+34+00", 0.0), ("-1+58", 0.0),
        ("023+34", 0.0), ("23+34=", 0.0), ("", 0.0),
        ("٢٣+٣٤", 0.0),  # digits of another script are digits to int() and to \d
    ],
)
def test_split_takes_any_canonical_pair_and_nothing_else(completion, value):
    assert judge("split", completion) == value


def test_reward_by_import_path(tmp_path, monkeypatch):
    """A file in the current directory; what TRL passes beside the columns is let through."""
    (tmp_path / "my_rewards.py").write_text(
        "def length(prompts, completions, **columns):\n"
        "    return [len(c) / 10 for c in completions]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "my_rewards", raising=False)
    reward = rewards.get("my_rewards:length")
    values = reward(
        prompts=["a", "b"], completions=["xx", "xxxx"], answer=["", ""], trainer_state=object()
    )
    assert values == [0.2, 0.4]
    assert reward.__name__ == "my_rewards:length"
