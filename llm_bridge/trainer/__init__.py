"""The update rules inside TRL's GRPOTrainer, on top of accelerate, FSDP, DeepSpeed and vLLM."""

from llm_bridge.trainer.entropy_trainer import (
    EntropyTrainer,
    InertRuleWarning,
    MicroBatch,
    contributions,
    grpo_config,
)

__all__ = ["EntropyTrainer", "InertRuleWarning", "MicroBatch", "contributions", "grpo_config"]
