r"""AEnt, Lemma 5: the bias that an entropy bonus brings.

For a prompt q, m = |A*_h(q)| optimal responses among |A|^h, lambda > 0 and any policy pi,

    V*(q) - V^pi(q) <= V_lambda^{pi*_lambda}(q) - V_lambda^pi(q) + lambda log(|A|^h / m),

with pi*_lambda the maximizer of V_lambda; pi = pi*_lambda gives the plain bias bound
V* - V^{pi*_lambda} <= lambda (h log|A| - log m). Exact. The display (A.32) is not readable; the form
with two policies is the one that Proposition 2 needs, the plain one follows.

Proof: V*_lambda = lambda log sum_y e^{R(y)/lambda} >= V* + lambda log m, and V_lambda^pi - V^pi =
lambda H(pi) <= lambda h log|A|. The bound cannot be improved by a constant factor: with k = (|A|^h -
m)/m wrong responses to a right one and 0/1 returns the bias is exactly k/(e^{1/lambda} + k), and with
lambda = 1/(c log k), c < 1 and c -> 1, k -> inf its ratio to the bound tends to 1.
"""

from __future__ import annotations

import numpy as np

from entropy_theory.claims.aent.token_mdp import (
    COEFFICIENT,
    INDUCTION,
    nonnegative_divergence,
    optimal_value,
    regularized_value,
    regularized_values,
    returns,
    soft_policy,
    soft_value_at,
    trees,
    value,
)
from entropy_theory.verification import Cases, Claim, Mutant, PrintedStep, Statement, smt, symbolic
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Real, Reals
from entropy_theory.verification.certify import precision
from entropy_theory.verification.claim import Step, variant
from entropy_theory.verification.experiment import experiment
from entropy_theory.verification.formula.limits import for_every
from entropy_theory.verification.formula.terms import (
    ACTIONS,
    STATES,
    Term,
    computed_by,
    definition,
)
from entropy_theory.verification.instances import Margin


def log_sizes(i: Cases) -> tuple[Real, Reals]:
    """(h log|A|, log m)."""
    tree = ar.token_tree(i.logits)
    return (tree.horizon * ar.log_of(tree.n_tokens, like=i.logits),
            np.log(ar.total(returns(i.correct, i.logits))))


def _careful_gap(logits: Reals, reward: Reals, coefficient: Reals) -> Reals:
    own, _ = regularized_values(logits, reward, coefficient)
    return soft_value_at(logits, reward, coefficient)[..., 0] - own[..., 0]


@definition
@computed_by(_careful_gap)
def soft_gap(logits: Reals, reward: Reals, coefficient: Reals) -> Reals:
    """V_lambda^{pi*_lambda} - V_lambda^pi."""
    best = regularized_value(soft_policy(logits, reward, coefficient), reward, coefficient)
    return best - regularized_value(logits, reward, coefficient)


@definition
def true_gap(logits: Reals, reward: Reals) -> Reals:
    """V* - V^pi."""
    return optimal_value(reward) - value(logits, reward)


def plain_bias(i: Cases) -> Reals:
    """V* - V^{pi*_lambda}: the value that the regularized optimum gives away."""
    reward = returns(i.correct, i.logits)
    return true_gap(soft_policy(i.logits, reward, i.coefficient), reward)


def _room(i: Cases, bias: Margin | None = None) -> Reals:
    """Right minus left side: the form with two policies, and the plain one."""
    log_all, log_optimal = log_sizes(i)
    reward = returns(i.correct, i.logits)
    found = i.coefficient * (log_all - log_optimal) if bias is None else bias(i)
    return np.stack([
        soft_gap(i.logits, reward, i.coefficient) + found - true_gap(i.logits, reward),
        found - plain_bias(i),
    ], axis=-1)


def _largest_value(i: Cases) -> tuple[Term, ...]:
    """pi*_lambda is the maximizer of V_lambda."""
    reward = returns(i.correct, i.logits)
    best = soft_policy(i.logits, reward, i.coefficient)
    return (for_every("policy", (STATES, ACTIONS), lambda z: regularized_value(
        z, reward, i.coefficient) <= regularized_value(best, reward, i.coefficient)),)


