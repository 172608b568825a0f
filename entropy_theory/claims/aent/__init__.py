"""AEnt (On Entropy Control in LLM-RL Algorithms, arXiv 2509.03493)."""
