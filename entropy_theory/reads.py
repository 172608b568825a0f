"""The names by which update rules and targets declare, in ``reads``, what coefficients depend on.

Everybody may read reward, mask, weight, group, advantage (which stands for the rewards), tempered,
sampling_temperature, coefficient, target_offset and listed. All else is declared by these names:

====================== ============================================================================
name                   the coefficients depend on
====================== ============================================================================
"ratio"                log_prob - old_log_prob of tokens, no more: 0 where a batch serves one step
"log_prob"             the policy that is trained, at the sampled tokens
"old_log_prob"         the policy that the batch was sampled with, at the sampled tokens
"sampling_log_prob"    what the tokens were drawn from
"entropy"              the entropy of each state
"clamped_entropy"      the clamped entropy of each state
"old_entropy"          the entropy of each state under the policy that the batch was sampled with
"reference_log_prob"   the reference policy, at the sampled tokens
"entropy_effect"       what a move of each token does to the mean entropy, through all parameters
"state"                which tokens share a state
"action"               which token was taken
"sequence"             which sequence is which: ties, randomness, the order of the rows
"rows"                 how many rows or tokens there are, not their weights alone
"step"                 the optimizer step (`TokenBatch.step`)
"seed"                 the seed of the run (`TokenBatch.seed`)
====================== ============================================================================

A rule need not read the quantity that it moves: a bonus on the entropy with a constant coefficient does
not read the entropy. ``python -m entropy_theory check`` changes what a rule does not declare, and looks
whether its coefficients move (`verification.rule_contract`).
"""

from __future__ import annotations

RATIO = "ratio"
EVERYTHING = frozenset({
    RATIO, "log_prob", "old_log_prob", "sampling_log_prob", "entropy", "clamped_entropy",
    "old_entropy", "reference_log_prob", "entropy_effect", "state", "action", "sequence", "rows",
    "step", "seed",
})
"""All names. A rule or target that declares nothing is taken to depend on all of them."""
NOTHING: frozenset[str] = frozenset()
POOLABLE = frozenset({RATIO})
"""All that a rule may read if its rows of equal reward are to be summed, where every ratio is 1."""
