r"""AEnt, Lemma 1: the gradient of the response entropy.

It is for a softmax policy on responses of h tokens with deterministic transitions. With :math:`d(s)`
the probability of passing through s, and :math:`H_{\text{to}}` the entropy still to come,

.. math::

    \nabla H = -\mathbb E[ \sum_t \nabla \log \pi(a_t|s_t) \sum_{t' \ge t} \log \pi(a_{t'}|s_{t'}) ]
    \quad\text{(A.1)}

    dH/d\theta(s, a) = d(s) \pi(a|s) (-\log \pi(a|s) + H_{\text{to}}(sa) - H_{\text{to}}(s)).

It is exact. The equations of the source are not readable, and the displays are reconstructed from its
proof text. :math:`H = -\sum_y \pi(y) \log \pi(y)` is the *sum* of the token entropies on the way, not
their mean.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aent.token_mdp import response_gradient, trees
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_gradient


@vf.definition
def direct_gradient(logits: ar.Reals) -> ar.Reals:
    """-d/dtheta sum_y pi(y) log pi(y) = -sum_y pi(y) (log pi(y) + 1) d log pi(y)."""
    log_response = ar.token_tree(logits).sum_along(ar.log_softmax(logits))
    return -response_gradient(logits, log_response + 1)


@vf.definition
def gradient_by_state(logits: ar.Reals) -> ar.Reals:
    """d(s) pi(a|s) (-log pi(a|s) + H_to(sa) - H_to(s))."""
    return ar.token_tree(logits).expectation_gradient(ar.softmax(logits), -ar.log_softmax(logits))


@vf.definition
def gradient_from_here_on(logits: ar.Reals) -> ar.Reals:
    """(A.1): minus each token's score times the log-probability of the rest of the response."""
    # Along the responses through (s, a) the sum over t' >= t is the whole log pi(y) minus log d(s).
    tree, policy = ar.token_tree(logits), ar.softmax(logits)
    probabilities = tree.response_probabilities(policy)
    log_response = tree.sum_along(ar.log_softmax(logits))
    before = np.log(tree.visitation(policy))[..., None]
    later = tree.sum_through(probabilities * log_response) - before * tree.sum_through(probabilities)
    return -(later - ar.total(later)[..., None] * policy)


def _residuals(i: vf.Cases) -> ar.Reals:
    direct = direct_gradient(i.logits)
    return np.stack([direct - gradient_by_state(i.logits), direct - gradient_from_here_on(i.logits)],
                    axis=-1)


lemma_1 = vf.Claim(
    id="aent.lemma-1",
    source="AEnt, Lemma 1 (A.1)",
    reading=vf.Reading(
        "precise", "Lemma 1 (Entropy gradient).", "Appendix A.1; its display is lost in the text"),
    title="Gradient of the response entropy",
    scope="tabular token tree, exact expectation, entropy per response",
    proof_text="reconstructed",
    statement=vf.Statement(
        latex=r"$\nabla\mathcal H(\pi_\theta) = -\mathbb E\big[\sum_t\nabla\log\pi_\theta(a_t|s_t)"
              r"\sum_{t'\ge t}\log\pi_\theta(a_{t'}|s_{t'})\big]$, that is $\partial\mathcal H/\partial"
              r"\theta_{s,a} = d(s)\pi(a|s)(-\log\pi(a|s) + \mathcal H_{sa} - \mathcal H_s)$.",
        margin=_residuals,
        beyond=lambda i: (has_gradient(ar.response_entropy, i.logits, gradient_by_state(i.logits)),),
        relation="==",
    ),
    instances=trees(reward=None, ascend=False),
    symbolic=True,
    mutants=(
        vf.mutant("without the entropy still to come",
                  margin=lambda i: direct_gradient(i.logits) - _token_entropies_only(i)),
    ),
)


def _token_entropies_only(i: vf.Cases) -> ar.Reals:
    """The state distribution treated as fixed."""
    tree, policy = ar.token_tree(i.logits), ar.softmax(i.logits)
    tilt = -ar.log_softmax(i.logits) - ar.entropy(i.logits)[..., None]
    return tree.visitation(policy)[..., None] * policy * tilt