def soft_optimum() -> tuple[Step, ...]:
    """lambda log sum e^{Q/lambda} is the largest E[Q - lambda log pi], attained at the softmax."""
    return (
        nonnegative_divergence(),
        symbolic.identity(
            "soft optimum of a state",
            "E_pi[Q - lambda log pi] = lambda log Z - lambda KL(pi || softmax(Q/lambda)), "
            "Z = sum_a e^{Q_a/lambda}",
            _gibbs, axioms=("log softmax(Q/lambda) = Q/lambda - log Z",),
        ),
    )


def _gibbs() -> symbolic.Expression:
    import sympy

    m = symbolic.Moments("L Q")
    lam, log_z = sympy.symbols("lambda logZ", positive=True)
    divergence = m.expect(m["L"] - (m["Q"] / lam - log_z))
    return m.expect(m["Q"] - lam * m["L"]) - (lam * log_z - lam * divergence)


def _entropy_above_uniform() -> symbolic.Expression:
    """log A - H = KL(pi || uniform), with log of the uniform probability = -log A."""
    import sympy

    m, log_a = symbolic.Moments("L"), sympy.Symbol("logA")
    return (log_a - m.expect(-m["L"])) - m.expect(m["L"] - (-log_a))


_states = soft_optimum()
_chain = smt.lemma(
    "bias", "V* - V <= V*_lambda - V_lambda + lambda (h log|A| - log m)",
    "lam V best soft own H log_all log_m",
    lambda v: [v.lam > 0, v.own == v.V + v.lam * v.H, v.log_all >= v.H,
               v.soft >= v.best + v.lam * v.log_m],
    lambda v: v.best - v.V <= v.soft - v.own + v.lam * (v.log_all - v.log_m),
    uses=("optimal responses", "entropy of a response"), axioms=("V_lambda = V + lambda H",),
)

_statement = Statement(
    latex=r"$V^{\pi^*}(q) - V^{\pi}(q) \le V_\lambda^{\pi^*_\lambda}(q) - V_\lambda^{\pi}(q) + "
          r"\lambda H\log\frac{|\mathcal A|}{|\mathcal A^*_H(q)|^{1/H}}$; for $\pi = \pi^*_\lambda$ "
          r"the first difference on the right is zero.",
    margin=_room,
    beyond=_largest_value,
    proof=(
        *_states,
        symbolic.identity(
            "sum over responses",
            "if V*_lambda(sa) = lambda log Z_a, Z_a the sum of e^{R(y)/lambda} below token a, then "
            "V*_lambda(s) = lambda log sum_a e^{V*_lambda(sa)/lambda} = lambda log sum_a Z_a",
            lambda: _one_level_of_sums(), uses=("soft optimum of a state", "divergence"),
            axioms=(INDUCTION, "V*_lambda is the largest V_lambda: level by level, "
                    "E_pi[Q - lambda log pi] increases with Q"),
        ),
        smt.lemma(
            "optimal responses", "sum_y e^{R/lambda} >= m e^{V*/lambda}, so "
            "V*_lambda >= V* + lambda log m",
            "Z top m rest lam logZ logTop logM soft best",
            lambda v: [v.top > 0, v.m >= 1, v.rest >= 0, v.m * v.top + v.rest == v.Z, v.lam > 0,
                       smt.implies(v.m * v.top <= v.Z, v.logZ >= v.logM + v.logTop),
                       v.soft == v.lam * v.logZ, v.best == v.lam * v.logTop],
            lambda v: v.soft >= v.best + v.lam * v.logM,
            uses=("sum over responses",), axioms=("log is increasing, log(ab) = log a + log b",),
        ),
        symbolic.identity("entropy of a token", "log|A| - H(pi(.|s)) = KL(pi || uniform)",
                          _entropy_above_uniform, uses=("divergence",)),
        smt.lemma(
            "entropy of a response",
            "H_to(s) = H(pi(.|s)) + E[H_to(s.)] <= log|A| + (levels below) log|A|",
            "token later to_go log_a below kl",
            lambda v: [v.log_a > 0, v.kl >= 0, v.log_a - v.token == v.kl, v.below >= 0,
                       v.later <= v.below * v.log_a, v.to_go == v.token + v.later],
            lambda v: v.to_go <= (v.below + 1) * v.log_a,
            uses=("entropy of a token",), axioms=(INDUCTION, "a mean is at most the largest value"),
        ),
        _chain,
    ),
)


