r"""AEnt, Lemma 2: baselines add nothing to a policy gradient.

For any functions :math:`b_t` of the state, :math:`\mathbb E[ \sum_t \nabla \log \pi(a_t|s_t) b_t(s_t) ]
= 0`. It is exact, since given :math:`s_t` the score has mean zero. On a tree the depth of a state is
its time, so :math:`b_t(s_t)` is one number per state. Lemma 3 uses it with :math:`b = V_\lambda`. A
baseline that depends on the token does not drop out.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.aent.token_mdp import trees
from entropy_theory.verification import arithmetic as ar

# One number per (state, token); a baseline uses the entry of the first token only.
NUMBERS = vf.Vector(name="baseline", low=-2.0, high=2.0, grid=(0, 1, -1), range=vf.ANY)


def _weighted_score(i: vf.Cases, by_token: bool = False) -> ar.Reals:
    """E[sum_t b(s_t) grad log pi(a_t|s_t)] [..., states, tokens], summed over the responses."""
    tree, policy = ar.token_tree(i.logits), ar.softmax(i.logits)
    through = tree.sum_through(tree.response_probabilities(policy))
    weighted = through * (i.baseline if by_token else i.baseline[..., 0][..., None])
    return weighted - ar.total(weighted)[..., None] * policy


lemma_2 = vf.Claim(
    id="aent.lemma-2",
    source="AEnt, Lemma 2 (A.8)",
    reading=vf.Reading(
        "precise", "Given any and some baseline functions , we have for any policy that:",
        "Lemma 2, Appendix A.1; its display is lost in the text"),
    title="Baselines add nothing to the policy gradient",
    scope="tabular token tree, exact expectation",
    proof_text="reconstructed",
    statement=vf.Statement(
        latex=r"$\mathbb E_\pi\big[\sum_t\nabla\log\pi_\theta(a_t|s_t)\,b_t(s_t)\big] = 0$ for any "
              r"functions $b_t$ of the state.",
        margin=_weighted_score,
        relation="==",
    ),
    instances=trees(reward=None, vectors=(NUMBERS,), ascend=False),
    symbolic=True,
    mutants=(
        vf.mutant("a baseline that depends on the token",
                  margin=lambda i: _weighted_score(i, by_token=True)),
    ),
)
