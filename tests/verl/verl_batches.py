"""Random batches as verl's trainers and engines hand them over, and gradients on them."""

import dataclasses
import functools

import torch
from tensordict import TensorDict
from verl.trainer.ppo.core_algos import get_policy_loss_fn
from verl.utils import tensordict_utils
from verl.workers.config import ActorConfig

from llm_bridge import verl_plugin
from llm_bridge.verl_plugin import PREFIX, policy_loss_config

ROWS, POSITIONS = 12, 7


@dataclasses.dataclass
class Batch:
    """Columns [sequences, positions], padded on the right."""

    old_log_prob: torch.Tensor
    log_prob: torch.Tensor
    advantages: torch.Tensor
    mask: torch.Tensor
    entropy: torch.Tensor
    reference_log_prob: torch.Tensor

    def to(self, dtype: torch.dtype) -> "Batch":
        return Batch(**{
            field.name: column if column.dtype == torch.bool else column.to(dtype)
            for field in dataclasses.fields(self)
            for column in [getattr(self, field.name)]
        })

    def rows(self, index) -> "Batch":
        return Batch(**{f.name: getattr(self, f.name)[index] for f in dataclasses.fields(self)})


def random_batch(seed: int = 0, *, drift: float = 0.3, rows: int = ROWS) -> Batch:
    """Off-policy by ``drift`` nats a token, with covariances on both sides of 1."""
    generator = torch.Generator().manual_seed(seed)
    shape = (rows, POSITIONS)

    def normal(*size: int) -> torch.Tensor:
        return torch.randn(size, generator=generator, dtype=torch.float64)

    length = torch.randint(1, POSITIONS + 1, (rows, 1), generator=generator)
    mask = torch.arange(POSITIONS) < length
    old = -2 * torch.rand(shape, generator=generator, dtype=torch.float64).log().neg()
    return Batch(
        old_log_prob=torch.where(mask, old, 0.0),
        log_prob=torch.where(mask, old + drift * normal(*shape), 0.0),
        advantages=torch.where(mask, normal(rows, 1), 0.0),
        mask=mask,
        entropy=torch.where(mask, normal(*shape).abs(), 0.0),
        reference_log_prob=torch.where(mask, old + drift * normal(*shape), 0.0),
    )


def actor_config(loss_mode: str = "vanilla", rule_options=None, **options) -> ActorConfig:
    """The actor's configuration; options that are PolicyLossConfig's go there."""
    prefixes = ("clip_cov", "kl_cov", "ppo_kl", "forecast")
    own = {k: options.pop(k) for k in list(options) if k.startswith(prefixes)}
    return ActorConfig(
        strategy="fsdp", rollout_n=1, ppo_micro_batch_size_per_gpu=ROWS,
        policy_loss=policy_loss_config(loss_mode=loss_mode, rule_options=rule_options, **own),
        **options,
    )


def ours(rule: str, rule_options=None, **options) -> ActorConfig:
    return actor_config(PREFIX + rule, rule_options, **options)


def whole(batch: Batch, *, dp_size: int = 1) -> dict:
    """What verl's engine says of a mini-batch that is one micro-batch."""
    return {"dp_size": dp_size, "batch_num_tokens": int(batch.mask.sum()),
            "global_batch_size": len(batch.mask), "loss_scale_factor": None}


def hook(batch: Batch, config: ActorConfig, *, mode="token-mean", info=None, weights=None):
    """(gradient by log_prob, loss, metrics) of the policy loss that the configuration names.

    A rule that reads the optimizer step, which verl does not tell its losses, is asked at step 0.
    """
    log_prob = batch.log_prob.clone().requires_grad_()
    config.global_batch_info.clear()
    config.global_batch_info.update(whole(batch) if info is None else info)
    loss_mode = config.policy_loss.loss_mode
    loss_fn = get_policy_loss_fn(loss_mode)
    if loss_mode.startswith(PREFIX):
        rule = verl_plugin.rule_of(config.policy_loss)
        if "step" in rule.needs.reads:
            loss_fn = functools.partial(first_step, rule)
    loss, metrics = loss_fn(
        old_log_prob=batch.old_log_prob, log_prob=log_prob, advantages=batch.advantages,
        response_mask=batch.mask, loss_agg_mode=mode, config=config, rollout_is_weights=weights,
    )
    loss.backward()
    return log_prob.grad, loss.detach(), metrics


def first_step(rule, *, loss_agg_mode, config, rollout_is_weights, **columns):
    """What the policy loss of a rule does, where the step is known to be the first."""
    batch = verl_plugin.token_batch(**columns, step=0, seed=config.data_loader_seed)
    batch = batch.with_prepared(**verl_plugin.prepared_columns(batch, rule))
    return verl_plugin._loss_and_metrics(
        batch, rule, loss_agg_mode, config.global_batch_info, rollout_is_weights)


def jagged(padded: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    rows = [row[: int(n)] for row, n in zip(padded, mask.sum(1), strict=True)]
    return torch.nested.as_nested_tensor(rows, layout=torch.jagged)


def engine_data(batch: Batch, *, reference: bool = False) -> TensorDict:
    """A mini-batch as it reaches verl's engine: nested columns, a prompt of one token each."""
    rows = len(batch.mask)
    response = torch.arange(rows * POSITIONS).reshape(rows, POSITIONS)
    columns = {
        "row": torch.arange(rows),
        "prompts": torch.nested.as_nested_tensor([torch.zeros(1, dtype=torch.long)] * rows,
                                                 layout=torch.jagged),
        "responses": jagged(response, batch.mask),
        "response_mask": jagged(batch.mask.long(), batch.mask),
        "loss_mask": jagged(batch.mask.long(), batch.mask),
        "input_ids": jagged(
            torch.cat([torch.zeros(rows, 1, dtype=torch.long), response], 1),
            torch.cat([torch.ones(rows, 1, dtype=torch.bool), batch.mask], 1)),
        "old_log_probs": jagged(batch.old_log_prob, batch.mask),
        "advantages": jagged(batch.advantages, batch.mask),
    }
    if reference:
        columns["ref_log_prob"] = jagged(batch.reference_log_prob, batch.mask)
    data = tensordict_utils.get_tensordict(columns, {})
    tensordict_utils.assign_non_tensor(
        data, temperature=1.0, dp_size=1, batch_num_tokens=int(batch.mask.sum()),
        global_batch_size=rows, micro_batch_size_per_gpu=rows, use_dynamic_bsz=False,
    )
    return data


def model_output(data: TensorDict, log_prob: torch.Tensor, entropy: torch.Tensor | None) -> dict:
    """What an engine's forward pass returns for the rows of ``data``: one value a token of input."""
    def packed(column: torch.Tensor) -> torch.Tensor:
        lengths = data["responses"].offsets().diff()
        rows = [torch.cat([column[row, : int(n)], column[row, :1]])
                for row, n in zip(data["row"], lengths, strict=True)]
        return torch.nested.as_nested_tensor(rows, layout=torch.jagged)

    found = {"log_probs": packed(log_prob)}
    if entropy is not None:
        found["entropy"] = packed(entropy)
    return found
