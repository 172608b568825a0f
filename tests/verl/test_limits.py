"""What verl 0.9 cannot do, where rules or tests stop: a verl that can fails here, and more can be run."""

from pathlib import Path

import pytest

pytest.importorskip("verl")

import verl

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
