"""Hypothesis strategies for softmax policies, correct sets, rewards and temperatures.

They include what theorems about entropy trip over: ties, saturated policies, two actions, a correct
set of one action or of all. Everything shrinks towards small integer weights, the form in which a
counterexample can be checked by hand::

    from hypothesis import given
    from entropy_theory.strategies import bandits

    @given(bandits(temperature=temperatures()))
    def test_my_inequality(bandit):
        logits, correct, temperature = bandit["logits"], bandit["correct"], bandit["temperature"]
"""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy


def weights(n_actions: int, largest: int = 12) -> SearchStrategy[list[int]]:
    """Integer weights w of a policy w / sum(w): exact, readable, with ties."""
    return st.lists(st.integers(1, largest), min_size=n_actions, max_size=n_actions)


def logits(n_actions: int) -> SearchStrategy[list[float]]:
    """Logits: small integers (ties), moderate floats, and saturated policies (gaps up to 60)."""
    entry = st.one_of(
        st.integers(-3, 3).map(float),
        st.floats(-5, 5, allow_subnormal=False),
        st.floats(-30, 30, allow_subnormal=False),
    )
    return st.lists(entry, min_size=n_actions, max_size=n_actions)


def correct_sets(n_actions: int) -> SearchStrategy[list[bool]]:
    """Masks of the correct actions: never empty, one action and all actions included."""
    return st.lists(st.booleans(), min_size=n_actions, max_size=n_actions).filter(any)


def rewards(n_actions: int) -> SearchStrategy[list[float]]:
    """Rewards in [0, 1] of each action, 0 and 1 included."""
    return st.lists(st.floats(0, 1, allow_subnormal=False), min_size=n_actions, max_size=n_actions)


def temperatures(low: float = 0.05, high: float = 20.0) -> SearchStrategy[float]:
    """Positive temperatures, 1 first, log-uniform in between."""
    if not 0 < low <= 1 <= high:
        raise ValueError(f"temperatures need 0 < low <= 1 <= high, got {low}, {high}")
    spread = st.floats(math.log(low), math.log(high)).map(lambda x: min(max(math.exp(x), low), high))
    return st.one_of(st.just(1.0), spread)


@st.composite
def bandits(
    draw: DrawFn,
    *,
    actions: tuple[int, int] = (2, 8),
    with_correct: bool = True,
    with_step: bool = False,
    exact: bool | None = None,
    **scalars: SearchStrategy[Any],
) -> dict[str, Any]:
    """A softmax policy at one state, with a correct set and named scalars.

    Args:
        draw: supplied by Hypothesis.
        actions: fewest and most actions.
        with_correct: include the field ``correct``.
        with_step: include the field ``step``, a logit step.
        exact: True for integer ``weights`` only, False for float ``logits`` only, None for both;
            ``logits`` are there in any case.
        **scalars: a strategy for each further field, such as ``temperature=temperatures()``.

    Returns:
        A dict with ``logits``, ``weights`` where they are exact, and the fields asked for.
    """
    n_actions = draw(st.integers(*actions))
    use_weights = draw(st.sampled_from((True, False))) if exact is None else exact
    bandit: dict[str, Any] = {}
    if use_weights:
        bandit["weights"] = draw(weights(n_actions))
        bandit["logits"] = [math.log(w) for w in bandit["weights"]]
    else:
        bandit["logits"] = draw(logits(n_actions))
    if with_correct:
        bandit["correct"] = draw(correct_sets(n_actions))
    if with_step:
        change = st.one_of(st.integers(-2, 2).map(float), st.floats(-8, 8, allow_subnormal=False))
        bandit["step"] = draw(st.lists(change, min_size=n_actions, max_size=n_actions))
    for name, strategy in scalars.items():
        bandit[name] = draw(strategy)
    return bandit
