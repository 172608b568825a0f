"""Guards llm_bridge/skyrl_plugin.py: what it takes of SkyRL is there, with the arguments that it takes.

Sources are read and not imported, as SkyRL's workers want a GPU's packages.
"""

import ast
import importlib.util
import inspect
from pathlib import Path

import pytest

pytest.importorskip("skyrl", reason="SkyRL is not here: make test-skyrl")

from llm_bridge import skyrl_plugin

FOLDER = Path(next(iter(importlib.util.find_spec("skyrl").submodule_search_locations)))


def parsed(path: str) -> ast.Module:
    return ast.parse((FOLDER / path).read_text())


@pytest.mark.parametrize("path", ["backends/skyrl_train/workers/worker.py",
                                  "backends/skyrl_train/workers/megatron/megatron_model_wrapper.py"])
def test_workers_call_a_loss_as_ours_is_called(path):
    """Three columns by place, the rest by names that are ours: no more, and no fewer."""
    calls = [node for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)
             and isinstance(node.func, ast.Name) and node.func.id == "current_loss_fn"]
    assert calls
    names = list(inspect.signature(skyrl_plugin.policy_loss_for("grpo")).parameters)
    for call in calls:
        assert [*names[: len(call.args)], *(keyword.arg for keyword in call.keywords)] == names


def test_workers_score_at_the_temperature_of_the_samples():
    """Why any temperature will do: log-probabilities are those of the policy that samples."""
    source = (FOLDER / "backends/skyrl_train/workers/worker.py").read_text()
    assert source.count("temperature=self.cfg.algorithm.temperature") >= 3


def test_what_the_entry_point_starts_is_there():
    module = parsed("train/entrypoints/main_base.py")
    assert "skyrl_entrypoint" in {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
    assert "import_module(override_entrypoint).main()" in ast.unparse(module)
    functions = {node.name: len(node.args.args) for node in parsed("train/utils/utils.py").body
                 if isinstance(node, ast.FunctionDef)}
    assert functions["validate_cfg"] == functions["initialize_ray"] == 1


def test_what_refusals_rest_on_holds():
    """Entropies and the reference go to terms behind the loss, and advantages come divided."""
    worker = (FOLDER / "backends/skyrl_train/workers/worker.py").read_text()
    assert "entropy_loss_coef" in worker
    assert "kl_loss_coef" in worker
    trainer = (FOLDER / "train/trainer.py").read_text()
    assert "apply_loss_reduction_to_advantages_minibatch(" in trainer
