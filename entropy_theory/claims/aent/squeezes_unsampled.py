r"""AEnt, Section 4.1: policy gradient squeezes what it does not sample.

"Policy optimization ... tends to reinforce the high-probability locally optimal tokens, while
squeezing down the low-probability optimal ones that are less likely to be sampled."

The paper speaks of a sample of high probability, and for the likeliest token it is right. We judge the
rule without this restriction. It is read at one state, with one sampled token k of positive weight w.
The step is :math:`dz = c (e_k - \pi)` with :math:`c = \eta w > 0` of any size. The statement is that it
lowers the probability of every other token, an unsampled optimal token among them.

This is false. The step pushes each logit down by :math:`c \pi_b`, the likely tokens most. So a rare
token can gain when another rare token is reinforced. With :math:`g = \sum_b \pi_b^2`, the exact
first-order rate is

.. math::

    d \log \pi_a / dc = g - \pi_k - \pi_a\quad \text{ for } a \text{ other than } k.

If :math:`\pi_k + \pi_a \ge g`, token a falls at every finite c. Reinforcing the likeliest token always
squeezes all others, since :math:`\max \pi \ge g`.

A whole group with a baseline acts otherwise (`extension.group-baseline`).
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.lemma_2 import units
from entropy_theory.verification import arithmetic as ar

SIZE = vf.Scalar(name="size", low=2.0**-6, high=32.0, grid=(1, Fraction(1, 4), 8), range=vf.POSITIVE)


@vf.definition
def sampled_growth(logits: ar.Reals, size: ar.Reals) -> ar.Reals:
    """log pi'_a - log pi_a after the step c (e_k - pi), for each sampled token k."""
    step = ar.per_action(ar.per_action(size)) * (units(logits) - ar.softmax(logits)[..., None, :])
    return ar.log_growth(logits[..., None, :], step)


def log_growth(i: vf.Cases, sign: int = 1) -> ar.Reals:
    """log pi'_a - log pi_a [..., k, a] after the step for each sampled token k."""
    return sampled_growth(i.logits, sign * i.size)


def _others(i: vf.Cases, values: ar.Reals) -> ar.Reals:
    """The entries [..., k, a] with a not k; 1 at a = k."""
    return np.where(ar.same_action(i.logits), 1 + 0 * values, values)


@vf.definition
def growth_rate(logits: ar.Reals) -> ar.Reals:
    """d log pi_a/dc for each sampled k: sum pi^2 - pi_k - pi_a."""
    policy = ar.softmax(logits)
    collision = ar.total(policy * policy)[..., None, None]
    return collision - policy[..., :, None] - policy[..., None, :]


def _rate(i: vf.Cases) -> ar.Reals:
    return growth_rate(i.logits)


def _without_sampled(i: vf.Cases, values: ar.Reals) -> ar.Reals:
    """The entries [..., k, a] where k is the likeliest token and a another one; 1 elsewhere."""
    top = ar.is_likeliest(i.logits)[..., :, None] & ~ar.same_action(i.logits)
    return np.where(top, values, 1 + 0 * values)


_printed = vf.Statement(
    latex=r"A step $\Delta z = c\,(e_k - \pi)$, $c > 0$, on a sampled token $k$ lowers the probability "
          "of every other token.",
    margin=lambda i: _others(i, -log_growth(i)),
)
squeezes_unsampled = vf.Claim(
    id="aent.squeezes-unsampled",
    source="AEnt, Section 4.1",
    reading=vf.Reading(
        "inferred",
        "while squeezing down the low-probability optimal ones that are less likely to be sampled",
        "Section 4.1, of what 'tends' to happen in Figure 1 where likely tokens are reinforced; every "
        "other token, after any sample, is ours"),
    title="A reinforced sample squeezes all unsampled tokens",
    scope="one tabular state, one sampled token of positive weight, one step of any size",
    statement=_printed,
    instances=vf.bandit_instances(SIZE, correct=False, actions=(2, 6)),
    repair=vf.Statement(
        latex=r"$\Delta z = c\,(e_k - \pi)$, $c > 0$, does not raise $\pi_a$, $a \ne k$, for any $c$ if "
              r"$\pi_a + \pi_k > \sum_b\pi_b^2$; a step on the likeliest token raises no other.",
        margin=lambda i: np.concatenate([
            _others(i, ar.maximum(_rate(i), -log_growth(i))),
            _without_sampled(i, -log_growth(i)),
        ], axis=-1),
    ),
    repair_note=r"none gains where $\pi_a + \pi_k > \sum \pi^2$; none ever if the sampled token is the "
                "likeliest",
    mutants=(
        vf.Mutant(name="a negative sample raises every other token", statement=vf.variant(
            _printed, margin=lambda i: _others(i, log_growth(i, sign=-1)))),
    ),
)
