"""Makes the update rule that TRL's options of the objective describe."""

from __future__ import annotations

from typing import Any

from entropy_theory import update_rules
from entropy_theory.support.user_errors import check_choice
from entropy_theory.update_rules import UpdateRule

NORMALIZATIONS = {
    "grpo": "sequence-mean", "dapo": "token-mean", "bnpo": "token-mean", "dr_grpo": "dr-grpo",
    "luspo": "dr-grpo",
}
"""The normalization of each ``loss_type`` that is a rule's. bnpo averages over the tokens of a
micro-batch in TRL, over those of the whole step here; luspo sums over the tokens of a sequence, which is
to divide by a length of 1."""
ESTIMATORS = {"group": "group-normalized", "none": "group-centered"}


def from_trl(args: Any) -> UpdateRule:
    """Return the update rule whose step is that of TRL's loss under these options.

    docs/departures.md says where the two differ, and by how much.

    Args:
        args: a GRPOConfig. It may go with the rule: ``EntropyTrainer(..., args, rule=from_trl(args))``.

    Raises:
        ValueError: an option that no rule expresses.
    """
    check_choice(args.loss_type, NORMALIZATIONS, "loss_type that a rule expresses,")
    check_choice(args.scale_rewards, ESTIMATORS, "scale_rewards that a rule expresses,")
    check_choice(
        args.importance_sampling_level, ("token", "sequence"), "importance_sampling_level")
    high = args.epsilon if args.epsilon_high is None else args.epsilon_high
    if args.delta is not None and args.delta < 1 + high:
        raise ValueError(
            f"delta={args.delta} is below the upper clip 1 + {high}, where TRL clips rising tokens by it "
            "too, which no rule does: raise it, or lower epsilon_high")
    by_sequence = args.importance_sampling_level == "sequence"
    if by_sequence and args.beta and args.use_bias_correction_kl:
        raise ValueError(
            "use_bias_correction_kl with importance_sampling_level='sequence' weighs each token's KL by "
            "the ratio of its sequence, which no rule does: set use_bias_correction_kl=False")
    rule = update_rules.get(
        "gspo" if by_sequence else "grpo", clip_low=args.epsilon, clip_high=high, dual_clip=args.delta,
        normalization=NORMALIZATIONS[args.loss_type], estimator=ESTIMATORS[args.scale_rewards],
        std_ddof=int(args.scale_rewards == "group"),
        max_length={"dr_grpo": args.max_completion_length, "luspo": 1}.get(args.loss_type),
    )
    if args.beta:
        estimator = "k3-corrected" if args.use_bias_correction_kl else "k3"
        rule = update_rules.get(
            "reference-kl", base=rule, coefficient=args.beta, estimator=estimator)
    if args.entropy_coef:
        rule = update_rules.get(
            "entropy-bonus", base=rule, coefficient=args.entropy_coef, normalization="token-mean")
    return rule
