"""The text of each statement that the kernel is sent is read back, and equals the formula searched."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pytest

import entropy_theory
from entropy_theory.claims import all_claims
from entropy_theory.verification import Claim, Condition, Statement, proofs, refutations
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.floats import evaluate
from entropy_theory.verification.formula import rocq_words
from entropy_theory.verification.formula.evaluate import Numbers
from entropy_theory.verification.formula.statement import Formula, Parameter
from entropy_theory.verification.formula.terms import (
    ACTIONS,
    PARAMETERS,
    PROMPTS,
    RESPONSES,
    STATES,
    Axes,
    Term,
    constant,
    make,
)
from entropy_theory.verification.formula.trees import HORIZON
from entropy_theory.verification.instances import Batch, as_floats
from tests.daily import one_in
from tests.entropy_theory.sabotage import established
from tests.entropy_theory.verification.gallina import (
    LIMITS,
    BeyondNumbersError,
    Function,
    Interpreter,
    JunkError,
    Node,
    Proposition,
    Reader,
    UndefinedError,
    drawn,
    premises,
    signs,
)
from tests.entropy_theory.verification.planted import POLICIES

TRUSTED = Path(entropy_theory.__file__).parent / "formal" / "trusted"
INSTANCES = 4
"""Of each claim: small ones in order of size, and as many at random."""
TOLERANCE = 1e-7
"""Of a margin, relative to it or to 1: naive sums against sums in log space, of numbers up to e^8."""


@functools.cache
def library() -> dict[str, Node]:
    texts = [(TRUSTED / file).read_text() for file in ("Definitions.v", "Groups.v")]
    return {name: node for text in texts for name, node in Reader(text).definitions().items()}


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
    names = {ACTIONS: "n", HORIZON: "h", PROMPTS: "prompts", PARAMETERS: "parameters"}
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
    """Batches of one instance each, most of which meet the hypotheses, one barely or not.

    The smallest that meets them is among them: a uniform policy, where the hypotheses allow it.
    """
    generator = np.random.default_rng(0)

    def in_order(places: np.ndarray) -> list[int]:
        return [*places[:1], *generator.permutation(places[1:])]

    def chosen(batches: Iterable[Batch]) -> list[Batch]:
        inside: list[Batch] = []
        outside: list[Batch] = []
        for batch in batches:
            meets = evaluate(statement, batch)[1]
            for wanted, found in ((meets, inside), (~meets, outside)):
                singles = ({name: v[k:k + 1] for name, v in batch.items()}
                           for k in in_order(np.flatnonzero(wanted)))
                found += itertools.islice(
                    (b for b in singles if claim.instances.finite or small(b)), INSTANCES)
        return inside[:1] + [group[k] for group, count in ((inside[1:], INSTANCES - 1), (outside, 1))
                             for k in generator.permutation(len(group))[:count]]

    random = [] if claim.instances.finite else [claim.instances.sample(generator, 512)]
    return chosen(claim.instances.enumerate(6)) + chosen(random)


def read_back(
    text: str, statement: Statement, batch: Batch
) -> tuple[list[Proposition], list[Proposition]]:
    """(hypotheses, conclusions that have numbers) by the kernel's text; no conclusions outside.

    Raises:
        JunkError: it speaks of a number that nobody means, although no hypothesis fails.
    """
    floats = as_floats(batch)
    definitions = {**library(), **Reader(text).definitions()}
    machine = Interpreter(
        definitions, given(statement.formula, statement.numbers(floats).sizes, vars(floats)))
    hypotheses, conclusions = premises(definitions["statement"])
    meets, junk = list[Proposition](), list[JunkError]()
    for hypothesis in hypotheses:
        try:
            meets.append(machine.proposition(hypothesis, {}))
        except JunkError as error:
            junk.append(error)
    inside = all(p.holds for p in meets)
    if inside and junk:
        raise junk[0]
    return meets, [machine.proposition(conclusion, {}) for conclusion in conclusions if inside]


def compared(text: str, statement: Statement, batch: Batch) -> str:
    """"agrees", "outside" the hypotheses by both, "undefined" in floats, or what the text says else."""
    try:
        meets, found = read_back(text, statement, batch)
    except JunkError as junk:
        return f"a number that nobody means: {junk}"
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
STATEMENTS |= {f"{claim_id} as printed": (claim, claim.statement)
               for claim_id, claim in all_claims().items() if refutations.proof_file(claim).exists()}
"""The statements that are sent to the kernel, to be proved or refuted."""
PROVED_BEYOND = [name for name, (_, statement) in STATEMENTS.items() if statement.beyond]


@pytest.mark.parametrize("name", one_in(6, STATEMENTS))
def test_it_says_what_is_searched(name):
    """A bracket that the kernel does not see; a sum over the wrong set; a hypothesis left out."""
    claim, statement = STATEMENTS[name]
    finite = dataclasses.replace(statement, beyond=None)
    text = finite.formula.rocq(beside=False)
    said = {compared(text, finite, batch) for batch in instances_of(claim, finite)}
    assert said <= {"agrees", "outside", "undefined"}
    assert "agrees" in said
    if (sign := finite.formula.conclusion.sign) is not None:
        _, conclusions = premises(Reader(text).definitions()["statement"])
        assert set().union(*map(signs, conclusions)) == {{">": "<", ">=": "<=", "==": "="}[sign]}


class Parts(Numbers):
    """What a proposition of `limits` consists of: from terms, as `Interpreter.parts` from the text."""

    bound: Mapping[Term, Any] = MappingProxyType({})
    kept: ClassVar[list[Term]] = []

    def having(self, variable: Term, value: Any) -> Parts:
        """The same with a number, or a function of its places, in the place of a bound variable."""
        found = copy.copy(self)
        found._known, found.bound = {}, {**self.bound, variable: value}
        return found

    def _compute(self, term: Term) -> Any:
        name, arguments = term.operation.name, term.arguments
        if name == "bound":
            return self._entries(term, term.axes)
        if name == "entry":
            return self._entries(arguments[0], arguments[0].axes[1:], self.of(arguments[1]).item())
        if name in ("after", "number_of"):
            return self.of(arguments[0]) + (name == "after")
        if name == "run" and arguments[-1].operation.name != "constant":
            count = int(self.of(arguments[-1]).item())
            written = make(term.operation, (*arguments[:-1], constant(count)), term.axes)
            # What was computed is known by its identity, which a term that is gone may leave to another.
            self.kept.append(written)
            return self.of(written)
        return super()._compute(term)

    def _entries(self, variable: Term, axes: Axes, *lead: Any) -> Any:
        if variable.operation.name == "field":
            return self._fields[variable.operation.detail][:, int(lead[0])]
        function = self.bound[variable]
        if not callable(function):
            return np.array([function])
        n, h = self.sizes.get(ACTIONS, 0), self.sizes.get(HORIZON, 0)
        lengths = {STATES: range(h), RESPONSES: [h]}
        places = [[s for length in lengths[axis] for s in itertools.product(range(n), repeat=length)]
                  if axis in lengths else range(self.sizes[axis]) for axis in axes]
        values = [function(*lead, *place) for place in itertools.product(*places)]
        return np.array(values, dtype=float).reshape(1, *map(len, places))

    def parts(self, term: Term) -> list[Any]:
        """Of all entries, one after another."""
        return [x for entry in self.entries(term).flat for x in entry]

    def entries(self, term: Term) -> np.ndarray:
        """The parts of each entry."""
        name, arguments, variable = term.operation.name, term.arguments, term.operation.detail
        if name == "implies":
            return joined(["->", *self.parts(arguments[0]), *self.parts(arguments[1])])
        if name in ("at_every_step", "for_every"):
            values = [2, 3] if name == "at_every_step" else [drawn if variable.axes else drawn()]
            inner = [self.having(variable, value) for value in values]
            sign = ["->"] * (len(arguments) - 1)
            return joined([x for part in inner for k, argument in enumerate(arguments)
                           for x in (*sign[k:k + 1], *part.parts(argument))])
        if name in ("has_derivative", "tends_to", "limsup_at_most"):
            word, places = LIMITS[name.replace("has_", "")]
            numbers = [self.of(argument) for argument in arguments[1:]]
            begin = numbers[0].item() if name == "has_derivative" else 0
            looked_at = [self.having(variable, begin + place).of(arguments[0]) for place in places]
            return beside(word, *looked_at, *numbers)
        if name in ("less", "less_equal", "equal"):
            sign = {"less": "<", "less_equal": "<=", "equal": "="}[name]
            return beside(sign, *map(self.of, arguments))
        if name == "logical_not":
            return each(lambda x: ["~", *x], self.entries(arguments[0]))
        if name in ("logical_and", "logical_or"):
            sign = {"logical_and": "/\\", "logical_or": "\\/"}[name]
            return each(lambda x, y: [sign, *x, *y], *map(self.entries, arguments))
        if name in ("all", "any"):
            rows = self.entries(arguments[0])
            found = np.empty(rows.shape[:-1], dtype=object)
            for place in np.ndindex(found.shape):
                found[place] = [x for entry in rows[place] for x in entry]
            return found
        return beside(None, self.of(term))


def joined(parts: list[Any]) -> np.ndarray:
    found = np.empty((1,), dtype=object)
    found[0] = parts
    return found


def each(combine: Any, *arrays: np.ndarray) -> np.ndarray:
    return np.frompyfunc(combine, len(arrays), 1)(*arrays)


def beside(word: str | None, *numbers: Any) -> np.ndarray:
    return each(lambda *entry: [*([word] if word else []), *entry], *map(np.asarray, numbers))


def beyond_of(
    text: str, many: int, statement: Statement, batch: Batch
) -> tuple[Interpreter, list[Node]]:
    """What the text says beyond the margin, and what reads it at an instance."""
    floats = as_floats(batch)
    definitions = {**library(), **Reader(text).definitions()}
    machine = Interpreter(
        definitions, given(statement.formula, statement.numbers(floats).sizes, vars(floats)))
    node = definitions["statement"]
    while node[0] == "forall" and all(kind is not None for _, kind in node[1]):
        node = node[2]
    while node[0] == "infix" and node[1] == "->":
        node = node[3]
    found = []
    for _ in range(many):
        assert node[:2] == ("infix", "/\\")
        node = node[3]
        found.append(node if len(found) == many - 1 else node[2])
    return machine, found


def junk_in(machine: Interpreter, node: Node) -> str:
    """A number that nobody means, where no premise before it fails; "" if there is none."""
    try:
        machine.proposition(node, {})
    except JunkError as junk:
        return f"a number that nobody means: {junk}"
    except BeyondNumbersError:
        pass
    return ""


def unlike(said: list[Any], meant: list[Any]) -> str:
    """How two lists of parts differ; empty if they do not."""
    if len(said) != len(meant):
        return f"{len(said)} parts, not {len(meant)}"
    for x, y in zip(said, meant, strict=True):
        if isinstance(x, str) or isinstance(y, str):
            if x != y:
                return f"{x}, not {y}"
        elif abs(float(x) - float(y)) > TOLERANCE * max(1.0, abs(float(y))):
            return f"{x}, not {y}"
    return ""


def differences_beyond(name: str, text: str) -> set[str]:
    claim, statement = STATEMENTS[name]
    found = set()
    for batch in instances_of(claim, statement):
        if not evaluate(statement, batch)[1][0]:
            continue
        floats = as_floats(batch)
        terms = Parts(vars(floats), float, statement.numbers(floats).sizes)
        with contextlib.suppress(UndefinedError), np.errstate(all="ignore"):
            machine, said = beyond_of(text, len(statement.formula.beyond), statement, batch)
            found |= {junk_in(machine, node) or unlike(machine.parts(node, {}), terms.parts(term))
                      for node, term in zip(said, statement.formula.beyond, strict=True)}
    return found


@pytest.mark.parametrize("name", one_in(6, PROVED_BEYOND))
def test_derivatives_limits_and_steps_are_those_that_were_meant(name):
    """A derivative in the wrong place, a limit of another sequence, a premise that was lost."""
    statement = STATEMENTS[name][1]
    assert differences_beyond(name, statement.formula.rocq(beside=False)) == {""}


@pytest.mark.parametrize(("claim_id", "was", "becomes"), [
    ("aepo.theorem-4.3b", "total_on n correct (fun a => softmax n logits a * centered",
     "sum n (fun a => softmax n logits a * centered"),
    ("extension.entropy-ceiling", "negb (correct a)", "correct a"),
    ("aent.proposition-2", "^ 2 / soft_visits", "^ 3 / soft_visits"),
    ("entropy-mechanism.theorem-2", "/ 4", "/ 5"),
    ("entropy-mechanism.theorem-2", "- learning_rate * - covariance", "+ learning_rate * - covariance"),
    ("extension.reward-improvement-temperature", "0 < temperature", "1 < temperature"),
    ("extension.sampled-group-variance", "3 with_mean_of_others", "3 with_group_mean"),
])
def test_a_changed_text_is_noticed(claim_id, was, becomes):
    """A comparison of nothing."""
    claim = all_claims()[claim_id]
    statement = dataclasses.replace(established(claim), beyond=None)
    text = statement.formula.rocq(beside=False)
    assert was in text
    said = {compared(text.replace(was, becomes), statement, batch)
            for batch in instances_of(claim, statement)}
    assert said - {"agrees", "outside", "undefined"}


def spread(i):
    """The largest logit less the smallest: 0 at the uniform policy."""
    return ar.largest(i.logits) - ar.smallest(i.logits)


NOT_UNIFORM = Condition(latex="the policy is not uniform",
                        value=lambda i: ar.less(0 * spread(i), spread(i)))


@pytest.mark.parametrize(("margin", "junk"), [
    (lambda i: (ar.largest(i.logits) - i.logits[..., 0]) / spread(i), "0.0 / 0"),
    (lambda i: 9 - np.log(spread(i)), "ln(0.0)"),
    (lambda i: 9 + np.sqrt(spread(i) - ar.constant(1, like=i.logits) / 10), "sqrt(-0.1)"),
])
def test_a_statement_that_leans_on_a_number_that_nobody_means_is_noticed(margin, junk):
    """0/0 and ln 0 at the uniform policy, where Rocq has 0 for both; a root of what is below zero."""
    planted = Statement(latex="planted", margin=margin, parameters=POLICIES.parameters)
    guarded = dataclasses.replace(planted, conditions=(NOT_UNIFORM,))

    def said(statement):
        text = statement.formula.rocq(beside=False)
        with np.errstate(all="ignore"):
            return [compared(text, statement, batch)
                    for batch in itertools.islice(POLICIES.enumerate(4), 4)]

    assert any(found == f"a number that nobody means: {junk}" for found in said(planted)), said(planted)
    assert set(said(guarded)) == {"agrees", "outside"}


@pytest.mark.parametrize(("name", "was", "becomes"), [
    ("extension.transient-collapse", "tends_to (fun", "limsup_at_most (fun"),
    ("extension.entropy-ceiling", "limsup_at_most (fun k => ", "limsup_at_most (fun k => - "),
    ("extension.entropy-ceiling", "0 < lowest", "lowest < 0"),
    ("aepo.theorem-4.3b", "(1) (scaled", "(2) (scaled"),
])
def test_a_changed_limit_is_noticed(name, was, becomes):
    text = STATEMENTS[name][1].formula.rocq(beside=False)
    assert was in text, text
    assert differences_beyond(name, text.replace(was, becomes)) - {""}


def test_brackets_bind_as_in_rocq():
    """A reader with other levels than the kernel would find the same mistake twice."""
    machine = Interpreter({}, {"x": 3.0})
    for text, value in (("- x ^ 2", -9.0), ("/ x * 6", 2.0), ("1 - x - 1", -3.0), ("6 / x / 2", 1.0),
                        ("- x + 1", -2.0), ("2 ^ 2 ^ 2", 16.0), ("(2 - 3)%nat", 0)):
        node = Reader(f"Definition it := {text}.").definitions()["it"]
        assert machine.of(node, {}) == value, text
