r"""Softmax policies in log space: tempering, entropy, clamped entropy, covariance.

Actions are on the last axis, any leading axes are a batch, everything is in nats, and numpy arrays
and torch tensors are accepted alike. A logit of -inf is an action that is never taken.

**One entropy.** Near a deterministic policy the usual formulas lose every digit: with a logit gap of
30 in float32, :math:`\log \sum e^z - \sum p z` is off by 100 % and :math:`-\sum p \log p` by 3 %. Here
logits are shifted by their maximum, and the normalizer is ``log1p`` of the sum over all *other*
actions. So entropy keeps full relative accuracy down to underflow.
"""

from __future__ import annotations

import functools
import math
import sys
from typing import Any, NamedTuple

import array_api_compat
import numpy as np

from entropy_theory.array_types import (
    ActionMask,
    Array,
    BroadcastLogits,
    BroadcastPerAction,
    BroadcastPerState,
    Logits,
    PerAction,
    PerState,
    PerStateColumn,
    Temperature,
    Values,
)


class ShiftedLogits(NamedTuple):
    """Tempered logits shifted so that their maximum is 0, with their normalizer."""

    shifted: PerAction  # <= 0, -inf where the action is never taken
    exponentials: PerAction  # exp(shifted)
    log_normalizer: PerStateColumn  # log of the exponentials' sum, >= 0


def namespace(*arrays: Array) -> Any:
    """The array namespace of ``arrays``; Python lists and scalars count as numpy."""
    if all(type(array) is np.ndarray for array in arrays):
        return _numpy()  # what the general path finds too, at a tenth of its cost
    for array in arrays:
        if _takes_numpy(array):
            return array.__array_namespace__()
    return array_api_compat.array_namespace(
        *[a if array_api_compat.is_array_api_obj(a) else np.asarray(a) for a in arrays]
    )


@functools.cache
def _numpy() -> Any:
    """Return NumPy's namespace, imported with the first array: it takes all of NumPy along, f2py too."""
    import array_api_compat.numpy

    return array_api_compat.numpy


def _takes_numpy(array: Array) -> bool:
    """Whether NumPy's arrays may join this one: its type has ``absorbs_numpy``, as traced arrays do."""
    return getattr(type(array), "absorbs_numpy", False)


def as_float_array(values: Array) -> Array:
    """``values`` as a floating-point array: torch tensors as they are, anything else via numpy.

    Raises:
        ValueError: complex numbers, texts, or lists of unequal lengths.
    """
    if _takes_numpy(values):
        return values
    if array_api_compat.is_torch_array(values):
        if values.is_complex():
            raise ValueError(f"real numbers are needed, got a tensor of {values.dtype}")
        return values if values.is_floating_point() else values.double()
    if array_api_compat.is_jax_array(values):
        return values
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"real numbers are needed, got an array of {array.dtype}")
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def lacks_values(array: Array) -> bool:
    """Whether an array has no values yet, within `jax.jit`: what checks it is the caller's."""
    return array_api_compat.is_jax_array(array) and isinstance(array, sys.modules["jax"].core.Tracer)


def array_like(values: Array, like: Array) -> Array:
    """``values`` (a number, list, numpy array or tensor) with the dtype and on the device of ``like``."""
    return namespace(like).asarray(values, dtype=like.dtype, device=array_api_compat.device(like))


def to_numpy(array: Array) -> np.ndarray:
    """A numpy copy or view of ``array``, off its device and out of its gradient graph."""
    if array_api_compat.is_torch_array(array):
        array = array.detach().cpu()
    return np.asarray(array)


def check_temperature(temperature: Temperature) -> None:
    """Raise ValueError unless every temperature is above 0 (inf is allowed)."""
    if isinstance(temperature, (int, float)):
        valid = temperature > 0
    else:
        xp = namespace(temperature)
        valid = lacks_values(temperature) or bool(xp.all(xp.asarray(temperature) > 0))
    if not valid:
        raise ValueError(
            f"temperature must be above 0, got {' '.join(str(temperature).split())}: use a small "
            "positive number for near-greedy sampling"
        )


