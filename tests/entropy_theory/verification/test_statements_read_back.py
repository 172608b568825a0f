"""The text of each statement that the kernel is sent is read back, and equals the formula searched."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import entropy_theory
from entropy_theory.claims import all_claims
from entropy_theory.verification import Claim, Statement, proofs
from entropy_theory.verification.floats import evaluate
from entropy_theory.verification.formula import rocq_words
from entropy_theory.verification.formula.statement import Formula, Parameter
from entropy_theory.verification.formula.terms import ACTIONS, PROMPTS, RESPONSES, STATES
from entropy_theory.verification.formula.trees import HORIZON
from entropy_theory.verification.instances import Batch, as_floats
from tests.entropy_theory.sabotage import established
from tests.entropy_theory.verification.gallina import (
    BeyondNumbersError,
    Function,
    Interpreter,
    Node,
    Proposition,
    Reader,
    UndefinedError,
    premises,
    signs,
)

DEFINITIONS = Path(entropy_theory.__file__).parent / "formal" / "library" / "Definitions.v"
INSTANCES = 4
"""Of each claim: small ones in order of size, and as many at random."""
TOLERANCE = 1e-7
"""Of a margin, relative to it or to 1: naive sums against sums in log space, of numbers up to e^8."""


@functools.cache
def library() -> dict[str, Node]:
    return Reader(DEFINITIONS.read_text()).definitions()


def entries(values: np.ndarray, parameter: Parameter, n: int) -> Any:
    """A parameter as the kernel has it: a function of its places."""
    axes = parameter.axes
    if not axes:
        return bool(values) if parameter.kind == "mask" else float(values)
    if axes[0] is None:
        return entries(values[0], _without_first(parameter), n)

    def at(place: Any) -> Any:
        number = place
        if axes[0] in (STATES, RESPONSES):
            # Level by level for states; responses are all of one level.
            number = 0
            for token in place:
                number = number * n + int(token) + (axes[0] is STATES)
        assert 0 <= number < len(values), f"{parameter.name} is asked for {place}"
        return entries(values[int(number)], _without_first(parameter), n)

    return Function(at)


def _without_first(parameter: Parameter) -> Parameter:
    return Parameter(name=parameter.name, axes=parameter.axes[1:], kind=parameter.kind)


def given(formula: Formula, sizes: Mapping[Any, int], fields: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The values that the statement quantifies over, at one instance."""
    names = {ACTIONS: "n", HORIZON: "h", PROMPTS: "prompts"}
    values: dict[str, Any] = {names[axis]: sizes[axis] for axis in names if axis in sizes}
    for p in formula.parameters.fields:
        if p.name in fields:
            values[rocq_words.identifier(p.name)] = entries(fields[p.name][0], p, sizes.get(ACTIONS, 0))
    return values


def small(batch: Batch) -> bool:
    """No entry that floats lose, and so few actions that sums can be written out."""
    reals = [np.abs(v) for k, v in vars(as_floats(batch)).items() if v.dtype != bool]
    return all(bool((v <= 8).all()) and v[0].size <= 40 for v in reals)


def instances_of(claim: Claim, statement: Statement) -> list[Batch]:
    """Batches of one instance each, most of which meet the hypotheses, one barely or not."""
    generator = np.random.default_rng(0)

    def chosen(batches: Iterable[Batch]) -> list[Batch]:
        inside: list[Batch] = []
        outside: list[Batch] = []
        for batch in batches:
            meets = evaluate(statement, batch)[1]
            for wanted, found in ((meets, inside), (~meets, outside)):
                singles = ({name: v[k:k + 1] for name, v in batch.items()}
                           for k in generator.permutation(np.flatnonzero(wanted)))
                found += itertools.islice(
                    (b for b in singles if claim.instances.finite or small(b)), INSTANCES)
        return [group[k] for group, count in ((inside, INSTANCES), (outside, 1))
                for k in generator.permutation(len(group))[:count]]

    random = [] if claim.instances.finite else [claim.instances.sample(generator, 512)]
    return chosen(claim.instances.enumerate(6)) + chosen(random)


def read_back(
    text: str, statement: Statement, batch: Batch
) -> tuple[list[Proposition], list[Proposition]]:
    """(hypotheses, conclusions that have numbers) by the kernel's text; no conclusions outside."""
    floats = as_floats(batch)
    definitions = {**library(), **Reader(text).definitions()}
    machine = Interpreter(
        definitions, given(statement.formula, statement.numbers(floats).sizes, vars(floats)))
    hypotheses, conclusions = premises(definitions["statement"])
    meets = [machine.proposition(h, {}) for h in hypotheses]
    found = []
    for conclusion in conclusions if all(p.holds for p in meets) else ():
        with contextlib.suppress(BeyondNumbersError):
            found.append(machine.proposition(conclusion, {}))
    return meets, found