def _one_level_of_sums() -> symbolic.Expression:
    """A state's value from its children's, one token after another: Z_a is added to the sum so far."""
    import sympy

    lam, before, token = sympy.symbols("lambda Z_before Z_a", positive=True)
    child = lam * sympy.log(token)
    return lam * sympy.log(before + sympy.exp(child / lam)) - lam * sympy.log(before + token)


def _tight() -> tuple[bool, str]:
    """Bias over bound at 0/1 returns, one right response, lambda = 1/(c log k)."""
    from flint import arb

    ratios = []
    with precision(256):
        for tokens, length, c in ((151936, 100, 0.99), (151936, 1000, 0.999)):
            log_k = (arb(tokens) ** length - 1).log()
            lam = 1 / (arb(c) * log_k)
            bias = 1 / (1 + (1 / lam - log_k).exp())
            ratios.append(bias / (lam * arb(tokens).log() * length))
        shown = bool(ratios[0] > 0.98) and bool(ratios[1] > 0.998)
        return shown, ", ".join(f"{float(r.mid()):.4f}" for r in ratios)


def _harmful_coefficient() -> tuple[bool, str]:
    """lambda = 1/log k gives away half of the value; that is 8.4e-5 for 1000 tokens out of 151,936."""
    from flint import arb

    with precision(256):
        log_k = (arb(151936) ** 1000 - 1).log()
        lam = 1 / log_k
        # What is left of the value 1 is 1/(1 + k e^{-1/lambda}).
        half = 1 / (1 + (log_k - 1 / lam).exp())
        rest = 1 / (1 + (log_k - 1 / (10 * lam)).exp())
        shown = bool(abs(half - 0.5) < 1e-30) and bool(rest < arb(10) ** -4000)
        return shown, f"lambda = {float(lam.mid()):.3e}: bias 1/2; ten times that: 1 - {rest.str(3)}"


lemma_5 = Claim(
    id="aent.lemma-5",
    source="AEnt, Lemma 5 (A.32)",
    title="Bias of the entropy-regularized optimum",
    scope="token tree, any policy, exact expectation",
    source_text="reconstructed",
    statement=_statement,
    instances=trees(COEFFICIENT),
    printed_proof=(
        PrintedStep(as_printed=smt.lemma(
            "printed: A.33 to A.38",
            "optimality of pi*_lambda against the uniform policy u on the optimal responses, "
            "H(u) = log m, H <= h log|A|",
            "lam best soft Vu Hu own V H log_all log_m",
            lambda v: [v.lam > 0, v.soft >= v.Vu + v.lam * v.Hu, v.Vu == v.best, v.Hu == v.log_m,
                       v.own == v.V + v.lam * v.H, v.log_all >= v.H],
            lambda v: v.best - v.V <= v.soft - v.own + v.lam * (v.log_all - v.log_m))),
    ),
    experiments=(
        experiment("tight", "bias/bound exceeds 0.98 (100 tokens, c = 0.99) and 0.998 (1000 tokens, "
                   "c = 0.999) with a vocabulary of 151,936 and one right response", _tight),
        experiment("harmful coefficient", "151,936^1000 responses, one right: lambda = 1/log k "
                   "gives away half of the value, ten times that all of it", _harmful_coefficient),
    ),
    mutants=(
        Mutant(name="the horizon is dropped: lambda log(|A|/m)", statement=variant(
            _statement, margin=lambda i: _room(i, lambda j: j.coefficient * (
                log_sizes(j)[0] / ar.token_tree(j.logits).horizon - log_sizes(j)[1])))),
        Mutant(name="log m counted twice", statement=variant(
            _statement, margin=lambda i: _room(i, lambda j: j.coefficient * (
                log_sizes(j)[0] - 2 * log_sizes(j)[1])))),
        Mutant(name="no bias", statement=variant(
            _statement, margin=lambda i: _room(i, lambda j: 0 * j.coefficient))),
    ),
)
