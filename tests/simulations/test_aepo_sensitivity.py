"""Guards experiment aepo_sensitivity: what widens the range of targets, and which starts are lost."""

import dataclasses

from simulations.experiments import aepo_sensitivity as experiment


def test_settings_and_starts_that_hold():
    config = dataclasses.replace(
        experiment.PROFILES["default"], right_answers=(4, 8), target_shares=(0.25, 0.5, 1.1),
        alphas=(0.5, 2.0), settings=((1.2, 0.8, 2), (1.5, 0.67, 2), (1.2, 0.8, 32)), n_starts=4,
        scan_accuracies=(0.01, 0.3, 0.99), scan_scales=(1.0,), steps=600,
    )
    dataset = experiment.compute(config, 0, lambda steps: None)
    assert not bool(dataset.held.sel(target_share=1.1).any())
    below = dataset.held.sel(target_share=[0.25, 0.5])
    base, hot, large = (below.isel(setting=k).mean(["start", "target_share"]) for k in range(3))
    # Hotter sampling reaches further, and at a large alpha chatters beyond the tolerance.
    assert float(hot.sel(alpha=0.5).mean()) > float(base.sel(alpha=0.5).mean())
    assert float(hot.sel(alpha=2.0).mean()) < float(base.sel(alpha=2.0).mean())
    assert bool((base >= large).all())
    assert float(base.mean()) > float(large.mean())
    assert float(base.sel(alpha=2.0).mean()) > float(base.sel(alpha=0.5).mean())
    assert float(base.sel(right_answers=8).mean()) > float(base.sel(right_answers=4).mean())
    ratio = (dataset.chatter / dataset.predicted_chatter).where(dataset.held).sel(alpha=2.0)
    assert 0.7 < float(ratio.median()) < 1.4
    # Hard starts are lost and easy ones held.
    held = dataset.scan_held.mean(["scan_scale", "scan_start"])
    assert float(held.sel(scan_accuracy=0.01)) < 0.3 < 0.8 < float(held.sel(scan_accuracy=0.99))
