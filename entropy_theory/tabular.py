"""Tabular softmax policies: one independent logit per (state, action).

This is the smallest model on which every update rule runs, exactly. `listing` writes all actions of all
states as a TokenBatch whose weights are probabilities. `logit_step` turns a rule's coefficients into the
step of the logits. The simulator's hot loop, the forecasts under the tabular assumption and the test that
one rule is the same at both scales all go through these two functions.
"""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np

from entropy_theory.array_types import Array
from entropy_theory.policy import (
    as_float_array,
    clamped_entropy,
    clamped_logits,
    entropy,
    entropy_gradient,
    log_softmax,
    namespace,
)
from entropy_theory.token_batch import TokenBatch, concatenate
from entropy_theory.token_tree import TokenTree
from entropy_theory.update_rules.rule import UpdateRule


def listing(
    logits: Array,
    reward: Array,
    *,
    temperature: Array | None = None,
    sampling_log_prob: Array | None = None,
    reference_logits: Array | None = None,
    removed_fraction: float = 0.0,
    effects: bool = False,
) -> TokenBatch:
    """List every action of every state as a row weighted by its probability: exact expectations.

    Args:
        logits: [..., states, actions].
        reward: [..., states, actions] (or broadcastable), the reward of each action.
        temperature: None for ordinary rows, else those of a second batch sampled at it (scalar or [...]).
        sampling_log_prob: [..., states, actions], log-probabilities of the sampler where it is not the
            policy at the temperature, -inf at actions never drawn; weights are its probabilities.
        reference_logits: [..., states, actions] of a reference policy, for ``reference_log_prob``.
        removed_fraction: share of the actions that ``clamped_entropy`` leaves out
            (`Needs.removed_fraction`); with 0 the batch has no such column.
        effects: whether the batch has the column ``entropy_effect``, exact for independent logits.

    Returns:
        A TokenBatch [..., states * actions, 1]: states weigh the same, and each is its own group.

    Raises:
        ValueError: as `policy.shift_logits`; logits without a state axis.
    """
    logits = _with_states(logits)
    xp = namespace(logits)
    n_states, n_actions = logits.shape[-2:]
    rows = (*logits.shape[:-2], n_states * n_actions, 1)

    def column(values: Array) -> Array:
        return xp.reshape(xp.broadcast_to(values, logits.shape), rows)

    log_prob, ones, before = log_softmax(logits), xp.ones_like(logits), entropy(logits)[..., None]
    sampling_log_prob, per_state = _sampling(logits, temperature, sampling_log_prob)
    reference = _reference(logits, reference_logits)
    device = array_api_compat.device(logits)
    states, actions = xp.arange(n_states, device=device)[:, None], xp.arange(n_actions, device=device)
    return TokenBatch(
        log_prob=column(log_prob),
        old_log_prob=column(log_prob),
        reward=column(xp.asarray(reward, dtype=logits.dtype)),
        mask=column(ones > 0),
        weight=column(xp.exp(sampling_log_prob) / n_states),
        entropy=column(before), old_entropy=column(before),
        clamped_entropy=(
            column(clamped_entropy(logits, removed_fraction)[..., None]) if removed_fraction else None),
        reference_log_prob=None if reference is None else column(reference),
        sampling_log_prob=column(sampling_log_prob),
        sampling_temperature=column(ones * per_state[..., None]),
        tempered=column((ones > 0) if temperature is not None else (ones < 0)),
        entropy_effect=column(entropy_effects(logits)) if effects else None,
        group=None if n_states == 1 else column(states),
        state=column(states),
        action=column(actions),
    )


def _with_states(logits: Array) -> Array:
    logits = as_float_array(logits)
    if logits.ndim < 2 or 0 in logits.shape:
        raise ValueError(
            f"logits are [..., states, actions], one of each at least, got shape {tuple(logits.shape)}")
    return logits


def _sampling(
    logits: Array, temperature: Array | None, given: Array | None
) -> tuple[Array, Array]:
    """(log-probabilities, given or at the temperature, and each state's temperature, 1 without one)."""
    xp = namespace(logits)
    if temperature is None:
        return log_softmax(logits) if given is None else given, xp.ones_like(logits[..., 0])
    per_run = xp.asarray(temperature, dtype=logits.dtype)
    per_state = xp.broadcast_to(per_run[..., None] if per_run.ndim else per_run, logits.shape[:-1])
    return log_softmax(logits, per_state) if given is None else given, per_state


def _reference(logits: Array, reference_logits: Array | None) -> Array | None:
    """Log-probabilities of the reference policy, if there is one."""
    if reference_logits is None:
        return None
    return log_softmax(namespace(logits).asarray(reference_logits, dtype=logits.dtype))


