"""Pins everything of TRL that llm_bridge relies on and TRL does not promise.

A release that moves any of it fails here, with a sentence that names what moved, and not on a user's
cluster.
"""

import importlib.util
import inspect
import re
import tomllib
from pathlib import Path

import pytest
import transformers
import trl

from llm_bridge.trainer import trl_release


def moved(what: str) -> str:
    return (
        f"TRL {trl.__version__}: {what}, which llm_bridge relies on: adapt llm_bridge/trainer/ and "
        "llm_bridge/diagnostics.py, or pin the TRL version before it"
    )


HOOKS = {
    "_generate_and_score_completions": ["self", "inputs"],
    "_calculate_rewards": ["self", "inputs", "prompts", "completions", "completion_ids_list"],
    "_compute_loss": ["self", "model", "inputs"],
    "compute_loss": ["self", "model", "inputs", "return_outputs", "num_items_in_batch"],
    "_prepare_inputs": ["self", "generation_batch"],
    "train": ["self", "resume_from_checkpoint", "trial", "ignore_keys_for_eval"],
    "log": ["self", "logs", "start_time"],
    "_save_checkpoint": ["self", "model", "trial"],
    "_load_optimizer_and_scheduler": ["self", "checkpoint"],
    "_send_telemetry": ["self"],
    "_get_learning_rate": ["self"],
    "_get_output_dir": ["self", "trial"],
}
"""Methods that are overridden, wrapped or called, with all their parameters."""


@pytest.mark.parametrize("hook", HOOKS)
def test_the_hooks_have_their_parameters(hook):
    method = getattr(trl.GRPOTrainer, hook, None)
    assert method is not None, moved(f"GRPOTrainer.{hook} is gone")
    found = list(inspect.signature(inspect.unwrap(method)).parameters)
    assert found == HOOKS[hook], moved(f"GRPOTrainer.{hook} takes {found}, not {HOOKS[hook]}")


def test_scoring_takes_its_first_parameters_in_this_order():
    """Behind these come images and the like, which are passed on or ignored."""
    method = trl.GRPOTrainer._get_per_token_logps_and_entropies
    found = list(inspect.signature(inspect.unwrap(method)).parameters)[:7]
    assert found == ["self", "model", "input_ids", "attention_mask", "logits_to_keep", "batch_size",
                     "compute_entropy"], moved(
        f"_get_per_token_logps_and_entropies begins with {found}"
    )


def test_generation_builds_its_logits_processors_in_one_place():
    """Where `llm_bridge/sampling/logits_processors.py` adds those of a target."""
    method = getattr(transformers.GenerationMixin, "_get_logits_processor", None)
    assert method is not None, moved("transformers' GenerationMixin._get_logits_processor is gone")
    assert "logits_processor" in inspect.signature(method).parameters, moved(
        "transformers' _get_logits_processor takes no logits_processor")


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


def test_trl_is_imported_in_one_place():
    """Whose check of the release comes before all that another one lacks."""
    root = Path(trl_release.__file__).parents[1]
    found = [path.name for path in root.rglob("*.py")
             if re.search(r"^\s*(from|import) trl\b", path.read_text(encoding="utf-8"), re.MULTILINE)]
    assert found == ["trl_release.py"]
