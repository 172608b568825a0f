r"""Extension of AEPO, section 3.1: the noise of a sampled group whose rewards are coins.

The rewards are 1 with probability q, whatever the responses, and the advantages :math:`A_i` are
standardized in each group of G. They sum to zero, and are all zero where the rewards are equal.
Otherwise their squares sum to G, or to :math:`G - 1` with the sample deviation. Given the rewards the
responses are independent, so the step :math:`g = (1/G) \sum_i A_i (\delta_{a_i} - \pi)` has the mean
zero and the covariance

.. math::

    \mathbb E[g g'] = (G - \text{ddof})/G^2 (1 - q^G - (1 - q)^G) S,\quad S = \operatorname{diag}(\pi)
    - \pi \pi'.

This is the shape of SGD's noise (``noise_shapes``). So the second order of entropy is that of one
sample times a number, which falls like 1/G while groups of equal rewards are rare. Where they are
common it does not: it is close to :math:`1 - q` while :math:`G (1 - q)` is small.
"""

import dataclasses
import itertools
from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.group_normalization_gain import whole
from entropy_theory.claims.extensions.sampled_groups import DIRECTION
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.functions import operation
from entropy_theory.verification.formula.limits import at_every_step, equal, implies, number_of

CHANCE = vf.Scalar(name="chance", low=0.02, high=0.98, grid=(Fraction(1, 2), Fraction(9, 10)),
                   range=vf.Range(low=0, open_low=True, high=1, open_high=True))
GROUPS = tuple((size, ddof) for size in (2, 3) for ddof in (0, 1))


@operation(lambda logits, direction, chance, group_size, ddof: logits.axes[:-1])
def square_along_with_coins(
    logits: ar.Reals, direction: ar.Reals, chance: ar.Reals, group_size: Any, ddof: Any
) -> ar.Reals:
    """E<g, u>^2 over all 2^G rewards and n^G groups of responses."""
    n, size, removed = logits.shape[-1], whole(group_size), whole(ddof)
    policy, found = ar.softmax(logits), 0 * chance
    groups = np.array(list(itertools.product(range(n), repeat=size)))
    likelihood = np.prod(policy[..., groups], axis=-1)
    along = ar.centered(policy, direction)[..., groups]
    for rewards in itertools.product((0, 1), repeat=size):
        right = sum(rewards)
        if right in (0, size):
            continue
        one = 0 * chance + ar.constant(1, like=chance)
        deviation = np.sqrt(one * right * (size - right) / (size * (size - removed)))
        estimate = np.sum(along * (np.array(rewards) * size - right), axis=-1) / size / size
        square = np.sum(likelihood * estimate * estimate, axis=-1) / (deviation * deviation)
        found = found + chance**right * (1 - chance) ** (size - right) * square
    return found


def _rows(i: vf.Cases, always_mixed: bool = False) -> ar.Reals:
    """Mean squares along u minus those of SGD's noise, to scale."""
    rows = []
    for size, ddof in GROUPS:
        mixed = 1 - i.chance**size - (1 - i.chance) ** size
        scale = (size - ddof) * (1 + 0 * mixed if always_mixed else mixed) / size**2
        rows.append(square_along_with_coins(i.logits, i.direction, i.chance, size, ddof)
                    - scale * ar.covariance(ar.softmax(i.logits), i.direction, i.direction))
    return np.stack(rows, axis=-1)


def _for_every_size(i: Any) -> tuple[vf.Term, ...]:
    """Say the same for groups of any size."""
    def same(size: vf.Term, ddof: int) -> vf.Term:
        number = number_of(size)
        mixed = 1 - np.exp(number * np.log(i.chance)) - np.exp(number * np.log(1 - i.chance))
        return implies(number >= 2, equal(
            square_along_with_coins(i.logits, i.direction, i.chance, size, ddof),
            (number - ddof) * mixed / (number * number)
            * ar.covariance(ar.softmax(i.logits), i.direction, i.direction)))

    return (at_every_step(lambda size: same(size, 0)), at_every_step(lambda size: same(size, 1)))


_statement = vf.Statement(
    latex=r"Let $G \ge 2$ rewards be 1 with probability $q$, $0 < q < 1$, and else 0, independent of "
          r"each other and of the responses. Let the advantages $A_i$ be standardized in the group, and "
          r"0 where its rewards are equal. Along every direction $u$ of the logits $g = \frac1G\sum_i "
          r"A_i(\delta_{a_i} - \pi)$ has $\mathbb E\langle g, u\rangle^2 = \frac1G(1 - q^G - (1-q)^G)\,"
          r"\mathrm{Var}_\pi(u)$, times $\frac{G-1}G$ with the sample deviation.",
    margin=_rows,
    relation="==",
    beyond=_for_every_size,
)

coin_groups = vf.Claim(
    id="extension.coin-groups",
    source="Extension of AEPO, section 3.1 (a group's advantages)",
    title="A group's standardized advantages under a coin give noise of the shape of SGD's, smaller by "
          "the group's size and by the chance of equal rewards",
    scope="one tabular state, groups of G >= 2 independent samples, rewards that are coins and do not "
          "depend on the samples, exact expectation",
    statement=_statement,
    # All n^G groups are listed: 64 actions would take half a minute.
    instances=dataclasses.replace(
        vf.bandit_instances(CHANCE, actions=(2, 3), correct=False, vectors=(DIRECTION,)), large=()),
    mutants=(
        vf.mutant("groups of equal rewards are as noisy", margin=lambda i: _rows(i, always_mixed=True)),
    ),
)
