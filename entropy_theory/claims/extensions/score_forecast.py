r"""Extension: a forecast of the entropy change by any update rule, token by token.

At one state a rule gives token i (action :math:`a_i`, weight w_i) the score :math:`s_i`. Its state
terms have the coefficients :math:`\lambda` (entropy), :math:`\kappa` (clamped entropy of a kept set K)
and :math:`\beta` (KL to a reference rho). With :math:`l = \log(\pi/\rho)` the step

.. math::

    d = \eta \{ \sum_i w_i s_i (e_{a_i} - \pi) - \lambda S - \kappa \tilde S + \beta \pi (l - \mathbb E
    l) \}

changes entropy, with :math:`S = \pi (\log \pi + H)` and its mean :math:`\bar S = \mathbb E_\pi[S]`, by

.. math::

    \eta \{ -\sum_i w_i s_i (S_{a_i} - \bar S) + \lambda \sum S^2 + \kappa \sum_K S \tilde S - \beta
    \sum S \pi (l - \mathbb E l) \}

up to :math:`\tfrac14(1 + \log n) \|d\|^2`. So the forecast is a sum over tokens. A penalty on the KL
has :math:`\beta < 0`. The step is :math:`\eta` times the gradient of

.. math::

    \sum_i w_i s_i \log \pi(a_i) + \lambda H + \kappa \tilde H + \beta \operatorname{KL}(\pi \| \rho).
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import (
    LEARNING_RATE,
    excess,
    own_covariance,
    remainder_bound,
)
from entropy_theory.claims.extensions.clamped_bonus import clamped_tilt
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_gradient

COEFFICIENTS = tuple(
    vf.Scalar(name=name, low=0.01, high=4.0, grid=(1,),
              range=vf.ANY) for name in ("entropy", "clamped", "reference_kl")
)
"""The coefficients have any sign, and are zero where a rule has no such term; drawn above zero."""
SCORES = vf.Vector(name="score", low=-3.0, high=3.0, grid=(0, 1), range=vf.ANY)
"""sum of w_i s_i over the tokens of each action."""
REFERENCE = vf.Vector(name="reference", low=-3.0, high=3.0, grid=(0, 0), range=vf.ANY)
"""Logits of the reference policy."""
PENALTY = {"weights": [1, 2, 3], "correct": [False, True, True], "score": [1, 0, -1],
           "reference": [0, 1, 0], "learning_rate": 1, "entropy": 0, "clamped": 0, "reference_kl": -1}
"""Scores and a penalty on the KL, without a bonus."""
SCORES_ALONE = PENALTY | {"reference_kl": 0}
"""Scores of a rule without any of the three terms."""


def token_forecast(logits: ar.Reals, action_scores: ar.Reals) -> ar.Reals:
    """-sum_a G_a (S_a - Sbar), per unit learning rate, for the summed scores G of each action."""
    return -ar.total(action_scores * excess(logits))


def _kl_direction(logits: ar.Reals, reference: ar.Reals) -> ar.Reals:
    """Gradient of KL(pi || rho), which is ``pi (l - E l)``."""
    p = ar.softmax(logits)
    return p * ar.centered(p, logits - reference)


def forecast(i: vf.Cases, centered: bool = True, share: int = 1, kl_sign: int = -1) -> ar.Reals:
    """The announced entropy change per unit learning rate."""
    tilt = own_covariance(i.logits)
    tokens = token_forecast(i.logits, i.score) if centered else -ar.total(i.score * tilt)
    bonus = i.entropy * ar.total(tilt * tilt) / share
    clamped = i.clamped * ar.total(tilt * clamped_tilt(i.logits, i.correct))
    divergence = i.reference_kl * ar.total(tilt * _kl_direction(i.logits, i.reference))
    return tokens + bonus + clamped + kl_sign * divergence


def step(i: vf.Cases) -> ar.Reals:
    """d / eta."""
    scores = i.score - ar.per_action(ar.total(i.score)) * ar.softmax(i.logits)
    terms = -ar.per_action(i.entropy) * own_covariance(i.logits)
    terms = terms - ar.per_action(i.clamped) * clamped_tilt(i.logits, i.correct)
    return scores + terms + ar.per_action(i.reference_kl) * _kl_direction(i.logits, i.reference)


def objective(i: vf.Cases, logits: ar.Reals) -> ar.Reals:
    """The objective of the step: scores times log pi, both entropies and the KL to the reference.
    """
    p, log_p = ar.softmax(logits), ar.log_softmax(logits)
    kept = np.where(i.correct, p, 0 * p)
    conditional = kept / ar.per_action(ar.total(kept))
    clamped = -ar.total(conditional * np.log(conditional), i.correct)
    divergence = ar.mean(p, log_p - ar.log_softmax(i.reference))
    return (ar.total(i.score * log_p) + i.entropy * ar.entropy(logits) + i.clamped * clamped
            + i.reference_kl * divergence)


def _room(i: vf.Cases, centered: bool = True) -> ar.Reals:
    d = ar.per_action(i.learning_rate) * step(i)
    announced = i.learning_rate * forecast(i, centered)
    return remainder_bound(d) - np.abs(ar.entropy_change(i.logits, d) - announced)


score_forecast = vf.Claim(
    id="extension.score-forecast",
    source="Extension of Entropy Mechanism, Lemma 1, to any update rule (forecast.py)",
    title="The entropy change that a rule's coefficients announce, token by token",
    scope="one tabular state, the step of any update rule, with its remainder",
    statement=vf.Statement(
        latex=r"$H(z+d)-H(z) \approx \eta\{-\sum_i w_is_i(S_{a_i}-\bar S)+\lambda\lVert S\rVert^2+"
              r"\kappa\langle S,\tilde S\rangle-\beta\langle S,\nabla\mathrm{KL}\rangle\}$ up to "
              r"$\frac14(1+\log n)\lVert d\rVert^2$, for the step of any rule.",
        margin=_room,
        beyond=lambda i: (has_gradient(lambda z: objective(i, z), i.logits, step(i)),),
    ),
    instances=vf.bandit_instances(LEARNING_RATE, *COEFFICIENTS, vectors=(SCORES, REFERENCE),
                                  actions=(2, 4)),
    witnesses=(PENALTY, SCORES_ALONE),
    first_order=True,
    mutants=(
        vf.mutant("the mean Sbar forgotten", margin=lambda i: _room(i, centered=False)),
    ),
)
