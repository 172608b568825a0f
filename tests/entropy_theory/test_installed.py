"""Guards installed.py: rules that packages bring by name, without an import for any other name."""

from __future__ import annotations

import json
import sys

import pytest

from entropy_theory import __main__ as commands
from entropy_theory import update_rules
from entropy_theory.update_rules import rule_options
from tests.user_files import HALF


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Install, for a test, a package of that name with these entry points and its one module ``kit``."""
    (tmp_path / "halting.py").write_text("raise RuntimeError('first\\nsecond')\n")
    (tmp_path / "kit.py").write_text(f"{HALF}\nnumber = 3\nclass Nameless(Modifier):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "kit", raising=False)  # what another file's test may have left

    def make(name: str, **points: str) -> None:
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [f"{key.replace('_', '-')} = {value}" for key, value in points.items()]
        (folder / "entry_points.txt").write_text("\n".join(["[policy_entropy.rules]", *lines, ""]))

    yield make
    sys.modules.pop("kit", None)


def test_a_rule_of_a_package_goes_by_its_name_wherever_a_rule_has_one(package):
    package("half-rules", half="kit:Half")
    assert update_rules.get("half", factor=0.3, base="reinforce").factor == 0.3
    assert update_rules.get("clip-cov", base="half").base.factor == 0.5
    assert rule_options.from_texts("half", ["factor=0.2"]).factor == 0.2


def test_names_are_listed_with_their_package_and_nothing_of_it_is_imported(package, capsys):
    package("half-rules", half="kit:Half", broken="nothere:Rule")
    assert commands.rules() == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == [*update_rules.RULES, "broken", "half"]
    assert rows[-1] == ["half", "kit", "A rule of the package half-rules."]
    update_rules.get("grpo")
    with pytest.raises(ValueError, match="unknown update rule 'halff': did you mean half"):
        update_rules.get("halff")
    assert "kit" not in sys.modules
    assert commands.rules("half", json="-") == 0
    assert json.loads(capsys.readouterr().out)["source"] == "kit"


def test_a_name_of_ours_stays_ours(package, capsys):
    package("half-rules", grpo="kit:Half")
    assert update_rules.get("grpo").name == "grpo"
    commands.rules()
    assert "half-rules" not in capsys.readouterr().out


@pytest.mark.parametrize(("place", "message"), [
    ("nothere:Rule", r"cannot be loaded \(ModuleNotFoundError: .*\). Mend the package or remove it"),
    ("kit:Nothing", r"cannot be loaded \(AttributeError"),
    ("halting:Rule", r"cannot be loaded \(RuntimeError: first\\nsecond\)"),
    ("kit:number", "not a subclass of UpdateRule with a name: mend the package or remove it"),
    ("kit:Nameless", "kit:Nameless is not a subclass of UpdateRule with a name"),
])
def test_what_is_no_rule_is_one_error_that_names_the_package(package, place, message):
    package("half-rules", third=place)
    with pytest.raises(ValueError, match=message) as error:
        update_rules.get("third")
    assert "half-rules" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_name_of_two_packages_is_neither(package):
    """Whichever is found first, which an installation decides."""
    package("half-rules", half="kit:Half")
    package("other-rules", half="kit:Half")
    with pytest.raises(ValueError, match="of package half-rules is one of package other-rules too"):
        update_rules.get("half")
