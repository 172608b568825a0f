r"""Entropy Mechanism, takeaway box: :math:`R = -a \exp(H + b)`, printed where the text has
:math:`R = -a \exp(H) + b`.

With :math:`a > 0` the box's form is negative at every entropy, so it cannot be a performance. Its value
at :math:`H = 0` is :math:`-a e^b`, not the "-a + b" printed two lines below it. In the text's form R is
:math:`b - a` at :math:`H = 0` and smaller everywhere else. No sign of a saves the box. With
:math:`a < 0` its form is positive but rises with entropy. The two forms agree for all H only if
:math:`b = 0`.
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar


def as_in_the_text(i: vf.Cases) -> ar.Reals:
    """-a e^H + b."""
    return i.b - i.a * np.exp(ar.entropy(i.logits))


_statement = vf.Statement(
    latex=r"$R = -a\exp(\mathcal H + b)$ with $a, b > 0$ is a performance: $R \ge 0$.",
    # -a e^{H + b}.
    margin=lambda i: -i.a * np.exp(ar.entropy(i.logits) + i.b),
)

printed_forms = vf.Claim(
    id="entropy-mechanism.printed-forms",
    source="Entropy Mechanism, takeaway box of the R-H law",
    reading=vf.Reading("precise", r"$R = -a \exp(\mathcal{H} + b)$", "first takeaway"),
    title="The box's R = -a exp(H + b), with b inside, is a performance",
    scope="two printed formulas",
    statement=_statement,
    repair=vf.Statement(
        latex=r"$R = -a\exp(\mathcal H) + b$ with $a > 0$ is at most its value $b - a$ at $\mathcal H = "
              r"0$.",
        margin=lambda i: (i.b - i.a) - as_in_the_text(i),
    ),
    repair_is="correction",
    repair_note="with b outside the exponential, as everywhere else in the source, R is at most b - a",
    instances=vf.bandit_instances(
        vf.Scalar(name="a", low=0.01, high=2.0, grid=(1, Fraction(1, 4)), range=vf.POSITIVE),
        vf.Scalar(name="b", low=0.01, high=2.0, grid=(1, Fraction(1, 2)), range=vf.POSITIVE),
        actions=(2, 5), correct=False,
    ),
    mutants=(
        vf.Mutant(name="the box's value at H = 0 is b - a",
                  statement=vf.variant(_statement, relation="==",
                                       margin=lambda i: -i.a * np.exp(i.b) - (i.b - i.a))),
    ),
)
