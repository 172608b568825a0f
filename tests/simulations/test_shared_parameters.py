"""Shared parameters: kernels as promised, identity features are tabular, and where forecasts then err."""

import numpy as np
import pytest

from entropy_theory.tabular import exact_batch, logit_step
from entropy_theory.update_rules import get
from simulations.engine import Dynamics, Record, Samples, simulate, simulation
from simulations.problems import graded_prompts
from simulations.problems.shared_parameters import COUPLINGS, coupled_features

PROBLEM = graded_prompts(2, n_actions=5, n_correct=2)
STATES, ACTIONS = 6, 5


def trained(features, steps=60, rule=None, **options):
    dynamics = Dynamics(rule=rule or get("aepo", base=get("grpo", group_size=8)), steps=steps,
                        learning_rate=2.0, record_every=5, **options)
    return simulate(PROBLEM.starts(3, seed=0), PROBLEM.correct, dynamics, features=features,
                    record=Record(forecasts=True, logits=True))


@pytest.mark.parametrize("between", COUPLINGS)
def test_kernels_have_a_unit_diagonal_and_couple_what_they_should(between):
    for coupling in (0.0, 0.5):
        features = coupled_features(STATES, ACTIONS, coupling, between=between)
        kernel = (features @ features.T).reshape(STATES, ACTIONS, STATES, ACTIONS)
        same_state = np.eye(STATES, dtype=bool)[:, None, :, None]
        same_action = np.eye(ACTIONS, dtype=bool)[None, :, None, :]
        own = np.broadcast_to(same_state & same_action, kernel.shape)
        np.testing.assert_allclose(kernel[own], 1, atol=1e-14)
        coupled = {"actions": same_state, "states": same_action, "both": same_state | True}[between]
        coupled = np.broadcast_to(coupled, kernel.shape) & ~own
        np.testing.assert_allclose(kernel[~coupled & ~own], 0, atol=1e-14)
        assert (np.abs(kernel[coupled]).max() > 0.1) == (coupling > 0)
        assert np.abs(kernel[coupled]).max() <= coupling + 1e-14


@pytest.mark.parametrize("features", [np.eye(30), coupled_features(STATES, ACTIONS, 0.0)])
def test_independent_features_are_tabular(features):
    tabular, shared = trained(None), trained(features)
    np.testing.assert_allclose(shared.final_logits, tabular.final_logits, atol=1e-12)
    np.testing.assert_allclose(shared.entropy, tabular.entropy, atol=1e-12)


@pytest.mark.parametrize("between", COUPLINGS)
def test_the_tabular_forecast_errs_by_the_coupling_and_the_others_do_not(between):
    """(i) - (ii) is the error of Assumption B.4: zero without coupling, linear in it for one step.

    The step is d + c (V V^T - I) d, and (ii) is linear in the step.
    """
    def gap(coupling):
        run = trained(coupled_features(STATES, ACTIONS, coupling, between=between), steps=1)
        forecasts = run.forecasts
        np.testing.assert_allclose(forecasts.exact, forecasts.measured, atol=1e-14)
        return forecasts.coefficients[0] - forecasts.first_order[0]

    np.testing.assert_allclose(gap(0.0), 0, atol=1e-15)
    whole, half = gap(0.6), gap(0.3)
    np.testing.assert_allclose(whole, 2 * half, atol=1e-14)
    assert np.abs(whole).min() > 1e-4


def test_parts_of_the_runs_with_features_of_their_own_are_runs_apart(monkeypatch):
    """In one block and in blocks of a part; with numbers of their own runs have the draws of these."""
    features = np.stack([coupled_features(STATES, ACTIONS, coupling) for coupling in (0.2, 0.7)])
    start, numbers = np.repeat(PROBLEM.starts(2, seed=0), 3, axis=0)[:4], (5, 6, 5, 6)
    options = {"rule": get("grpo"), "steps": 20, "samples": Samples(group_size=4), "learning_rate": 2.0}

    def trained(part, features, first_run):
        dynamics = Dynamics(**options, first_run=first_run)
        return simulate(start[part], PROBLEM.correct, dynamics, features=features).final_logits

    apart = [trained(slice(2 * i, 2 * i + 2), features[i], 5) for i in range(2)]
    whole = trained(slice(None), features, numbers)
    np.testing.assert_array_equal(whole, np.concatenate(apart))
    monkeypatch.setattr(simulation, "BLOCK", 1)
    np.testing.assert_array_equal(trained(slice(None), features, numbers), whole)
    with pytest.raises(ValueError, match="features of 2 parts do not divide 3 runs equally"):
        trained(slice(3), features, 0)


def test_features_that_no_memory_holds_are_refused():
    with pytest.raises(ValueError, match=r"GB, more than half .* small models"):
        coupled_features(100, 151_936, 0.5)


def test_a_covariance_through_all_parameters_is_that_of_independent_logits_alone():
    """It needs what each token does to the mean entropy, which features would mix."""
    start, rule = PROBLEM.starts(3, seed=0), get("clip-cov", covariance="network", ratio=0.2, lower=0.01)
    one = Dynamics(rule=rule, steps=1, learning_rate=1.0)
    found = simulate(start, PROBLEM.correct, one).final_logits - start
    reward = np.broadcast_to(PROBLEM.correct, start.shape).astype(float)
    rows = exact_batch(start, reward, effects=True)
    numbers = np.arange(rows.mask.shape[1])[:, None] + rows.mask.shape[1] * np.arange(3)[:, None, None]
    rows = rows.replace(sequence=numbers, step=0, seed=0)
    np.testing.assert_allclose(found, logit_step(start, rows, rule), rtol=0, atol=1e-14)
    assert np.abs(found).max() > 1e-3
    with pytest.raises(ValueError, match="'clip-cov' with covariance 'network' runs on independent"):
        simulate(start, PROBLEM.correct, one, features=np.eye(30))
