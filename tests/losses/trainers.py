"""One optimizer step by the engines' own trainers: advantages, and the gradient of the loss.

Each function is given options of its engine, as a user sets them, and calls what the engine's trainer
calls from rewards to the loss. Models, workers and logs are stood in for.
"""

from __future__ import annotations

import contextlib
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode

from llm_bridge.conformance.batches import Batch
from llm_bridge.conformance.comparison import in_float64
from llm_bridge.conformance.engines import openrlhf as openrlhf_case
from llm_bridge.conformance.engines import skyrl as skyrl_case
from llm_bridge.conformance.engines import trl as trl_case
from llm_bridge.conformance.stand_ins import imported
from llm_bridge.translation import ENGINES
from llm_bridge.translation.verl import A, G

Columns = tuple[torch.Tensor, ...]
Step = tuple[torch.Tensor, Columns]
Trainer = Callable[[Mapping[str, Any], Batch, torch.Tensor], Step]
BESIDE = (1e-4, 1e-6, 1e-8, 1e-9)
"""The constants that engines add to a count or a deviation."""
spaces = types.SimpleNamespace


class Exact(TorchFunctionMode):
    """Takes two departures out of what an engine computes: float32, and constants beside divisors.

    They are `float32-ratio`, `float32-kl`, `float32-advantages`, `constant-beside-count` and
    `constant-beside-deviation` in llm_bridge/conformance/departures.toml.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        if name == "float":
            return args[0].double()
        if name in ("add", "__add__", "__radd__") and isinstance(args[1], float) and args[1] in BESIDE:
            return args[0]
        lifted = tuple(torch.float64 if each is torch.float32 else each for each in args)
        return func(*lifted, **{key: torch.float64 if each is torch.float32 else each
                                for key, each in (kwargs or {}).items()})


@contextlib.contextmanager
def exactly() -> Iterator[None]:
    """Compute as the engines do, in float64 throughout, with the same random choices."""
    torch.manual_seed(0)
    with in_float64(), Exact(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # engines warn as they are imported
        yield


def gradient(loss: torch.Tensor, batch: Batch) -> Columns:
    """Return the derivatives of a loss by log-probabilities and by entropies."""
    columns = (batch.log_prob, batch.entropy)
    found = torch.autograd.grad(loss, columns, allow_unused=True)
    return tuple(torch.where(batch.mask, torch.zeros_like(batch.log_prob) if each is None else each, 0.0)
                 for each in found)


def whole(engine: str, given: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return an engine's options with its defaults; with a prefix, those that begin so, without it."""
    return {name[len(prefix):]: value for name, value in {**ENGINES[engine].defaults, **given}.items()
            if name.startswith(prefix)}


def trl(given: Mapping[str, Any], batch: Batch, advantage: torch.Tensor) -> Step:
    """Call ``_generate_and_score_completions`` and ``_compute_loss`` of TRL's GRPOTrainer."""
    module = trl_case._trainers()
    options = {**whole("trl", given), "num_iterations": 2, "num_generations": 6,
               "per_device_train_batch_size": 1, "report_to": [], "gradient_accumulation_steps": 1}
    options["scale_rewards"] = {True: "group", False: "none"}.get(  # as GRPOConfig does
        options["scale_rewards"], options["scale_rewards"])
    made = trl_case.trainer(module.GRPOTrainer, module.GRPOConfig, batch, options)
    length = [int(row.nonzero().max()) + 1 for row in batch.mask]
    width = max(length)

    def columns(model: Any, *_: Any, **__: Any) -> tuple[torch.Tensor, torch.Tensor, None]:
        column = (batch.log_prob if torch.is_grad_enabled()
                  else batch.reference_log_prob if model is made.ref_model else batch.old_log_prob)
        return column[:, :width], batch.entropy[:, :width], None

    sampling = [row[:end].tolist() for row, end in zip(batch.sampling_log_prob, length, strict=True)]
    counted = [row[:end].long().tolist() for row, end in zip(batch.mask, length, strict=True)]
    made.__dict__.update(
        vllm_importance_sampling_correction=made.args.vllm_importance_sampling_correction,
        max_completion_length=made.args.max_completion_length, _last_world_entropy=float("inf"),
        _entropy_bonus_enabled=made.entropy_coef != 0 or made.use_adaptive_entropy,
        _entropy_window_stats=None, _get_per_token_logps_and_entropies=columns, ref_model=object(),
        model=spaces(training=True, is_gradient_checkpointing=False), _tokenizer=spaces(pad_token_id=0),
        pad_to_multiple_of=None, tools=[], environments=None, environment_factories=None,
        reward_func_names=[], reward_funcs=[None], reward_weights=torch.ones(1),
        _logs=mock.MagicMock(), _pending_extra_logs={}, _pending_metrics={},
        multi_objective_aggregation="sum_then_normalize",
        _calculate_rewards=lambda *_: batch.reward[:, None].clone(),
        _generate=lambda prompts: (
            [[1]] * len(prompts), [[1] * end for end in length], counted, [None] * len(prompts),
            sampling if made.use_vllm else None, {}, None, None))
    made.accelerator.device, made.accelerator.process_index = torch.device("cpu"), 0
    found = made._generate_and_score_completions([{"prompt": ""} for _ in length])
    loss = type(made)._compute_loss(made, made.model, {**found, "advantages": advantage})
    return found["advantages"], gradient(loss, batch)


