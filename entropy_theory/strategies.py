"""Hypothesis strategies for softmax policies, token trees, token batches, rewards, temperatures.

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

import functools
import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from entropy_theory.token_batch import TokenBatch, concatenate
from entropy_theory.token_tree import TokenTree


def weights(n_actions: int, largest: int = 12) -> SearchStrategy[list[int]]:
    """Integer weights w of a policy w / sum(w): exact, readable, with ties."""
    return st.lists(st.integers(1, largest), min_size=n_actions, max_size=n_actions)


def logits(n_actions: int) -> SearchStrategy[list[float]]:
    """Logits: small integers (ties), moderate floats, and saturated policies (gaps up to 60)."""
    return st.lists(_logit(), min_size=n_actions, max_size=n_actions)


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
    /,
    *,
    actions: tuple[int, int] = (2, 8),
    with_correct: bool = True,
    with_step: bool = False,
    exact: bool | None = None,
    vectors: Mapping[str, SearchStrategy[float]] | None = None,
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
        vectors: a strategy for the entries of each further per-action field.
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
    for name, entry in (vectors or {}).items():
        bandit[name] = draw(st.lists(entry, min_size=n_actions, max_size=n_actions))
    for name, strategy in scalars.items():
        bandit[name] = draw(strategy)
    return bandit


@st.composite
def token_trees(
    draw: DrawFn,
    /,
    *,
    tokens: tuple[int, int] = (2, 3),
    horizon: tuple[int, int] = (1, 3),
    reward: Literal["correct", "graded"] | None = "correct",
    prompts: tuple[int, int] | None = None,
    vectors: Mapping[str, SearchStrategy[float]] | None = None,
    **scalars: SearchStrategy[Any],
) -> dict[str, Any]:
    """An autoregressive softmax policy on a complete token tree (`entropy_theory.token_tree`).

    Args:
        draw: supplied by Hypothesis.
        tokens: smallest and largest vocabulary.
        horizon: shortest and longest response.
        reward: "correct" for a mask over responses (one right response at least), "graded" for
            rewards in [0, 1], None for neither.
        prompts: fewest and most prompts, each with a tree of its own on a leading axis.
        vectors: a strategy for the entries of each further field per (state, token).
        **scalars: a strategy for each further field, such as a coefficient.

    Returns:
        A dict with ``logits`` [(prompts,) states, tokens], ``weights`` of the same shape where they
        are exact, ``correct`` or ``reward`` [(prompts,) responses], and the fields asked for.
    """
    tree = TokenTree(draw(st.integers(*tokens)), draw(st.integers(*horizon)))
    n_prompts = None if prompts is None else draw(st.integers(*prompts))
    lead = () if n_prompts is None else (n_prompts,)

    def table(entry: SearchStrategy[Any], *shape: int) -> Any:
        return _drawn(draw, entry, *shape).tolist()

    shape = (*lead, tree.n_states, tree.n_tokens)
    case: dict[str, Any] = {}
    if draw(st.sampled_from((True, False))):
        case["weights"] = table(st.integers(1, 12), *shape)
        case["logits"] = np.log(case["weights"]).tolist()
    else:
        case["logits"] = table(_logit(), *shape)
    if reward == "correct":
        masks = [draw(correct_sets(tree.n_responses)) for _ in range(n_prompts or 1)]
        case["correct"] = masks[0] if n_prompts is None else masks
    elif reward == "graded":
        case["reward"] = table(_graded_reward(), *lead, tree.n_responses)
    for name, entry in (vectors or {}).items():
        case[name] = table(entry, *shape)
    for name, strategy in scalars.items():
        case[name] = draw(strategy)
    return case


@st.composite
def token_batches(
    draw: DrawFn,
    /,
    *,
    prompts: tuple[int, int] = (1, 3),
    group_size: tuple[int, int] = (1, 4),
    positions: tuple[int, int] = (1, 4),
    graded: bool = False,
    off_policy: bool = True,
    second_batch: bool | None = None,
) -> TokenBatch:
    """A sampled batch of ragged responses, as an update rule reads it (float64 numpy).

    Groups whose rewards are all equal, responses of one token and tokens of probability near 0 and 1
    are included. Shrinks to one prompt with one response of one token.

    Args:
        draw: supplied by Hypothesis.
        prompts: fewest and most prompts, each a group.
        group_size: fewest and most responses to a prompt.
        positions: fewest and most tokens of the longest response.
        graded: rewards in [0, 1] instead of 0 and 1.
        off_policy: log-probabilities may differ from the old ones, enough for clips to bind.
        second_batch: with tempered rows (True), without (False), or either (None).

    Returns:
        A `TokenBatch` with entropies, a reference policy, sequence ids and groups; weights are 1/N.
    """
    n_prompts, size = draw(st.integers(*prompts)), draw(st.integers(*group_size))
    width = draw(st.integers(*positions))
    has_second = draw(st.booleans()) if second_batch is None else second_batch
    sequences = n_prompts * size
    token_reward = _graded_reward() if graded else st.sampled_from((0.0, 1.0))
    table = functools.partial(_drawn, draw)

    def rows(tempered: bool, first: int) -> TokenBatch:
        shape = (sequences, width)
        lengths = table(st.integers(1, width), sequences, 1)
        mask = np.arange(width) < lengths
        old = -table(st.floats(0, 20, allow_subnormal=False), *shape)
        ratio = table(st.floats(-0.5, 0.5, allow_subnormal=False), *shape) if off_policy else 0.0
        reference = np.minimum(old + table(st.floats(-1, 1, allow_subnormal=False), *shape), 0.0)
        ids = np.arange(sequences)[:, None]
        temperature = draw(temperatures(0.5, 2.0)) if tempered else 1.0
        return TokenBatch(
            log_prob=np.minimum(old + ratio, 0.0),
            old_log_prob=old,
            reward=np.broadcast_to(table(token_reward, sequences, 1), shape),
            mask=mask,
            weight=np.where(mask, 1 / mask.sum(), 0.0),
            entropy=table(st.floats(0, 5, allow_subnormal=False), *shape),
            reference_log_prob=reference,
            sampling_temperature=np.full(shape, temperature),
            tempered=np.full(shape, tempered),
            group=np.broadcast_to(ids // size, shape),
            sequence=np.broadcast_to(first + ids, shape),
        )

    batch = concatenate([rows(False, 0), rows(True, sequences)]) if has_second else rows(False, 0)
    return batch.replace(sampling_log_prob=batch.old_log_prob, old_entropy=batch.entropy)


def _drawn(draw: DrawFn, entry: SearchStrategy[Any], *shape: int) -> np.ndarray:
    size = math.prod(shape)
    return np.reshape(draw(st.lists(entry, min_size=size, max_size=size)), shape)


def _logit() -> SearchStrategy[float]:
    return st.one_of(
        st.integers(-3, 3).map(float),
        st.floats(-5, 5, allow_subnormal=False),
        st.floats(-30, 30, allow_subnormal=False),
    )


def _graded_reward() -> SearchStrategy[float]:
    return st.one_of(st.sampled_from((0.0, 1.0)), st.floats(0, 1, allow_subnormal=False))
