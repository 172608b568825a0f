"""Ranks out of one process that has imported what they need: seconds less for each than under a launcher,
whose own part (accelerate_configs/, what it says of a failure) is left to test_processes.
"""

import gc
import importlib
import os
import runpy
import socket
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
RANKS = 2


def run(
    module: str, *arguments: str, imports: str = "llm_bridge.commands.train", timeout: float = 300
) -> subprocess.CompletedProcess:
    """``python -m module arguments`` on two ranks; the exit status is 0 if both have ended with that.

    No rank is ended for another's failure, as launchers do: what each says is seen, and ranks that
    wait for each other hang until the time-out.

    Args:
        imports: a module that both need, imported before they part.
    """
    return subprocess.run(
        [sys.executable, "-m", "tests.llm_bridge.forked_ranks", imports, module, *arguments],
        cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=timeout,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
    )


def start(rank: int, port: int, module: str) -> int:
    """The process id of a new rank, with the environment that torchrun gives it."""
    child = os.fork()
    if child:
        return child
    os.environ.update(
        RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(RANKS), LOCAL_WORLD_SIZE=str(RANKS),
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), TORCHELASTIC_USE_AGENT_STORE="True",
    )
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    sys.exit()


def main(imports: str, module: str, *arguments: str) -> int:
    gc.disable()
    importlib.import_module(imports)
    import torch.distributed as dist

    gc.freeze()  # as tests/conftest.py does; and what is shared with the ranks stays shared
    gc.enable()
    sys.argv = [module, *arguments]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = [start(rank, port, module) for rank in range(RANKS)]
    # After the forks: it has threads. It outlives the ranks, who tell each other of their ends.
    store = dist.TCPStore("127.0.0.1", port, is_master=True, wait_for_workers=False)
    failed = [os.waitpid(rank, 0)[1] for rank in ranks]
    assert store is not None
    return int(any(failed))


if __name__ == "__main__":
    # Without taking down module by module what was imported for the ranks.
    os._exit(main(*sys.argv[1:]))
