r"""Entropy dynamics in reinforcement fine-tuning (arXiv 2602.03392), Theorems 3.2, 3.3 and
corollary.

With :math:`S_a = \pi_a (\log \pi_a + H)` and :math:`\bar S = \mathbb E_\pi[S]`, three facts are exact
to first order.

- One sampled action k with weight w has the step :math:`dz = \eta w (e_k - \pi)`. It changes entropy by
  :math:`dH = -\eta w (S_k - \bar S)`.
- The mean change over :math:`k \sim \pi` vanishes, :math:`\mathbb E_k[S_k - \bar S] = 0`. With weights
  :math:`A_k` of mean zero it is that of the expected policy gradient,
  :math:`-\eta \operatorname{Cov}_\pi(\log \pi, \pi A)`.
- A bump of one logit, :math:`dz = \varepsilon e_k`, has :math:`dH = -\varepsilon S_k`. For
  :math:`\varepsilon > 0` this has the sign of :math:`e^{-H} - \pi_k`.

The sign rule holds for steps of any size on one side. Where :math:`\pi_k \ge e^{-H}`, every bump up
lowers entropy. Where :math:`\pi_k < e^{-H}`, every bump down does. The reason is that
:math:`s = \log \pi_k + H` has :math:`ds/dt = (1 - \pi_k) - \pi_k s` along the bump, and cannot return
to zero. A sampled action has another threshold. Its sign is that of :math:`\bar S - S_k`, not of
:math:`e^{-H} - \pi_k`. Between the two, the rule quoted for bumps is wrong.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import excess, own_covariance
from entropy_theory.claims.entropy_mechanism.lemma_2 import units
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import for_every, has_derivative

SIZE = vf.Scalar(name="size", low=0.01, high=20.0, grid=(1, 4), range=vf.POSITIVE)


@vf.definition
def effect_of_sample(logits: ar.Reals) -> ar.Reals:
    """First-order change of entropy by the step e_k - pi, for each sampled action k."""
    p = ar.softmax(logits)[..., None, :]
    return -ar.covariance(p, logits[..., None, :], units(logits) - p)


def _residuals(i: vf.Cases, mean: int = 1) -> ar.Reals:
    """First-order change of each sampled action, their mean, and the policy gradient."""
    p = ar.softmax(i.logits)
    announced = -1 * (excess(i.logits) if mean else own_covariance(i.logits))
    advantage = ar.centered(p, i.step)
    average = ar.mean(p, advantage * announced) + ar.covariance(p, i.logits, p * advantage)
    return np.concatenate([
        effect_of_sample(i.logits) - announced,
        ar.per_action(ar.mean(p, announced)), ar.per_action(average)], axis=-1)


sampled_action = vf.Claim(
    id="later-work.sampled-action",
    source="Entropy dynamics in reinforcement fine-tuning (arXiv 2602.03392), Theorem 3.3, corollary",
    reading=vf.Reading(
        "precise", "", "Theorem 3.3 and its corollary, as quoted elsewhere: the text is not at hand"),
    title="What one sampled action does to entropy, and on average",
    scope="one tabular state, one sampled action or its mean, first order; judged: the theorem as "
          "quoted elsewhere",
    proof_text="not in sources",
    statement=vf.Statement(
        latex=r"$\Delta z = \eta w(e_k-\pi)$ moves entropy at first order by $-\eta w(S_k-\bar S)$; "
              r"$\mathbb E_{k\sim\pi}[S_k-\bar S]=0$; with $w=A_k$ the mean is "
              r"$-\eta\,\mathrm{Cov}_\pi(\log\pi,\pi A)$.",
        margin=_residuals,
        relation="==",
        beyond=lambda i: (for_every("strength", (), lambda c: has_derivative(
            lambda t: ar.entropy(i.logits[..., None, :] + ar.per_action(ar.per_action(t * c)) * (
                units(i.logits) - ar.softmax(i.logits)[..., None, :])), 0,
            -ar.per_action(c) * excess(i.logits)).all()),),
    ),
    instances=vf.bandit_instances(correct=False, step=True),
    mutants=(
        vf.mutant("the mean Sbar forgotten", margin=lambda i: _residuals(i, mean=0)),
    ),
)

# ---------------------------------------------------------------- the sign rule


def _falls(i: vf.Cases, threshold: vf.Margin) -> ar.Reals:
    """Fall of entropy, up where the action is above the threshold and down where it is below."""
    size = ar.per_action(i.size) + 0 * i.logits
    signed = np.where(ar.less(threshold(i), 0 * i.logits), -size, size)
    return -ar.entropy_change(i.logits[..., None, :], signed[..., None] * units(i.logits))


@vf.definition
def depth(logits: ar.Reals) -> ar.Reals:
    """log pi_k + H, positive where pi_k > e^{-H}."""
    return ar.centered(ar.softmax(logits), logits)


def _depth(i: vf.Cases) -> ar.Reals:
    return depth(i.logits)


def _over_uniform(i: vf.Cases) -> ar.Reals:
    """log pi_k + log n: positive where pi_k > 1/n."""
    return ar.log_softmax(i.logits) + ar.log_of(i.logits.shape[-1], like=i.logits)


sampled_action_sign = vf.Claim(
    id="later-work.sampled-action-sign",
    source="Entropy dynamics in reinforcement fine-tuning (arXiv 2602.03392), Theorem 3.2",
    reading=vf.Reading("precise", "", "Theorem 3.2, as quoted elsewhere: the text is not at hand"),
    title="The sign rule pi_k against exp(-H) for one logit; where it lowers entropy, at any step size",
    scope="one softmax policy, one logit, a step of any size; judged: the theorem as quoted elsewhere",
    proof_text="not in sources",
    statement=vf.Statement(
        latex=r"Bumping logit $k$ up lowers entropy, for every size, if $\pi_k \ge e^{-H}$; bumping it "
              r"down does if $\pi_k < e^{-H}$; to first order the sign is that of $e^{-H}-\pi_k$.",
        margin=lambda i: _falls(i, _depth),
        relation=">",
        beyond=lambda i: (has_derivative(
            lambda t: ar.entropy(
                i.logits[..., None, :] + ar.per_action(ar.per_action(t)) * units(i.logits)), 0,
            -ar.softmax(i.logits) * depth(i.logits)),),
    ),
    instances=vf.bandit_instances(SIZE, correct=False, actions=(2, 5)),
    mutants=(
        vf.mutant("threshold 1/n instead of e^-H", margin=lambda i: _falls(i, _over_uniform)),
    ),
)
