r"""AEnt, Proposition 2: an almost stationary regularized policy is almost optimal, up to a bias.

It is for a tabular softmax policy on token trees, with h tokens per response, a data set D,
:math:`\lambda > 0` and any returns.

.. math::

    \|\nabla V_\lambda(D)\|_2 \le \varepsilon\quad \text{ implies}

    V^*(q) - V(q) \le \varepsilon^2 / (2 \lambda C_\lambda(q)) + \lambda h \log(|A| / |A^*(q)|^{1/h})

It is Lemma 5 plus Lemma 6. It is true with the largest constant of Lemma 6,

.. math::

    C_\lambda(q) = (1/|D|^2) \min_s P(s)^2 \min_a \pi(a|s)^2 / P^*(s),

and so with the smaller constants there. The paper's constant is not readable, and any can be put in. It
is also true with :math:`4 \lambda` for :math:`2 \lambda` (`extension.soft-suboptimality`).

The bias is asymptotically the best possible (see the experiment of Lemma 5). But :math:`C_\lambda` is
at most the square of the probability of the least likely first token. The experiment draws random small
policies with one right response of two tokens or more. Most of them have a bound above the largest
possible gap, 1, at each of :math:`25 \lambda` from 0.01 to 10.

With 151,936 tokens and 1,000 of them per response, the bias alone exceeds 1 for
:math:`\lambda \ge 8.4 \cdot 10^{-5}`, whatever :math:`\varepsilon`. These :math:`\lambda` multiply a
sum of token entropies. AEnt's code takes their mean, so its 0.002 is 2e-6 here.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aent.lemma_5 import lemma_5
from entropy_theory.claims.aent.lemma_6 import INSTANCES, Constant, by_state
from entropy_theory.claims.aent.stationarity import entropy_bias, gap, square_of_soft_gradient
from entropy_theory.claims.aent.token_mdp import spread
from entropy_theory.token_tree import TokenTree
from entropy_theory.verification import arithmetic as ar

# ---------------------------------------------------------------- numbers


def room(
    i: vf.Cases, constant: Constant = by_state, bias_share: int = 1, power: int = 2, factor: int = 2,
) -> ar.Reals:
    """``eps^power - factor lambda C_lambda (gap - bias)`` for each prompt, with eps the norm
    itself.
    """
    bias = bias_share * entropy_bias(i.logits, i.reward, i.coefficient)
    excess = gap(i.logits, i.reward) - bias
    square = square_of_soft_gradient(i.logits, i.reward, i.coefficient)[..., None]
    scale = factor * spread(i.coefficient, excess) * constant(i)
    return (square if power == 2 else square * square) - scale * excess


def bound(i: vf.Cases, constant: Constant = by_state) -> ar.Reals:
    """The right side of the proposition, at eps = ||grad V_lambda(D)||."""
    square = square_of_soft_gradient(i.logits, i.reward, i.coefficient)[..., None]
    c_lambda = constant(i)
    first = square / (2 * spread(i.coefficient, c_lambda) * c_lambda)
    return first + entropy_bias(i.logits, i.reward, i.coefficient)


def random_policies(many: int, n_tokens: int, horizon: int, scale: float, seed: int) -> vf.Cases:
    """Gaussian logits with one right response, as a float batch without a coefficient."""
    generator, tree = np.random.default_rng(seed), TokenTree(n_tokens, horizon)
    reward = np.zeros((many, 1, tree.n_responses))
    reward[np.arange(many), 0, generator.integers(tree.n_responses, size=many)] = 1
    logits = scale * generator.standard_normal((many, 1, tree.n_states, n_tokens))
    return vf.Cases(logits=logits, reward=reward)


# ---------------------------------------------------------------- what it is worth

COEFFICIENTS = np.geomspace(0.01, 10, 25)


def _void() -> tuple[bool, str]:
    """Share of policies at which the bound is at least 1 for each of 25 coefficients."""
    found = []
    for n_tokens, horizon, scale in ((2, 1, 0.5), (2, 2, 0.5), (2, 3, 0.5), (3, 2, 0.5), (3, 2, 1.0)):
        batch = random_policies(1000, n_tokens, horizon, scale, seed=horizon)
        void = np.ones(1000, dtype=bool)
        for coefficient in COEFFICIENTS:
            with_coefficient = vf.Cases(**vars(batch), coefficient=np.full(1000, coefficient))
            void &= bound(with_coefficient)[:, 0] >= 1
        found.append((n_tokens, horizon, scale, float(np.mean(void))))
    shown = all(share > 0.95 for n, h, _, share in found if n**h >= 4)
    return shown, "; ".join(f"|A| = {n}, h = {h}, logits of size {s:g}: {share:.3f}"
                            for n, h, s, share in found)


def _language_model() -> tuple[bool, str]:
    from flint import arb

    log_responses = 1000 * arb(151936).log()
    large, code = arb("8.4e-5") * log_responses, arb("2e-6") * log_responses
    return bool(large > 1) and bool(code < 0.1), (
        f"bias {float(large.mid()):.4f} at lambda = 8.4e-5, {float(code.mid()):.4f} at 2e-6")


# lambda = 1 and logits equal to the returns: exactly stationary, eps = 0.
STATIONARY = {"logits": [[[1, 0]]], "reward": [[1, 0]], "coefficient": 1}
# The same for lambda = 1/2 and one right answer out of eight.
_EIGHT = {"logits": [[[2, 0, 0, 0, 0, 0, 0, 0]]], "reward": [[1, 0, 0, 0, 0, 0, 0, 0]],
          "coefficient": 0.5}

proposition_2 = vf.Claim(
    id="aent.proposition-2",
    source="AEnt, Proposition 2",
    reading=vf.Reading(
        "precise", "then given any query , the policy suboptimality on the query satisfies",
        "Proposition 2; its display is lost in the text"),
    title="A small regularized gradient bounds the suboptimality, up to the entropy bias",
    scope="tabular token trees, one a prompt, exact gradient",
    proof_text="reconstructed",
    statement=vf.Statement(
        latex=r"$\lVert\nabla V_\lambda^{\pi}(\mathcal D)\rVert_2 \le \epsilon$ implies, for every $q$, "
              r"$V^{*}(q) - V^{\pi}(q) \le \epsilon^2/(2\lambda C_\lambda(q)) + \lambda "
              r"h\log\frac{|\mathcal A|}{|\mathcal A^*(q)|^{1/h}}$, $C_\lambda(q) = |\mathcal "
              r"D|^{-2}\min_s P^\pi(s|q)^2\min_a\pi(a|s)^2/P^{\pi^*_\lambda}(s|q)$; with $\pi^*_\lambda "
              r"= \mathrm{softmax}(Q^*_\lambda/\lambda)$, and $\nabla V_\lambda$ by Lemma 3.",
        margin=room,
    ),
    instances=INSTANCES,
    witnesses=(STATIONARY, _EIGHT),
    experiments=(
        lemma_5.experiments[0],
        vf.experiment("void for every coefficient",
                      "1000 random policies have one right response of two tokens or more. For each of "
                      "25 lambda from 0.01 to 10, over 95 in 100 have a bound of at least 1, with eps "
                      "the norm of the gradient", _void),
        vf.experiment("bias of a language model", "|A| = 151,936, h = 1000, |A*| = 1: lambda h log|A| "
                      "exceeds 1 at lambda = 8.4e-5, and is below 0.1 at 2e-6 (certified)",
                      _language_model),
    ),
    mutants=(
        vf.mutant("C_lambda = 1: a small gradient alone is enough",
                  margin=lambda i: room(i, constant=lambda j: (1 + 0 * by_state(j)))),
    ),
)
