"""The update rules inside TRL's GRPOTrainer, on top of accelerate, FSDP, DeepSpeed and vLLM."""

from typing import TYPE_CHECKING, Any

from entropy_theory.support.user_errors import need

if TYPE_CHECKING:
    from llm_bridge.trainer.entropy_trainer import (
        EntropyTrainer,
        InertRuleWarning,
        MicroBatch,
        contributions,
        from_trl,
        grpo_config,
    )

__all__ = [
    "EntropyTrainer", "InertRuleWarning", "MicroBatch", "contributions", "from_trl", "grpo_config",
]


def __getattr__(name: str) -> Any:
    # The loss is verl's as well, and where verl is installed TRL is not.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    need(f"llm_bridge.trainer.{name}", "torch", "transformers", "trl")
    from llm_bridge.trainer import entropy_trainer

    return getattr(entropy_trainer, name)
