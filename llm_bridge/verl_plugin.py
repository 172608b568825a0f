"""The update rules as policy losses of verl (0.9), selected by name in verl's own configuration.

    actor_rollout_ref.actor.policy_loss.loss_mode=entropy-theory/clip-cov
    actor_rollout_ref.actor.policy_loss._target_=llm_bridge.verl_plugin.policy_loss_config
    +actor_rollout_ref.actor.policy_loss.rule_options.ratio=0.002
    actor_rollout_ref.model.external_lib=llm_bridge.verl_worker

The second and third line give the rule options (`UpdateRule`'s, ``base`` by name or as a mapping with
``name``); without them it has its defaults. Where this package is installed verl imports the module by
itself (entry point group ``verl.plugins``, or ``VERL_USE_EXTERNAL_MODULES=llm_bridge.verl_plugin``).

What each side decides:

- verl: advantages (``algorithm.adv_estimator``), normalization (``loss_agg_mode``), parallelism;
- the rule: each token's score. Its options for the other two are refused, and so are verl's options
  for clips and covariances that the rule would not read.

verl shows a policy loss one micro-batch at a time, without entropies. That is enough for
``reinforce``, ``grpo``, ``gspo`` and ``clip-higher``. The last line above puts `rule_loss` in the
place of verl's loss and lets a rule see the mini-batch of all ranks before it is cut; ``clip-cov``,
``kl-cov``, ``entropy-bonus``, ``entropy-advantage``, ``reference-kl`` and ``aent`` need it, and so does
what adapts a coefficient (`verl_coefficient`). ``aent`` gets the logits for its clamped entropy from
verl's FSDP engine, which hands them to the loss where top-k distillation is asked for. ``aepo``,
``natural-gradient``, ``diverse-bonus`` and coefficients held by forecasts are refused, with the reason.
With ``+actor_rollout_ref.actor.policy_loss.forecast_every=10`` the worker logs what every tenth step is
to do to the entropy, and what it did (`verl_forecast`).

The optimizer step that a rule sees (`TokenBatch.step`) is counted by the worker, over verl's checkpoints
too; without it, and where a checkpoint lacks the count, a rule that reads the step is refused. The seed
is ``actor.data_loader_seed``, the only one that verl shows to a worker.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from entropy_theory import update_rules
from entropy_theory.rounding import near
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import UpdateRule, rule_options
from entropy_theory.update_rules.bonus import tells_prompts_apart
from entropy_theory.update_rules.combine import Combined
from entropy_theory.update_rules.diverse_bonus import DiverseBonus
from entropy_theory.update_rules.entropy_advantage import EntropyAdvantage
from entropy_theory.update_rules.entropy_bonus import EntropyBonus
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.modifier import Modifier
from entropy_theory.update_rules.reference_kl import ReferenceKl
from entropy_theory.update_rules.reinforce import Reinforce
from entropy_theory.update_rules.rule import components, map_options
from llm_bridge.head.token_statistics import from_logits
from llm_bridge.objective.batches import prefix_states
from llm_bridge.objective.loss import clamped_fraction, detached, objective

PREFIX = "entropy-theory/"
"""The prefix of the rules' names in verl's registry, and of their columns in verl's batches."""
STEP = "optimizer_step"
"""The key, in a mini-batch, of the number of the optimizer step about to be taken."""
COEFFICIENT = "adapted_coefficient"
"""The key, in a mini-batch, of the coefficient that the rule's controller chose for its batch."""
WORKER = "actor_rollout_ref.model.external_lib=llm_bridge.verl_worker"

# verl's own settings of clips and covariances, with their defaults.
_UNREAD = {
    "clip_ratio": 0.2, "clip_ratio_low": 0.2, "clip_ratio_high": 0.2, "clip_ratio_c": 3.0,
    "policy_loss.clip_cov_ratio": 2e-4, "policy_loss.clip_cov_lb": 1.0,
    "policy_loss.clip_cov_ub": 5.0, "policy_loss.kl_cov_ratio": 2e-4, "policy_loss.ppo_kl_coef": 0.1,
}

Loss = tuple[torch.Tensor, dict[str, Any]]


