r"""AEPO, Section 7: by samples of a target distribution the policy is "gradually guided toward
acquiring the desired properties" of it.

The setting is one state. The target is q, restricted to right answers where rewards filter it. The
expected step on its samples is :math:`dz = q - \pi`. It is read to first order for a property f of
actions, such as length. The statement is that :math:`\mathbb E_\pi f` moves towards
:math:`\mathbb E_q f`:

.. math::

    (\mathbb E_q f - \mathbb E_\pi f) \operatorname{Cov}_\pi(f, q - \pi) \ge 0.

This is false. The step raises log :math:`\pi_a` by :math:`q_a - \pi_a` up to a constant, and the
probability of a by :math:`\pi_a` times this. So an action that is rare under :math:`\pi` hardly moves,
even if it is likely under q.

What holds instead is exact. The step is the gradient of :math:`\mathbb E_q \log \pi`, so the divergence
:math:`\operatorname{KL}(q \| \pi)` falls, at the rate :math:`\|q - \pi\|^2`. Guidance is towards the
distribution, not towards each of its properties.
"""

from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar

TARGET = vf.Vector(name="target_logits", low=-3.0, high=3.0, grid=(0, 1, 3), range=vf.ANY)
PROPERTY = vf.Vector(name="property", low=-1.0, high=1.0, grid=(0, 1), range=vf.ANY)


def _step(i: vf.Cases) -> ar.Reals:
    """q - pi."""
    return ar.softmax(i.target_logits) - ar.softmax(i.logits)


def _towards(i: vf.Cases) -> ar.Reals:
    """Distance of the property's means times the rate of the policy's."""
    policy = ar.softmax(i.logits)
    distance = ar.mean(ar.softmax(i.target_logits), i.property) - ar.mean(policy, i.property)
    return distance * ar.covariance(policy, i.property, _step(i))


def _fall_of_divergence(i: vf.Cases) -> ar.Reals:
    """``-dKL(q || pi)/deta - ||q - pi||^2``, with ``d log pi_a = step_a - E_pi step``."""
    growth = ar.centered(ar.softmax(i.logits), _step(i))
    return ar.mean(ar.softmax(i.target_logits), growth) - ar.total(_step(i) * _step(i))


target_distributions = vf.Claim(
    id="aepo.target-distributions",
    source="AEPO, Section 7 (learning under target distributions)",
    reading=vf.Reading(
        "precise",
        "enabling the current policy to absorb the desired behavioral characteristics from the target "
        "distribution", "Section 7"),
    title="Samples of a target distribution pull every property of the policy towards the target's",
    scope="one tabular state, exact expectation, first order in the learning rate",
    statement=vf.Statement(
        latex=r"A step $\Delta z = \eta(q - \pi)$ on samples of $q$ moves $\mathbb E_\pi f$ towards "
              r"$\mathbb E_q f$, for every $f$.",
        margin=_towards,
    ),
    instances=vf.bandit_instances(vectors=(TARGET, PROPERTY), correct=False, actions=(2, 4)),
    repair=vf.Statement(
        latex=r"For the step $d = q - \pi$ towards a softmax policy $q$: $\mathbb E_q d - \mathbb E_\pi "
              r"d = \lVert q - \pi\rVert^2$. The left side is the first order of the fall of "
              r"$\mathrm{KL}(q\,\|\,\pi)$; no derivative is part of the formula.",
        margin=_fall_of_divergence,
        relation="==",
    ),
    repair_note=r"an identity, $\mathbb E_q d - \mathbb E_\pi d = \lVert q - \pi\rVert^2$ for $d = q - "
                r"\pi$; a property may move away",
    mutants=(
        vf.mutant("the other divergence falls at that rate",
                  margin=lambda i: -ar.covariance(
                      ar.softmax(i.logits), ar.log_softmax(i.logits) - ar.log_softmax(i.target_logits),
                      _step(i)) - ar.total(_step(i) * _step(i))),
    ),
)
