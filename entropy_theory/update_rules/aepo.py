r"""AEPO: GRPO plus alpha times REINFORCE on the positive samples of a tempered policy (AEPO, Eq. 1).

.. math::

    J = J_\text{GRPO} + \alpha\, E_{o \sim \pi_\text{old}^T}\, \frac{1}{|o|} \sum_t
    \min\bigl(r R, \operatorname{clip}(r, 1 - \varepsilon, 1 + \varepsilon)\, R\bigr),

    T = T_\text{low} + (T_\text{high} - T_\text{low})\, \mathbf{1}[H(\pi_\text{old}) < \text{target}],

with the ratio r at temperature 1 and R in {0, 1}.

Differences from the authors' code, and why:

- the tempered rows are *added* with weight alpha, as printed; the code overwrites GRPO rows, so that its
  alpha is implicit in a row count (``form="code"`` does the same);
- R is the binary reward, as printed; the code keeps rows whose group-normalized advantage exceeds 0.05,
  which drops prompts that are always answered right.

Equal in both: no weight corrects the tempered samples for pi^T, because AEPO's effect is that of the
gradient at temperature 1 on samples drawn at T. A correction would cancel it. With vLLM too the trainer
leaves TRL's importance weights off the tempered rows, and on the others.

AEPO's arXiv number, 2510.08141, now carries another text, SCOPE-RL, with the temperature clip(1 +
target - H, .8, 1.2) in place of the switch (``control="proportional"``) and a theorem on samples of
either sign (`later-work.scope-rl-negatives`). The claims `aepo.theorem-4.3b` and
`aepo.corollary-4.4-high` are about the first text.

The paper prints the symbol alpha, but no value. The default 1 gives both batches the same total weight.
Experiment ``aepo-figure-1`` simulates bandits, and counts the targets below :math:`\log |A^*|` that are
held to 0.02 nats: 4 % at alpha 0.1, 55 % at 0.5, 69 % at 1 and 74 % at 2. Language models miss theirs
by more (docs/how_to/trl.md). The chatter around the target doubles from alpha 1 to 2, so a larger alpha
than 1 gains little. Below the bound of claim `aepo.combined-update` entropy keeps falling.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import field
from typing import Any

import numpy as np

from entropy_theory import advantages
from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.controllers import ProportionalTemperature, TemperatureSwitch
from entropy_theory.policy import namespace, to_numpy
from entropy_theory.reads import RATIO
from entropy_theory.schedules import Schedule
from entropy_theory.support.user_errors import check_whole
from entropy_theory.targets import TargetPolicy
from entropy_theory.token_batch import (
    TokenBatch,
    masked_sum,
    sequence_weight,
)
from entropy_theory.update_rules import selection
from entropy_theory.update_rules.clipped_ratio import length_factor, ratio, unclipped
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.modifier import Modifier, clip_bounds, length_normalization
from entropy_theory.update_rules.policy_gradient import SCALED, PolicyGradient
from entropy_theory.update_rules.rule import Needs, per_run, update_rule

ABLATIONS = ("none", "untempered", "advantage")


@update_rule("aepo")
class Aepo(Modifier):
    """The base rule on ordinary rows; alpha x ratio x R, clipped, on tempered rows."""

    alpha: Array = 1.0
    """Weight of the second batch's REINFORCE term; a number, or one per run."""
    temperature_high: float = 1.2
    """Temperature of the second batch while entropy is below the target."""
    temperature_low: float = 0.8
    """Temperature of the second batch while entropy is at or above the target."""
    target: float = 0.5
    """Mean token entropy to hold, nats."""
    target_schedule: Schedule | None = None
    """In place of ``target`` one that moves with the optimizer's steps (`entropy_theory.schedules`)."""
    normalize: str = "samples"
    """"samples" divides by all tempered samples (Eq. 1). "positives" divides by those with R = 1, as do
    Table 4 and the code, which keep a fixed number of positives."""
    ablation: str = "none"
    """"untempered" draws the second batch at T = 1 (Table 3, Eq. 2). "advantage" replaces R on tempered
    rows by the group-normalized advantage (Table 3, Eq. 3)."""
    positive_reward: float = 1.0
    """R = 1 where the reward is at least this."""
    control: str = "switch"
    """"switch" sets T to temperature_high or temperature_low (Eq. 1). "proportional" sets it to 1 +
    target - H between the two, as the paper's later version does."""
    towards: TargetPolicy = field(default_factory=TargetPolicy)
    """The transformed policy whose right answers are reinforced (`entropy_theory.targets`)."""
    form: str = "paper"
    """"paper" adds the second batch, times alpha (Eq. 1). With "code" its right answers overwrite rows of
    the first batch, as in the authors' code (`_replaced`), and alpha is not used."""
    replaced_rows: int = 60
    """"code" only: at most so many rows are overwritten, half as many when entropy is lowered."""

    def _check(self) -> None:
        for name, value, known in (
            ("normalize", self.normalize, ("samples", "positives")),
            ("ablation", self.ablation, ABLATIONS),
            ("control", self.control, ("switch", "proportional")),
            ("form", self.form, ("paper", "code")),
        ):
            if value not in known:
                raise ValueError(f"unknown {name} '{value}': use one of {', '.join(known)}")
        alpha = to_numpy(self.alpha)
        if not np.all(np.isfinite(alpha) & (alpha >= 0)):
            raise ValueError(f"alpha must be finite and at least 0, got {self.alpha}")
        check_whole("replaced_rows", self.replaced_rows, 2)
        if self.form == "code" and self.ablation == "advantage":
            raise ValueError("ablation 'advantage' belongs to form 'paper'")
        if self.form == "code" and length_normalization(self.base)[0] != "token-mean":
            raise ValueError(
                "form 'code' averages over tokens: give a base with normalization 'token-mean', such "
                "as update_rules.get('grpo', normalization='token-mean')"
            )
        if not isinstance(self.towards, TargetPolicy):
            raise ValueError(f"towards must be a target (entropy_theory.targets), got {self.towards!r}")
        if math.isnan(self.positive_reward):
            raise ValueError("positive_reward must be a number, got nan")
        self.controller()

    @property
    def _needs(self) -> Needs:
        second = self._grpo()._needs.reads if self.ablation == "advantage" else self.towards.reads
        counted = {"sequence", "rows"} if self.form == "code" else set()
        return Needs(columns=("sampling_temperature",), reads={RATIO, *second, *counted})

    def controller(self) -> TemperatureSwitch:
        """Return the loop of Eq. 1, with both temperatures 1 under ablation "untempered"."""
        untempered = self.ablation == "untempered"
        loop = TemperatureSwitch if self.control == "switch" else ProportionalTemperature
        return loop(
            target=self.target if self.target_schedule is None else self.target_schedule(0),
            target_schedule=self.target_schedule,
            temperature_high=1.0 if untempered else self.temperature_high,
            temperature_low=1.0 if untempered else self.temperature_low,
        )

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        inert: tuple[str, ...] = ()
        if self.form == "paper" and np.all(to_numpy(self.alpha) == 0):
            inert = ("'aepo' with alpha 0 samples a second batch and ignores it: raise alpha",)
        if self.temperature_high <= 1 and self.ablation != "untempered":
            inert += ("'aepo' with temperature_high at most 1 cannot raise entropy: raise it",)
        return (*self.base.warnings(on_policy=on_policy, tokens=tokens, actions=actions), *inert)

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        if self.form == "code":
            return self._replaced(batch)
        xp = namespace(batch.log_prob)
        rows = batch.is_tempered
        if self.ablation == "advantage":
            gain = self._grpo()._prepare(batch.replace(mask=rows)).prepared[SCALED]
        else:
            positive = self._positive(batch)
            positive = positive * self.towards.weights(batch, rows, positive)
            gain = positive * length_factor(batch, rows, "sequence-mean")
        if self.normalize == "positives":
            share = self._positive_share(batch)
            gain = gain / xp.where(share > 0, share, xp.ones_like(share))[..., None, None]
        gain = xp.where(rows, per_run(self.alpha, gain) * gain, xp.zeros_like(gain))
        ordinary = self.base.prepare(batch.replace(mask=batch.is_ordinary))
        return batch.with_prepared(**{**ordinary.prepared, "aepo.gain": gain})

    def _replaced(self, batch: TokenBatch) -> TokenBatch:
        """Do as the authors' code: right answers of mixed groups overwrite the first rows, then one mean.

        Of the second batch it keeps rows whose group-normalized advantage is above 0.05, so none of a
        prompt that is always answered right. The first ``replaced_rows`` of them get advantage 1; half as
        many do when entropy is lowered (T < 1). As many rows of the first batch are dropped, the first
        ones. The remaining rows are averaged over their tokens.
        """
        ordinary = self.base.prepare(batch.replace(mask=batch.is_ordinary))
        xp = namespace(batch.log_prob)
        ones = xp.ones_like(batch.log_prob)
        advantage = advantages.group_normalized(batch, batch.is_tempered)
        first_token = selection.first_tokens(batch)
        eligible = first_token & batch.is_tempered & (advantage > 0.05)
        temperature: Any = batch.sampling_temperature
        lowers = xp.any(batch.is_tempered & (temperature < 1), axis=(-2, -1), keepdims=True)
        limit = xp.clip(masked_sum(ones, eligible), None, self.replaced_rows)
        limit = xp.where(lowers, xp.floor(limit / 2), limit)
        kept = selection.largest(batch, -selection.rank(batch), eligible, limit)
        count = masked_sum(ones, kept)
        dropped = selection.largest(
            batch, -selection.rank(batch), first_token & batch.is_ordinary, count)
        kept, dropped = (xp.any(m, axis=-1, keepdims=True) & batch.mask for m in (kept, dropped))
        left = batch.is_ordinary & ~dropped
        # Never 0: there are ordinary tokens, or `prepare` raises, and a row is kept for each dropped.
        tokens = masked_sum(ones, left | kept)
        zeros = xp.zeros_like(ones)
        gain = xp.where(kept, masked_sum(ones, batch.is_tempered) / tokens, zeros)
        share = xp.where(left, masked_sum(ones, batch.is_ordinary) / tokens, zeros)
        return batch.with_prepared(
            **{**ordinary.prepared, "aepo.gain": gain, "aepo.share": share})

    def advantages(self, batch: TokenBatch) -> TokenColumn:
        """Return the base rule's advantages on ordinary rows, and R on tempered ones.

        Under ablation "advantage" tempered rows have advantages of their own instead of R.
        """
        xp = namespace(batch.log_prob)
        ordinary = self.base.advantages(batch.replace(mask=batch.is_ordinary))
        if self.ablation == "advantage":
            second = self._grpo().advantages(batch.replace(mask=batch.is_tempered))
        else:
            second = self._positive(batch)
        return xp.where(batch.is_tempered, second, ordinary)

    def _grpo(self) -> PolicyGradient:
        """Return the rule that gives the advantages of ablation (3): the base if it has a baseline."""
        base = self.base
        grpo = base if isinstance(base, PolicyGradient) and base.estimator != "reward" else Grpo()
        return dataclasses.replace(grpo, normalization="sequence-mean")

    def _scores(self, batch: TokenBatch) -> TokenColumn:
        xp = namespace(batch.log_prob)
        gain, r = batch.prepared["aepo.gain"], ratio(batch)
        tempered = xp.where(unclipped(r, gain, *clip_bounds(self.base)), r * gain, xp.zeros_like(r))
        ordinary = self.base.scores(batch)
        if self.form == "code":
            ordinary = batch.prepared["aepo.share"] * ordinary
        return xp.where(batch.is_tempered, tempered, ordinary)

    def _state_terms(self, batch: TokenBatch) -> dict[str, TokenColumn]:
        terms = self.base.state_terms(batch)
        if self.form == "code":
            return {name: batch.prepared["aepo.share"] * term for name, term in terms.items()}
        return dict(terms)

    def metrics(self, batch: TokenBatch) -> dict[str, Array]:
        """Return ``tempered_sequences``, their ``tempered_positive_share``, and the base rule's metrics.

        Where either is 0 the step has no AEPO term.
        """
        xp = namespace(batch.log_prob)
        rows = xp.any(batch.is_tempered, axis=-1)
        return self._with_base_metrics(batch, {
            "tempered_sequences": xp.sum(xp.astype(rows, batch.log_prob.dtype), axis=-1),
            "tempered_positive_share": self._positive_share(batch),
        })

    def _positive(self, batch: TokenBatch) -> Array:
        """Return R of each tempered sequence, repeated over its tokens."""
        xp = namespace(batch.log_prob)
        right = advantages.right_answers(batch, batch.is_tempered, self.positive_reward)
        return xp.broadcast_to(xp.astype(right, batch.log_prob.dtype), batch.log_prob.shape)

    def _positive_share(self, batch: TokenBatch) -> Array:
        """Share of tempered sequences, by weight, with R = 1: [...]."""
        xp = namespace(batch.log_prob)
        weight = sequence_weight(batch, batch.is_tempered)
        total = xp.sum(weight, axis=(-2, -1))
        hits = xp.sum(weight * self._positive(batch)[..., :1], axis=(-2, -1))
        return hits / xp.where(total > 0, total, xp.ones_like(total))
