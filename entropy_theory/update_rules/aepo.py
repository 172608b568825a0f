"""AEPO: GRPO plus alpha times REINFORCE on the positive samples of a tempered policy (AEPO, Eq. 1).

    J = J_GRPO + alpha E_{o ~ pi_old^T} (1/|o|) sum_t min( r R, clip(r, 1 - eps, 1 + eps) R ),
    r = pi / pi_old at temperature 1, R in {0, 1},
    T = T_low + (T_high - T_low) [H(pi_old) < target].

What differs from the authors' code, and why:

- the tempered rows are *added* with weight alpha, as printed; the code overwrites GRPO rows, so that
  its alpha is implicit in a row count;
- R is the binary reward, as printed; the code keeps rows whose group-normalized advantage exceeds
  0.05, which drops prompts that are always answered right;
- no importance correction for pi^T, in both: the gradient at temperature 1 of samples drawn at T is
  what moves entropy. A sampler-side correction would cancel AEPO's effect.

The paper prints no alpha. The default 1 gives both batches the same total weight. By experiment
``aepo_figure_1``, of the targets below log |A*| alpha 0.1 holds 4 %, 0.5 holds 55 %, 1 holds 69 %
and 2 holds 74 %, while the chatter around the target doubles from 1 to 2: there is little to gain
above 1. Where alpha stays below kappa |F(1)| / F(T_high) entropy keeps falling.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from entropy_theory.controllers import TemperatureSwitch
from entropy_theory.policy import Array, namespace
from entropy_theory.token_batch import TokenBatch, sequence_weight
from entropy_theory.update_rules.clipped_ratio import length_factor, ratio, unclipped
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.modifier import Modifier
from entropy_theory.update_rules.rule import per_run

ABLATIONS = ("none", "untempered", "advantage")


@dataclass(frozen=True, kw_only=True, slots=True)
class Aepo(Modifier):
    """The base rule on ordinary rows; alpha x ratio x R, clipped, on tempered rows."""

    name: ClassVar[str] = "aepo"
    requires: ClassVar[tuple[str, ...]] = ("sampling_temperature",)
    alpha: Array = 1.0
    """Weight of the second batch's REINFORCE term; a number, or one a run."""
    temperature_high: float = 1.2
    temperature_low: float = 0.8
    target: float = 0.5
    """Mean token entropy to hold, nats."""
    normalize: str = "samples"
    """"samples": divide by all tempered samples (Eq. 1); "positives": by those with R = 1 (Table 4
    and the code, which keep a fixed number of positives)."""
    ablation: str = "none"
    """"untempered": the second batch is drawn at T = 1 (Table 3, Eq. 2); "advantage": the
    group-normalized advantage replaces R on tempered rows (Table 3, Eq. 3)."""
    positive_reward: float = 1.0
    """R = 1 where the reward is at least this."""

    def __post_init__(self) -> None:
        Modifier.__post_init__(self)
        for name, value, known in (
            ("normalize", self.normalize, ("samples", "positives")),
            ("ablation", self.ablation, ABLATIONS),
        ):
            if value not in known:
                raise ValueError(f"unknown {name} '{value}': use one of {', '.join(known)}")
        if not np.all(np.isfinite(self.alpha) & (np.asarray(self.alpha) >= 0)):
            raise ValueError(f"alpha must be finite and at least 0, got {self.alpha}")
        self.controller()

    def controller(self) -> TemperatureSwitch:
        """The temperature switch of Eq. 1 (both temperatures 1 under ablation "untempered")."""
        untempered = self.ablation == "untempered"
        return TemperatureSwitch(
            target=self.target,
            temperature_high=1.0 if untempered else self.temperature_high,
            temperature_low=1.0 if untempered else self.temperature_low,
        )

    def warnings(self, *, on_policy: bool, tokens: int | None = None) -> tuple[str, ...]:
        inert: tuple[str, ...] = ()
        if np.all(np.asarray(self.alpha) == 0):
            inert = ("'aepo' with alpha 0 samples a second batch and ignores it: raise alpha",)
        if self.temperature_high <= 1 and self.ablation != "untempered":
            inert += ("'aepo' with temperature_high at most 1 cannot raise entropy: raise it",)
        return (*self.base.warnings(on_policy=on_policy, tokens=tokens), *inert)

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        xp = namespace(batch.log_prob)
        rows = batch.is_tempered
        if self.ablation == "advantage":
            # The advantage that the ordinary rows get, where the base rule is GRPO itself.
            grpo = self.base if isinstance(self.base, Grpo) else Grpo()
            grpo = dataclasses.replace(grpo, normalization="sequence-mean")
            gain = grpo._prepare(batch.replace(mask=rows)).prepared["grpo.scaled_advantage"]
        else:
            gain = self._positive(batch) * length_factor(batch, rows, "sequence-mean")
        if self.normalize == "positives":
            share = self._positive_share(batch)
            gain = gain / xp.where(share > 0, share, xp.ones_like(share))[..., None, None]
        gain = xp.where(rows, per_run(self.alpha, gain) * gain, xp.zeros_like(gain))
        ordinary = self.base.prepare(batch.replace(mask=batch.is_ordinary))
        return batch.with_prepared(**ordinary.prepared, **{"aepo.gain": gain})

    def advantages(self, batch: TokenBatch) -> Array:
        """The base rule's on ordinary rows, R on tempered ones."""
        xp = namespace(batch.log_prob)
        ordinary = self.base.advantages(batch.replace(mask=batch.is_ordinary))
        return xp.where(batch.is_tempered, self._positive(batch), ordinary)

    def _scores(self, batch: TokenBatch) -> Array:
        xp = namespace(batch.log_prob)
        gain, r = batch.prepared["aepo.gain"], ratio(batch)
        low, high = getattr(self.base, "clip_low", 0.2), getattr(self.base, "clip_high", 0.2)
        tempered = xp.where(unclipped(r, gain, low, high), r * gain, 0 * r)
        return xp.where(batch.is_tempered, tempered, self.base.scores(batch))

    def metrics(self, batch: TokenBatch) -> dict[str, Array]:
        """The base rule's, and ``tempered_positive_share``: at 0 the AEPO term is absent."""
        return {
            **self.base.metrics(batch),
            "tempered_positive_share": self._positive_share(batch),
        }

    def _positive(self, batch: TokenBatch) -> Array:
        xp = namespace(batch.log_prob)
        return xp.astype(batch.reward >= self.positive_reward, batch.log_prob.dtype)

    def _positive_share(self, batch: TokenBatch) -> Array:
        """Share of tempered sequences, by weight, with R = 1: [...]."""
        xp = namespace(batch.log_prob)
        weight = sequence_weight(batch, batch.is_tempered)
        total = xp.sum(weight, axis=(-2, -1))
        hits = xp.sum(weight * self._positive(batch)[..., :1], axis=(-2, -1))
        return hits / xp.where(total > 0, total, xp.ones_like(total))
