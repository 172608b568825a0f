"""Guards experiment entropy_against_performance: who is judged by what, and where performance rises."""

import dataclasses

import numpy as np

from simulations.experiments import entropy_against_performance as experiment

CONFIG = experiment.PROFILES["default"]


def test_a_stricter_judge_passes_the_likeliest_of_the_accepted():
    logits = np.array([[[3.0, 0.5, 1.0, 2.0]]])
    accepted = np.array([[[False, True, True, True]]])
    np.testing.assert_array_equal(
        experiment.likeliest(logits, accepted, 2), [[[False, False, True, True]]])


def test_performance_rises_where_answers_are_rare_and_falls_before_a_stricter_judge():
    config = dataclasses.replace(
        CONFIG, families=("solved", "rare"), targets=(0.0, 1.0, 1.5), n_starts=24, ks=(1, 64))
    dataset = experiment.compute(config, 0, lambda steps: None).isel(step=-1)
    solved, rare = (dataset.sel(family=f) for f in config.families)
    one = dataset.pass_at_k.sel(k=1).mean("start")
    assert float(one.sel(family="solved", passing=5).min()) > 0.985
    assert bool((one.sel(family="solved", passing=2).diff("target") < -0.01).all())
    rise = rare.sel(passing=5, k=1)
    assert float(rise.best_target) == 1.5
    assert float(rise.rise) > 2 * float(rise.rise_error) > 0
    many = rare.pass_at_k.sel(k=64).mean("start")
    assert bool((many.sel(target=1.5) > many.sel(target=0.0)).all())
    # Before a stricter judge the highest target loses, and the best one is not higher.
    strict = rare.sel(passing=2, k=1)
    assert float(strict.best_target) < 1.5
    assert float(strict.fall) > 2 * float(strict.fall_error)
    assert float(solved.sel(k=1, passing=2).fall) > float(strict.fall)
