"""Responses of different lengths on a token tree, where token 1 ends the response.

On a complete tree (`entropy_theory.token_tree`) a response ends with its first token 1 (index 0),
or at the horizon. Later tokens are padding. The reward stands at the token that ends the response,
so it cannot depend on the padding, and padding takes no gradient. Horizon 1 is the case of equal
lengths.
"""

from functools import lru_cache

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.token_tree import TokenTree
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.drawn_fields import UNIT
from entropy_theory.verification.formula.functions import operation

STOP = 0
REWARD = vf.Vector(name="reward", low=0.0, high=1.0, grid=(0, 1), range=UNIT)
"""[states, tokens]: the reward of the response that this token ends; elsewhere it is not read."""


@operation(lambda logits: logits.axes[:-1], "mask")
def running(logits: ar.Reals) -> ar.Mask:
    """[..., states]: whether the response still goes on, so that its next token counts."""
    return np.broadcast_to(_running(TokenTree.of(logits)), np.shape(logits)[:-1])


@operation(lambda logits: logits.axes, "mask")
def ending(logits: ar.Reals) -> ar.Mask:
    """[..., states, tokens]: whether this token ends the response."""
    tree = TokenTree.of(logits)
    stops = np.arange(tree.n_tokens) == STOP
    is_last = np.arange(tree.n_states) >= tree.levels[-1].start
    found = _running(tree)[:, None] & (stops | is_last[:, None])
    return np.broadcast_to(found, np.shape(logits))


@lru_cache
def _running(tree: TokenTree) -> np.ndarray:
    goes_on = [True]
    for s in range(1, tree.n_states):
        before, token = divmod(s - 1, tree.n_tokens)
        goes_on.append(goes_on[before] and token != STOP)
    return np.array(goes_on)


def until_end(logits: ar.Reals, edge: ar.Reals) -> ar.Reals:
    """Numbers of states and tokens, zero in the padding."""
    return np.where(running(logits)[..., None], edge, 0 * edge)


@vf.definition
def lengths(logits: ar.Reals) -> ar.Reals:
    """[..., responses]: the number of tokens, the stop included."""
    return ar.token_tree(logits).sum_along(until_end(logits, 0 * logits + ar.constant(1, like=logits)))


@vf.definition
def ending_reward(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """[..., states, tokens]: the reward, at the tokens that end a response."""
    return np.where(ending(logits), reward, 0 * reward)


@vf.definition
def rewards(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """[..., responses]: the reward of each response."""
    return ar.token_tree(logits).sum_along(ending_reward(logits, reward))


def at_temperature(logits: ar.Reals, temperature: ar.Reals | None) -> ar.Reals:
    """[..., states, tokens]: the logits of the tempered policy; as they are without a temperature."""
    return logits if temperature is None else logits / temperature[..., None, None]


@vf.definition
def policy_update(logits: ar.Reals, factor: ar.Reals, temperature: ar.Reals | None = None) -> ar.Reals:
    """E_{o ~ pi^T} factor(o) sum_{t <= |o|} grad log pi(o_t | o_{<t}), for each state and token."""
    sampled = ar.softmax(at_temperature(logits, temperature))
    through = ar.token_tree(logits).flow(sampled, factor)
    return until_end(logits, through - ar.per_action(ar.total(through)) * ar.softmax(logits))


@vf.definition
def longest(logits: ar.Reals, scores: ar.Reals) -> ar.Reals:
    """The length of the longest response whose score is above zero, 0 without one."""
    n_tokens = lengths(logits)
    return ar.largest(np.where(ar.less(0 * scores, scores), n_tokens, 0 * n_tokens))


@vf.definition
def spread(logits: ar.Reals, scores: ar.Reals) -> ar.Reals:
    """The shortest length minus the longest, of the responses whose score is above zero.

    It is zero where they have one length, below zero where they do not, and the horizon without one.
    """
    short_of = ar.token_tree(logits).horizon - lengths(logits)
    most = ar.largest(np.where(ar.less(0 * scores, scores), short_of, 0 * short_of))
    return ar.token_tree(logits).horizon - most - longest(logits, scores)