def compared(text: str, statement: Statement, batch: Batch) -> str:
    """"agrees", "outside" the hypotheses by both, "undefined" in floats, or what the text says else."""
    try:
        meets, found = read_back(text, statement, batch)
    except UndefinedError:
        return "undefined"
    margins, expected = evaluate(statement, batch)
    if all(p.holds for p in meets) != bool(expected[0]):
        close = any(abs(p.margin) < TOLERANCE for p in meets)
        return "undefined" if close else f"hypotheses {meets}, not {expected[0]}"
    if not expected[0]:
        return "outside"
    if statement.formula.conclusion.sign is None:
        holds = all(p.holds for p in found)
        return "agrees" if holds == bool(margins[0] > 0) else f"{found}, not {margins[0] > 0}"
    margin = min(p.margin for p in found)
    near = abs(margin - margins[0]) <= TOLERANCE * max(1.0, abs(margins[0]))
    return "agrees" if near else f"margin {margin}, not {margins[0]}"


STATEMENTS = {claim_id: (claim, established(claim)) for claim_id, claim in all_claims().items()
              if proofs.proof_file(claim)}
"""The statements that are sent to the kernel; printed statements that are false are not."""
PROVED_BEYOND = [name for name, (_, statement) in STATEMENTS.items() if statement.beyond]


@pytest.mark.parametrize("name", STATEMENTS)
def test_it_says_what_is_searched(name):
    """A bracket that the kernel does not see; a sum over the wrong set; a hypothesis left out."""
    claim, statement = STATEMENTS[name]
    finite = dataclasses.replace(statement, beyond=None)
    text = finite.formula.rocq("statement")
    said = {compared(text, finite, batch) for batch in instances_of(claim, finite)}
    assert said <= {"agrees", "outside", "undefined"}
    assert "agrees" in said
    if (sign := finite.formula.conclusion.sign) is not None:
        _, conclusions = premises(Reader(text).definitions()["statement"])
        assert set().union(*map(signs, conclusions)) == {{">": "<", ">=": "<=", "==": "="}[sign]}


@pytest.mark.deep
@pytest.mark.parametrize("name", PROVED_BEYOND)
def test_derivatives_are_what_differences_say(name):
    """A derivative in the wrong place, or of the wrong function, which a proof would not notice."""
    claim, statement = STATEMENTS[name]
    text = statement.formula.rocq("statement")
    for batch in instances_of(claim, statement):
        with contextlib.suppress(UndefinedError):
            _, found = read_back(text, statement, batch)
            assert all(p.holds or p.margin > -TOLERANCE for p in found), batch


@pytest.mark.parametrize(("claim_id", "was", "becomes"), [
    ("aepo.theorem-4.3b", "total_on n correct (fun a => softmax n logits a * centered",
     "sum n (fun a => softmax n logits a * centered"),
    ("extension.entropy-ceiling", "negb (correct a)", "correct a"),
    ("aent.proposition-2", "^ 2 / soft_visits", "^ 3 / soft_visits"),
    ("entropy-mechanism.theorem-2", "/ 4", "/ 5"),
    ("entropy-mechanism.theorem-2", "- learning_rate * - covariance", "+ learning_rate * - covariance"),
    ("extension.reward-improvement-temperature", "0 < temperature", "1 < temperature"),
])
def test_a_changed_text_is_noticed(claim_id, was, becomes):
    """A comparison of nothing."""
    claim = all_claims()[claim_id]
    statement = dataclasses.replace(established(claim), beyond=None)
    text = statement.formula.rocq("statement")
    assert was in text
    said = {compared(text.replace(was, becomes), statement, batch)
            for batch in instances_of(claim, statement)}
    assert said - {"agrees", "outside", "undefined"}


def test_brackets_bind_as_in_rocq():
    """A reader with other levels than the kernel would find the same mistake twice."""
    machine = Interpreter({}, {"x": 3.0})
    for text, value in (("- x ^ 2", -9.0), ("/ x * 6", 2.0), ("1 - x - 1", -3.0), ("6 / x / 2", 1.0),
                        ("- x + 1", -2.0), ("2 ^ 2 ^ 2", 16.0), ("(2 - 3)%nat", 0)):
        node = Reader(f"Definition it := {text}.").definitions()["it"]
        assert machine.of(node, {}) == value, text
