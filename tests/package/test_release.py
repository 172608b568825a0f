"""A release: its workflow tests every Python that the package names, and runs commands that exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
JOBS = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]


def test_every_python_that_the_package_names_is_tested():
    named = [line.rsplit(" ", 1)[1] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert JOBS["test"]["strategy"]["matrix"]["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_the_workflow_runs_commands_that_exist():
    commands = [step["run"] for job in JOBS.values() for step in job["steps"] if "run" in step]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    made = [command.split()[1] for command in commands if command.startswith("make ")]
    assert set(made) == {"release", "test"} <= targets
    assert "sudo .ci/run" in commands
    assert (ROOT / ".ci/run").exists()


def test_nothing_is_published_before_it_is_built_and_tested():
    assert set(JOBS["publish"]["needs"]) == set(JOBS) - {"publish"}
    assert JOBS["publish"]["if"] == "github.ref_type == 'tag'"
