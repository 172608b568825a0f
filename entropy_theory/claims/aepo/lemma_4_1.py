r"""AEPO, Lemma 4.1: a higher temperature means a higher entropy.

For every z in :math:`R^n` that is not constant, and every :math:`0 < T < T'`,
:math:`H(\operatorname{softmax}(z/T)) < H(\operatorname{softmax}(z/T'))`. It is exact, since
:math:`dH(\pi^T)/dT = \operatorname{Var}_{\pi^T}(z) / T^3`. It is about the distribution that is sampled
from, for fixed logits, and not about the policy after training.
"""

from fractions import Fraction
from typing import Any

from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_derivative


def _slope(i: Any) -> tuple[vf.Term, ...]:
    """dH/dT = Var(z)/T^3."""
    variance = ar.covariance(ar.softmax(i.logits, i.temperature), i.logits, i.logits)
    return (has_derivative(
        lambda t: ar.entropy(i.logits, t), i.temperature, variance / i.temperature**3),)


lemma_4_1 = vf.Claim(
    id="aepo.lemma-4.1",
    source="AEPO, Lemma 4.1",
    reading=vf.Reading(
        "precise", "Higher temperature distributions globally correspond to higher policy entropy",
        "Lemma 4.1"),
    title="A higher temperature means a higher entropy",
    scope="one distribution that is sampled from, logits fixed",
    statement=vf.Statement(
        latex=r"$H(\pi^{T'}) > H(\pi^{T})$ for $T' > T > 0$; the derivative in $T$ is "
              r"$\mathrm{Var}(z)/T^3$.",
        margin=lambda i: (
            ar.entropy(i.logits, i.temperature * i.factor) - ar.entropy(i.logits, i.temperature)),
        relation=">",
        beyond=_slope,
        conditions=(
            vf.Condition(latex="the logits are not all equal",
                         value=lambda i: ar.largest(i.logits) - ar.smallest(i.logits)),
        ),
    ),
    instances=vf.bandit_instances(
        vf.Scalar(name="temperature", low=0.05, high=20.0, grid=(1, Fraction(1, 2), 2),
                  range=vf.POSITIVE),
        vf.Scalar(name="factor", low=1.05, high=20.0, grid=(2, Fraction(5, 4)),
                  range=vf.Range(low=1, open_low=True)),
        correct=False,
    ),
    symbolic=True,
)
