"""Entropy Mechanism, Table 1: mean covariance of the tokens ranked highest, Qwen2.5-7B, step 1.

::

    top 0.02 %  5.654     top 0.2 %  3.112     top 2 %  1.385
    top 20 %    0.351     top 50 %   0.152     all      0.003

"There are outliers with high covariance (500x mean value)" claims that some exist, and it is true.
With the mean rounded to 0.003, the ratio is 396-554 for the top 2 %, 889-1245 for the top 0.2 % and
1615-2262 for the top 0.02 %. So the top 2 % have 500 times the mean within rounding, and the
smaller groups more.

Twice the mean of all is the sum of the halves' means. So the lower half has mean -0.146 (-0.1475 to
-0.1445), in size 95 to 97 % of the upper half's. The mean is the small difference of two large
halves. The table does not show whether the distribution is symmetric.

Outliers matter nevertheless. The top 0.2 % (KL-Cov's share) carry more than the whole mean, so that
without them it is negative. Without the top 0.02 % (Clip-Cov's share) it is still positive.
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.printed_numbers import half_unit, unrounded_instances
from entropy_theory.verification import arithmetic as ar

SOURCE = "Entropy Mechanism, Table 1"
TABLE = {"1/5000": "5.654", "1/500": "3.112", "1/50": "1.385", "1/5": "0.351", "1/2": "0.152"}
MEAN = "0.003"
OUTLIERS = tuple(
    {"share": Fraction(share), "group_mean": Fraction(TABLE[share]), "mean": Fraction(MEAN)}
    for share in ("1/5000", "1/500", "1/50")
)


def _number(value: Fraction, like: ar.Reals) -> ar.Real:
    return ar.constant(value.numerator, like=like) / value.denominator


# ---------------------------------------------------------------- outliers


def _at_least(i: vf.Cases, rounded: bool = True) -> ar.Reals:
    """Above or at zero where numbers that round to the printed ones have a ratio of at least 500."""
    half = _number(half_unit(MEAN), i.mean) if rounded else 0 * i.mean
    return i.group_mean + half - 500 * (i.mean - half)


table_1_outliers = vf.Claim(
    id="entropy-mechanism.table-1-outliers",
    source=f"{SOURCE} ('outliers with high covariance (500x mean value)')",
    reading=vf.Reading(
        "precise", "There are *outliers* with high covariance (500x mean value)",
        "slide 'Lessons learned from entropy dynamics analysis'"),
    title="There are outliers with 500 times the mean covariance",
    scope="printed table",
    statement=vf.Statement(
        latex=r"There are outliers with 500 times the mean covariance: each of the top 2 %, 0.2 % and "
              r"0.02 % has at least that, within rounding.",
        margin=_at_least,
    ),
    instances=vf.listed_instances(OUTLIERS, "the three smallest groups of the table"),
    mutants=(
        vf.mutant("the printed 0.003 taken as exact", margin=lambda i: _at_least(i, rounded=False)),
    ),
)

# ---------------------------------------------------------------- the two halves


def _lower_half(i: vf.Cases) -> ar.Reals:
    """The halves' means add up to twice the mean of all."""
    return 2 * i.mean - i.upper_half


def _nearly_cancel(i: vf.Cases) -> ar.Reals:
    """-lower >= 0.95 upper, -lower <= 0.97 upper, |lower + 0.146| <= 0.002."""
    lower = _lower_half(i)
    return np.stack([
        -lower - _number(Fraction(95, 100), i.mean) * i.upper_half,
        _number(Fraction(97, 100), i.mean) * i.upper_half + lower,
        _number(Fraction(1, 500), i.mean) - np.abs(lower + _number(Fraction(146, 1000), i.mean)),
    ], axis=-1)


table_1_symmetry = vf.Claim(
    id="entropy-mechanism.table-1-symmetry",
    source=f"{SOURCE} (implied by its last two rows)",
    reading=vf.Reading("inferred", "Top 50% 0.152 All 0.003", "Table 1, of which it is a consequence"),
    title="The mean covariances of the two halves nearly cancel",
    scope="printed table",
    statement=vf.Statement(
        latex=r"The lower half of the tokens has mean covariance $-0.146$, within 0.002, and 95 to 97 % "
              r"of the upper half's in size.",
        margin=_nearly_cancel,
    ),
    instances=unrounded_instances(upper_half=TABLE["1/2"], mean=MEAN),
    mutants=(
        vf.mutant("lower half = mean - upper half",
                  margin=lambda i: _number(Fraction(1, 500), i.mean) - np.abs(
                      i.mean - i.upper_half + _number(Fraction(146, 1000), i.mean))),
    ),
)

# ---------------------------------------------------------------- what the outliers carry


table_1_top_share = vf.Claim(
    id="entropy-mechanism.table-1-top-share",
    source=f"{SOURCE} ('only need to interfere a small portion of tokens')",
    reading=vf.Reading(
        "inferred", "We only need to interfere a small portion of tokens for stability",
        "slide 'Guidelines for entropy control', which gives no share of the covariance"),
    title="The top 0.2 % of the tokens carry more than the whole mean covariance",
    scope="printed table",
    statement=vf.Statement(
        latex=r"Without the top 0.2 % of the tokens the mean covariance is negative; without the top "
              r"0.02 % it is positive.",
        # (minus the mean without the top 0.2 %, the mean without the top 0.02 %), times their shares.
        margin=lambda i: np.stack([i.top_500th / 500 - i.mean, i.mean - i.top_5000th / 5000], axis=-1),
        relation=">",
    ),
    instances=unrounded_instances(mean=MEAN, top_500th=TABLE["1/500"], top_5000th=TABLE["1/5000"]),
)