class Padded(dict[str, Any]):
    """verl's batch, whose columns are padded already."""

    def select(self, *names: str) -> Padded:
        """Return some of the columns."""
        return Padded({name: self[name] for name in names})

    def to_padded_tensor(self) -> Padded:
        """Return the columns."""
        return self


def verl(given: Mapping[str, Any], batch: Batch, advantage: torch.Tensor) -> Step:
    """Call verl's reward penalty, advantages, sampler correction and ``ppo_loss``."""
    ray = imported("verl.trainer.ppo.ray_trainer", ())
    correction = imported("verl.trainer.ppo.rollout_corr_helper", ())
    from verl import DataProto
    from verl.trainer.config import AlgoConfig
    from verl.workers.config import ActorConfig, PolicyLossConfig
    from verl.workers.utils import losses

    algorithm = whole("verl", given, G)
    mask = batch.mask.double()
    data = DataProto.from_dict(
        tensors={"response_mask": mask, "token_level_scores": batch.per_token_reward,
                 "old_log_probs": batch.old_log_prob, "ref_log_prob": batch.reference_log_prob,
                 "rollout_log_probs": batch.sampling_log_prob,
                 "token_level_rewards": batch.per_token_reward},
        non_tensors={"uid": batch.group.numpy()})
    if algorithm["use_kl_in_reward"]:
        control = spaces(type=algorithm["kl_ctrl.type"], kl_coef=algorithm["kl_ctrl.kl_coef"])
        data, _ = ray.apply_kl_penalty(
            data, ray.core_algos.get_kl_controller(control), algorithm["kl_penalty"])
    prefix = "rollout_correction."
    correcting = {name[len(prefix):]: value for name, value in algorithm.items()
                  if name.startswith(prefix)}
    data, _ = correction.compute_rollout_correction_and_add_to_batch(data, correcting)
    data = ray.compute_advantage(
        data, algorithm["adv_estimator"],
        norm_adv_by_std_in_grpo=algorithm["norm_adv_by_std_in_grpo"],
        config=AlgoConfig(norm_adv_by_std_in_grpo=algorithm["norm_adv_by_std_in_grpo"]))
    known = {each.name for each in fields(ActorConfig)}
    actor = {name: value for name, value in whole("verl", given, A).items() if name in known}
    own = whole("verl", given, A + "policy_loss.")
    if actor["loss_scale_factor"] is None:  # verl pads answers to this length, and takes that
        actor["loss_scale_factor"] = whole("verl", given)["data.max_response_length"]
    config = ActorConfig(strategy="fsdp", rollout_n=1, ppo_micro_batch_size_per_gpu=1,
                         policy_loss=PolicyLossConfig(**own), **actor)
    columns = {name: data.batch[name] for name in (*data.batch.keys(),)}
    columns["advantages"] = advantage[:, None] * mask
    with mock.patch.object(losses, "no_padding_2_padding", lambda column, _: column):
        loss, _ = losses.ppo_loss(
            config, {"log_probs": batch.log_prob, "entropy": batch.entropy},
            Padded(columns, dp_size=1, batch_num_tokens=int(columns["response_mask"].sum()),
                   global_batch_size=len(mask)))
    return _first(data.batch["advantages"], batch), gradient(loss, batch)


