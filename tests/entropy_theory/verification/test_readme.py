"""The README's claims, run as printed there: its output is what the command says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from entropy_theory.__main__ import check

README = Path(__file__).parents[3] / "README.md"
EXAMPLES = re.findall(r"```python\n(from entropy_theory\.verification.*?)```\n\s*```text\n(.*?)```",
                      README.read_text(), re.DOTALL)


def words(text):
    """The words of a table or a line; its frame, and what depends on the time taken, dropped."""
    return {w for w in re.sub(r"[│┃;,:]", " ", text).split() if not re.fullmatch(r"[\d,]+", w)}


def test_there_is_one_true_and_one_false():
    assert [("verified" in out, "refuted" in out) for _, out in EXAMPLES] == [
        (True, False), (False, True)]
    assert all(len(code.strip().splitlines()) < 15 for code, _ in EXAMPLES)


@pytest.mark.parametrize(("code", "printed"), EXAMPLES, ids=["true", "false"])
def test_the_output_is_real(command, tmp_path, code, printed):
    (tmp_path / "my_claims.py").write_text(code)
    status, out, err = command("check", tmp_path / "my_claims.py", "--quick")
    assert status == ("refuted" in printed), err
    for line in printed.splitlines()[1:]:
        if line.startswith("│"):
            assert words(line) <= words(out), line
        else:
            assert line in out


RULE = re.search(
    r"```python\n(from dataclasses.*?)```.*?```text\n(.*?)```\n\nWritten as `(.*?)`.*?```text\n(.*?)```",
    README.read_text(), re.DOTALL).groups()


def test_the_rule_keeps_what_is_printed_and_its_variant_breaks(tmp_path, capsys):
    code, printed, variant, broken = RULE
    (tmp_path / "my_rules.py").write_text(code)
    assert check(tmp_path / "my_rules.py") == 0
    assert capsys.readouterr().out == printed.split("\n", 1)[1]
    wrong = re.sub(r"return namespace.*", variant, code)
    assert wrong != code
    (tmp_path / "my_rules.py").write_text(wrong)
    assert check(tmp_path / "my_rules.py", quick=True) == 1
    assert broken in capsys.readouterr().out
    assert len(code.strip().splitlines()) < 20
