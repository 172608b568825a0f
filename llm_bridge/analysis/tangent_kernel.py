"""Measures Assumption B.4: inner products of logit gradients (the empirical neural tangent kernel).

The tabular theorems take every logit z_{s,a} as a parameter of its own (AEPO, Assumption B.4). Then
<grad z_{s,a}, grad z_{s',b}> is 1 where (s, a) = (s', b) and 0 elsewhere. On a network the kernel K
= J J^T, J = dz/dtheta, has other entries. A step of gradient descent moves the logits by dz = eta K
c, where the rule puts the coefficient c_{s,a} on each logit. The rungs show how much of the
forecast's error follows from that (`RUNGS`):

1. ``identity``: dz_s = eta k c_s, k the mean diagonal of the kernel where it was measured: B.4;
2. ``own state``: dz_s = eta K_ss c_s: within a state any kernel;
3. ``all states``: dz_s = eta sum_s' K_ss' c_s': the whole kernel, to first order in the parameters;
4. ``optimizer``: dz = J dtheta for the step that the optimizer took (clipping, Adam's scaling);
5. ``first order``: the measured dz, entropy to first order: forecast (ii).

Each is turned into an entropy change by -Cov_pi(log pi, dz) and compared with the measured one. No
kernel is ever held whole: K c is a vector-Jacobian product followed by a Jacobian-vector product.
Both need the logits themselves, so that a fused head cannot be used. Tables here are [states,
vocabulary], for the last position of each chosen state alone. A part of K that moves all logits of
a state alike is in its entries, but moves no entropy.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from entropy_theory import entropy_change, policy

RUNGS = ("identity", "own state", "all states", "optimizer", "first order")

Direction = dict[str, torch.Tensor]
"""A direction in parameter space: a number for every trained parameter."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Kernel:
    """Inner products of logit gradients at chosen states and actions, before a step."""

    values: np.ndarray
    """The inner products, [states, actions, states, actions]."""
    actions: np.ndarray
    """The token ids of the actions, [states, actions]."""

    def matrix(self) -> np.ndarray:
        """Return the kernel as a matrix [states x actions, states x actions]."""
        size = self.actions.size
        return self.values.reshape(size, size)

    def diagonal(self) -> np.ndarray:
        """Return the squared norms of the logits' gradients, [states x actions]."""
        return np.diag(self.matrix())


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class KernelShape:
    """How far a kernel is from a multiple of the identity."""

    diagonal: float
    """Mean of the diagonal; Assumption B.4 has 1."""
    diagonal_spread: float
    """Standard deviation of the diagonal over its mean; 0 where it is constant."""
    within_state: float
    """Root mean square of the entries of two actions of a state, over the mean diagonal."""
    across_states: float
    """Root mean square of the entries of two states, over the mean diagonal."""
    diagonal_share: float
    """Share of the sum of all squared entries that lies on the diagonal; 1 under B.4."""
    contrast_within: float
    """How far the kernel of differences is from k' times the identity's within states: root mean square
    over k'. Differences are each state's logits less their mean over its actions; only they can move
    entropy."""
    contrast_across: float
    """Root mean square of the entries of two states in the kernel of differences, over k'."""


