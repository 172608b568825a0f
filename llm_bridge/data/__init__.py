"""What is trained, on what, and how it is judged: models, tasks, rewards and the papers' benchmarks.

The folder beside these files holds the bundled model's weights.
"""
