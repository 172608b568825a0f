"""Tasks: prompts, answers, a reward function, a length limit and a stop rule.

Names:

- ``sum``: ``23+34=`` -> ``057``. One right answer. For the bundled small model.
- ``split``: ``57=`` -> ``23+34``, or any other two-digit terms with that sum. Many right answers.
- ``chain-sum``, ``products``: reasoning-gym items of two one-digit terms, behind four solved ones
  (``4 - 1 = 3``), for a pretrained model to go on with.
- ``reasoning-gym:NAME``: any other reasoning-gym data set at its own defaults, four solved items
  first, as ``Q: ...`` and ``A: ...``.
- a path to a JSONL file, each line ``{"prompt": ..., "answer": ...}``, with ``"target_offset": nats``
  where the prompt's target entropy is above the rule's own (or below).

Of every named task a fifth of the prompts is held out: those whose SHA-256 digest says so, which
depends on neither seed nor size. A JSONL file is used whole.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import hashlib
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np

from entropy_theory.rounding import at_least
from entropy_theory.support.user_errors import check_choice, check_file, need
from llm_bridge.data import rewards
from llm_bridge.data.task_file import items_of

if TYPE_CHECKING:
    import datasets

Split: TypeAlias = Literal["train", "held-out"]

_Item = TypeVar("_Item", bound=tuple[Any, ...])

DEFAULT_SIZE = 256
SHOTS = 4


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """The prompts that a model is trained or evaluated on, with answers and a reward.

    Attributes:
        name: the name or path under which the task was asked for.
        prompts: the texts that the model continues.
        answers: for each prompt a right answer (one of them, where there are many).
        reward: the function that judges completions; it sees prompts and the column ``answer``.
        max_new_tokens: the largest number of tokens of a completion.
        target_offsets: by how much the entropy wanted at each prompt is above the rule's target, nats;
            empty where all have one target.
        stop: a completion also ends after the first token whose text contains this; with None it ends
            only at the model's end-of-sequence token.
    """

    name: str
    prompts: tuple[str, ...]
    answers: tuple[str, ...]
    reward: rewards.RewardFunction
    max_new_tokens: int
    stop: str | None = None
    target_offsets: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.prompts:
            raise ValueError(f"task '{self.name}' has no prompts")
        if len(self.prompts) != len(self.answers):
            raise ValueError(
                f"task '{self.name}' has {len(self.prompts)} prompts and {len(self.answers)} answers"
            )
        if self.target_offsets and len(self.target_offsets) != len(self.prompts):
            raise ValueError(
                f"task '{self.name}' has {len(self.prompts)} prompts and {len(self.target_offsets)} "
                "target_offsets")

    def judge(self, prompts: list[str], completions: list[str], answers: list[str]) -> list[float]:
        """Return one reward for each completion."""
        found = self.reward(prompts=prompts, completions=completions, answer=answers)
        name = getattr(self.reward, "__name__", "reward")
        return rewards.looked_over(found, name, prompts, completions)

    def dataset(self) -> datasets.Dataset:
        """Return the columns ``prompt`` and ``answer`` as TRL's trainers take them, and
        ``target_offset`` where there is one."""
        import datasets

        columns: dict[str, list[Any]] = {"prompt": list(self.prompts), "answer": list(self.answers)}
        if self.target_offsets:
            columns["target_offset"] = list(self.target_offsets)
        return datasets.Dataset.from_dict(columns)

    def constant_answer(self) -> tuple[str, float]:
        """Return the most common answer, and the mean reward of always giving it.

        A reward that does not rise above this may only mean that the model gives the most common answer.
        """
        answer = collections.Counter(self.answers).most_common(1)[0][0]
        judged = self.judge(list(self.prompts), [answer] * len(self.prompts), list(self.answers))
        return answer, sum(judged) / len(judged)


def load(
    name: str, *, split: Split = "train", size: int | None = None, seed: int = 0,
    reward: str | None = None, max_new_tokens: int | None = None,
) -> Task:
    """Load a task by name, or from a JSONL file. Equal arguments give equal tasks.

    Args:
        name: see the module's docstring.
        split: which part of a named task; a JSONL file is used whole whichever is asked for.
        size: number of prompts. Default 256; a JSONL file's default is all of its lines in order,
            and with a size a random choice of that many. Where a task has fewer distinct prompts,
            they come round again.
        seed: seed of the choice of prompts and of their order.
        reward: replaces the task's own reward function; a built-in name or an import path.
        max_new_tokens: replaces the task's own length limit.

    Raises:
        ValueError: an unknown name, a size or length below 1, a missing, empty or malformed file.
    """
    check_name(name)
    for label, value in (("size", size), ("max_new_tokens", max_new_tokens)):
        if value is not None and value < 1:
            raise ValueError(f"{label} must be at least 1, got {value}")
    if split not in ("train", "held-out"):
        raise ValueError(f"split must be 'train' or 'held-out', got '{split}'")
    if is_file(name):
        task = _from_file(Path(name), size, seed)
    elif name.startswith("reasoning-gym:"):
        task = _reasoning_gym(name, name.partition(":")[2], {}, 32, split, size, seed)
    else:
        task = BUILT_IN[name](split, size or DEFAULT_SIZE, seed)
    if reward is not None:
        task = dataclasses.replace(task, reward=rewards.get(reward))
    if max_new_tokens is not None:
        task = dataclasses.replace(task, max_new_tokens=max_new_tokens)
    return task


def check_name(name: str, also: Iterable[str] = ()) -> None:
    """Check the name of a task without making the task; of a file it is not seen whether it is there.

    Args:
        name: as of `load`.
        also: further names that are right.

    Raises:
        ValueError: an unknown name.
    """
    if name.startswith("reasoning-gym:"):
        need("a task of reasoning-gym", "reasoning_gym")
        from reasoning_gym.factory import DATASETS

        check_choice(name.partition(":")[2], DATASETS, "reasoning-gym data set")
    elif not is_file(name):
        kind = "task (a name, reasoning-gym:NAME, or the path of a .jsonl file)"
        check_choice(name, (*BUILT_IN, *also), kind)


def is_file(name: str) -> bool:
    """Whether `load` takes a name for that of a file."""
    return name.endswith((".jsonl", ".json")) or Path(name).is_file()


def with_chat_template(task: Task, tokenizer: Any) -> Task:
    """Return the task with each prompt rendered as a user's turn in the tokenizer's chat template.

    The reward function still sees the plain prompts.

    Raises:
        ValueError: a tokenizer without chat template.
    """
    if not tokenizer.chat_template:
        raise ValueError(
            f"'{tokenizer.name_or_path}' has no chat template: leave the chat template off"
        )
    plain: dict[str, str] = {}
    for prompt in task.prompts:
        turn = [{"role": "user", "content": prompt}]
        text = tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True)
        # A template often writes the token that the tokenizer will put in front by itself.
        first = tokenizer.bos_token
        if first and tokenizer("").input_ids[:1] == [tokenizer.bos_token_id]:
            text = text.removeprefix(first)
        plain[text] = prompt

    def reward(prompts: Any, completions: Any, **columns: Any) -> list[float]:
        return task.reward(
            prompts=[plain[text] for text in prompts], completions=completions, **columns
        )

    reward.__name__ = task.reward.__name__
    rendered = {prompt: text for text, prompt in plain.items()}
    return dataclasses.replace(
        task, prompts=tuple(rendered[p] for p in task.prompts), reward=reward
    )


def is_held_out(prompt: str) -> bool:
    """Whether a prompt belongs to the fifth that no training sees."""
    return hashlib.sha256(prompt.encode()).digest()[0] % 5 == 0


def sum_items() -> list[tuple[str, str]]:
    """Return all 10,000 (prompt, answer) pairs of the task ``sum``."""
    return [(f"{a:02d}+{b:02d}=", f"{a + b:03d}") for a in range(100) for b in range(100)]


def split_items() -> list[tuple[str, str]]:
    """Return all 180 (prompt, answer) pairs of the task ``split``; the answer is the first of many.

    Totals run from 10 to 189, so that every prompt has at least ten right answers.
    """
    return [(f"{n}=", split_answers(n)[0]) for n in range(10, 190)]


def split_answers(total: int) -> list[str]:
    """Return every right answer to the ``split`` prompt of this total."""
    return [f"{a:02d}+{total - a:02d}" for a in range(100) if 0 <= total - a < 100]


ONE_DIGIT = {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 1}

def _arithmetic(
    name: str, items: Callable[[], list[tuple[str, str]]], reward: rewards.RewardFunction,
    max_new_tokens: int, split: Split, size: int, seed: int,
) -> Task:
    pool = [item for item in items() if is_held_out(item[0]) == (split == "held-out")]
    prompts, answers = zip(*_draw(pool, size, seed), strict=True)
    return Task(
        name=name, prompts=prompts, answers=answers, reward=reward, max_new_tokens=max_new_tokens
    )


def _reasoning_gym(
    task_name: str, dataset_name: str, options: dict[str, Any], max_new_tokens: int, split: Split,
    size: int | None, seed: int,
) -> Task:
    """Make a task of a reasoning-gym data set, with four worked examples before each item.

    The examples are not items of any split. With options a question is the item's bare expression.
    SmolLM2-135M then solves four sums in ten. Asked "Q: 4 - 1 =", it solves only one in ten, as
    many as a constant answer. The reward is 1 where the data set's own scorer gives full marks to
    the completion's first line.
    """
    import reasoning_gym

    def asked(item: dict[str, Any]) -> str:
        if options:
            return f"{item['metadata']['expression']} ="
        return f"Q: {item['question'].strip()}\nA:"

    size = size or DEFAULT_SIZE
    # Held-out questions are a fifth, and small item spaces repeat themselves: draw more than enough.
    stream = reasoning_gym.create_dataset(
        dataset_name, size=40 * size + 200, seed=_far_apart(seed), **options
    )
    examples = reasoning_gym.create_dataset(dataset_name, size=SHOTS, seed=42, **options)
    shots = {asked(item): item["answer"] for item in examples}
    solved = "".join(f"{question} {answer}\n" for question, answer in shots.items())
    entries: dict[str, dict[str, Any]] = {}
    chosen: list[tuple[str, str]] = []
    for item in stream:
        question = asked(item)
        if question in shots or is_held_out(question) != (split == "held-out"):
            continue
        prompt = solved + question
        entries[prompt] = item
        chosen.append((prompt, item["answer"]))
        if len(chosen) == size:
            break
    if len(chosen) < size:
        raise ValueError(
            f"reasoning-gym data set '{dataset_name}' gave only {len(chosen)} {split} items of the "
            f"{size} asked for: ask for fewer"
        )

    def reward(prompts: Any, completions: Any, **columns: Any) -> list[float]:
        lines = [text.strip().split("\n", maxsplit=1)[0].strip() for text in completions]
        scores = (
            stream.score_answer(line, entries[prompt])
            for prompt, line in zip(prompts, lines, strict=True)
        )
        return [float(at_least(np.array(score, dtype=float), 1.0)) for score in scores]

    reward.__name__ = task_name
    prompts, answers = zip(*chosen, strict=True)
    return Task(name=task_name, prompts=prompts, answers=answers, reward=reward,
                max_new_tokens=max_new_tokens, stop="\n")


BUILT_IN: dict[str, Callable[[Split, int, int], Task]] = {
    "chain-sum": functools.partial(_reasoning_gym, "chain-sum", "chain_sum", ONE_DIGIT, 12),
    "products": functools.partial(_reasoning_gym, "products", "products", ONE_DIGIT, 12),
    "split": functools.partial(_arithmetic, "split", split_items, rewards.split, 6),
    "sum": functools.partial(_arithmetic, "sum", sum_items, rewards.exact, 4),
}


def _far_apart(seed: int) -> int:
    """Return a seed far from those of neighboring seeds.

    reasoning-gym makes item i from seed + i, so that neighboring seeds give the same items, moved by one
    place.
    """
    return int.from_bytes(hashlib.sha256(str(seed).encode()).digest()[:4])


def _from_file(path: Path, size: int | None, seed: int) -> Task:
    check_file(path, "a JSONL file")
    items = list(items_of(path))
    if not items:
        raise ValueError(f'{path} has no items: put {{"prompt": ..., "answer": ...}} on each line')
    chosen = items if size is None else list(_draw(items, size, seed))
    prompts, answers, offsets = zip(*chosen, strict=True)
    return Task(
        name=str(path), prompts=prompts, answers=answers, reward=rewards.math_equal,
        max_new_tokens=256, target_offsets=offsets if any(offsets) else (),
    )


def _draw(items: list[_Item], size: int, seed: int) -> Iterator[_Item]:
    """Draw ``size`` items in shuffled order; when they run out, they repeat in a new order."""
    generator = random.Random(seed)
    remaining = size
    while remaining > 0:
        lap = generator.sample(items, min(remaining, len(items)))
        yield from lap
        remaining -= len(lap)