def shift_logits(logits: BroadcastLogits, temperature: Temperature = 1.0) -> ShiftedLogits:
    """Temper the logits and shift them by their maximum, the first step of everything below.

    An action whose logit lies further below the largest than there are numbers of the dtype counts as
    never taken. A temperature below the dtype's smallest normal number counts as that number.

    Args:
        logits: [..., actions]; finite or -inf, at least one finite in each state.
        temperature: scalar or [...], above 0; inf makes all actions with a finite logit equal.

    Raises:
        ValueError: NaN or +inf logits, a state without a finite logit, or temperature <= 0.
    """
    logits = as_float_array(logits)
    xp = namespace(logits)
    _check_actions(logits)
    check_temperature(temperature)
    top_index, top = _top(logits)
    # NaN and +inf reach the maximum, and a state of -inf alone has -inf for it.
    if not lacks_values(top) and not bool(xp.all(xp.isfinite(top))):
        raise ValueError(
            "logits must be finite or -inf (an action never taken), with one finite logit in each "
            f"state. Found {_first_bad_state(logits, top)}: look for a diverged or fully masked policy"
        )
    return _shift(logits, top_index, top, temperature)


def _check_actions(logits: Array) -> None:
    if logits.ndim == 0 or logits.shape[-1] == 0:
        raise ValueError(
            f"logits need at least one action on the last axis, got shape {tuple(logits.shape)}")


def shift_logits_unseen(logits: BroadcastPerAction, temperature: Temperature = 1.0) -> ShiftedLogits:
    """Shift logits as `shift_logits` does, without checking their values.

    A check would wait for the GPU and cannot be part of a CUDA graph. The normalizer of a state that
    `shift_logits` refuses is NaN.
    """
    top_index, top = _top(logits)
    policy = _shift(logits, top_index, top, temperature)
    xp = namespace(logits)
    valid = xp.isfinite(top)
    return policy._replace(log_normalizer=xp.where(valid, policy.log_normalizer, math.nan))


def _top(logits: Array) -> tuple[Array, Array]:
    """Index and value of a largest logit, [..., 1] each."""
    xp = namespace(logits)
    # One index for the shift and for the term that the normalizer leaves out: among ties torch's max
    # spreads its gradient, which would leave a wrong one at every tie (a uniform start, for one).
    top_index = xp.argmax(logits, axis=-1, keepdims=True)
    return top_index, xp.take_along_axis(logits, top_index, axis=-1)


def _shift(
    logits: Array, top_index: Array, top: Array, temperature: Array, counts: Array | None = None
) -> ShiftedLogits:
    xp = namespace(logits)
    shifted = logits - top
    if not (isinstance(temperature, (int, float)) and temperature == 1.0):
        # A temperature that underflows in the dtype is its smallest number.
        smallest = float(xp.finfo(logits.dtype).smallest_normal)
        if isinstance(temperature, (int, float)):
            # Not as an array, which would be copied to the GPU at every call.
            divisor = max(float(temperature), smallest)
        else:
            divisor = xp.asarray(temperature, dtype=logits.dtype)
            divisor = divisor[..., None] if divisor.ndim else divisor
            divisor = xp.where(divisor > smallest, divisor, smallest)
        # An action never taken stays so at every temperature; -inf / inf would be NaN.
        never = shifted == -math.inf
        shifted = xp.where(never, shifted, xp.where(never, xp.zeros_like(shifted), shifted) / divisor)
    exponentials = xp.exp(shifted)
    # The sum over all but one maximal action: log1p of it keeps digits that log(1 + sum) loses.
    is_top = top_index == xp.arange(logits.shape[-1], device=array_api_compat.device(logits))
    if counts is None:
        others, left = exponentials, xp.zeros_like(exponentials)
    else:
        others, left = counts * exponentials, counts - 1
    rest = xp.sum(xp.where(is_top, left, others), axis=-1, keepdims=True)
    return ShiftedLogits(shifted, exponentials, xp.log1p(rest))


