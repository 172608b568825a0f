"""A sweep file with a grid over 18 combinations, for help texts."""

EXAMPLE = """\
n_starts = 8                      # policies started from each problem
seed = 0                          # of the starts and of samples
[problem]                         # kind = "bandit" (simulations.problems.bandits.Bandit) and its options,
n_actions = 20                    # or kind = "tokens" (simulations.problems.token_trees.TokenProblem)
[rule]                            # an update rule and its options
name = "aepo"
base = { name = "grpo", clip_high = 0.28 }
[dynamics]                        # options of simulations.engine.Dynamics
steps = 4000
samples = { group_size = 8 }      # left out: exact expectation
[grid]                            # lists of values: every combination is computed
problem.n_correct = [1, 4, 8]
rule.target = [0.25, 0.5, 1.0]
dynamics.learning_rate = [0.1, 0.5]
"""
