"""The update rules as policy losses of verl (0.9), selected by name in verl's own configuration.

::

    actor_rollout_ref.actor.policy_loss.loss_mode=entropy-theory/clip-cov
    actor_rollout_ref.actor.policy_loss._target_=llm_bridge.verl_plugin.policy_loss_config
    +actor_rollout_ref.actor.policy_loss.rule_options.ratio=0.002
    actor_rollout_ref.model.external_lib=llm_bridge.verl_worker

The second and third line give the rule options (`UpdateRule`'s, ``base`` by name or as a mapping with
``name``); without them it has its defaults. Where this package is installed verl imports the module by
itself (entry point group ``verl.plugins``, or ``VERL_USE_EXTERNAL_MODULES=llm_bridge.verl_plugin``).

Each side decides its own part:

- verl: advantages (``algorithm.adv_estimator``), normalization (``loss_agg_mode``), parallelism;
- the rule: each token's score. Its options for the other two are refused, and so are verl's options
  for clips and covariances that the rule would not read.

verl shows a policy loss one micro-batch at a time, without entropies. That is enough for
``reinforce``, ``grpo``, ``gspo`` and ``clip-higher``. The last line above puts `rule_loss` in the
place of verl's loss. It also shows the batch and the mini-batch of all ranks to a rule before they
are cut (`verl_columns`). All other rules need that, and so does a controller of a coefficient
(`verl_coefficient`). ``aent`` gets the logits for its clamped entropy from verl's FSDP engine,
which passes them to the loss where top-k distillation is on. ``aepo`` needs the trainer of
`verl_second_batch` too. ``natural-gradient`` is refused, with the reason. The policy is
softmax(logits / T), where ``actor_rollout_ref.rollout.temperature`` is T: verl samples and scores
it. With ``+actor_rollout_ref.actor.policy_loss.forecast_every=10`` the worker logs the forecast and
the measured entropy change of every tenth step (`verl_forecast`).

The worker counts the optimizer steps for `TokenBatch.step`, also across verl's checkpoints. A rule
that reads the step is refused without this worker, or where a checkpoint lacks the count. The seed
is ``actor.data_loader_seed``, the only seed that verl gives to a worker.
"""

from __future__ import annotations

import importlib.util
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from entropy_theory import update_rules
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import UpdateRule
from entropy_theory.update_rules.sampler_correction import weighs_sampler
from llm_bridge.objective.loss import clamped_fraction
from llm_bridge.trainer.run_numbers import check_tempered_fraction
from llm_bridge.verl_batches import (
    clamped_entropy_of,
    objective_and_metrics,
    prepared_columns,
    sequence_ids,
    shown_clamped_entropy,
    token_batch,
)
from llm_bridge.verl_columns import KINDS, add_batch_columns, add_columns, carried, names_of
from llm_bridge.verl_rules import (
    COEFFICIENT,
    PREFIX,
    STEP,
    WORKER,
    cached_rule,
    check_actor,
    check_unread,
    compares_answers,
    known_coefficient,
    known_step,
    make_rule,
    needs_model_output,
    needs_whole_batch,
    plain,
    rule_of,
)

__all__ = [
    "add_batch_columns", "add_columns", "make_rule", "policy_loss_config", "policy_loss_for", "register",
    "rule_loss", "unit_loss",
]

Loss = tuple[torch.Tensor, dict[str, Any]]
SCORED = {"sampling_log_prob": "rollout_log_probs", "old_entropy": "entropy"}
"""The columns that verl's trainer scores before a batch's steps, by their names here."""


# ---------------------------------------------------------------------------------- configuration


