"""Guards described.py: options, defaults and meanings of a rule as its class says them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from entropy_theory.update_rules import described
from entropy_theory.update_rules.reinforce import Reinforce
from entropy_theory.update_rules.rule import UpdateRule


@dataclass(frozen=True, kw_only=True, slots=True)
class Parent(UpdateRule):
    """What the parent is.

    And more of it.
    """

    name: ClassVar[str] = "parent"
    given: int
    """Must be
    given."""
    silent: float = 0.5
    """No meaning follows this one's text: the next has none."""
    untold: float = 1.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Child(Parent):
    """What the child is."""

    name: ClassVar[str] = "child"
    base: UpdateRule = field(default_factory=Reinforce)
    """The rule below."""
    names: tuple[str, ...] = field(default_factory=tuple)


def test_options_are_those_of_the_class_and_its_bases_each_with_its_own_text():
    """A text that slips to the next option, or an inherited one that is lost."""
    assert described.options(Child) == [
        described.Option(name="given", kind="int", default="none: it must be given",
                         meaning="Must be given."),
        described.Option(name="silent", kind="float", default="0.5",
                         meaning="No meaning follows this one's text: the next has none."),
        described.Option(name="untold", kind="float", default="1.5", meaning=""),
        described.Option(name="base", kind="UpdateRule", default="reinforce", meaning="The rule below."),
        described.Option(name="names", kind="tuple[str, ...]", default="()", meaning=""),
    ]


def test_annotations_that_python_has_evaluated_read_as_those_that_it_has_not():
    """A user's file without `from __future__ import annotations` showed <class 'float'>."""
    fields = [(name, kind, field(default=None)) for name, kind in (
        ("rate", float), ("limit", float | None), ("names", tuple[str, ...]), ("base", UpdateRule),
        ("form", Literal["a", "b"]))]
    made = dataclasses.make_dataclass("Made", fields, bases=(UpdateRule,), frozen=True, kw_only=True)
    assert [option.kind for option in described.options(made)] == [
        "float", "float | None", "tuple[str, ...]", "UpdateRule", "Literal['a', 'b']"]


def test_a_rule_is_the_same_in_json_and_on_a_terminal():
    record = described.as_record(Child)
    assert record == {
        "name": "child", "title": (__doc__ or "").splitlines()[0], "source": __name__,
        "options": [dataclasses.asdict(option) for option in described.options(Child)]}
    shown = described.as_text(Child).splitlines()
    assert shown[:3] == ["child: What the child is.", "", record["title"]]
    assert "base = reinforce  (UpdateRule)" in shown
    assert shown[shown.index("given = none: it must be given  (int)") + 1] == "    Must be given."
    assert "It has no options." not in shown
