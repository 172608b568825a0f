"""Random recipes of an engine, from its table of options."""

from __future__ import annotations

import random
from typing import Any

from llm_bridge import translation
from llm_bridge.translation import Engine, Recipe

NUMBERS = {
    "epsilon_high": 0.28, "delta": 3.0, "off_policy_mask_threshold": 0.05,
    "vllm_importance_sampling_clip_min": 0.7, "eps_clip_high": 0.28, "eps_clip_c": 3.0,
    "actor.dual_clip": 3.0, "actor.entropy_coef": 0.01,
    "actor_rollout_ref.actor.policy_loss.dro_beta": 0.3, "trainer.algorithm.max_seq_len": 80,
    "actor_rollout_ref.actor.loss_scale_factor": 80,
    **{f"trainer.algorithm.off_policy_correction.token_mask_is_threshold_{side}": value
       for side, value in (("low", 0.6), ("high", 1.5))},
}
"""Values near which an option is drawn whose default is none."""
LISTS = {
    "actor.eps_clip_low_high": (0.2, 0.28), "algo.advantage.is_correction_threshold": (0.5, 2.0),
    "algorithm.rollout_correction.rollout_is_threshold": (0.5, 2.0),
}
"""Values near which the entries of an option are drawn."""


def drawn(engine: Engine, rng: random.Random) -> dict[str, Any]:
    """Draw options that an engine's table reads: one key per choice, numbers near the defaults."""
    def near(name: str, value: float) -> float:
        return float(f'{value * rng.uniform(0.5, 1.0 if "quantile" in name else 1.5):.4g}')

    choices = [engine.loss, engine.normalization, engine.estimator,
               *(choice for term in engine.terms for _, choice in term.chosen)]
    given: dict[str, Any] = {}
    for choice in choices:
        fitting = [key for key in choice.of if all(
            given.get(name, value) == value for name, value in zip(choice.by, key, strict=True))]
        given |= dict(zip(choice.by, rng.choice(fitting), strict=True)) if fitting else {}
    for name, default in engine.defaults.items():
        value = NUMBERS.get(name, default) if default is None else default
        if name in engine.only or name in given or rng.random() < 0.5:
            continue
        if name in engine.joined and rng.random() < 0.5:
            given[name] = engine.joined[name].join(str(near(name, each)) for each in LISTS[name])
        elif name in LISTS and name not in engine.joined:
            given[name] = [near(name, each) for each in LISTS[name]]
        elif isinstance(value, float):
            given[name] = near(name, value)
        elif default is None and value is not None:
            given[name] = value
    given[engine.settings["max_new_tokens"]] = rng.choice((64, 100))
    for term in rng.sample(engine.terms, len(engine.terms)):
        if term.refusal:
            given |= {term.positive: 0.0} if term.positive else {next(iter(term.on)): False}
            continue
        if rng.random() < 0.6:
            given |= term.on
        else:
            given |= {name: False for name, value in term.on.items() if value is True}
        if term.positive in engine.defaults and rng.random() < 0.4:
            given[term.positive] = None if engine.defaults[term.positive] is None else 0.0
    return given


def recipes(engine: Engine, number: int, seed: int = 0) -> list[tuple[dict[str, Any], Recipe]]:
    """Draw options and the recipes that they are."""
    rng = random.Random(f"{engine.name} {seed}")
    found: list[tuple[dict[str, Any], Recipe]] = []
    for _ in range(40 * number):
        given = drawn(engine, rng)
        try:
            found.append((given, translation.read(engine.name, given)))
        except ValueError:  # two KLs, or options that contradict each other
            continue
        if len(found) == number:
            return found
    raise AssertionError(f"only {len(found)} of {40 * number} draws are recipes")
