"""Guards llm_bridge/analysis/tangent_kernel.py: Assumption B.4 holds on a table, not on a network."""

import numpy as np
import pytest
import torch

from entropy_theory import policy, update_rules
from llm_bridge.analysis import audit, kernel_record, tangent_kernel
from llm_bridge.analysis import tokens as audited_tokens
from llm_bridge.data import models
from tests.llm_bridge.language_models import tabular_trainer, tiny_llama

ROUNDING = 1e-12
"""float64, sums of a few hundred products of size 1."""
SINGLE = 1e-6
"""Llama's norms and rotations are float32 whatever its weights are: a dozen roundings of 6e-8."""
PREFIXES = [[1, 5, 7], [1, 6], [1, 9, 9, 4]]


def llama(tmp_path):
    model, _ = models.load(str(tiny_llama(tmp_path / "model")))
    return model.double()


def dense(model, prefix):
    """J = dz/dtheta by ordinary backward passes: [vocabulary, parameters]."""
    logits = model(input_ids=torch.tensor([prefix])).logits[0, -1]
    rows = [
        torch.cat([g.flatten() for g in torch.autograd.grad(
            z, list(model.parameters()), retain_graph=True)])
        for z in logits
    ]
    return torch.stack(rows)


def test_the_products_are_those_of_the_whole_jacobian(tmp_path):
    """Padding, the order of rows and the tangent's direction: K = J J^T entry by entry."""
    model = llama(tmp_path)
    jacobian = tangent_kernel.LogitJacobian(model, PREFIXES)
    actions = np.array([[3, 4], [5, 0], [15, 9]])
    found = tangent_kernel.measure(jacobian, actions)
    rows = torch.cat([dense(model, p)[a] for p, a in zip(PREFIXES, actions, strict=True)])
    expected = (rows @ rows.T).detach().numpy()
    np.testing.assert_allclose(found.matrix(), expected, rtol=0, atol=SINGLE * expected.max())
    # Shared parameters: nothing like the identity.
    shape = tangent_kernel.shape(found)
    assert shape.diagonal == pytest.approx(expected.trace() / 6)
    assert shape.across_states > 0.005
    assert 0 < shape.diagonal_share < 1


def test_shape_of_a_planted_kernel():
    """Two states of two actions: each measure by hand. A common part is in all but the contrasts."""
    own = np.array([[4.0, 1.0], [1.0, 2.0]])
    matrix = np.block([[own, np.full((2, 2), 0.5)], [np.full((2, 2), 0.5), own]])
    kernel = tangent_kernel.Kernel(values=matrix.reshape(2, 2, 2, 2), actions=np.zeros((2, 2), int))
    shape = tangent_kernel.shape(kernel)
    assert shape.diagonal == 3
    assert shape.diagonal_spread == pytest.approx(1 / 3)
    assert shape.within_state == pytest.approx(1 / 3)
    assert shape.across_states == pytest.approx(0.5 / 3)
    total = 2 * (16 + 4 + 1 + 1) + 8 * 0.25
    assert shape.diagonal_share == pytest.approx(40 / total)
    assert shape.contrast_across == pytest.approx(0, abs=ROUNDING)
    assert shape.contrast_within == pytest.approx(0, abs=ROUNDING)  # one difference: no other entry
    with pytest.raises(ValueError, match="unfreeze"):
        tangent_kernel.shape(tangent_kernel.Kernel(values=0 * kernel.values, actions=kernel.actions))


def test_on_a_tabular_policy_all_rungs_are_the_first_order_forecast(tmp_path):
    """The kernel's prediction of an SGD step is the step: sign, learning rate, weights, terms."""
    aent = update_rules.get("aent", coefficient=0.5, adaptive=False, removed_fraction=0.4)
    made = tabular_trainer(tmp_path, update_rules.get("aepo", base=aent), steps=2, micro_batches=2)
    auditor = audit.Auditor(made, details=audit.Details(folder=tmp_path / "audit"))
    made.add_callback(auditor)
    made.train()
    for step in (1, 2):
        record = kernel_record.read(tmp_path / "audit" / f"kernel-{step:05d}.npz")
        assert np.array_equal(record.kernel.matrix(), np.eye(12))  # 3 states, 4 actions
        assert np.abs(record.ladder.measured).max() > 1e-4
        for rung in tangent_kernel.RUNGS:
            np.testing.assert_allclose(
                record.ladder.rungs[rung], record.ladder.rungs["first order"],
                rtol=0, atol=ROUNDING, err_msg=rung,
            )
        # And that is forecast (ii) of the audit, which has other states' order and weights.
        tokens = audited_tokens.read(tmp_path / "audit" / f"tokens-{step:05d}.npz")
        assert set(np.round(record.ladder.measured, 12)) == set(np.round(tokens.measured.ravel(), 12))


def test_on_a_network_the_whole_kernel_foretells_a_small_step(tmp_path):
    """What the tabular assumption misses is in the entries between states: rung by rung."""
    model = llama(tmp_path)
    jacobian = tangent_kernel.LogitJacobian(model, PREFIXES)
    before = jacobian.logits()
    rng = np.random.default_rng(0)
    coefficients = rng.normal(size=before.shape)
    coefficients -= policy.softmax(before.numpy()) * coefficients.sum(-1, keepdims=True)
    rows = [dense(model, prefix).detach() for prefix in PREFIXES]
    descent = -sum(j.T @ torch.tensor(c) for j, c in zip(rows, coefficients, strict=True))
    gradient, start = {}, 0
    for parameter_name, p in model.named_parameters():
        gradient[parameter_name] = descent[start : start + p.numel()].view_as(p)
        start += p.numel()
    rate = 1e-6
    ladder = tangent_kernel.LadderBuilder(
        jacobian, coefficients, learning_rate=rate, diagonal=2.5, gradient=gradient
    )
    with torch.no_grad():
        for parameter_name, p in model.named_parameters():
            p -= rate * gradient[parameter_name]
    found = ladder.finish(jacobian.now().numpy())
    rungs = tangent_kernel.climb([found])
    # What is left is of second order: in proportion to the rate, 0.04 at a rate of 1e-4.
    for rung in ("all states", "optimizer", "first order"):
        assert rungs[rung].slope == pytest.approx(1, abs=1e-3), rung
        assert rungs[rung].unexplained < 1e-3, rung
    assert rungs["own state"].unexplained > 100 * rungs["all states"].unexplained
    own = [rate * (j @ (j.T @ torch.tensor(c))).numpy()
           for j, c in zip(rows, coefficients, strict=True)]
    logits = before.numpy()
    for rung, steps in (("own state", own), ("identity", 2.5 * rate * coefficients)):
        expected = [-policy.covariance(policy.softmax(z), policy.log_softmax(z), d)
                    for z, d in zip(logits, steps, strict=True)]
        np.testing.assert_allclose(found.rungs[rung], expected, rtol=SINGLE, atol=1e-17)
