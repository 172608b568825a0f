"""Guards llm_bridge/accounting/optimizer_step.py: the addends are torch's own step, for every option."""

import pytest
import torch

from llm_bridge.accounting import optimizer_step
from llm_bridge.accounting.optimizer_step import OptimizerStep
from tests.tolerances import FLOAT32, FLOAT64

SGD = [
    {"weight_decay": 0.1}, {"momentum": 0.9, "weight_decay": 0.1, "dampening": 0.3},
    {"momentum": 0.9, "nesterov": True, "maximize": True, "weight_decay": 0.1},
]
ADAM = [
    {"amsgrad": True}, {"maximize": True, "weight_decay": 0.1},
    {"betas": (0.5, 0.6), "eps": 1e-3}, {"betas": (0.0, 0.9)},
    {"lr": torch.tensor(0.05, dtype=torch.float64)},
]
OPTIMIZERS = [
    *((torch.optim.SGD, options) for options in SGD),
    *((torch.optim.Adam, options) for options in ADAM),
    *((torch.optim.AdamW, options) for options in ADAM),
]


def problem(kind, options, form, dtype=torch.float64):
    torch.manual_seed(0)
    parameters = [torch.nn.Parameter(torch.randn(shape, dtype=dtype)) for shape in ((5, 3), (4,))]
    unused = torch.nn.Parameter(torch.ones(2, dtype=dtype))
    optimizer = kind([*parameters, unused], **{"lr": 0.05, **form, **options})
    return [*parameters, unused], optimizer


def clipped_gradients(parameters, size, *, limit):
    """New random gradients, scaled down to the limit; returns the factor."""
    for parameter in parameters[:2]:
        parameter.grad = size * torch.randn_like(parameter)
    norm = torch.nn.utils.clip_grad_norm_(parameters, limit)
    return min(1.0, limit / (float(norm) + 1e-6))


def whole(addends):
    """By parameter: the addends of all its rows, in their order."""
    found = {}
    for at, _, some in addends:
        for name, addend in some.named().items():
            found.setdefault(at, {}).setdefault(name, []).append(addend)
    return {at: {name: torch.cat(parts) for name, parts in named.items()} for at, named in found.items()}


FORMS = [{"foreach": False}, {"fused": True}, {"foreach": True}]
"""By turns: the formulas are one. torch takes a rate that is a tensor in its foreach form only together
with capturable, so on a GPU."""


@pytest.mark.parametrize(("kind", "options", "form"), [
    (kind, options, FORMS[place % (2 if "lr" in options else 3)])
    for place, (kind, options) in enumerate(OPTIMIZERS)], ids=lambda v: getattr(v, "__name__", str(v)))
def test_the_addends_are_the_step_before_it_and_after_it(monkeypatch, kind, options, form):
    """Read two rows at a time."""
    monkeypatch.setattr(optimizer_step, "CACHED", 6)
    parameters, optimizer = problem(kind, options, form)
    for size, limit in ((1.0, 1e9), (3.0, 1.0), (0.5, 2.0)):
        clip = clipped_gradients(parameters, size, limit=limit)
        step = OptimizerStep(optimizer, parameters, clip=clip)
        start = [parameter.detach().clone() for parameter in parameters]
        announced = whole(step.addends())
        optimizer.step()
        found = whole(step.addends(start))
        assert set(step.names) == set(found[0]) == set(announced[0])
        assert [len(some.gradient) for at, _, some in step.addends(start) if at == 0] == [2, 2, 1]
        assert announced.keys() == found.keys() == {0, 1}
        for at, addends in found.items():
            moved = parameters[at].detach() - start[at]
            assert moved.abs().max() > 1e-4
            torch.testing.assert_close(sum(addends.values()), moved, rtol=0, atol=256 * FLOAT64)
            assert ("clipping" in addends) == (clip < 1)
            for name, addend in addends.items():
                torch.testing.assert_close(announced[at][name], addend, rtol=0, atol=256 * FLOAT64)
        optimizer.zero_grad()


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.AdamW])
def test_each_addend_is_what_its_name_says(kind):
    """Without gradient only momentum and decay move; from the unclipped one the clip takes its share."""
    options = {"momentum": 0.9} if kind is torch.optim.SGD else {}
    parameters, optimizer = problem(kind, {**options, "weight_decay": 0.1}, {})
    clip = clipped_gradients(parameters, 3.0, limit=1.0)
    (_, _, first), _ = OptimizerStep(optimizer, parameters, clip=clip).addends()
    assert first.momentum is None
    torch.testing.assert_close(first.clipping, (clip - 1) * first.gradient)
    torch.testing.assert_close(first.gradient, -first.scale * parameters[0].grad / clip)
    torch.testing.assert_close(first.weight_decay, -0.05 * 0.1 * parameters[0].detach())
    optimizer.step()
    for parameter in parameters[:2]:
        parameter.grad.zero_()
    start = parameters[0].detach().clone()
    (_, _, dead), _ = OptimizerStep(optimizer, parameters).addends()
    assert not dead.gradient.any()
    assert dead.clipping is None
    optimizer.step()
    torch.testing.assert_close(parameters[0].detach() - start, dead.momentum + dead.weight_decay)


@pytest.mark.parametrize(("kind", "options"), [(torch.optim.SGD, {"momentum": 0.9}),
                                               (torch.optim.AdamW, {})])
def test_16_bit_weights_leave_a_rounding(kind, options):
    """The addends are the step but for a rounding of the weights (2^-9 of them) and of the state (2^-9
    of the step, a few times)."""
    parameters, optimizer = problem(kind, options, {}, dtype=torch.bfloat16)
    for _ in range(3):
        clip = clipped_gradients(parameters, 3.0, limit=1.0)
        step = OptimizerStep(optimizer, parameters, clip=clip)
        start = [parameter.detach().clone() for parameter in parameters]
        optimizer.step()
        for at, addends in whole(step.addends(start)).items():
            total = sum(addends.values())
            assert total.dtype == torch.float32
            allowed = 2**-8 * start[at].float().abs() + 4 * 2**-8 * total.abs() + FLOAT32
            assert ((parameters[at].float() - start[at].float() - total).abs() <= allowed).all()