# ---------------------------------------------------------------------------------- configuration


def policy_loss_config(
    rule_options: Mapping[str, Any] | None = None, forecast_every: int = 0, **fields: Any
) -> Any:
    """Make verl's PolicyLossConfig with the options of a rule, as a ``_target_`` of its configuration.

    Args:
        rule_options: the rule's.
        forecast_every: distance between optimizer steps whose change of the entropy is forecast and
            measured (`verl_forecast`); 0: none is.
        fields: PolicyLossConfig's own.

    Raises:
        ImportError: no verl is installed.
        ValueError: an unknown rule, options that it cannot have under verl, a distance that is no whole
            number of at least 0, or one with a loss of verl's own.
    """
    _need_verl()
    from verl.workers.config import PolicyLossConfig

    if type(forecast_every) is not int or forecast_every < 0:
        raise ValueError(
            f"policy_loss.forecast_every must be a whole number of at least 0, got {forecast_every!r}")
    if forecast_every and not fields.get("loss_mode", "").startswith(PREFIX):
        raise ValueError(
            f"policy_loss.forecast_every={forecast_every} is for this package's rules: set "
            f"policy_loss.loss_mode={PREFIX}..., or leave it at 0")
    config = PolicyLossConfig(**fields)
    config.rule_options = plain(rule_options or {})
    config.forecast_every = forecast_every
    if config.loss_mode.startswith(PREFIX):
        rule_of(config)
    return config


def rule_of(policy_loss: Any) -> UpdateRule:
    """Return the rule that a PolicyLossConfig names.

    Raises ValueError as `make_rule`.
    """
    options = plain(policy_loss.get("rule_options") or {})
    return _cached_rule(policy_loss.get("loss_mode"), json.dumps(options, sort_keys=True))


@functools.lru_cache(maxsize=64)
def _cached_rule(loss_mode: str, options: str) -> UpdateRule:
    return make_rule(loss_mode.removeprefix(PREFIX), json.loads(options))


def make_rule(name: str, options: Mapping[str, Any]) -> UpdateRule:
    """Make the update rule as it runs under verl: one number a token, normalized by verl alone.

    Raises:
        ValueError: a rule that verl cannot run, an option that verl decides, or as
            `update_rules.get`.
    """
    table = {"name": name, **options}
    rule = rule_options.from_table(table)
    for path, part in components(rule):
        _check_given(part, options_of(table, path))
    tempering = [part.name for _, part in components(rule) if part.controller() is not None]
    if tempering:
        raise ValueError(
            f"update rule '{tempering[-1]}' does not run under verl: it needs a second batch, sampled at "
            "another temperature, and verl's trainers sample one: train with "
            "llm_bridge.trainer.entropy_trainer.EntropyTrainer")
    if rule.needs.listing:
        raise ValueError(f"update rule '{name}' does not run under verl: {rule.needs.listing}")
    if any(isinstance(part, DiverseBonus) for _, part in components(rule)):
        raise ValueError(
            f"update rule '{name}' does not run under verl: it needs to know which answers of a prompt "
            "are right, and verl shows a policy loss neither rewards nor prompts: train with "
            "llm_bridge.trainer.entropy_trainer.EntropyTrainer")
    if tells_prompts_apart(rule):
        raise ValueError(
            f"update rule '{name}' with prompt_gain does not run under verl: it needs to know which "
            "answers are to one prompt, and verl shows a policy loss no prompts: leave prompt_gain 0, or "
            "train with llm_bridge.trainer.entropy_trainer.EntropyTrainer")
    controller = rule.coefficient_controller()
    if controller is not None and controller.forecasts:
        raise ValueError(
            f"the coefficient of '{rule.name}' with hold 'forecast' needs, at every optimizer step, the "
            "part of the forecast that a unit of the coefficient makes up, and the worker under verl "
            "forecasts whole steps (forecast_every): take hold 'integral', or train with "
            "llm_bridge.trainer.entropy_trainer.EntropyTrainer")
    if "entropy_effect" in rule.needs.columns:
        raise ValueError(
            f"update rule '{name}' with covariance 'network' does not run under verl: the effect of each "
            "token on entropy takes passes of its own through the whole mini-batch, which verl's engine "
            "does not make before a step: take covariance 'tabular', or train with "
            "llm_bridge.trainer.entropy_trainer.EntropyTrainer")
    needing = [part.name for _, part in components(rule) if part.needs.columns]
    if needs_whole_batch(rule) and needing:
        raise ValueError(
            f"'{rule.name}' selects tokens before the forward pass, when the columns that its base "
            f"'{needing[-1]}' reads are not there yet: take another base"
        )
    # Without length factors: verl's loss_agg_mode puts them in.
    return map_options(rule,
        lambda part, option, value: "token-mean" if option == "normalization" else value)


