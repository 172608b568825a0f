r"""AEnt, Section 3: policy optimization without regularization is "generally guaranteed to converge
to an epsilon-stationary point".

It is made exact for responses of one token, returns in [0, 1] and the exact policy gradient g of
:math:`V = \mathbb E_\pi R`. Every step of size :math:`\eta \le 2/5` gains

.. math::

    V(z + \eta g) - V(z) \ge (\eta/2) |g|^2.

As V is at most 1, the gains add up to at most 1. So among any K steps one has
:math:`|g|^2 \le 2/(\eta K)`. After :math:`K = 2/(\eta \epsilon^2)` steps this is an epsilon-stationary
point. The step size does not depend on the number of tokens. This is the descent lemma with the bound
5/2 on the second derivative of V along a unit direction (Mei et al. 2020, Lemma 2). Sampled gradients
need more ("generally"), and this is not judged.
"""

from fractions import Fraction

from entropy_theory import verification as vf
from entropy_theory.claims.aent.c_stays_away import gradient_step
from entropy_theory.verification import arithmetic as ar

CALM_RATE = vf.Scalar(
    name="learning_rate", low=0.01, high=0.4, grid=(Fraction(2, 5), Fraction(1, 10)),
    range=vf.Range(low=0, open_low=True, high=Fraction(2, 5)),
)


def _gain(i: vf.Cases) -> ar.Reals:
    """V(z + eta g) - V(z), with the reward's mean taken out first."""
    step = gradient_step(i.logits, i.reward, i.learning_rate)
    return ar.mean(ar.softmax(i.logits + step), ar.centered(ar.softmax(i.logits), i.reward))


def _room(i: vf.Cases, factor: int = 1) -> ar.Reals:
    """2 eta (gain) minus factor times |eta g|^2."""
    step = gradient_step(i.logits, i.reward, i.learning_rate)
    return 2 * i.learning_rate * _gain(i) - factor * ar.total(step * step)


eps_stationarity = vf.Claim(
    id="aent.eps-stationarity",
    source="AEnt, Section 3 ('guaranteed to converge to an epsilon-stationary point')",
    reading=vf.Reading(
        "inferred", "are generally guaranteed to converge to an -stationary point of the RL objective",
        "Section 3, of the limit; the gain of one step and its numbers are ours"),
    title="A step of the exact policy gradient gains half of eta times its squared norm (one tabular "
          "state)",
    scope="one tabular state, returns in [0, 1], exact policy gradient, one step",
    statement=vf.Statement(
        latex=r"For $\eta \le \frac25$: $V(z + \eta g) - V(z) \ge \frac\eta2\lVert g\rVert_2^2$, $g = "
              r"\nabla V$.",
        margin=_room,
    ),
    instances=vf.bandit_instances(CALM_RATE, correct=False, vectors=(vf.GRADED_REWARD,), actions=(2, 6)),
    mutants=(
        vf.mutant("it gains three times as much", margin=lambda i: _room(i, factor=3)),
    ),
)
