"""The package as it is installed: from a wheel, in an environment that has no torch and no figures."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
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
def built(tmp_path_factory):
    """Wheel and sdist, built from a copy of what is committed or would be."""
    source, output = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
                            cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():  # deleted, and not committed yet
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    for kind in ("sdist", "wheel"):  # a process each: setuptools leaves its own arguments in sys.argv
        build = f"import sys; from setuptools import build_meta; build_meta.build_{kind}(sys.argv[1])"
        done = subprocess.run([sys.executable, "-c", build, output], cwd=source, capture_output=True,
                              text=True)
        assert done.returncode == 0, done.stderr[-3000:]
    (wheel,), (sdist,) = output.glob("*.whl"), output.glob("*.tar.gz")
    return wheel, sdist


@pytest.mark.deep
def test_wheel_and_sdist_hold_all_that_is_needed(built):
    wheel, sdist = built
    files = set(zipfile.ZipFile(wheel).namelist())
    with tarfile.open(sdist) as archive:
        unpacked = {name.split("/", 1)[-1] for name in archive.getnames()}
    for package in ("entropy_theory", "simulations", "llm_bridge", "paper_figures", "policy_entropy"):
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
def test_the_wheel_runs_in_an_environment_with_the_core_alone(built, tmp_path):
    """What the core imports is declared, and torch, figures and proofs are not among it."""
    wheel, _ = built
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    packages = next((tmp_path / "env" / "lib").glob("python*/site-packages"))
    # A PYTHONPATH to a checkout would have pip find the package installed, and the checkout imported.
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index",
                    "--quiet", wheel], check=True, env=clean)
    sizes = [_link(distribution, packages) for distribution in _closure(PROJECT["dependencies"])]
    assert sum(sizes) / 1e6 < CORE_MEGABYTES

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([python, *arguments], cwd=tmp_path, env=clean, capture_output=True,
                              text=True)

    light = run("-c", "import sys, entropy_theory; print('numpy' in sys.modules)")
    assert light.stdout == "False\n", light.stderr
    core = run("-c", "import simulations.experiments, entropy_theory.claims, sys; "
                     "from entropy_theory.performance_law import forecast; "
                     "from entropy_theory import update_rules; update_rules.get('aepo'); "
                     "print({'torch', 'matplotlib', 'sympy'} & set(sys.modules))")
    assert core.stdout == "set()\n", core.stderr
    for room, least in (("entropy_theory", 100), ("simulations", 20), ("paper_figures", 50)):
        listed = run("-m", room, "list")
        assert listed.returncode == 0, listed.stderr
        assert len(listed.stdout.splitlines()) > least
    script = tmp_path / "env" / "bin" / "policy-entropy"
    for arguments, extra in (
        (["entropy_theory", "verify", "aepo.theorem-4.3b"], "proofs"),
        (["llm_bridge", "train", "--rule", "grpo"], "llm"),
        (["llm_bridge.recipes", "show", "paper/aent-math"], "llm"),
        (["paper_figures", "build", "aepo-figure-1"], "figures"),
        ([script, "evaluate"], "llm"),
        ([script, "compare", "runs/mine"], "figures"),
        ([script, "figures", "aepo-figure-1"], "figures"),
        ([script, "report"], "figures"),
    ):
        command = arguments if arguments[0] == script else [python, "-m", *arguments]
        refused = subprocess.run(command, cwd=tmp_path, env=clean, capture_output=True, text=True)
        assert refused.returncode == 2, (arguments, refused.stderr)
        assert refused.stderr.count("\n") == 1, refused.stderr
        assert f"pip install 'policy-entropy[{extra}]'" in refused.stderr
    refused = run("-c", "from llm_bridge.trainer import EntropyTrainer")
    assert "policy-entropy[llm]" in refused.stderr.splitlines()[-1]
    version = subprocess.run([script, "--version"], env=clean, capture_output=True, text=True, check=True)
    assert version.stdout == f"policy-entropy {entropy_theory.__version__}\n"


def _closure(requirements: list[str]) -> list[metadata.Distribution]:
    """The distributions of this environment that requirements bring, with all that these need."""
    found: dict[str, metadata.Distribution] = {}
    waiting = [Requirement(line) for line in requirements]
    while waiting:
        requirement = waiting.pop()
        if canonical(requirement.name) in found:
            continue
        distribution = metadata.distribution(requirement.name)
        found[canonical(requirement.name)] = distribution
        for line in distribution.requires or ():
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                waiting.append(needed)
    return list(found.values())


def _link(distribution: metadata.Distribution, packages: Path) -> int:
    """Link a distribution's files into an environment; returns their bytes.

    Sources count twice: pip compiles them, and their bytecode is about as large.
    """
    size = 0
    for file in distribution.files or ():
        path = Path(str(distribution.locate_file(file)))
        if path.is_file() and ".." not in file.parts:
            size += path.stat().st_size * {".py": 2, ".pyc": 0}.get(path.suffix, 1)
            link = packages / file
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.exists():
                link.symlink_to(path)
    return size