def policy_loss_config(
    rule_options: Mapping[str, Any] | None = None, forecast_every: int = 0,
    tempered_fraction: float = 1.0, **fields: Any,
) -> Any:
    """Make verl's PolicyLossConfig with the options of a rule, as a ``_target_`` of its configuration.

    Args:
        rule_options: the rule's.
        forecast_every: forecast and measure the entropy change of every N-th optimizer step
            (`verl_forecast`). 0: of none.
        tempered_fraction: share of the prompts that a rule with a second batch has answered again.
        fields: PolicyLossConfig's own.

    Raises:
        ImportError: no verl is installed.
        ValueError: an unknown rule, or options that it cannot have under verl. A distance that is
            not a whole number of at least 0, or a distance with a loss of verl's own. A fraction
            out of range, or a fraction for a rule without a second batch.
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
    config.forecast_every, config.tempered_fraction = forecast_every, tempered_fraction
    if config.loss_mode.startswith(PREFIX):
        check_tempered_fraction(tempered_fraction, rule_of(config))
    return config


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
        rule = cached_rule(PREFIX + name, json.dumps(options, sort_keys=True))
        check_unread(config, rule)
        if needs_model_output(rule) or compares_answers(rule):
            raise ValueError(
                f"'{PREFIX}{name}' needs entropies, log-probabilities of a reference or the sampler, "
                f"rewards or a second batch, which verl does not pass to a policy loss: set {WORKER}"
            )
        if config.policy_loss.get("forecast_every"):
            raise ValueError(f"policy_loss.forecast_every is read by the worker alone: set {WORKER}")
        if "step" in rule.needs.reads:
            raise ValueError(
                f"'{PREFIX}{name}' depends on the optimizer step, which verl does not pass to a "
                f"policy loss: set {WORKER}, which counts them"
            )
        batch = token_batch(
            old_log_prob, log_prob, advantages, response_mask, seed=config.data_loader_seed
        )
        if needs_whole_batch(rule):
            _check_whole(batch, rule, config.global_batch_info)
            ids = sequence_ids(old_log_prob, response_mask)
            batch = batch.replace(sequence=ids.expand(batch.mask.shape))
            if bool(batch.mask.any()):
                batch = batch.with_prepared(**prepared_columns(batch, rule))
        return _loss_and_metrics(
            batch, rule, loss_agg_mode, config.global_batch_info, rollout_is_weights
        )

    return policy_loss


def rule_loss(
    config: Any, model_output: Any = None, data: Any = None, dp_group: Any = None, *,
    student_logits: torch.Tensor | None = None,
) -> Any:
    """Compute the loss of a rule that reads entropies or prepared columns, in place of ``ppo_loss``.

    Where `add_columns` turned it on, verl's engine first calls this with the logits. It puts the
    result into the ``model_output`` of its call for the loss.

    Args:
        config: the actor's configuration.
        model_output: the output of the engine's forward pass on a micro-batch.
        data: the micro-batch, with the columns that `add_columns` gave the mini-batch.
        dp_group: an argument that verl passes and that is not used.
        student_logits: [1, tokens, vocabulary], in the call before the loss's.

    Returns:
        The loss and metrics, or {"clamped_entropy": [1, tokens]} in the call with logits.

    Raises:
        ValueError: a column that the rule reads is missing, or an option of verl that would add a
            second term to the rule's objective; the message has the remedy.
    """
    _need_verl()
    from verl.utils.metric import AggregationType, Metric

    rule = rule_of(config.policy_loss)
    if student_logits is not None:
        return {"clamped_entropy": clamped_entropy_of(student_logits, data, rule)}
    check_actor(config, rule)
    info = config.global_batch_info
    for name in ("dp_size", "batch_num_tokens", "global_batch_size"):
        info[name] = data[name]
    info["loss_scale_factor"] = config.loss_scale_factor
    batch, correction = _micro_batch(config, rule, model_output, data)
    kinds = data[KINDS] if KINDS in names_of(data) else None
    loss, metrics = _loss_and_metrics(batch, rule, config.loss_agg_mode, info, correction, kinds)
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


def unit_loss(
    config: Any, model_output: Any = None, data: Any = None, dp_group: Any = None, *,
    student_logits: torch.Tensor | None = None,
) -> Any:
    """Compute what a unit of the coefficient that the rule adapts adds to the loss of `rule_loss`.

    A rule is affine in it, so that this is the difference of the losses at 1 and at 0. Arguments are
    those of `rule_loss`, after which it is called, on the same micro-batches.
    """
    if student_logits is not None:
        return rule_loss(config, data=data, student_logits=student_logits)
    rule = rule_of(config.policy_loss)
    batch, correction = _micro_batch(config, rule, model_output, data)
    kinds = data[KINDS] if KINDS in names_of(data) else None
    info = {**config.global_batch_info,
            **{name: data[name] for name in ("dp_size", "batch_num_tokens", "global_batch_size")}}
    one, none = (
        _loss_and_metrics(batch.replace(coefficient=torch.full_like(batch.weight, value)), rule,
                          config.loss_agg_mode, info, correction, kinds)[0] for value in (1.0, 0.0))
    return one - none, {}


def _micro_batch(
    config: Any, rule: UpdateRule, model_output: Any, data: Any
) -> tuple[TokenBatch, torch.Tensor | None]:
    """Return a micro-batch as rules read it, and verl's correction of the sampler's probabilities."""
    from verl.workers.utils.padding import no_padding_2_padding

    log_prob = no_padding_2_padding(model_output["log_probs"], data)
    entropy = (
        no_padding_2_padding(model_output["entropy"], data) if "entropy" in model_output else None
    )
    clamped = (
        None if clamped_fraction(rule) is None else shown_clamped_entropy(model_output, data, rule)
    )
    present = names_of(data)
    scored = {column: name for column, name in SCORED.items() if column in rule.needs.columns}
    if absent := [name for name in scored.values() if name not in present]:
        raise ValueError(
            f"'{PREFIX}{rule.name}' reads {' and '.join(absent)} of verl's batch, which has none: set "
            "actor_rollout_ref.rollout.calculate_log_probs=true and trainer.use_v1=true, and leave "
            "algorithm.rollout_correction.bypass_mode at false")
    if weighs_sampler(rule) and "rollout_is_weights" in present:
        raise ValueError(
            f"'{PREFIX}{rule.name}' and verl would both weigh tokens by their sampler: set "
            "algorithm.rollout_correction.rollout_is=null")
    names = ["response_mask", "old_log_probs", "advantages", *scored.values()]
    names += [name for name in ("rollout_is_weights", "ref_log_prob") if name in present]
    padded = data.select(*names).to_padded_tensor()
    further, prepared = carried(data, log_prob)
    batch = token_batch(
        padded["old_log_probs"], log_prob, padded["advantages"], padded["response_mask"],
        entropy=entropy, clamped_entropy=clamped,
        reference_log_prob=padded.get("ref_log_prob", None),
        coefficient=known_coefficient(rule, data[COEFFICIENT] if COEFFICIENT in present else None),
        step=known_step(rule, data[STEP] if STEP in present else None),
        seed=config.data_loader_seed, **further,
        **{column: padded[name] for column, name in scored.items()},
    )
    if needs_whole_batch(rule) and not prepared:
        raise ValueError(
            f"'{PREFIX}{rule.name}' selects tokens over the whole mini-batch, but this "
            f"micro-batch lacks the columns of the selection: set {WORKER}"
        )
    batch = batch.with_prepared(**prepared)
    return batch, padded.get("rollout_is_weights", None)


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
    correction: torch.Tensor | None, kinds: Sequence[int] | None = None,
) -> Loss:
    """Return the loss in verl's aggregation, and what a log should show of this micro-batch.

    Its gradient is minus the rule's step, as `llm_bridge.objective.loss.policy_loss`; its value, minus
    the mean score. A correction (verl's rollout_is_weights) multiplies all of a token's terms.

    Args:
        kinds: the numbers of ordinary and of tempered tokens in the mini-batch; None without a second
            batch. verl aggregates the ordinary rows, as if they were all. The rule averages the others
            over their tokens, and nobody corrects them: that would undo what they are drawn for.
    """
    from verl.trainer.ppo.core_algos import agg_loss

    by_token, shown = objective_and_metrics(batch, rule)
    info, second = dict(info), torch.zeros((), device=by_token.device)
    if kinds is not None:
        info["batch_num_tokens"] = max(kinds[0], 1)
        if kinds[1]:
            second = torch.where(batch.is_tempered, -by_token, 0.0).sum() * info["dp_size"] / kinds[1]
    if correction is not None:
        by_token = by_token * correction.detach()
    loss = agg_loss(
        loss_mat=-by_token, loss_mask=batch.is_ordinary, loss_agg_mode=loss_agg_mode, **info) + second
    return loss, {f"actor/{name}": value for name, value in shown.items()}


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
