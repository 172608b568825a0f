r"""Extension of AEPO and the Entropy Mechanism to shared parameters: when the tabular sign survives.

Logits of many states depend on shared parameters with the Jacobian J; the parameters make a step along
J^T g, where g is what the step would be in a table. With the kernel K = J J^T and G the gradient of the
(weighted) entropy of the states in the logits, entropy moves at the rate

    <G, K g> = sum_{s,s'} G_s^T K_{ss'} g_{s'},

where a table has c <G, g>. The two differ by at most |(K - c I) g| |G|, so that

    ||K - c I|| |G| |g| < c |<G, g>|   implies that they have the same sign.

That is the orthonormality of logit gradients which AEPO assumes (B.4), made quantitative: how far from
it a network may be for a theorem about tables to say which way its entropy goes. Searched with the
Frobenius norm, which is at least the operator norm; proved for any k with |(K - c I) x| <= k |x|.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hypothesis import strategies as st

from entropy_theory.verification import (
    Cases,
    Claim,
    Condition,
    Instances,
    Mutant,
    Statement,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.instances import Batch, Instance, sample_logits


def _flat(values: Reals) -> Reals:
    """[B, states, actions] as [B, states x actions]."""
    return values.reshape(*values.shape[:-2], -1)


def kernel(i: Cases) -> Reals:
    """K = J J^T, [B, logits, logits]; the Jacobian is [B, logits, parameters]."""
    return np.sum(i.jacobian[..., :, None, :] * i.jacobian[..., None, :, :], axis=-1)


def entropy_slope(i: Cases) -> Reals:
    """G: the gradient of the summed entropy of the states, [B, logits]."""
    return _flat(ar.entropy_gradient(i.logits))


def rate(i: Cases) -> Reals:
    """<G, K g>."""
    moved = np.sum(kernel(i) * _flat(i.step)[..., None, :], axis=-1)
    return ar.total(entropy_slope(i) * moved)


def tabular_rate(i: Cases) -> Reals:
    """<G, g>: the rate of a table, per unit c."""
    return ar.total(entropy_slope(i) * _flat(i.step))


def scale(i: Cases) -> Reals:
    """c: the mean of the kernel's diagonal."""
    size = i.jacobian.shape[-2]
    return np.sum(np.sum(i.jacobian * i.jacobian, axis=-1), axis=-1) / size


def defect(i: Cases, diagonal: bool = True) -> Reals:
    """||K - c I||_F^2, or the sum of the squares off the diagonal."""
    k = kernel(i)
    same: Mask = np.eye(k.shape[-1], dtype=bool)
    c = np.asarray(scale(i))[..., None, None]
    gap = np.where(same, k - c if diagonal else 0 * k, k)
    return np.sum(np.sum(gap * gap, axis=-1), axis=-1)


def _norm(values: Reals) -> Reals:
    return ar.total(values * values)


def _room(i: Cases, diagonal: bool = True) -> Reals:
    """c^2 <G, g>^2 - ||K - c I||^2 |G|^2 |g|^2."""
    bound = defect(i, diagonal) * _norm(entropy_slope(i)) * _norm(_flat(i.step))
    return scale(i) ** 2 * tabular_rate(i) ** 2 - bound


def _same_sign(i: Cases) -> Reals:
    return rate(i) * tabular_rate(i)


CLOSE = Condition(latex=r"$\lVert K - cI\rVert\,|G|\,|g| < c\,|\langle G, g\rangle|$", value=_room)


# ------------------------------------------------------------------ instances


def _sample(generator: np.random.Generator, size: int) -> Batch:
    states, actions = int(generator.integers(1, 4)), int(generator.integers(2, 5))
    n = states * actions
    logits = sample_logits(generator, size * states, actions).reshape(size, states, actions)
    noise = np.exp(generator.uniform(-6, 1, (size, 1, 1))) * generator.standard_normal((size, n, n))
    jacobian = np.exp(generator.uniform(-1, 1, (size, 1, 1))) * (np.eye(n) + noise / np.sqrt(n))
    p = np.exp(logits - logits.max(axis=-1, keepdims=True))
    p = p / p.sum(axis=-1, keepdims=True)
    # Half of the steps go along the entropy's gradient, up to noise, where the condition is met.
    depth = -p * (np.log(np.maximum(p, 1e-300)) - np.sum(p * np.log(np.maximum(p, 1e-300)), axis=-1,
                                                         keepdims=True))
    free = generator.standard_normal(logits.shape)
    share = generator.choice([0.0, 0.1, 1.0], size=(size, 1, 1))
    sign = generator.choice([-1.0, 1.0], size=(size, 1, 1))
    return {"logits": logits, "jacobian": jacobian, "step": sign * depth + share * 0.1 * free}


