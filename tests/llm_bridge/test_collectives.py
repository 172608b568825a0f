"""Guards tests/llm_bridge/collectives.py: what it does not see, no test of ranks compares."""

import json

from tests.llm_bridge import forked_ranks

EXPECTED = {
    "gradients of data parallelism": ["allreduce_"],
    "FSDP2": ["_allgather_base_", "_reduce_scatter_base_"],
    "DTensor": ["allgather_into_tensor_coalesced_"],
    "DTensor's norm": ["allreduce_"],
    "functional": ["allreduce_"],
    "accelerate": ["allgather_"],
    "all_reduce": ["allreduce_"],
    "all_gather": ["allgather_"],
    "all_gather_into_tensor": ["_allgather_base_"],
    "reduce_scatter": ["reduce_scatter_"],
    "reduce_scatter_tensor": ["_reduce_scatter_base_"],
    "broadcast": ["broadcast_"],
    "broadcast of several": ["broadcast_"],
    "reduce": ["reduce_"],
    "all_to_all_single": ["alltoall_base_"],
    "objects of all": ["allgather_", "allgather_"],
    "objects of one": ["broadcast_", "broadcast_"],
    "barrier": ["barrier"],
}


def test_every_kind_of_collective_is_recorded_on_every_rank(tmp_path):
    """By the name of its operator, with dtypes and shapes: one that torch makes in C++ or under another
    name would be compared by nobody, and one that a recorder swallows would hang a run."""
    run = forked_ranks.run("tests.llm_bridge.collective_processes", str(tmp_path))
    assert run.returncode == 0, run.stderr[-3000:]
    first, second = (json.loads((tmp_path / f"collectives-{rank}.json").read_text()) for rank in (0, 1))
    assert [first.pop("send and receive")[0][0], second.pop("send and receive")[0][0]] == [
        "send", "recv_"]
    for told in (first, second):
        assert told.pop("after all") == [["all_reduce", [2.0] * 4]]
        assert {kind: [name for name, _ in found] for kind, found in told.items()} == EXPECTED
    assert first == second
    assert first["FSDP2"][0][1] == [["torch.float32", [20]], ["torch.float32", [10]]]
