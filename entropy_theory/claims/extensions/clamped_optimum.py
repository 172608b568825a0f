r"""Extension of AEnt, Section 4.1: the optimum of AEnt's own objective is less biased, always.

One state, n tokens, m >= 1 right ones. AEnt's clamped entropy is that of the policy renormalized on its
own k likeliest tokens, a set that moves with the policy. For every policy

    E_pi[r] + lambda H~(pi) <= lambda log(m* e^{1/lambda} + k - m*),      m* = min(m, k),

approached by softmax(r/lambda) on k tokens that hold m* right ones (all others vanish). The optimum so
gives away B(k, m*) = (k - m*)/(m* e^{1/lambda} + k - m*), never more than the B(n, m) of the full bonus.

So the danger of clamping lies not in the optimum but on the way to it: a right token outside the kept
set gets no bonus (``aent.clamping-reduces-bias``). The bound is false for a kept set that does not move:
a policy can collect the reward outside and the entropy inside it.
"""

from __future__ import annotations

import numpy as np

from entropy_theory.claims.aent.clamping_reduces_bias import (
    MONOTONE,
    OPTIMUM,
    REMOVED,
    bias,
    kept_tokens,
)
from entropy_theory.claims.aent.lemma_5 import soft_optimum
from entropy_theory.claims.aent.token_mdp import COEFFICIENT
from entropy_theory.verification import Cases, Claim, Mutant, Statement, bandit_instances, smt
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import Step, variant


def objective(i: Cases, kept: np.ndarray) -> Reals:
    """E_pi[r] + lambda times the entropy of the policy renormalized on ``kept``."""
    policy, log_policy = ar.softmax(i.logits), ar.log_softmax(i.logits)
    mass = ar.total(policy, kept)
    clamped = np.log(mass) - ar.total(policy * log_policy, kept) / mass
    return ar.total(policy, i.correct) + i.coefficient * clamped


def _sizes(i: Cases) -> tuple[Reals, Reals, Reals, Reals]:
    """(n, m, k, m*)."""
    one = 0 * i.logits + ar.constant(1, like=i.logits)
    n, m = ar.total(one), ar.total(one, i.correct)
    k = ar.total(one, kept_tokens(i.logits, i.removed_fraction))
    return n, m, k, ar.minimum(m, k)


def _best(i: Cases, right: Reals | None = None) -> Reals:
    """lambda log(m* e^{1/lambda} + k - m*)."""
    _, _, k, m_star = _sizes(i)
    right = m_star if right is None else right
    return i.coefficient * np.log(right * np.exp(1 / i.coefficient) + k - right)


def _room(i: Cases) -> Reals:
    n, m, k, m_star = _sizes(i)
    kept = kept_tokens(i.logits, i.removed_fraction)
    less_biased = bias(n, m, i.coefficient) - bias(k, m_star, i.coefficient)
    return np.stack([_best(i) - objective(i, kept), less_biased], axis=-1)


def proof() -> tuple[Step, ...]:
    """Right tokens outside trade places with wrong ones inside; then Gibbs on the kept set."""
    return (
        smt.lemma(
            "trade places",
            "c = pi(kept), m' right tokens kept, m* - m' of the wrong kept ones relabeled right. A "
            "right token outside has at most c p_min, a relabeled one at least p_min given the kept "
            "set: E_pi[r] <= c E[r'] <= E[r'] given the kept set",
            "c inside outside m1 mstar pmin relabeled reward",
            lambda v: [v.c > 0, v.c <= 1, v.pmin >= 0, v.inside >= 0, v.m1 >= 0, v.mstar >= v.m1,
                       v.outside <= (v.mstar - v.m1) * v.c * v.pmin,
                       v.relabeled >= v.inside + (v.mstar - v.m1) * v.pmin,
                       v.reward == v.c * v.inside + v.outside],
            lambda v: v.reward <= v.relabeled,
            axioms=("no token outside a top set is likelier than one inside",
                    "for m > k relabel every kept token: E[r'] = 1 >= E_pi[r]"),
        ),
        *soft_optimum(),
        smt.lemma(
            "optimum", "E_pi[r] + lambda H~ <= E[r'] + lambda H~ = lambda log Z - lambda KL <= "
            "lambda log Z, Z = m* e^{1/lambda} + k - m*",
            "lam reward relabeled entropy logZ kl",
            lambda v: [v.lam > 0, v.kl >= 0, v.reward <= v.relabeled,
                       v.relabeled + v.lam * v.entropy == v.lam * v.logZ - v.lam * v.kl],
            lambda v: v.reward + v.lam * v.entropy <= v.lam * v.logZ,
            uses=("trade places", "soft optimum of a state", "divergence"),
        ),
        OPTIMUM,
        MONOTONE,
        smt.lemma(
            "assembly", "min(m, k)/k >= m/n for k <= n, so B(k, m*) <= B(n, m)",
            "m n k mstar rho1 rho2 E kept full value best",
            lambda v: [v.m >= 1, v.k >= 1, v.n >= v.k, v.n >= v.m, v.E > 1,
                       smt.any_of(smt.all_of(v.mstar == v.m, v.m <= v.k),
                                  smt.all_of(v.mstar == v.k, v.k <= v.m)),
                       v.rho1 * v.k == v.mstar, v.rho2 * v.n == v.m,
                       v.kept * (v.rho1 * v.E + 1 - v.rho1) == 1 - v.rho1,
                       v.full * (v.rho2 * v.E + 1 - v.rho2) == 1 - v.rho2,
                       MONOTONE.instance(rho1=v.rho1, rho2=v.rho2, E=v.E, B1=v.kept, B2=v.full),
                       v.value <= v.best],
            lambda v: smt.all_of(v.kept <= v.full, v.value <= v.best),
            uses=("optimum", "bias falls with density"),
        ),
    )


_statement = Statement(
    latex=r"$\mathbb E_\pi[r] + \lambda\tilde{\mathcal H}(\pi) \le \lambda\log(m^*e^{1/\lambda} + k - "
          r"m^*)$, $m^* = \min(m, k)$, and $B(k, m^*) \le B(n, m)$.",
    margin=_room,
    proof=proof(),
)

clamped_optimum = Claim(
    id="extension.clamped-optimum",
    source="Extension of AEnt, Section 4.1",
    title="The optimum of AEnt's clamped objective is no more biased than the full bonus's",
    scope="one tabular state, optimum of the regularized objective",
    statement=_statement,
    instances=bandit_instances(COEFFICIENT, REMOVED),
    mutants=(
        Mutant(name="a kept set that does not move", statement=variant(
            _statement, margin=lambda i: _best(i) - objective(i, _first_tokens(i)))),
        Mutant(name="only the right tokens that this policy keeps", statement=variant(
            _statement, margin=lambda i: _best(i, ar.total(
                0 * i.logits + ar.constant(1, like=i.logits),
                i.correct & kept_tokens(i.logits, i.removed_fraction)))
            - objective(i, kept_tokens(i.logits, i.removed_fraction)))),
    ),
)


def _first_tokens(i: Cases) -> np.ndarray:
    """The mask of as many tokens as are kept, but always of the first ones."""
    kept = kept_tokens(i.logits, i.removed_fraction)
    return np.arange(kept.shape[-1]) < np.sum(kept, axis=-1)[..., None]