_SEQUENCE_WISE = {kind._prepare for kind in (
    UpdateRule, Modifier, Combined, Reinforce, Grpo, EntropyBonus, EntropyAdvantage, ReferenceKl)}
"""How rules prepare whose sequences do not see each other."""


def options_of(table: Any, path: Sequence[str | int]) -> Mapping[str, Any]:
    """Return the options that were given for a part of a rule."""
    for step in path:
        table = table.get(step) if isinstance(table, Mapping) else None
    return table if isinstance(table, Mapping) else {}


def _check_given(rule: UpdateRule, options: Mapping[str, Any]) -> None:
    """Raise ValueError for options that verl decides, or overrules."""
    if "normalization" in options:
        raise ValueError(
            f"option normalization of '{rule.name}' is verl's under verl: set "
            "actor_rollout_ref.actor.loss_agg_mode"
        )
    overruled = [option for option in options if option in advantage_options(rule)]
    if overruled:
        raise ValueError(
            f"option {overruled[0]} of '{rule.name}' is about advantages, which verl computes: set "
            "algorithm.adv_estimator and the options beside it"
        )
    if isinstance(rule, ReferenceKl) and rule.placement == "reward":
        raise ValueError(
            "placement 'reward' of 'reference-kl' is verl's under verl: set algorithm.use_kl_in_reward"
        )


def needs_whole_batch(rule: UpdateRule) -> bool:
    """Whether the rule, or one that it builds on, takes statistics over the whole mini-batch.

    Scores are elementwise, so that it is what rules prepare that may see other sequences. With advantages
    given and means over tokens some of ours do not.
    """
    return tells_prompts_apart(rule) or any(
        type(part)._prepare not in _SEQUENCE_WISE for _, part in components(rule))


def advantage_options(rule: UpdateRule) -> tuple[str, ...]:
    """Return the rule's options about advantages, which a batch that brings its own overrules."""
    if isinstance(rule, Modifier):
        return ()
    return ("estimator", "std_ddof", "dynamic_sampling", "overlong_buffer", "group_size", "max_length")


def _needs_model_output(rule: UpdateRule) -> bool:
    return bool({*rule.needs.columns, *rule.needs.moves})


def _check_unread(config: Any, rule: UpdateRule) -> None:
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


# ---------------------------------------------------------------------- losses in verl's signatures


def policy_loss_for(name: str) -> Callable[..., Loss]:
    """Make the loss of a rule as verl's registry calls it, on one micro-batch."""

    def policy_loss(
        old_log_prob: torch.Tensor,
        log_prob: torch.Tensor,
        advantages: torch.Tensor,
        response_mask: torch.Tensor,
        loss_agg_mode: str = "token-mean",
        config: Any = None,
        rollout_is_weights: torch.Tensor | None = None,
    ) -> Loss:
        if config is None:
            raise ValueError(f"'{PREFIX}{name}' needs the actor's configuration, got config=None")
        options = plain(config.policy_loss.get("rule_options") or {})
        rule = _cached_rule(PREFIX + name, json.dumps(options, sort_keys=True))
        _check_unread(config, rule)
        if _needs_model_output(rule):
            raise ValueError(
                f"'{PREFIX}{name}' needs entropies or reference log-probabilities, which verl does "
                f"not show to a policy loss: set {WORKER}"
            )
        if config.policy_loss.get("forecast_every"):
            raise ValueError(f"policy_loss.forecast_every is read by the worker alone: set {WORKER}")
        if "step" in rule.needs.reads:
            raise ValueError(
                f"'{PREFIX}{name}' depends on the optimizer step, which verl does not tell a policy "
                f"loss: set {WORKER}, which counts them"
            )
        batch = token_batch(
            old_log_prob, log_prob, advantages, response_mask, seed=config.data_loader_seed
        )
        if needs_whole_batch(rule):
            _check_whole(batch, rule, config.global_batch_info)
            if bool(batch.mask.any()):
                batch = batch.with_prepared(**_prepared(batch, rule))
        return _loss_and_metrics(
            batch, rule, loss_agg_mode, config.global_batch_info, rollout_is_weights
        )

    return policy_loss


