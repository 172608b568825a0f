r"""AEPO: the factors :math:`1/|o|` of Section 3.1 and Eq. (1) are missing in Section 4.2, which matters.

The gradient of Section 4.2 is :math:`\mathbb E_{\pi^T} R \sum_t \nabla \log \pi`. The gradient with the
advantage has no such factor either. At :math:`\theta = \theta_{\text{old}}` the loss of Eq. (1) has the
gradient :math:`\mathbb E_{\pi^T} (R/|o|) \sum_t \nabla \log \pi`. GRPO in Section 3.1 has the factor
:math:`1/|o|` too.

They are read as equal up to a positive factor. This is false for responses of different lengths. The
factor :math:`1/|o|` favors short right responses and spares long wrong ones.

It is true where every response with a nonzero score has the same length h, and then h is the
factor. For AEPO's term, with rewards in [0, 1], these are the responses with a reward. In the GRPO
part wrong responses have scores too, so one length of the right ones is not enough (a mutant here).
"""

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.objective_gradient import ONE_LENGTH
from entropy_theory.claims.aepo.response_length import REWARD, lengths, policy_update, rewards
from entropy_theory.claims.aepo.tempered_reinforce import TEMPERATURE
from entropy_theory.verification import arithmetic as ar


def _updates(i: vf.Cases, centered: bool = False) -> tuple[ar.Reals, ar.Reals]:
    """AEPO's term without and with 1/|o|; if ``centered``, GRPO's with ``R - E R`` at ``T = 1``."""
    score, temperature = rewards(i.logits, i.reward), None if centered else i.temperature
    if centered:
        sampled = ar.token_tree(i.logits).response_probabilities(ar.softmax(i.logits))
        score = score - ar.per_action(ar.mean(sampled, score))
    return (policy_update(i.logits, score, temperature),
            policy_update(i.logits, score / lengths(i.logits), temperature))


def _cross(i: vf.Cases, centered: bool = False) -> ar.Reals:
    """|u|^2 |v|^2 - (u . v)^2: zero exactly where u and v are parallel."""

    def inner(x: ar.Reals, y: ar.Reals) -> ar.Reals:
        return ar.total(ar.total(x * y))

    u, v = _updates(i, centered)
    return inner(u, u) * inner(v, v) - inner(u, v) * inner(u, v)


_statement = vf.Statement(
    latex=r"$E_{o\sim\pi^T}\frac{1}{|o|}R\sum_t\nabla\log\pi(o_t)$ (Eq. 1) and "
          r"$E_{o\sim\pi^T}R\sum_t\nabla\log\pi(o_t)$ (Section 4.2) are parallel.",
    margin=_cross,
    relation="==",
)

length_factors = vf.Claim(
    id="aepo.length-factors",
    source="AEPO, Sections 3.1, 4.2 and Eq. (1)",
    reading=vf.Reading(
        "inferred", "loss function is shown in",
        "Section 4.2, which does not say that the two forms agree"),
    title="The forms with and without 1/|o| give the same direction",
    scope="tabular token tree with responses of several lengths, exact expectation, gradient",
    statement=_statement,
    instances=vf.tree_instances(TEMPERATURE, tokens=(2, 3), horizon=(1, 2), reward=None,
                                vectors=(REWARD,)),
    repair=vf.Statement(
        latex=r"If all responses with a reward above zero have the same length, the gradients of "
              r"Section 4.2 and of Eq. (1) are parallel.",
        margin=_cross,
        relation="==",
        conditions=(ONE_LENGTH,),
    ),
    repair_is="hypothesis",
    repair_note="hypothesis: all responses with a reward above zero have one length",
    # "Stop" and "go on, go on" are right: one token and two.
    witnesses=({"weights": [[1, 1]] * 3, "reward": [[1, 0], [0, 0], [0, 1]], "temperature": 2},),
    mutants=(
        vf.Mutant(name="one length of the right responses is enough for the GRPO part",
                  statement=vf.variant(_statement, margin=lambda i: _cross(i, centered=True),
                                       conditions=(ONE_LENGTH,))),
    ),
)
