"""Training runs as files, for the figures that read their curves."""

import numpy as np

from tests.paper_figures.conftest import write_run


def write_curve(folder, results, *, entropy, reward=None, model="small-sums", seed=0, name="run"):
    """A results folder with the simulations of ``results`` and a GRPO run of these values; ``folder``.

    By default reward follows the law 1.2 - 0.3 e^H.
    """
    write_run(folder / "runs" / name, rule="grpo", entropies=[float(h) for h in entropy], model=model,
              seed=seed, rewards=1.2 - 0.3 * np.exp(entropy) if reward is None else reward)
    if not (folder / "simulations").exists():
        (folder / "simulations").symlink_to(results / "simulations")
    return folder