def rule_loss(
    config: Any, model_output: Any = None, data: Any = None, dp_group: Any = None, *,
    student_logits: torch.Tensor | None = None,
) -> Any:
    """Compute the loss of a rule that reads entropies or prepared columns, in place of ``ppo_loss``.

    Where `add_columns` asked for it, verl's engine first calls this with the logits, and puts what is
    returned into the ``model_output`` of its call for the loss.

    Args:
        config: the actor's configuration.
        model_output: the output of the engine's forward pass on a micro-batch.
        data: the micro-batch, with the columns that `add_columns` gave the mini-batch.
        dp_group: an argument that verl passes and that is not used.
        student_logits: [1, tokens, vocabulary], in the call before the loss's.

    Returns:
        The loss and metrics; for logits {"clamped_entropy": [1, tokens]}.

    Raises:
        ValueError: a column that the rule reads is missing, or an option of verl that would add a
            second term to the rule's objective; the message has the remedy.
    """
    _need_verl()
    from verl.utils.metric import AggregationType, Metric
    from verl.workers.utils.padding import no_padding_2_padding

    rule = rule_of(config.policy_loss)
    if student_logits is not None:
        return {"clamped_entropy": clamped_entropy_of(student_logits, data, rule)}
    check_actor(config, rule)
    log_prob = no_padding_2_padding(model_output["log_probs"], data)
    entropy = (
        no_padding_2_padding(model_output["entropy"], data) if "entropy" in model_output else None
    )
    clamped = (
        None if clamped_fraction(rule) is None else shown_clamped_entropy(model_output, data, rule)
    )
    info = config.global_batch_info
    for name in ("dp_size", "batch_num_tokens", "global_batch_size"):
        info[name] = data[name]
    info["loss_scale_factor"] = config.loss_scale_factor
    present = [str(name) for name in data.keys()]  # noqa: SIM118, a TensorDict iterates over rows
    columns = {name: data[name] for name in present if name.startswith(PREFIX)}
    fields = ["response_mask", "old_log_probs", "advantages"]
    fields += [name for name in ("rollout_is_weights", "ref_log_prob") if name in present]
    padded = data.select(*fields).to_padded_tensor()
    batch = token_batch(
        padded["old_log_probs"], log_prob, padded["advantages"], padded["response_mask"],
        entropy=entropy, clamped_entropy=clamped,
        reference_log_prob=padded.get("ref_log_prob", None),
        coefficient=_known_coefficient(rule, data[COEFFICIENT] if COEFFICIENT in present else None),
        step=_known_step(rule, data[STEP] if STEP in present else None),
        seed=config.data_loader_seed,
    )
    width = batch.mask.shape[1]
    batch = batch.with_prepared(**{
        name.removeprefix(PREFIX): torch.nn.functional.pad(
            column, (0, max(width - column.shape[1], 0)))[:, :width].to(log_prob.device)
        for name, column in columns.items()
    })
    if needs_whole_batch(rule) and not columns:
        raise ValueError(
            f"'{PREFIX}{rule.name}' selects tokens over the whole mini-batch, and this micro-batch "
            f"lacks the columns that say which: set {WORKER}"
        )
    loss, metrics = _loss_and_metrics(
        batch, rule, config.loss_agg_mode, info, padded.get("rollout_is_weights", None)
    )
    # Shares of tokens become those of the mini-batch: summed over micro-batches, averaged over ranks.
    share = info["dp_size"] * float(batch.mask.sum()) / info["batch_num_tokens"]
    found = {
        name: Metric(value=value * share, aggregation=AggregationType.SUM)
        for name, value in metrics.items()
    }
    found["actor/pg_loss"] = Metric(value=loss, aggregation=AggregationType.SUM)
    if batch.coefficient is not None:
        found["actor/coefficient"] = Metric(
            value=float(batch.coefficient[0, 0]), aggregation=AggregationType.MEAN)
    return loss, found


