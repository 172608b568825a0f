r"""How entropy moves when logits move by a step, also by a step of tempered REINFORCE.

Notation: z logits, :math:`\pi = \operatorname{softmax}(z)`, d the logit step, H entropy, :math:`A^*`
the correct set, T temperature, :math:`\eta` the learning rate. Further, :math:`c_a = \pi_a (z_a -
\mathbb E_\pi z) = \operatorname{Cov}_\pi(z, \delta_a)` and :math:`C = \mathbb E_\pi[c] =
\operatorname{Cov}_\pi(z, \pi)`.

- exact change: :math:`H(z + d) - H(z) = -\operatorname{Cov}_\pi(\pi'/\pi, \log \pi) -
  \operatorname{KL}(\pi' \| \pi)`, for any step d;
- first order: :math:`-\operatorname{Cov}_\pi(\log \pi, d)` (Cui et al., Lemma 1, and AEPO, Eq. 6);
- second order: adds :math:`-\tfrac12 \mathbb E_\pi[(1 + \log \pi + H)(d - \mathbb E d)^2]`;
- noise of mean 0 and covariance C: :math:`-\tfrac12 \mathbb E_\pi[(1 + \log \pi + H)(C_{aa} - 2 (C
  \pi)_a + \pi' C \pi)]`;
- AEPO, Theorem 4.3: one step of REINFORCE on samples of :math:`\pi^T`, binary reward, moves entropy at
  rate :math:`F(T) = -\sum_{A^*} \pi^T_a (c_a - C)` per unit learning rate.

Differences such as :math:`c_a - C` cancel to nothing in saturated policies. They are summed over pairs of
actions instead, :math:`\sum_b \pi_b (c_a - c_b)`, which keeps their sign (see ``_centered``).
"""

from __future__ import annotations

import math
from typing import Any

import array_api_compat

from entropy_theory.array_types import (
    Array,
    BroadcastLogits,
    BroadcastPerAction,
    BroadcastPerState,
    BroadcastValues,
    CorrectSet,
    Logits,
    PerState,
    Temperature,
    Values,
)
from entropy_theory.policy import (
    as_float_array,
    entropy,
    log_softmax,
    namespace,
    softmax,
    tilt,
)

PAIRWISE_LIMIT = 2048
"""With more actions than this, values are centered by their mean: pairs would cost actions^2."""


def exact(logits: BroadcastLogits, step: BroadcastValues) -> BroadcastPerState:
    r"""Return ``H(softmax(logits + step)) - H(softmax(logits))``, whatever the size of the step.

    Small steps keep their relative accuracy. Where the logits move by less than 1 the change is summed
    from its two exact parts, the covariance of :math:`\pi'/\pi` with :math:`\log \pi` and
    :math:`-\operatorname{KL}(\pi' \| \pi)`.

    Args:
        logits: [..., actions].
        step: [..., actions], added to the logits; finite.

    Returns:
        [...], nats.

    Raises:
        ValueError: as `policy.shift_logits`; a step that is not finite.
    """
    logits, step = _checked(logits, step)
    xp = namespace(logits, step)
    probabilities = softmax(logits)
    relative = step - xp.sum(probabilities * step, axis=-1, keepdims=True)
    small = xp.max(xp.abs(relative), axis=-1) < 1.0
    bounded = xp.clip(relative, -1.0, 1.0)
    # growth = pi'/pi - 1 = exp(d - log E e^d) - 1, with log and exp taken around their zero.
    log_mean = xp.log1p(xp.sum(probabilities * xp.expm1(bounded), axis=-1, keepdims=True))
    growth = xp.expm1(bounded - log_mean)
    # KL(pi' || pi) = E_pi[(1 + g) log(1 + g) - g], because E_pi[g] = 0.
    divergence = (1 + growth) * (bounded - log_mean) - growth
    from_parts = -xp.sum(probabilities * (growth * tilt(logits) + divergence), axis=-1)
    return xp.where(small, from_parts, entropy(logits + step) - entropy(logits))


def first_order(logits: BroadcastLogits, step: BroadcastValues) -> BroadcastPerState:
    r"""Return :math:`-\operatorname{Cov}_\pi(\log \pi, \text{ step})`, the first-order change (Cui et
    al., Lemma 1; AEPO, Eq. 6).

    Args, returns, raises: as `exact`; ValueError also for a step at which the expansion overflows. The
    error is at most `remainder_bound`.
    """
    logits, step = _checked(logits, step)
    xp = namespace(logits, step)
    return _finite(xp, _first_order(xp, logits, step))


