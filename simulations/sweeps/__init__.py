"""Grids of runs that a user describes in a TOML file: read, cut into calls of the engine, and run."""
