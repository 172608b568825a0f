"""Checks of a training run's numbers that the train command and EntropyTrainer share, without torch."""

from __future__ import annotations

import math

from entropy_theory.update_rules import UpdateRule


def check_tempered_fraction(fraction: float, rule: UpdateRule) -> None:
    """Raise ValueError unless the share of the prompts that is answered again is one, and acts."""
    if not 0 < fraction <= 1:
        raise ValueError(f"tempered_fraction must be in (0, 1], got {fraction}")
    if fraction != 1.0 and rule.controller() is None:
        raise ValueError(
            f"tempered_fraction {fraction} is the share of a second batch, and update rule "
            f"'{rule.name}' does not draw one: leave it at 1, or take aepo")


def check_learning_rate(learning_rate: float, max_grad_norm: float | None) -> None:
    """Raise ValueError for a learning rate of no step, or a norm that transformers takes for none."""
    if not 0 < learning_rate < math.inf:
        raise ValueError(f"learning_rate must be above 0 and finite, got {learning_rate}")
    if max_grad_norm is not None and not max_grad_norm >= 0:
        raise ValueError(f"max_grad_norm must be at least 0, got {max_grad_norm}")


def check_rounding(rounding: float | None) -> float | None:
    """Return it; raise ValueError for a difference of log-probs that is none."""
    if rounding is not None and not 0 < rounding < math.inf:
        raise ValueError(f"rounding must be above 0 nats and finite, or None, got {rounding}")
    return rounding


def check_trained_format(name: str) -> None:
    """Raise ValueError for a number format in which trained weights overflow."""
    if name == "float16":
        raise ValueError("float16 weights overflow in training: give dtype float32 or bfloat16")
