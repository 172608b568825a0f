r"""Extension: decoupled weight decay is a rise of the temperature.

The logits are linear in the parameters, :math:`z = F \theta`. Decoupled weight decay takes
:math:`\theta` to :math:`(1 - w) \theta`, with w the learning rate times the decay. So z becomes
:math:`(1 - w) z`, which is softmax at the temperature :math:`1/(1 - w)`, for any sample. Tokens of
advantage zero are included. Entropy rises, at the rate :math:`\operatorname{Var}_\pi(z)` at first. The
first order is neither a lower nor an upper bound on the rise.
"""

from fractions import Fraction

from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_derivative, implies

DECAY = vf.Scalar(name="decay", low=1e-3, high=1.0, grid=(Fraction(1, 2), 1, Fraction(1, 10)),
                  range=vf.Range(low=0, high=1))


def _rise(i: vf.Cases) -> ar.Reals:
    return ar.entropy_change(i.logits, -ar.per_action(i.decay) * i.logits)


def _variance(i: vf.Cases) -> ar.Reals:
    return ar.covariance(ar.softmax(i.logits), i.logits, i.logits)


weight_decay = vf.Claim(
    id="extension.weight-decay",
    source="Extension of AEPO, section 4 (temperature)",
    title="Decoupled weight decay does not lower entropy, and at first raises it at the rate of the "
          "variance of the logits",
    scope="one softmax policy, logits linear in the parameters that decay, no other step",
    statement=vf.Statement(
        latex=r"For $0 \le w \le 1$, $H(\mathrm{softmax}((1 - w) z)) \ge H(\mathrm{softmax}(z))$, more "
              r"if $w > 0$ and $\pi$ is not uniform, and the derivative in $w$ at 0 is "
              r"$\mathrm{Var}_\pi(z)$.",
        margin=_rise,
        beyond=lambda i: (
            has_derivative(lambda t: ar.entropy((1 - ar.per_action(t)) * i.logits), 0, _variance(i)),
            implies((i.decay > 0) & (_variance(i) > 0), _rise(i) > 0),
        ),
    ),
    instances=vf.bandit_instances(DECAY, correct=False),
    mutants=(
        vf.mutant("the first order bounds the rise from below",
                  margin=lambda i: _rise(i) - i.decay * _variance(i)),
        vf.mutant("the first order bounds the rise from above",
                  margin=lambda i: i.decay * _variance(i) - _rise(i)),
    ),
)
