"""A policy's forward pass over sampled rows.

Where a model allows it, each prompt is read once and no logits are held.
"""