def shown_clamped_entropy(model_output: Any, data: Any, rule: UpdateRule) -> torch.Tensor:
    """Return the clamped entropy of a micro-batch's response tokens, [sequences, positions].

    Raises ValueError where verl's engine has called nobody with its logits.
    """
    from verl.workers.utils.padding import no_padding_2_padding

    if "clamped_entropy" not in model_output:
        raise ValueError(
            f"'{PREFIX}{rule.name}' needs the clamped entropy, and verl's engine showed no logits: set "
            f"actor_rollout_ref.model.use_fused_kernels=false and {WORKER}"
        )
    return no_padding_2_padding(model_output["clamped_entropy"], data)


def clamped_entropy_of(logits: torch.Tensor, data: Any, rule: UpdateRule) -> torch.Tensor:
    """Return the clamped entropy, [1, tokens], of logits [1, tokens, vocabulary] that verl hands over."""
    from verl.utils import tensordict_utils

    if not tensordict_utils.get(data, key="use_remove_padding", default=True):
        # verl's log-probabilities then write their gradient over the logits.
        logits = logits.clone()
    ids = torch.zeros(logits.shape[:-1], dtype=torch.int64, device=logits.device)
    found = from_logits(logits, ids, removed_fraction=clamped_fraction(rule)).clamped_entropy
    assert found is not None
    return found


def check_actor(config: Any, rule: UpdateRule) -> None:
    """Raise ValueError unless verl's actor gives what the rule reads, and adds nothing to it."""
    _check_unread(config, rule)
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
    if rule.needs.every_step:
        raise ValueError(
            f"cov_log_prob='current' of '{rule.name}' needs log-probabilities of the whole mini-batch "
            "before its forward passes: use 'old'"
        )


def _known_step(rule: UpdateRule, step: int | None) -> int:
    """Return the step, or 0 where it is not known and the rule does not read it."""
    if step is None and "step" in rule.needs.reads:
        raise ValueError(
            f"'{PREFIX}{rule.name}' depends on the optimizer step, and nobody has counted them: set "
            f"{WORKER}, and continue from checkpoints that were written with it"
        )
    return 0 if step is None else step


def _known_coefficient(rule: UpdateRule, coefficient: float | None) -> float | None:
    """Return the coefficient that a controller chose, or None where the rule adapts none."""
    if rule.coefficient_controller() is None:
        return None
    if coefficient is None:
        raise ValueError(
            f"the coefficient of '{PREFIX}{rule.name}' adapts to the entropy of the whole batch before "
            f"its first step, which nobody has observed: set {WORKER}, and train by train_mini_batch"
        )
    return coefficient


def check_temperature(data: Any) -> None:
    """Raise ValueError for samples that are scored at another temperature than 1."""
    temperature = torch.as_tensor(data["temperature"])
    if not bool(near(temperature.double(), 1.0).all()):
        raise ValueError(
            f"verl scores at the sampling temperature ({temperature.max():g}), and rules read "
            "log-probabilities at temperature 1: set actor_rollout_ref.rollout.temperature=1"
        )


def of_all_ranks(own: Any, group: Any) -> tuple[list[Any], int]:
    """Return what every rank of a group brought, in order of the ranks, and the number of this rank.

    Args:
        own: what this rank brings, an object that can be pickled.
        group: process group; None for one rank.
    """
    if group is None or torch.distributed.get_world_size(group) == 1:
        return [own], 0
    world = [None] * torch.distributed.get_world_size(group)
    torch.distributed.all_gather_object(world, own, group=group)
    return world, torch.distributed.get_rank(group)


