"""The package as it is installed: from a wheel, in an environment that has no torch and no figures.

`make wheel` makes both, and runs this file with its deep tests.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import entropy_theory
from entropy_theory.support import user_errors
from paper_figures.reproduce.pipeline import MODULES

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CORE_MEGABYTES = 400


def canonical(name: str) -> str:
    """The name of a distribution as package indices compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def named(requirements: list[str]) -> set[str]:
    return {canonical(Requirement(line).name) for line in requirements}


def test_the_extra_that_an_error_names_brings_the_module():
    """An error that names the wrong extra sends its reader to install it for nothing."""
    brought_by = metadata.packages_distributions()
    for module, extra in user_errors.EXTRA_OF.items():
        listed = named(PROJECT["optional-dependencies"][extra])
        names = {canonical(name) for name in brought_by.get(module, [module])}
        assert names & listed, f"{module}: {names} not in [{extra}]"


def test_a_missing_extra_is_one_error_that_names_it(monkeypatch):
    monkeypatch.setattr(user_errors.importlib.util, "find_spec", lambda module: None)
    with pytest.raises(user_errors.MissingExtraError, match=r"policy-entropy\[llm\]") as caught:
        user_errors.need("llm_bridge.trainer", "torch")
    assert caught.value.name == "torch"
    assert "\n" not in str(caught.value)


def test_the_page_of_installation_says_what_each_extra_is_for():
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(PROJECT["optional-dependencies"])


def test_the_image_holds_what_the_main_job_needs():
    extras = re.search(r"--editable '\.\[(.+)\]'", (ROOT / "Dockerfile").read_text())
    assert extras is not None
    needed = {user_errors.EXTRA_OF[module] for module in (*MODULES, "nbclient")}
    assert needed <= set(extras[1].split(","))


@pytest.mark.parametrize(("module", "status"), [("matplotlib", 2), ("no_extra_of_ours", None)])
def test_a_command_says_it_in_one_line(capsys, module, status):
    """Only modules that an extra brings are a user's to install; another is a bug with a traceback."""
    def command():
        raise ModuleNotFoundError(f"No module named '{module}.pyplot'", name=f"{module}.pyplot")

    with pytest.raises(SystemExit if status else ModuleNotFoundError) as caught:
        user_errors.run_command(command)
    if status:
        assert caught.value.code == status
        assert capsys.readouterr().err == (
            "error: this command needs matplotlib, which is not installed: "
            "pip install 'policy-entropy[figures]'\n")


def test_the_version_stands_in_one_place():
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None
    assert cited[1] == entropy_theory.__version__
    assert f"## {entropy_theory.__version__}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.fixture(scope="module")
def wheel():
    """The wheel that `make wheel` has built."""
    found = list((ROOT / "build" / "wheel").glob("*.whl"))
    if not found:
        pytest.skip("there is no wheel: run make wheel")
    return found[0]


@pytest.fixture
def installed(wheel, tmp_path):
    """Runs a program of the environment that `make wheel` has installed the wheel in, elsewhere."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}

    def run(program, *arguments):
        return subprocess.run([wheel.parent / "env" / "bin" / program, *arguments], cwd=tmp_path,
                              env=clean, capture_output=True, text=True)

    return run


@pytest.mark.deep
def test_wheel_and_sdist_hold_all_that_is_needed(wheel, tmp_path):
    """The sdist is built from a copy of what is committed or would be."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
                            cwd=ROOT, check=True, capture_output=True, text=True).stdout
    source = tmp_path / "source"
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():  # deleted, and not committed yet
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    build = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, tmp_path], cwd=source, check=True, capture_output=True)
    files = set(zipfile.ZipFile(wheel).namelist())
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        unpacked = {name.split("/", 1)[-1] for name in archive.getnames()}
    for package in ("entropy_theory", "diagnosis", "simulations", "llm_bridge", "paper_figures",
                    "policy_entropy"):
        ours = {str(path.relative_to(ROOT)) for path in (ROOT / package).rglob("*")
                if path.suffix in (".py", ".v", ".toml", ".yaml", ".ipynb", ".safetensors")
                and ".ipynb_checkpoints" not in path.parts}
        assert ours | {f"{package}/py.typed"} <= files
        assert ours <= unpacked
    assert {"entropy_theory/formal/accepted.json", "entropy_theory/claims/ledger.json",
            "llm_bridge/data/small-sums/README.md"} <= files
    assert {"CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "Makefile", "constraints.txt",
            "docs/conf.py", "tests/conftest.py"} <= unpacked


@pytest.mark.deep
def test_the_core_is_small_and_works(wheel, installed, tmp_path):
    """What the core imports is declared, and torch, figures and proofs are not among it."""
    packages = next((wheel.parent / "env" / "lib").glob("python*/site-packages"))
    own = [path for path in packages.rglob("*") if path.is_file() and "pip" not in path.parts]
    assert sum(path.stat().st_size for path in own) / 1e6 < CORE_MEGABYTES
    light = installed("python", "-c", "import sys, entropy_theory; print('numpy' in sys.modules)")
    assert light.stdout == "False\n", light.stderr
    core = installed("python", "-c", "import simulations.experiments, entropy_theory.claims, sys; "
                     "from entropy_theory.performance_law import forecast; "
                     "from entropy_theory import update_rules; update_rules.get('aepo'); "
                     "print({'torch', 'matplotlib', 'sympy'} & set(sys.modules))")
    assert core.stdout == "set()\n", core.stderr
    (tmp_path / "log.csv").write_text(
        "step,entropy,reward\n1,1.0,0.2\n2,0.8,0.35\n3,0.6,0.45\n4,0.4,0.55\n5,0.2,0.6\n")
    for arguments, said in (
        (["claims"], "aepo.theorem-4.3b"), (["figures"], "aepo-figure-1"), (["rules", "aepo"], "alpha"),
        (["simulate", "aepo-figure-2", "--profile", "smoke", "--output", "results"], "aepo_figure_2.nc"),
        (["fit", "log.csv"], "e^H"), (["--version"], entropy_theory.__version__),
    ):
        done = installed("policy-entropy", *arguments)
        assert done.returncode == 0, done.stderr
        assert said in done.stdout


@pytest.mark.deep
@pytest.mark.parametrize(("arguments", "extra"), [
    (["train", "--rule", "grpo"], "llm"),
    (["recipes", "paper/aent-math"], "llm"),
    (["evaluate"], "llm"),
    (["compare", "runs/mine"], "figures"),
    (["figures", "aepo-figure-1"], "figures"),
    (["report"], "figures"),
])
def test_what_an_extra_brings_is_refused_in_one_line(installed, arguments, extra):
    refused = installed("policy-entropy", *arguments)
    assert refused.returncode == 2, refused.stderr
    assert refused.stderr.count("\n") == 1, refused.stderr
    assert f"pip install 'policy-entropy[{extra}]'" in refused.stderr
