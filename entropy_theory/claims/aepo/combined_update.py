r"""AEPO, Eq. 1: GRPO and tempered REINFORCE together. When does the sum raise entropy?

The expected GRPO step is :math:`\kappa \nabla p` (`extension.group-normalization-gain`), so its entropy
rate is :math:`\kappa F(1)`. To first order the update of Eq. 1 with weight :math:`\alpha` has the rate

.. math::

    \kappa F(1) + \alpha F(T).

F is the rate of Theorem 4.3. The paper writes of this theorem: "If the policy entropy begins to
collapse ..., we can counteract this downward trend by performing updates using REINFORCE policy
gradient of high-temperature samples". It is read as a statement that some weight :math:`\alpha` turns
the fall into a rise. But :math:`F(T) > F(1)` is not enough. :math:`F(T)` may be negative at every T,
and then no :math:`\alpha \ge 0` raises entropy.

The repair is exact. Where :math:`F(1) < 0`, :math:`\kappa > 0` and :math:`\alpha \ge 0`, the rate is
positive exactly if :math:`F(T) > 0` (so :math:`T > T_0`) and :math:`\alpha > \kappa |F(1)|/F(T)`. The
exact change of entropy is then positive for every learning rate below :math:`4 (\kappa F(1) + \alpha
F(T))/((1 + \log n) \|\text{step}\|^2)`. As :math:`\kappa \le \sqrt{G - 1}` for groups of G,
:math:`\alpha > \sqrt{G - 1} |F(1)|/F(T)` is enough for prompts of any difficulty.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import (
    ENTROPY_FALLS,
    rate,
    remainder_bound,
    unit_step,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_derivative, implies

GRPO_WEIGHT = vf.Scalar(name="grpo_weight", low=0.01, high=10.0, grid=(1, 3), range=vf.POSITIVE)
ALPHA = vf.Scalar(name="alpha", low=0.01, high=50.0, grid=(1, 40), range=vf.POSITIVE)
LEARNING_RATE = vf.Scalar(name="learning_rate", low=2.0**-10, high=4.0, grid=(1, Fraction(1, 64)),
                          range=vf.POSITIVE)


@vf.definition
def combined_step(
    logits: ar.Reals, correct: ar.Mask, temperature: ar.Reals, grpo_weight: ar.Reals, alpha: ar.Reals
) -> ar.Reals:
    """kappa grad p + alpha (1_{A*} pi^T - P_T pi), per unit learning rate."""
    return (ar.per_action(grpo_weight) * unit_step(logits, correct)
            + ar.per_action(alpha) * unit_step(logits, correct, temperature))


@vf.definition
def first_order(
    logits: ar.Reals, correct: ar.Mask, temperature: ar.Reals, grpo_weight: ar.Reals, alpha: ar.Reals
) -> ar.Reals:
    """-Cov(z, step), the change of entropy to first order, per unit learning rate."""
    step = combined_step(logits, correct, temperature, grpo_weight, alpha)
    return -ar.covariance(ar.softmax(logits), logits, step)


@vf.definition
def balance(
    logits: ar.Reals, correct: ar.Mask, temperature: ar.Reals, grpo_weight: ar.Reals, alpha: ar.Reals
) -> ar.Reals:
    """Return alpha F(T) - kappa |F(1)|."""
    return alpha * rate(logits, correct, temperature) + grpo_weight * rate(logits, correct)


def _of(i: vf.Cases) -> tuple[ar.Reals, ar.Reals, ar.Reals, ar.Reals, ar.Reals]:
    return i.logits, i.correct, i.temperature, i.grpo_weight, i.alpha


def _parts(i: vf.Cases) -> tuple[ar.Reals, ar.Reals, ar.Reals]:
    """-Cov(z, step), F(T), and alpha F(T) - kappa |F(1)|."""
    return first_order(*_of(i)), rate(i.logits, i.correct, i.temperature), balance(*_of(i))


def _exactly_when(i: vf.Cases) -> ar.Reals:
    """Both directions of "rate > 0 iff F(T) > 0 and alpha > kappa |F(1)|/F(T)"."""
    whole, tempered, excess = _parts(i)
    enough = ar.minimum(tempered, excess)
    return np.stack([ar.maximum(-whole, enough), ar.maximum(-enough, whole)], axis=-1)


def _small_steps(i: vf.Cases) -> ar.Reals:
    """`_exactly_when`, and a rise of entropy where ``eta rate > (1/4)(1 + log n)||eta s||^2``."""
    step = ar.per_action(i.learning_rate) * combined_step(*_of(i))
    small = i.learning_rate * balance(*_of(i)) - remainder_bound(step)
    rises = ar.maximum(-small, ar.entropy_change(i.logits, step))
    whole, tempered, excess = _parts(i)
    enough = ar.minimum(tempered, excess)
    return np.stack([ar.maximum(-whole, enough), ar.maximum(-enough, whole), rises], axis=-1)


def _strictly(i: Any) -> tuple[vf.Term, ...]:
    """With strict signs: F(T) > 0 and alpha > kappa |F(1)|/F(T) are necessary and sufficient."""
    whole, tempered, _ = _parts(i)
    least = i.grpo_weight * np.abs(rate(i.logits, i.correct)) / tempered
    return (implies(whole > 0, (tempered > 0) & (i.alpha > least)),
            implies((tempered > 0) & (i.alpha > least), whole > 0))


def _entropy_rises(i: Any) -> tuple[vf.Term, ...]:
    """The first order is a derivative; below the threshold of the learning rate entropy rises."""
    whole = first_order(*_of(i))
    step = combined_step(*_of(i))
    threshold = (1 + ar.log_of(step.shape[-1], like=step)) * ar.total(step * step)
    return (*_strictly(i),
            has_derivative(lambda t: ar.entropy(i.logits + ar.per_action(t) * step), 0, whole),
            implies(i.learning_rate * threshold < 4 * whole,
                    ar.entropy_change(i.logits, ar.per_action(i.learning_rate) * step) > 0))


_exact = vf.Statement(
    latex=r"Where $F(1) < 0$, for $T > 1$: $\kappa F(1) + \alpha F(T) > 0$ iff $F(T) > 0$ and "
          r"$\alpha > \kappa|F(1)|/F(T)$.",
    margin=_exactly_when,
    conditions=(ENTROPY_FALLS,),
    beyond=_strictly,
)

_INSTANCES = vf.bandit_instances(
    vf.Scalar(name="temperature", low=1.01, high=20.0, grid=(3,), range=vf.Range(low=1, open_low=True)),
    GRPO_WEIGHT, ALPHA, LEARNING_RATE,
    actions=(2, 6),
)


combined_update = vf.Claim(
    id="extension.combined-update",
    source="Extension of AEPO, Eq. 1 and Theorem 4.3",
    title="Where GRPO lowers entropy, GRPO plus tempered REINFORCE raises it to first order iff F(T) > 0 "
          "and alpha exceeds a threshold",
    scope="one tabular state, exact expectation, one step",
    statement=vf.Statement(
        latex=_exact.latex + r" Entropy then rises, exactly, in a step $\eta s$ with "
              r"$\eta < 4(\kappa F(1) + \alpha F(T))/((1 + \log n)\lVert s\rVert^2)$.",
        margin=_small_steps,
        conditions=(ENTROPY_FALLS,),
        beyond=_entropy_rises,
    ),
    instances=_INSTANCES,
    mutants=(
        vf.mutant("any alpha > 0, as Theorem 4.3 alone would have it", margin=lambda i: _parts(i)[0]),
        vf.mutant("F(T) > 0 is enough", margin=lambda i: ar.maximum(-_parts(i)[1], _parts(i)[0])),
    ),
)

combined_update_printed = vf.Claim(
    id="aepo.combined-update",
    source="AEPO, Eq. 1 with Theorem 4.3 and Corollary 4.4",
    reading=vf.Reading(
        "inferred",
        "we can counteract this downward trend by performing updates using REINFORCE policy gradient "
        "of high-temperature samples",
        "Section 4.1, after Theorem 4.3: 'counteract', where the statement has a rise"),
    title="Theorem 4.3 is enough for GRPO plus tempered REINFORCE to raise entropy",
    scope="one tabular state, exact expectation, first order in the learning rate",
    statement=vf.Statement(
        latex=r"Where GRPO lowers entropy, tempered REINFORCE at $T > 1$ with a large enough weight "
              r"raises it: $F(1) < 0$ implies $\sup_{\alpha > 0}\,(\kappa F(1) + \alpha F(T)) > 0$, "
              r"that is $F(T) > 0$.",
        margin=lambda i: rate(i.logits, i.correct, i.temperature),
        relation=">",
        conditions=(ENTROPY_FALLS,),
    ),
    instances=_INSTANCES,
    witnesses=(
        {"weights": [1, 2], "correct": [False, True], "temperature": 2, "grpo_weight": 1, "alpha": 1,
         "learning_rate": 1},
        # Some T does raise entropy here (T = 3), but T = 2 does not, whatever alpha.
        {"weights": [1, 1, 3], "correct": [True, False, True], "temperature": 2, "grpo_weight": 1,
         "alpha": 10, "learning_rate": 1},
    ),
    repair=_exact,
    repair_note=r"$F(T) > 0$ and $\alpha > \kappa\,|F(1)|/F(T)$",
)
