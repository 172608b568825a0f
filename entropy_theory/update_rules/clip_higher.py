"""Clip-higher: GRPO with a wider upper clip, so that rare tokens can rise (DAPO, arXiv 2503.14476).

This is the baseline of Cui et al., section 4.3. DAPO averages over tokens (option "token-mean") and drops
groups without signal (``dynamic_sampling=True``); both are GRPO's options here. The claim
`later-work.clip-low-high` is on the effect of the two clips on entropy under random rewards.
"""

from __future__ import annotations

from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.rule import update_rule


@update_rule("clip-higher")
class ClipHigher(Grpo):
    """GRPO with clip_high = 0.28 (DAPO, section 4.1)."""

    clip_high: float = 0.28

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        found = Grpo.warnings(self, on_policy=on_policy, tokens=tokens, actions=actions)
        if not on_policy:
            return found
        return (*found, "'clip-higher' never clips where every step is on-policy, and is GRPO: take "
                "several optimizer steps on each batch, or use 'grpo'")
