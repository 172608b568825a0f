"""Theorems beside statements: each has a witness of its premises, and says where it is defined."""

from __future__ import annotations

import re

import pytest

from entropy_theory.claims import all_claims
from entropy_theory.verification import proofs
from tests.entropy_theory.verification.conditions import place, theorems, written

THEOREMS = theorems()
ANYWHERE = {"attained", "printed_is_false", "no_constant_free_of_n"}
"""Those that suppose nothing: an equation of numbers, and that no constant is good for all."""


def names(text: str) -> list[str]:
    return re.findall(r"^Definition (\w+) : Prop", text, re.MULTILINE)


@pytest.mark.parametrize("module", THEOREMS)
def test_what_a_theorem_rests_on_is_what_its_text_says(module):
    """A theorem without a witness, or whose conditions are those of an older text."""
    text, path = THEOREMS[module], place(module)
    expected = written(module, text)
    assert (path.read_text() if path.exists() else "") == expected, (
        "run: python -m tests.entropy_theory.verification.conditions, prove what it wrote, accept that")
    for name in set(names(text)) - ANYWHERE:
        assert f"{name}_witness" in names(expected), name


def test_no_conditions_are_left_of_theorems_that_are_gone():
    folder = proofs.formal_folder() / "trusted" / "Conditions"
    assert set(folder.rglob("*.v")) == {place(m) for m, text in THEOREMS.items() if written(m, text)}


def test_all_of_them_are_to_be_proved():
    """Conditions that are written, and left out of what the kernel is asked."""
    asked = {stated for claim in all_claims().values() if (proof := proofs.proof_of(claim))
             for stated, _ in proof.theorems}
    for module, text in THEOREMS.items():
        for name in names(written(module, text)):
            assert f"Trusted.Conditions.{module}.{name}" in asked


THEOREM = """From Coq Require Import Reals.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition share (x y : R) : R := x / y.

Definition planted : Prop :=
  forall (n : nat) (z : vector) (T x : R),
  (1 <= n)%nat -> 0 < T -> {premise}
  (forall k, (k < n)%nat -> 0 < z k -> {conclusion}) /\\ 0 <= x * x.
"""


@pytest.mark.parametrize(("conclusion", "condition"), [
    ("0 <= share x T", "share_defined x T"),
    ("0 <= x / z k", "z k <> 0"),
    ("0 <= ln (z k) ^ 2", "0 < z k"),
    ("0 <= sqrt (x * x)", "0 <= x * x"),
    ("0 <= sum n (fun a => x / z a)", "forall a,\n  (a < n)%nat ->\n  z a <> 0"),
    ("derivative (fun t => x / t) T (- x / (T * T))", "forall t,\n  t = T ->\n  t <> 0"),
    ("entropy n (tempered T z) <= x", "T <> 0"),
    ("(let y := z k in x / y) <= x", "y <> 0"),
    ("(if less 0 x then / x else 0) <= x", "less 0 x = true ->\n  x <> 0"),
    ("exists y, 0 < y /\\ z k < x / y", "0 < y ->\n  y <> 0"),
    ("0 <= x / 2", ""),
])
def test_every_operation_with_a_domain_is_asked_about(conclusion, condition):
    found = written("mine.planted", THEOREM.format(premise="", conclusion=conclusion))
    assert ("planted_defined" in names(found)) == bool(condition)
    assert condition in found.partition("planted_defined")[2] or condition in found


def test_premises_on_the_way_to_a_conclusion_are_in_its_witness():
    text = THEOREM.format(premise="T < x ->", conclusion="0 <= x")
    assert re.sub(r"\s+", " ", written("mine.planted", text)).endswith(
        "Definition planted_witness : Prop := exists (n : nat) (z : vector) (T : R) (x : R), "
        "(1 <= n)%nat /\\ 0 < T /\\ T < x /\\ exists k, (k < n)%nat /\\ 0 < z k. ")
