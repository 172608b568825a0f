"""The rule of docs/how_to/rule.md: what is printed is what the command says, and its variant breaks."""

from __future__ import annotations

import re
from pathlib import Path

from entropy_theory.__main__ import check

PAGE = Path(__file__).parents[3] / "docs" / "how_to" / "rule.md"
RULE = re.search(
    r"```python\n(from entropy_theory.*?)```.*?```console\n(.*?)```\n\n"
    r"Written as `(.*?)`.*?```text\n(.*?)```",
    PAGE.read_text(), re.DOTALL).groups()


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