def second_order(logits: BroadcastLogits, step: BroadcastValues) -> BroadcastPerState:
    r"""The entropy change through second order.

    It is `first_order` and :math:`-\tfrac12 \mathbb E_\pi[(1 + \log \pi + H) u^2]`, with
    :math:`u = d - \mathbb E_\pi d` of the step d. The error is of third order in the step.

    Args, returns, raises: as `first_order`.
    """
    logits, step = _checked(logits, step)
    xp = namespace(logits, step)
    probabilities = softmax(logits)
    centered = step - xp.sum(probabilities * step, axis=-1, keepdims=True)
    quadratic = -xp.sum(probabilities * (1 + tilt(logits)) * centered * centered, axis=-1)
    return _finite(xp, _first_order(xp, logits, step) + quadratic / 2)


def of_noise(logits: BroadcastLogits, covariance: Array) -> BroadcastPerState:
    """The mean entropy change by a random logit step of mean 0, to second order, in nats.

    It is the mean of `second_order`, and the error is of third order in the step (bounded by claim
    ``extension.noise-second-order``). Covariances add: the change by G independent samples is that of
    one, over G.

    Args:
        logits: [..., actions].
        covariance: [..., actions, actions], of the step, nats squared: `score_covariance`, say.

    Returns:
        [...].

    Raises:
        ValueError: as `first_order`; a covariance of another shape.
    """
    logits, covariance = as_float_array(logits), as_float_array(covariance)
    if tuple(covariance.shape[-2:]) != (logits.shape[-1],) * 2:
        raise ValueError(f"covariance is [..., actions, actions], got shape {tuple(covariance.shape)} "
                         f"for logits of shape {tuple(logits.shape)}")
    xp = namespace(logits, covariance)
    pi = softmax(logits)
    across = xp.sum(covariance * pi[..., None, :], axis=-1)
    spread = xp.linalg.diagonal(covariance) - 2 * across + xp.sum(pi * across, axis=-1, keepdims=True)
    return _finite(xp, -xp.sum(pi * (1 + tilt(logits)) * spread, axis=-1) / 2)


def of_isotropic_noise(logits: BroadcastLogits) -> BroadcastPerState:
    r"""Return :math:`\operatorname{Cov}_\pi(\pi, \log \pi) - (1 - \sum \pi^2)/2`, `of_noise` for
    independent noise of variance 1.

    :math:`1 - \sum \pi^2` is the probability that two samples differ. The change is above 0 at peaked
    policies, where an action has a probability above .8240: there the covariance is larger than half of
    that probability. The change is below 0 where logits are within 1.5434 of each other (claim
    ``extension.isotropic-noise``).

    Args, returns, raises: as `of_noise`; nats for each unit of variance.
    """
    logits = as_float_array(logits)
    xp = namespace(logits)
    pi = softmax(logits)
    differ = -xp.sum(pi * xp.expm1(log_softmax(logits)), axis=-1)
    return xp.sum(pi * pi * tilt(logits), axis=-1) - differ / 2


def score_covariance(
    logits: BroadcastLogits, sampler: BroadcastValues | None = None
) -> Array:
    r"""Covariance of :math:`A (e_a - \pi)`, a drawn and A apart from it of mean 0 and mean square 1.

    That is a policy-gradient step of one sample whose reward is a coin. Of G samples whose advantages sum
    to 0 it is the mean square of an advantage over G: drawn apart from actions, they do not interfere.

    Args:
        logits: [..., actions].
        sampler: [..., actions], the probabilities with which actions are drawn; by default the policy's.

    Returns:
        [..., actions, actions].

    Raises:
        ValueError: as `policy.shift_logits`.
    """
    logits = as_float_array(logits)
    xp = namespace(logits)
    pi = softmax(logits)
    mu = pi if sampler is None else as_float_array(sampler)
    eye = xp.eye(logits.shape[-1], dtype=logits.dtype, device=array_api_compat.device(logits))
    cross = mu[..., :, None] * pi[..., None, :]
    return mu[..., None] * eye - cross - xp.matrix_transpose(cross) + pi[..., :, None] * pi[..., None, :]


