"""One audited optimizer step: the distributions at its states before and after it, and the forecasts.

Forecasts (ii), (iii) and the exact (i) are functions of a state's two distributions at once, not of a
few statistics of each: no fused head has them. The distributions are therefore tables [tokens,
vocabulary], of as many tokens as the auditor chose (`audit.TABLE_ELEMENTS`). They are read before the
step and after it by passes of their own over the audited rows, few at a time. The step itself holds no
logits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from entropy_theory import entropy_change, policy, tabular
from entropy_theory.token_batch import TokenBatch
from llm_bridge.accounting.optimizer_step import learning_rate
from llm_bridge.accounting.step_accounts import Choice, StepAccount
from llm_bridge.analysis import kernel_record
from llm_bridge.analysis import tokens as audited_tokens
from llm_bridge.analysis.tangent_kernel import LadderBuilder, LogitJacobian, measure
from llm_bridge.forward.images import IMAGES
from llm_bridge.forward.policy_forward import COLUMNS
from llm_bridge.objective.batches import map_columns
from llm_bridge.objective.micro_batch import MicroBatch, contributions

CHUNK_ELEMENTS = 2**21
PASS_ELEMENTS = 2**24
"""The number of logits of a pass over audited rows, if more than one row has."""
KEPT_TOKENS = 400
"""How many tokens of a step have their forecasts written down, for scatter plots."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class AuditedStep:
    """One optimizer step's entropy changes in nats, means over sequences of means over tokens."""

    step: int
    learning_rate: float
    tokens: int
    """How many tokens were audited."""
    states: int
    """How many distinct states they were drawn at."""
    entropy: float
    """Entropy before the step, nats."""
    coefficients: float
    """Forecast (i), per unit learning rate."""
    coefficients_exact: float
    """The exact change under the tabular assumption, for SGD at the step's learning rate."""
    first_order: float
    exact: float
    measured: float
    by_token: dict[str, list[float]]
    """The last five numbers for up to KEPT_TOKENS single tokens."""
    second_order: float
    """Forecast (ii) with the second order of the entropy in the same logit change, nats."""
    entropy_gradient: float
    """Forecast (i'), nats."""
    accounted: float
    """The change along the step, nats."""
    parts: dict[str, float]
    """Effects of the step's parts, nats, which sum to ``accounted``. The parts are the addends of
    an optimizer that can be read before its step (`optimizer_step.ADDENDS`), else the step as a
    whole."""
    by_rule: dict[str, float] | None = None
    """Effects, nats, of the rules that the update rule is made of. They sum to the parts
    ``gradient`` and ``clipping``. None where the account is not divided over tokens, or the
    division is not reliable (`TokenEffects`)."""
    by_answer: dict[str, float] | None = None
    """The same by right and wrong answers."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Details:
    """The details that an audit keeps beside its forecasts, and where it keeps them."""

    folder: Path
    kernel_states: int = 6
    """At how many of the step's states logit gradients are compared; 0 compares none."""
    kernel_actions: int = 4
    """How many actions are compared at each state: those sampled, then the most probable."""
    ladder_states: int = 24
    """At how many states the forecast is followed from rung to rung; used with a kernel."""

    def __post_init__(self) -> None:
        if self.kernel_states < 0:
            raise ValueError(f"kernel_states must be at least 0, got {self.kernel_states}")
        if self.kernel_actions < 1:
            raise ValueError(f"kernel_actions must be at least 1, got {self.kernel_actions}")


