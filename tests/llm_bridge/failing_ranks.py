"""Run by test_processes on two ranks that fail, each in its own way (the argument says)."""

import sys

import torch.distributed as dist

from entropy_theory.support.user_errors import run_command
from llm_bridge.running import ranks


def on_one(name: str) -> None:
    if dist.get_rank() == 1:
        raise ValueError(name)


def main() -> None:
    ranks.join(cpu=True)
    kind = sys.argv[1]
    with ranks.report_once():
        assert ranks.on_main(lambda: {"rank": dist.get_rank()}) == {"rank": 0}
        assert ranks.agreed(dist.get_rank) == dist.get_rank()
        shares = ranks.dealt_out([10, 11, 12, 13, 14], lambda item: (item, dist.get_rank()))
        assert shares == [(10, 0), (11, 1), (12, 0), (13, 1), (14, 0)]
        if kind == "agreed":
            ranks.agreed(lambda: on_one("found while agreeing"))
        elif kind == "dealt out":
            ranks.dealt_out([0, 1], lambda item: on_one("found at one's share"))
        elif kind == "everywhere":
            raise ValueError("found by all")
        on_one("found alone")
        dist.barrier()  # where the other rank waits


if __name__ == "__main__":
    run_command(main)
