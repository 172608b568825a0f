"""Divides what a rule multiplies the gradients of tokens with: by the rules it is made of, and per unit.

Everything here is coefficients, weights included: [sequences, positions] by the name of the statistic
whose gradient they multiply (`step_rows.StepRows.moved`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import UpdateRule
from entropy_theory.update_rules.combine import Combined
from entropy_theory.update_rules.rule import components, map_options, strength
from llm_bridge.objective.micro_batch import MicroBatch

Moved = dict[str, torch.Tensor]
SCORE = "log_prob"


def of_step(part: MicroBatch) -> Moved:
    """The coefficients of the step itself, as its loss had them."""
    return _weighted(part, part.scores, part.state_terms)


def by_component(rule: UpdateRule, parts: Sequence[MicroBatch]) -> dict[str, list[Moved]]:
    """Divide the coefficients of a step's micro-batches by the rules along the chain of bases.

    Each rule has what it changes of the coefficients of the rule that it modifies, so the divisions add
    up: a bonus or a second batch is what it adds, a selection what it takes away. A sum of rules is
    divided into its rules, each called by its place in the sum and its name, as in ``2.clip-cov``.
    """
    if isinstance(rule, Combined):
        found: dict[str, list[Moved]] = {}
        for place, one in enumerate(rule.rules):
            own = [_of_part(rule, part, place) for part in parts]
            found |= {f"{place + 1}.{name}": moved
                      for name, moved in by_component(one, own).items()}
        return found
    chain = [rule]
    while isinstance(base := getattr(chain[-1], "base", None), UpdateRule) and all(
        f"{base.name}.prepared" in part.batch.prepared for part in parts
    ):
        chain.append(base)
    found = {}
    for place, one in enumerate(chain):
        below = chain[place + 1] if place + 1 < len(chain) else None
        found[one.name] = [
            _difference(_of_rule(one, part), {} if below is None else _of_rule(below, part))
            for part in parts
        ]
    return found


def per_unit(rule: UpdateRule, parts: Sequence[MicroBatch]) -> list[Moved] | None:
    """The coefficients that a unit of the rule's own coefficient adds; None for a rule without one.

    A rule is taken to be affine in its coefficient: the difference of those at 1 and at 0.
    """
    if rule.coefficient_controller() is not None:
        if any(part.batch.coefficient is None for part in parts):
            return None
        return [
            _difference(*(
                _of_rule(rule, part, part.batch.replace(
                    coefficient=torch.full_like(part.batch.weight, value)))
                for value in (1.0, 0.0)
            ))
            for part in parts
        ]
    # The outermost option of that name is the one that a log calls the rule's coefficient.
    owner = next(
        (part for _, part in components(rule)
         if any(field.name == "coefficient" for field in dataclasses.fields(part))), None)
    if owner is None:
        return None

    def at(value: float) -> UpdateRule:
        fixed = {"coefficient": value, "coefficient_schedule": None}
        return map_options(rule,
            lambda part, name, old: fixed.get(name, old) if part is owner else old)

    one, none = at(1.0), at(0.0)
    return [_difference(_of_rule(one, part), _of_rule(none, part)) for part in parts]


def coefficient(rule: UpdateRule, parts: Sequence[MicroBatch]) -> float | None:
    """The coefficient with which the step was taken; None for a rule without one."""
    for part in parts:
        column: Any = part.batch.coefficient
        if column is not None and bool(part.batch.mask.any()):
            return float(column[part.batch.mask][0])
    found = strength(rule, parts[0].batch.step) if parts else None
    return None if found is None else float(found)


def _of_rule(rule: UpdateRule, part: MicroBatch, batch: TokenBatch | None = None) -> Moved:
    if not bool(part.inputs["usable_tokens"]):
        return {SCORE: torch.zeros_like(part.scores)}
    batch = part.batch if batch is None else batch
    return _weighted(part, rule.scores(batch), rule.state_terms(batch))


def _of_part(rule: Combined, part: MicroBatch, place: int) -> MicroBatch:
    """Return a micro-batch as one rule of the sum sees it."""
    return dataclasses.replace(part, batch=rule.part(part.batch, place))


def _weighted(part: MicroBatch, scores: torch.Tensor, terms: Mapping[str, torch.Tensor]) -> Moved:
    weight: Any = part.batch.weight
    if part.inputs.get("correction") is not None:
        weight = weight * part.inputs["correction"]
    weight = torch.where(part.batch.mask, weight, 0.0)
    columns = {SCORE: scores, **terms}
    # Where nothing is weighted even an infinite coefficient does nothing.
    return {name: torch.where(weight != 0, weight * c, 0.0) for name, c in columns.items()}


def _difference(first: Moved, second: Moved) -> Moved:
    names = first.keys() | second.keys()
    shape = next(iter(first.values()))
    zeros = torch.zeros_like(shape)
    return {name: first.get(name, zeros) - second.get(name, zeros) for name in sorted(names)}
