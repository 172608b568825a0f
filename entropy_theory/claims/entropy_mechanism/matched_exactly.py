r"""Entropy Mechanism, abstract: "the values of covariance term and entropy differences matched exactly".

Exactly they never do, but for accidents: -eta Cov(log pi, pi A) is the first order of the entropy
difference (Theorem 1), and matches up to (1/4)(1 + log n) ||dz||^2. The simplest mismatch is the uniform
policy: the covariance is zero for every step, and entropy falls at every step that does anything.

What does match exactly, for every step dz, with w = pi'/pi = e^dz / E_pi[e^dz]:

    H(pi') - H(pi) = -Cov_pi(w, log pi) - KL(pi' || pi).

The printed covariance is the first term with w replaced by 1 + dz. The KL term only lowers entropy. In
training at a small learning rate the mismatch is a small fraction of the change (it is of second
order), which a plot does not show: the experiment measures it.
"""

from __future__ import annotations

import itertools

import numpy as np

from entropy_theory.claims.aepo.tempered_reinforce import LEARNING_RATE, SUM_OF_SIGNS, unit_step
from entropy_theory.verification import (
    Cases,
    Claim,
    Mutant,
    Statement,
    bandit_instances,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.experiment import experiment

STRICT_LOG_BOUND = "log y < y - 1 for y > 0 other than 1"


def _step(i: Cases) -> Reals:
    """eta pi A for a 0/1 reward: pi A = 1_{A*} pi - pi(A*) pi."""
    return ar.per_action(i.learning_rate) * unit_step(i.logits, i.correct)


def _change(i: Cases) -> Reals:
    """The difference of two entropies."""
    return ar.entropy(i.logits + _step(i)) - ar.entropy(i.logits)


def _covariance(i: Cases, x: Reals) -> Reals:
    return ar.covariance(ar.softmax(i.logits), ar.log_softmax(i.logits), x)


def _growth(i: Cases) -> tuple[Reals, Reals]:
    """(w, log w) with w = pi'/pi."""
    log_growth = ar.log_softmax(i.logits + _step(i)) - ar.log_softmax(i.logits)
    return np.exp(log_growth), log_growth


def _exact(i: Cases, sign: int = 1, reverse: bool = False) -> Reals:
    """H(pi') - H(pi) + Cov(w, log pi) + sign KL; with ``reverse`` the other divergence."""
    growth, log_growth = _growth(i)
    p = ar.softmax(i.logits)
    divergence = ar.mean(p, -log_growth if reverse else growth * log_growth)
    return _change(i) + _covariance(i, growth) + sign * divergence


def _linear(i: Cases) -> Reals:
    growth, log_growth = _growth(i)
    return _change(i) + _covariance(i, _step(i)) + ar.mean(ar.softmax(i.logits), growth * log_growth)


def _decomposition() -> symbolic.Expression:
    # W = pi'/pi, so E_pi'[f] = E_pi[W f], and log pi' = L + log W = L + l.
    m = symbolic.Moments("W L l")
    w, log_p, log_w = m["W"], m["L"], m["l"]
    change = -m.expect(w * (log_p + log_w)) + m.expect(log_p)
    # E[W] = 1 is used for the product E[W] E[L] of the covariance.
    covariance = m.expect(w * log_p) - 1 * m.expect(log_p)
    return change + covariance + m.expect(w * log_w)


def _normalized() -> symbolic.Expression:
    # w = e^x / E[e^x], with X for e^x.
    import sympy

    m = symbolic.Moments("X")
    total = sympy.Symbol("Z")
    return (m.expect(m["X"] / total) - 1).subs(total, m.expect(m["X"]))


def _flat_covariance() -> symbolic.Expression:
    # At the uniform policy log pi is a constant: -log n.
    import sympy

    m = symbolic.Moments("x")
    log_n = sympy.Symbol("log_n")
    return m.covariance(-log_n, m["x"])


def _mismatch() -> tuple[bool, str]:
    """Median of |difference + covariance| / |difference| for policy-gradient steps of three sizes."""
    generator = np.random.default_rng(0)
    logits = 2 * generator.standard_normal((1000, 50))
    correct = np.zeros(logits.shape, dtype=bool)
    correct[:, :5] = True
    direction = unit_step(logits, correct)
    direction /= np.sqrt(ar.total(direction**2))[:, None]
    p, log_p = ar.softmax(logits), ar.log_softmax(logits)
    medians = []
    for size in (0.1, 0.01, 0.001):
        change = ar.entropy_change(logits, size * direction)
        error = np.abs(change + ar.covariance(p, log_p, size * direction))
        medians.append(float(np.median(error / np.abs(change))))
    shown = 0.005 < medians[0] < 0.02 and all(8 < a / b < 12 for a, b in itertools.pairwise(medians))
    return shown, "median mismatch " + ", ".join(
        f"{100 * m:.2g} % at ||dz|| = {size:g}"
        for m, size in zip(medians, (0.1, 0.01, 0.001), strict=True))


_printed = Statement(
    latex=r"$\mathcal H(\pi^{k+1}) - \mathcal H(\pi^k) = -\eta\,\mathrm{Cov}_\pi(\log\pi, \pi A)$, "
          r"exactly, under the exact policy gradient.",
    margin=lambda i: _change(i) + _covariance(i, _step(i)),
    relation="==",
)

_exact_identity = Statement(
    latex=r"$\mathcal H(\pi') - \mathcal H(\pi) = -\mathrm{Cov}_\pi(\pi'/\pi, \log\pi) - "
          r"\mathrm{KL}(\pi'\|\pi)$, exactly, for every step.",
    margin=_exact,
    relation="==",
    proof=(
        symbolic.identity("normalization", "E_pi[w] = 1 for w = e^dz / E_pi[e^dz]", _normalized),
        symbolic.identity(
            "decomposition",
            "-E_pi[w (log pi + log w)] + E_pi[log pi] = -Cov_pi(w, log pi) - E_pi[w log w]",
            _decomposition, uses=("normalization",), axioms=("log of a product is the sum of the logs",),
        ),
    ),
)

matched_exactly = Claim(
    id="entropy-mechanism.matched-exactly",
    source="Entropy Mechanism, abstract",
    title="Covariance term and entropy difference match exactly",
    scope="one tabular state, exact expectation, one step",
    source_text="abstract",
    statement=_printed,
    instances=bandit_instances(LEARNING_RATE),
    repair=_exact_identity,
    repair_is="instead",
    repair_note=r"exact with $\pi'/\pi$ in place of $1 + \eta\pi A$ and with the term "
                r"$-\mathrm{KL}(\pi' \Vert \pi)$; as printed it is a first order, with the remainder of "
                "Theorem 1",
    negation=(
        symbolic.identity("flat covariance", "at the uniform policy Cov(log pi, dz) = 0 for every dz",
                          _flat_covariance),
        smt.lemma(
            "divergence term", "w log w > w - 1 where w is not 1; summed over actions, "
            "KL(pi' || pi) = E_pi[w log w] > E_pi[w - 1] = 0 unless pi' = pi",
            "p w y log_y",
            # y = 1/w, and log y = -log w.
            lambda v: [v.p > 0, v.w > 0, v.y * v.w == 1, smt.any_of(v.w < 1, v.w > 1),
                       v.log_y < v.y - 1],
            lambda v: v.p * v.w * -v.log_y > v.p * (v.w - 1),
            axioms=(STRICT_LOG_BOUND,),
        ),
        smt.lemma(
            "never at the uniform policy",
            "any n, any step that is not constant: the covariance is 0, the change is -KL < 0",
            "change covariance KL printed",
            lambda v: [v.change == -v.covariance - v.KL, v.covariance == 0, v.KL > 0, v.printed == 0],
            lambda v: v.change < v.printed,
            uses=("flat covariance", "divergence term"), axioms=(SUM_OF_SIGNS,),
        ),
    ),
    experiments=(
        experiment(
            "small steps",
            "1,000 random policies of 50 actions, 5 right: the mismatch of covariance and entropy "
            "difference is about 1 % of the change at ||dz|| = 0.1 and falls in proportion to ||dz||",
            _mismatch,
        ),
    ),
    mutants=(
        Mutant(name="KL with the wrong sign",
               statement=variant(_exact_identity, margin=lambda i: _exact(i, sign=-1))),
        Mutant(name="KL(pi || pi') instead of KL(pi' || pi)",
               statement=variant(_exact_identity, margin=lambda i: _exact(i, reverse=True))),
        Mutant(name="1 + dz instead of pi'/pi", statement=variant(_exact_identity, margin=_linear)),
    ),
)
