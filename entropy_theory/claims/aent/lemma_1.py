r"""AEnt, Lemma 1: the gradient of the response entropy.

For a softmax policy, on responses of h tokens with deterministic transitions,

    grad H = -E[ sum_t grad log pi(a_t|s_t) sum_{t' >= t} log pi(a_t'|s_t') ]                     (A.1)
    dH/dtheta(s, a) = d(s) pi(a|s) (-log pi(a|s) + H_to(sa) - H_to(s)),

d(s) the probability of passing through s, H_to the entropy still to come. Exact. The equations of the
source are not readable; the displays are reconstructed from its proof text.

H = -sum_y pi(y) log pi(y) is the *sum* of the token entropies on the way, not their mean.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from entropy_theory.claims.aent.token_mdp import (
    ExplicitTree,
    gradient_steps,
    response_gradient,
    trees,
    written_out,
)
from entropy_theory.token_tree import TokenTree
from entropy_theory.verification import Cases, Claim, Mutant, PrintedStep, Statement, symbolic
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import variant


def _direct(i: Cases) -> Reals:
    """-d/dtheta sum_y pi(y) log pi(y) = -sum_y pi(y) (log pi(y) + 1) d log pi(y)."""
    log_response = ar.token_tree(i.logits).sum_along(ar.log_softmax(i.logits))
    return -response_gradient(i.logits, log_response + 1)


def _by_state(i: Cases) -> Reals:
    """d(s) pi(a|s) (-log pi(a|s) + H_to(sa) - H_to(s))."""
    return ar.token_tree(i.logits).expectation_gradient(
        ar.softmax(i.logits), -ar.log_softmax(i.logits))


def _from_here_on(i: Cases) -> Reals:
    """(A.1): each token's score times the log-probability of the rest of the response.

    Along the responses through (s, a) the sum over t' >= t is the whole log pi(y) minus the prefix's.
    """
    tree, policy, log_policy = (
        ar.token_tree(i.logits), ar.softmax(i.logits), ar.log_softmax(i.logits))
    visits = tree.visitation(policy)
    through = []
    for level in tree.levels:
        # E over responses of sum_{t' >= t} log pi, given the edge (s, a) at depth t.
        later = _to_come(tree, level, policy, log_policy)
        through.append(visits[..., level, None] * policy[..., level, :] * later)
    weighted = np.concatenate(through, axis=-2)
    return -(weighted - np.sum(weighted, axis=-1)[..., None] * policy)


def _to_come(tree: TokenTree, level: slice, policy: Reals, log_policy: Reals) -> Reals:
    """E[log pi of the tokens from this one on | state and token], enumerating the continuations."""
    states = np.arange(level.start, level.stop)
    total, reached = log_policy[..., states, :], 1 + 0 * policy[..., states, :]
    # Continuations are followed forwards, one more token at a time.
    frontier = states[:, None] * tree.n_tokens + np.arange(tree.n_tokens) + 1
    while frontier.max() < tree.n_states:
        reached = reached[..., None] * policy[..., frontier, :]
        expected = reached * log_policy[..., frontier, :]
        total = total + np.sum(expected.reshape(*total.shape, -1), axis=-1)
        frontier = frontier[..., None] * tree.n_tokens + np.arange(tree.n_tokens) + 1
    return total


def _residuals(i: Cases) -> Reals:
    direct = _direct(i)
    both = np.stack([direct - _by_state(i), direct - _from_here_on(i)], axis=-1)
    return both.reshape(both.shape[0], -1)


def _entropy_to_go(t: ExplicitTree) -> Iterable[symbolic.Rational]:
    # H of responses, as sum_y pi(y) sum_t (-log pi), against the entropy-to-go at the root.
    by_response = np.sum(t.tree.response_probabilities(t.policy) * t.tree.sum_along(-t.log_policy))
    yield by_response - t.tree.values(t.policy, -t.log_policy)[0][0]


def _entropy_of_edge() -> symbolic.Expression:
    """Lemma 3's level step at e = 0, lambda = 1: the edge is -log pi, its own change adds nothing."""
    m = symbolic.Moments("L x W Y")
    log_p, x, to_go, rate = (m[name] for name in "LxWY")
    here = m.expect(-log_p + to_go)
    moved = m.derivative(here, x, {log_p: x - m.expect(x), to_go: rate})
    return moved - m.expect((x - m.expect(x)) * (-log_p + to_go)) - m.expect(rate)


