"""Helpers of every room beside theory: result files with provenance, users' own code, and errors."""