def _enumerate(largest_total: int) -> Iterator[Batch]:
    """Two states of two actions; the identity with one shared entry."""
    weights, jacobians, steps = [], [], []
    for largest in range(2, max(2, largest_total // 4) + 1):
        for w in ((1, largest), (largest, 1)):
            for entry in range(16):
                for value in (0.25, -0.25):
                    for step in ((1, 0, 0, 0), (0, 1, 0, 0), (1, -1, 0, 0), (1, -1, -1, 1)):
                        matrix = np.eye(4)
                        matrix[divmod(entry, 4)] += value
                        weights.append([w, (1, 2)])
                        jacobians.append(matrix)
                        steps.append(np.reshape(step, (2, 2)))
    yield {"weights": np.array(weights), "jacobian": np.array(jacobians),
           "step": np.array(steps, dtype=float)}


@st.composite
def _networks(draw: st.DrawFn) -> Instance:
    states, actions = draw(st.integers(1, 2)), draw(st.integers(2, 3))
    n = states * actions
    small = st.floats(-0.25, 0.25, allow_subnormal=False)

    def table(entry: st.SearchStrategy[float], rows: int, columns: int) -> list[list[float]]:
        row = st.lists(entry, min_size=columns, max_size=columns)
        return draw(st.lists(row, min_size=rows, max_size=rows))

    share = draw(st.sampled_from((0.0, 0.05, 0.5)))
    noise = np.array(table(small, n, n))
    return {
        "weights": table(st.integers(1, 12).map(int), states, actions),
        "jacobian": (np.eye(n) + share * noise).tolist(),
        "step": table(st.one_of(st.sampled_from((0.0, 1.0, -1.0)), st.floats(
            -2, 2, allow_subnormal=False)), states, actions),
    }


INSTANCES = Instances(
    strategy=_networks(), sample=_sample, enumerate=_enumerate, movable=("logits", "jacobian", "step"),
    families="1-3 states of 2-4 actions, as many parameters as logits; Jacobians from the identity to "
             "noise, steps along the entropy's gradient and free ones",
)


# ------------------------------------------------------------------ proof


def _split() -> symbolic.Expression:
    import sympy

    # <G, K g> = c <G, g> + <G, (K - c I) g>, linear in g.
    rate_, tabular, c = sympy.symbols("rate tabular c")
    return rate_ - (c * tabular + (rate_ - c * tabular))


_proof = (
    symbolic.identity("split", "<G, K g> = c <G, g> + <G, (K - c I) g>", _split),
    smt.lemma(
        "same sign", "rate - c tabular = e with e^2 <= ||K - c I||^2 |G|^2 |g|^2 < c^2 tabular^2 gives "
        "rate tabular > 0", "rate tabular c e bound",
        lambda v: [v.c >= 0, v.rate == v.c * v.tabular + v.e, v.e * v.e <= v.bound,
                   v.bound < v.c * v.c * v.tabular * v.tabular],
        lambda v: v.rate * v.tabular > 0,
        uses=("split",), axioms=("Cauchy-Schwarz, twice: for G and (K - c I) g, and for each row",),
    ),
)

_statement = Statement(
    latex=r"If $\lVert K - cI\rVert\,|G|\,|g| < c\,|\langle G, g\rangle|$, the entropy's rate "
          r"$\langle G, K g\rangle$ under shared parameters has the sign of the tabular one, "
          r"$\langle G, g\rangle$.",
    margin=_same_sign,
    relation=">",
    conditions=(CLOSE,),
    proof=_proof,
)

kernel_sign = Claim(
    id="extension.kernel-sign",
    source="Extension of AEPO, Assumption B.4, and Entropy Mechanism, Theorem 1 (any parametrization)",
    title="The tabular sign of the entropy change survives a kernel close to a multiple of the identity",
    scope="any differentiable parametrization, several states, first order",
    statement=_statement,
    instances=INSTANCES,
    mutants=(
        Mutant(name="the condition dropped", statement=variant(_statement, conditions=())),
        Mutant(name="only the kernel off its diagonal counts",
               statement=variant(_statement, conditions=(Condition(
                   latex="only the kernel off its diagonal counts",
                   value=lambda i: _room(i, diagonal=False)),))),
        Mutant(name="a defect four times as large",
               statement=variant(_statement, conditions=(Condition(
                   latex="a defect four times as large",
                   value=lambda i: (4 * scale(i) * tabular_rate(i)) ** 2 - defect(i) * _norm(
                       entropy_slope(i)) * _norm(_flat(i.step))),))),
    ),
)
