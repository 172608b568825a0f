"""The experiments by name: one file for each phenomenon, which computes one xarray.Dataset."""

from importlib import import_module
from pkgutil import iter_modules

from simulations.computing.store import Experiment

_MODULES = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT for module in _MODULES if hasattr(module, "EXPERIMENT")
}
