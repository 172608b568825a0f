"""AEPO, "Arbitrary Entropy Policy Optimization" (arXiv 2510.08141 as it was before SCOPE-RL)."""
