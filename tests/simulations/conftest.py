"""What several tests of the simulator share."""

from collections.abc import Iterator

import pytest

from simulations.engine import engines


@pytest.fixture(scope="module")
def compiled_early() -> Iterator[None]:
    """Runs of more than some thousand steps are compiled, where llvmlite is there; by default only those
    that NumPy would take seconds for. For tests of what long runs do; that both engines take the same
    steps is the business of test_engines_agree."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines, "COMPILE_FROM_SECONDS", 0.2)
        yield
