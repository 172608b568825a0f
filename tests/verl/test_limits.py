"""What verl 0.9 cannot do, where rules or tests stop: a verl that can fails here, and more can be run."""

from pathlib import Path

import pytest

pytest.importorskip("verl")

import verl
from verl.workers.engine.base import EngineRegistry

from llm_bridge import verl_plugin


def test_all_prompts_of_a_batch_are_sampled_at_one_temperature():
    """AEPO's second batch has another: verl takes it from the configuration, whatever the prompt."""
    folder = Path(verl.__file__).parent  # read, not imported: both want packages of verl's GPU extras
    source = (folder / "experimental/agent_loop/agent_loop.py").read_text()
    assert "temperature=config.temperature," in source
    assert 'non_tensor_batch["temperature"]' not in source
    # The trainer tells its actor one for all rows, and scores at it.
    assert '"temperature": self.config.actor_rollout_ref.rollout.temperature' in (
        (folder / "trainer/ppo/v1/trainer_base.py").read_text())
    with pytest.raises(ValueError, match=r"second batch.*verl's trainers sample one"):
        verl_plugin.make_rule("aepo", {})


def test_its_engine_is_for_gpus():
    """Why it takes verl's VERL_ENGINE_DEVICE to run it on a CPU (`test_two_ranks`)."""
    devices = {key[0] if isinstance(key, tuple) else key
               for key in EngineRegistry._engines["language_model"]["fsdp2"]}
    assert "cpu" not in devices
    assert "cuda" in devices
