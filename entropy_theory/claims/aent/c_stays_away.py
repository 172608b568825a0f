r"""AEnt, after Proposition 1: "C(q) can be controlled (bounded away from 0)".

:math:`C(q)` is the probability of the likeliest right response. It divides the bound of Proposition 1
(II). The text says that a strong initial model or enough exploration can keep it away from zero, and
gives no bound.

We judge the simplest bound that a start alone could give, for one-token responses and the exact policy
gradient :math:`dz_a = \eta \pi_a (R_a - V)`. There are m right answers, with total probability
:math:`p = \pi(A^*)`. The statement is that neither C nor p falls in a step, so
:math:`C_k \ge \max(C_0, p_0/m)`. The paper does not claim that each step is monotone. With the returns
0 and 1 of its experiments each step is, and in this sense C "can be controlled". Whether :math:`C > 0`
is kept in some weaker sense for other returns is left open.

For returns in [0, 1] it is false, since a nearly right answer can push the right one down. Examples are
:math:`\pi = (1, 1, 3)/5`, :math:`R = (0, 1, 9/10)`, :math:`\eta = 4` and :math:`\pi = (1, 1, 4)/6`,
:math:`\eta = 1`. With :math:`R = (1, 1 - \delta, 0)` a smaller :math:`\delta` makes the fall deeper
(see the experiment). In the end C recovers for small :math:`\eta` (Mei et al. 2020, Lemma 5), which is
not proved here.

For returns 0 and 1 and one token it is true for every :math:`\eta`. Each hypothesis is needed.

- One token. With two, C falls at a binary tree.
- Exact gradients. With positive probability, sampled natural gradient with graded returns commits
  to a worse answer, and then :math:`C \to 0`.
- A start. No bound is uniform over starts, as C grows per step at most by the factor :math:`e^\eta`.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aent.stationarity import is_right
from entropy_theory.claims.aepo.tempered_reinforce import LEARNING_RATE
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.certify import precision
from entropy_theory.verification.formula.functions import computed_by
from entropy_theory.verification.formula.limits import at_every_step, run

# ---------------------------------------------------------------- numbers


@vf.definition
def gradient_step(logits: ar.Reals, reward: ar.Reals, learning_rate: ar.Reals) -> ar.Reals:
    """eta pi_a (R_a - V)."""
    policy = ar.softmax(logits)
    return ar.per_action(learning_rate) * policy * ar.centered(policy, reward)


@vf.definition
def likeliest_right(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """C: the probability of the likeliest right answer."""
    return ar.largest(ar.softmax(logits), is_right(reward))


@vf.definition
def right_mass(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """p: the probability of all right answers."""
    return ar.total(ar.softmax(logits), is_right(reward))


def _careful_rise(logits: ar.Reals, reward: ar.Reals, step: ar.Reals) -> ar.Reals:
    # C'/C = e^{d*}/E e^d, d* the growth of the likeliest right logit, so C'/C - 1 = x/(1 - x) for
    # x = E[1 - e^{d - d*}].
    right = is_right(reward)
    if ar.is_exact(logits):
        best = ar.largest(logits + step, right) - ar.largest(logits, right)
    else:
        top = np.argmax(np.where(right, logits, -np.inf), axis=-1)
        after = np.argmax(np.where(right, logits + step, -np.inf), axis=-1)
        best = np.where(top == after, _entry(step, top),
                        _entry(logits + step, after) - _entry(logits, top))
    growth = -ar.mean(ar.softmax(logits), np.expm1(step - best[..., None]))
    return likeliest_right(logits, reward) * growth / (1 - growth)


def _entry(values: np.ndarray, place: np.ndarray) -> np.ndarray:
    return np.take_along_axis(values, place[..., None], axis=-1)[..., 0]


@computed_by(_careful_rise)
def rise(logits: ar.Reals, reward: ar.Reals, step: ar.Reals) -> ar.Reals:
    """C' - C, after this step."""
    return likeliest_right(logits + step, reward) - likeliest_right(logits, reward)


def _careful_mass_rise(logits: ar.Reals, reward: ar.Reals, step: ar.Reals) -> ar.Reals:
    policy, right = ar.softmax(logits), is_right(reward)
    moved = policy * np.expm1(step)
    p, q = ar.total(policy, right), ar.total(policy, ~right)
    change = ar.total(moved, right) * q - p * ar.total(moved, ~right)
    return change / (1 + ar.total(moved))


@computed_by(_careful_mass_rise)
def mass_rise(logits: ar.Reals, reward: ar.Reals, step: ar.Reals) -> ar.Reals:
    """p' - p, after this step."""
    return right_mass(logits + step, reward) - right_mass(logits, reward)


def _own_step(i: vf.Cases) -> ar.Reals:
    return gradient_step(i.logits, i.reward, i.learning_rate)


def growth(i: vf.Cases, step: ar.Reals | None = None) -> ar.Reals:
    """C' - C."""
    return rise(i.logits, i.reward, _own_step(i) if step is None else step)


def _above_mean(i: vf.Cases) -> ar.Reals:
    """m C - p: how far the likeliest right answer is above all m of them."""
    policy, right = ar.softmax(i.logits), is_right(i.reward)
    return ar.total(likeliest_right(i.logits, i.reward)[..., None] - policy, right)


def _parts(i: vf.Cases) -> ar.Reals:
    """``C' - C``, ``p' - p`` and ``m C - p``."""
    step = _own_step(i)
    return np.stack([growth(i, step), mass_rise(i.logits, i.reward, step), _above_mean(i)], axis=-1)


