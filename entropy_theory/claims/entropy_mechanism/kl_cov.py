r"""Entropy Mechanism, KL-Cov: penalizing the high-covariance tokens by their KL raises entropy.

The setting is one state. Tokens were sampled from :math:`\pi_{\text{old}}`, the policy is now
:math:`\pi`, and :math:`r_a = \pi_a / \pi_{\text{old},a}`. KL-Cov selects the actions with the largest
:math:`K_a = (\log \pi_a - \operatorname{mean})(A_a - \operatorname{mean})`, with means over
:math:`\pi_{\text{old}}`. The code adds :math:`\beta |\log r_a|` to their loss, which scores them with
:math:`-\beta \operatorname{sign}(\log r_a)`. With :math:`c_a = \pi_a (\log \pi_a + H)` and
:math:`C = \mathbb E c` the first-order entropy change moves by

.. math::

    + \eta \beta \sum_{\text{selected}} \pi_{\text{old},a} \operatorname{sign}(\log r_a) (c_a - C).

So the penalty undoes part of the change since :math:`\pi_{\text{old}}`. It raises entropy where a
selected action has become likelier with :math:`c_a > C` or rarer with :math:`c_a < C`. It lowers
entropy otherwise. A right answer with :math:`0 < c_a < C` is a counterexample after a single step of
plain policy gradient.

Repair: it raises entropy if each selected action meets one of two conditions. Either it has become
likelier and has :math:`c_a > C`, or it has become rarer and is below :math:`e^{-H}`.

Under the natural gradient (`kl-cov-npg`) the Fisher matrix takes the score :math:`w_a` of an action to
the logit step :math:`w_a / \pi_a`, up to a constant. So the penalty adds

.. math::

    + \eta \beta \sum_{\text{selected}} \pi_{\text{old},a} \operatorname{sign}(\log r_a) (\log \pi_a +
    H).

Now the side of :math:`e^{-H}` that an action is on replaces the sign of :math:`c_a - C`. The penalty
raises entropy if each selected action has become likelier and is above :math:`e^{-H}`, or rarer and is
below. The means in K are those of the old policy. So a selected action may be on the other side of the
present :math:`e^{-H}`, or have moved against its advantage.

On-policy (`kl-cov-on-policy`), with one update per rollout, :math:`\pi = \pi_{\text{old}}` and KL-Cov
is the base rule. The gradient of the KL divergence (Eq. 14) at its minimum is zero. The code's
:math:`|\log r|` has a kink at :math:`r = 1`, where automatic differentiation takes 0. KL-Cov acts from
the second mini-batch of a rollout on.
"""

