"""Models, tasks, rewards and the papers' benchmarks.

The folder beside these files holds the bundled model's weights.
"""
