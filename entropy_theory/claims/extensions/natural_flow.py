r"""Extension of the Entropy Mechanism, Theorem 2: the exact path of the natural policy gradient.

Let every token logit move as the natural gradient of :math:`J = \mathbb E R` does,
:math:`dz(s, a)/dt = A(s, a)`. For responses of any length, the flow of token logits tilts whole
responses:

.. math::

    \pi_t(y) = \pi_0(y) e^{t R(y)} / \mathbb E_0[e^{t R}],\quad z_t(s, a) = z_0(s, a) + \log
    \mathbb E_0[e^{t R} | s, a].

The logits are up to a constant at each state, which softmax ignores. With reward 1 for right responses
and 0 for others, :math:`p_t = p_0 e^t / (p_0 e^t + 1 - p_0)` is logistic. Among right responses, and
among wrong ones, probabilities stay in proportion. So entropy is a function of the reward,

.. math::

    H = h(p) + p H_{\text{right}} + (1 - p) H_{\text{wrong}}.

Here h is the entropy of two outcomes. :math:`H_{\text{right}}` and :math:`H_{\text{wrong}}` are the
entropies within right and within wrong responses of the *first* policy. Entropy ends at
:math:`H_{\text{right}}`: :math:`|H_t - H_{\text{right}}| \le (3 + |H_{\text{wrong}} -
H_{\text{right}}|) \sqrt{(1 - p_0)/p_0} e^{-t/2}`. Entropy does not collapse to zero unless one response
alone is right.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aent.token_mdp import returns
from entropy_theory.claims.entropy_mechanism.tree_rates import (
    advantage,
    response_probabilities,
    trees,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import (
    TIME,
    entry,
    equal,
    for_every,
    has_derivative,
    implies,
)

ELAPSED = vf.Scalar(name="elapsed", low=2.0**-6, high=8.0, grid=(1, Fraction(1, 4)), range=vf.POSITIVE)


@vf.definition
def flowed(logits: ar.Reals, reward: ar.Reals, elapsed: ar.Reals) -> ar.Reals:
    """z(s, a) + log E[e^{t R} | s, a]: where the natural flow is at time t."""
    tree = ar.token_tree(logits)
    _, action_values = tree.values(
        ar.softmax(logits), tree.edge_reward(np.exp(elapsed[..., None] * reward)))
    return logits + np.log(action_values)


@vf.definition
def tilted_probabilities(logits: ar.Reals, reward: ar.Reals, elapsed: ar.Reals) -> ar.Reals:
    """pi(y) e^{t R(y)} / E[e^{t R}]."""
    p, weights = response_probabilities(logits), np.exp(elapsed[..., None] * reward)
    return p * weights / ar.mean(p, weights)[..., None]


@vf.definition
def state_values(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """V(s), for a reward of responses."""
    tree = ar.token_tree(logits)
    values, _ = tree.values(ar.softmax(logits), tree.edge_reward(reward))
    return values


def follows(path: Any, reward: Any) -> vf.Term:
    """From time 0 on the curve of logits moves as the natural gradient."""
    return for_every("t", (), lambda t: implies(vf.constant(0) <= t, has_derivative(
        lambda r: entry(path, r), t, advantage(entry(path, t), reward))))


def on_every_flow(reward: Any, holds: Any) -> vf.Term:
    """State ``holds`` of every curve that follows the natural gradient, given it and its start."""
    return for_every("path", (TIME, vf.STATES, vf.ACTIONS), lambda path: implies(
        follows(path, reward), holds(path, entry(path, vf.constant(0)))))


def _flow_itself(i: Any, reward: Any) -> vf.Term:
    """`flowed` moves as the natural gradient, up to V(s)."""
    here = flowed(i.logits, reward, i.elapsed)
    return has_derivative(lambda t: flowed(i.logits, reward, t), i.elapsed,
                          advantage(here, reward) + state_values(here, reward)[..., None])


natural_flow_tilts = vf.Claim(
    id="extension.natural-flow-tilts",
    source="Extension of Entropy Mechanism, Theorem 2",
    title="The natural gradient flow of token logits tilts whole responses",
    scope="tabular token tree, natural gradient in continuous time, policies of responses",
    statement=vf.Statement(
        latex=r"Along the flow $dz(s,a)/dt = A(s,a)$ of token logits, $\pi_t(y) = \pi_0(y) e^{tR(y)} / "
              r"\mathbb E_0[e^{tR}]$ for every response; up to a constant at each state $z_t(s,a) = "
              r"z_0(s,a) + \log\mathbb E_0[e^{tR} \mid s, a]$.",
        margin=lambda i: (
            response_probabilities(flowed(i.logits, i.reward, i.elapsed)) - tilted_probabilities(
                i.logits, i.reward, i.elapsed)),
        relation="==",
        beyond=lambda i: (
            _flow_itself(i, i.reward),
            on_every_flow(i.reward, lambda path, start: equal(
                response_probabilities(entry(path, i.elapsed)),
                tilted_probabilities(start, i.reward, i.elapsed))),
        ),
    ),
    instances=trees(ELAPSED, reward="graded"),
    mutants=(
        vf.mutant("the step at the start kept up: z + t A",
                  margin=lambda i: response_probabilities(
                      i.logits + i.elapsed[..., None, None] * advantage(i.logits, i.reward))
                  - tilted_probabilities(i.logits, i.reward, i.elapsed)),
    ),
)

# ---------------------------------------------------------------- right and wrong


@vf.definition
def mass(logits: ar.Reals, kept: ar.Mask) -> ar.Reals:
    """The probability of a response that is kept."""
    return ar.total(response_probabilities(logits), kept)


@vf.definition
def entropy_within(logits: ar.Reals, kept: ar.Mask) -> ar.Reals:
    """The entropy of a response, given that it is among those kept."""
    share = response_probabilities(logits) / mass(logits, kept)[..., None]
    log_response = ar.token_tree(logits).sum_along(ar.log_softmax(logits))
    return -ar.total(share * (log_response - np.log(mass(logits, kept))[..., None]), kept)


@vf.definition
def mixed(right: ar.Reals, wrong: ar.Reals, entropy_right: ar.Reals, entropy_wrong: ar.Reals) -> ar.Reals:
    """h(p) + p H_right + q H_wrong, with p and q = 1 - p the probabilities of being right and wrong."""
    return (-right * np.log(right) - wrong * np.log(wrong)
            + right * entropy_right + wrong * entropy_wrong)


@vf.definition
def curve(logits: ar.Reals, correct: ar.Mask, elapsed: ar.Reals) -> ar.Reals:
    """h(p_t) + p_t H_right + (1 - p_t) H_wrong, p_t = p e^t/(p e^t + 1 - p), all of the first policy."""
    grown, wrong = mass(logits, correct) * np.exp(elapsed), mass(logits, ~correct)
    return mixed(grown / (grown + wrong), wrong / (grown + wrong),
                 entropy_within(logits, correct), entropy_within(logits, ~correct))


@vf.definition
def still_to_go(logits: ar.Reals, correct: ar.Mask, elapsed: ar.Reals) -> ar.Reals:
    """(3 + |H_wrong - H_right|) sqrt((1 - p)/p) e^{-t/2}."""
    gap = np.abs(entropy_within(logits, ~correct) - entropy_within(logits, correct))
    odds = mass(logits, ~correct) / mass(logits, correct)
    return (3 + gap) * np.sqrt(odds) * np.exp(-elapsed / 2)


def _curve_residual(i: vf.Cases, within: Any = curve) -> ar.Reals:
    reward = returns(i.correct, i.logits)
    entropy = ar.response_entropy(flowed(i.logits, reward, i.elapsed))
    return entropy - within(i.logits, i.correct, i.elapsed)


def _without_entropy_within(logits: ar.Reals, correct: ar.Mask, elapsed: ar.Reals) -> ar.Reals:
    return curve(logits, correct, elapsed) - entropy_within(logits, correct)


def _ends(i: Any) -> tuple[vf.Term, ...]:
    reward = returns(i.correct, i.logits)
    return (
        _flow_itself(i, reward),
        on_every_flow(reward, lambda path, start: equal(
            ar.response_entropy(entry(path, i.elapsed)), curve(start, i.correct, i.elapsed))),
        on_every_flow(reward, lambda path, start: np.abs(
            ar.response_entropy(entry(path, i.elapsed)) - entropy_within(start, i.correct))
            <= still_to_go(start, i.correct, i.elapsed)),
    )


SOME_WRONG = vf.Condition(latex="some response is wrong", value=lambda i: np.any(~i.correct, axis=-1))

natural_flow_curve = vf.Claim(
    id="extension.natural-flow-curve",
    source="Extension of Entropy Mechanism, Theorem 2 and Section 2",
    title="Along the natural gradient flow entropy follows a curve that the start determines",
    scope="tabular token tree, rewards 0 and 1, natural gradient in continuous time, entropy per "
          "response",
    statement=vf.Statement(
        latex=r"Along the natural gradient flow $dz(s,a)/dt = A(s,a)$ with $R = 1$ for right responses "
              r"and $0$ for others, $\mathcal H_t = h(p_t) + p_t \mathcal H_{right} + (1 - p_t)\mathcal "
              r"H_{wrong}$ with $p_t = p_0 e^t / (p_0 e^t + 1 - p_0)$ and the entropies within right "
              r"and within wrong responses at the start; so $|\mathcal H_t - \mathcal H_{right}| \le (3 "
              r"+ |\mathcal H_{wrong} - \mathcal H_{right}|)\sqrt{(1-p_0)/p_0}\,e^{-t/2}$.",
        margin=_curve_residual,
        relation="==",
        conditions=(SOME_WRONG,),
        beyond=_ends,
    ),
    instances=trees(ELAPSED, reward="correct"),
    mutants=(
        vf.mutant("without the entropy within right responses",
                  margin=lambda i: _curve_residual(i, _without_entropy_within)),
    ),
)