def _score_times_past() -> symbolic.Expression:
    """Earlier tokens have a fixed log-probability: their part is a baseline and drops out."""
    m = symbolic.Moments("L x W")
    import sympy

    past = sympy.Symbol("past")
    score = m["x"] - m.expect(m["x"])
    return m.expect(score * (past + m["L"] + m["W"])) - m.expect(score * (m["L"] + m["W"]))


def _score_has_no_mean() -> symbolic.Expression:
    m = symbolic.Moments("x")
    return m.expect(m["x"] - m.expect(m["x"]))


_statement = Statement(
    latex=r"$\nabla\mathcal H(\pi_\theta) = -\mathbb E\big[\sum_t\nabla\log\pi_\theta(a_t|s_t)"
          r"\sum_{t'\ge t}\log\pi_\theta(a_{t'}|s_{t'})\big]$, that is $\partial\mathcal H/\partial"
          r"\theta_{s,a} = d(s)\pi(a|s)(-\log\pi(a|s) + \mathcal H_{sa} - \mathcal H_s)$.",
    margin=_residuals,
    relation="==",
    proof=(
        *gradient_steps(),
        symbolic.identity(
            "entropy, one level",
            "dH_to(s)/dt = E[(x - E x)(-log pi + H_to(s.))] + E[Y], Y the rates of H_to(s.)",
            _entropy_of_edge, uses=("softmax rule", "all levels"),
        ),
        symbolic.identity(
            "from here on",
            "what was generated before s is a constant there: with score x - E x, "
            "E[score (past + log pi + later)] = E[score (log pi + later)]",
            _score_times_past, uses=("entropy, one level",), axioms=("tower property",),
        ),
        written_out("entropy-to-go", "H = -sum_y pi(y) log pi(y) is the root's entropy-to-go",
                    _entropy_to_go),
    ),
)

lemma_1 = Claim(
    id="aent.lemma-1",
    source="AEnt, Lemma 1 (A.1)",
    title="Gradient of the response entropy",
    scope="tabular token tree, exact expectation, entropy per response",
    source_text="reconstructed",
    statement=_statement,
    instances=trees(reward=None, ascend=False),
    printed_proof=(
        PrintedStep(as_printed=symbolic.identity(
            "printed: A.6", "E[grad log pi] = 0, so the change of log pi itself adds nothing",
            _score_has_no_mean)),
        PrintedStep(as_printed=symbolic.identity(
            "printed: towering property", "only the log-probabilities from t on stay",
            _score_times_past)),
    ),
    mutants=(
        Mutant(name="without the entropy still to come", statement=variant(
            _statement, margin=lambda i: (_direct(i) - _token_entropies_only(i)).reshape(
                len(i.logits), -1))),
        Mutant(name="without the visitation d(s)", statement=variant(
            _statement, margin=lambda i: (_direct(i) - _without_visitation(i)).reshape(
                len(i.logits), -1))),
    ),
)


def _token_entropies_only(i: Cases) -> Reals:
    """The state distribution treated as fixed."""
    tree, policy = ar.token_tree(i.logits), ar.softmax(i.logits)
    tilt = -ar.log_softmax(i.logits) - ar.entropy(i.logits)[..., None]
    return tree.visitation(policy)[..., None] * policy * tilt


def _without_visitation(i: Cases) -> Reals:
    tree, policy, edge = ar.token_tree(i.logits), ar.softmax(i.logits), -ar.log_softmax(i.logits)
    to_go, by_token = tree.values(policy, edge)
    return policy * (by_token - to_go[..., None])
