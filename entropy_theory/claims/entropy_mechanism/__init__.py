"""Entropy Mechanism (Cui et al., arXiv 2505.22617)."""
