"""Pins what llm_bridge relies on of TRL, transformers and accelerate, and they do not promise."""

import ast
import importlib.util
import inspect
import tomllib
from pathlib import Path

import accelerate.hooks
import pytest
import transformers
import trl
from transformers import modeling_layers
from transformers.generation import utils

import llm_bridge
from llm_bridge.data import private_names
from llm_bridge.trainer import trl_release

ROOM = Path(llm_bridge.__file__).parent
OWNER = ROOM / "data" / "private_names.py"
HOLDERS = [*{inspect.getmodule(kind) for trainer in (trl.GRPOTrainer, trl.RLOOTrainer)
             for kind in trainer.__mro__ if kind.__module__.startswith(("trl", "transformers"))},
           transformers.modeling_utils, utils, modeling_layers, accelerate.hooks]


def private(name):
    return name.startswith("_") and not name.startswith("__")


def names_of(module):
    """The methods that a module defines, and the attributes that it sets or reads."""
    tree = ast.parse(inspect.getsource(module))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)} | {
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


THEIRS = {name for module in HOLDERS for name in names_of(module) if private(name)}


def touched(tree):
    """Private names of theirs in a module: read off others' objects, overridden, or given as text."""
    kinds = [
        kind for kind in ast.walk(tree) if isinstance(kind, ast.ClassDef) and {"Hooks", "GRPOTrainer"} & {
            kind.name, *(base.id for base in kind.bases if isinstance(base, ast.Name))}]
    trainers = {id(node) for kind in kinds for node in ast.walk(kind)}
    for node in ast.walk(tree):
        name, is_own = None, False
        if isinstance(node, ast.Attribute):
            name = node.attr
            is_own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        elif isinstance(node, ast.FunctionDef):
            name, is_own = node.name, True
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value
        if name in THEIRS and (not is_own or id(node) in trainers):
            yield name


def test_private_names_are_touched_in_one_module():
    """`Hooks` overrides, and functions beside it read: no other module sees a name that may move."""
    assert {"_compute_loss", "_metrics", "_is_stateful", "_step"} <= THEIRS
    found = {path.relative_to(ROOM).as_posix(): set(touched(ast.parse(path.read_text("utf-8"))))
             for path in ROOM.rglob("*.py") if path != OWNER}
    # verl's own trainer has a method of the name; comparing TRL's loss is what the other file is for.
    others = {"verl_second_batch.py": {"_save_checkpoint"},
              "conformance/engines/trl.py": {"_compute_loss"}}
    assert {path: names for path, names in found.items() if names} == others


def test_the_installed_releases_have_each_private_name_that_is_touched():
    """`_initial_global_step` stands for transformers 5.23 and later, and is looked for."""
    assert set(touched(ast.parse(OWNER.read_text("utf-8")))) >= {
        "_tr_loss", "_buffered_inputs", "_get_output_dir", "_send_telemetry"}
    used = {name for name in names_of(private_names) if private(name)}
    assert used - THEIRS - {"_trainer", "_empty"} == set()


@pytest.mark.parametrize("name", sorted(
    name for name, value in vars(private_names.Hooks).items() if private(name) and callable(value)))
def test_a_hook_takes_what_trl_gives_to_its_own_method(name):
    """The parameters that both name stand in one order; others are passed on."""
    own = inspect.signature(getattr(private_names.Hooks, name)).parameters.values()
    theirs = inspect.signature(getattr(trl.GRPOTrainer, name)).parameters.values()
    if any(one.name == "args" for one in theirs):  # TRL 1.14 passes on what scores read
        return
    named = [one.name for one in own if one.kind is one.POSITIONAL_OR_KEYWORD]
    assert [one.name for one in theirs][: len(named)] == named
    if len(named) < len(theirs):
        parameter = inspect.Parameter
        assert {one.kind for one in own} & {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}


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
    for other in ("1.12.0", "1.17.0", "2.16.0", "1.160.0"):
        with pytest.raises(ImportError, match=f"and {other} is installed: pip install '{pin}'$"):
            trl_release.check_release(other)
    for taken in ("1.13.0", "1.14.2", "1.15.0", "1.16.7"):
        trl_release.check_release(taken)
