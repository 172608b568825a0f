"""The update rules inside TRL's GRPOTrainer, with what accelerate, FSDP, DeepSpeed and vLLM bring."""

from llm_bridge.trainer.entropy_trainer import (
    EntropyTrainer,
    InertRuleWarning,
    MicroBatch,
    contributions,
    grpo_config,
)

__all__ = ["EntropyTrainer", "InertRuleWarning", "MicroBatch", "contributions", "grpo_config"]
