"""Calls of these modules are checked against their annotations, array shapes included."""

from beartype import BeartypeConf, beartype
from jaxtyping import config, install_import_hook

__all__ = ["config", "install"]

MODULES = (
    "entropy_theory.policy",
    "entropy_theory.entropy_change",
    "entropy_theory.update_rules.clipped_ratio",
    "simulations.engine.sampling",
    "llm_bridge.head.per_token",
    "llm_bridge.head.row_statistics",
    "llm_bridge.head.token_statistics",
    "llm_bridge.trainer.loss",
)

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
"""An int is a float, as everywhere in Python's annotations."""


def install() -> None:
    """To be called before anything imports one of the modules."""
    install_import_hook(list(MODULES), f"{__name__}.check")