def log_softmax(logits: BroadcastLogits, temperature: Temperature = 1.0) -> BroadcastPerAction:
    """Log-probabilities of the tempered policy softmax(logits / temperature).

    Args:
        logits: [..., actions].
        temperature: scalar or [...], above 0; inf is uniform over actions with a finite logit.

    Returns:
        [..., actions], <= 0, in nats; -inf where the logit is -inf.

    Raises:
        ValueError: as `shift_logits`.
    """
    policy = shift_logits(logits, temperature)
    return policy.shifted - policy.log_normalizer


def softmax(logits: BroadcastLogits, temperature: Temperature = 1.0) -> BroadcastPerAction:
    """Probabilities of the tempered policy; arguments, shapes and errors as `log_softmax`."""
    return namespace(as_float_array(logits)).exp(log_softmax(logits, temperature))


def entropy(logits: BroadcastLogits, temperature: Temperature = 1.0) -> BroadcastPerState:
    """Entropy of the tempered policy, in nats.

    Args:
        logits: [..., actions].
        temperature: scalar or [...], above 0; inf gives log of the number of finite logits.

    Returns:
        [...], between 0 and log(actions), with full relative accuracy at collapse.

    Raises:
        ValueError: as `shift_logits`.
    """
    return entropy_of(shift_logits(logits, temperature))


def entropy_of(policy: ShiftedLogits, counts: Array | None = None) -> PerState:
    """Entropy of logits that are shifted already: [...], nats, as `entropy`.

    Args:
        counts: as in `tied_entropy`; None counts each action once.
    """
    depth = _depth(policy)
    weights = policy.exponentials if counts is None else counts * policy.exponentials
    xp = namespace(depth)
    mean_depth = xp.sum(weights * depth, axis=-1) / xp.exp(policy.log_normalizer[..., 0])
    return policy.log_normalizer[..., 0] + mean_depth


def _depth(policy: ShiftedLogits) -> Array:
    """Minus the shifted logits, 0 where exp underflows: 0 * -inf is NaN, in gradients too."""
    xp = namespace(policy.shifted)
    return xp.where(policy.exponentials > 0, -policy.shifted, xp.zeros_like(policy.shifted))


def tied_entropy(logits: Logits, counts: Values) -> PerState:
    """`entropy` of a policy whose actions come in classes of equal logits.

    Args:
        logits: [..., classes], finite.
        counts: [..., classes], actions of each class, at least 1.

    Returns:
        [...], between 0 and the logarithm of the number of actions, nats.
    """
    top_index, top = _top(logits)
    return entropy_of(_shift(logits, top_index, top, 1.0, counts), counts)


def kept_actions(logits: Logits, removed_fraction: float) -> ActionMask:
    """Mask of the actions that AEnt's clamped entropy keeps (AEnt, section 4.1).

    The floor(removed_fraction * actions + 1e-9) smallest logits are removed; among equal logits the
    higher index goes first.

    Args:
        logits: [..., actions].
        removed_fraction: in [0, 1); at least one action stays.

    Returns:
        Boolean [..., actions].

    Raises:
        ValueError: removed_fraction outside [0, 1), or so large that no action would stay. NaN logits,
            which have no order. No action at all.
    """
    logits = as_float_array(logits)
    xp = namespace(logits)
    _check_actions(logits)
    if not lacks_values(logits) and bool(xp.any(xp.isnan(logits))):
        raise ValueError("logits must not be NaN: look for a diverged policy")
    n_actions = logits.shape[-1]
    if not 0 <= removed_fraction < 1:
        raise ValueError(f"removed_fraction must be in [0, 1), got {removed_fraction}")
    n_kept = n_actions - math.floor(removed_fraction * n_actions + 1e-9)
    if n_kept < 1:
        raise ValueError(f"removed_fraction {removed_fraction} leaves none of {n_actions} actions")
    best_first = xp.argsort(-logits, axis=-1, stable=True)
    rank = xp.argsort(best_first, axis=-1, stable=True)
    return rank < n_kept


