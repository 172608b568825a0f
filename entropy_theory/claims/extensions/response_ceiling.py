r"""Extension of AEPO: for responses of several tokens, tempered REINFORCE cannot hold entropy above the
logarithm of the number of right responses.

A token tree, exact expected steps: responses are drawn at any temperature T_k from some positive one on,
each right one adds the derivative of its log-probability, and the policy gradient (expected GRPO) may
be added with any weight. A token is *viable* at a state if some right response goes on from it. With
W(s) the tempered probability of passing s and ending right, the logits at s move by

    dz(s, a) = eta (W(sa) - pi(a|s) W(s)).

A nonviable logit never rises, as W(sa) = 0; the sum of the viable ones never falls, as their W(sa) add
up to W(s). So at every state the gap between the mean viable logit and each nonviable one only grows,
sampling keeps a chance of ending right, and every state's nonviable mass, weighted by the visits,
vanishes: a right response becomes certain, and

    limsup_k H(responses) <= log (number of right responses).

Per token that is the logarithm divided by the length: a target of a quarter of a nat per token is not
excluded by it where right responses are many.
"""

from __future__ import annotations

import numpy as np

from entropy_theory.claims.aepo.tempered_reinforce import LEARNING_RATE, SUM_OF_SIGNS, TEMPERATURE
from entropy_theory.claims.entropy_mechanism.tree_rates import trees
from entropy_theory.token_tree import TokenTree
from entropy_theory.verification import (
    Cases,
    Claim,
    Mutant,
    Statement,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.experiment import experiment


def viable(correct: Mask, logits: Reals) -> Mask:
    """[..., states, tokens]: whether some right response goes on from the token."""
    tree = ar.token_tree(logits)
    counts = tree.flow(np.ones((tree.n_states, tree.n_tokens)), correct.astype(float))
    return counts > 0


def rewarded(logits: Reals, correct: Mask, temperature: Reals) -> Reals:
    """W(sa): the tempered probability of passing s, choosing a and ending right."""
    tree = ar.token_tree(logits)
    one = 0 * logits[..., :1, :1] + ar.constant(1, like=logits)
    right = np.where(correct, one[..., 0], 0 * one[..., 0])
    return tree.flow(ar.softmax(logits / np.asarray(temperature)[..., None, None]), right)


def tempered_step(logits: Reals, correct: Mask, temperature: Reals) -> Reals:
    """dz per unit learning rate: W(sa) - pi(a|s) W(s)."""
    through = rewarded(logits, correct, temperature)
    return through - ar.per_action(ar.total(through)) * ar.softmax(logits)


def _room(i: Cases) -> Reals:
    """What the viable sums gain and what every nonviable logit loses, state by state."""
    going = viable(i.correct, i.logits)
    step = tempered_step(i.logits, i.correct, i.temperature)
    through = rewarded(i.logits, i.correct, i.temperature)
    # W(s) (1 - pi(viable)) without cancellation: the sum of the viable steps.
    gained = ar.total(through) * ar.total(ar.softmax(i.logits), ~going)
    lost = np.where(going, 0 * step, -step)
    return np.concatenate([gained, lost.reshape(*lost.shape[:-2], -1)], axis=-1)


def _each_viable_rises(i: Cases) -> Reals:
    step = tempered_step(i.logits, i.correct, i.temperature)
    kept = np.where(viable(i.correct, i.logits), step, 0 * step)
    return kept.reshape(*kept.shape[:-2], -1)


def _entropy_now(i: Cases) -> Reals:
    """log(number right) minus the response entropy after one step: only the limit obeys it."""
    tree = ar.token_tree(i.logits)
    moved = i.logits + np.asarray(i.learning_rate)[..., None, None] * tempered_step(
        i.logits, i.correct, i.temperature)
    values, _ = tree.values(ar.softmax(moved), -ar.log_softmax(moved))
    one = 0 * i.logits[..., 0, :1] + ar.constant(1, like=i.logits)
    return np.log(ar.total(np.where(i.correct, one, 0 * one))) - values[..., 0]


def _without_policy(i: Cases) -> Reals:
    """The step drawn and scored at the same temperature: W(sa) - pi^T(a|s) W(s)."""
    through = rewarded(i.logits, i.correct, i.temperature)
    hot = ar.softmax(i.logits / np.asarray(i.temperature)[..., None, None])
    pi_step = through - ar.per_action(ar.total(through)) * ar.softmax(i.logits)
    return (pi_step - through + ar.per_action(ar.total(through)) * hot).reshape(
        *pi_step.shape[:-2], -1)


# ------------------------------------------------------------------ proof of one step


def _viable_sum() -> symbolic.Expression:
    import sympy

    # Over the tokens of a state, V the indicator of the viable ones and W W's share: E[V W] = W(s).
    whole, mass = sympy.symbols("W_s pi_viable")
    return (whole - mass * whole) - whole * (1 - mass)


_proof = (
    symbolic.identity("viable sum", "sum over viable tokens of dz = W(s) (1 - pi(viable|s))", _viable_sum,
                      axioms=("no right response passes a nonviable token: their W(sa) = 0",)),
    smt.lemma(
        "gap", "viable sums never fall, nonviable logits never rise", "W p q dz gain",
        lambda v: [v.W >= 0, v.p >= 0, v.q >= 0, v.dz == -v.p * v.W, v.gain == v.W * v.q],
        lambda v: smt.all_of(v.dz <= 0, v.gain >= 0),
        uses=("viable sum",), axioms=(SUM_OF_SIGNS,),
    ),
)


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


_statement = Statement(
    latex=r"On a token tree, at every temperature, nonviable logits never rise and sums of viable ones "
          r"never fall; so under exact tempered REINFORCE at $T_k \ge T_{\min} > 0$ (with any weight "
          r"of the policy gradient beside it) a right response becomes certain and "
          r"$\limsup_k \mathcal H(\pi_k) \le \log N_{\mathrm{right}}$.",
    margin=_room,
    proof=_proof,
)

response_ceiling = Claim(
    id="extension.response-ceiling",
    source="Extension of AEPO (exact expected dynamics on a token tree)",
    title="Response entropy ends at or below the log of the number of right responses (tabular tree)",
    scope="tabular token tree, exact expectation, one step, and so every one; the limit; "
          "entropy per response",
    statement=_statement,
    instances=trees(TEMPERATURE, LEARNING_RATE),
    experiments=(
        experiment("six trees", "random trees of 2 to 4 tokens with two or three right responses, 4,000 "
                   "exact steps at alternating temperatures: entropy ends within 0.02 of log N or below, "
                   "failure below 0.005", _long_runs),
    ),
    mutants=(
        Mutant(name="every viable logit rises, not only their sum",
               statement=variant(_statement, margin=_each_viable_rises)),
        Mutant(name="entropy is below log N at once",
               statement=variant(_statement, margin=_entropy_now)),
        Mutant(name="drawing and scoring at one temperature makes no difference",
               statement=variant(_statement, relation="==", margin=_without_policy)),
    ),
)
