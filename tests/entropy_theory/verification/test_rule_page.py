"""The rule of docs/how_to/rule.md, which `tests/package/test_pages.py` runs, and its variant breaks."""

from __future__ import annotations

import re
from pathlib import Path

from entropy_theory.__main__ import check

PAGE = Path(__file__).parents[3] / "docs" / "how_to" / "rule.md"
RULE = re.search(
    r"```python\n(from entropy_theory.*?)```.*?```console\n.*?```\n\n"
    r"The line `(.*?)`.*?```text\n(.*?)```",
    PAGE.read_text(), re.DOTALL).groups()


def test_the_variant_of_the_rule_breaks_what_is_printed(tmp_path, capsys):
    code, variant, broken = RULE
    wrong = re.sub(r"return namespace.*", variant, code)
    assert wrong != code
    (tmp_path / "my_rules.py").write_text(wrong)
    assert check(tmp_path / "my_rules.py", quick=True) == 1
    assert broken in capsys.readouterr().out
    assert len(code.strip().splitlines()) < 20
