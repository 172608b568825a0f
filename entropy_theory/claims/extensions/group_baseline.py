r"""Extension of AEnt, Section 4.1: with a group baseline unsampled tokens all change alike.

One state, a batch of sampled tokens k_i with weights w_i that sum to zero (advantages minus their mean,
as in GRPO): dz = c sum_i w_i (e_{k_i} - pi), so that an unsampled logit moves by -c pi_a sum w = 0. Every
unsampled token's log-probability then changes by the same -log Z,

    -log Z <= -c sum_i w_i pi(k_i),     Z = E_pi e^{dz},

for steps of any size. If the weights go with the likely tokens (sum_i w_i pi(k_i) >= 0) all of them are
squeezed, by one factor; if the reinforced tokens are the rarer ones, unsampled tokens can gain.
"""

from __future__ import annotations

import numpy as np

from entropy_theory.claims.aent.squeezes_unsampled import SIZE
from entropy_theory.claims.extensions.entropy_ceiling import SOME_WRONG
from entropy_theory.verification import (
    Cases,
    Claim,
    Condition,
    Mutant,
    Statement,
    bandit_instances,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.formula.terms import definition
from entropy_theory.verification.instances import Vector

# The correct set of an instance serves as the set of sampled tokens.
ADVANTAGE = Vector(name="advantage", low=-2.0, high=2.0, grid=(0, 1, -1))
SOME_UNSAMPLED = Condition(latex="some token is not sampled", value=SOME_WRONG.value)


@definition
def weights(advantage: Reals, sampled: Mask, baseline: bool = True) -> Reals:
    """w: advantages of the sampled tokens, minus their mean; zero elsewhere."""
    one = 0 * advantage + ar.constant(1, like=advantage)
    mean = ar.total(advantage, sampled) / ar.total(one, sampled)
    return np.where(sampled, advantage - (mean[..., None] if baseline else 0), 0 * one)


@definition
def group_step(logits: Reals, w: Reals, size: Reals) -> Reals:
    """c sum_i w_i (e_i - pi)."""
    return ar.per_action(size) * (w - ar.softmax(logits) * ar.total(w)[..., None])


def _room(i: Cases, baseline: bool = True, bounded: bool = True) -> Reals:
    """-c sum w pi (or zero) minus the log-growth of each unsampled token."""
    one = 0 * i.logits + ar.constant(1, like=i.logits)
    w = weights(i.advantage * one, i.correct, baseline)
    growth = ar.log_growth(i.logits, group_step(i.logits, w, i.size))
    bound = -i.size * ar.mean(ar.softmax(i.logits), w)
    return np.where(i.correct, one, (bound[..., None] if bounded else 0) - growth)


def _unsampled() -> list[symbolic.Expression]:
    """Two samples, w and -w, K and J their indicators: more samples add terms of the same form."""
    import sympy

    m = symbolic.Moments("P", indicators="K J")
    w, own, c = sympy.symbols("w pi_a c")
    at_unsampled = c * (w * (0 - own) + (-w) * (0 - own))
    mean = m.expect(c * (w * (m["K"] - m["P"]) - w * (m["J"] - m["P"])))
    return [at_unsampled, mean - c * w * (m.expect(m["K"]) - m.expect(m["J"]))]


_statement = Statement(
    latex=r"With weights that sum to zero over the sampled tokens, each unsampled token has "
          r"$\log\pi'_a - \log\pi_a = -\log Z \le -c\sum_i w_i\,\pi(k_i)$.",
    margin=_room,
    conditions=(SOME_UNSAMPLED,),
    proof=(
        symbolic.identity(
            "unsampled logits", "dz_a = -c pi_a sum w = 0, and E_pi[dz] = c sum_i w_i pi(k_i)",
            _unsampled, axioms=("weights that sum to zero are a sum of pairs w, -w",),
        ),
        smt.lemma(
            "normalizer", "Z = E e^{dz} >= e^{E dz}: each p e^y >= p (1 + y), y = dz - E dz",
            "p y exp_y",
            lambda v: [v.p > 0, v.exp_y >= 1 + v.y],
            lambda v: v.p * v.exp_y >= v.p + v.p * v.y,
            uses=("unsampled logits",), axioms=("e^y >= 1 + y", "the mean of y is 0"),
        ),
        smt.lemma(
            "shared factor", "log pi'_a - log pi_a = 0 - log Z <= -E dz; not above 0 if E dz >= 0",
            "step log_z mean change",
            lambda v: [v.step == 0, v.log_z >= v.mean, v.change == v.step - v.log_z],
            lambda v: smt.all_of(v.change <= -v.mean, smt.implies(v.mean >= 0, v.change <= 0)),
            uses=("unsampled logits", "normalizer"), axioms=("log is increasing",),
        ),
    ),
)

group_baseline = Claim(
    id="extension.group-baseline",
    source="Extension of AEnt, Section 4.1",
    title="With a group baseline unsampled tokens share one factor",
    scope="one tabular state, a group of sampled tokens, one step of any size",
    statement=_statement,
    instances=bandit_instances(SIZE, actions=(2, 6), vectors=(ADVANTAGE,)),
    mutants=(
        Mutant(name="without the baseline", statement=variant(
            _statement, margin=lambda i: _room(i, baseline=False))),
        Mutant(name="unsampled tokens never gain", statement=variant(
            _statement, margin=lambda i: _room(i, bounded=False))),
    ),
)
