"""Reads what the site shows of ledger, figures and runs, and sets its formulas."""
