"""Closed loops: what turns a measured entropy into the next step's sampling temperature.

A controller reads the true mean token entropy of the ordinary rows (`token_batch.mean_entropy`,
over all ranks), measured on the policy that is about to be updated, and holds whatever state a
checkpoint must restore.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from entropy_theory.policy import Array, check_temperature, namespace


@dataclass(kw_only=True, slots=True)
class TemperatureSwitch:
    """AEPO's two-point controller (AEPO, Eq. 1): T = T_high if H < target, else T_low.

    Raises ValueError for temperatures that are not above 0, T_low > T_high, or a target below 0.
    """

    target: Array = 0.5
    """Entropy to hold, nats; a scalar or one value a run."""
    temperature_high: float = 1.2
    temperature_low: float = 0.8
    temperature: Array | None = None
    """The last temperature chosen; None before the first observation."""
    entropy: Array | None = None
    """The last entropy observed, nats."""

    def __post_init__(self) -> None:
        check_temperature(self.temperature_high)
        check_temperature(self.temperature_low)
        if self.temperature_low > self.temperature_high:
            raise ValueError(
                f"temperature_low {self.temperature_low} is above temperature_high "
                f"{self.temperature_high}: swap them"
            )
        if not bool(namespace(self.target).all(namespace(self.target).asarray(self.target) >= 0)):
            raise ValueError(f"the target entropy must be at least 0 nats, got {self.target}")

    def observe(self, entropy: Array) -> Array:
        """The sampling temperature of the second batch, given the entropy of the current policy.

        Args:
            entropy: scalar or [runs], nats.

        Raises:
            ValueError: NaN entropy.
        """
        xp = namespace(entropy)
        entropy = xp.asarray(entropy)
        if bool(xp.any(xp.isnan(entropy))):
            raise ValueError("the measured entropy is NaN: the policy has diverged")
        ones = xp.ones_like(entropy)
        self.entropy = entropy
        self.temperature = xp.where(
            entropy < xp.asarray(self.target, dtype=entropy.dtype),
            ones * self.temperature_high,
            ones * self.temperature_low,
        )
        return self.temperature

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint stores, JSON-like."""
        return {name: _plain(getattr(self, name)) for name in ("temperature", "entropy")}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave. Raises ValueError for a state of another controller."""
        if set(state) != {"temperature", "entropy"}:
            raise ValueError(
                f"not the state of a temperature switch: {sorted(state)}; resume with the rule "
                "that wrote the checkpoint"
            )
        self.temperature, self.entropy = state["temperature"], state["entropy"]


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value