def _whole_runs(i: Any) -> tuple[vf.Term, ...]:
    """C_k >= C_0 and m C_k >= p_0 after every number k of steps."""
    def after(k: vf.Term) -> vf.Term:
        return run(lambda _, z: z + gradient_step(z, i.reward, i.learning_rate), i.logits, k)

    count = ar.total(0 * i.reward + 1, is_right(i.reward))
    return (
        at_every_step(lambda k: likeliest_right(i.logits, i.reward)
                      <= likeliest_right(after(k), i.reward)),
        at_every_step(lambda k: right_mass(i.logits, i.reward)
                      <= count * likeliest_right(after(k), i.reward)),
    )


def _every_right_growth(i: vf.Cases) -> ar.Reals:
    """The least of ``E[e^{d_a} - e^d]`` over right answers a, which has the sign of
    ``pi'_a - pi_a``.
    """
    policy, step = ar.softmax(i.logits), _own_step(i)
    moved = np.expm1(step)
    return ar.smallest(moved - ar.mean(policy, moved)[..., None], is_right(i.reward))


# ---------------------------------------------------------------- long runs


def _lowest(delta: Fraction, steps: int) -> ar.Ball:
    """The least C, divided by C_0, over a run from ``(1, 2, 5)/8`` with ``R = (1, 1 - delta, 0)``,
    ``eta = 4``.
    """
    from flint import arb

    logits = np.array([[arb(w).log() for w in (1, 2, 5)]], dtype=object)
    reward = np.array([[arb(1), 1 - arb(delta.numerator) / delta.denominator, arb(0)]], dtype=object)
    lowest = arb(1)
    for _ in range(steps):
        policy = ar.softmax(logits)
        lowest = lowest.min(8 * policy[0, 0])
        logits = logits + 4 * policy * (reward - ar.mean(policy, reward)[:, None])
    return lowest


def _fall() -> tuple[bool, str]:
    # Radii grow by a few bits a step.
    with precision(4096):
        found = [_lowest(d, k) for d, k in ((Fraction(1, 100), 120), (Fraction(3, 1000), 1100))]
    shown = bool(found[0] < 0.52) and bool(found[1] < 0.19)
    return shown, "lowest C/C_0: " + ", ".join(f"{float(x.mid()):.4f}" for x in found)


def _commitment() -> tuple[bool, str]:
    from flint import arb

    shown, numbers = True, []
    for group in (1, 8):
        # Two answers, pi = (1/2, 1/2), R = (1, 1/2), eta = 1; all draws of a batch are the worse one.
        odds, product = arb(1), arb(1)
        for _ in range(60):
            worse = 1 / (1 + odds)
            product, odds = product * worse**group, odds * (-1 / (2 * worse)).exp()
        # What is left of the product: at least e^{-G x/(1 - s)}, s = e^{-1/2}.
        product *= (-group * odds / (1 - (-arb(1) / 2).exp())).exp()
        limit = (-group / (1 - (-arb(1) / 2).exp())).exp()
        shown = shown and bool(product > limit) and bool(limit > 0)
        numbers.append(f"G = {group}: probability at least {product.str(4, radius=False)}")
    return shown, ", ".join(numbers)


# ---------------------------------------------------------------- claim

_NEARLY_RIGHT = vf.Vector(name="reward", low=0.0, high=1.0, grid=(0, 1, Fraction(9, 10)), range=vf.ANY)
BINARY = vf.Condition(latex="returns are 0 or 1",
                      value=lambda i: np.all(np.equal(i.reward, 0) | np.equal(i.reward, 1), axis=-1))

AT_UNIT_RATE = {"weights": [1, 1, 4], "reward": [0, 1, Fraction(9, 10)], "learning_rate": 1}

c_stays_away = vf.Claim(
    id="aent.c-stays-away-from-zero",
    source="AEnt, Section 3, after Proposition 1",
    reading=vf.Reading(
        "inferred",
        "can be controlled (bounded away from ) when the initial LLM and the RL algorithm can "
        "sufficiently explore the optimal response",
        "Section 3, after Proposition 1, which does not say that no step lowers it"),
    title="No step of the policy gradient makes the likeliest right response rarer",
    scope="one tabular state (responses of one token), exact policy gradient, one step; the "
          "repair for every step of a run",
    statement=vf.Statement(
        latex="For any returns an exact policy gradient step lowers neither $C(q) = "
              r"\max_{y\in\mathcal A^*}\pi(y)$ nor $p = \pi(\mathcal A^*)$.",
        margin=_parts,
    ),
    instances=vf.bandit_instances(LEARNING_RATE, correct=False, vectors=(_NEARLY_RIGHT,), actions=(2, 4)),
    witnesses=(AT_UNIT_RATE,),
    repair=vf.Statement(
        latex=r"For one-token responses with returns 0 and 1, exact policy gradient lowers neither $C$ "
              r"nor $p = \pi(\mathcal A^*)$, whatever $\eta$; so $C_k \ge \max(C_0, p_0/m)$.",
        margin=_parts,
        beyond=_whole_runs,
        conditions=(BINARY,),
    ),
    repair_is="hypothesis",
    repair_note="returns 0 and 1; then for every learning rate and step",
    experiments=(
        vf.experiment("deep falls", "R = (1, 1 - delta, 0) from (1, 2, 5)/8 at eta = 4: C falls "
                      "below 0.52 C_0 for delta = 0.01 and below 0.19 C_0 for 0.003 (certified)", _fall),
        vf.experiment("commitment of sampled natural gradient", "pi = (1/2, 1/2), R = (1, 1/2), eta = 1: "
                      "the worse answer is drawn for ever with this probability, G draws a step "
                      "(certified); then C -> 0", _commitment),
    ),
    mutants=(
        vf.mutant("every right answer becomes likelier", margin=_every_right_growth),
    ),
)
