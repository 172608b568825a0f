"""Pins everything of TRL that llm_bridge relies on and TRL does not promise.

A release that moves any of it fails here, with a sentence that names what moved, and not on a user's
cluster.
"""

import importlib.util
import inspect
import tomllib
from pathlib import Path

import pytest
import trl

from llm_bridge.trainer import trl_release


def moved(what: str) -> str:
    return (
        f"TRL {trl.__version__}: {what}, which llm_bridge relies on: adapt llm_bridge/trainer/ and "
        "llm_bridge/diagnostics.py, or pin the TRL version before it"
    )


def test_vllm_samples_at_a_live_temperature():
    """The second batch sets VLLMGeneration.temperature around one call: it must be read there."""
    spec = inspect.getsource(inspect.getmodule(trl.GRPOTrainer))
    assert "self.vllm_generation = VLLMGeneration(" in spec, moved("vllm_generation is made elsewhere")
    found = importlib.util.find_spec("trl.generation.vllm_generation")
    assert found is not None, moved("trl.generation.vllm_generation is gone")
    assert found.origin is not None
    source = Path(found.origin).read_text(encoding="utf-8")
    generate = source[source.index("def generate(") :]
    assert "self.temperature" in generate, moved("vLLM's temperature is fixed at construction")


def test_another_trl_is_let_in_nowhere():
    """By the package's requirement, and by one line at import for who installs it all the same."""
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    (pin,) = [pin for pin in tomllib.loads(text)["project"]["optional-dependencies"]["llm"]
              if pin.startswith("trl")]
    for other in ("1.15.0", "1.17.0", "2.16.0", "1.160.0"):
        with pytest.raises(ImportError, match=f"and {other} is installed: pip install '{pin}'$"):
            trl_release.check_release(other)
    trl_release.check_release("1.16.7")