def skyrl(given: Mapping[str, Any], batch: Batch, advantage: torch.Tensor) -> Step:
    """Call SkyRL's reward penalty, advantages, their normalization and a worker's micro-batch."""
    utils = skyrl_case._utils()
    worker = imported("skyrl.backends.skyrl_train.workers.worker", ("vllm", "flash_attn"))
    trainer = imported("skyrl.train.trainer", ("vllm", "flash_attn"))
    from skyrl.train.config import AlgorithmConfig

    algorithm = AlgorithmConfig()
    for name, value in whole("skyrl", given, "trainer.algorithm.").items():
        *path, last = name.split(".")
        place = algorithm
        for step in path:
            place = getattr(place, step)
        setattr(place, last, value)
    mask = batch.mask.double()
    stood_in = spaces(cfg=spaces(trainer=spaces(algorithm=algorithm, micro_train_batch_size_per_gpu=1)),
                      reward_kl_controller=utils.get_kl_controller(algorithm), all_metrics={})
    rows = _Rows(rewards=batch.per_token_reward, loss_mask=mask, response_mask=mask,
                 base_action_log_probs=batch.reference_log_prob, action_log_probs=batch.old_log_prob)
    if algorithm.use_kl_in_reward:
        rows = trainer.RayPPOTrainer.apply_reward_kl_penalty(stood_in, rows)
    found, _ = utils.compute_advantages_and_returns(
        rows["rewards"], mask, batch.group.numpy(), algorithm.advantage_estimator, algorithm,
        grpo_norm_by_std=algorithm.grpo_norm_by_std)

    def loss_of(advantages: torch.Tensor) -> torch.Tensor:
        experience = mock.MagicMock(
            action_log_probs=batch.old_log_prob, base_action_log_probs=batch.reference_log_prob,
            advantages=advantages, num_actions=mask.shape[1], loss_mask=mask, action_mask=None,
            rollout_logprobs=batch.sampling_log_prob)
        made = mock.MagicMock(cfg=spaces(algorithm=algorithm), mesh_rank=spaces(dp_size=1))
        made.policy_loss_fn = utils.PolicyLossRegistry.get(algorithm.policy_loss_type)
        # Entropies are those of all of a sequence's positions, the last of which predicts nothing.
        entropy = torch.nn.functional.pad(batch.entropy, (0, 1))
        made.model.return_value = (batch.log_prob, {"entropy": entropy})
        with mock.patch("torch.cuda.current_device", return_value="cpu"):
            worker.PolicyWorkerBase._forward_backward_micro(made, experience, microbatch_weight=1.0)
        return made.strategy.backward.call_args.args[0]

    def normalized(column: torch.Tensor) -> torch.Tensor:
        return trainer.RayPPOTrainer._normalize_advantages(
            stood_in, _Rows(advantages=column, response_mask=mask, loss_mask=mask),
            [(0, len(mask))])["advantages"]

    column = advantage[:, None] * mask
    if algorithm.policy_loss_type not in ("clip_cov", "kl_cov"):
        return _first(found, batch), gradient(loss_of(normalized(column)), batch)
    # Without the departure covariance-of-divided-advantages: its loss of whole advantages is weighed.
    algorithm.kl_cov.ppo_kl_coef, penalty = 0.0, algorithm.kl_cov.ppo_kl_coef
    terms = gradient(loss_of(torch.zeros_like(column)), batch)
    algorithm.kl_cov.ppo_kl_coef = penalty
    undivided = gradient(loss_of(column), batch)
    return _first(found, batch), tuple(
        normalized(mask) * (both - term) + term for both, term in zip(undivided, terms, strict=True))


class _Rows(dict[str, Any]):
    """SkyRL's batch: columns by name, rows by slices."""

    def __init__(self, **columns: Any) -> None:
        super().__init__(columns)
        self.metadata: dict[str, Any] = {}

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return {name: column[key] for name, column in self.items()}
        return super().__getitem__(key)


def openrlhf(
    given: Mapping[str, Any], batch: Batch, advantage: torch.Tensor
) -> Step:
    """Call OpenRLHF's ``compute_advantages_and_returns`` and its actor's ``training_step``."""
    actor = imported("openrlhf.trainer.ray.ppo_actor", openrlhf_case.STAND_INS)
    options = whole("openrlhf", given)
    args = spaces()
    for name, value in options.items():
        *path, last = name.split(".")
        place = args
        for step in path:
            vars(place).setdefault(step, spaces())
            place = getattr(place, step)
        setattr(place, last, value)
    both = args.actor.eps_clip_low_high or (args.actor.eps_clip, args.actor.eps_clip)
    asked = args.algo.advantage
    args.train = spaces(dynamic_batch_enable=False)
    made = mock.MagicMock(
        args=args, aux_loss=False, ema_model=None, replay_buffer=None,
        actor_loss_fn=actor.PolicyLoss(
            clip_eps_low=both[0], clip_eps_high=both[1], dual_clip=args.actor.dual_clip,
            token_level_loss=args.actor.loss_agg_mode == "token-mean",
            policy_loss_type=args.actor.policy_loss_type, **{
                f"is_correction_{name}": getattr(asked, f"is_correction_{name}")
                for name in ("level", "mode", "gating", "threshold")}))
    made.actor.return_value = (batch.log_prob, spaces(entropy=batch.entropy))
    mask = batch.mask.double()
    experience = mock.MagicMock(
        action_mask=mask, action_log_probs=batch.old_log_prob, advantages=advantage[:, None] * mask,
        base_action_log_probs=batch.reference_log_prob, rollout_log_probs=batch.sampling_log_prob)
    actor.ActorPPOTrainer.training_step(
        made, experience, args.algo.kl.init_coef, 0, loss_batch_info={
            "dp_size": 1, "batch_num_tokens": float(mask.sum()), "global_batch_size": float(len(mask))})
    found = openrlhf_case.advantages(batch, asked.estimator, {})
    return _first(found, batch), gradient(made.strategy.backward.call_args.args[0], batch)


def _first(column: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Return the value at each sequence's first token that counts."""
    return column[torch.arange(len(column)), batch.mask.double().argmax(1)]


TRAINERS: dict[str, Trainer] = {"trl": trl, "verl": verl, "skyrl": skyrl, "openrlhf": openrlhf}
