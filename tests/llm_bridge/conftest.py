"""Runs that several files compare others with, each made once a file; and what tests are run on."""

import contextlib
import io

import pytest
import torch

from llm_bridge import __main__ as main
from llm_bridge.commands import train as training
from tests.llm_bridge.language_models import tiny_llama
from tests.llm_bridge.launched_runs import fork


@pytest.fixture(autouse=True)
def _on_the_cpu(request, monkeypatch) -> None:
    """Tests of this room mean a CPU, also where there is a GPU; those marked ``cuda`` mean that."""
    if request.node.get_closest_marker("cuda") is None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.fixture(scope="session")
def audited(tmp_path_factory):
    """Two audited steps of a random transformer, by the command: folder, options, and what it said."""
    folder = tmp_path_factory.mktemp("audited")
    options = [
        "--model", str(tiny_llama(folder / "model")), "--prompts", "4", "--samples", "4", "--steps", "2",
        "--micro-batches", "2", "--learning-rate", "1e-2", "--device", "cpu", "--reward",
        "tests.llm_bridge.language_models:low_digit", "--kernel-states", "2", "--kernel-actions", "2",
        "--output", str(folder / "run")]
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(said):
        patch.setattr("sys.argv", ["llm_bridge"])
        main.audit(options)
    return folder / "run", options, said.getvalue()


@pytest.fixture(scope="module")
def config(tmp_path_factory) -> training.TrainConfig:
    """AEPO on a random tiny transformer, in two micro-batches of each rank."""
    folder = tmp_path_factory.mktemp("processes")
    return training.TrainConfig(
        model=str(tiny_llama(folder / "model")), rule="aepo", rule_options=("target=2.76",),
        reward="tests.llm_bridge.rewards_that_fail:digit", steps=6, prompts=4, samples=4,
        micro_batches=2, learning_rate=1e-2, save_every=2, device="cpu", log_to="none",
        output=folder / "whole",
    )


@pytest.fixture(scope="module")
def whole(config) -> training.TrainConfig:
    """An uninterrupted run of two processes."""
    shown = fork(config)
    assert shown.returncode == 0, shown.stderr[-3000:]
    assert shown.stdout.count("last tenth:") == 1  # one rank prints
    assert shown.stderr.count("step 6/6") == 1
    return config
