"""Guards user_code.py: rules by import path, in this process and in others, and what notices an edit."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys

import pytest

from entropy_theory import update_rules
from entropy_theory.support import user_code
from tests.user_files import HALF

RULE = f'''
import beside
from entropy_theory.update_rules.rule import UpdateRule
{HALF}
class Nameless(Modifier):
    pass

number = 3
'''


@pytest.fixture
def file(tmp_path, monkeypatch):
    """my_rules.py in the current directory, which imports a file beside it."""
    (tmp_path / "beside.py").write_text("")
    path = tmp_path / "my_rules.py"
    path.write_text(RULE)
    monkeypatch.chdir(tmp_path)
    yield path
    sys.modules.pop("beside", None)


def test_a_rule_by_file_has_options_and_bases(file):
    rule = update_rules.get("my_rules.py:Half", factor=0.3, base="reinforce")
    assert (rule.name, rule.factor, rule.base.name) == ("half", 0.3, "reinforce")
    assert update_rules.get(f"{file}:Half") == update_rules.get("./my_rules.py:Half")
    assert update_rules.get("clip-cov", base="my_rules.py:Half").base.factor == 0.5
    with pytest.raises(ValueError, match=r"unknown option of update rule 'my_rules.py:Half': 'factr'"):
        update_rules.get("my_rules.py:Half", factr=1)


def test_a_rule_by_module():
    rule = update_rules.get("tests.entropy_theory.verification.test_rule_contract:CountsRows")
    assert rule.name == "planted"


@pytest.mark.parametrize(("path", "message"), [
    ("no_rules.py:Half", "no such file: no_rules.py, looked for in /.*: check"),
    ("no_rules_here:Half", "cannot import module 'no_rules_here'"),
    ("my_rules.py:Haff", r"'my_rules.py' has no .* 'Haff'; it has Half, Nameless"),
    ("my_rules.py:number", "'number' of 'my_rules.py' is not a subclass of UpdateRule"),
    ("my_rules.py:Nameless", "has no name: put @update_rule"),
    ("broken.py:Half", r"broken.py cannot be imported \(ZeroDivisionError"),
])
@pytest.mark.usefixtures("file")
def test_what_is_not_there_is_one_clear_error(path, message, tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0")
    with pytest.raises(ValueError, match=message):
        update_rules.get(path)


def test_an_edited_file_is_another_rule_with_another_digest(file):
    """Also within a second and of the same length, where Python's own cache of compiled files errs."""
    first = update_rules.get("my_rules.py:Half")
    file.write_text(RULE.replace("factor: float = 0.5", "factor: float = 0.7"))
    second = update_rules.get("my_rules.py:Half")
    assert (first.factor, second.factor) == (0.5, 0.7)
    assert user_code.digests(first) != user_code.digests(second)
    assert list(user_code.digests(update_rules.get("aepo", base=first))) == ["my_rules.py:Half"]
    assert user_code.digests(update_rules.get("grpo")) == {}
    assert user_code.name_of(update_rules.RULES["grpo"]) == "entropy_theory.update_rules.grpo.Grpo"


def test_the_digest_goes_by_contents_not_by_place(file, tmp_path):
    (tmp_path / "moved").mkdir()
    for name in ("my_rules.py", "beside.py"):
        (tmp_path / "moved" / name).write_bytes((tmp_path / name).read_bytes())
    here, there = (update_rules.get(f"{place}my_rules.py:Half") for place in ("", "moved/"))
    assert user_code.digests(here) == user_code.digests(there)
    assert user_code.name_of(type(here)) == user_code.name_of(type(there))


@pytest.mark.parametrize("rule", ["my_rules.py:Half", "my_rules:Half", "kit.rules:Half"])
def test_the_digest_covers_helpers_of_the_user_and_no_other_file(rule, file, tmp_path, monkeypatch):
    """What lies beside a file or a module, what is in a package; through other helpers too."""
    kit = tmp_path / "kit"
    kit.mkdir()
    for place in (tmp_path, kit):
        (place / "__init__.py").write_text("")
        (place / "further.py").write_text("")
        (place / "unrelated.py").write_text("")
    (tmp_path / "beside.py").write_text("import further, math")
    (kit / "beside.py").write_text("from kit import further")
    (kit / "rules.py").write_text(RULE.replace("import beside", "from . import beside\nimport numpy"))
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("my_rules", "further", "kit", "kit.rules", "kit.beside", "kit.further"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    def version():
        user_code.digest.cache_clear()
        return user_code.digests(update_rules.get(rule))

    first, near = version(), kit if "kit" in rule else tmp_path
    (near / "unrelated.py").write_text("1")
    assert version() == first
    (near / "further.py").write_text("no Python")  # imported by nothing that ran
    assert version() != first
    (near / "further.py").write_text("")
    for name in ("beside", "further"):
        before = (near / f"{name}.py").read_text()
        (near / f"{name}.py").write_text(before + "\nx = 1")
        assert version() != first
        (near / f"{name}.py").write_text(before)
    assert version() == first


def test_another_process_reads_the_file_by_its_place_and_refuses_another_version(file, tmp_path):
    rule = dataclasses.replace(update_rules.get("my_rules.py:Half"), factor=0.3)
    (tmp_path / "rule.pickle").write_bytes(pickle.dumps(rule))
    code = ("import pickle, sys; from entropy_theory import update_rules; "
            f"print(pickle.load(open({str(tmp_path / 'rule.pickle')!r}, 'rb')).factor)")

    def there():
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/")

    assert there().stdout.strip() == "0.3"
    file.write_text(RULE + "# edited\n")
    assert "has changed since the command began" in there().stderr
