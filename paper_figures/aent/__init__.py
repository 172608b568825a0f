"""AEnt (On Entropy Control in LLM-RL Algorithms)."""
