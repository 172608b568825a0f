r"""Entropy dynamics in reinforcement fine-tuning (arXiv 2602.03392), Theorems 3.2, 3.3 and corollary.

S_a = pi_a (log pi_a + H), Sbar = E_pi[S]. To first order, exactly:

- one sampled action k with weight w, dz = eta w (e_k - pi):  dH = -eta w (S_k - Sbar);
- its mean over k ~ pi vanishes, E_k[S_k - Sbar] = 0, and with weights A_k, E_pi[A] = 0, it is that of
  the expected policy gradient, -eta Cov_pi(log pi, pi A);
- a bump of one logit, dz = eps e_k:  dH = -eps S_k, of the sign of e^{-H} - pi_k for eps > 0.

The sign rule holds for steps of any size on one side: where pi_k >= e^{-H}, every eps > 0 lowers entropy,
and where pi_k <= e^{-H}, every bump down does; for s = log pi_k + H has ds/dt = (1 - pi_k) - pi_k s along
the bump, and cannot return to zero. For a sampled action the threshold is another one: the sign is that
of Sbar - S_k, not of e^{-H} - pi_k, and between the two the rule quoted for bumps is wrong.
"""

from __future__ import annotations

import numpy as np

from entropy_theory.claims.aepo.tempered_reinforce import MEAN_VALUE, excess, own_covariance
from entropy_theory.verification import (
    Cases,
    Claim,
    Mutant,
    Scalar,
    Statement,
    bandit_instances,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.instances import Margin

SIZE = Scalar(name="size", low=0.01, high=20.0, grid=(1, 4))


def _unit(i: Cases, k: int) -> Reals:
    """e_k for each instance."""
    here = np.arange(i.logits.shape[-1]) == k
    return np.where(here, 0 * i.logits + ar.constant(1, like=i.logits), 0 * i.logits)


def _residuals(i: Cases, mean: int = 1, sign: int = -1) -> Reals:
    """First-order change of each sampled action, their mean, and the policy gradient."""
    p, s = ar.softmax(i.logits), own_covariance(i.logits)
    announced = sign * (excess(i.logits) if mean else s)
    parts = [
        -ar.covariance(p, i.logits, _unit(i, k) - p) - announced[..., k]
        for k in range(i.logits.shape[-1])
    ]
    advantage = ar.centered(p, i.step)
    average = ar.mean(p, advantage * announced) + ar.covariance(p, i.logits, p * advantage)
    return np.stack([*parts, ar.mean(p, announced), average], axis=-1)


def _one_action() -> symbolic.Expression:
    m = symbolic.Moments("L P", indicators="A")
    log_p, p, a = m["L"], m["P"], m["A"]
    depth = log_p - m.expect(log_p)
    return m.covariance(log_p, a - p) - (m.expect(a * depth) - m.expect(p * depth))


def _mean_and_gradient() -> list[symbolic.Expression]:
    m = symbolic.Moments("L P a")
    log_p, p, advantage = m["L"], m["P"], m["a"]
    s = p * (log_p - m.expect(log_p))
    deviation = s - m.expect(s)
    average = m.expect(advantage * deviation) - m.covariance(log_p, p * advantage)
    return [m.expect(deviation), average.subs({m.expect(advantage): 0})]


ONE_ACTION = (
    symbolic.softmax_rule(),
    symbolic.entropy_slope(),
    symbolic.identity("one action", "Cov(log pi, e_k - pi) = S_k - Sbar", _one_action,
                      uses=("entropy slope",),
                      axioms=("S_k = E_pi[1_k (log pi + H)], Sbar = E_pi[pi (log pi + H)]",)),
)
"""The steps from the softmax rule to what one sampled action does to entropy."""

_statement = Statement(
    latex=r"$\Delta z = \eta w(e_k-\pi)$ moves entropy at first order by $-\eta w(S_k-\bar S)$; "
          r"$\mathbb E_{k\sim\pi}[S_k-\bar S]=0$; with $w=A_k$ the mean is "
          r"$-\eta\,\mathrm{Cov}_\pi(\log\pi,\pi A)$.",
    margin=_residuals,
    relation="==",
    proof=(
        *ONE_ACTION,
        symbolic.identity("mean", "E_k[S_k - Sbar] = 0; E_k[A_k (S_k - Sbar)] = Cov(log pi, pi A), "
                          "as E A = 0", _mean_and_gradient, uses=("one action",)),
    ),
)

sampled_action = Claim(
    id="later-work.sampled-action",
    source="Entropy dynamics in reinforcement fine-tuning (arXiv 2602.03392), Theorem 3.3, corollary",
    title="What one sampled action does to entropy, and on average",
    scope="one tabular state, one sampled action or its mean, first order; judged: the theorem as "
          "quoted elsewhere",
    source_text="not in sources",
    statement=_statement,
    instances=bandit_instances(correct=False, step=True),
    mutants=(
        Mutant(name="the mean Sbar forgotten",
               statement=variant(_statement, margin=lambda i: _residuals(i, mean=0))),
        Mutant(name="sign flipped",
               statement=variant(_statement, margin=lambda i: _residuals(i, sign=1))),
    ),
)

# ---------------------------------------------------------------- the sign rule


def _falls(i: Cases, threshold: Margin, of_sample: bool = False) -> Reals:
    """Fall of entropy, up where the action is above the threshold and down where it is below."""
    p = ar.softmax(i.logits)
    rooms = []
    for k in range(i.logits.shape[-1]):
        direction = _unit(i, k) - p if of_sample else _unit(i, k)
        below = ar.less(threshold(i)[..., k], 0 * i.size)
        signed = np.where(below, -i.size, i.size)
        rooms.append(-ar.entropy_change(i.logits, ar.per_action(signed) * direction))
    return np.stack(rooms, axis=-1)


def _depth(i: Cases) -> Reals:
    """log pi_k + H: positive where pi_k > e^{-H}."""
    return ar.centered(ar.softmax(i.logits), i.logits)


def _over_uniform(i: Cases) -> Reals:
    """log pi_k + log n: positive where pi_k > 1/n."""
    return ar.log_softmax(i.logits) + ar.log_of(i.logits.shape[-1], like=i.logits)


def _bump() -> list[symbolic.Expression]:
    """Along dz/dt = e_k: dH/dt = -S_k, and s = log pi_k + H moves by (1 - pi_k) - pi_k s."""
    import sympy

    m = symbolic.Moments("L", indicators="A")
    log_p, a = m["L"], m["A"]
    mass, own_log = sympy.symbols("pi_k l_k")
    slope = m.derivative(-m.expect(log_p), a, {log_p: a - m.expect(a)})
    # E[1_k f] = pi_k f_k.
    own = {m.expect(a): mass, m.expect(a * log_p): mass * own_log}
    s = own_log - m.expect(log_p)
    moved = (1 - mass) + slope.subs(own)
    return [slope.subs(own) + mass * s, moved - ((1 - mass) - mass * s)]


_sign = Statement(
    latex=r"Bumping logit $k$ up lowers entropy, for every size, if $\pi_k \ge e^{-H}$; bumping it "
          r"down does if $\pi_k \le e^{-H}$; to first order the sign is that of $e^{-H}-\pi_k$.",
    margin=lambda i: _falls(i, _depth),
    proof=(
        symbolic.softmax_rule(),
        symbolic.identity("along a bump", "dH/dt = -pi_k s, ds/dt = (1 - pi_k) - pi_k s, "
                          "s = log pi_k + H", _bump, uses=("softmax rule",),
                          axioms=("E_pi[1_k f] = pi_k f_k",)),
        smt.lemma("no return", "where s = 0, s increases", "p s rate",
                  lambda v: [v.p > 0, v.p < 1, v.rate == (1 - v.p) - v.p * v.s, v.s == 0],
                  lambda v: v.rate > 0, uses=("along a bump",)),
        smt.lemma("assembly", "s keeps its sign (up: s >= 0, down: s <= 0), and dH/dt = -pi_k s has "
                  "the other, so H falls in the direction of the bump", "p s slope direction fall",
                  lambda v: [v.p > 0, v.slope == -v.p * v.s, v.fall == -v.direction * v.slope,
                             smt.any_of(smt.all_of(v.direction == 1, v.s >= 0),
                                        smt.all_of(v.direction == -1, v.s <= 0))],
                  lambda v: v.fall >= 0, uses=("along a bump", "no return"),
                  axioms=("a differentiable function that increases wherever it is zero keeps its "
                          "sign to the right of a point where it is >= 0, and to the left of one "
                          "where it is <= 0", MEAN_VALUE)),
    ),
)

sampled_action_sign = Claim(
    id="later-work.sampled-action-sign",
    source="Entropy dynamics in reinforcement fine-tuning (arXiv 2602.03392), Theorem 3.2",
    title="The sign rule pi_k against e^-H for one logit, at any step size",
    scope="one softmax policy, one logit, a step of any size; judged: the theorem as quoted elsewhere",
    source_text="not in sources",
    statement=_sign,
    instances=bandit_instances(SIZE, correct=False, actions=(2, 5)),
    mutants=(
        Mutant(name="threshold 1/n instead of e^-H",
               statement=variant(_sign, margin=lambda i: _falls(i, _over_uniform))),
        Mutant(name="a sampled action's step e_k - pi instead of a bump",
               statement=variant(_sign, margin=lambda i: _falls(i, _depth, of_sample=True))),
        Mutant(name="bumping up always lowers entropy",
               statement=variant(_sign, margin=lambda i: _falls(i, lambda j: 0 * j.logits))),
    ),
)
