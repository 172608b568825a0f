r"""Extension of AEPO, responses of several tokens: no entropy above log(number of right responses).

The update is tempered REINFORCE on a token tree with exact expected steps. Responses are drawn at any
temperatures :math:`T_k` above some positive bound. Each right response adds the derivative of its
log-probability. The policy gradient (expected GRPO) may be added with any weight. A token is *viable*
at a state if some right response goes on from it. With :math:`W(s)` the tempered probability of passing
s and ending right, the logits at s move by

.. math::

    dz(s, a) = \eta (W(sa) - \pi(a|s) W(s)).

A nonviable logit never rises, as :math:`W(sa) = 0`. The sum of the viable logits never falls, as their
:math:`W(sa)` add up to :math:`W(s)`. So at every state the gap between the mean viable logit and each
nonviable one only grows. Sampling keeps a chance of ending right. Every state's nonviable mass,
weighted by the visits, vanishes. A right response becomes certain, and

.. math::

    \limsup_k H(\text{responses}) \le \log (\text{number of right responses}).

Per token this is the logarithm divided by the length. Where right responses are many, it does not
exclude a target of a quarter of a nat per token.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import LEARNING_RATE, TEMPERATURE
from entropy_theory.claims.entropy_mechanism.tree_rates import trees
from entropy_theory.token_tree import TokenTree
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import (
    STEPS,
    after,
    at_every_step,
    entry,
    equal,
    for_every,
    implies,
    limsup_at_most,
    tends_to,
)

LOWEST = vf.Scalar(name="lowest", low=0.05, high=1.0, grid=(Fraction(1, 2),), range=vf.POSITIVE)
"""The least temperature of a run."""


@vf.definition
def rewarded(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """W(sa): the probability of passing s, choosing a and ending right."""
    return ar.token_tree(logits).flow(ar.softmax(logits), indicator(correct, logits))


def indicator(correct: ar.Mask, logits: ar.Reals) -> ar.Reals:
    """1 for right responses, 0 for wrong ones."""
    kept: Any = np.where(correct, ar.constant(1, like=logits), ar.constant(0, like=logits))
    return kept


@vf.definition
def viable(logits: ar.Reals, correct: ar.Mask) -> ar.Mask:
    """Whether some right response goes on from a token."""
    right = ar.token_tree(logits).sum_through(indicator(correct, logits))
    return ar.less(0 * right, right)


@vf.definition
def tempered_step(logits: ar.Reals, correct: ar.Mask, temperature: ar.Reals) -> ar.Reals:
    """dz per unit learning rate, drawn at a temperature: W(sa) - pi(a|s) W(s)."""
    through = rewarded(logits / temperature[..., None, None], correct)
    return through - ar.per_action(ar.total(through)) * ar.softmax(logits)


@vf.definition
def policy_gradient(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """Return the same at T = 1: the gradient of the probability of a right response."""
    through = rewarded(logits, correct)
    return through - ar.per_action(ar.total(through)) * ar.softmax(logits)


@vf.definition
def success(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """The probability of a right response."""
    probabilities = ar.token_tree(logits).response_probabilities(ar.softmax(logits))
    return ar.total(probabilities * indicator(correct, logits))


def _room(i: vf.Cases) -> ar.Reals:
    """The gain of the viable sums and the loss of every nonviable logit, state by state."""
    going = viable(i.logits, i.correct)
    through = rewarded(i.logits / i.temperature[..., None, None], i.correct)
    # W(s) (1 - pi(viable|s)), without cancellation: it is the sum of the viable steps.
    gained = ar.total(through) * ar.total(ar.softmax(i.logits), ~going)
    step = tempered_step(i.logits, i.correct, i.temperature)
    return _several(gained, np.where(going, 0 * step, -step))


def _several(of_states: ar.Reals, of_edges: ar.Reals) -> ar.Reals:
    """Margins of states and of edges side by side."""
    if isinstance(of_states, vf.Term):
        return np.concatenate([of_states, of_edges], axis=-1)
    return np.concatenate([of_states, of_edges.reshape(*of_edges.shape[:-2], -1)], axis=-1)


def _long_term(i: Any) -> tuple[vf.Term, ...]:
    """The limit that the margins lead to: a right response becomes certain, for any temperatures.
    """
    step = tempered_step(i.logits, i.correct, i.temperature)
    gained = ar.total(np.where(viable(i.logits, i.correct), step, 0 * step))
    through = rewarded(i.logits / i.temperature[..., None, None], i.correct)
    going = viable(i.logits, i.correct)
    sums = equal(gained, ar.total(through) * ar.total(ar.softmax(i.logits), ~going))
    number = ar.total(indicator(i.correct, i.logits))

    def ends(path: vf.Term) -> vf.Term:
        certain = tends_to(lambda k: success(entry(path, k), i.correct), 1)
        low = limsup_at_most(lambda k: ar.response_entropy(entry(path, k)), np.log(number))
        return certain & low

    def follows(path: vf.Term, temperatures: vf.Term, weights: vf.Term) -> vf.Term:
        def one(k: vf.Term) -> vf.Term:
            z = entry(path, k)
            step = tempered_step(z, i.correct, entry(temperatures, k)) + entry(
                weights, k)[..., None, None] * policy_gradient(z, i.correct)
            return equal(entry(path, after(k)), z + i.learning_rate[..., None, None] * step)

        return at_every_step(one)

    return (sums, for_every(
        "temperatures", (STEPS,), lambda temperatures: for_every(
            "weights", (STEPS,), lambda weights: for_every(
                "path", (STEPS, vf.STATES, vf.ACTIONS),
                lambda path: implies(follows(path, temperatures, weights), ends(path))),
            given=lambda weights: at_every_step(lambda k: entry(weights, k) >= 0)),
        given=lambda temperatures: at_every_step(lambda k: entry(temperatures, k) >= i.lowest)))


def _each_viable_rises(i: vf.Cases) -> ar.Reals:
    step = tempered_step(i.logits, i.correct, i.temperature)
    kept = np.where(viable(i.logits, i.correct), step, 0 * step)
    return kept.reshape(*kept.shape[:-2], -1)


# ------------------------------------------------------------------ long runs


def long_run(seed: int, steps: int = 4000) -> tuple[float, float, float]:
    """(log number right, the last response entropy, the last failure probability)."""
    generator = np.random.default_rng(seed)
    tokens, length = ((2, 3), (3, 2), (4, 2))[seed % 3]
    tree = TokenTree(tokens, length)
    logits = generator.standard_normal((tree.n_states, tokens))
    correct = np.zeros(tree.n_responses, dtype=bool)
    chosen = generator.choice(tree.n_responses, size=int(generator.integers(2, 4)), replace=False)
    correct[chosen] = True
    going = correct[None]
    for k in range(steps):
        heat = np.array([1.5 if k % 3 else 0.8])
        logits = logits + 2.0 * tempered_step(logits[None], going, heat)[0]
    p = ar.softmax(logits[None])
    values, _ = tree.values(p, -ar.log_softmax(logits[None]))
    failure = 1 - float(tree.response_probabilities(p)[0] @ correct)
    return float(np.log(np.sum(correct))), float(values[0, 0]), failure


def _long_runs() -> tuple[bool, str]:
    found = [long_run(seed) for seed in range(6)]
    excess = max(entropy - ceiling for ceiling, entropy, _ in found)
    failure = max(f for _, _, f in found)
    return excess < 0.02 and failure < 0.005, (
        f"6 trees, 4,000 exact steps at T = 1.5 and 0.8: entropy at most {excess:.4f} above log N, "
        f"failure at most {failure:.4f}")


response_ceiling = vf.Claim(
    id="extension.response-ceiling",
    source="Extension of AEPO (exact expected dynamics on a token tree)",
    title="Response entropy ends at or below the log of the number of right responses (tabular tree)",
    scope="tabular token tree, exact expectation, one step, and so every one; the limit; "
          "entropy per response",
    statement=vf.Statement(
        latex=r"On a token tree, at every temperature, nonviable logits never rise and sums of viable "
              r"ones never fall; so under exact tempered REINFORCE at $T_k \ge T_{\min} > 0$ (with any "
              r"weight of the policy gradient beside it) a right response becomes certain and "
              r"$\limsup_k \mathcal H(\pi_k) \le \log N_{\mathrm{right}}$.",
        margin=_room,
        beyond=_long_term,
    ),
    instances=trees(TEMPERATURE, LEARNING_RATE, LOWEST),
    experiments=(
        vf.experiment("six trees", "random trees of 2 to 4 tokens with two or three right responses, "
                      "4,000 exact steps at alternating temperatures: entropy ends within "
                      "0.02 of log N or below, failure below 0.005", _long_runs),
    ),
    mutants=(
        vf.mutant("every viable logit rises, not only their sum", margin=_each_viable_rises),
    ),
)