def remainder_bound(n_actions: int, step: Values) -> PerState:
    """Upper bound on abs(exact - first_order): (5/16 + (1/10) log n) ||step||_2^2, for every policy.

    Machine-checked for every n by claim ``extension.remainder-constant``. No constant free of n
    exists: two actions of probability 1/4, the rest uniform, reach a remainder that grows with log n.

    Args:
        n_actions: number of actions, at least 1.
        step: [..., actions].

    Returns:
        [...], nats, >= 0.

    Raises:
        ValueError: n_actions below 1; a step that is not finite.
    """
    if n_actions < 1:
        raise ValueError(f"n_actions must be at least 1, got {n_actions}")
    step = _finite_step(step)
    return (5 / 16 + math.log(n_actions) / 10) * namespace(step).sum(step * step, axis=-1)


def tempered_reinforce_step(
    logits: BroadcastLogits, correct: CorrectSet, temperature: Temperature, learning_rate: float = 1.0
) -> BroadcastPerAction:
    r"""Return the expected logit step of REINFORCE on samples of pi^T, with reward 1 on the correct set.

    The step is :math:`\eta (1_{A^*} \pi^T - \pi^T(A^*) \pi)`. Samples have temperature T, and the
    gradient is that of log pi at temperature 1 (AEPO, Eqs. 4 and 5).

    Args:
        logits: [..., actions].
        correct: boolean [..., actions]; at least one correct action in each state, all are allowed.
        temperature: scalar or [...], above 0, inf allowed.
        learning_rate: eta.

    Returns:
        [..., actions], to be added to the logits.

    Raises:
        ValueError: empty correct set; as `policy.shift_logits`.
    """
    logits, correct = _checked_correct(logits, correct)
    xp = namespace(logits)
    tempered = softmax(logits, temperature)
    hits = xp.where(correct, tempered, xp.zeros_like(tempered))
    return learning_rate * (hits - xp.sum(hits, axis=-1, keepdims=True) * softmax(logits))


def tempered_reinforce_rate(
    logits: BroadcastLogits, correct: CorrectSet, temperature: Temperature
) -> BroadcastPerState:
    r"""Return :math:`F(T) = -\sum_{A^*} \pi^T_a (c_a - C)`, entropy per unit learning rate (AEPO,
    Theorem 4.3).

    Args, raises: as `tempered_reinforce_step`.

    Returns:
        [...], nats per unit learning rate.
    """
    logits, correct = _checked_correct(logits, correct)
    xp = namespace(logits)
    excess, _ = _covariance_excess(xp, logits)
    terms = softmax(logits, temperature) * excess
    return -xp.sum(xp.where(correct, terms, xp.zeros_like(terms)), axis=-1)


def tempered_reinforce_rate_slope(
    logits: BroadcastLogits, correct: CorrectSet, temperature: Temperature
) -> BroadcastPerState:
    r"""Return :math:`dF/dT = T^{-2} \sum_{A^*} \pi^T_a (z_a - \mathbb E_{\pi^T} z)(c_a - C)` (AEPO,
    proof of Theorem 4.3).

    Args, raises: as `tempered_reinforce_step`; zero at T = inf.

    Returns:
        [...], nats per unit learning rate and unit temperature.
    """
    logits, correct = _checked_correct(logits, correct)
    xp = namespace(logits)
    excess, _ = _covariance_excess(xp, logits)
    tempered = softmax(logits, temperature)
    shifted = _finite_shifted(xp, logits)
    terms = tempered * _centered(xp, tempered, shifted) * excess
    total = xp.sum(xp.where(correct, terms, xp.zeros_like(terms)), axis=-1)
    # As in `policy.shift_logits`; divided by twice, since a square would underflow.
    smallest = float(xp.finfo(logits.dtype).smallest_normal)
    divisor = xp.clip(xp.asarray(temperature, dtype=logits.dtype), smallest, None)
    return total / divisor / divisor


