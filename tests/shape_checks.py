"""Calls of these modules are checked against their annotations, array shapes included."""

from __future__ import annotations

import sys

from beartype import BeartypeConf, beartype
from jaxtyping import config, install_import_hook

__all__ = ["MODULES", "config", "install", "typechecker"]

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


def install() -> None:
    """Check the modules; to be called before anything imports one of them."""
    early = [name for name in MODULES if name in sys.modules]
    assert not early, f"imported before their checks: {early}"
    install_import_hook(MODULES, "tests.shape_checks.typechecker")
