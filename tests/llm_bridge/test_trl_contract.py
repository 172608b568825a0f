"""Pins what llm_bridge relies on of TRL, and TRL does not promise."""

import importlib.util
import inspect
import tomllib
from pathlib import Path

import pytest
import trl

from llm_bridge.trainer import trl_release


def test_vllm_samples_at_a_live_temperature():
    """The second batch sets VLLMGeneration.temperature around one call: it must be read there."""
    trainer = inspect.getsource(inspect.getmodule(trl.GRPOTrainer))
    assert "self.vllm_generation = VLLMGeneration(" in trainer
    source = Path(importlib.util.find_spec("trl.generation.vllm_generation").origin).read_text("utf-8")
    assert "self.temperature" in source[source.index("def generate(") :]


def test_another_trl_is_let_in_nowhere():
    """By the package's requirement, and by one line at import for who installs it all the same."""
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    (pin,) = [pin for pin in tomllib.loads(text)["project"]["optional-dependencies"]["llm"]
              if pin.startswith("trl")]
    for other in ("1.15.0", "1.17.0", "2.16.0", "1.160.0"):
        with pytest.raises(ImportError, match=f"and {other} is installed: pip install '{pin}'$"):
            trl_release.check_release(other)
    trl_release.check_release("1.16.7")