def sign_change_temperature(logits: Logits, correct: CorrectSet) -> PerState:
    """Return T0, where F changes sign: F(T) < 0 for T < T0 and F(T) > 0 for T > T0.

    F changes sign at most once (claim ``extension.global-tempering``). T0 is found by bisection on
    log(1/T) to the last bit.

    Args, raises: as `tempered_reinforce_step` (without a temperature).

    Returns:
        [...]. It is 0 where tempered REINFORCE raises entropy at every T, and inf where it lowers entropy
        at every T. It is NaN where F is zero for every T, as for a uniform policy.
    """
    logits, correct = _checked_correct(logits, correct)
    xp = namespace(logits)
    shifted = _finite_shifted(xp, logits)
    excess, _ = _covariance_excess(xp, logits)
    # An action never taken has no part in F, whatever the temperature.
    counted = correct & xp.isfinite(logits)
    excess = xp.where(counted, excess, xp.zeros_like(excess))
    top = xp.max(xp.where(counted, shifted, xp.full_like(shifted, -math.inf)), axis=-1, keepdims=True)
    depth = xp.where(counted, shifted - top, xp.zeros_like(shifted))

    def fall(inverse_temperature: Array) -> Array:
        """Has the sign of -F at this 1/T: positive where entropy falls."""
        return xp.sum(xp.exp(depth * inverse_temperature[..., None]) * excess, axis=-1)

    at_infinite = xp.sum(excess, axis=-1)
    at_zero = xp.sum(xp.where(depth == 0, excess, xp.zeros_like(excess)), axis=-1)
    # log(1/T) within this covers every T that matters beside a logit gap, without overflow.
    limit = min(100.0, math.log(float(xp.finfo(logits.dtype).max)) / 2)
    lower = xp.full_like(at_zero, -limit)
    upper = xp.full_like(at_zero, limit)
    for _ in range(70):
        middle = (lower + upper) / 2
        falls = fall(xp.exp(middle)) > 0
        lower, upper = xp.where(falls, lower, middle), xp.where(falls, middle, upper)
    crossing = xp.exp(-(lower + upper) / 2)
    result = xp.where(at_infinite >= 0, xp.full_like(crossing, math.inf), crossing)
    result = xp.where(at_zero <= 0, xp.zeros_like(crossing), result)
    nowhere = xp.all(excess == 0, axis=-1)
    return xp.where(nowhere, xp.full_like(crossing, math.nan), result)


def _checked(logits: Array, step: Array) -> tuple[Array, Array]:
    return as_float_array(logits), _finite_step(step)


def _finite_step(step: Array) -> Array:
    step = as_float_array(step)
    if not bool(namespace(step).all(namespace(step).isfinite(step))):
        raise ValueError(
            "the logit step must be finite: look for a diverged update (learning rate, advantages)"
        )
    return step


def _checked_correct(logits: Array, correct: Array) -> tuple[Array, Array]:
    """``logits`` and, of their shape, ``correct``: boolean, with at least one action in each state."""
    logits = as_float_array(logits)
    xp = namespace(logits)
    mask = xp.asarray(correct)
    if mask.dtype != xp.bool:
        raise ValueError(f"correct must be a boolean mask over actions, got dtype {mask.dtype}")
    mask = xp.broadcast_to(mask, logits.shape)
    if not bool(xp.all(xp.any(mask, axis=-1))):
        raise ValueError(
            "empty correct set: mark at least one action of each state as correct, or drop the states "
            "that have none, which give REINFORCE no gradient"
        )
    return logits, mask


def _finite(xp: Any, change: Array) -> Array:
    if not bool(xp.all(xp.isfinite(change))):
        raise ValueError(
            "the expansion overflows at so large a logit step: look for a diverged update, or take the "
            "exact change (entropy_change.exact)")
    return change


def _first_order(xp: Any, logits: Array, step: Array) -> Array:
    probabilities = softmax(logits)
    centered = step - xp.sum(probabilities * step, axis=-1, keepdims=True)
    return -xp.sum(probabilities * tilt(logits) * centered, axis=-1)


def _finite_shifted(xp: Any, logits: Array) -> Array:
    """Logits minus their maximum, none below minus an eighth of the largest number: sums stay finite.

    The probability of an action so low, or never taken, is 0, so that any finite value gives the same.
    """
    shifted = logits - xp.max(logits, axis=-1, keepdims=True)
    return xp.clip(shifted, -float(xp.finfo(shifted.dtype).max) / 8, None)


def _centered(xp: Any, probabilities: Array, values: Array) -> Array:
    """Center values as sum_b p_b (values_a - values_b), with exact zeros at ties and no lost signs."""
    if values.shape[-1] > PAIRWISE_LIMIT:
        return values - xp.sum(probabilities * values, axis=-1, keepdims=True)
    differences = values[..., :, None] - values[..., None, :]
    return xp.sum(probabilities[..., None, :] * differences, axis=-1)


def _covariance_excess(xp: Any, logits: Array) -> tuple[Array, Array]:
    """(c - C, c), each [..., actions]: c_a = Cov_pi(z, delta_a) and its mean C under pi."""
    probabilities = softmax(logits)
    own = probabilities * _centered(xp, probabilities, _finite_shifted(xp, logits))
    return _centered(xp, probabilities, own), own
