"""Guards against code that runs what it reads: a file, a checkpoint or a model from a hub.

The one exception is a user's own Python file, which is executed because the user names it.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOMS = ("entropy_theory", "simulations", "llm_bridge", "paper_figures", "policy_entropy")
EXECUTES = ("entropy_theory/support/user_code.py", "exec")
"""Where a user's own file is executed."""
PICKLES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
ROOT = Path(str(importlib.util.find_spec("entropy_theory").origin)).parents[1]


def unsafe(source: str) -> Iterator[str]:
    """What a module's code does that can run what it reads; the names of what is called or imported."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        last = name.rpartition(".")[2]
        options = {option.arg: option.value for option in node.keywords}

        def is_given(option: str, value: object, options: dict = options) -> bool:
            found = options.get(option)
            return isinstance(found, ast.Constant) and found.value == value

        if name in ("eval", "exec", "__import__", "builtins.eval", "builtins.exec"):
            yield name
        if name.partition(".")[0] in PICKLES and last in ("load", "loads", "Unpickler", "open"):
            yield name
        if last in ("read_pickle", "unsafe_load", "full_load") or name == "os.system":
            yield name
        if name == "yaml.load" and "Loader" not in options:
            yield name
        if name == "torch.load" and not is_given("weights_only", True):
            yield name
        if "trust_remote_code" in options and is_given("trust_remote_code", True):
            yield "trust_remote_code=True"
        if "allow_pickle" in options and not is_given("allow_pickle", False):
            yield "allow_pickle"
        if "shell" in options and not is_given("shell", False):
            yield "shell"
        if last in ("getoutput", "getstatusoutput", "popen"):
            yield name


@pytest.mark.parametrize("room", ROOMS)
def test_nothing_that_is_read_is_executed(room):
    found = {(path.relative_to(ROOT).as_posix(), what) for path in sorted((ROOT / room).rglob("*.py"))
             for what in unsafe(path.read_text(encoding="utf-8"))}
    assert found - {EXECUTES} == set()


def test_a_users_file_is_executed_in_one_place():
    assert EXECUTES[1] in unsafe((ROOT / EXECUTES[0]).read_text(encoding="utf-8"))


@pytest.mark.parametrize("source", [
    "eval(text)", "pickle.load(file)", "pickle.loads(data)", "torch.load(path)",
    "torch.load(path, weights_only=False)", "np.load(path, allow_pickle=True)",
    "np.load(path, allow_pickle=chosen)", "subprocess.run(line, shell=True)", "yaml.load(text)",
    "AutoModel.from_pretrained(name, trust_remote_code=True)", "os.system(line)",
    "pandas.read_pickle(path)", "joblib.load(path)",
])
def test_what_is_unsafe_is_seen(source):
    """A search that finds nothing anywhere would pass too."""
    assert list(unsafe(source))


@pytest.mark.parametrize("source", [
    "model.eval()", "torch.load(path, weights_only=True)", "np.load(path)", "json.load(file)",
    "subprocess.run([line])", "yaml.safe_load(text)", "regex.exec(text)",
    "from_pretrained(name, trust_remote_code=args.trust_remote_code)",
])
def test_what_is_safe_is_let_be(source):
    assert not list(unsafe(source))
