"""A sum of rules, whose scores and state terms add."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.reads import NOTHING
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.rule import Needs, UpdateRule, merged_metrics


@dataclass(frozen=True, kw_only=True, slots=True)
class Combined(UpdateRule):
    """The sum of the rules' scores; a rule that is there twice acts twice.

    Where one part chooses a second batch (AEPO), the others act on the ordinary rows only.
    """

    name: ClassVar[str] = "combined"
    rules: tuple[UpdateRule, ...]

    def _check(self) -> None:
        if not self.rules:
            raise ValueError("combine needs at least one rule")
        if sum(rule.controller() is not None for rule in self.rules) > 1:
            raise ValueError(
                "at most one of the combined rules may choose the second batch's temperature"
            )

        adapting = sum(rule.coefficient_controller() is not None for rule in self.rules)
        if adapting > 1:
            raise ValueError("at most one of the combined rules may adapt its coefficient")
        fractions = {rule.needs.removed_fraction for rule in self.rules} - {0.0}
        if len(fractions) > 1:
            raise ValueError(f"the combined rules clamp differently: {sorted(fractions)}")

    @property
    def _needs(self) -> Needs:
        return Needs(reads=NOTHING)

    def controller(self) -> Any | None:
        controllers = [rule.controller() for rule in self.rules]
        return next((c for c in controllers if c is not None), None)

    def coefficient_controller(self) -> Any | None:
        controllers = [rule.coefficient_controller() for rule in self.rules]
        return next((c for c in controllers if c is not None), None)

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        known: dict[str, Any] = {"on_policy": on_policy, "tokens": tokens, "actions": actions}
        found = [warning for rule in self.rules for warning in rule.warnings(**known)]
        return tuple(dict.fromkeys(found))

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        # Each rule's columns under its place in the sum, so that two rules of one name keep apart.
        columns: dict[str, Array] = {}
        for place, rule in enumerate(self.rules):
            prepared = rule.prepare(self._own(batch.replace(prepared={}), rule)).prepared
            columns |= {f"combined.{place}.{key}": value for key, value in prepared.items()}
        return batch.with_prepared(**columns)

    def part(self, batch: TokenBatch, place: int) -> TokenBatch:
        """Return the prepared batch for one of the rules: its own rows and prepared columns."""
        prefix = f"combined.{place}."
        own = {k[len(prefix):]: v for k, v in batch.prepared.items() if k.startswith(prefix)}
        return self._own(batch.replace(prepared=own), self.rules[place])

    def _own(self, batch: TokenBatch, rule: UpdateRule) -> TokenBatch:
        """Return the rows that a part sees: a second batch is for the part that asked for it."""
        asked = [part for part in self.rules if part.controller() is not None]
        return batch.replace(mask=batch.is_ordinary) if asked and rule not in asked else batch

    def _scores(self, batch: TokenBatch) -> TokenColumn:
        parts = [rule.scores(self.part(batch, i)) for i, rule in enumerate(self.rules)]
        return sum(parts[1:], start=parts[0])

    def _state_terms(self, batch: TokenBatch) -> dict[str, TokenColumn]:
        total: dict[str, Array] = {}
        for place, rule in enumerate(self.rules):
            for key, value in rule.state_terms(self.part(batch, place)).items():
                total[key] = total[key] + value if key in total else value
        return total

    def metrics(self, batch: TokenBatch) -> dict[str, Array]:
        """Return the metrics of all rules.

        Of two with the same name the first keeps it; the other, of the n-th rule, is called
        ``n.rule.name``, such as ``2.clip-cov.clipped_fraction``.
        """
        batch = self._prepared(batch)
        return merged_metrics(*(
            (f"{place + 1}.{rule.name}", rule.metrics(self.part(batch, place)))
            for place, rule in enumerate(self.rules)
        ))
