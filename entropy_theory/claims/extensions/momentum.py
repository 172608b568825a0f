r"""Extension: what momentum does to entropy where all advantages are zero.

Once every answer of a group is right its tokens have no gradient. Heavy-ball momentum moves them all the
same: with the velocity m and the logits z at hand, step k of such steps is

.. math::

    z + \eta (\beta + \dots + \beta^k) m,

in all :math:`\beta/(1 - \beta)` times the last step, 9 times at .9. Along that line entropy falls at
every step if m is in the order of z. That the last step lowered entropy is not enough: the line may
lead on from one token to another.
"""

from fractions import Fraction

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.reweighted_coin import least_agreement
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula import limits

STEPS = 2
VELOCITY = vf.Vector(name="velocity", low=-3.0, high=3.0, grid=(0, 1, 2), range=vf.ANY)
RATE = vf.Scalar(name="learning_rate", low=1e-2, high=10.0, grid=(1, 4), range=vf.Range(low=0))
MOMENTUM = vf.Scalar(name="momentum", low=0.05, high=0.99, grid=(Fraction(9, 10), Fraction(1, 2)),
                     range=vf.Range(low=0, high=1, open_high=True))


def _run(i: vf.Cases, count: vf.Term | int) -> ar.Reals:
    """Logits after so many steps without a gradient."""
    beta, rate = ar.per_action(i.momentum), ar.per_action(i.learning_rate)

    def step(_: vf.Term, logits: ar.Reals, velocity: ar.Reals) -> tuple[ar.Reals, ar.Reals]:
        return logits + rate * (beta * velocity), beta * velocity

    logits: ar.Reals = limits.run(step, (i.logits, i.velocity), count)[0]
    return logits


def _fall(i: vf.Cases) -> ar.Reals:
    return ar.entropy(i.logits) - ar.entropy(_run(i, STEPS))


def _geometric(i: vf.Cases) -> tuple[vf.Term, ...]:
    """No step raises entropy, and the logits tend to where beta/(1 - beta) last steps lead."""
    far = i.learning_rate * i.momentum / (1 - i.momentum)
    return (
        limits.at_every_step(lambda k: ar.entropy(_run(i, limits.after(k))) <= ar.entropy(_run(i, k))),
        limits.tends_to(lambda k: ar.entropy(_run(i, k)),
                        ar.entropy(i.logits + ar.per_action(far) * i.velocity)),
    )


LOWERED = vf.Condition(
    latex=r"$H(z) \le H(z - \eta m)$", relation=">=",
    value=lambda i: ar.entropy(i.logits - ar.per_action(i.learning_rate) * i.velocity)
    - ar.entropy(i.logits))
ORDERED = vf.Condition(latex=r"$m_a \ge m_b$ wherever $z_a > z_b$", relation=">=",
                       value=lambda i: least_agreement(i.logits, i.velocity))

momentum = vf.Claim(
    id="extension.momentum",
    source="ours: heavy-ball momentum, all advantages zero",
    title="Momentum goes on lowering entropy once all advantages are zero, if the last step lowered it",
    scope="one tabular state, heavy-ball momentum, exact, any number of steps without a gradient",
    statement=vf.Statement(
        latex=rf"Logits $z$ and velocity $m$ after a step by $\eta m$ with $H(z) \le H(z - \eta m)$: "
              rf"{STEPS} steps $m \gets \beta m$, $z \gets z + \eta m$ do not raise entropy.",
        margin=_fall,
        conditions=(LOWERED,),
    ),
    instances=vf.bandit_instances(RATE, MOMENTUM, correct=False, vectors=(VELOCITY,)),
    repair=vf.Statement(
        latex=r"If $m_a \ge m_b$ wherever $z_a > z_b$, no step $m \gets \beta m$, $z \gets z + \eta m$ "
              r"raises entropy, $0 \le \beta < 1$. It tends to that of $z + \frac{\eta\beta}{1-\beta}m$.",
        margin=_fall,
        conditions=(ORDERED,),
        beyond=_geometric,
    ),
    repair_note="the velocity must be in the order of the logits",
    mutants=(
        vf.mutant("tokens without a gradient stay where they are", relation="==", margin=_fall),
        vf.mutant("one further step is all", conditions=(ORDERED,),
                  margin=lambda i: ar.entropy(_run(i, STEPS)) - ar.entropy(_run(i, 1))),
    ),
)
