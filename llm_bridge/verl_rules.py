"""Update rules under verl and SkyRL: which run, with which options, and what verl's actor has to give."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from entropy_theory.update_rules import UpdateRule, rule_options
from entropy_theory.update_rules.aepo import Aepo
from entropy_theory.update_rules.bonus import Bonus, tells_prompts_apart
from entropy_theory.update_rules.combine import Combined
from entropy_theory.update_rules.difficulty import Difficulty
from entropy_theory.update_rules.diverse_bonus import DiverseBonus
from entropy_theory.update_rules.dro import Dro
from entropy_theory.update_rules.entropic import Entropic
from entropy_theory.update_rules.entropy_advantage import EntropyAdvantage
from entropy_theory.update_rules.entropy_bonus import EntropyBonus
from entropy_theory.update_rules.fipo import Fipo
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.modifier import Modifier
from entropy_theory.update_rules.reference_kl import ReferenceKl
from entropy_theory.update_rules.rule import components, map_options, second_batch_options
from entropy_theory.update_rules.sampler_correction import SamplerCorrection
from entropy_theory.update_rules.unlikeliness import Unlikeliness
from llm_bridge.objective.loss import clamped_fraction

PREFIX = "entropy-theory/"
"""The prefix of the rules' names in verl's registry, and of their columns in verl's batches."""
STEP = "optimizer_step"
"""The key, in a mini-batch, of the number of the optimizer step about to be taken."""
COEFFICIENT = "adapted_coefficient"
"""The key, in a mini-batch, of the coefficient that the rule's controller chose for its batch."""
TEMPERATURE, TEMPERED = "sampling_temperature", "tempered"
"""The keys, in a batch with a second one, of the temperatures of its sequences, in units of the policy's,
and of whether they are the second batch's."""
WORKER = "actor_rollout_ref.model.external_lib=llm_bridge.verl_worker"
TRAINER = ("trainer.v1.trainer_mode=entropy-theory, and the environment variable "
           "VERL_USE_EXTERNAL_MODULES=llm_bridge.verl_second_batch")
ELSEWHERE = "train with llm_bridge.trainer.entropy_trainer.EntropyTrainer"

# verl's own settings of clips and covariances, with their defaults.
_UNREAD = {
    "clip_ratio": 0.2, "clip_ratio_low": 0.2, "clip_ratio_high": 0.2, "clip_ratio_c": 3.0,
    "policy_loss.clip_cov_ratio": 2e-4, "policy_loss.clip_cov_lb": 1.0,
    "policy_loss.clip_cov_ub": 5.0, "policy_loss.kl_cov_ratio": 2e-4, "policy_loss.ppo_kl_coef": 0.1,
}


def rule_of(policy_loss: Any) -> UpdateRule:
    """Return the rule that a PolicyLossConfig names.

    Raises ValueError as `make_rule`.
    """
    options = plain(policy_loss.get("rule_options") or {})
    return cached_rule(policy_loss.get("loss_mode"), json.dumps(options, sort_keys=True))


@functools.lru_cache(maxsize=64)
def cached_rule(loss_mode: str, options: str) -> UpdateRule:
    """Return the rule of a loss mode with options as JSON."""
    return make_rule(loss_mode.removeprefix(PREFIX), json.loads(options))


@dataclass(frozen=True, kw_only=True, slots=True)
class Engine:
    """An engine that computes advantages and normalizes losses by itself."""

    name: str
    normalization: str
    """Its option for the normalization."""
    advantages: str
    """Its option for the advantages."""
    lacking: Callable[[UpdateRule], str]
    """A function that names what a rule needs and the engine does not give, and a remedy; "" if nothing
    is missing."""


