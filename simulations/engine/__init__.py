"""Trains many tabular policies at once by one update rule, exactly or from samples.

`simulation` goes through these modules in order. `dynamics` and `task` define what is simulated, and
`engines` chooses an engine. `block` and its kinds `runs`, `tree_runs` and `traced.traced_runs` take the
steps. `recorder` and `trajectory` hold what is recorded.
"""

from simulations.engine.dynamics import Dynamics
from simulations.engine.sampling import Samples
from simulations.engine.simulation import simulate
from simulations.engine.trajectory import Record, Trajectory

__all__ = ["Dynamics", "Record", "Samples", "Trajectory", "simulate"]
