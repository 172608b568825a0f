"""Mutation testing: small bugs are put into the package, and the fast tests must notice each."""
