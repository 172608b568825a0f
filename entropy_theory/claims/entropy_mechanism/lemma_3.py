r"""Entropy Mechanism, Lemma 3: the advantage has mean zero under the policy, E_{a~pi}[A(s, a)] = 0.

Here :math:`A = Q - V` with :math:`V(s) = \mathbb E[R | s]` and :math:`Q(s, a) = \mathbb E[R | s, a]`,
both expectations over the responses that pass through s. It is exact at every state of every token
tree, for any reward of responses, by the law of total expectation :math:`V = \mathbb E_\pi Q`. It needs
the policy's own value as the baseline and the policy's own probabilities as weights. The mutants drop
one or the other.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.tree_rates import reward_through, trees
from entropy_theory.verification import arithmetic as ar


def _values(i: vf.Cases) -> tuple[ar.Reals, ar.Reals]:
    """(V [B, states], Q [B, states, tokens]) from the responses that pass through."""
    tree = ar.token_tree(i.logits)
    p = ar.softmax(i.logits)
    visits = tree.visitation(p)
    through = reward_through(i.logits, i.reward)
    return ar.total(through) / visits, through / (visits[..., None] * p)


def _mean_advantage(i: vf.Cases, weights: ar.Reals | None = None) -> ar.Reals:
    values, action_values = _values(i)
    p = ar.softmax(i.logits) if weights is None else weights
    return ar.total(p * (action_values - values[..., None]))


def _uniform(i: vf.Cases) -> ar.Reals:
    return 0 * i.logits + ar.constant(1, like=i.logits) / i.logits.shape[-1]


lemma_3 = vf.Claim(
    id="entropy-mechanism.lemma-3",
    source="Entropy Mechanism, Lemma 3 (Appendix B)",
    reading=vf.Reading("precise", "", "Lemma 3, Appendix B, which is not in the text at hand"),
    title="The advantage has mean zero",
    scope="tabular token tree, exact expectation",
    proof_text="not in sources",
    statement=vf.Statement(
        latex=r"$\mathbb E_{a\sim\pi(\cdot|s)}[A(s,a)] = 0$ at every state, with $A = Q - V$, "
              r"$V(s) = \mathbb E[R|s]$, $Q(s,a) = \mathbb E[R|s,a]$.",
        margin=_mean_advantage,
        relation="==",
    ),
    instances=trees(reward="graded"),
    symbolic=True,
    mutants=(
        vf.mutant("mean over tokens instead of over the policy",
                  margin=lambda i: _mean_advantage(i, _uniform(i))),
    ),
)
