"""Ranks out of one process that has imported what they need: seconds less for each than under a launcher,
whose own part (accelerate_configs/, what it says of a failure) is left to test_processes.

The process is started once for all tests of a process: `run` sends it a job, a line of JSON, and it forks
what runs the job, which forks the ranks.
"""

import atexit
import functools
import gc
import json
import os
import runpy
import select
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
RANKS = 2


def run(
    module: str, *arguments: str, timeout: float = 300, ranks: int = RANKS, nodes: int = 1,
    **environment: str,
) -> subprocess.CompletedProcess:
    """``python -m module arguments`` on ``ranks`` ranks; the exit status is 0 if all ended with it.
    They are told that they are on ``nodes`` machines.

    No rank is ended for another's failure, as launchers do: what each says is seen, and ranks that
    wait for each other hang until the time-out.
    """
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("out", "err")]
        job = {"module": module, "arguments": arguments, "environment": environment, "count": ranks,
               "nodes": nodes, "files": [str(file) for file in files]}
        server.stdin.write(json.dumps(job) + "\n")
        server.stdin.flush()
        if not select.select([server.stdout], [], [], timeout)[0]:
            _server.cache_clear()
            _close(server)
            raise subprocess.TimeoutExpired([module, *arguments], timeout)
        status = int(server.stdout.readline())
        said = [file.read_text() for file in files]
        return subprocess.CompletedProcess([module, *arguments], status, *said)


@functools.cache
def _server() -> subprocess.Popen:
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.llm_bridge.forked_ranks"], cwd=REPOSITORY, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        # Ranks of tests are a CPU's: torch and accelerate would all put them on a machine's one GPU.
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""},
    )
    atexit.register(_close, server)
    return server


def _close(server: subprocess.Popen) -> None:
    with server:
        if server.poll() is None:
            os.killpg(server.pid, 9)  # with the ranks of a job that hangs


def serve() -> None:
    """Jobs from stdin, one after the other, the exit status of each to stdout."""
    gc.disable()
    import llm_bridge.commands.train  # noqa: F401

    gc.freeze()  # as tests/conftest.py does; and what is shared with the ranks stays shared
    gc.enable()
    for line in sys.stdin:
        job = os.fork()
        if not job:
            work(**json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(job, 0)[1]), flush=True)
    # Without taking down module by module what was imported for the ranks.
    os._exit(0)


def work(
    module: str, arguments: list[str], environment: dict[str, str], files: list[str], count: int,
    nodes: int,
) -> None:
    """The ranks of a job, in a process that ends with them."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for file, stream in zip(files, (1, 2), strict=True):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    os.environ.update(environment)
    sys.argv = [module, *arguments]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = [start(rank, count, count // nodes, port, module) for rank in range(count)]
    # After the forks: it has threads. It outlives the ranks, who tell each other of their ends.
    from torch.distributed import TCPStore

    store = TCPStore("127.0.0.1", port, is_master=True, wait_for_workers=False)
    failed = [os.waitpid(rank, 0)[1] for rank in ranks]
    assert store is not None
    os._exit(int(any(failed)))


def start(rank: int, count: int, per_node: int, port: int, module: str) -> int:
    """The process id of a new rank, with the environment that torchrun gives it."""
    child = os.fork()
    if child:
        return child
    os.environ.update(
        RANK=str(rank), LOCAL_RANK=str(rank % per_node),
        WORLD_SIZE=str(count), LOCAL_WORLD_SIZE=str(per_node),
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), TORCHELASTIC_USE_AGENT_STORE="True",
    )
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    sys.exit()


if __name__ == "__main__":
    serve()
