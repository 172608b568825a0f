"""Guards llm_bridge/analysis/logit_moves.py on tables of logits, where every number is known."""

import types

import numpy as np
import pytest
import torch

from entropy_theory import entropy_change, policy
from llm_bridge.analysis.logit_moves import BLOCK, LogitMoves, NoiseForecast, move

LOGITS = np.array([[2.0, 0.5, -1.0, -1.0], [0.0, 3.0, 0.5, -2.0]])
RATE = 1e-3


class Table(torch.nn.Module):
    """Logits that are the parameters, or their squares."""

    def __init__(self, squared=False):
        super().__init__()
        self.logits = torch.nn.Parameter(torch.tensor(LOGITS))
        self.squared = squared

    def forward(self):
        return self.logits**2 if self.squared else self.logits


def trainer_of(model, optimizer):
    """What the measurements use of a trainer: two states, all of them looked at."""
    inputs = dict.fromkeys(("prompt_ids", "prompt_mask", "completion_ids", "completion_mask"),
                           torch.ones(1, 2))
    part = types.SimpleNamespace(inputs={**inputs, "mask": torch.ones(1, 2, dtype=torch.bool)})
    return types.SimpleNamespace(
        model=model, optimizer=optimizer, micro_batches=[part],
        state=types.SimpleNamespace(global_step=0), logits=lambda model, rows: model()[None])


def steps(trainer, watch, gradients):
    for gradient in gradients:
        trainer.model.logits.grad = torch.tensor(gradient)
        watch.on_pre_optimizer_step()
        trainer.optimizer.step()
        watch.on_optimizer_step()
        trainer.state.global_step += 1


def drawn(count):
    return np.random.default_rng(0).normal(size=(count, *LOGITS.shape))


def test_moves_are_those_of_the_steps_and_of_blocks():
    model = Table()
    trainer = trainer_of(model, torch.optim.SGD(model.parameters(), lr=RATE))
    watch, gradients = LogitMoves(trainer, raw_rate=0.5), drawn(2 * BLOCK)
    steps(trainer, watch, gradients)
    series = watch.series
    np.testing.assert_allclose(series["move"], move(RATE * gradients).mean(-1), rtol=1e-9)
    halves = gradients.reshape(2, BLOCK, *LOGITS.shape)
    np.testing.assert_allclose(series["net_move"], move(RATE * halves.sum(1)).mean(-1), rtol=1e-9)
    np.testing.assert_allclose(series["raw_move"], move(0.5 * halves[:, 0]).mean(-1), rtol=1e-9)
    assert series["probe_entropy"][0] == pytest.approx(policy.entropy(LOGITS).mean())
    # To second order KL is half the variance of the step under the policy.
    pi, step = policy.softmax(LOGITS), RATE * gradients[0]
    variance = (pi * (step - (pi * step).sum(-1, keepdims=True))**2).sum(-1)
    assert series["kl"][0] == pytest.approx(variance.mean() / 2, rel=20 * RATE)


@pytest.mark.parametrize(("make", "scale"), [
    (lambda p: torch.optim.SGD(p, lr=RATE), 1.0),
    (lambda p: torch.optim.SGD(p, lr=RATE, momentum=0.9), 10.0)], ids=["sgd", "momentum"])
def test_a_forecast_is_of_all_that_a_gradient_will_do(make, scale):
    """Momentum that is forgotten would forecast a hundredth of the drift."""
    model = Table()
    trainer = trainer_of(model, make(model.parameters()))
    watch = NoiseForecast(trainer, raw_rate=1.0, pilot=0, momentum=0.0 if scale == 1 else 0.9)
    gradient = drawn(1)[0]
    steps(trainer, watch, [gradient])
    assert torch.equal(model.logits, torch.tensor(LOGITS)), "a step was taken"
    (found,) = watch.updates
    update = RATE * scale * gradient
    expected = sum(entropy_change.exact(LOGITS, sign * update).mean() for sign in (1, -1)) / 2
    assert found["drift"] == pytest.approx(expected, rel=1e-6)
    assert found["move"] == pytest.approx(move(update).mean())
    # Logits that are linear in the parameters do not bend: what is left is of fourth order.
    assert found["noise"] == pytest.approx(found["drift"], abs=(10 * scale * RATE) ** 4)
    assert abs(found["curvature"]) < (10 * scale * RATE) ** 4


def test_logits_that_bend_are_told_from_noise():
    model = Table(squared=True)
    trainer = trainer_of(model, torch.optim.SGD(model.parameters(), lr=RATE))
    watch, gradient = NoiseForecast(trainer, raw_rate=1.0, pilot=0), drawn(1)[0]
    steps(trainer, watch, [gradient])
    (found,) = watch.updates
    bend = entropy_change.first_order(LOGITS**2, (RATE * gradient) ** 2).mean()
    assert found["curvature"] == pytest.approx(bend, rel=1e-3)
    assert found["drift"] == pytest.approx(found["noise"] + found["curvature"], rel=1e-3)


def test_the_pilot_is_trained_and_then_nothing_is():
    model = Table()
    trainer = trainer_of(model, torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0))
    watch = NoiseForecast(trainer, raw_rate=1.0, pilot=3)
    steps(trainer, watch, drawn(3))
    after, first = model.logits.detach().clone(), drawn(3)
    assert watch.updates == []
    steps(trainer, watch, drawn(2))
    assert torch.equal(model.logits, after)
    # P is of the steps so far, bias corrected, which here is their mean square.
    update = RATE * drawn(1)[0] / (np.sqrt((
        [0.999**2, 0.999, 1] @ (first**2).reshape(3, -1)).reshape(LOGITS.shape)
        / (0.999**2 + 0.999 + 1)) + 1e-8)
    assert watch.updates[0]["move"] == pytest.approx(move(update).mean(), rel=1e-6)


def test_shapes_of_noise_are_told_apart():
    """Over noise of either shape, the measured part is what that shape's forecast is."""
    model = Table()
    model.logits.data = model.logits.data[:1]
    pi, eye = policy.softmax(LOGITS[0]), np.eye(4)
    for name, directions, weights in (
        ("score", eye - pi, pi), ("isotropic", eye, np.full(4, 0.25))
    ):
        found = []
        for direction in directions:
            trainer = trainer_of(model, torch.optim.SGD(model.parameters(), lr=RATE))
            trainer.micro_batches[0].inputs["mask"] = torch.ones(1, 1, dtype=torch.bool)
            watch = NoiseForecast(trainer, raw_rate=1.0, pilot=0)
            steps(trainer, watch, [direction[None]])
            found.append(watch.updates[0])
        measured, forecast, other = (weights @ [one[key] for one in found] for key in (
            "noise", name, "isotropic" if name == "score" else "score"))
        assert measured == pytest.approx(forecast, rel=1e-6)
        assert measured != pytest.approx(other, rel=0.1)


def test_walks_spread_as_independent_steps_do():
    """Walks in which updates keep their signs spread with the number of steps, not with its root."""
    model = Table()
    trainer = trainer_of(model, torch.optim.SGD(model.parameters(), lr=RATE))
    watch = NoiseForecast(trainer, raw_rate=1.0, pilot=0, ahead=(4, 400))
    steps(trainer, watch, drawn(40))
    watch.on_train_end()
    assert torch.equal(model.logits, torch.tensor(LOGITS))
    first = np.sqrt(np.mean([one["first"] ** 2 for one in watch.updates]))
    for count, changes in watch.walks.items():
        # A deviation of 24 draws is known to 15 %.
        assert np.std(changes) == pytest.approx(first * np.sqrt(count), rel=0.5)
