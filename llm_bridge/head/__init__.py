"""Statistics of tokens from hidden states, without the logits of a whole vocabulary in memory."""

from llm_bridge.head.per_token import per_token_statistics

__all__ = ["per_token_statistics"]
