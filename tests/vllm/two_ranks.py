"""Run by test_two_ranks: three steps of AEPO on what vLLM draws, one engine on each of two ranks."""

import os
import sys
from pathlib import Path

import torch

from tests.vllm.test_colocated import steps_of_aepo, unpacked


def main(model: str, folder: Path) -> None:
    with unpacked():
        # All rows of a generation answer one prompt: random numbers alone tell the ranks' draws apart.
        made, draws, watched = steps_of_aepo(
            model, folder / "run", dtype=torch.float64, num_generations=32,
            per_device_train_batch_size=16, learning_rate=2.0)
    torch.save({"draws": draws, "weights": watched.weights}, folder / f"rank-{os.environ['RANK']}.pt")
    assert made.state.global_step == 3


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
