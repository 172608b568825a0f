r"""AEPO, Section 4.2: with binary rewards REINFORCE filters out negative samples "in an unbiased
manner".

At :math:`T = 1` this is so. A sample with :math:`R = 0` contributes nothing to
:math:`\mathbb E[R \nabla \log \pi]`, which is the gradient of the reward. But AEPO filters samples of
:math:`\pi^T`. For them the statement is that the expected step :math:`1_{A^*} \pi^T - P_T \pi` is a
positive multiple of the gradient of the reward, :math:`\nabla p = \pi (1_{A^*} - p)`. This is false.
With two right answers the samples weigh them by :math:`\pi^T`, and the gradient by :math:`\pi`.

It is true (exactly) with one right answer :math:`a^*`. Then the step is :math:`P_T (e_{a^*} - \pi)`,
and the gradient :math:`p (e_{a^*} - \pi)`. At :math:`T = 1` it is true by definition. On a solved state
the gradient vanishes and the step does not.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import TEMPERATURE, unit_step
from entropy_theory.verification import arithmetic as ar


def _tilt(i: vf.Cases) -> ar.Reals:
    """p times the tempered step minus P_T times the one at T = 1."""
    right = ar.total(ar.softmax(i.logits), i.correct)
    tempered = ar.total(ar.softmax(i.logits, i.temperature), i.correct)
    step = unit_step(i.logits, i.correct, i.temperature)
    return right[..., None] * step - tempered[..., None] * unit_step(i.logits, i.correct)


def _number_right(i: vf.Cases) -> ar.Reals:
    return ar.total(0 * i.logits + ar.constant(1, like=i.logits), i.correct)


ONE_RIGHT = vf.Condition(
    latex="one answer is right", value=lambda i: 1 - _number_right(i), relation=">=",
)

unbiased_filtering = vf.Claim(
    id="aepo.unbiased-filtering",
    source="AEPO, Sections 1 and 4.2 ('filter out negative samples in an unbiased manner')",
    reading=vf.Reading(
        "inferred", "allows REINFORCE to filter out negative samples in an unbiased manner",
        "Section 4.2, which does not say that the step is a multiple of the policy gradient"),
    title="The expected step on positive tempered samples is a multiple of the policy gradient",
    scope="one tabular state, exact expectation",
    statement=vf.Statement(
        latex=r"The expected step on positive samples of $\pi^T$ is the gradient of the reward times "
              r"$\pi^T(\mathcal A^*)/\pi(\mathcal A^*)$.",
        margin=_tilt,
        relation="==",
    ),
    instances=vf.bandit_instances(TEMPERATURE),
    repair=vf.Statement(
        latex=r"It is if one answer is right.",
        margin=_tilt,
        relation="==",
        conditions=(ONE_RIGHT,),
    ),
    repair_is="hypothesis",
    repair_note="hypothesis: one answer is right (AEPO's $R = 1[o = o^*]$ for responses of one token)",
    mutants=(
        vf.mutant("two right answers are allowed",
                  conditions=(
                      vf.Condition(latex="at most two are right", value=lambda i: 2 - _number_right(i),
                                   relation=">="),)),
    ),
)
