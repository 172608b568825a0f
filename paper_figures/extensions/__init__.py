"""Figures that no paper has: the audit of the theory's assumptions, and training side by side."""