def make_rule(name: str, options: Mapping[str, Any], engine: Engine | None = None) -> UpdateRule:
    """Make the update rule as it runs under an engine: one number per token, normalized by it alone.

    Args:
        name: of the rule.
        options: the rule's.
        engine: verl by default.

    Raises:
        ValueError: a rule that the engine cannot run, an option that it decides, or as
            `update_rules.get`.
    """
    engine = VERL if engine is None else engine
    table = {"name": name, **options}
    rule = rule_options.from_table(_with_normalization(table))
    parts = components(rule)
    for path, part in parts:
        for option in options_of(table, path):
            decided = {"normalization": engine.normalization,
                       **dict.fromkeys(advantage_options(part), engine.advantages)}
            if option in decided:
                raise ValueError(f"option {option} of '{part.name}' is {engine.name}'s under "
                                 f"{engine.name}: set {decided[option]}")
    why = rule.needs.listing or engine.lacking(rule)
    if any(isinstance(part, (Difficulty, Unlikeliness)) for _, part in parts):
        why = ("it reads which answers of a prompt are right, and a policy loss is not shown rewards and "
               f"prompts: {ELSEWHERE}")
    if why:
        raise ValueError(f"update rule '{name}' does not run under {engine.name}: {why}")
    # Without length factors: the engine puts them in.
    return map_options(rule,
        lambda part, option, value: "token-mean" if option == "normalization" else value)


def _with_normalization(table: dict[str, Any]) -> dict[str, Any]:
    """Give the base of AEPO's form 'code' the only normalization that it takes."""
    if table.get("form") != "code":
        return table
    base = table.get("base", "grpo")
    base = dict(base) if isinstance(base, Mapping) else {"name": base}
    return {**table, "base": {"normalization": "token-mean", **base}}


def _lacking(rule: UpdateRule) -> str:
    for _, part in components(rule):
        if isinstance(part, ReferenceKl) and part.placement == "reward":
            return "placement 'reward' is verl's: set algorithm.use_kl_in_reward"
    if "entropy_effect" in rule.needs.columns:
        return ("covariance 'network' takes passes of its own through the whole mini-batch, which verl's "
                f"engine does not make before a step: take covariance 'tabular', or {ELSEWHERE}")
    # An entropy for ``prompt_gain`` is that of the policy that sampled, as verl's trainer scored it.
    given = {"sampling_temperature", "entropy"}
    whole = needs_whole_batch(rule)
    late = [part.name for _, part in components(rule)
            if (whole and part._needs.columns
                and not (isinstance(part, (Bonus, Aepo)) and given.issuperset(part._needs.columns)))
            # `check_actor` tells of that option.
            or (part._needs.every_step and not hasattr(part, "cov_log_prob"))]
    if late:
        return ("it compares tokens before the forward pass, when the columns that "
                f"'{late[-1]}' reads are not there yet: take another base, or {ELSEWHERE}")
    if "logits_processor" in second_batch_options(rule):
        return ("the second batch of this target is drawn with processors of logits, which verl's "
                f"samplers do not take: {ELSEWHERE}")
    return ""


VERL = Engine(
    name="verl", normalization="actor_rollout_ref.actor.loss_agg_mode",
    advantages="algorithm.adv_estimator and the options beside it", lacking=_lacking)


_SEQUENCE_WISE = {kind._prepare for kind in (
    UpdateRule, Modifier, Combined, Grpo, EntropyBonus, EntropyAdvantage, Entropic,
    ReferenceKl, Dro, Fipo, SamplerCorrection)}
"""How rules prepare whose sequences do not see each other."""


def options_of(table: Any, path: Sequence[str | int]) -> Mapping[str, Any]:
    """Return the options that were given for a part of a rule."""
    for step in path:
        table = table.get(step) if isinstance(table, Mapping) else None
    return table if isinstance(table, Mapping) else {}


def needs_whole_batch(rule: UpdateRule) -> bool:
    """Whether the rule, or one that it builds on, takes statistics over the whole mini-batch.

    Scores are elementwise, so that it is what rules prepare that may see other sequences. With advantages
    given and means over tokens some of ours do not.
    """
    return tells_prompts_apart(rule) or any(
        type(part)._prepare not in _SEQUENCE_WISE for _, part in components(rule))


def compares_answers(rule: UpdateRule) -> bool:
    """Whether the rule reads which sequences answer one prompt, and what they were rewarded with."""
    return tells_prompts_apart(rule) or any(
        isinstance(part, DiverseBonus) for _, part in components(rule))


def advantage_options(rule: UpdateRule) -> tuple[str, ...]:
    """Return the rule's options about advantages, which a batch that brings its own overrules."""
    if isinstance(rule, Modifier):
        return ()
    return ("estimator", "estimator_parameter", "std_ddof", "dynamic_sampling", "overlong_buffer",
            "group_size", "max_length")


