"""The Entropy Mechanism (Cui et al.)."""
