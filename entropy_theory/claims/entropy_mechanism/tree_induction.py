"""The induction that proves first-order rates on token trees of any vocabulary, depth and shape.

Along z + t x (x a number of each state and token) write u = x - E_s x, which is d log pi/dt. For an
edge e with Q(s, a) = e(s, a) + V(sa) and V(s) = E_s Q, the product rule at one state gives

    V'(s) = Cov_s(Q, x) + E_s[e'] + E_s[V'(child)],

and d(t|s) = pi(a|s) d(t|sa) unrolls it: V'(root) = sum_s d(s) (Cov_s(Q, x) + E_s[e']). With e the
reward this is the policy gradient theorem; with e = -log pi, V is the entropy-to-go H and

    d H_responses/dt = sum_s d(s) {-Cov_s(log pi, x) + Cov_s(H(child), x)}.

Every step of the induction is checked with symbols for what the children contribute, so it holds for
any vocabulary, depth and shape of tree; small complete trees are written out as a second check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from entropy_theory.token_tree import TokenTree
from entropy_theory.verification import Step, symbolic
from entropy_theory.verification.claim import Outcome

INDUCTION = "induction on the number of tokens left, with d(s|s) = 1 and d(t|s) = pi(a|s) d(t|sa)"
WRITTEN_OUT = ((2, 2), (3, 2), (2, 3))
"""(tokens, horizon) of the trees that are written out."""


def value_steps() -> tuple[Step, ...]:
    """The policy gradient theorem: dJ/dz_{s,a} = d(s) pi(a|s) A(s, a), for any tree."""
    return (
        symbolic.softmax_rule(),
        symbolic.identity(
            "one level", "V' = Cov_s(Q, x) + E_s[V'(child)], Q = r + V(child)", _one_level,
            uses=("softmax rule",),
        ),
        symbolic.identity("advantage", "Cov_s(Q, x) = sum_a pi_a A_a x_a with A = Q - E Q",
                          _advantage_form),
        symbolic.identity(
            "policy gradient",
            "V'(child) = sum_{t below} d(t|child) E_t[A x] for each child gives "
            "V'(s) = E_s[A x] + sum_{t below} d(t|s) E_t[A x]; so dJ/dz_{s,a} = d(s) pi(a|s) A(s, a)",
            _value_induction, uses=("one level", "advantage"), axioms=(INDUCTION,),
        ),
        written_out("policy gradient, written out", "the same on small trees, R(y) free",
                    _gradient_residuals),
    )


def entropy_steps() -> tuple[Step, ...]:
    """d H/dt = sum_s d(s) {-Cov_s(log pi, x) + Cov_s(H(child), x)}, for any tree."""
    return (
        symbolic.softmax_rule(),
        symbolic.identity(
            "entropy, one level",
            "H = E_s[-log pi + H(child)]: H' = -Cov_s(log pi, x) + Cov_s(H(child), x) "
            "+ E_s[H'(child)], as E_s[d log pi] = 0",
            _entropy_level, uses=("softmax rule",),
        ),
        symbolic.identity(
            "entropy rate",
            "with C_s = -Cov_s(log pi, x) + Cov_s(H(child), x): H'(child) = sum_{t below} d(t|child) "
            "C_t for each child gives H'(s) = C_s + sum_{t below} d(t|s) C_t",
            _entropy_induction, uses=("entropy, one level",), axioms=(INDUCTION,),
        ),
        written_out("entropy rate, written out", "the same on small trees, x free",
                    _entropy_residuals),
    )


def response_level_steps() -> tuple[Step, ...]:
    """What one token adds to the covariance of log pi(y) and sum_t (x_t - E x_t) over responses."""
    return (
        symbolic.identity(
            "centered sum", "E_y[sum_t (x_t - E x_t)] = 0 below every state", _centered_sum,
            axioms=(INDUCTION,),
        ),
        symbolic.identity(
            "responses, one level",
            "with l, X the sums of log pi and of u below: Cov_{y|s} = E_s[(log pi - H(child)) u] "
            "+ E_s[Cov_{y|child}(l, X)], as E[X|a] = 0 and E[l|a] = -H(child)",
            _response_level, uses=("centered sum",),
        ),
    )


def response_steps() -> tuple[Step, ...]:
    """d H/dt = -Cov_y(log pi(y), sum_t (x_t - E x_t)), for any tree; follows `entropy_steps`."""
    return (
        *response_level_steps(),
        symbolic.identity(
            "responses",
            "Cov_{y|child} = -H'(child) for each child gives Cov_{y|s} = -H'(s)",
            _response_induction, uses=("responses, one level", "entropy rate"), axioms=(INDUCTION,),
        ),
        written_out("responses, written out", "the same on small trees, x free",
                    _response_residuals),
    )


def _one_level() -> symbolic.Expression:
    # D is the derivative of V(child); the reward does not move.
    m = symbolic.Moments("r V x D")
    q = m["r"] + m["V"]
    slope = m.derivative(m.expect(q), m["x"], {m["V"]: m["D"]})
    return slope - m.covariance(q, m["x"]) - m.expect(m["D"])


def _advantage_form() -> symbolic.Expression:
    m = symbolic.Moments("Q x")
    return m.covariance(m["Q"], m["x"]) - m.expect((m["Q"] - m.expect(m["Q"])) * m["x"])


def _value_induction() -> list[symbolic.Expression]:
    # K(a) = sum_{t below} d(t|sa) E_t[A x] stands for V'(child): the hypothesis. After the last token
    # V is the reward itself, and K is zero.
    m = symbolic.Moments("r V x K")
    q = m["r"] + m["V"]

    def here(q: symbolic.Expression) -> symbolic.Expression:
        return m.expect((q - m.expect(q)) * m["x"])

    slope = m.derivative(m.expect(q), m["x"], {m["V"]: m["K"]})
    last = m.derivative(m.expect(m["r"]), m["x"], {})
    return [slope - (here(q) + m.expect(m["K"])), last - here(m["r"])]


def _entropy_slope(m: symbolic.Moments, below: symbolic.Expression) -> symbolic.Expression:
    """H' by the product rule on H = E_s[-log pi + W], where W = H(child) moves by ``below``."""
    moves = {m["L"]: m["x"] - m.expect(m["x"]), m["W"]: below}
    return m.derivative(m.expect(m["W"] - m["L"]), m["x"], moves)


