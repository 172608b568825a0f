r"""Target policies pi*, from which the positive samples of AEPO's second batch come.

AEPO's term is REINFORCE on right answers drawn from pi^T. Its discussion generalizes: any policy pi*
made from pi can take the place of pi^T, and the term then pulls pi towards pi*( . | right). A target
determines how pi* is sampled, by a temperature that a controller chooses and further generation options
such as top-p. A pi* that cannot be sampled directly reweights the samples by a *log tilt* l(o),

.. math::

    \pi^*(o \mid \text{right}) \propto \pi_\text{sampled}(o \mid \text{right})\, e^{l(o)}.

Each prompt's weights are normalized over its right samples, so that no prompt gains or loses weight.

A target of your own subclasses `TargetPolicy`. Logits processors are those of transformers. They get the
tokens so far [sequences, tokens] and the next one's logits [sequences, vocabulary], before temperature::

    class Damped(transformers.LogitsProcessor):
        def __call__(self, tokens, logits):
            return logits.clamp(max=5.0)

    class DampedTarget(TargetPolicy):
        def generation_options(self):
            return {"logits_processor": [Damped()]}

    rule = update_rules.get("aepo", towards=DampedTarget())
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from entropy_theory import advantages
from entropy_theory.array_types import Array
from entropy_theory.policy import namespace
from entropy_theory.reads import EVERYTHING, NOTHING
from entropy_theory.token_batch import TokenBatch


@dataclass(frozen=True, kw_only=True, slots=True)
class TargetPolicy:
    """The plain target: right answers as they are sampled. Subclass it for another pi*."""

    reads: ClassVar[frozenset[str]] = NOTHING
    """Names of `entropy_theory.reads` that the tilt depends on, beside rewards and lengths. A subclass
    that defines a tilt without ``reads`` is taken to depend on everything."""

    def __init_subclass__(cls, **options: Any) -> None:
        super(TargetPolicy, cls).__init_subclass__(**options)
        if "log_tilt" in vars(cls) and "reads" not in vars(cls):
            cls.reads = EVERYTHING

    def generation_options(self) -> Mapping[str, Any]:
        """Return the sampler's options for the second batch, beside temperature (Hugging Face names).

        They are read for every second batch. ``logits_processor`` is a list of processors; a sampler
        that has none (vLLM, continuous batching, the simulator) refuses the target.
        """
        return {}

    def log_tilt(self, batch: TokenBatch) -> Array | None:
        """Return l(o) of each response, repeated over its tokens [..., sequences, positions].

        None stands for 0 everywhere.
        """
        return None

    def weights(self, batch: TokenBatch, rows: Array, positive: Array) -> Array:
        """Return the weights of R, of mean 1 over each prompt's right samples.

        They have shape [..., sequences, positions].

        Args:
            batch: all rows.
            rows: mask of the second batch's rows.
            positive: 1 for right samples, 0 for others.
        """
        xp = namespace(positive)
        tilt = self.log_tilt(batch)
        if tilt is None:
            return xp.ones_like(positive)
        # Shifted by the largest of each prompt, so that none overflows or vanishes as a whole.
        counted = rows & (positive > 0)
        largest = advantages.group_largest(
            batch, rows, xp.where(counted, tilt, xp.full_like(tilt, -math.inf)))
        shift = xp.where(xp.isfinite(largest), largest, xp.zeros_like(largest))
        weight = positive * xp.exp(xp.where(counted, tilt - shift, xp.zeros_like(tilt)))
        right = advantages.group_mean(batch, rows, positive)
        mean = advantages.group_mean(batch, rows, weight)
        return weight * right / xp.where(mean > 0, mean, xp.ones_like(mean))


@dataclass(frozen=True, kw_only=True, slots=True)
class ShorterResponses(TargetPolicy):
    r"""Prefers short ones among the right answers: :math:`\pi^*(o) \propto \pi(o) e^{-c |o|}`."""

    reads: ClassVar[frozenset[str]] = NOTHING
    per_token: float = 0.01
    """c, nats by which each further token lowers log pi*; below 0 it prefers long ones."""

    def __post_init__(self) -> None:
        if not math.isfinite(self.per_token):
            raise ValueError(f"per_token must be finite, got {self.per_token}")

    def log_tilt(self, batch: TokenBatch) -> Array:
        xp = namespace(batch.log_prob)
        ones = xp.ones_like(batch.log_prob)
        length = xp.sum(xp.where(batch.mask, ones, 0 * ones), axis=-1, keepdims=True)
        return -self.per_token * length * ones


@dataclass(frozen=True, kw_only=True, slots=True)
class Nucleus(TargetPolicy):
    """Right answers of the nucleus-sampled policy (top-p), at the controller's temperature."""

    top_p: float = 0.9

    def __post_init__(self) -> None:
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be in (0, 1], got {self.top_p}")

    def generation_options(self) -> Mapping[str, Any]:
        return {"top_p": self.top_p}


TARGETS: dict[str, type[TargetPolicy]] = {
    "plain": TargetPolicy, "shorter-responses": ShorterResponses, "nucleus": Nucleus,
}
"""The targets by name, for options of rules."""
