"""What tests of several rooms share."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import shape_checks

# Nothing that is imported becomes garbage, and torch with all around it is a million objects: looked
# through while they are imported, and again by each training run, which collects garbage on its own
# account, that took a third of the time of all tests.
gc.disable()
shape_checks.install()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Files keep their order, unless their own is to be drawn, too."""
    parser.addoption("--shuffle-files", action="store_true", help="draw the order of the files as well")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Say how to have the same order again, where pytest-randomly draws one."""
    seed = session.config.getoption("randomly_seed", None)
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    if isinstance(seed, int) and reporter is not None and not hasattr(session.config, "workerinput"):
        what = "files and tests" if session.config.getoption("shuffle_files") else "each file's tests"
        reporter.write_line(f"{what} in the order of --randomly-seed={seed}")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    """Put files back into their order, in which long ones start early; within them tests are shuffled."""
    places = {path: place for place, path in enumerate(dict.fromkeys(item.path for item in items))}
    yield
    if not config.getoption("shuffle_files"):
        items.sort(key=lambda item: places[item.path])


def pytest_collection_finish() -> None:
    """From here on garbage is collected, among what tests make themselves."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True, scope="module")
def _garbage_of_this_file_only() -> None:
    """Accelerate collects garbage whenever a training begins, among all that is not frozen."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """The shapes of a test's first calls are checked."""
    shape_checks.begin()


@pytest.fixture
def unchecked_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls go through as they do for users, to the function's own words on a wrong shape."""
    monkeypatch.setattr(shape_checks.config, "jaxtyping_disable", True)


@pytest.fixture(scope="session")
def simulated(
    tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> Callable[..., Path]:
    """``simulated(*names)``: a results folder with the smoke size of these experiments in
    ``simulations/``, each computed once for all test processes; read only."""
    from simulations.computing.store import result
    from simulations.experiments import EXPERIMENTS

    base = tmp_path_factory.getbasetemp()
    results = (base if worker_id == "master" else base.parent) / "results"

    def fill(*names: str) -> Path:
        for name in names:
            experiment, steps = EXPERIMENTS[name], []
            result(experiment, results / "simulations", profile="smoke", progress=steps.append)
            # Whoever computed it: the progress bar ended where it should.
            expected = experiment.work(experiment.profiles["smoke"])
            assert not steps or sum(steps) == expected, (name, sum(steps), expected)
        return results

    return fill
