r"""Extension of Entropy Mechanism, Lemma 1: the effect of a step of mean zero on entropy, to second
order.

The step d is drawn with the covariance C and comes as often as -d. On average it changes entropy by

.. math::

    -\tfrac12 \mathbb E_\pi[(1 + \log \pi + H)(C_{aa} - 2 (C \pi)_a + \pi' C \pi)] + R,

    |R| \le \mathbb E[\rho^3] (2 + 7 \log n)/24,\quad \rho = \max d - \min d.

This is ``entropy_change.of_noise``. One direction changes entropy by :math:`Q(d)/2 = -\tfrac12
\mathbb E_\pi[(1 + \log \pi + H) u^2]` with :math:`u = d - \mathbb E_\pi d`. The displacement of the
policy, :math:`\operatorname{Var}_\pi(d)`, bounds it for any direction:

.. math::

    (\bar z - z_2 - (1 - p_1)(z_1 - z_2) - 1) \operatorname{Var}(d) \le Q(d) \le (\bar z - \min z - 1)
    \operatorname{Var}(d).

Here :math:`\bar z = \mathbb E_\pi z`, z1 and z2 are the two largest logits, and p1 is the largest
probability. So noise of every shape raises entropy where the likeliest action is ahead by enough. No
noise raises it where the mean logit is within a nat of the least one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.second_order import quadratic_form
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.drawn_fields import sample_logits
from entropy_theory.verification.instances import drawn_by

SOURCE = "Extension of Entropy Mechanism, Lemma 1 (noise of mean zero)"

# ---------------------------------------------------------------- any covariance


@vf.definition
def noise_effect(logits: ar.Reals, covariance: ar.Reals) -> ar.Reals:
    """-(1/2) E[(1 + log pi + H)(C_aa - 2 (C pi)_a + pi' C pi)]."""
    p = ar.softmax(logits)
    across = ar.total(covariance * p[..., None, :])
    own = ar.total(ar.identity(logits) * covariance)
    spread = own - 2 * across + ar.per_action(ar.mean(p, across))
    return -ar.mean(p, (1 + ar.centered(p, logits)) * spread) / 2


@vf.definition
def noise_covariance(sampler: ar.Reals, noise: ar.Reals) -> ar.Reals:
    """C_ab = sum_k mu_k d_ka d_kb, mu = softmax(sampler), where ``noise`` has d_ka at [a, k]."""
    chance = ar.softmax(sampler)[..., None, None, :]
    return ar.total(chance * (noise[..., :, None, :] * noise[..., None, :, :]))


def _excess(i: vf.Cases, with_covariances: bool = True) -> ar.Reals:
    """The bound on the remainder, minus the remainder."""
    steps, chance = ar.last_axis_first(i.noise), ar.softmax(i.sampler)
    here = i.logits[..., None, :]
    change = ar.mean(chance, (ar.entropy_change(here, steps) + ar.entropy_change(here, -steps)) / 2)
    spread = ar.largest(steps) - ar.smallest(steps)
    covariance = noise_covariance(i.sampler, i.noise)
    if not with_covariances:
        covariance = covariance * ar.identity(i.logits)
    most = ar.mean(chance, spread * spread * spread) * (
        2 + 7 * ar.log_of(i.logits.shape[-1], like=i.logits)) / 24
    return most - np.abs(change - noise_effect(i.logits, covariance))


def _sample(generator: np.random.Generator, size: int) -> vf.Batch:
    n = int(generator.integers(2, 7))
    scale = np.exp(generator.uniform(-6, 1, (size, 1, 1)))
    return {"logits": sample_logits(generator, size, n), "sampler": sample_logits(generator, size, n),
            "noise": scale * generator.standard_normal((size, n, n))}


def _enumerate(largest_total: int) -> Iterator[vf.Batch]:
    """Two actions, and noise that moves one of them, or both."""
    weights = [(1, w) for w in range(1, largest_total)]
    for noise in ([[1, 0], [0, 0]], [[1, 0], [0, 1]], [[1, 0], [1, 0]], [[1, 1], [-1, 0]]):
        yield {"weights": np.array(weights), "sampler": np.zeros((len(weights), 2)),
               "noise": np.broadcast_to(np.array(noise, dtype=float) / 8, (len(weights), 2, 2))}


noise_second_order = vf.Claim(
    id="extension.noise-second-order",
    source=SOURCE,
    title="To second order the covariance of a random step, as often of either sign, gives the mean "
          "change of entropy",
    scope="one softmax policy, a logit step that is drawn from as many as there are actions, and as "
          "often with the other sign, of any size, with its remainder",
    statement=vf.Statement(
        latex=r"If $d_k$ and $-d_k$ are drawn with probability $\mu_k/2 > 0$ each, $k = 1, \dots, n$, "
              r"and $C = \sum_k \mu_k d_k d_k^\top$, then $\mathbb E[H(z + d)] - H(z) = "
              r"-\frac12\mathbb E_\pi[(1 + \log\pi + H)"
              r"(C_{aa} - 2 (C\pi)_a + \pi^\top C\pi)] + R$ with $|R| \le \frac{2 + 7\log n}{24}\,"
              r"\mathbb E[(\max d - \min d)^3]$.",
        margin=_excess,
    ),
    instances=vf.Instances(
        strategy=drawn_by(_sample), sample=_sample, enumerate=_enumerate,
        movable=("logits", "sampler", "noise"),
        families="2-6 actions, as many steps as actions, Gaussian ones of all sizes",
        parameters=vf.Parameters(fields=(
            vf.Parameter(name="logits", axes=(vf.ACTIONS,)),
            vf.Parameter(name="sampler", axes=(vf.ACTIONS,)),
            vf.Parameter(name="noise", axes=(vf.ACTIONS, vf.ACTIONS)),
        )),
    ),
    mutants=(
        vf.mutant("only variances count", margin=lambda i: _excess(i, with_covariances=False)),
    ),
)

# ---------------------------------------------------------------- any shape


def _room(i: vf.Cases, lead: bool = True) -> ar.Reals:
    """Q(d) minus its lower bound, and its upper bound minus Q(d)."""
    p, top = ar.softmax(i.logits), ar.is_likeliest(i.logits)
    average, second = ar.mean(p, i.logits), ar.largest(i.logits, ~top)
    displaced = ar.covariance(p, i.step, i.step)
    behind = (1 - ar.largest(p)) * (ar.largest(i.logits) - second) if lead else 0
    low = displaced * (average - second - behind - 1)
    high = displaced * (average - ar.smallest(i.logits) - 1)
    form = quadratic_form(i.logits, i.step)
    return np.stack([form - low, high - form], axis=-1)


noise_any_shape = vf.Claim(
    id="extension.noise-any-shape",
    source=SOURCE,
    title="Bounds on the second order of entropy that hold for noise of every shape",
    scope="one softmax policy, any direction of the logits and so any noise of mean zero, second order",
    statement=vf.Statement(
        latex=r"With $\bar z = \mathbb E_\pi z$, $z_1 \ge z_2$ the two largest logits and $p_1$ the "
              r"largest probability, $Q(d) = -\mathrm{Var}(d) - \mathrm{Cov}(z, (d - \bar d)^2)$ has "
              r"$(\bar z - z_2 - (1 - p_1)(z_1 - z_2) - 1)\,\mathrm{Var}(d) \le Q(d) \le "
              r"(\bar z - \min z - 1)\,\mathrm{Var}(d)$.",
        margin=_room,
    ),
    instances=vf.bandit_instances(correct=False, step=True),
    mutants=(
        vf.mutant("the likeliest action moves no more than others",
                  margin=lambda i: _room(i, lead=False)),
    ),
)
