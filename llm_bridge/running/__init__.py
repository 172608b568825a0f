"""Keeps a run safe: ranks that agree, faults that are named, checkpoints and logs that are whole."""
