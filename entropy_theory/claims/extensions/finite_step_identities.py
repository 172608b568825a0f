r"""Extension: what a logit step does to entropy exactly, whatever its size.

pi' is proportional to pi e^d, w = pi'/pi = e^{d - psi} with psi = log E_pi[e^d], and pi_t to pi e^{td}.

    (E1)  H(pi') - H(pi) = -Cov_pi(w, log pi) - KL(pi' || pi)
    (E2)  H(pi') - H(pi) = -sum_a (pi'_a - pi_a) log pi'_a + KL(pi || pi')
    (E3)  H(pi') - H(pi) = -int_0^1 Cov_{pi_t}(log pi_t, d) dt
          KL(pi' || pi) = int_0^1 t Var_{pi_t}(d) dt

Exact, for every n and every step. The papers' first order is E1 with w replaced by 1 + d and the
divergence dropped. As KL(pi' || pi) >= 0, the part that E1 adds to the covariance with w always pushes
entropy down: H(pi') - H(pi) <= -Cov_pi(w, log pi), with equality only where the policy stays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from entropy_theory.claims.aepo.tempered_reinforce import SUM_OF_SIGNS
from entropy_theory.verification import (
    Cases,
    Claim,
    Mutant,
    Statement,
    bandit_instances,
    certify,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Real, Reals
from entropy_theory.verification.claim import Outcome, Step, variant
from entropy_theory.verification.formula.limits import for_every, has_derivative

FUNDAMENTAL = "fundamental theorem of calculus: f(1) - f(0) = int_0^1 f'(t) dt"
REWEIGHTING = "E_{pi'}[f] = E_pi[w f]"


def covariance_with_ratio(i: Cases) -> Reals:
    """Cov_pi(w, log pi)."""
    p = ar.softmax(i.logits)
    ratio = np.exp(ar.log_softmax(i.logits + i.step) - ar.log_softmax(i.logits))
    return ar.covariance(p, ratio, i.logits)


def divergence(from_logits: Reals, to_logits: Reals) -> Reals:
    """KL(softmax(from) || softmax(to))."""
    gap = ar.log_softmax(from_logits) - ar.log_softmax(to_logits)
    return ar.mean(ar.softmax(from_logits), gap)


def _residuals(i: Cases) -> Reals:
    """E1 and E2, left minus right side."""
    change, moved = ar.entropy_change(i.logits, i.step), i.logits + i.step
    difference = ar.softmax(moved) - ar.softmax(i.logits)
    first = change + covariance_with_ratio(i) + divergence(moved, i.logits)
    second = change + ar.total(difference * ar.log_softmax(moved)) - divergence(i.logits, moved)
    return np.stack([first, second], axis=-1)


def _on_the_way(i: Cases) -> tuple[Any, ...]:
    """E3 at every t: the slopes of H(pi_t) and of KL(pi_t || pi) along the step; KL(pi' || pi) >= 0."""
    def along(t: Real) -> Reals:
        return i.logits + ar.per_action(t) * i.step

    def entropy_slope(t: Real) -> Reals:
        return -ar.covariance(ar.softmax(along(t)), ar.log_softmax(along(t)), i.step)

    def divergence_slope(t: Real) -> Reals:
        return t * ar.covariance(ar.softmax(along(t)), i.step, i.step)

    return (
        for_every("t", (), lambda t: has_derivative(lambda s: ar.entropy(along(s)), t, entropy_slope(t))),
        for_every("t", (), lambda t: has_derivative(
            lambda s: divergence(along(s), i.logits), t, divergence_slope(t))),
        divergence(i.logits + i.step, i.logits) >= 0,
    )


def _moments() -> tuple[symbolic.Moments, *tuple[symbolic.Expression, ...]]:
    """(moments, L = log pi, L' = log pi', w, log w) with L' = L + d - psi."""
    import sympy

    m = symbolic.Moments("L d w")
    log_ratio = m["d"] - sympy.Symbol("psi")
    return m, m["L"], m["L"] + log_ratio, m["w"], log_ratio


def _normalized(m: symbolic.Moments, expression: symbolic.Expression) -> symbolic.Expression:
    """Return the expression with E_pi[w] set to 1."""
    return expression.subs({m.expect(m["w"]): 1})


def _first() -> symbolic.Expression:
    m, log_p, log_q, w, log_ratio = _moments()
    change = -m.expect(w * log_q) + m.expect(log_p)
    return _normalized(m, change + m.covariance(w, log_p) + m.expect(w * log_ratio))


def _second() -> symbolic.Expression:
    m, log_p, log_q, w, _ = _moments()
    change = -m.expect(w * log_q) + m.expect(log_p)
    return change + m.expect((w - 1) * log_q) - m.expect(log_p - log_q)


def _divergence_slope() -> symbolic.Expression:
    """KL(pi_t || pi) = t E_t[d] - psi(t) with psi' = E_t[d]."""
    import sympy

    m = symbolic.Moments("d")
    t, psi, d = sympy.Symbol("t"), sympy.Symbol("psi"), m["d"]
    path = t * m.expect(d) - psi
    rate = m.derivative(path, d, {t: sympy.Integer(1), psi: m.expect(d)})
    return rate - t * m.covariance(d, d)


def _integrals(seconds: float) -> tuple[Outcome, str]:
    """Both integrals of E3 by rigorous quadrature at one policy and step."""
    from flint import acb, arb

    weights, step = (1, 2, 4), (3, -1, 0)
    with certify.precision(128):
        logits = [arb(w).log() for w in weights]

        def parts(t: acb) -> tuple[acb, acb]:
            tilted = [(z + t * d).exp() for z, d in zip(logits, step, strict=True)]
            mass = sum(tilted[1:], tilted[0])
            p = [x / mass for x in tilted]
            mean_z = sum((q * (z + t * d) for q, z, d in zip(p, logits, step, strict=True)), acb(0))
            mean_d = sum((q * d for q, d in zip(p, step, strict=True)), acb(0))
            cross = sum((q * (z + t * d) * d for q, z, d in zip(p, logits, step, strict=True)), acb(0))
            square = sum((q * d * d for q, d in zip(p, step, strict=True)), acb(0))
            return cross - mean_z * mean_d, square - mean_d * mean_d

        fall = acb.integral(lambda t, _: parts(t)[0], 0, 1).real
        spread = acb.integral(lambda t, _: t * parts(t)[1], 0, 1).real
        start = np.array([logits], dtype=object)
        end = start + np.array([[arb(d) for d in step]], dtype=object)
        change = (ar.entropy(end) - ar.entropy(start))[0] + fall
        kl = divergence(end, start)[0] - spread
        good = all(r.contains(0) and r.rad() < 1e-25 for r in (change, kl))
        return ("pass" if good else "fail"), f"residuals {change.str(3)}, {kl.str(3)}"


def proof() -> tuple[Step, ...]:
    """E1, E2, E3 and the sign of the divergence, for every n."""
    return (
        symbolic.identity(
            "E1", "H(pi') - H(pi) = -Cov(w, log pi) - KL(pi' || pi), as log pi' = log pi + d - psi, "
            "log w = d - psi and E[w] = 1", _first, axioms=(REWEIGHTING,)),
        symbolic.identity(
            "E2", "H(pi') - H(pi) = -sum (pi' - pi) log pi' + KL(pi || pi')", _second,
            axioms=(REWEIGHTING,)),
        symbolic.softmax_rule(),
        symbolic.entropy_slope(statement="d/dt H(pi_t) = -Cov_{pi_t}(log pi_t, d)"),
        symbolic.identity("divergence slope", "d/dt KL(pi_t || pi) = t Var_{pi_t}(d)",
                          _divergence_slope, uses=("softmax rule",)),
        Step(name="integrals, enclosed",
             statement="both integrals of E3 at weights (1, 2, 4), d = (3, -1, 0), by ball quadrature",
             method="certify", check=_integrals, cross_check=True),
        smt.lemma(
            "divergence term", "pi (w log w - w + 1) >= 0; summed, as E[w] = 1: KL(pi' || pi) >= 0",
            "p w inverse log_inverse",
            lambda v: [v.p > 0, v.w > 0, v.w * v.inverse == 1, v.log_inverse <= v.inverse - 1],
            lambda v: v.p * (v.w * -v.log_inverse - v.w + 1) >= 0,
            axioms=("log y <= y - 1 for y > 0, at y = 1/w", SUM_OF_SIGNS),
        ),
        smt.lemma(
            "assembly", "the change is E1, equal to E2 and to the integral of its slope (E3), and at "
            "most -Cov(w, log pi); less than that where KL(pi' || pi) > 0", "change covariance kl",
            lambda v: [-v.covariance - v.kl == v.change, v.kl >= 0],
            lambda v: smt.all_of(v.change <= -v.covariance,
                                 smt.implies(v.kl > 0, v.change < -v.covariance)),
            uses=("E1", "E2", "entropy slope", "divergence slope", "divergence term"),
            axioms=(FUNDAMENTAL,),
        ),
    )


_statement = Statement(
    latex=r"$H(\pi')-H(\pi) = -\mathrm{Cov}_\pi(w,\log\pi)-\mathrm{KL}(\pi'\Vert\pi) = "
          r"-\sum_a(\pi'_a-\pi_a)\log\pi'_a+\mathrm{KL}(\pi\Vert\pi') = "
          r"-\int_0^1\mathrm{Cov}_{\pi_t}(\log\pi_t,d)\,dt$ for every step $d$, $w=\pi'/\pi$.",
    margin=_residuals,
    relation="==",
    beyond=_on_the_way,
    proof=proof(),
)


def _divergence_added(i: Cases) -> Reals:
    change = ar.entropy_change(i.logits, i.step)
    return change + covariance_with_ratio(i) - divergence(i.logits + i.step, i.logits)


def _divergence_swapped(i: Cases) -> Reals:
    change = ar.entropy_change(i.logits, i.step)
    return change + covariance_with_ratio(i) + divergence(i.logits, i.logits + i.step)


def _divergence_pushes_up(i: Cases) -> Reals:
    return ar.entropy_change(i.logits, i.step) + covariance_with_ratio(i)


finite_step_identities = Claim(
    id="extension.finite-step-identities",
    source="Extension of Entropy Mechanism, Lemma 1, and AEPO, Eq. 6",
    title="The entropy change of any finite step, exactly",
    scope="one softmax policy, one logit step of any size",
    statement=_statement,
    instances=bandit_instances(correct=False, step=True),
    mutants=(
        Mutant(name="the divergence added", statement=variant(_statement, margin=_divergence_added)),
        Mutant(name="KL(pi || pi') for KL(pi' || pi)",
               statement=variant(_statement, margin=_divergence_swapped)),
        Mutant(name="the divergence pushes entropy up",
               statement=variant(_statement, relation=">=", margin=_divergence_pushes_up)),
    ),
)
