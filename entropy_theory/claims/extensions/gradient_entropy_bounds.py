r"""Extension of AEnt, Proposition 1 (I): how far entropy bounds the policy gradient, with best constants.

For every tree of responses of any length, any number of tokens, returns R(y) in [0, 1] and tabular
softmax logits, with V the expected return and H the entropy of the response:

    ||grad V||_1 <= H/(2 log 2),   ||grad V||_2 <= H/(2 sqrt2 log 2),   ||grad V||_inf <= H/(4 log 2).

No constant is smaller: equality holds for one token, pi = (1/2, 1/2), R = (1, 0). In bits the first one
reads ||grad V||_1 <= H/2. AEnt prints the constant 2. (Means over prompts only average both sides.)

Proof. The gradient's block at a state s is d(s) v, v_a = pi_a (Q_a - V). Let P = pi(Q > V). The positive
entries of v add up to m, the negative ones to -m, and m <= P (1 - P), as 0 <= Q <= 1. So ||v||_1 = 2m,
||v||_2 <= sqrt2 m, ||v||_inf <= m. The entropy H(s) is at least that of the event Q > V, and

    h(P) = -P log P - (1 - P) log(1 - P) >= 4 log 2 P (1 - P)

since the difference f vanishes at 0 and 1/2, f'(1/2) = 0, and f is concave, then convex on [0, 1/2].
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from entropy_theory.claims.aent.token_mdp import gradient_steps, trees, value
from entropy_theory.claims.aepo.tempered_reinforce import SUM_OF_SIGNS
from entropy_theory.verification import (
    Cases,
    Claim,
    Mutant,
    Statement,
    Step,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.formula.limits import has_gradient
from entropy_theory.verification.formula.terms import Term, computed_by, definition
from entropy_theory.verification.instances import Margin

Norm = Callable[[tuple[symbolic.Expression, ...]], symbolic.Expression]

# ---------------------------------------------------------------- numbers


def _careful_gradient(logits: Reals, reward: Reals) -> Reals:
    """Values are those of the regret, and differences are taken pair by pair.

    So a nearly deterministic policy keeps its small gradient.
    """
    tree, policy = ar.token_tree(logits), ar.softmax(logits)
    regret = reward - ar.largest(reward)[..., None]
    _, action_values = tree.values(policy, tree.edge_reward(regret))
    return tree.visitation(policy)[..., None] * policy * ar.centered(policy, action_values)


@definition
@computed_by(_careful_gradient)
def value_gradient(logits: Reals, reward: Reals) -> Reals:
    """grad V, at each state and token: d(s) pi(a|s) (Q(s, a) - V(s))."""
    tree = ar.token_tree(logits)
    return tree.expectation_gradient(ar.softmax(logits), tree.edge_reward(reward))


def is_gradient(i: Cases) -> tuple[Term, ...]:
    """`value_gradient` is the gradient of the expected return."""
    return (has_gradient(lambda z: value(z, i.reward), i.logits,
                         value_gradient(i.logits, i.reward)),)


def is_gradient_over_prompts(i: Cases) -> tuple[Term, ...]:
    """The same over prompts: `value_gradient` over |D| is the gradient of the mean return V(D)."""
    prompts = i.logits.shape[-3]

    def mean_return(logits: Reals) -> Reals:
        return np.sum(value(logits, i.reward), axis=-1) / prompts

    return (has_gradient(mean_return, i.logits, value_gradient(i.logits, i.reward) / prompts),)


@definition
def l1_norm(gradient: Reals) -> Reals:
    """The sum of the absolute values over states and tokens."""
    return np.sum(np.sum(np.abs(gradient), axis=-1), axis=-1)


@definition
def square_of_l2_norm(gradient: Reals) -> Reals:
    """The sum of squares over states and tokens."""
    return np.sum(np.sum(gradient * gradient, axis=-1), axis=-1)


@definition
def linf_norm(gradient: Reals) -> Reals:
    """The largest absolute value of a state and token."""
    return ar.largest(ar.largest(np.abs(gradient)))


def room_l1(i: Cases, share: float = 1) -> Reals:
    """H - share * 2 log 2 ||grad V||_1."""
    norm = l1_norm(value_gradient(i.logits, i.reward))
    return ar.response_entropy(i.logits) - share * 2 * ar.log_of(2, like=norm) * norm


def room_l2(i: Cases, share: float = 1) -> Reals:
    """H^2 - (share * 2 sqrt2 log 2 ||grad V||_2)^2."""
    square = square_of_l2_norm(value_gradient(i.logits, i.reward))
    return ar.response_entropy(i.logits) ** 2 - share**2 * 8 * ar.log_of(2, like=square) ** 2 * square


def room_linf(i: Cases, share: float = 1) -> Reals:
    """H - share * 4 log 2 ||grad V||_inf."""
    norm = linf_norm(value_gradient(i.logits, i.reward))
    return ar.response_entropy(i.logits) - share * 4 * ar.log_of(2, like=norm) * norm


# ---------------------------------------------------------------- proof


def _balance() -> symbolic.Expression:
    # B = 1{Q > V}: the entries of v on B and off B add up to zero.
    m = symbolic.Moments("Q", indicators="B")
    q, b = m["Q"], m["B"]
    return m.expect(b * (q - m.expect(q))) + m.expect((1 - b) * (q - m.expect(q)))


def _mass() -> symbolic.Expression:
    m = symbolic.Moments("Q", indicators="B")
    q, b = m["Q"], m["B"]
    return m.expect(b * (q - m.expect(q))) - (m.expect(b * q) - m.expect(b) * m.expect(q))


def _grouping() -> symbolic.Expression:
    import sympy

    # log pi = log P + r on the event and log(1 - P) + s off it.
    m = symbolic.Moments("r s")
    p, log_p, log_q = sympy.symbols("P log_P log_(1-P)")
    whole = -p * m.expect(log_p + m["r"]) - (1 - p) * m.expect(log_q + m["s"])
    parts = -p * log_p - (1 - p) * log_q + p * -m.expect(m["r"]) + (1 - p) * -m.expect(m["s"])
    return whole - parts


def _difference() -> tuple[symbolic.Expression, symbolic.Expression, symbolic.Expression]:
    """f(p) = h(p) - 4 log 2 p (1 - p): its second derivative, and the data at 1/2."""
    import sympy

    p = sympy.symbols("p", positive=True)
    f = (-p * sympy.log(p) - (1 - p) * sympy.log(1 - p) - 4 * sympy.log(2) * p * (1 - p))
    half = sympy.Rational(1, 2)
    return (
        sympy.simplify(sympy.diff(f, p, 2) * p * (1 - p) - (8 * sympy.log(2) * p * (1 - p) - 1)),
        sympy.simplify(f.subs(p, half)),
        sympy.simplify(sympy.diff(f, p).subs(p, half)),
    )


_mass_bound = smt.lemma(
    "mass bound", "m = E[B Q] - P V <= P (1 - P), as 0 <= Q <= 1 gives E[B Q] <= P and V >= E[B Q]",
    "m S P V",
    lambda v: [v.m == v.S - v.P * v.V, v.P >= 0, v.P <= 1, v.S <= v.P, v.V >= v.S, v.S >= 0],
    lambda v: v.m <= v.P * (1 - v.P),
    uses=("balance", "mass"), axioms=(SUM_OF_SIGNS,),
)
_one_sign = smt.lemma(
    "curvature changes sign once",
    "with k = 8 log 2, k p (1 - p) - 1 is negative below a point of [0, 1/2] and positive above it",
    "p q k",
    lambda v: [v.k > 0, v.p > 0, v.p <= v.q, 2 * v.q <= 1, v.k * v.q * (1 - v.q) <= 1],
    lambda v: v.k * v.p * (1 - v.p) <= 1,
    uses=("difference",),
)
_tangent = smt.lemma(
    "right of the inflection", "f is convex: f(p) >= f(1/2) + f'(1/2)(p - 1/2) = 0", "f f_half slope p",
    lambda v: [v.f_half == 0, v.slope == 0, v.f >= v.f_half + v.slope * (2 * v.p - 1) / 2],
    lambda v: v.f >= 0,
    uses=("difference", "curvature changes sign once"),
    axioms=("a convex function lies above its tangents",),
)
_chord = smt.lemma(
    "left of the inflection",
    "f is concave, f(0) = 0 and f(p1) >= 0 at the point p1: f(p) >= (p/p1) f(p1) >= 0",
    "f p p1 f0 f1",
    lambda v: [v.p >= 0, v.p <= v.p1, v.p1 > 0, v.f0 == 0, v.f1 >= 0,
               v.f * v.p1 >= v.p * v.f1 + (v.p1 - v.p) * v.f0],
    lambda v: v.f >= 0,
    uses=("curvature changes sign once", "right of the inflection"),
    axioms=("a concave function lies above its chords", "p log p tends to 0 as p does"),
)
_binary = smt.lemma(
    "binary entropy", "h(P) >= 4 log 2 P (1 - P) on [0, 1], both sides being even about 1/2",
    "h P f L",
    lambda v: [v.f == v.h - 4 * v.L * v.P * (1 - v.P), v.f >= 0],
    lambda v: v.h >= 4 * v.L * v.P * (1 - v.P),
    uses=("right of the inflection", "left of the inflection"),
)
_grouped = smt.lemma(
    "entropy of an event", "H(s) >= h(P): what is left in the groups is not negative",
    "H h P H1 H2",
    lambda v: [v.P >= 0, v.P <= 1, v.H1 >= 0, v.H2 >= 0,
               v.h + v.P * v.H1 + (1 - v.P) * v.H2 == v.H],
    lambda v: v.h <= v.H,
    uses=("grouping",),
)
_state = smt.lemma(
    "one state", "4 log 2 d(s) m <= d(s) H(s)", "m S P V h f L H H1 H2 d",
    lambda v: [
        v.L > 0, v.d >= 0, v.P >= 0, v.P <= 1, v.S >= 0, v.S <= v.P, v.V >= v.S, v.f >= 0,
        v.m == v.S - v.P * v.V, v.H1 >= 0, v.H2 >= 0, v.f == v.h - 4 * v.L * v.P * (1 - v.P),
        v.h + v.P * v.H1 + (1 - v.P) * v.H2 == v.H,
        _mass_bound.instance(m=v.m, S=v.S, P=v.P, V=v.V),
        _binary.instance(h=v.h, P=v.P, f=v.f, L=v.L),
        _grouped.instance(H=v.H, h=v.h, P=v.P, H1=v.H1, H2=v.H2),
    ],
    lambda v: 4 * v.L * v.d * v.m <= v.d * v.H,
    uses=("mass bound", "binary entropy", "entropy of an event"),
)
_entry = smt.lemma(
    "one entry", "an entry x of nonnegative numbers with sum m: x <= m and x^2 <= m x, so that the "
    "largest is at most m and the sum of squares at most m^2",
    "x others m",
    lambda v: [v.x >= 0, v.others >= 0, v.m == v.x + v.others],
    lambda v: smt.all_of(v.x <= v.m, v.x * v.x <= v.m * v.x),
    axioms=(SUM_OF_SIGNS,),
)


def bound_steps() -> tuple[Step, ...]:
    """Steps to 4 log 2 sum_s d(s) m_s <= H, with m_s the positive mass of the block at s."""
    return (
        *gradient_steps(),
        symbolic.identity(
            "balance", "with B = {Q > V}: sum_B v + sum_{not B} v = 0, v = pi (Q - V) the block of "
            "the gradient at a state over d(s)", _balance, uses=("all levels",),
        ),
        symbolic.identity("mass", "m = sum_B v = E[B Q] - P V, with P = pi(B)", _mass),
        _mass_bound,
        symbolic.identity(
            "grouping", "H(s) = h(P) + P H(. | B) + (1 - P) H(. | not B)", _grouping,
            axioms=("log of a product is the sum of the logs",),
        ),
        _grouped,
        symbolic.identity(
            "difference", "f = h(p) - 4 log 2 p (1 - p) has f'' p (1 - p) = 8 log 2 p (1 - p) - 1, "
            "f(1/2) = 0 and f'(1/2) = 0", _difference,
        ),
        _one_sign, _tangent, _chord, _binary, _state,
    )


def _equality(norm: Norm) -> Callable[[], symbolic.Expression]:
    """The residual constant * H - norm of the gradient at pi = (1/2, 1/2), R = (1, 0)."""

    def residual() -> symbolic.Expression:
        import sympy

        half = sympy.Rational(1, 2)
        value = half * 1 + half * 0
        block = (half * (1 - value), half * (0 - value))
        return norm(block) - sympy.log(2)

    return residual


def _best(times: str, norm: Norm) -> Step:
    step = symbolic.identity(
        "no smaller constant", f"{times} = log 2 = H at one token, pi = (1/2, 1/2), R = (1, 0)",
        _equality(norm))
    return dataclasses.replace(step, cross_check=True)


# ---------------------------------------------------------------- claims

INSTANCES = trees(reward="graded")
_HALF = {"weights": [[1, 1]], "reward": [1, 0]}


def _statement(norm: str, constant: str, room: Margin, last: Step, best: Step) -> Statement:
    return Statement(
        latex=rf"For returns in $[0, 1]$: $\lVert\nabla V\rVert_{{{norm}}} \le {constant}\,"
              r"\mathcal H(\pi)$.",
        margin=room,
        beyond=is_gradient,
        proof=(*bound_steps(), *((_entry,) if norm != "1" else ()), last, best),
    )


def _claim(name: str, title: str, statement: Statement, room: Callable[..., Reals],
           wrong: Mutant) -> Claim:
    return Claim(
        id=f"extension.gradient-entropy-{name}",
        source="Extension of AEnt, Proposition 1 (I)",
        title=title,
        scope="tabular token tree, returns in [0, 1], exact gradient, entropy per response",
        statement=statement,
        instances=INSTANCES,
        witnesses=(_HALF,),
        mutants=(
            Mutant(name="a constant one percent smaller",
                   statement=variant(statement, margin=lambda i: room(i, share=1.01))),
            wrong,
        ),
    )


def _last_token_entropy(i: Cases) -> Reals:
    """The entropy of the last token only, in place of that of the response."""
    tree = ar.token_tree(i.logits)
    last = tree.levels[-1]
    visits = tree.visitation(ar.softmax(i.logits))[..., last]
    return np.sum(visits * ar.entropy(i.logits[..., last, :]), axis=-1)


def _mutant_last_token(statement: Statement) -> Mutant:
    def margin(i: Cases) -> Reals:
        norm = l1_norm(value_gradient(i.logits, i.reward))
        return _last_token_entropy(i) - 2 * ar.log_of(2, like=norm) * norm

    return Mutant(name="the entropy of the last token only",
                  statement=variant(statement, margin=margin))


def _mutant_reverse(statement: Statement, power: int) -> Mutant:
    def margin(i: Cases) -> Reals:
        gradient = value_gradient(i.logits, i.reward)
        norm = l1_norm(gradient) if power == 1 else square_of_l2_norm(gradient)
        return 100**power * norm - ar.response_entropy(i.logits) ** power

    return Mutant(name="the other way: a large entropy forces a gradient of a hundredth of it",
                  statement=variant(statement, margin=margin))


_l1 = _statement(
    "1", r"\frac{1}{2\log 2}", room_l1,
    smt.lemma(
        "l1 norm", "||grad V||_1 = 2 sum_s d(s) m_s, so 2 log 2 ||grad V||_1 <= H",
        "N T L H", lambda v: [v.N == 2 * v.T, 4 * v.L * v.T <= v.H],
        lambda v: 2 * v.L * v.N <= v.H, uses=("one state", "balance"), axioms=(SUM_OF_SIGNS,),
    ),
    _best("2 log 2 ||grad V||_1", lambda b: 2 * _log_2() * sum(abs(x) for x in b)),
)
_l2 = _statement(
    "2", r"\frac{1}{2\sqrt2\log 2}", room_l2,
    smt.lemma(
        "l2 norm", "per state ||v||_2^2 <= 2 m^2; over states a sum of squares is at most the square "
        "of the sum: ||grad V||_2^2 <= 2 T^2, T = sum_s d(s) m_s, so 8 (log 2)^2 ||grad V||^2 <= H^2",
        "N2 T L H", lambda v: [v.L > 0, v.T >= 0, v.N2 <= 2 * v.T * v.T, 4 * v.L * v.T <= v.H],
        lambda v: 8 * v.L * v.L * v.N2 <= v.H * v.H,
        uses=("one state", "one entry", "balance"), axioms=(SUM_OF_SIGNS,),
    ),
    _best("2 sqrt2 log 2 ||grad V||_2",
          lambda b: _root(8) * _log_2() * _root(sum(x * x for x in b))),
)
_linf = _statement(
    r"\infty", r"\frac{1}{4\log 2}", room_linf,
    smt.lemma(
        "largest entry", "an entry is at most d(s) m_s, hence at most T = sum_s d(s) m_s",
        "N T L H", lambda v: [v.L > 0, v.N <= v.T, 4 * v.L * v.T <= v.H],
        lambda v: 4 * v.L * v.N <= v.H,
        uses=("one state", "one entry", "balance"), axioms=(SUM_OF_SIGNS,),
    ),
    _best("4 log 2 ||grad V||_inf", lambda b: 4 * _log_2() * max(abs(x) for x in b)),
)


def _log_2() -> symbolic.Expression:
    import sympy

    return sympy.log(2)


def _root(x: symbolic.Expression) -> symbolic.Expression:
    import sympy

    return sympy.sqrt(x)


gradient_entropy_l1 = _claim(
    "l1", "Entropy bounds the l1 norm of the policy gradient, constant 1/(2 log 2)", _l1, room_l1,
    _mutant_last_token(_l1))
gradient_entropy_l2 = _claim(
    "l2", "Entropy bounds the l2 norm of the policy gradient, constant 1/(2 sqrt2 log 2)", _l2,
    room_l2, _mutant_reverse(_l2, 2))
gradient_entropy_linf = _claim(
    "linf", "Entropy bounds the largest entry of the policy gradient, constant 1/(4 log 2)", _linf,
    room_linf, _mutant_reverse(_linf, 1))
