"""What exact simulation predicts for each of the fourteen public runs: benchmarks/public_predictions.csv.

    python -m benchmarks.public_predictions     train the bandits, and write the table (some minutes)

The bandits have the runs' coefficients and group size: Adam, an entropy bonus and a KL penalty (k3) of
.001, groups of five. The other numbers are those of the notebook Why does entropy grow?: 40 answers, six
of them right, 600 steps of .003. All that is taken from a run is its last validation score. No log has
the prompts' own shares of right answers, and the sign depends on them. So there are two predictions:
prompts that are all alike, and prompts whose shares spread from hopeless to solved (a beta distribution
with that mean).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
from scipy.stats import beta

from benchmarks.public_growth import grows, levels
from entropy_theory import policy
from entropy_theory.update_rules import get
from simulations.engine import Dynamics, Samples, simulate
from simulations.engine.optimizer import Adam

TABLE = Path(__file__).parent / "public_predictions.csv"
ANSWERS, RIGHT, PROMPTS, STARTS = 40, 6, 32, 4
GROUP, STEPS, RATE, COEFFICIENT = 5, 600, 0.003, 0.001
SPREAD, OTHERS = 0.5, (0.25, 1.0, 2.0)
"""The sum of the beta distribution's two parameters, chosen first: below 1 most prompts are near 0 or 1.
Others show how far the predictions depend on it."""
COLUMNS = {"alike": None} | {f"spread {spread:g}": spread for spread in (SPREAD, *OTHERS)}
"""The simulations, by the table's columns."""
BOUND = 5e-4
"""The distance from 0 and 1 that a prompt's share keeps."""


def shares(score: float, spread: float | None) -> np.ndarray:
    """Return the shares of right answers at the start, [prompts].

    They are quantiles of the beta distribution whose parameters sum to ``spread``; None: all alike.
    """
    if spread is None:
        return np.full(PROMPTS, score)
    quantiles = (np.arange(PROMPTS) + 0.5) / PROMPTS
    found = beta.ppf(quantiles, spread * score, spread * (1 - score))
    return np.clip(found, BOUND, 1 - BOUND)


def change(success: np.ndarray) -> np.ndarray:
    """Return the change of bandits' mean entropy, nats, [starts], from right shares at the start."""
    logits = 1.5 * np.random.default_rng(0).normal(size=(len(success), ANSWERS))
    logits[:, 0] += 3
    start = np.concatenate([
        policy.log_softmax(logits[:, :RIGHT]) + np.log(success)[:, None],
        policy.log_softmax(logits[:, RIGHT:]) + np.log(1 - success)[:, None]], axis=-1)
    rule = get("entropy-bonus", coefficient=COEFFICIENT, base=get(
        "reference-kl", coefficient=COEFFICIENT, estimator="k3", base=get("grpo")))
    dynamics = Dynamics(rule=rule, optimizer=Adam(), learning_rate=RATE, steps=STEPS, record_every=STEPS,
                        samples=Samples(group_size=GROUP), seed=1)
    correct = (np.arange(ANSWERS) < RIGHT).astype(float)
    run = simulate(np.repeat(start[None], STARTS, axis=0), correct, dynamics)
    return run.entropy[-1] - run.entropy[0]


def predicted() -> pandas.DataFrame:
    """Return a row for each run: whether entropy grew, and its change in each simulation, nats."""
    runs = levels()
    return pandas.DataFrame([{
        "task": run["task"], "billions": run["billions"], "last_score": run["last_score"],
        "grew": grows(run["entropy_levels"], run["validation_levels"]),
        **{name: round(float(change(shares(run["last_score"], spread)).mean()), 3)
           for name, spread in COLUMNS.items()}}
        for run in runs.to_dict("records")])


def main() -> None:
    """Write the table, and print how many signs are right."""
    table = predicted()
    table.to_csv(TABLE, index=False, lineterminator="\n")
    print(table.to_string(index=False))
    for name in COLUMNS:
        print(f"{name}: {((table[name] > 0) == table['grew']).sum()} of {len(table)} signs right")


if __name__ == "__main__":
    main()
