"""Watches what the loss of any TRL GRPOTrainer or RLOOTrainer does to entropy, without changing it.

`diagnostics.attach(trainer)`, before ``trainer.train()``, adds to TRL's log, at every optimizer step,

- the mean of the largest token covariances (log pi - mean)(A - mean), Table 1 of Cui et al.;
- at every tenth generation, where the law R = b - a e^H fits so far, its performance at zero entropy;
- with ``forecast_every``, at every N-th step, forecast (i'): the change of the mean entropy by the
  step, from the entropy's gradient and the optimizer's state. It costs one more forward and
  backward pass on a quarter of the rows;
- with ``account_every``, at every N-th step, the account of `llm_bridge.accounting` too, both sums so far
  and their correlation. Such a step costs three more forward and two more backward passes, on the rows of
  ``account_sequences``. With ``account_tokens`` it also costs a forward pass with dual numbers on all
  rows, about three plain ones;
- with ``coefficients_every``, at every N-th step, forecast (i) of `entropy_theory.forecast`: the change
  of the mean token entropy by the step's coefficients, times the learning rate. It leaves out the
  optimizer's scaling and the effects of tokens on each other through shared weights. On transformers its
  correlation with the measured change was between -.01 and .45. It costs one forward pass.

The coefficients are read off the trainer's own backward pass. Minus the gradient that reaches a token's
log-probability is weight x score; for its entropy it is weight x entropy term. This holds for any loss,
clip, penalty or scaling. All further passes are made in evaluation mode, draw no random number and hold
no logits (`llm_bridge.forward`). The weights that come out are the same to the last bit.
"""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
import torch
from transformers import TrainerCallback

from entropy_theory import forecast
from entropy_theory.forecast import StateStatistics
from entropy_theory.performance_law import forecast as performance
from entropy_theory.token_batch import TokenBatch, mean_entropy
from llm_bridge.accounting.any_loss import ScoredAccounts, as_batch, quarter
from llm_bridge.accounting.optimizer_step import learning_rate
from llm_bridge.analysis.tokens import mean_covariances
from llm_bridge.data.private_names import JUDGE, LOSS, SCORE, training_log
from llm_bridge.forward import evaluation_mode
from llm_bridge.forward.replayed import Replayed
from llm_bridge.head.token_statistics import TokenStatistics
from llm_bridge.objective.batches import gathered, map_columns, prefix_states
from llm_bridge.trainer.entropy_trainer import EntropyTrainer

logger = logging.getLogger(__name__)

PREFIX = "diagnostics/"
STATE = "llm_bridge.diagnostics"
"""Under which name a checkpoint's trainer_state.json has the state."""
HOOKS = (LOSS, SCORE, JUDGE)
FORECAST_EVERY = LAW_EVERY = 10
STATISTICS = ("sum_squared_prob", "sum_squared_prob_log_prob", "sum_squared_prob_squared_log_prob")


def attach(trainer: Any, **options: Any) -> Diagnostics:
    """Watch a trainer; call it before ``train``. Options and errors as `Diagnostics`."""
    diagnostics = Diagnostics(trainer, **options)
    trainer.add_callback(diagnostics)
    return diagnostics


