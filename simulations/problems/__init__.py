"""The problems that policies are trained on: bandits, token trees, logits that share parameters.

`bandits` has problems of one token, `token_trees` those of several; `shared_parameters` ties the logits
of either to features.
"""

from simulations.problems.bandits import Bandit, graded_prompts

__all__ = ["Bandit", "graded_prompts"]
