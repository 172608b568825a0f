"""Everything that is imported of TRL, from the one release whose hooks the trainer overrides."""

from importlib import metadata

from entropy_theory.support.user_errors import MissingExtraError

RELEASE = "1.16"
"""The minor release; about one in three moves a method that is overridden here."""


def check_release(installed: str) -> None:
    """Raise an ImportError of one line for a TRL of another minor release."""
    if installed.split(".")[:2] != RELEASE.split("."):
        major, minor = RELEASE.split(".")
        raise MissingExtraError(
            f"llm_bridge works with TRL {RELEASE} and no other, and {installed} is installed: "
            f"pip install 'trl>={RELEASE},<{major}.{int(minor) + 1}'", name="trl")


check_release(metadata.version("trl"))

from trl import GRPOConfig, GRPOTrainer  # noqa: E402, what another release lacks would be said first
from trl.models import (  # noqa: E402
    prepare_deepspeed,
    prepare_fsdp,
    unwrap_model_for_generation,
)
from trl.trainer.callbacks import SyncRefModelCallback  # noqa: E402
from trl.trainer.utils import create_model_from_path, is_async_callable  # noqa: E402

__all__ = [
    "GRPOConfig", "GRPOTrainer", "SyncRefModelCallback", "create_model_from_path", "is_async_callable",
    "prepare_deepspeed", "prepare_fsdp", "unwrap_model_for_generation",
]
