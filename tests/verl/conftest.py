"""These tests run where verl is (`make test-verl`), and are skipped elsewhere."""

import importlib.util
import warnings

import pytest

if importlib.util.find_spec("verl") is not None:
    # verl and ray warn as they are imported; in the tests themselves warnings stay errors.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import verl.workers.engine
        import verl.workers.engine_workers  # noqa: F401


@pytest.fixture
def group(tmp_path):
    """A process group of this process alone."""
    import torch

    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/rendezvous", rank=0, world_size=1)
    yield torch.distributed.group.WORLD
    torch.distributed.destroy_process_group()
