r"""AEPO, Section 3.2: J + lambda H = E_o sum_t [R - :math:`\lambda` log pi(o_t|o_{<t})].

This is the entropy-regularized objective. The two lines above it define H as a mean over the tokens of
a response, :math:`\mathbb E_o (1/|o|) \sum_t H_t`, and so does Appendix B (Definition B.1). The right
side has their sum, :math:`\mathbb E_o \sum_t -\log \pi(o_t) = \mathbb E_o \sum_t H_t`, as
:math:`-\log \pi(o_t)` has the mean :math:`H_t` given the tokens before it. So the equation is false by
the factor :math:`1/|o|`. Already for responses of one length :math:`h > 1` it is wrong by 1/h.
Correction: H without :math:`1/|o|`. (J stands on both sides.)

The difference matters for :math:`\lambda`. With :math:`1/|o|` an equal :math:`\lambda` is :math:`|o|`
times weaker.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.response_length import lengths, until_end
from entropy_theory.verification import arithmetic as ar


def _expected_entropy(i: vf.Cases, per_token: bool) -> ar.Reals:
    """E_o of the sum of the entropies along the tokens of o, or of their mean."""
    tree = ar.token_tree(i.logits)
    along = tree.sum_along(until_end(i.logits, ar.per_action(ar.entropy(i.logits)) + 0 * i.logits))
    sampled = tree.response_probabilities(ar.softmax(i.logits))
    return ar.mean(sampled, along / lengths(i.logits) if per_token else along)


def _surprise(i: vf.Cases) -> ar.Reals:
    """E_o sum_t -log pi(o_t|o_{<t}), from the responses."""
    tree = ar.token_tree(i.logits)
    along = tree.sum_along(until_end(i.logits, ar.log_softmax(i.logits)))
    return -ar.mean(tree.response_probabilities(ar.softmax(i.logits)), along)


def _residual(i: vf.Cases, per_token: bool = True) -> ar.Reals:
    """H minus E sum_t -log pi(o_t)."""
    return _expected_entropy(i, per_token) - _surprise(i)


maxent_objective = vf.Claim(
    id="aepo.maxent-objective",
    source="AEPO, Section 3.2 (Entropy-Reg) with Definition B.1",
    reading=vf.Reading(
        "literal",
        r"\mathcal{J}(\theta) + \lambda \cdot \mathcal{H}(\pi_\theta) = \\ &\quad \mathbb{E}_{q \sim "
        r"P(Q), o \sim \pi_\theta(O|q)} \sum_{t=1}^{|o|} [R(q, o) - \lambda \cdot \log "
        r"\pi_\theta(o_t|q, o_{<t})]", "Section 3.2"),
    title="The entropy-regularized objective adds up -log pi over the tokens of a response",
    scope="tabular token tree with responses of several lengths, exact expectation",
    statement=vf.Statement(
        latex=r"$J + \lambda\,\mathcal H = E_o\sum_{t=1}^{|o|}[R - \lambda\log\pi(o_t|o_{<t})]$ with "
              r"$\mathcal H = E_o\frac{1}{|o|}\sum_t\mathcal H_t$.",
        margin=_residual,
        relation="==",
    ),
    instances=vf.tree_instances(tokens=(2, 3), horizon=(1, 3), reward=None),
    repair=vf.Statement(
        latex=r"The same with $\mathcal H = E_o\sum_t\mathcal H_t$.",
        margin=lambda i: _residual(i, per_token=False),
        relation="==",
    ),
    repair_is="correction",
    repair_note="without the factor $1/|o|$ in $H$",
    mutants=(
        vf.mutant("the entropy of the first token alone",
                  margin=lambda i: ar.entropy(i.logits)[..., 0] - _surprise(i)),
    ),
)
