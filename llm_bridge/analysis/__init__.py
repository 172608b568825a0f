"""Analyzes entropy in training runs: audits of forecasts, tables of tokens, comparison of runs."""
