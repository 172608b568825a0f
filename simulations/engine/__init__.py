"""Training: many tabular policies at once by one update rule, exactly or from samples."""

from simulations.engine.recorder import Record, Trajectory
from simulations.engine.sampling import Samples
from simulations.engine.simulation import Dynamics, simulate

__all__ = ["Dynamics", "Record", "Samples", "Trajectory", "simulate"]
