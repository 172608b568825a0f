r"""AEnt, Lemma 5: the bias that an entropy bonus brings.

For a prompt q, :math:`m = |A^*_h(q)|` of the :math:`|A|^h` responses are optimal. The policy
:math:`\pi^*_\lambda` maximizes :math:`V_\lambda`. For every :math:`\lambda > 0` and policy :math:`\pi`,

.. math::

    V^*(q) - V^\pi(q) \le V_\lambda^{\pi^*_\lambda}(q) - V_\lambda^\pi(q) + \lambda \log(|A|^h / m).

It is exact. At :math:`\pi = \pi^*_\lambda` it gives the plain bias bound

.. math::

    V^* - V^{\pi^*_\lambda} \le \lambda (h \log|A| - \log m).

The display (A.32) is not readable. Proposition 2 needs the form with two policies, and the plain
form follows from it.

Two facts prove it.

.. math::

    V^*_\lambda = \lambda \log \sum_y e^{R(y)/\lambda} \ge V^* + \lambda \log m

    V_\lambda^\pi - V^\pi = \lambda H(\pi) \le \lambda h \log|A|

No constant factor improves the bound. With 0/1 returns and :math:`k = (|A|^h - m)/m` wrong responses
per right response, the bias is exactly :math:`k/(e^{1/\lambda} + k)`. Take
:math:`\lambda = 1/(c \log k)` with :math:`c < 1`. As c tends to 1 and k to infinity, the ratio of the
bias to the bound tends to 1.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aent.token_mdp import (
    COEFFICIENT,
    optimal_value,
    regularized_value,
    regularized_values,
    returns,
    soft_policy,
    soft_value_at,
    trees,
    value,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.certify import precision
from entropy_theory.verification.formula.functions import computed_by
from entropy_theory.verification.formula.limits import for_every


def log_sizes(i: vf.Cases) -> tuple[ar.Real, ar.Reals]:
    """(h log|A|, log m)."""
    tree = ar.token_tree(i.logits)
    return (tree.horizon * ar.log_of(tree.n_tokens, like=i.logits),
            np.log(ar.total(returns(i.correct, i.logits))))


def _careful_gap(logits: ar.Reals, reward: ar.Reals, coefficient: ar.Reals) -> ar.Reals:
    own, _ = regularized_values(logits, reward, coefficient)
    return soft_value_at(logits, reward, coefficient)[..., 0] - own[..., 0]


@vf.definition
@computed_by(_careful_gap)
def soft_gap(logits: ar.Reals, reward: ar.Reals, coefficient: ar.Reals) -> ar.Reals:
    """V_lambda^{pi*_lambda} - V_lambda^pi."""
    best = regularized_value(soft_policy(logits, reward, coefficient), reward, coefficient)
    return best - regularized_value(logits, reward, coefficient)


@vf.definition
def true_gap(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """V* - V^pi."""
    return optimal_value(reward) - value(logits, reward)


def plain_bias(i: vf.Cases) -> ar.Reals:
    """V* - V^{pi*_lambda}: the value that the regularized optimum gives away."""
    reward = returns(i.correct, i.logits)
    return true_gap(soft_policy(i.logits, reward, i.coefficient), reward)


def _room(i: vf.Cases, bias: vf.Margin | None = None) -> ar.Reals:
    """Right minus left side: the form with two policies, and the plain one."""
    log_all, log_optimal = log_sizes(i)
    reward = returns(i.correct, i.logits)
    found = i.coefficient * (log_all - log_optimal) if bias is None else bias(i)
    return np.stack([
        soft_gap(i.logits, reward, i.coefficient) + found - true_gap(i.logits, reward),
        found - plain_bias(i),
    ], axis=-1)


def _largest_value(i: vf.Cases) -> tuple[vf.Term, ...]:
    """pi*_lambda is the maximizer of V_lambda."""
    reward = returns(i.correct, i.logits)
    best = soft_policy(i.logits, reward, i.coefficient)
    return (for_every("policy", (vf.STATES, vf.ACTIONS), lambda z: regularized_value(
        z, reward, i.coefficient) <= regularized_value(best, reward, i.coefficient)),)


def _tight() -> tuple[bool, str]:
    """Bias over bound at 0/1 returns, one right response, lambda = 1/(c log k)."""
    from flint import arb

    ratios = []
    with precision(256):
        for tokens, length, c in ((151936, 100, 0.99), (151936, 1000, 0.999)):
            log_k = (arb(tokens) ** length - 1).log()
            lam = 1 / (arb(c) * log_k)
            bias = 1 / (1 + (1 / lam - log_k).exp())
            ratios.append(bias / (lam * arb(tokens).log() * length))
        shown = bool(ratios[0] > 0.98) and bool(ratios[1] > 0.998)
        return shown, ", ".join(f"{float(r.mid()):.4f}" for r in ratios)


def _harmful_coefficient() -> tuple[bool, str]:
    """lambda = 1/log k gives away half of the value; that is 8.4e-5 for 1000 tokens out of 151,936."""
    from flint import arb

    with precision(256):
        log_k = (arb(151936) ** 1000 - 1).log()
        lam = 1 / log_k
        # What is left of the value 1 is 1/(1 + k e^{-1/lambda}).
        half = 1 / (1 + (log_k - 1 / lam).exp())
        rest = 1 / (1 + (log_k - 1 / (10 * lam)).exp())
        shown = bool(abs(half - 0.5) < 1e-30) and bool(rest < arb(10) ** -4000)
        return shown, f"lambda = {float(lam.mid()):.3e}: bias 1/2; ten times that: 1 - {rest.str(3)}"


lemma_5 = vf.Claim(
    id="aent.lemma-5",
    source="AEnt, Lemma 5 (A.32)",
    reading=vf.Reading(
        "precise", "Here is the set of all optimal responses given query .",
        "Lemma 5, Appendix A.3; its display is lost in the text"),
    title="Bias of the entropy-regularized optimum, for returns 0 and 1",
    scope="token tree, returns 0 and 1, any softmax policy, exact expectation",
    proof_text="reconstructed",
    statement=vf.Statement(
        latex=r"For returns 0 and 1: $V^{\pi^*}(q) - V^{\pi}(q) \le V_\lambda^{\pi^*_\lambda}(q) - "
              r"V_\lambda^{\pi}(q) + \lambda H\log\frac{|\mathcal A|}{|\mathcal A^*_H(q)|^{1/H}}$; for "
              r"$\pi = \pi^*_\lambda$ the first difference on the right is zero.",
        margin=_room,
        beyond=_largest_value,
    ),
    instances=trees(COEFFICIENT),
    experiments=(
        vf.experiment("tight", "bias/bound exceeds 0.98 (100 tokens, c = 0.99) and 0.998 (1000 tokens, "
                      "c = 0.999) with a vocabulary of 151,936 and one right response", _tight),
        vf.experiment("harmful coefficient", "151,936^1000 responses, one right: lambda = 1/log k "
                      "gives away half of the value, ten times that all of it", _harmful_coefficient),
    ),
    mutants=(
        vf.mutant("the horizon is dropped: lambda log(|A|/m)",
                  margin=lambda i: _room(i, lambda j: j.coefficient * (
                      log_sizes(j)[0] / ar.token_tree(j.logits).horizon - log_sizes(j)[1]))),
    ),
)
