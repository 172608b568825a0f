"""Guards plain.py: LaTeX of statements and docstrings as a terminal shows it."""

from __future__ import annotations

import pytest

from entropy_theory.update_rules import RULES, described
from entropy_theory.verification.formula.plain import formulas_to_text, latex_to_text


@pytest.mark.parametrize(("latex", "text"), [
    (r"\operatorname{KL}(\pi' \| \pi) \ge 0", "KL(π' ‖ π) ≥ 0"),
    (r"z_+ - \bar z", "z_+ - z̄"),
    (r"A \leftarrow w A", "A ← w A"),
])
def test_signs_of_a_formula(latex, text):
    assert latex_to_text(latex) == text


def test_a_docstring_has_its_formulas_in_signs_and_all_else_as_it_was():
    """A display that swallows the paragraph after it; the branches of a formula run together."""
    shown = formulas_to_text(
        "The step :math:`d =\n\\eta g`:\n\n.. math::\n\n    w = \\begin{cases} r & A > 0 \\\\\n"
        "    0 & \\text{else} \\end{cases}\n\n    H \\le 1\n\nwith ``eta``::\n\n    code\n")
    assert shown == ("The step d =\nη g:\n\n    w = { r: A > 0; 0: else }\n    H ≤ 1\n\n"
                     "with ``eta``::\n\n    code\n")


@pytest.mark.parametrize("name", RULES)
def test_no_rule_is_shown_in_latex(name):
    shown = formulas_to_text(described.as_text(RULES[name]))
    assert not [mark for mark in (":math:", ".. math", "\\", "cases") if mark in shown]