def clamped_entropy(logits: Logits, removed_fraction: float) -> PerState:
    """Entropy of the policy renormalized to its largest logits (AEnt, section 4.1), in nats.

    Args:
        logits: [..., actions].
        removed_fraction: share of the actions, by count, that is removed; in [0, 1).

    Returns:
        [...], between 0 and log of the number of kept actions.

    Raises:
        ValueError: as `kept_actions` and `shift_logits`.
    """
    return entropy(clamped_logits(logits, removed_fraction))


def clamped_logits(logits: Logits, removed_fraction: float) -> PerAction:
    """The logits with those that `kept_actions` removes at -inf; arguments and errors as there."""
    logits = as_float_array(logits)
    xp = namespace(logits)
    kept = kept_actions(logits, removed_fraction)
    return xp.where(kept, logits, xp.full_like(logits, -math.inf))


def tilt(logits: Logits) -> PerAction:
    """log pi_a + H, the log-probability above its mean: [..., actions], nats; 0 where pi_a is 0.

    The normalizer cancels: it is the shifted logit above its mean, which keeps its digits at collapse.

    Raises:
        ValueError: as `shift_logits`.
    """
    policy = shift_logits(logits)
    return _tilt(policy, _probabilities(policy))


def entropy_gradient(logits: Logits) -> PerAction:
    r"""Return :math:`dH/dz_a = -\pi_a (\log \pi_a + H)`: [..., actions], nats; sums to 0, exact zeros
    at -inf.

    Given `clamped_logits`, it is the gradient of the clamped entropy with the kept actions held fixed.
    """
    policy = shift_logits(logits)
    probabilities = _probabilities(policy)
    return -probabilities * _tilt(policy, probabilities)


def _probabilities(policy: ShiftedLogits) -> Array:
    return policy.exponentials / namespace(policy.exponentials).exp(policy.log_normalizer)


def _tilt(policy: ShiftedLogits, probabilities: Array) -> Array:
    depth = _depth(policy)
    xp = namespace(depth)
    mean = xp.sum(probabilities * depth, axis=-1, keepdims=True)
    return xp.where(policy.exponentials > 0, mean - depth, xp.zeros_like(depth))


def covariance(probabilities: Values, x: Values, y: Values) -> PerState:
    """Covariance of x and y over actions drawn with ``probabilities``.

    Actions of probability 0 do not count, whatever x and y are there (log-probabilities are -inf).

    Args:
        probabilities: [..., actions], >= 0, summing to 1.
        x: [..., actions], finite where the probability is above 0.
        y: [..., actions], the same.

    Returns:
        [...], in the units of x times y. Numbers of 16 bits are added up in 32, in which sums and
        products of the largest of them do not overflow.
    """
    probabilities, x, y = as_float_array(probabilities), as_float_array(x), as_float_array(y)
    xp = namespace(probabilities, x, y)
    if xp.finfo(xp.result_type(probabilities, x, y)).bits == 16:
        wide = covariance(*(xp.astype(v, xp.float32) for v in (probabilities, x, y)))
        return xp.astype(wide, xp.result_type(probabilities, x, y))
    x, y = (xp.where(probabilities > 0, v, xp.zeros_like(v)) for v in (x, y))
    mean_x = xp.sum(probabilities * x, axis=-1, keepdims=True)
    mean_y = xp.sum(probabilities * y, axis=-1, keepdims=True)
    return xp.sum(probabilities * (x - mean_x) * (y - mean_y), axis=-1)


def _first_bad_state(logits: Array, top: Array) -> str:
    state = int(np.flatnonzero(~np.isfinite(to_numpy(top)))[0])
    row = to_numpy(logits).reshape(-1, logits.shape[-1])[state]
    action = int(np.flatnonzero(np.isnan(row) | (row == math.inf) | np.isneginf(row).all())[0])
    return f"{row[action]} at action {action} of state {state}"
