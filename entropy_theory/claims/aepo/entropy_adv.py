r"""AEPO, Section 3.2: Entropy-Adv adds :math:`\psi = \min(\beta H_t, |A|/\kappa)` to the advantage, "a
fixed offset".

:math:`H_t`, the entropy of the state, does not depend on the token that was drawn. As long as the cap
is not reached :math:`\psi = \beta H_t` is the same for every token, a baseline, and a baseline changes
no expected gradient: :math:`\mathbb E[\nabla \log \pi(a) \beta H_t] = 0`. Read: Entropy-Adv changes
nothing in the exact expected policy gradient. False only because of the cap, which is reached by tokens
with a small advantage.

True with a hypothesis (exact): if no token reaches the cap, :math:`\beta H \le |A_a|/\kappa` for all a.
So what Entropy-Adv does at one state, in expectation and on-policy, it does where the cap is reached,
through :math:`\min(0, |A|/\kappa - \beta H)`. (With sampled group baselines or several states in one
normalization it can do more.)
"""

from fractions import Fraction

from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar

ADVANTAGE = vf.Vector(name="advantage", low=-2.0, high=2.0, grid=(1, -1, 2), range=vf.ANY)
BETA = vf.Scalar(name="beta", low=0.01, high=1.0, grid=(1, Fraction(1, 4)), range=vf.POSITIVE)
KAPPA = vf.Scalar(name="kappa", low=1.1, high=8.0, grid=(2,), range=vf.POSITIVE)


@vf.definition
def bonus(i: vf.Cases) -> ar.Reals:
    """Return psi = min(beta H, |A|/kappa)."""
    size = ar.maximum(i.advantage, -i.advantage)
    return ar.minimum(ar.per_action(i.beta * ar.entropy(i.logits)), size / ar.per_action(i.kappa))


def _change(i: vf.Cases) -> ar.Reals:
    """``E_pi[psi (e_a - pi)]``, which psi adds to the expected policy gradient."""
    policy = ar.softmax(i.logits)
    return policy * ar.centered(policy, bonus(i))


def _room(i: vf.Cases) -> ar.Reals:
    """Least |A|/kappa minus beta H."""
    size = ar.maximum(i.advantage, -i.advantage)
    return ar.smallest(size) / i.kappa - i.beta * ar.entropy(i.logits)


NO_CAP = vf.Condition(
    latex=r"$\beta\mathcal H \le |A_a|/\kappa$ for every token", value=_room, relation=">=",
)

entropy_adv = vf.Claim(
    id="aepo.entropy-adv",
    source="AEPO, Section 3.2 (Entropy-Adv: 'acting as a fixed offset to the original advantage')",
    reading=vf.Reading(
        "inferred", "acting as a fixed offset to the original advantage",
        "Section 3.2, which does not say that the policy gradient stays as it is"),
    title="Entropy-Adv's offset leaves the expected policy gradient as it is",
    scope="one tabular state, exact expectation, on-policy",
    statement=vf.Statement(
        latex=r"Entropy-Adv's $\psi = \min(\beta\mathcal H, |A|/\kappa)$ is a fixed offset: it leaves "
              r"the expected policy gradient as it is.",
        margin=_change,
        relation="==",
    ),
    instances=vf.bandit_instances(BETA, KAPPA, vectors=(ADVANTAGE,), correct=False, actions=(2, 5)),
    repair=vf.Statement(
        latex=r"It does where no token's $\psi$ is cut by the cap $|A|/\kappa$.",
        margin=_change,
        relation="==",
        conditions=(NO_CAP,),
    ),
    repair_is="hypothesis",
    repair_note=r"hypothesis: $\beta H \le |A_a|/\kappa$ for every token, so that the offset is a "
                "baseline",
    mutants=(
        vf.mutant("it is enough that one token does not reach the cap",
                  conditions=(vf.Condition(
                      latex="some token does not reach the cap",
                      value=lambda i: ar.largest(ar.maximum(i.advantage, -i.advantage)) / i.kappa
                      - i.beta * ar.entropy(i.logits)),)),
    ),
)
