r"""AEPO, Assumption 4.2: "assume that T > 1". The hypothesis is not used.

Theorem 4.3's expansion holds, with the same remainder bound, for the temperatures that the assumption
excludes: for every z in :math:`R^n`, :math:`A^*`, :math:`\eta > 0` and :math:`0 < T \le 1`,

.. math::

    |H(z + d) - H(z) - \eta F(T)| \le \tfrac14(1 + \log n) \|d\|^2,\quad d = \eta (1_{A^*} \pi^T -
    \pi^T(A^*) \pi).

No step of the proof has :math:`T > 1` among its premises. The theorem's second part is about the
derivative at :math:`T = 1`, which the assumption itself excludes.
"""

from fractions import Fraction

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import LEARNING_RATE
from entropy_theory.claims.aepo.theorem_4_3 import error_of_first_order

assumption_4_2 = vf.Claim(
    id="aepo.assumption-4.2",
    source="AEPO, Assumption 4.2",
    reading=vf.Reading(
        "inferred", "Assume that $T > 1$", "Assumption 4.2, which does not say where it is used"),
    title="The first part of Theorem 4.3 does not use T > 1",
    scope="one tabular state, exact expectation, one step, with its remainder",
    statement=vf.Statement(
        latex=r"The first part of Theorem 4.3 does not need $T > 1$: for $0 < T \le 1$ too, "
              r"$|H(\theta_{k+1}) - H(\theta_k) - \eta F(T)| \le \frac14(1+\log n)\lVert\Delta "
              r"z\rVert^2$.",
        margin=error_of_first_order,
    ),
    instances=vf.bandit_instances(
        vf.Scalar(name="temperature", low=0.02, high=1.0, grid=(1, Fraction(1, 2)),
                  range=vf.Range(low=0, open_low=True, high=1)),
        LEARNING_RATE,
    ),
)