import dataclasses
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from entropy_theory import strategies
from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import excess
from entropy_theory.claims.entropy_mechanism.token_contributions import (
    first_order,
    only,
    relative_log_prob,
    score_step,
    some,
    token_covariance,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import for_every, has_derivative

THRESHOLD = vf.Scalar(name="lower", low=0.01, high=2.0, grid=(Fraction(1, 64), Fraction(1, 2)),
                      range=vf.POSITIVE)
DRIFT = vf.Vector(name="drift", low=-2.0, high=2.0, grid=(0, 1), range=vf.ANY)
REWARD = vf.Vector(name="reward", low=0.0, high=1.0, grid=(0, 1), range=vf.ANY)


def _sharpened(case: vf.Instance) -> vf.Instance:
    """The instance with its first likeliest action alone right, after that action has gained."""
    logits = np.asarray(case["logits"])
    top = [float(a == int(np.argmax(logits))) for a in range(len(logits))]
    return {**case, "drift": top, "reward": top}


# Few values each, which Hypothesis shrinks fast.
_few_values = strategies.bandits(
    actions=(2, 4), with_correct=False, exact=True,
    vectors={"drift": st.sampled_from((0.0, 1.0, -1.0)), "reward": st.sampled_from((0.0, 1.0))},
    lower=st.sampled_from(THRESHOLD.grid),
)
INSTANCES = dataclasses.replace(
    vf.bandit_instances(THRESHOLD, actions=(2, 4), correct=False, vectors=(DRIFT, REWARD)),
    strategy=st.one_of(_few_values, _few_values.map(_sharpened)),
)


@vf.definition
def old_policy(logits: ar.Reals, drift: ar.Reals) -> ar.Reals:
    """The policy that tokens were sampled from: the logits have drifted since."""
    return ar.softmax(logits - drift)


@vf.definition
def log_ratio(logits: ar.Reals, drift: ar.Reals) -> ar.Reals:
    """log(pi / pi_old)."""
    return ar.log_softmax(logits) - ar.log_softmax(logits - drift)


@vf.definition
def old_advantage(logits: ar.Reals, drift: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """r - E_old r."""
    return reward - ar.per_action(ar.mean(old_policy(logits, drift), reward))


@vf.definition
def selected(logits: ar.Reals, drift: ar.Reals, reward: ar.Reals, lower: ar.Reals) -> ar.Mask:
    """Actions with K >= omega_low; a rank is a threshold."""
    center = ar.per_action(ar.mean(old_policy(logits, drift), logits))
    covariance = (logits - center) * old_advantage(logits, drift, reward)
    return ~ar.less(covariance, ar.per_action(lower))


@vf.definition
def penalty_score(logits: ar.Reals, drift: ar.Reals) -> ar.Reals:
    """The weighted score of |log r|: its slope in log pi is the sign of log r."""
    return -ar.sign(log_ratio(logits, drift)) * old_policy(logits, drift)


def _selected(i: vf.Cases) -> ar.Mask:
    return selected(i.logits, i.drift, i.reward, i.lower)


def _gain(i: vf.Cases) -> ar.Reals:
    """First-order entropy change that the penalty adds, per eta beta."""
    score = only(_selected(i), penalty_score(i.logits, i.drift))
    return first_order(i.logits, score_step(i.logits, score))


def _natural_gain(i: vf.Cases) -> ar.Reals:
    """The gain under the natural gradient, where a weighted score w moves the logits by w / pi."""
    score = only(_selected(i), penalty_score(i.logits, i.drift))
    return first_order(i.logits, score / ar.softmax(i.logits))


def _likelier_and_above(i: vf.Cases) -> ar.Mask:
    zero = 0 * i.logits
    return ar.less(zero, log_ratio(i.logits, i.drift)) & ar.less(zero, excess(i.logits))


def _likelier_and_typical(i: vf.Cases) -> ar.Mask:
    zero = 0 * i.logits
    return ar.less(zero, log_ratio(i.logits, i.drift)) & ar.less(zero, relative_log_prob(i.logits))


def _rarer_and_below(i: vf.Cases) -> ar.Mask:
    zero = 0 * i.logits
    return ar.less(log_ratio(i.logits, i.drift), zero) & ar.less(relative_log_prob(i.logits), zero)


SOME_SELECTED = some(_selected, r"some action is selected")
UNDOING_RAISES = vf.Condition(
    latex=r"each selected action has become likelier and has $c_a > C$, or has become rarer and has "
          r"$\pi_a < e^{-H}$",
    value=lambda i: np.all(~_selected(i) | _likelier_and_above(i) | _rarer_and_below(i), axis=-1),
)
MOVED_AS_REWARDED = vf.Condition(
    latex="each selected action has moved in the direction of its advantage",
    value=lambda i: ~np.any(
        _selected(i) & ~ar.less(0 * i.logits, log_ratio(i.logits, i.drift)
                                * old_advantage(i.logits, i.drift, i.reward)), axis=-1),
)

kl_cov = vf.Claim(
    id="entropy-mechanism.kl-cov",
    source="Entropy Mechanism, KL-Cov (Eqs. 13, 14) as coded",
    reading=vf.Reading(
        "precise", "These simple techniques prevent policy from entropy collapse", "last takeaway"),
    title="KL-Cov raises entropy relative to its base rule",
    scope="one tabular state, every action listed, exact expectation, first order",
    statement=vf.Statement(
        latex=r"The penalty $\beta|\log r_a|$ on the actions with the largest covariance does not lower "
              r"the first-order entropy change.",
        margin=_gain,
        conditions=(SOME_SELECTED,),
    ),
    instances=INSTANCES,
    repair=vf.Statement(
        latex=r"It raises it if each selected action has become likelier and has $c_a > C$, or has "
              r"become rarer and has $\pi_a < e^{-H}$.",
        margin=_gain,
        relation=">",
        conditions=(SOME_SELECTED, UNDOING_RAISES),
    ),
    repair_is="hypothesis",
    repair_note="hypothesis: each selected action has become likelier with $c_a > C$, or rarer and is "
                "below $e^{-H}$",
    mutants=(
        vf.mutant("moved in the direction of the advantage is enough",
                  conditions=(SOME_SELECTED, MOVED_AS_REWARDED)),
    ),
)

# ---------------------------------------------------------------- natural gradient

NATURAL_UNDOING_RAISES = vf.Condition(
    latex=r"each selected action has become likelier and has $\pi_a > e^{-H}$, or has become rarer and "
          r"has $\pi_a < e^{-H}$",
    value=lambda i: np.all(~_selected(i) | _likelier_and_typical(i) | _rarer_and_below(i), axis=-1),
)

kl_cov_npg = vf.Claim(
    id="entropy-mechanism.kl-cov-npg",
    source="Entropy Mechanism, KL-Cov (Eqs. 13, 14) as coded, with Theorem 2",
    reading=vf.Reading(
        "precise", "These simple techniques prevent policy from entropy collapse", "last takeaway"),
    title="KL-Cov raises entropy relative to natural policy gradient",
    scope="one tabular state, every action listed, exact expectation, first order",
    statement=vf.Statement(
        latex=r"The penalty $\beta|\log r_a|$ on the actions with the largest covariance does not lower "
              r"the first-order entropy change of natural policy gradient.",
        margin=_natural_gain,
        conditions=(SOME_SELECTED,),
    ),
    instances=INSTANCES,
    repair=vf.Statement(
        latex=r"It raises it if each selected action has become likelier and has $\pi_a > e^{-H}$, or "
              r"has become rarer and has $\pi_a < e^{-H}$.",
        margin=_natural_gain,
        relation=">",
        conditions=(SOME_SELECTED, NATURAL_UNDOING_RAISES),
    ),
    repair_is="hypothesis",
    repair_note="hypothesis: each selected action has become likelier and is above $e^{-H}$, or rarer "
                "and is below $e^{-H}$",
    mutants=(
        vf.mutant("moved in the direction of the advantage is enough",
                  conditions=(SOME_SELECTED, MOVED_AS_REWARDED)),
    ),
)

# ---------------------------------------------------------------- on-policy


def _divergence_step(i: vf.Cases, weighted: ar.Reals) -> ar.Reals:
    """Logit step of -sum_{selected} w KL(pi_old || pi), per beta: (sum w)(pi_old - pi)."""
    return ar.per_action(ar.total(only(_on_policy_selected(i), weighted))) * (
        ar.softmax(i.logits + ar.per_action(i.shift)) - ar.softmax(i.logits))


def _on_policy_selected(i: vf.Cases) -> ar.Mask:
    return ~ar.less(token_covariance(i.logits, i.reward), ar.per_action(i.lower))


@vf.definition
def divergence(logits: ar.Reals, moved: ar.Reals) -> ar.Reals:
    """KL(pi || pi') for the logits of pi and of pi'."""
    return ar.mean(ar.softmax(logits), ar.log_softmax(logits) - ar.log_softmax(moved))


def _extra_step(i: vf.Cases) -> ar.Reals:
    """The logit step that KL-Cov adds if pi_old has the logits of pi, up to a constant."""
    return _divergence_step(i, ar.softmax(i.logits))


def _log_ratio_penalty(i: vf.Cases) -> ar.Reals:
    """The extra step of a penalty log(pi_old / pi) without the absolute value (k1)."""
    return score_step(i.logits, only(_on_policy_selected(i), ar.softmax(i.logits)))


kl_cov_on_policy = vf.Claim(
    id="entropy-mechanism.kl-cov-on-policy",
    source="Entropy Mechanism, KL-Cov (Eqs. 13, 14), strictly on-policy",
    reading=vf.Reading(
        "inferred", "pg_losses1[select_idx] += kl_coef * kl_penalty[select_idx]",
        "code of KL-Cov, which takes |log r| where the statement has the divergence"),
    title="With one update per rollout the KL penalty of KL-Cov adds nothing",
    scope="one tabular state, one update per rollout",
    statement=vf.Statement(
        latex=r"Strictly on-policy ($\pi = \pi_{old}$) the penalty $\beta\,\mathrm{KL}(\pi_{old}\|\pi)$ "
              r"of KL-Cov adds nothing to the logit step.",
        margin=_extra_step,
        relation="==",
        beyond=lambda i: (for_every("direction", (vf.ACTIONS,), lambda v: has_derivative(
            lambda t: divergence(i.logits, i.logits + ar.per_action(t) * v), 0, 0)),),
    ),
    instances=vf.bandit_instances(
        THRESHOLD, vf.Scalar(name="shift", low=0.01, high=4.0, grid=(1,), range=vf.POSITIVE),
        actions=(2, 5), correct=False, vectors=(REWARD,)),
    mutants=(
        vf.mutant("penalty log(pi_old / pi) without the absolute value", margin=_log_ratio_penalty),
    ),
)