def _entropy_level() -> symbolic.Expression:
    m = symbolic.Moments("L W x D")
    rate = m.covariance(m["W"], m["x"]) - m.covariance(m["L"], m["x"])
    return _entropy_slope(m, m["D"]) - (rate + m.expect(m["D"]))


def _entropy_induction() -> list[symbolic.Expression]:
    # K(a) = sum_{t below} d(t|sa) C_t stands for H'(child): the hypothesis. After the last token W = 0.
    m = symbolic.Moments("L W x K")
    log_p, x = m["L"], m["x"]
    here = m.covariance(m["W"], x) - m.covariance(log_p, x)
    last = m.derivative(-m.expect(log_p), x, {log_p: x - m.expect(x)})
    return [_entropy_slope(m, m["K"]) - (here + m.expect(m["K"])), last + m.covariance(log_p, x)]


def _centered_sum() -> list[symbolic.Expression]:
    import sympy

    # X = u(a) + X(child), and E[X(child)|a] = 0 is the hypothesis.
    m = symbolic.Moments("W x")
    sums = sympy.symbols("l X")
    u = m["x"] - m.expect(m["x"])
    return [conditional(m, u + sums[1], 0, sums), m.expect(u)]


def conditional(
    m: symbolic.Moments, product: symbolic.Expression, below: symbolic.Expression,
    sums: tuple[symbolic.Expression, symbolic.Expression],
) -> symbolic.Expression:
    """E_s of a polynomial in l and X, given E[l|a] = -W, E[X|a] = 0 and E[l X|a] = ``below``."""
    import sympy

    l_sum, x_sum = sums
    expected = 0
    for (i, j), coefficient in sympy.Poly(sympy.expand(product), l_sum, x_sum).terms():
        expected += coefficient * {(0, 0): 1, (1, 0): -m["W"], (0, 1): 0, (1, 1): below}[i, j]
    return m.expect(expected)


def _response_level() -> symbolic.Expression:
    import sympy

    m = symbolic.Moments("L W x K")
    sums = sympy.symbols("l X")
    u = m["x"] - m.expect(m["x"])
    # The sum of u has mean zero, so the covariance is the mean of the product.
    whole = conditional(m, (m["L"] + sums[0]) * (u + sums[1]), m["K"], sums)
    return whole - (m.expect((m["L"] - m["W"]) * u) + m.expect(m["K"]))


def _response_induction() -> list[symbolic.Expression]:
    import sympy

    # D(a) is H'(child); the hypothesis is that Cov_{y|child} = -D. After the last token X = l = 0.
    m = symbolic.Moments("L W x D")
    sums = sympy.symbols("l X")
    u = m["x"] - m.expect(m["x"])
    whole = conditional(m, (m["L"] + sums[0]) * (u + sums[1]), -m["D"], sums)
    last = m.derivative(-m.expect(m["L"]), m["x"], {m["L"]: u})
    return [whole + _entropy_slope(m, m["D"]), m.expect(m["L"] * u) + last]


