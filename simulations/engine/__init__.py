"""Training: many tabular policies at once by one update rule, exactly or from samples.

In the order of the trip: `dynamics` and `task` (what is asked), `engines` (who does it), `block` and its
kinds `runs`, `tree_runs` and `compiled.tabulated_runs` (the steps), `recorder` and `trajectory` (what is
kept); `simulation` takes them in turn.
"""

from simulations.engine.dynamics import Dynamics
from simulations.engine.sampling import Samples
from simulations.engine.simulation import simulate
from simulations.engine.trajectory import Record, Trajectory

__all__ = ["Dynamics", "Record", "Samples", "Trajectory", "simulate"]
