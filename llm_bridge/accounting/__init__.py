"""Accounts for the entropy changes of a model in training: what moved its entropy, and by how much."""