class WrittenOutTree:
    """A small complete tree in polynomials: p(a|s), log p(a|s), x(s, a) and R(y) are symbols.

    dp_a/dz_b = p_a (1[a = b] - p_b) and d log p_a/dz_b = 1[a = b] - p_b; the last probability of a
    state is one minus the others.

    Attributes:
        tree: its shape; p, log_p, x: [states, tokens]; reward: [responses].
    """

    def __init__(self, n_tokens: int, horizon: int) -> None:
        from sympy import QQ
        from sympy.polys.rings import ring

        self.tree = TokenTree(n_tokens, horizon)
        shape = (self.tree.n_states, n_tokens)
        free, n = shape[0] * (n_tokens - 1), shape[0] * n_tokens
        names = [f"{letter}{k}" for letter, count in
                 (("p", free), ("L", n), ("x", n), ("R", self.tree.n_responses))
                 for k in range(count)]
        _, *symbols = ring(names, QQ)

        def array(values: list[symbolic.Rational], rows: tuple[int, ...]) -> np.ndarray:
            out = np.empty(len(values), dtype=object)
            out[:] = values
            return out.reshape(rows)

        self.free = array(symbols[:free], (shape[0], n_tokens - 1))
        last = 1 - np.sum(self.free, axis=-1)
        self.p = np.concatenate([self.free, last[:, None]], axis=-1)
        self.log_p = array(symbols[free:free + n], shape)
        self.x = array(symbols[free + n:free + 2 * n], shape)
        self.reward = array(symbols[free + 2 * n:], (self.tree.n_responses,))

    def derivative(self, f: symbolic.Rational, state: int, token: int) -> symbolic.Rational:
        """df/dz_{state, token}."""
        result: symbolic.Rational = 0
        for a in range(self.tree.n_tokens):
            log_rate = (1 if a == token else 0) - self.p[state, token]
            result = result + f.diff(self.log_p[state, a]) * log_rate
            if a < self.tree.n_tokens - 1:
                result = result + f.diff(self.free[state, a]) * self.p[state, a] * log_rate
        return result

    def along(self, f: symbolic.Rational) -> symbolic.Rational:
        """df/dt when dz/dt = x."""
        return sum(self.derivative(f, s, a) * self.x[s, a]
                   for s, a in np.ndindex(*self.x.shape))

    def covariances(self, y: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Cov_s(y, x) [states]."""
        def mean(f: np.ndarray) -> np.ndarray:
            return np.sum(self.p * f, axis=-1)

        return mean(y * x) - mean(y) * mean(x)

    def centered(self, x: np.ndarray) -> np.ndarray:
        """x - E_s x."""
        return x - np.sum(self.p * x, axis=-1)[:, None]

    def response_covariance(self, x: np.ndarray) -> symbolic.Rational:
        """Cov_y(log pi(y), sum_t (x_t - E x_t))."""
        probabilities = self.tree.response_probabilities(self.p)
        return np.sum(probabilities * self.tree.sum_along(self.log_p)
                      * self.tree.sum_along(self.centered(x)))

    def entropy(self) -> symbolic.Rational:
        """-sum_y pi(y) log pi(y), from the responses."""
        return -np.sum(self.tree.response_probabilities(self.p) * self.tree.sum_along(self.log_p))


def _gradient_residuals(w: WrittenOutTree) -> Iterable[symbolic.Rational]:
    value = np.sum(w.tree.response_probabilities(w.p) * w.reward)
    expected = w.tree.expectation_gradient(w.p, w.tree.edge_reward(w.reward))
    return (w.derivative(value, s, a) - expected[s, a] for s, a in np.ndindex(*w.x.shape))


def _entropy_residuals(w: WrittenOutTree) -> Iterable[symbolic.Rational]:
    _, action_values = w.tree.values(w.p, -w.log_p)
    rates = w.covariances(action_values, w.x)
    yield w.along(w.entropy()) - np.sum(w.tree.visitation(w.p) * rates)


def _response_residuals(w: WrittenOutTree) -> Iterable[symbolic.Rational]:
    yield w.along(w.entropy()) + w.response_covariance(w.x)
    yield np.sum(w.tree.response_probabilities(w.p) * w.tree.sum_along(w.centered(w.x)))


def written_out(
    name: str, statement: str, residuals: Callable[[WrittenOutTree], Iterable[symbolic.Rational]]
) -> Step:
    """A second check of an identity on trees: every residual is the zero polynomial on small ones."""

    def check(seconds: float) -> tuple[Outcome, str]:
        for n_tokens, horizon in WRITTEN_OUT:
            found = list(residuals(WrittenOutTree(n_tokens, horizon)))
            if not found:
                return "error", "there is no residual to check"
            for residual in found:
                if residual != 0:
                    return "fail", f"{n_tokens} tokens, horizon {horizon}: {residual}"
        shown = ", ".join(f"{n} tokens x {h}" for n, h in WRITTEN_OUT)
        return "pass", f"zero on complete trees written out: {shown}"

    return Step(name=name, statement=statement, method="symbolic", check=check, cross_check=True)
