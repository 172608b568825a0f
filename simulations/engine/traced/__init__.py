"""Runs any rule from its own array code: a step is traced once, and the trace is compiled."""