class StepSnapshot:
    """The log-probabilities at the audited states of the current step, before it is taken."""

    def __init__(
        self, trainer: Any, choose: Choice, details: Details | None = None
    ):
        self._trainer, self._details = trainer, details
        parts = trainer.micro_batches
        if any(IMAGES in part.inputs for part in parts):
            raise ValueError("an audit lists prompts as texts, and these have images: account for the "
                             "steps instead (Accountant)")
        batch = map_columns(lambda *columns: torch.cat(columns), *(p.batch for p in parts))
        rows = choose(batch.is_ordinary.sum(-1))
        self._rows = {key: torch.cat([p.inputs[key] for p in parts])[rows] for key in COLUMNS}
        self._mask = batch.mask[rows]
        measure = self._mask.double() / self._mask.sum(-1, keepdim=True) / len(rows)
        self._measure = policy.to_numpy(measure[self._mask])
        states: Any = batch.state
        self._state = policy.to_numpy(states[rows][self._mask])
        self._tokens = _step_tokens(parts)
        self._learning_rate = learning_rate(trainer.optimizer)
        self._before = self._distributions()
        self._kernel: Callable[[], kernel_record.KernelRecord] | None = None
        if details is not None:
            contribution = torch.cat([c for p in parts if (c := contributions(p)) is not None])
            every = {key: torch.cat([p.inputs[key] for p in parts]) for key in COLUMNS}
            self._record = audited_tokens.record(
                every, batch, contribution, step=trainer.state.global_step + 1,
                learning_rate=self._learning_rate,
            )
            # Of the record's rows, which are audited; both leave out those without a token.
            self._kept = torch.nonzero(batch.is_ordinary.any(-1))[:, 0]
            self._recorded_rows = torch.searchsorted(self._kept, rows).numpy(force=True)
            if details.kernel_states:
                self._kernel = self._measure_kernel(details)

    def compare(self, found: StepAccount | None) -> AuditedStep:
        """Return the audited step, once the optimizer has taken it, with what was accounted for."""
        assert found is not None
        assert found.account is not None
        change = self._distributions() - self._before
        by_token = {
            "coefficients": self._by_coefficients(),
            "coefficients_exact": self._by_exact_coefficients(),
            "first_order": _rowwise(entropy_change.first_order, self._before, change),
            "exact": _rowwise(entropy_change.exact, self._before, change),
            "measured": _rowwise(
                lambda before, step: policy.entropy(before + step) - policy.entropy(before),
                self._before, change,
            ),
        }
        tokens = found.tokens if found.tokens is not None and found.tokens.trusted else None
        if self._details is not None:
            if tokens is not None:
                effects = torch.cat(tokens.by_token)[self._kept]
                self._record.attribution[:] = policy.to_numpy(effects.double())
            self._keep_details(self._details, by_token["measured"])
        count = len(self._state)
        kept = np.unique(np.linspace(0, count - 1, min(count, KEPT_TOKENS)).astype(int))
        return AuditedStep(
            step=self._trainer.state.global_step + 1,
            learning_rate=self._learning_rate,
            tokens=count,
            states=len(np.unique(self._state)),
            entropy=float(self._measure @ _rowwise(policy.entropy, self._before)),
            **{name: float(self._measure @ values) for name, values in by_token.items()},
            by_token={name: values[kept].tolist() for name, values in by_token.items()},
            second_order=float(
                self._measure @ _rowwise(entropy_change.second_order, self._before, change)),
            entropy_gradient=found.forecast, accounted=found.account.accounted,
            parts=found.account.parts,
            by_rule=None if tokens is None else found.by_rule,
            by_answer=None if tokens is None else found.by_answer,
        )

    def _distributions(self) -> np.ndarray:
        """Return log-probabilities [tokens, vocabulary] at the audited tokens as the model is now."""
        width = int(self._mask.any(0).nonzero().max()) + 1
        vocabulary = self._trainer.generating_model.config.get_text_config().vocab_size
        size = min(self._trainer.args.per_device_train_batch_size,
                   max(1, PASS_ELEMENTS // (width * vocabulary)))
        parts = []
        with torch.no_grad():
            for some in torch.arange(len(self._mask), device=self._mask.device).split(size):
                cut = {name: column[some] for name, column in self._rows.items()}
                for name in ("completion_ids", "completion_mask"):
                    cut[name] = cut[name][:, :width]
                logits = self._trainer.logits(self._trainer.model, cut)
                parts.append(logits[self._mask[some, :width]])
        return _log_probabilities(parts)

    def _by_coefficients(self) -> np.ndarray:
        """Forecast (i) at each audited token: the sum over all of the step's tokens at its state."""
        ids, index = np.unique(self._tokens.state, return_inverse=True)
        change = np.bincount(index, self._tokens.contribution, minlength=len(ids))
        return change[np.searchsorted(ids, self._state)]

    def _by_exact_coefficients(self) -> np.ndarray:
        ids, first, back = np.unique(self._state, return_index=True, return_inverse=True)
        logits = self._before[first]
        step = self._tabular_step(ids, logits)
        return _rowwise(entropy_change.exact, logits, self._learning_rate * step)[back]

    def _tabular_step(self, ids: np.ndarray, logits: np.ndarray) -> np.ndarray:
        """Return what the step's coefficients add to each logit of the states ``ids`` (sorted)."""
        tokens = self._tokens
        here = np.isin(tokens.state, ids)
        state = np.searchsorted(ids, tokens.state[here])[:, None]
        ones = np.ones(state.shape)
        # coefficient_step reads the states and the actions alone.
        batch = TokenBatch(
            log_prob=ones, old_log_prob=ones, reward=ones, mask=ones > 0, weight=ones,
            state=state, action=tokens.action[here][:, None],
        )
        return tabular.coefficient_step(
            logits, batch, tokens.weighted_score[here][:, None],
            {name: term[here][:, None] for name, term in tokens.weighted_terms.items()},
            removed_fraction=self._trainer.rule.needs.removed_fraction,
        )

    def _measure_kernel(self, details: Details) -> Callable[[], kernel_record.KernelRecord]:
        """Measure what is known before the step; return a function that adds the rest after it."""
        model = self._trainer.accelerator.unwrap_model(self._trainer.model)
        # Where there is next to no entropy, nothing but the taken action is of any consequence.
        moving = self._uncertain_half(details.kernel_states)
        ids, logits, prefixes = self._spread_states(moving, details.kernel_states)
        count = min(details.kernel_actions, logits.shape[1])
        actions = np.stack([
            _choose_actions(self._tokens.action[self._tokens.state == state], row_logits, count)
            for state, row_logits in zip(ids, logits, strict=True)
        ])
        kernel = measure(LogitJacobian(model, prefixes), actions)
        ids, logits, climbed = self._spread_states(self._distinct(), details.ladder_states)
        jacobian = LogitJacobian(model, climbed)
        ladder = LadderBuilder(
            jacobian, self._tabular_step(ids, logits), learning_rate=self._learning_rate,
            diagonal=kernel.diagonal().mean(),
            gradient={
                name: torch.zeros_like(p) if p.grad is None else p.grad
                for name, p in model.named_parameters() if p.requires_grad
            },
        )
        return lambda: kernel_record.KernelRecord(
            step=self._record.step, kernel=kernel, prefixes=prefixes,
            ladder=ladder.finish(policy.to_numpy(jacobian.now().double())))

    def _distinct(self) -> np.ndarray:
        """Choose one token of each state, in the tokens' order."""
        return np.sort(np.unique(self._state, return_index=True)[1])

    def _uncertain_half(self, count: int) -> np.ndarray:
        """Choose the half of the states with the larger entropy (at least ``count``), as `_distinct`."""
        first = self._distinct()
        entropy = _rowwise(policy.entropy, self._before)[first]
        kept = np.argsort(-entropy, kind="stable")[: max(count, len(first) // 2)]
        return first[np.sort(kept)]

    def _spread_states(
        self, tokens: np.ndarray, count: int
    ) -> tuple[np.ndarray, np.ndarray, list[list[int]]]:
        """Return ids (sorted), log-probabilities and prefixes of ``count`` tokens, evenly spread."""
        places = np.linspace(0, len(tokens) - 1, min(len(tokens), count))
        chosen = tokens[np.unique(places.astype(int))]
        chosen = chosen[np.argsort(self._state[chosen])]
        row, position = (index.tolist() for index in torch.nonzero(self._mask.cpu(), as_tuple=True))
        prefixes = [self._prefix(row[token], position[token]) for token in chosen]
        return self._state[chosen], self._before[chosen], prefixes

    def _prefix(self, row: int, position: int) -> list[int]:
        prompt = self._rows["prompt_ids"][row][self._rows["prompt_mask"][row].bool()]
        answer = self._rows["completion_ids"][row, :position]
        return [*prompt.tolist(), *answer.tolist()]

    def _keep_details(self, details: Details, measured: np.ndarray) -> None:
        where = policy.to_numpy(self._mask)
        table = np.full(where.shape, np.nan)
        table[where] = measured
        self._record.measured[self._recorded_rows] = table
        step = self._record.step
        audited_tokens.write(details.folder / f"tokens-{step:05d}.npz", self._record)
        if self._kernel is not None:
            kernel_record.write(details.folder / f"kernel-{step:05d}.npz", self._kernel())


def _choose_actions(sampled: np.ndarray, logits: np.ndarray, count: int) -> np.ndarray:
    """Choose ``count`` distinct actions: those sampled first, then the most probable."""
    ordered = np.concatenate([sampled, np.argsort(-logits, kind="stable")[: 2 * count]])
    _, first = np.unique(ordered, return_index=True)
    return ordered[np.sort(first)][:count]


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class _StepTokens:
    """All tokens of a step, tempered ones included: [tokens] each."""

    state: np.ndarray
    action: np.ndarray
    weighted_score: np.ndarray
    weighted_terms: dict[str, np.ndarray]
    contribution: np.ndarray


def _step_tokens(parts: list[MicroBatch]) -> _StepTokens:
    found = [c for part in parts if (c := contributions(part)) is not None]
    if not found:
        raise ValueError(
            f"no entropy forecast is known for the state terms {sorted(parts[0].state_terms)}: "
            "audit a rule whose state terms are 'entropy' and 'clamped_entropy'"
        )

    def flat(columns: list[Any]) -> np.ndarray:
        pairs = zip(columns, parts, strict=True)
        return np.concatenate([policy.to_numpy(c[p.batch.mask]) for c, p in pairs])

    def weighted(part: MicroBatch, column: torch.Tensor) -> torch.Tensor:
        correction = part.inputs.get("correction")
        weight = part.batch.weight if correction is None else part.batch.weight * correction
        return (weight * column).double()

    return _StepTokens(
        state=flat([part.batch.state for part in parts]),
        action=flat([part.batch.action for part in parts]),
        weighted_score=flat([weighted(part, part.scores) for part in parts]),
        weighted_terms={
            name: flat([weighted(part, part.state_terms[name]) for part in parts])
            for name in parts[0].state_terms
        },
        contribution=flat([contribution.double() for contribution in found]),
    )


def _log_probabilities(logits: list[torch.Tensor]) -> np.ndarray:
    """Compute log-probabilities [tokens, vocabulary] in float64."""
    return _rowwise(policy.log_softmax, policy.to_numpy(torch.cat(logits).double()))


def _rowwise(function: Callable[..., np.ndarray], *tables: np.ndarray) -> np.ndarray:
    """Apply ``function`` to [tokens, vocabulary] tables a few rows at a time, to save memory."""
    size = max(1, CHUNK_ELEMENTS // tables[0].shape[1])
    starts = range(0, len(tables[0]), size)
    return np.concatenate([function(*(t[start : start + size] for t in tables)) for start in starts])
