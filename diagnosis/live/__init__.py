"""Diagnoses of runs that go on: `verdicts` says when a verdict changes, `watch` follows a log file."""
