"""Runs whose cause is known by construction, and how well programs name it."""
