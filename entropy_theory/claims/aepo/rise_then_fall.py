"""AEPO, Section 5.2 and Table 3: performance first rises and then falls with the entropy target.

For the average over seven benchmarks of Qwen2.5-math-7B it holds in the printed numbers. They are
53.00, 53.87, 53.45 and 53.13 at the targets 0.25, 0.5, 0.75 and 1. Single benchmarks differ, as the
paper notes. AIME24 only falls, and AIME25 only rises. Each number is one training run, and the
largest difference of two averages is 0.87. The paper does not print how far two runs of one setting
differ.
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.all_entropy_levels import LEVELS
from entropy_theory.claims.printed_numbers import half_unit
from entropy_theory.verification import arithmetic as ar

_SCORES = [scores.split() for scores in LEVELS]
_TREND = ({
    **{name: [Fraction(s) for s in scores]
       for name, scores in zip(("first", "second", "third", "fourth"), _SCORES, strict=True)},
    "rounding": 2 * max(half_unit(s) for scores in _SCORES for s in scores),
},)


def _trend(i: vf.Cases) -> ar.Reals:
    """Second mean minus the first, second minus third, third minus fourth, less what rounding adds."""

    def lead(higher: ar.Reals, lower: ar.Reals) -> ar.Reals:
        return ar.total(higher - lower) / higher.shape[-1] - i.rounding

    return np.stack([lead(i.second, i.first), lead(i.second, i.third), lead(i.third, i.fourth)], axis=-1)


rise_then_fall = vf.Claim(
    id="aepo.rise-then-fall",
    source="AEPO, Section 5.2 and Table 3 ('a rise-then-fall trend')",
    reading=vf.Reading("precise", "the results display a rise-then-fall trend", "Section 5.2"),
    title="Over the four entropy targets the average rises and then falls",
    scope="printed table",
    statement=vf.Statement(
        latex=r"The mean over the benchmarks rises from the target 0.25 to 0.5 and falls to 0.75 and to "
              r"1, whatever the digits left out.",
        margin=_trend,
        relation=">",
    ),
    instances=vf.listed_instances(_TREND, "the table"),
    mutants=(
        vf.mutant("AIME24 alone rises and then falls", margin=lambda i: (i.second - i.first)[..., 0]),
    ),
)
