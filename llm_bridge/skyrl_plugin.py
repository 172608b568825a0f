"""The update rules as policy losses of SkyRL (0.3, 0.4), selected by name in SkyRL's own configuration.

::

    python -m skyrl.train.entrypoints.main_base trainer.override_entrypoint=llm_bridge.skyrl_plugin \\
        trainer.algorithm.policy_loss_type=entropy-theory/clip-higher \\
        trainer.algorithm.rule_options.clip_high=0.3 trainer.algorithm.use_kl_loss=false ...

The first line makes SkyRL start `main`, which registers the rules as policy losses before SkyRL's
workers look them up. It also adds ``rule_options`` (`UpdateRule`'s) to SkyRL's configuration. An
entry point of your own calls `register`, and takes `algorithm_config`. SkyRL decides advantages
(``advantage_estimator``), normalization (``loss_reduction``) and the correction of the sampler's
probabilities. The rule decides each token's score. Options of one side for a part that the other
decides are refused.

A policy loss of SkyRL sees log-probabilities, advantages and the mask of one micro-batch, and the
advantages come divided by the size of the mini-batch already. That is enough for rules of one token or
sequence whose score is proportional to the advantage. Others are refused; the error names the reason
and, where there is one, SkyRL's issue. Any sampling temperature works, since SkyRL's workers score the
policy at it.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any

import torch

from entropy_theory import update_rules
from entropy_theory.update_rules import UpdateRule
from entropy_theory.update_rules.sampler_correction import weighs_sampler
from llm_bridge import verl_batches, verl_rules
from llm_bridge.verl_rules import PREFIX

ENTRYPOINT = "trainer.override_entrypoint="

# SkyRL's own settings of clips and covariances, with their defaults.
_UNREAD = {
    "eps_clip_low": 0.2, "eps_clip_high": 0.2, "clip_ratio_c": 3.0,
    "clip_cov.clip_ratio": 2e-4, "clip_cov.clip_cov_lb": 1.0, "clip_cov.clip_cov_ub": 5.0,
    "kl_cov.kl_cov_frac": 0.2, "kl_cov.ppo_kl_coef": 1.0,
}


def algorithm_config() -> type[Any]:
    """Return SkyRL's AlgorithmConfig with a field for the options of a rule, ``rule_options``.

    Raises ImportError if SkyRL is not installed.
    """
    try:
        from skyrl.train.config import AlgorithmConfig
    except ModuleNotFoundError as error:
        raise ImportError(
            f"SkyRL is not installed ({error}): pip install 'skyrl[fsdp]>=0.3,<0.5'") from error
    options: Any = ("rule_options", dict[str, Any], dataclasses.field(default_factory=dict))
    return dataclasses.make_dataclass("RuleAlgorithmConfig", [options], bases=(AlgorithmConfig,))


def make_rule(name: str, options: Mapping[str, Any]) -> UpdateRule:
    """Make the update rule as it runs under SkyRL. Raises ValueError as `verl_rules.make_rule`."""
    return verl_rules.make_rule(name, options, SKYRL)


def _lacking(rule: UpdateRule) -> str:
    why = ""
    if rule.controller() is not None:
        why = ("it learns from a second batch, sampled at another temperature, and SkyRL's generator has "
               "one set of sampling parameters for a batch")
    elif verl_rules.compares_answers(rule):
        why = "it reads rewards and prompts, which SkyRL does not show to a policy loss"
    elif columns := sorted({*rule.needs.columns, *rule.needs.moves} - {"sampling_log_prob"}):
        why = f"it reads {', '.join(columns)}, which SkyRL does not show to a policy loss"
        if "entropy" in columns:
            why += " (its pull request 622 adds entropies to the loss behind it)"
    elif verl_rules.needs_whole_batch(rule):
        why = ("it takes statistics over the whole mini-batch, and SkyRL shows a policy loss one "
               "micro-batch of one rank (as to its own Clip-Cov and KL-Cov, pull request 251)")
    elif rule.coefficient_controller() is not None:
        why = "its coefficient is adapted by entropies, which SkyRL does not show to a policy loss"
    elif "step" in rule.needs.reads:
        why = "it reads the number of the optimizer step, which SkyRL does not tell a policy loss"
    elif not _is_proportional(rule):
        why = ("its score is not proportional to the advantage, and SkyRL divides advantages by "
               "the size of the mini-batch without giving that size to a policy loss (its pull "
               "request 1296)")
    return why and f"{why}: {verl_rules.ELSEWHERE}, or in verl if it runs there"


SKYRL = verl_rules.Engine(
    name="SkyRL", normalization="trainer.algorithm.loss_reduction",
    advantages="trainer.algorithm.advantage_estimator", lacking=_lacking)


def _is_proportional(rule: UpdateRule) -> bool:
    """Whether a power of two in the advantages is one in the scores, exactly, on a few tokens."""
    drift = torch.tensor([-1.0, -1e-2, 0.0, 1e-2, 1.0], dtype=torch.float64)
    old = torch.full((2, 5), -1.5, dtype=torch.float64)
    mask = torch.ones_like(old, dtype=torch.bool)
    advantages = torch.tensor([[1.5], [-0.5]], dtype=torch.float64)
    scores = [
        rule.scores(rule.prepare(
            verl_batches.token_batch(
                old, old + drift, scale * advantages, mask, sampling_log_prob=old - drift / 2, seed=0)))
        for scale in (1.0, 2.0**-12)]
    return torch.equal(scores[1], scores[0] * 2.0**-12)


def rule_of(config: Any, name: str) -> UpdateRule:
    """Return a rule by name, with the options that SkyRL's configuration of the algorithm has for it.

    Raises:
        ValueError: as `make_rule`, an option of SkyRL that the rule does not read, or one that would add
            a second term to the rule's objective.
    """
    rule = make_rule(name, verl_rules.plain(getattr(config, "rule_options", {})))
    for path, default in _UNREAD.items():
        value = functools.reduce(getattr, path.split("."), config)
        if value != default:
            raise ValueError(
                f"'{name}' does not read SkyRL's option {path}={value}: leave it at {default} and give "
                "the rule's own option in trainer.algorithm.rule_options")
    correction = config.off_policy_correction
    if weighs_sampler(rule) and correction != type(correction)():
        raise ValueError(f"'{name}' and SkyRL would both correct for the sampler: leave "
                         "trainer.algorithm.off_policy_correction out")
    for term in ("kl_loss", "entropy_loss"):
        if getattr(config, f"use_{term}") and getattr(config, f"{term}_coef") != 0:
            raise ValueError(
                f"use_{term}=true would add a term to '{name}': set trainer.algorithm.use_{term}=false")
    return rule


def policy_loss_for(name: str) -> Callable[..., tuple[torch.Tensor, dict[str, Any]]]:
    """Make the loss of a rule as SkyRL's registry calls it, on one micro-batch."""

    def policy_loss(
        log_probs: torch.Tensor,
        old_log_probs: torch.Tensor,
        advantages: torch.Tensor,
        config: Any,
        loss_mask: torch.Tensor | None = None,
        rollout_logprobs: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, dict[str, Any]]:
        from skyrl.backends.skyrl_train.utils import off_policy_correction_utils, ppo_utils

        rule = rule_of(config, name)
        if rollout_logprobs is None and "sampling_log_prob" in rule.needs.columns:
            raise ValueError(f"'{name}' reads the sampler's log-probabilities, and SkyRL has none: set "
                             "generator.sampling_params.logprobs=1")
        mask = torch.ones_like(log_probs) if loss_mask is None else loss_mask
        batch = verl_batches.token_batch(
            old_log_probs, log_probs, advantages, mask, sampling_log_prob=rollout_logprobs, seed=0)
        by_token, metrics = verl_batches.objective_and_metrics(batch, rule)
        loss, mask, corrected = off_policy_correction_utils.apply_off_policy_correction(
            -by_token, old_log_probs, rollout_logprobs, mask, config.off_policy_correction)
        return ppo_utils.reduce_loss(loss, mask), {**metrics, **corrected}

    return policy_loss