def add_columns(
    data: Any, config: Any, *, step: int | None, coefficient: float | None = None, group: Any = None,
    on_policy: bool = False,
) -> None:
    """Let the rule see the mini-batch of all ranks, before it is cut, and add what it found.

    Args:
        data: this rank's part of a mini-batch; columns [sequences, positions] are added to it, which
            are cut with it.
        config: the actor's configuration.
        step: number of optimizer steps that the run has taken before this one; None if not known.
        coefficient: what the rule's controller chose for the batch; None if it has none.
        group: data-parallel process group; None for one rank.
        on_policy: whether the samples of the mini-batch are used for this step only.

    Raises:
        ValueError: as `check_actor` and `check_temperature`, and an unknown step or coefficient where
            the rule reads it.
    """
    rule = rule_of(config.policy_loss)
    check_actor(config, rule)
    known_step = _known_step(rule, step)
    coefficient = _known_coefficient(rule, coefficient)
    check_temperature(data)
    padded = data.select("response_mask", "old_log_probs", "advantages").to_padded_tensor()
    names = ("old_log_probs", "advantages", "response_mask")
    own = [padded[name].detach().cpu() for name in names]
    world, rank = of_all_ranks(own, group)
    tokens = sum(int(columns[2].bool().sum()) for columns in world)
    for warning in rule.warnings(on_policy=on_policy, tokens=tokens):
        _warn_once(warning)
    from verl.utils import tensordict_utils

    if step is not None:
        tensordict_utils.assign_non_tensor(data, **{STEP: step})
    if coefficient is not None:
        tensordict_utils.assign_non_tensor(data, **{COEFFICIENT: coefficient})
    if clamped_fraction(rule) is not None:
        tensordict_utils.assign_non_tensor(data, distillation_use_topk=True)
    if not needs_whole_batch(rule):
        return
    width = max(columns[0].shape[1] for columns in world)
    old_log_prob, advantages, mask = (
        torch.cat([torch.nn.functional.pad(c, (0, width - c.shape[1])) for c in parts_])
        for parts_ in zip(*world, strict=True)
    )
    batch = token_batch(
        old_log_prob.double(), old_log_prob.double(), advantages.double(), mask,
        step=known_step, seed=config.data_loader_seed,
    )
    start = sum(len(columns[0]) for columns in world[:rank])
    rows, positions = own[0].shape
    for name, column in _prepared(batch, rule).items():
        column = column[start : start + rows, :positions]
        if column.is_floating_point():
            column = column.to(own[0].dtype)
        data[PREFIX + name] = column.contiguous().to(padded["advantages"].device)


@functools.lru_cache(maxsize=64)
def _warn_once(warning: str) -> None:
    logging.getLogger(__name__).warning(warning)


def token_batch(
    old_log_prob: torch.Tensor, log_prob: torch.Tensor, advantages: torch.Tensor,
    response_mask: torch.Tensor, *, entropy: torch.Tensor | None = None,
    clamped_entropy: torch.Tensor | None = None,
    reference_log_prob: torch.Tensor | None = None, coefficient: float | None = None, step: int = 0,
    seed: int,
) -> TokenBatch:
    """Return verl's columns [sequences, positions] as update rules read them.

    A sequence's id comes from its old log-probabilities: the same in any order, on any rank, in any
    cut. Rewards are not shown by verl; no rule that runs here reads them. The run's seed is
    ``actor.data_loader_seed``, the only one that verl shows to a worker.
    """
    mask = response_mask.bool()
    bits = old_log_prob.detach().double().contiguous().view(torch.int64)
    weight = mask.to(log_prob.dtype) / mask.sum().clamp(min=1)
    advantages = advantages.expand(log_prob.shape).to(log_prob.dtype)
    return TokenBatch(
        log_prob=log_prob,
        old_log_prob=old_log_prob.detach(),
        reward=advantages,
        advantage=advantages,
        mask=mask,
        weight=weight,
        entropy=entropy,
        clamped_entropy=clamped_entropy,
        reference_log_prob=reference_log_prob,
        coefficient=None if coefficient is None else torch.full_like(weight, coefficient),
        sequence=prefix_states(bits, mask)[:, -1:].expand(mask.shape),
        step=step,
        seed=seed,
    )


