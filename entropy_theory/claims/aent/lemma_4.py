r"""AEnt, Lemma 4: the performance difference of two policies, with entropy.

For any policies pi, pi', any lambda and any state,

    V'_lambda(s) - V_lambda(s) = sum over later states u of d'(u) ( sum_a pi'(a|u) {Q_lambda(u, a)
                                 - lambda log pi'(a|u)} - V_lambda(u) ),

d'(u) the probability that pi' passes through u from s. Exact; lambda = 0 is the usual lemma. Q_lambda
and V_lambda are those of pi, the logarithm is that of pi': with log pi instead the identity fails.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from entropy_theory.claims.aent.token_mdp import (
    ANY_COEFFICIENT,
    INDUCTION,
    ExplicitTree,
    regularized_value,
    regularized_values,
    spread,
    trees,
    written_out,
)
from entropy_theory.verification import Cases, Claim, Mutant, PrintedStep, Statement, symbolic
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.formula.statement import ANY
from entropy_theory.verification.instances import Vector

STEP = Vector(name="step", low=-4.0, high=4.0, grid=(0, 1, -1), range=ANY)


def _difference(i: Cases) -> Reals:
    return (regularized_value(i.logits + i.step, i.reward, i.coefficient)
            - regularized_value(i.logits, i.reward, i.coefficient))


def _right_side(i: Cases, own_log: bool = False, own_visits: bool = False) -> Reals:
    """The sum over states; with ``own_*`` the log-policy or visitation of pi is used by mistake."""
    tree, scale = ar.token_tree(i.logits), spread(i.coefficient, i.logits)
    values, with_bonus = regularized_values(i.logits, i.reward, i.coefficient)
    action_values = with_bonus + scale * ar.log_softmax(i.logits)
    moved = i.logits + i.step
    log_policy = ar.log_softmax(i.logits if own_log else moved)
    expected = ar.mean(ar.softmax(moved), action_values - scale * log_policy)
    visits = tree.visitation(ar.softmax(i.logits if own_visits else moved))
    return ar.total(visits * (expected - values))


def _one_level() -> symbolic.Expression:
    """At a state, under pi': reward e, log pi' = L; children's values W' (of pi') and W (of pi)."""
    import sympy

    m = symbolic.Moments("L e U W")
    lam, v = sympy.symbols("lambda V")
    difference = m.expect(m["e"] - lam * m["L"] + m["U"]) - v
    here = m.expect(m["e"] + m["W"] - lam * m["L"]) - v
    return difference - (here + m.expect(m["U"] - m["W"]))


def _all_levels() -> symbolic.Expression:
    """The hypothesis for the children: a later state u adds d'_a(u) g to U_a - W_a."""
    import sympy

    m = symbolic.Moments("L e W d")
    lam, v, g = sympy.symbols("lambda V g")
    after = m.expect(m["e"] - lam * m["L"] + m["W"] + m["d"] * g)
    here = m.expect(m["e"] + m["W"] - lam * m["L"]) - v
    return (after - v) - (here + m.expect(m["d"]) * g)


def _whole_tree(t: ExplicitTree) -> Iterable[symbolic.Rational]:
    # pi' is the tree's policy with log pi' = L; pi has the same symbols in other places: x as its
    # log-policy and the policy read from the last state to the first.
    tree = t.tree
    edge = tree.edge_reward(t.reward)
    other = t.policy[::-1]
    values, with_bonus = tree.values(other, edge - t.direction * t.coefficient)
    action_values = with_bonus + t.direction * t.coefficient
    after = tree.values(t.policy, edge - t.log_policy * t.coefficient)[0][0]
    gain = np.sum(t.policy * (action_values - t.log_policy * t.coefficient), axis=-1) - values
    yield after - values[0] - np.sum(tree.visitation(t.policy) * gain)


_statement = Statement(
    latex=r"$V_\lambda^{\pi'}(s) - V_\lambda^{\pi}(s) = \sum_t\mathbb E_{s_t\sim\pi'}\big[\sum_a"
          r"\pi'(a|s_t)\{Q_\lambda^{\pi}(s_t,a) - \lambda\log\pi'(a|s_t)\} - V_\lambda^{\pi}(s_t)"
          r"\big]$.",
    margin=lambda i: _difference(i) - _right_side(i),
    relation="==",
    proof=(
        symbolic.identity(
            "one level",
            "V' - V = E'[e + W - lambda log pi' - V] + E'[U - W], with U, W the children's values "
            "under pi' and pi, and Q_lambda = e + W",
            _one_level,
        ),
        symbolic.identity(
            "all levels", "if a later state u adds d'_a(u) g to U_a - W_a, it adds d'(u) g to V' - V, "
            "d'(u) = E'[d'_a(u)]: each later state counts once, weighted with d'",
            _all_levels, uses=("one level",), axioms=(INDUCTION,),
        ),
        written_out("difference, written out", "the same on whole trees", _whole_tree),
    ),
)

lemma_4 = Claim(
    id="aent.lemma-4",
    source="AEnt, Lemma 4 (A.17)",
    title="Performance difference with entropy",
    scope="token tree, any two policies, exact expectation",
    source_text="reconstructed",
    statement=_statement,
    instances=trees(ANY_COEFFICIENT, reward="graded", vectors=(STEP,), ascend=False, rewards=ANY),
    printed_proof=(
        PrintedStep(as_printed=symbolic.identity(
            "printed: A.18", "telescoping along the states that pi' visits", _one_level)),
    ),
    mutants=(
        Mutant(name="log pi instead of log pi'", statement=variant(
            _statement, margin=lambda i: _difference(i) - _right_side(i, own_log=True))),
        Mutant(name="states visited by pi instead of pi'", statement=variant(
            _statement, margin=lambda i: _difference(i) - _right_side(i, own_visits=True))),
    ),
)
