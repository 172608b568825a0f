"""What a run needs to survive: ranks that agree, faults with names, and whole checkpoints and logs."""
