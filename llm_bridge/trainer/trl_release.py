"""Everything that is imported of TRL, from the releases whose hooks the trainer overrides."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from importlib import metadata
from typing import Any

from entropy_theory.support.user_errors import MissingExtraError

RELEASES = ("1.13", "1.14", "1.15", "1.16")
"""The minor releases that are taken; about one in three moves a method that is overridden here."""


def check_release(installed: str) -> None:
    """Raise an ImportError of one line for a TRL of another minor release."""
    if ".".join(installed.split(".")[:2]) not in RELEASES:
        oldest, (major, minor) = RELEASES[0], RELEASES[-1].split(".")
        raise MissingExtraError(
            f"llm_bridge works with TRL {oldest} to {RELEASES[-1]}, and {installed} is installed: "
            f"pip install 'trl>={oldest},<{major}.{int(minor) + 1}'", name="trl")


check_release(metadata.version("trl"))

from trl import GRPOConfig, GRPOTrainer  # noqa: E402, what another release lacks would be said first
from trl.models import (  # noqa: E402
    prepare_deepspeed,
    prepare_fsdp,
    unwrap_model_for_generation,
)
from trl.trainer.callbacks import SyncRefModelCallback  # noqa: E402
from trl.trainer.utils import create_model_from_path  # noqa: E402

is_async_callable: Any
try:
    from trl.trainer.utils import is_async_callable
except ImportError:  # before 1.14, which asks so itself
    is_async_callable = inspect.iscoroutinefunction

__all__ = [
    "GRPOConfig", "GRPOTrainer", "SyncRefModelCallback", "check_end_tokens", "create_model_from_path",
    "is_async_callable", "prepare_deepspeed", "prepare_fsdp", "unwrapped_for_generation",
]


def unwrapped_for_generation(trainer: Any) -> Any:
    """Return a context that gives the model of a trainer, out of data parallelism, to generate with."""
    options = {}
    # From 1.16 on; before, layers are checkpointed again by transformers' own defaults.
    if "gradient_checkpointing_kwargs" in inspect.signature(unwrap_model_for_generation).parameters:
        options["gradient_checkpointing_kwargs"] = trainer.args.gradient_checkpointing_kwargs
    return unwrap_model_for_generation(trainer.model_wrapped, trainer.accelerator, **options)


def check_end_tokens(ids: Sequence[int], installed: str | None = None) -> None:
    """Raise ValueError for completions that end by several tokens, of which TRL 1.13 tells one.

    Args:
        ids: the tokens that end a completion.
        installed: the release of TRL; None for the one that is installed.
    """
    installed = installed or metadata.version("trl")
    if len(ids) > 1 and installed.startswith("1.13."):
        raise ValueError(
            f"completions end with any of {len(ids)} tokens, but TRL {installed} has only one end "
            "token, and would take the others for completions cut off: pip install 'trl>=1.14'")