def entropy_effects(logits: Array) -> Array:
    r"""Return the change of mean entropy that a move along grad log pi(a | s) causes.

    Logits are independent and n states weigh the same:
    :math:`\langle \nabla H(s), e_a - \pi(.|s)\rangle / n`, as [..., states, actions], in nats.
    """
    xp = namespace(logits)
    slope = entropy_gradient(logits)
    probabilities = xp.exp(log_softmax(logits))
    return (slope - xp.sum(probabilities * slope, axis=-1, keepdims=True)) / logits.shape[-2]


def exact_batch(
    logits: Array, reward: Array, *, temperature: Array | None = None, **columns: Any
) -> TokenBatch:
    """The exact batch of a rule: ordinary rows, and tempered ones too where a temperature is given.

    Args, raises: as `listing`.
    """
    ordinary = listing(logits, reward, **columns)
    if temperature is None:
        return ordinary
    return concatenate([ordinary, listing(logits, reward, temperature=temperature, **columns)])


def response_batch(
    logits: Array,
    reward: Array,
    *,
    tree: TokenTree | None = None,
    temperature: Array | None = None,
    sampling_log_prob: Array | None = None,
    reference_logits: Array | None = None,
    removed_fraction: float = 0.0,
) -> TokenBatch:
    """List every response of a token tree as a row weighted by its probability: exact expectations.

    Args:
        logits: [..., prompts * states, tokens], prompt-major.
        reward: [..., prompts, responses], or broadcastable to it. Without ``tree`` [..., responses].
        tree: None for the complete tree (`token_tree.TokenTree`) of a single prompt.
        temperature: None for ordinary rows, else that of a second batch sampled at it, scalar or [...].
        sampling_log_prob, reference_logits, removed_fraction: as `listing`.

    Returns:
        A TokenBatch [..., prompts * responses, horizon]. A token's weight is its response's probability
        over the number of prompts and the mean length of a response, so that weights sum to 1.

    Raises:
        ValueError: as `TokenTree.of` and `policy.shift_logits`; states that are not whole trees.
    """
    logits = as_float_array(logits)
    xp = namespace(logits)
    if tree is None:
        tree, reward = TokenTree.of(logits), xp.asarray(reward, dtype=logits.dtype)[..., None, :]
    n_prompts, mask, state, action, group = _response_tokens(logits, tree)
    shape = (*logits.shape[:-2], *state.shape)

    def column(values: Array) -> Array:
        return xp.broadcast_to(values, shape)

    log_prob, before = log_softmax(logits)[..., state, action], entropy(logits)[..., state]
    sampling, per_state = _sampling(logits, temperature, sampling_log_prob)
    reference = _reference(logits, reference_logits)
    taken = sampling[..., state, action]
    per_response = xp.broadcast_to(
        xp.asarray(reward, dtype=logits.dtype), (*logits.shape[:-2], n_prompts, tree.n_responses))
    return TokenBatch(
        log_prob=log_prob,
        old_log_prob=log_prob,
        reward=column(xp.reshape(per_response, (*shape[:-1], 1))),
        mask=column(mask),
        weight=column(_token_weights(taken, mask)),
        entropy=before, old_entropy=before,
        clamped_entropy=(
            clamped_entropy(logits, removed_fraction)[..., state] if removed_fraction else None),
        reference_log_prob=None if reference is None else reference[..., state, action],
        sampling_log_prob=taken,
        sampling_temperature=column(per_state[..., :1, None]),
        tempered=column(mask & False if temperature is None else mask | True),
        group=None if n_prompts == 1 else column(group),
        state=column(state),
        action=column(action),
        listed=True,
    )


def _response_tokens(logits: Array, tree: TokenTree) -> tuple[int, Array, Array, Array, Array]:
    """(number of prompts, then mask, state, token and prompt of the tokens of all responses)."""
    n_prompts, left = divmod(logits.shape[-2], tree.n_states)
    if left or not n_prompts:
        raise ValueError(
            f"states must be whole trees of {tree.n_states} states each, got {logits.shape[-2]} states")
    paths = tree.paths()
    prompt = np.repeat(np.arange(n_prompts), tree.n_responses)
    found = (
        np.tile(paths.mask, (n_prompts, 1)),
        np.tile(paths.state, (n_prompts, 1)) + tree.n_states * prompt[:, None],
        np.tile(paths.token, (n_prompts, 1)), np.repeat(prompt[:, None], tree.horizon, axis=1),
    )
    xp, device = namespace(logits), array_api_compat.device(logits)
    mask, state, action, group = (xp.asarray(column, device=device) for column in found)
    return n_prompts, mask, state, action, group


