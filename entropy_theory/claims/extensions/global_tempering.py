r"""Extension of AEPO, Theorem 4.3: the entropy rate :math:`F(T)` changes sign at most once, from - to +.

F, c and C are those of `aepo.theorem-4.3a`. For every z in :math:`R^n`, correct set :math:`A^*` and
:math:`0 < T < T'`, :math:`F(T) > 0` implies :math:`F(T') > 0`. So there is a T0 in [0, inf] with
:math:`F < 0` below it and :math:`F > 0` above it, unless F vanishes for every T. It is exact, global
and strict.

For the proof, z+ is the threshold of Theorem 4.3b and :math:`b = 1/T`. Then :math:`F = -k(b) g(b)` with
:math:`k > 0` and :math:`g(b) = \sum_{A^*} e^{b (z_a - z_+)} (c_a - C)`. This g does not decrease in b,
because :math:`(z_a - z_+)(c_a - C) \ge 0`.
"""

from fractions import Fraction

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import TEMPERATURE, rate
from entropy_theory.verification import arithmetic as ar


def _rate(i: vf.Cases) -> ar.Reals:
    return rate(i.logits, i.correct, i.temperature)


def _rate_when_hotter(i: vf.Cases) -> ar.Reals:
    return rate(i.logits, i.correct, i.temperature * i.factor)


global_tempering = vf.Claim(
    id="extension.global-tempering",
    source="Extension of AEPO, Theorem 4.3",
    title="Once the entropy rate is above zero it stays there as temperature rises",
    scope="one tabular state, exact expectation, first order in the learning rate",
    statement=vf.Statement(
        latex=r"$F(T) > 0$ implies $F(T') > 0$ for every $T' > T > 0$.",
        margin=_rate_when_hotter,
        relation=">",
        conditions=(vf.Condition(latex="$F(T) > 0$", value=_rate),),
    ),
    instances=vf.bandit_instances(
        TEMPERATURE, vf.Scalar(name="factor", low=1.05, high=20.0, grid=(2, Fraction(5, 4)),
                               range=vf.Range(low=1, open_low=True))
    ),
    mutants=(
        vf.mutant("the rate itself never falls with temperature", relation=">=",
                  margin=lambda i: _rate_when_hotter(i) - _rate(i)),
    ),
)