class Diagnostics(TrainerCallback):
    """The callback that `attach` adds to a trainer (see the module's docstring).

    Args:
        trainer: a TRL GRPOTrainer or RLOOTrainer, or a subclass with a loss of its own that scores tokens
            through ``_get_per_token_logps_and_entropies``, as TRL's losses do.
        forecast_every: forecast every N-th step, the first included. 0: none. None: every tenth, where
            the optimizer's step can be read before it is taken.
        account_every: account for every N-th step, the first included. 0: none.
        account_reads: "before": read the step from the state of torch's SGD, Adam or AdamW before
            it is taken. "after": take the difference of the weights, for any optimizer, with one
            part.
        account_sequences: entropy is measured on this many first rows of each process's step. None:
            a quarter of them for a forecast, all for an account. The account's tokens are those of
            all rows.
        account_tokens: whether an account is divided over tokens. The log has the sum over tokens
            of positive advantage (``accounted/better``) and of negative (``accounted/worse``).
            TRL's losses have advantages and no rewards; tokens of advantage 0 are in neither sum.
            The log also has by how much all tokens miss the whole, and the rounding error of their
            sum.
        coefficients_every: read the coefficients of every N-th step, and forecast by them. 0: none.
        on_step: called on the main process with each step's record (`StepLog.append` writes a file).
        accounts: as `StepAccounts`: ``offload``, whether what an account holds lies in main memory,
            ``share`` and ``most_points``.

    Raises:
        TypeError: another name.
        ValueError: a trainer that cannot be watched in this way, or is watched already. An option
            out of range, or an option of accounts without accounts. When training begins: an
            optimizer that has to be read before its step, and cannot be (`UnreadableStepError`).
    """

    def __init__(
        self, trainer: Any, *, forecast_every: int | None = None, account_every: int = 0,
        account_reads: Literal["before", "after"] = "before", account_sequences: int | None = None,
        account_tokens: bool = False, coefficients_every: int = 0,
        on_step: Callable[[dict[str, Any]], None] | None = None, **accounts: Any,
    ):
        if isinstance(trainer, EntropyTrainer):
            raise ValueError("an EntropyTrainer logs its own forecast: attach to a GRPOTrainer")
        for name, value, least in (
            ("forecast_every", FORECAST_EVERY if forecast_every is None else forecast_every, 0),
            ("account_every", account_every, 0), ("coefficients_every", coefficients_every, 0),
            ("account_sequences", 1 if account_sequences is None else account_sequences, 1),
        ):
            if type(value) is not int or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
        if unknown := accounts.keys() - {"offload", "share", "most_points"}:
            raise TypeError(f"attach has no option {sorted(unknown)[0]}: see the options of Diagnostics")
        if account_tokens and not account_every:
            raise ValueError("account_tokens needs account_every, which is 0: give the number of "
                             "steps between accounts, as in account_every=10")
        if account_tokens and account_reads != "before":
            raise ValueError(
                f"account_tokens needs account_reads 'before', got {account_reads!r}: tokens are told "
                "apart only where the optimizer's step is read before it is taken")
        for hook in HOOKS:
            if not hasattr(trainer, hook):
                raise ValueError(f"{type(trainer).__name__} has no {hook}: diagnostics need a TRL "
                                 "GRPOTrainer or RLOOTrainer")
        if isinstance(getattr(getattr(trainer, LOSS), "__self__", None), Diagnostics):
            raise ValueError(
                "this trainer is watched already: make a new one to watch it with other options")
        self._trainer, self._every, self._on_step = trainer, coefficients_every, on_step
        self._replayed = Replayed(trainer.accelerator, trainer.temperature)
        self._loss, self._score, self._judge = (getattr(trainer, hook) for hook in HOOKS)
        # On this trainer alone, and around its own methods: a subclass's stay what they are.
        for hook, around in zip(HOOKS, (self._around_loss, self._around_score, self._around_rewards),
                                strict=True):
            setattr(trainer, hook, around)
        self._is_first, self._learning_rate = True, 0.0
        self._parts: list[dict[str, torch.Tensor]] = []
        self._reward: float | None = None
        self._calls: list[Any] = []
        self._routers: list[Any] = []
        self._asks = forecast_every is not None or account_every > 0
        # What is read after a step cannot be forecast before it.
        foretold = {"before": FORECAST_EVERY if forecast_every is None else forecast_every,
                    "after": account_every}[account_reads]
        self._accounts = None if not account_every + foretold else ScoredAccounts(
            trainer, self._seen, every=account_every, forecast_every=foretold, tokens=account_tokens,
            reads=account_reads, **accounts,
            sequences=quarter if account_sequences is None and not account_every else account_sequences)
        if self._accounts is not None:
            trainer.add_callback(self._accounts)
        self.forecasts: list[float] = []
        self.measured: list[float] = []
        """Forecast (i') and measured change of each accounted step, nats."""
        self.entropy: list[float] = []
        self.reward: list[float] = []
        """One point of the law per generation."""

    @property
    def law(self) -> performance.Report | None:
        """The law of all points so far; None of too few, or of an entropy that rests."""
        try:
            return performance.forecast(self.entropy, self.reward)
        except ValueError:
            return None

    def _seen(self) -> Iterable[Any]:
        return zip(self._parts, self._calls, self._routers, strict=True)

    # ------------------------------------------------------------------ around the trainer's methods

    def _around_rewards(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        rewards = self._judge(*args, **kwargs)
        if self._trainer.model.training:
            weights = self._trainer.reward_weights.to(rewards.device)
            judged = ~torch.isnan(rewards).all(dim=1)
            if bool(judged.any()):
                self._reward = float((rewards * weights).nansum(dim=1)[judged].mean())
        return rewards

    def _around_score(
        self, model: Any, input_ids: Any, attention_mask: Any, logits_to_keep: int,
        *args: Any, **kwargs: Any,
    ) -> Any:
        if not (torch.is_grad_enabled() and self._trainer.model.training):
            return self._score(model, input_ids, attention_mask, logits_to_keep, *args, **kwargs)
        part: dict[str, torch.Tensor] = {}
        with evaluation_mode.watched(self._modules()) as seen, self._replayed.seen(model) as calls:
            found = self._score(model, input_ids, attention_mask, logits_to_keep, *args, **kwargs)
        if len(calls) != 1:
            raise ValueError(
                f"{type(self._trainer).__name__} scored a batch by {len(calls)} calls of its "
                "model, where diagnostics can read one: train without diagnostics")

        def statistics(rows: Any) -> TokenStatistics:
            return self._replayed.statistics(model, calls[0], input_ids, logits_to_keep, rows)

        if self._every > 0 and self._trainer.state.global_step % self._every == 0:
            with evaluation_mode.entered(model), torch.no_grad():
                state = statistics(slice(None)).state
            part |= {name: getattr(state, name) for name in STATISTICS}
            part["state"] = prefix_states(input_ids, attention_mask)[
                :, input_ids.shape[1] - logits_to_keep : -1]
        if seen.drawing:
            self._tell_of_noise(seen.drawing, statistics)
        for name, column in zip(("log_prob", "entropy"), found[:2], strict=True):
            part[name] = column.detach()
            part[f"by_{name}"] = torch.zeros_like(column)
            if column.requires_grad:
                column.register_hook(self._keep(part, f"by_{name}"))
        self._parts.append(part)
        self._calls.append(statistics)
        self._routers.append(self._router(model, calls[0], *found[2:]))
        return found

    def _router(
        self, model: Any, call: dict[str, Any], loss: torch.Tensor | None = None
    ) -> Callable[[], torch.Tensor] | None:
        """Return what a router's loss adds to that of a pass, by the trainer's own factor."""
        if loss is None or not loss.requires_grad:
            return None
        factors: list[torch.Tensor] = []
        loss.register_hook(factors.append)
        return lambda: sum(factors) * self._replayed.router_loss(model, call)

    def _modules(self) -> list[torch.nn.Module]:
        """The modules to be looked at: all in the first pass, and then none."""
        first, self._is_first = self._is_first, False
        if not first or self._trainer.args.torch_compile:
            return []
        return list(self._trainer.model.modules())

    def _tell_of_noise(
        self, drawing: set[str], statistics: Callable[[Any], TokenStatistics]
    ) -> None:
        """Warn of modules whose random numbers change what the training pass says of a row."""
        device = self._trainer.accelerator.device
        with torch.random.fork_rng([device] if device.type == "cuda" else []), torch.no_grad():
            one, other = (statistics(slice(1)).log_prob for _ in range(2))
        if not torch.equal(one, other) and self._trainer.accelerator.is_main_process:
            logger.warning(
                "this run trains with noise, drawn by %s of %s: entropies and forecasts in the log are "
                "not those of the policy that drew the completions. Set the rates of dropout and of a "
                "router's noise to 0 in the model's config",
                ", ".join(sorted(drawing)), type(self._trainer.model).__name__)

    def _keep(self, part: dict[str, torch.Tensor], name: str) -> Callable[[torch.Tensor], None]:
        def hook(gradient: torch.Tensor) -> None:
            accelerator = self._trainer.accelerator
            scale = 1.0 if accelerator.scaler is None else accelerator.scaler.get_scale()
            # Data parallelism averages over ranks what is summed here.
            part[name] = gradient.detach() / (scale * accelerator.num_processes)

        return hook

    def _around_loss(self, model: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        if not self._trainer.model.training:
            return self._loss(model, inputs, *args, **kwargs)
        before = len(self._parts)
        loss = self._loss(model, inputs, *args, **kwargs)
        if len(self._parts) != before + 1:
            raise ValueError(
                f"the loss of {type(self._trainer).__name__} does not score its tokens by one call of "
                f"{SCORE}, where diagnostics read them: train without them"
            )
        part, mask, advantage = self._parts[-1], inputs["completion_mask"], inputs["advantages"]
        mask = mask.bool()
        part["mask"] = mask & inputs["tool_mask"].bool() if "tool_mask" in inputs else mask
        advantage = advantage if advantage.ndim == 2 else advantage[:, None]
        part["advantage"] = advantage.detach().expand(mask.shape).to(part["log_prob"].dtype)
        return loss

    # ------------------------------------------------------------------------------------- callbacks

    def on_train_begin(self, args: Any, state: Any, *_: Any, **__: Any) -> None:
        """Take up a resumed run's points, and those numbers of its steps that no log has yet."""
        kept = state.stateful_callbacks.get(STATE)
        if kept is None and state.global_step:
            logger.warning(
                "the checkpoint of step %d has no state of diagnostics, since nothing was "
                "attached to its run; sums, correlation and ceiling start from here",
                state.global_step)
        kept = copy.deepcopy(kept or {})
        self.forecasts, self.measured, self.entropy, self.reward = (
            kept.get(name, []) for name in ("forecasts", "measured", "entropy", "reward"))
        self._reward = kept.get("last_reward")
        # TRL logs means over the steps since its last log, and its checkpoint has none of them.
        training_log(self._trainer).update(kept.get("pending", {}))
        self._check_accounts(args)

    def _check_accounts(self, args: Any) -> None:
        """Tell what forecasts and accounts cost, or why forecasts that nobody asked for are left out."""
        accounts, main = self._accounts, self._trainer.accelerator.is_main_process
        if accounts is None:
            return
        try:
            accounts.check()
        except ValueError as error:
            if self._asks:
                raise
            accounts.forecast_every = 0
            if main:
                logger.warning("diagnostics log no forecast: %s", error)
            return
        if main:
            rows = args.per_device_train_batch_size * args.gradient_accumulation_steps
            logger.warning(accounts.cost(rows))  # shown where nobody asked for more of the log

    def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
        """Note the learning rate of the step about to be taken."""
        self._learning_rate = learning_rate(self._trainer.optimizer)

    def on_step_end(self, args: Any, state: Any, *_: Any, **__: Any) -> None:
        """Record the step that was just taken."""
        parts, self._parts, self._calls, self._routers = self._parts, [], [], []
        self._record(parts)
        self._keep_state(state, {name: list(values) for name, values
                                 in training_log(self._trainer).items() if name.startswith(PREFIX)})

    def _record(self, parts: list[dict[str, torch.Tensor]]) -> None:
        batch = gathered(self._trainer.accelerator, as_batch(parts))
        batch = map_columns(lambda c: c.double() if c.is_floating_point() else c, batch)
        batch = batch.replace(weight=batch.mask.double() / batch.mask.sum().clamp(min=1))
        if not bool(batch.mask.any()):
            return
        entropy = float(mean_entropy(batch))
        record: dict[str, Any] = {
            "step": self._trainer.state.global_step, "entropy": entropy,
            "forecast_entropy_change": self._forecast(batch),
        }
        table = mean_covariances(batch, batch.log_prob, batch.advantage)
        record |= {f"covariance_{name}": value for name, value in table.items()}
        law = None
        if self._reward is not None:  # the first step on a generation
            self.entropy.append(entropy)
            self.reward.append(self._reward)
            record["reward"], self._reward = self._reward, None
            if len(self.entropy) % LAW_EVERY == 0:
                law = self.law
        end = None if law is None else law.ceiling
        record |= {"ceiling": end and end.value, "ceiling_low": end and end.low,
                   "ceiling_high": end and end.high}
        record |= self._account()
        for name, value in record.items():
            if value is not None and name != "step":
                training_log(self._trainer)[PREFIX + name].append(float(value))
        if self._on_step is not None and self._trainer.accelerator.is_main_process:
            self._on_step({**record, "law": None if law is None else law.verdict})

    def on_log(self, args: Any, state: Any, *_: Any, **__: Any) -> None:
        """Forget the numbers that this log has averaged."""
        if self._trainer.model.training:
            self._keep_state(state, {})

    def _keep_state(self, state: Any, pending: dict[str, list[float]]) -> None:
        """Put what a resumed run goes on from where transformers' checkpoints take it."""
        state.stateful_callbacks[STATE] = {
            "forecasts": self.forecasts, "measured": self.measured, "entropy": self.entropy,
            "reward": self.reward, "last_reward": self._reward, "pending": pending}

    def _account(self) -> dict[str, Any]:
        """Say what the step's account found, and how the forecasts have done so far."""
        found = None if self._accounts is None else self._accounts.current
        if found is None:
            return {}
        if found.account is None:
            return {name: value for name, value in found.metrics().items() if value is not None}
        self.forecasts.append(found.forecast)
        self.measured.append(found.account.measured)
        record = {
            **{name: value for name, value in found.metrics().items() if value is not None},
            "accounted_converged": found.account.converged,
            "entropy_gradient_cumulative": math.fsum(self.forecasts),
            "measured_entropy_change_cumulative": math.fsum(self.measured),
        }
        if len(self.forecasts) > 2 and np.std(self.forecasts) > 0 and np.std(self.measured) > 0:
            record["entropy_gradient_correlation"] = float(
                np.corrcoef(self.forecasts, self.measured)[0, 1])
        return record

    def _forecast(self, batch: TokenBatch) -> float | None:
        """Return forecast (i) of the mean entropy, per sequence and then over sequences, nats."""
        columns = batch.prepared
        if STATISTICS[0] not in columns:
            return None
        contributions = forecast.token_contributions(
            # The gradients hold the weights already.
            batch.replace(weight=torch.ones_like(batch.weight)), -columns["by_log_prob"],
            {"entropy": -columns["by_entropy"]},
            StateStatistics(log_prob=batch.log_prob, entropy=batch.entropy,
                            **{name: columns[name] for name in STATISTICS}),
        )
        length = batch.mask.double().sum(-1, keepdim=True)
        measure = torch.where(batch.mask, 1 / (length.clamp(min=1) * (length > 0).sum()), 0.0)
        change = forecast.mean_entropy_forecast(batch.state, contributions, measure)
        # Logits are divided by the temperature once in the gradient and once in the entropy.
        return float(change) * self._learning_rate / self._trainer.temperature**2
