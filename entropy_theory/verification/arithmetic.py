"""Softmax formulas written once for two number systems: float64 arrays and arrays of Arb balls.

A margin made of these functions and of ``+ - * /`` can be evaluated on millions of instances in float64
and then, unchanged, in ball arithmetic, where its sign is a proof. One line serves both, because numpy's
``exp``, ``log``, ``sqrt`` and ``log1p`` call the method of that name on each element of an object array.
The few places where balls and floats differ (maxima, comparisons) are here.

Actions are on the last axis, leading axes are a batch, temperatures and learning rates have the
shape of the batch. Entropy is in nats.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from entropy_theory.token_tree import TokenTree
from entropy_theory.verification.formula.functions import operation, reduced, rowwise
from entropy_theory.verification.formula.terms import broadcast, careful, elementwise, is_term
from entropy_theory.verification.formula.terms import constant as constant_term
from entropy_theory.verification.formula.trees import SymbolicTree

if TYPE_CHECKING:
    import flint

Ball: TypeAlias = "flint.arb"
"""A real number enclosed in ball arithmetic."""
Real: TypeAlias = Any
"""One real number in either of the two: a float or a ball, which numpy's own annotations do not know
as a number."""
Reals: TypeAlias = np.ndarray
"""Real numbers in either: float64, or objects that are balls; one for each instance, or more."""
Mask: TypeAlias = np.ndarray
"""Booleans."""


LARGE_STEP = 100.0
"""A step, nats, whose exponential is far from overflow and beside which differences lose nothing."""
MOST_PAIRED = 128
"""Actions up to which `centered` sums over pairs."""


class UndecidedComparisonError(Exception):
    """Raised where two balls overlap, so that only more precision may tell which is larger."""


def is_exact(values: Reals) -> bool:
    """Whether ``values`` holds balls (or other exact numbers) rather than floats."""
    return np.asarray(values).dtype == object


@operation(broadcast)
def maximum(x: Reals, y: Reals) -> Reals:
    """Elementwise maximum, enclosing both when balls overlap."""
    if is_exact(x) or is_exact(y):
        return np.frompyfunc(lambda a, b: _ball(a).max(_ball(b)), 2, 1)(x, y)
    return np.maximum(x, y)


@operation(broadcast)
def minimum(x: Reals, y: Reals) -> Reals:
    """Elementwise minimum, enclosing both when balls overlap."""
    return -maximum(-x, -y)


@operation(reduced)
def largest(x: Reals, mask: Mask | None = None) -> Reals:
    """Maximum over actions, or over those in ``mask`` (0 if there are none)."""
    if not is_exact(x):
        if mask is None:
            return np.max(x, axis=-1)
        some = np.any(np.broadcast_to(mask, np.shape(x)), axis=-1)
        return np.where(some, np.max(np.where(mask, x, -np.inf), axis=-1), 0.0)
    rows = x.reshape(-1, x.shape[-1])
    masks = np.broadcast_to(True if mask is None else mask, x.shape).reshape(rows.shape)
    tops = np.empty(len(rows), dtype=object)
    for k, (row, kept_here) in enumerate(zip(rows, masks, strict=True)):
        kept = row[kept_here]
        top = kept[0] if len(kept) else _ball(0)
        for value in kept[1:]:
            top = top.max(value)
        tops[k] = top
    return tops.reshape(x.shape[:-1])[()]


@operation(reduced)
def smallest(x: Reals, mask: Mask | None = None) -> Reals:
    """Minimum over actions, or over those in ``mask``."""
    return -largest(-x, mask)


@operation(broadcast, "mask")
def less(x: Reals, y: Reals) -> Mask:
    """Boolean array x < y; raises `UndecidedComparisonError` where balls overlap."""
    if not (is_exact(x) or is_exact(y)):
        return np.less(x, y)

    def decide(a: Any, b: Any) -> bool:
        difference = _ball(a) - _ball(b)
        if difference < 0:
            return True
        if difference >= 0:
            return False
        raise UndecidedComparisonError

    return np.frompyfunc(decide, 2, 1)(x, y).astype(bool)


@operation(broadcast)
def sign(values: Reals) -> Reals:
    """1, 0 or -1, as each value is above, at or below zero."""
    if not is_exact(values):
        return np.sign(values)
    return np.frompyfunc(lambda ball: _ball(ball).sgn(), 1, 1)(values)


@operation(lambda values: (*values.axes, values.axes[-1]), "mask")
def same_action(values: Reals) -> Mask:
    """[..., n, n]: whether two actions are one and the same."""
    shape = np.shape(values)
    return np.broadcast_to(np.eye(shape[-1], dtype=bool), (*shape, shape[-1]))


@operation(lambda logits: logits.axes, "mask")
def is_likeliest(logits: Reals) -> Mask:
    """Whether an action is the likeliest, the first one among ties."""
    values = _midpoints(logits)
    return np.arange(values.shape[-1]) == np.argmax(values, axis=-1)[..., None]


@operation(lambda logits, removed: logits.axes, "mask")
def kept_tokens(logits: Reals, removed_fraction: Reals) -> Mask:
    """The likeliest tokens: floor(p n) are removed; among ties the higher index goes first."""
    values = _midpoints(logits)
    n = values.shape[-1]
    # A fraction such as 1/3 of 3 tokens is one token, whatever its rounding.
    kept = n - np.floor(_midpoints(removed_fraction) * n + 1e-9)
    order = np.argsort(-values, axis=-1, kind="stable")
    return np.argsort(order, axis=-1) < kept[..., None]


@operation(reduced)
def total(values: Reals, mask: Mask | None = None) -> Reals:
    """Sum over actions, or over those in ``mask``."""
    return np.sum(values if mask is None else np.where(mask, values, 0 * values), axis=-1)


@operation(lambda values: (values.axes[-1], *values.axes[:-1]))
def last_axis_first(values: Reals) -> Reals:
    """The same numbers, with the last axis before all others but that of the instances."""
    return np.moveaxis(values, -1, 1)


@operation(reduced)
def mean(probabilities: Reals, values: Reals) -> Reals:
    """Expectation over actions."""
    return np.sum(probabilities * values, axis=-1)


@operation(rowwise)
def softmax(logits: Reals, temperature: Reals | None = None) -> Reals:
    """softmax(logits / temperature)."""
    _, exponentials, normalizer = _shifted(logits, temperature)
    return exponentials / normalizer[..., None]


@operation(rowwise)
def log_softmax(logits: Reals, temperature: Reals | None = None) -> Reals:
    """Logarithm of `softmax`."""
    shifted, exponentials, normalizer = _shifted(logits, temperature)
    return shifted - _log_normalizer(shifted, exponentials, normalizer)[..., None]


@operation(reduced)
def entropy(logits: Reals, temperature: Reals | None = None) -> Reals:
    """Entropy of softmax(logits / temperature), accurate near a deterministic policy."""
    shifted, exponentials, normalizer = _shifted(logits, temperature)
    depth = np.sum(exponentials * -shifted, axis=-1) / normalizer
    return _log_normalizer(shifted, exponentials, normalizer) + depth


@operation(rowwise)
def entropy_gradient(logits: Reals) -> Reals:
    """Gradient of `entropy` with respect to the logits, -pi (log pi + H)."""
    return -softmax(logits) * (log_softmax(logits) + per_action(entropy(logits)))


@operation(reduced)
def entropy_change(logits: Reals, step: Reals) -> Reals:
    """Return ``H(softmax(logits + step)) - H(softmax(logits))``.

    In floats it is summed from -Cov(pi'/pi, log pi) and -KL(pi' || pi). So the change under a small step
    is not lost in the difference of two entropies. Under a large step nothing is lost there.
    """
    if is_exact(logits) or is_exact(step):
        return entropy(logits + step) - entropy(logits)
    probabilities, log_probabilities = softmax(logits), log_softmax(logits)
    drift = step - mean(probabilities, step)[..., None]
    is_large = np.max(np.abs(drift), axis=-1) > LARGE_STEP
    drift = np.where(is_large[..., None], 0.0, drift)
    drift = drift - np.log1p(mean(probabilities, np.expm1(drift)))[..., None]
    growth = np.expm1(drift)
    tilt = log_probabilities + entropy(logits)[..., None]
    # An action of probability zero contributes nothing, however large its growth.
    terms = np.where(
        probabilities > 0, probabilities * (growth * tilt + (1 + growth) * drift - growth), 0.0
    )
    return np.where(is_large, entropy(logits + step) - entropy(logits), -np.sum(terms, axis=-1))


@operation(lambda values: (values.axes[-1], values.axes[-1]))
def identity(values: Reals) -> Reals:
    """The identity matrix, delta_ab, of the actions of ``values``."""
    zeros = 0 * (values[..., :, None] + values[..., None, :])
    return zeros + np.eye(values.shape[-1], dtype=int)


@operation(rowwise)
def log_growth(logits: Reals, step: Reals) -> Reals:
    """log pi'_a - log pi_a for pi' = softmax(logits + step), however small the step."""
    difference = log_softmax(logits + step) - log_softmax(logits)
    if is_exact(difference):
        return difference
    policy = softmax(logits)
    drift = step - mean(policy, step)[..., None]
    is_large = np.max(np.abs(drift), axis=-1)[..., None] > LARGE_STEP
    small = np.where(is_large, 0.0, drift)
    careful = small - np.log1p(np.sum(policy * np.expm1(small), axis=-1))[..., None]
    return np.where(is_large, difference, careful)


@operation(broadcast)
def binary_entropy(p: Reals) -> Reals:
    """Return ``-p log p - (1 - p) log(1 - p)``, for p strictly between 0 and 1."""
    return -p * np.log(p) - (1 - p) * np.log1p(-p)


@operation(rowwise)
def centered(probabilities: Reals, values: Reals) -> Reals:
    """Center values by their mean, summed over pairs: exact zeros at ties, no cancellation of signs.

    Beyond `MOST_PAIRED` actions there are too many pairs, and the mean is subtracted.
    """
    if np.shape(values)[-1] > MOST_PAIRED:
        return values - per_action(mean(probabilities, values))
    differences = values[..., :, None] - values[..., None, :]
    return np.sum(probabilities[..., None, :] * differences, axis=-1)


@operation(reduced)
def covariance(probabilities: Reals, x: Reals, y: Reals) -> Reals:
    """Covariance of x and y over actions."""
    return np.sum(probabilities * centered(probabilities, x) * centered(probabilities, y), axis=-1)


def constant(number: int | float, like: Reals) -> Real:
    """A number in the arithmetic of ``like``: a ball where that holds balls, a term where it is one."""
    if is_term(like):
        return constant_term(number)
    return _ball(number) if is_exact(like) else float(number)


def log_of(number: int, like: Reals) -> Real:
    """Natural logarithm of a positive integer, in the arithmetic of ``like``."""
    if is_term(number, like):
        return elementwise("log", number)
    return _ball(number).log() if is_exact(like) else math.log(number)


def per_action(scalar: Reals | Real) -> Reals:
    """A scalar per instance, shaped to broadcast over actions."""
    if is_term(scalar):
        return scalar[..., None]
    return np.asarray(scalar)[..., None]


def _midpoints(values: Reals) -> np.ndarray:
    """Floats, or the midpoints of balls: for ranking and counting only."""
    if not is_exact(values):
        return np.asarray(values, dtype=float)
    return np.vectorize(lambda ball: float(ball.mid()), otypes=[float])(values)


def _shifted(logits: Reals, temperature: Reals | None) -> tuple[Reals, Reals, Reals]:
    if is_exact(logits):
        # Balls have unbounded exponents, so no shift is needed: any reference action will do.
        shifted = logits - logits[..., :1]
    else:
        shifted = logits - np.max(logits, axis=-1, keepdims=True)
    if temperature is not None:
        shifted = shifted / per_action(temperature)
    exponentials = np.exp(shifted)
    return shifted, exponentials, np.sum(exponentials, axis=-1)


def _log_normalizer(shifted: Reals, exponentials: Reals, normalizer: Reals) -> Reals:
    if is_exact(shifted):
        return np.log(normalizer)
    # log1p over all but one maximal action keeps the digits that log(1 + rest) would lose.
    is_top = np.arange(shifted.shape[-1]) == np.argmax(shifted, axis=-1)[..., None]
    return np.log1p(np.sum(np.where(is_top, 0.0, exponentials), axis=-1))


def _ball(value: Any) -> Ball:
    from flint import arb

    return value if isinstance(value, arb) else arb(value)


@operation(lambda logits: logits.axes[:-2])
def response_entropy(logits: Reals) -> Reals:
    """-sum_y pi(y) log pi(y) over the responses of a token tree: the expected sum of token entropies."""
    values, _ = TokenTree.of(logits).values(softmax(logits), -log_softmax(logits))
    return values[..., 0]


def token_tree(logits: Any) -> Any:
    """The complete tree whose states and tokens are the last two axes of ``logits``."""
    if is_term(logits):
        return SymbolicTree(logits)
    return TokenTree.of(logits)


careful(maximum=maximum, minimum=minimum, less=less, less_equal=lambda x, y: ~less(y, x), total=total,
        largest=largest, smallest=smallest)
