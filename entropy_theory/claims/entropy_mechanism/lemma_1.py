r"""Entropy Mechanism, Lemma 1: the entropy change is minus a covariance of log :math:`\pi` and the logit
change.

The lemma is a chain of two approximations, for tabular logits :math:`z_{s,a}`:

.. math::

    H(\pi') - H(\pi) \sim \mathbb E_{s \sim d_\pi}[H(\pi'|s) - H(\pi|s)] \sim \mathbb E_{s \sim
    d_\pi}[-\operatorname{Cov}_{a \sim \pi}(\log \pi, dz)].

The second one, at each state, is a first order with :math:`|\text{remainder}| \le \tfrac14(1 + \log n)
\|dz\|^2`.

The first one holds for one token only. From two tokens on it leaves out how the update changes which
states are visited, a term of first order too. With :math:`d(s)` the probability of visiting s and
:math:`H(sa)` the entropy still to come after token a at s, the correct rate is

.. math::

    dH(\pi) = \sum_s d(s) \{-\operatorname{Cov}_s(\log \pi, dz) + \operatorname{Cov}_s(H(sa), dz)\}.

Divide both sides by the length of the response for the entropy per token that the paper plots. The
printed rate can be zero where entropy falls, and can have the wrong sign. The remainder of the
correct rate is in `extension.response-entropy-expansion`.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import remainder_bound
from entropy_theory.claims.entropy_mechanism.tree_rates import (
    STEP,
    action_covariance,
    entropy_rate,
    entropy_to_go,
    trees,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import along, has_derivative

# ---------------------------------------------------------------- one state


def _first_order(i: vf.Cases) -> ar.Reals:
    return -ar.covariance(ar.softmax(i.logits), ar.log_softmax(i.logits), i.step)


def _room(i: vf.Cases, first_order: ar.Reals | None = None) -> ar.Reals:
    """``bound - |H(z + dz) - H(z) - first order|``."""
    rate = _first_order(i) if first_order is None else first_order
    return remainder_bound(i.step) - np.abs(ar.entropy_change(i.logits, i.step) - rate)


def _uniform_covariance(i: vf.Cases) -> ar.Reals:
    uniform = 0 * i.logits + ar.constant(1, like=i.logits) / i.logits.shape[-1]
    return -ar.covariance(uniform, ar.log_softmax(i.logits), i.step)


lemma_1_state = vf.Claim(
    id="entropy-mechanism.lemma-1-state",
    source="Entropy Mechanism, Lemma 1, second approximation",
    reading=vf.Reading(
        "precise",
        "the difference of policy entropy given state s between two consecutive steps under "
        "first-order approximation satisfies",
        "Lemma 1, second approximation, with a remainder for its '≈'"),
    title="Entropy change at one state is minus a covariance, to first order",
    scope="one softmax policy, one logit step of any size, with its remainder",
    proof_text="not in sources",
    statement=vf.Statement(
        latex=r"$\mathcal H(\pi^{k+1}|s) - \mathcal H(\pi^k|s) \approx "
              r"-\mathrm{Cov}_{a\sim\pi^k}(\log\pi^k, \Delta z)$: the error is at most "
              r"$\frac14(1+\log n)\,\lVert\Delta z\rVert_2^2$, for every step.",
        margin=_room,
        beyond=lambda i: (has_derivative(lambda t: ar.entropy(along(i.logits, t, i.step)), 0,
                                         _first_order(i)),),
    ),
    instances=vf.bandit_instances(correct=False, step=True),
    symbolic=True,
    first_order=True,
    mutants=(
        vf.mutant("covariance under the uniform distribution",
                  margin=lambda i: _room(i, _uniform_covariance(i))),
    ),
)

# ---------------------------------------------------------------- all states


def _printed_rate(i: vf.Cases) -> ar.Reals:
    return -action_covariance(i.logits, i.step)


def _visits_term(i: vf.Cases) -> ar.Reals:
    """sum_s d(s) Cov_s(H(sa), dz): what the change of the visited states contributes."""
    return action_covariance(i.logits, i.step, entropy_to_go(i.logits))


def _next_entropy_only(i: vf.Cases) -> ar.Reals:
    """The rate with the next state's own entropy in place of all entropy to come."""
    tree = ar.token_tree(i.logits)
    own = ar.entropy(i.logits)
    following = 0 * i.logits
    children = own[..., 1:].reshape(*own.shape[:-1], -1, tree.n_tokens)
    following[..., : children.shape[-2], :] = children
    return action_covariance(i.logits, i.step, following)


FIRST_TOKEN_REWARDED = {
    "weights": [[1, 1], [9, 1], [1, 1]], "reward": [1, 1, 0, 0],
}
"""Reward 1 exactly if the first token is 0. The state behind it is nearly decided (9 to 1)."""


lemma_1_visitation = vf.Claim(
    id="entropy-mechanism.lemma-1-visitation",
    source="Entropy Mechanism, Lemma 1, first approximation",
    reading=vf.Reading(
        "precise",
        r"\mathcal{H}(\pi_\theta^{k+1}) - \mathcal{H}(\pi_\theta^k) \approx \mathbb{E}_{s \sim "
        r"d_{\pi_\theta}} [\mathcal{H}(\pi_\theta^{k+1}|s) - \mathcal{H}(\pi_\theta^k|s)]",
        "Lemma 1, first approximation; the entropy per response, and equal rates for its '≈', are ours"),
    title="Entropy change of a response as a mean of changes at frozen states",
    scope="tabular token tree, any direction of the logits, derivative, entropy per response",
    proof_text="not in sources",
    statement=vf.Statement(
        latex=r"To first order, $\mathcal H(\pi^{k+1}) - \mathcal H(\pi^k) = \mathbb E_{s\sim d_\pi}"
              r"[-\mathrm{Cov}_{a\sim\pi}(\log\pi, \Delta z)]$: the rates agree on every token tree.",
        margin=lambda i: _printed_rate(i) - entropy_rate(i.logits, i.step),
        relation="==",
    ),
    instances=trees(reward=None, vectors=(STEP,)),
    symbolic=True,
    repair=vf.Statement(
        latex=r"The rate is $\sum_s d(s)\,\{-\mathrm{Cov}_s(\log\pi, \Delta z) + "
              r"\mathrm{Cov}_s(\mathcal H(sa), \Delta z)\}$, $\mathcal H(sa)$ the entropy to come after "
              r"token a; on one token it is the printed one.",
        margin=lambda i: _printed_rate(i) + _visits_term(i) - entropy_rate(i.logits, i.step),
        beyond=lambda i: (has_derivative(lambda t: ar.response_entropy(along(i.logits, t, i.step)), 0,
                                         _printed_rate(i) + _visits_term(i)),),
        relation="==",
    ),
    repair_note="adds the covariance with entropy-to-go: the update also moves probability to states "
                "with more or less entropy ahead",
    mutants=(
        vf.mutant("only the next state's entropy, not all that is to come",
                  margin=lambda i: _printed_rate(i)
                  + _next_entropy_only(i) - entropy_rate(i.logits, i.step)),
    ),
    witnesses=({"weights": [[1, 1], [1, 2], [1, 1]], "step": [[1, 0], [0, 0], [0, 0]]},),
)