def _token_weights(log_prob: Array, mask: Array) -> Array:
    """The probability of each response, such that its tokens' weights sum to 1 over all responses."""
    xp = namespace(log_prob)
    chance = xp.exp(xp.sum(xp.where(mask, log_prob, xp.zeros_like(log_prob)), axis=-1, keepdims=True))
    counted = xp.where(mask, chance, 0 * chance)
    return chance / xp.sum(counted, axis=(-2, -1), keepdims=True)


def logit_step(
    logits: Array, batch: TokenBatch, rule: UpdateRule, *, probabilities: Array | None = None
) -> Array:
    r"""The step that a rule's coefficients give a tabular policy, per unit learning rate.

    With weights w_i, scores c_i and terms t_ik of the rows i the step is
    :math:`\sum_i w_i (c_i (e_{a_i} - \pi(.|s_i)) + \sum_k t_{ik} \nabla_z k(s_i))`.

    Args:
        logits: [..., states, actions].
        batch: [..., sequences, positions], with ``state`` and ``action``.
        rule: the update rule.
        probabilities: softmax of the logits, where the caller has computed it already.

    Returns:
        [..., states, actions].

    Raises:
        ValueError: ``state`` or ``action`` missing, out of range, or a state term that has no
            tabular gradient here.
    """
    batch.require("logit_step", "state", "action")
    batch = rule.prepare(batch) if f"{rule.name}.prepared" not in batch.prepared else batch
    logits = as_float_array(logits)
    weighted = batch.weight * rule.scores(batch)
    terms = {name: batch.weight * term for name, term in rule.state_terms(batch).items()}
    return coefficient_step(
        logits, batch, weighted, terms, removed_fraction=rule.needs.removed_fraction,
        probabilities=probabilities,
    )


def coefficient_step(
    logits: Array,
    batch: TokenBatch,
    weighted_scores: Array,
    weighted_terms: dict[str, Array],
    *,
    removed_fraction: float = 0.0,
    probabilities: Array | None = None,
) -> Array:
    """The step of `logit_step`, from coefficients that are multiplied by ``weight`` already."""
    xp = namespace(logits)
    n_states, n_actions = logits.shape[-2:]
    for name, size in (("state", n_states), ("action", n_actions)):
        index = getattr(batch, name)
        if not batch.checked and bool(xp.any((index < 0) | (index >= size))):
            raise ValueError(f"column '{name}' must be in 0..{size - 1}, the logits' range")
    by_action = sum_by_index(
        xp, weighted_scores, batch.state * n_actions + batch.action, n_states * n_actions
    )
    by_action = xp.reshape(by_action, logits.shape)
    if probabilities is None:
        probabilities = xp.exp(log_softmax(logits))
    step = by_action - probabilities * xp.sum(by_action, axis=-1, keepdims=True)
    for name, coefficients in weighted_terms.items():
        by_state = sum_by_index(xp, coefficients, batch.state, n_states)
        step = step + by_state[..., None] * state_gradient(name, logits, removed_fraction)
    return step


def state_gradient(name: str, logits: Array, removed_fraction: float = 0.0) -> Array:
    """Gradient with respect to the logits of a state function that rules add: [..., actions].

    Raises ValueError for a state term that has no tabular gradient here.
    """
    if name == "entropy":
        return entropy_gradient(logits)
    if name == "clamped_entropy":
        return entropy_gradient(clamped_logits(logits, removed_fraction))
    raise ValueError(f"no tabular gradient is known for the state term '{name}'")


def sum_by_index(xp: Any, values: Array, index: Array, size: int) -> Array:
    """Sum of ``values`` [..., sequences, positions] over equal ``index``: [..., size]."""
    if hasattr(xp, "sum_by_index"):
        return xp.sum_by_index(values, index, size)
    runs = values.shape[:-2]
    flat = xp.reshape(values, (*runs, -1))
    flat_index = xp.reshape(index, (*runs, -1))
    if array_api_compat.is_numpy_array(values):
        # bincount is the fastest scatter numpy has; offsets keep the runs apart.
        n_runs = int(np.prod(runs, dtype=int))
        offset = size * np.arange(n_runs).reshape(*runs, 1)
        total = np.bincount(
            (flat_index + offset).ravel(), weights=flat.ravel(), minlength=n_runs * size
        )
        return total.reshape(*runs, size)
    if array_api_compat.is_jax_array(values):
        rows, numbers = (xp.reshape(x, (-1, x.shape[-1])) for x in (flat_index, flat))
        total = xp.zeros((len(rows), size), dtype=flat.dtype)
        total = total.at[xp.arange(len(rows))[:, None], rows].add(numbers)
        return xp.reshape(total, (*runs, size))
    one_hot = flat_index[..., None] == xp.arange(size, device=array_api_compat.device(values))
    return xp.sum(xp.where(one_hot, flat[..., None], xp.zeros_like(flat[..., None])), axis=-2)
