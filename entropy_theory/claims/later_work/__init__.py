"""Statements of later papers that the identities of this package decide."""
