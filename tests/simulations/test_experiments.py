"""Every experiment at its smallest size gives the numbers that results.json keeps of it.

The figures judge what the numbers show (tests/paper_figures), and an experiment's formulas have tests of
their own. `python -m tests.simulations.test_experiments` writes the numbers of today.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from simulations.computing.store import path_of, read, result
from simulations.experiments import EXPERIMENTS

FILE = Path(__file__).with_name("results.json")
KEPT = json.loads(FILE.read_text())
ROUNDING = 1e-4
"""Of a variable's root mean square: fits end where their own tolerance lets them, up to 1e-5 apart."""


def fingerprint(dataset: xr.Dataset) -> dict[str, list[float]]:
    """Each numeric variable: how many values are finite, their root mean square, mean and a projection,
    which another order of runs or of steps would change."""
    found = {}
    for name, column in dataset.data_vars.items():
        if column.dtype.kind not in "bif":
            continue
        values = column.values.astype(float).ravel()
        place = np.isfinite(values)
        own, wave = values[place], np.cos(np.arange(values.size))[place]
        size = max(own.size, 1)
        sums = np.sqrt((own**2).sum() / size), own.sum() / size, (own * wave).sum() / size
        found[str(name)] = [own.size, *(float(f"{value:.9g}") for value in sums)]
    return found


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_profile_of_a_name_has_its_own_key(name):
    experiment = EXPERIMENTS[name]
    keys = {experiment.key(profile, seed) for profile in experiment.profiles for seed in (0, 1)}
    assert len(keys) == 6


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_gives_the_numbers_that_it_gave(simulated, name):
    """Runs mixed up, an option that does not arrive, a mask of other prompts, another schedule."""
    found = fingerprint(read(path_of(EXPERIMENTS[name], simulated(name) / "simulations")))
    assert found.keys() == KEPT[name].keys()
    for variable, numbers in found.items():
        kept = KEPT[name][variable]
        assert numbers[0] == kept[0], variable
        assert numbers[1:] == pytest.approx(kept[1:], rel=0, abs=ROUNDING * kept[1] + 1e-12), variable


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        made = {name: fingerprint(result(one, folder, profile="smoke"))
                for name, one in EXPERIMENTS.items()}
    text = re.sub(r"\[\s+([^]]*?)\s+\]", lambda found: f"[{' '.join(found[1].split())}]",
                  json.dumps(made, indent=1))
    FILE.write_text(text + "\n")
