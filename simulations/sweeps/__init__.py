"""Sweeps: grids of runs that a user describes in a TOML file, cut into calls of the engine and run."""
