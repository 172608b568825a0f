"""Reward functions, which judge completions, with the signature of TRL's reward functions.

Built in, by name:

- ``exact``: the first line equals the answer, surrounding spaces aside.
- ``numeric``: the first line is the same number as the answer (``07``, ``7.0`` and ``7`` agree).
- ``math``: exact, or equal as mathematics (math-verify reads LaTeX, fractions, the last number ...).
- ``split``: ``23+34`` for the prompt ``57=``, for any two two-digit terms with that sum.

Anything else is an import path, ``my_rewards.py:score`` or ``module:function``. All built-in rewards are
0 or 1.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

from entropy_theory.support.user_code import load
from entropy_theory.support.user_errors import lookup

RewardFunction: TypeAlias = Callable[..., list[float]]
"""A function ``reward(prompts=..., completions=..., answer=..., **columns)``: one number a completion."""


def exact(
    prompts: Sequence[str], completions: Sequence[str], *, answer: Sequence[str], **columns: Any
) -> list[float]:
    """Return 1 where the completion's first line is the answer, surrounding spaces aside, else 0."""
    return _each(completions, answer, lambda text, right: _first_line(text) == right.strip())


def numeric(
    prompts: Sequence[str], completions: Sequence[str], *, answer: Sequence[str], **columns: Any
) -> list[float]:
    """Return 1 where the completion's first line is a number equal to the answer, else 0."""
    return _each(completions, answer, _same_number)


def math_equal(
    prompts: Sequence[str], completions: Sequence[str], *, answer: Sequence[str], **columns: Any
) -> list[float]:
    """Return 1 where the completion is the answer literally or equals it as mathematics, else 0.

    math-verify decides on the second: it takes the last boxed or final expression of the whole
    completion, and gives up on one such as ``9^{9^{9^9}}`` after some seconds. Its time limits rest on
    signals, so that outside the main thread there are none.
    """
    import math_verify

    seconds = 5 if threading.current_thread() is threading.main_thread() else None

    def same(text: str, right: str) -> bool:
        if text.strip() == right.strip():
            return True
        target = math_verify.parse(right, parsing_timeout=seconds)
        found = math_verify.parse(text, parsing_timeout=seconds)
        return bool(target) and bool(math_verify.verify(target, found, timeout_seconds=seconds))

    return _each(completions, answer, same)


def split(prompts: Sequence[str], completions: Sequence[str], **columns: Any) -> list[float]:
    """Return 1 where the completion is two two-digit terms whose sum is the prompt's number, else 0."""
    return _each(completions, prompts, _is_split_of)


BUILT_IN: dict[str, RewardFunction] = {
    "exact": exact,
    "math": math_equal,
    "numeric": numeric,
    "split": split,
}


def get(name: str) -> RewardFunction:
    """Return a reward function by name or import path (`user_code`), with its results checked.

    Raises:
        ValueError: an unknown name, or as `user_code.load`.
    """
    if ":" not in name:
        return lookup(BUILT_IN, name, "reward function")
    return checked(load_own(name), name)


def load_own(name: str) -> Callable[..., Any]:
    """Load the user's function that an import path names, without checks of its results.

    Raises ValueError as `user_code.load`.
    """
    return load(name, "reward function", "function", callable)


def checked(function: Callable[..., Any], name: str) -> RewardFunction:
    """Wrap ``function`` so that its failures name the prompt, the completion and what went wrong.

    Raises: ValueError: at a call, for an exception of the function, a wrong number of rewards, or a
    reward that is not a finite number.
    """

    def reward(
        prompts: Sequence[str], completions: Sequence[str], **columns: Any
    ) -> list[float]:
        try:
            rewards = function(prompts=prompts, completions=completions, **columns)
        except Exception as error:
            row = _first_failing_row(function, prompts, completions, columns)
            raise ValueError(
                f"reward function '{name}' raised {type(error).__name__}: {error}; "
                f"prompt {prompts[row]!r}, completion {completions[row]!r}"
            ) from error
        return looked_over(rewards, name, prompts, completions)

    reward.__name__ = name
    return reward


def finite_or_unjudged(
    function: Callable[..., Any], name: str, *, is_async: bool = False
) -> Callable[..., Any]:
    """Wrap ``function``, asynchronous or not, so that only None means *not judged*; in TRL NaN does, too.

    Exceptions of the function are not changed.

    Raises: ValueError: at a call, for a wrong number of rewards, or one that is neither None nor a
    finite number.
    """

    def seen(rewards: Any, options: dict[str, Any]) -> list[Any]:
        return looked_over(rewards, name, options["prompts"], options["completions"], may_be_none=True)

    async def later(**options: Any) -> list[Any]:
        return seen(await function(**options), options)

    return later if is_async else lambda **options: seen(function(**options), options)


def looked_over(
    rewards: Any, name: str, prompts: Sequence[Any], completions: Sequence[Any],
    *, may_be_none: bool = False,
) -> list[Any]:
    """Return rewards as a list; raise ValueError unless each completion has a finite one (or None)."""
    try:
        rewards = list(rewards)
    except TypeError:
        raise ValueError(
            f"reward function '{name}' returned {rewards!r}: return a list of one number for "
            "each completion"
        ) from None
    if len(rewards) != len(completions):
        raise ValueError(
            f"reward function '{name}' returned {len(rewards)} rewards for "
            f"{len(completions)} completions: return one number for each"
        )
    for row, value in enumerate(rewards):
        if not (_is_finite(value) or (may_be_none and value is None)):
            raise ValueError(
                f"reward function '{name}' returned {value!r} for prompt {prompts[row]!r}, "
                f"completion {completions[row]!r}: return a finite number"
            )
    return [None if value is None else float(value) for value in rewards]


def _each(
    completions: Sequence[str], targets: Sequence[str], judge: Callable[[str, str], bool]
) -> list[float]:
    return [
        float(judge(text, target)) for text, target in zip(completions, targets, strict=True)
    ]


def _first_line(text: str) -> str:
    return text.strip().split("\n", maxsplit=1)[0].strip()


def _same_number(text: str, right: str) -> bool:
    try:
        found, target = (Decimal(_first_line(t).replace(",", "")) for t in (text, right))
    except InvalidOperation:
        return False
    return found == target


def _is_split_of(text: str, prompt: str) -> bool:
    terms = re.fullmatch(r"([0-9]{2})\+([0-9]{2})", text.strip())
    total = re.fullmatch(r"([0-9]+)=", prompt.strip())
    if total is None:
        raise ValueError(f"the split task's prompts look like '57=', got {prompt!r}")
    return terms is not None and int(terms[1]) + int(terms[2]) == int(total[1])


def _is_finite(value: Any) -> bool:
    if isinstance(value, (str, bytes)):  # which float would read
        return False
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def _first_failing_row(
    function: Callable[..., Any],
    prompts: Sequence[str],
    completions: Sequence[str],
    columns: dict[str, Any],
) -> int:
    """Find the first row on which ``function`` fails alone; 0 if it only fails on the whole batch."""
    for row in range(len(completions)):
        own = {
            key: [value[row]] if _is_column(value, len(completions)) else value
            for key, value in columns.items()
        }
        try:
            function(prompts=[prompts[row]], completions=[completions[row]], **own)
        except Exception:
            return row
    return 0


def _is_column(value: Any, rows: int) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == rows