def needs_model_output(rule: UpdateRule) -> bool:
    """Whether the rule reads more than verl shows to a policy loss."""
    return bool({*rule.needs.columns, *rule.needs.moves})


def check_unread(config: Any, rule: UpdateRule) -> None:
    """Raise ValueError for options of verl's that are set and that the rule does not read."""
    for path, default in _UNREAD.items():
        value: Any = config
        for name in path.split("."):
            value = value.get(name)
        if value is not None and value != default:
            raise ValueError(
                f"'{PREFIX}{rule.name}' does not read verl's option {path}={value}: leave it at "
                f"{default} and give the rule's own option in policy_loss.rule_options"
            )


def plain(options: Any) -> Any:
    """Convert nested mappings and lists, those of OmegaConf too, to dicts and lists."""
    if isinstance(options, Mapping):
        return {str(name): plain(value) for name, value in options.items()}
    if not isinstance(options, str) and hasattr(options, "__iter__"):
        return [plain(value) for value in options]
    return options


def check_actor(config: Any, rule: UpdateRule) -> None:
    """Raise ValueError unless verl's actor gives what the rule reads, and adds nothing to it."""
    check_unread(config, rule)
    entropic = "entropy" in rule.needs.columns or bool(rule.needs.moves)
    if config.entropy_coeff != 0:
        raise ValueError(
            f"entropy_coeff={config.entropy_coeff} would add a term to '{PREFIX}{rule.name}': leave "
            "it at 0 and use 'entropy-theory/entropy-bonus' with the rule as its base"
        )
    if entropic and not config.calculate_entropy:
        raise ValueError(
            f"'{PREFIX}{rule.name}' reads entropies: set actor_rollout_ref.actor.calculate_entropy=true"
        )
    if clamped_fraction(rule) is not None and config.strategy not in ("fsdp", "fsdp2"):
        raise ValueError(
            f"'{PREFIX}{rule.name}' needs all logits of a token on one rank, which strategy="
            f"{config.strategy} does not have: set actor_rollout_ref.actor.strategy=fsdp2"
        )
    if "reference_log_prob" in rule.needs.columns and not config.use_kl_loss:
        raise ValueError(
            f"'{PREFIX}{rule.name}' reads the reference policy: set "
            "actor_rollout_ref.actor.use_kl_loss=true and kl_loss_coef=0, so that verl runs it"
        )
    if config.use_kl_loss and config.kl_loss_coef != 0:
        raise ValueError(
            f"kl_loss_coef={config.kl_loss_coef} would add a term to '{PREFIX}{rule.name}': set it to "
            "0 and use 'entropy-theory/reference-kl' with the rule as its base"
        )
    if config.loss_agg_mode != "token-mean" and any(
            isinstance(part, Aepo) and part.form == "code" for _, part in components(rule)):
        raise ValueError(
            f"form 'code' of '{PREFIX}{rule.name}' averages both batches over tokens: set "
            "actor_rollout_ref.actor.loss_agg_mode=token-mean"
        )
    if rule.controller() is not None and config.shuffle:
        raise ValueError(
            f"actor.shuffle=true would deal the second batch of '{PREFIX}{rule.name}' out unevenly: set "
            "actor_rollout_ref.actor.shuffle=false"
        )
    if rule.needs.every_step:
        raise ValueError(
            f"cov_log_prob='current' of '{rule.name}' needs log-probabilities of the whole mini-batch "
            "before its forward passes: use 'old'"
        )


def known_step(rule: UpdateRule, step: int | None) -> int:
    """Return the step, or 0 where it is not known and the rule does not read it."""
    if step is None and "step" in rule.needs.reads:
        raise ValueError(
            f"'{PREFIX}{rule.name}' depends on the optimizer step, which has not been counted: "
            f"set {WORKER}, and continue from checkpoints that were written with it"
        )
    return 0 if step is None else step


def known_coefficient(rule: UpdateRule, coefficient: float | None) -> float | None:
    """Return the coefficient that a controller chose, or None where the rule adapts none."""
    if rule.coefficient_controller() is None:
        return None
    if coefficient is None:
        raise ValueError(
            f"the coefficient of '{PREFIX}{rule.name}' adapts to the entropy of the whole batch "
            f"before its first step, which has not been observed: set {WORKER}, and train by "
            "train_mini_batch"
        )
    return coefficient