def register() -> None:
    """Put every rule into SkyRL's registry of policy losses, which takes them to its workers."""
    from skyrl.backends.skyrl_train.utils.ppo_utils import PolicyLossRegistry

    there = PolicyLossRegistry.list_available()
    for name in update_rules.RULES:
        if PREFIX + name not in there:
            PolicyLossRegistry.register(PREFIX + name, policy_loss_for(name))


def configured(arguments: list[str]) -> Any:
    """Make SkyRL's configuration of its command line, with a rule's options, and check the rule."""
    algorithm = algorithm_config()
    from skyrl.train.config import make_config

    given = [argument for argument in arguments if not argument.startswith(ENTRYPOINT)]
    config = make_config(algorithm_cls=algorithm).from_cli_overrides(given)
    if config.trainer.algorithm.policy_loss_type.startswith(PREFIX):
        rule_of(config.trainer.algorithm, config.trainer.algorithm.policy_loss_type.removeprefix(PREFIX))
    return config


def main() -> None:
    """Train as SkyRL's own entry point does, with the rules in its registry."""
    config = configured(sys.argv[1:])
    import ray
    from skyrl.train.entrypoints.main_base import skyrl_entrypoint
    from skyrl.train.utils.utils import initialize_ray, validate_cfg

    register()
    validate_cfg(config)
    initialize_ray(config)
    ray.get(skyrl_entrypoint.remote(config))
