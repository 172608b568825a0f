"""Calls of these modules are checked against their annotations, array shapes included.

A check costs more than most of these functions. So each test has its first calls checked, and not the
thousands that a training makes alike.
"""

from __future__ import annotations

import sys

from beartype import BeartypeConf, beartype
from jaxtyping import config, install_import_hook

__all__ = ["MODULES", "begin", "config", "install", "typechecker"]

CALLS = 120
"""The number of calls that are checked in each test; one step of a rule makes some 60."""

MODULES = (
    "entropy_theory.policy",
    "entropy_theory.entropy_change",
    "entropy_theory.update_rules.clipped_ratio",
    "simulations.engine.sampling",
    "simulations.engine.trajectory",
    "llm_bridge.head.row_statistics",
    "llm_bridge.head.token_statistics",
    "llm_bridge.objective.loss",
)

typechecker = beartype(conf=BeartypeConf(is_pep484_tower=True))
"""An int is a float, as everywhere in Python's annotations."""


class _FirstCalls(type(config)):  # type: ignore[misc]
    """jaxtyping's settings, which are asked at each call."""

    left = CALLS

    @property
    def jaxtyping_disable(self) -> bool:
        self.left -= 1
        return self.left < 0 or self.off

    @jaxtyping_disable.setter
    def jaxtyping_disable(self, off: bool) -> None:
        self.off = off


def begin() -> None:
    """Check the calls from here on."""
    config.left = CALLS


def install() -> None:
    """Check the modules; to be called before anything imports one of them."""
    off = config.jaxtyping_disable
    config.__class__ = _FirstCalls
    config.jaxtyping_disable = off
    early = [name for name in MODULES if name in sys.modules]
    assert not early, f"imported before their checks: {early}"
    install_import_hook(MODULES, "tests.shape_checks.typechecker")