def _prepared(batch: TokenBatch, rule: UpdateRule) -> Mapping[str, torch.Tensor]:
    """Return the rule's whole-batch columns, of the policy that sampled or, if asked, the current."""
    constants = detached(batch)
    if not rule.needs.every_step:
        constants = constants.replace(log_prob=constants.old_log_prob)
    return rule.prepare(constants).prepared


def _check_whole(batch: TokenBatch, rule: UpdateRule, info: Mapping[str, Any]) -> None:
    tokens, known = int(batch.mask.sum()), info.get("batch_num_tokens")
    if known is None or int(known) != tokens or info.get("dp_size", 1) > 1:
        raise ValueError(
            f"'{PREFIX}{rule.name}' selects tokens over the whole mini-batch, and verl shows it "
            f"{tokens} of {'an unknown number of' if known is None else int(known)} response tokens, "
            f"on {info.get('dp_size', 1)} ranks; selecting in each micro-batch would be another rule. "
            f"Set {WORKER}, or one rank and ppo_micro_batch_size_per_gpu as large as the mini-batch"
        )


def _loss_and_metrics(
    batch: TokenBatch, rule: UpdateRule, loss_agg_mode: str, info: Mapping[str, Any],
    correction: torch.Tensor | None,
) -> Loss:
    """Return the loss in verl's aggregation, and what a log should show of this micro-batch.

    Its gradient is minus the rule's step, as `llm_bridge.objective.loss.policy_loss`; its value, minus
    the mean score. A correction (verl's rollout_is_weights) multiplies all of a token's terms.
    """
    from verl.trainer.ppo.core_algos import agg_loss

    by_token, shown = objective_and_metrics(batch, rule)
    if correction is not None:
        by_token = by_token * correction.detach()
    loss = agg_loss(loss_mat=-by_token, loss_mask=batch.mask, loss_agg_mode=loss_agg_mode, **info)
    return loss, {f"actor/{name}": value for name, value in shown.items()}


def objective_and_metrics(
    batch: TokenBatch, rule: UpdateRule
) -> tuple[torch.Tensor, dict[str, float]]:
    """Return a micro-batch's objective by token, for an engine to sum up, and what a log should show.

    Its gradient is the rule's, its value the score: what the losses of engines show. A micro-batch
    without a token, as dynamic micro-batches and rejected samples leave, has objective 0 and metrics 0.

    Returns:
        [sequences, positions], 0 outside the mask, nats; and metrics by name.
    """
    seen, empty = detached(batch), not bool(batch.mask.any())
    if empty:
        seen = seen.replace(mask=torch.ones_like(batch.mask))
    if not batch.prepared:
        prepared = rule.prepare(seen).prepared
        batch, seen = batch.with_prepared(**prepared), seen.with_prepared(**prepared)
    found = objective(batch, rule)
    counts = batch.mask & (found.scores != 0)
    # The value of score x log pi is made that of the score.
    shift = found.scores * (1 - torch.where(counts, batch.log_prob.detach(), 1.0))
    change = torch.where(batch.mask, seen.old_log_prob - seen.log_prob, 0.0)
    shown = {"ppo_kl": change.sum() / batch.mask.sum().clamp(min=1), **rule.metrics(seen)}
    shown.pop("groups_without_signal", None)  # of rewards, which engines do not show
    return found.by_token + shift, {
        name: 0.0 if empty else float(value) for name, value in shown.items()}


# ------------------------------------------------------------------------------------ registration


def register() -> None:
    """Put every rule into verl's registry of policy losses; importing this module does it.

    Raises ImportError if verl is not installed.
    """
    _need_verl()
    from verl.trainer.ppo.core_algos import register_policy_loss

    for name in update_rules.RULES:
        register_policy_loss(PREFIX + name)(policy_loss_for(name))


def _need_verl() -> None:
    if importlib.util.find_spec("verl") is None:
        raise ImportError("verl is not installed: pip install verl==0.9.1 (make test-verl has its pins)")


if importlib.util.find_spec("verl") is not None:
    try:
        register()
    except Exception as error:
        # verl itself would note this at level DEBUG, and then know no such loss.
        logging.getLogger(__name__).error("update rules are not registered in verl: %r", error)
        raise