def shape(kernel: Kernel) -> KernelShape:
    """Measure how diagonal and constant a kernel is. Raises ValueError for one that is all zero."""
    states, actions = kernel.actions.shape
    matrix, diagonal = kernel.matrix(), kernel.diagonal()
    place = np.arange(states * actions)
    mean = float(diagonal.mean())
    if mean <= 0:
        raise ValueError("no logit depends on a trained parameter: unfreeze some of the model")
    same_state = (place[:, None] // actions) == (place // actions)
    off = place[:, None] != place
    squares = matrix**2

    def relative(where: np.ndarray) -> float:
        return float(np.sqrt(squares[where].mean())) / mean if where.any() else 0.0

    centering = np.eye(actions) - 1 / actions
    project = np.kron(np.eye(states), centering)
    contrasts = project @ matrix @ project
    scale = float(np.trace(contrasts) / np.trace(project)) if actions > 1 else 1.0
    left = (contrasts - scale * project) / scale
    return KernelShape(
        diagonal=mean,
        diagonal_spread=float(diagonal.std()) / mean,
        within_state=relative(same_state & off),
        across_states=relative(~same_state),
        diagonal_share=float((diagonal**2).sum() / squares.sum()),
        contrast_within=float(np.sqrt((left[same_state] ** 2).mean())),
        contrast_across=float(np.sqrt((left[~same_state] ** 2).mean())) if states > 1 else 0.0,
    )


class LogitJacobian:
    """The Jacobian J = dz/dtheta of next-token logits at given prefixes, multiplied from either side.

    Args:
        model: a causal language model; its trained parameters are theta, with the values they have
            now, also when the model is trained further.
        prefixes: token ids of each state, at least one token each.
    """

    def __init__(self, model: Any, prefixes: list[list[int]]):
        trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self._model, self._prefixes = model, prefixes
        self._parameters = {name: p.detach().clone() for name, p in trained.items()}
        self._takes_positions = "position_ids" in inspect.signature(model.forward).parameters

    def logits(self) -> torch.Tensor:
        """Return the logits [states, vocabulary] as they were when this object was made."""
        with torch.no_grad():
            return self._logits(self._parameters, self._prefixes)

    def now(self) -> torch.Tensor:
        """Return the logits [states, vocabulary] under the parameters as they are now."""
        with torch.no_grad():
            return self._logits({}, self._prefixes)

    def transposed(self, state: int, cotangent: torch.Tensor) -> Direction:
        """Return J^T c for a vector c [vocabulary] on the logits of one state."""
        leaves = {name: p.clone().requires_grad_() for name, p in self._parameters.items()}
        with torch.enable_grad():
            logits = self._logits(leaves, [self._prefixes[state]])[0]
            gradients = torch.autograd.grad(
                logits, list(leaves.values()), cotangent.to(logits), allow_unused=True
            )
        return {
            name: torch.zeros_like(leaf) if gradient is None else gradient
            for (name, leaf), gradient in zip(leaves.items(), gradients, strict=True)
        }

    def times(self, direction: Direction, state: int | None = None) -> torch.Tensor:
        """Return J d: [states, vocabulary], or [vocabulary] of one state."""
        chosen = self._prefixes if state is None else [self._prefixes[state]]
        with torch.no_grad(), warnings.catch_warnings():
            # torch compiles its forward-mode formulas, when first used, in a way that it deprecates.
            warnings.simplefilter("ignore", DeprecationWarning)
            found: Any = torch.func.jvp(
                lambda parameters: self._logits(parameters, chosen),
                (self._parameters,), (direction,),
            )
        tangent: torch.Tensor = found[1]
        return tangent if state is None else tangent[0]

    def since(self) -> Direction:
        """Return the parameters as they are now, less what they were when this object was made."""
        now = dict(self._model.named_parameters())
        return {name: now[name].detach() - before for name, before in self._parameters.items()}

    def _logits(self, parameters: Direction, prefixes: list[list[int]]) -> torch.Tensor:
        width = max(len(prefix) for prefix in prefixes)
        device = next(self._model.parameters()).device
        # Padding on the left, whose tokens are masked and shift no position.
        ids = torch.tensor([[0] * (width - len(p)) + p for p in prefixes], device=device)
        mask = torch.tensor(
            [[0] * (width - len(p)) + [1] * len(p) for p in prefixes], device=device
        )
        inputs: dict[str, Any] = {"input_ids": ids, "attention_mask": mask, "logits_to_keep": 1}
        if self._takes_positions:
            inputs["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)
        # The fused attention kernels have no forward-mode derivative.
        with _evaluating(self._model), sdpa_kernel(SDPBackend.MATH), _joined(self._model):
            found = torch.func.functional_call(
                self._model, parameters, (), {**inputs, "use_cache": False}
            )
        return found.logits[:, -1]


def measure(jacobian: LogitJacobian, actions: np.ndarray) -> Kernel:
    """Measure the kernel at every state of a Jacobian and the given actions [states, actions]."""
    states, count = actions.shape
    index = torch.tensor(actions)
    one = torch.zeros(jacobian.logits().shape[1])
    columns = []
    for state in range(states):
        for action in actions[state]:
            logits = one.clone()
            logits[action] = 1.0
            moved = jacobian.times(jacobian.transposed(state, logits)).cpu()
            columns.append(moved.gather(1, index).double().numpy())
    return Kernel(
        values=np.stack(columns).reshape(states, count, states, count), actions=actions
    )


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Ladder:
    """The entropy change of each state, nats, as each rung forecasts it, and as measured: [states]."""

    rungs: dict[str, np.ndarray]
    measured: np.ndarray


class LadderBuilder:
    """Builds the ladder of one optimizer step: it is made before the step and finished after it.

    Args:
        jacobian: the Jacobian at the chosen states.
        coefficients: [states, vocabulary], what the rule adds to each logit (the tabular step at
            learning rate 1).
        learning_rate: learning rate of the step.
        diagonal: mean diagonal of the kernel, k.
        gradient: gradient of the loss, as the optimizer gets it.
    """

    def __init__(
        self, jacobian: LogitJacobian, coefficients: np.ndarray, *, learning_rate: float,
        diagonal: float, gradient: Direction,
    ):
        self._jacobian = jacobian
        self._before = _wide(jacobian.logits())
        own = [
            jacobian.times(jacobian.transposed(state, torch.tensor(row)), state)
            for state, row in enumerate(coefficients)
        ]
        descent = jacobian.times({name: -column for name, column in gradient.items()})
        self._steps = {
            "identity": learning_rate * diagonal * coefficients,
            "own state": learning_rate * _wide(torch.stack(own)),
            "all states": learning_rate * _wide(descent),
        }

    def finish(self, after: np.ndarray) -> Ladder:
        """Return the ladder, from the logits [states, vocabulary] after the step."""
        change = policy.log_softmax(after) - policy.log_softmax(self._before)
        steps = {
            **self._steps,
            "optimizer": _wide(self._jacobian.times(self._jacobian.since())),
            "first order": change,
        }
        return Ladder(
            rungs={name: entropy_change.first_order(self._before, steps[name]) for name in RUNGS},
            measured=policy.entropy(after) - policy.entropy(self._before),
        )


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Rung:
    """How well one rung meets the measured entropy changes."""

    correlation: float
    slope: float
    """Slope of measured against forecast, least squares through the origin; 1 if the scale is right."""
    error: float
    """Root mean square of (forecast - measured), nats."""
    unexplained: float
    """Root mean square of slope x forecast - measured, over that of the measured, 0 to 1."""


def climb(ladders: list[Ladder]) -> dict[str, Rung]:
    """Evaluate each rung over all states of all ladders."""
    measured = np.concatenate([ladder.measured for ladder in ladders])
    return {
        name: _rung(np.concatenate([ladder.rungs[name] for ladder in ladders]), measured)
        for name in RUNGS
    }


def _rung(foretold: np.ndarray, measured: np.ndarray) -> Rung:
    power, size = float(foretold @ foretold), float(np.sqrt(np.mean(measured**2)))
    slope = float(foretold @ measured) / power if power > 0 else 0.0
    varies = foretold.std() > 0 and measured.std() > 0
    left = float(np.sqrt(np.mean((slope * foretold - measured) ** 2)))
    return Rung(
        correlation=float(np.corrcoef(foretold, measured)[0, 1]) if varies else 0.0,
        slope=slope,
        error=float(np.sqrt(np.mean((foretold - measured) ** 2))),
        unexplained=left / size if size > 0 else 0.0,
    )


def _wide(logits: torch.Tensor) -> np.ndarray:
    return policy.to_numpy(logits.double())


@contextlib.contextmanager
def _joined(model: Any) -> Iterator[None]:
    """Give the head its input in one piece: of one in strides torch multiplies each state by a copy of
    the whole weight."""
    head = model.get_output_embeddings()
    if head is None:
        yield
        return
    with head.register_forward_pre_hook(lambda _, inputs: (inputs[0].contiguous(), *inputs[1:])):
        yield


@contextlib.contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)
