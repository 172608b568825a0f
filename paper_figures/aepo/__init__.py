"""AEPO (Wang et al., Arbitrary Entropy Policy Optimization)."""
