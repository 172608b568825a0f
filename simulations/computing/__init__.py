"""Computes the cells of long computations on processes or a cluster and keeps their results."""
