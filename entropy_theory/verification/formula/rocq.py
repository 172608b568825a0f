"""Terms in the language of the proof kernel, with the names of formal/library/Definitions.v."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction

from entropy_theory.verification.formula.terms import (
    ACTIONS,
    PROMPTS,
    RESPONSES,
    STATES,
    Axes,
    Axis,
    Definition,
    Term,
    UntraceableError,
    elementwise,
)

STEPS, TIME = Axis("steps"), Axis("time")

Index = tuple[str | None, ...]
"""The name of an entry along each axis; None where the axis has length one."""

SUM, PRODUCT, POWER, APPLY, ATOM = 50, 40, 30, 10, 0
"""Levels of the notations in Rocq; arguments of applications are atoms."""
BINDERS: Mapping[Axis, str] = {
    ACTIONS: "abcdefg", STATES: "suvw", RESPONSES: "yxw", PROMPTS: "qrk", STEPS: "ijl"}
SUMS: Mapping[Axis, str] = {
    ACTIONS: "sum n", STATES: "sum_states n h", RESPONSES: "sum_responses n h", PROMPTS: "sum prompts",
}
TYPES: Mapping[Axis, str] = {
    ACTIONS: "nat", STATES: "state", RESPONSES: "state", PROMPTS: "nat", STEPS: "nat",
                                TIME: "R"}
INSIDE: Mapping[Axis, str] = {
    ACTIONS: "({0} < n)%nat", STATES: "state_of n h {0}", RESPONSES: "response_of n h {0}",
    PROMPTS: "({0} < prompts)%nat",
}
BEYOND = ("has_derivative", "limsup_at_most", "tends_to", "for_every", "at_every_step", "implies")
RESERVED = {"n", "h", "prompts", "sum", "mean", "exp", "ln", "entropy", "covariance", "softmax"}


def type_of(axes: Axes, kind: str) -> str:
    """The type of a parameter or of a definition's result."""
    named = tuple(axis for axis in axes if axis is not None)
    if kind == "real" and named == (ACTIONS,):
        return "vector"
    if kind == "mask" and named == (ACTIONS,):
        return "mask"
    if kind == "real" and named == (STATES, ACTIONS):
        return "state -> vector"
    return " -> ".join([*(TYPES[axis] for axis in named), "R" if kind == "real" else "bool"])


class Writer:
    """Writes terms; it collects the definitions that they use, and invents names of bound variables."""

    def __init__(self) -> None:
        self.definitions: dict[str, Definition] = {}
        self._depth: Counter[Axis] = Counter()
        self._bound: dict[Term, str] = {}

    # ------------------------------------------------------------ single numbers

    def number(self, term: Term, index: Index = (), level: int = 200) -> str:
        """The entry of a term at an index, in brackets if it binds less than ``level``."""
        text, own = self._entry(term, index)
        return f"({text})" if own > level else text

    def atom(self, term: Term, index: Index = ()) -> str:
        """An entry as an argument of a function."""
        return self.number(term, index, level=ATOM)

    def _entry(self, term: Term, index: Index) -> tuple[str, int]:
        name, detail = term.operation.name, term.operation.detail
        if name == "constant":
            return constant_entry(detail)
        if name == "size":
            return {"actions": "INR n", "prompts": "INR prompts", "horizon": "INR h"}[detail.name], APPLY
        if name == "index":
            return self._entry(term.arguments[0], _picked(term, index))
        if name == "number_of":
            return f"INR {self.atom(term.arguments[0])}", APPLY
        if name in _ENTRIES:
            return _ENTRIES[name](self, term, index)
        if name in _TREES:
            return self._of_tree(term, index), APPLY
        if name in _SCALARS:
            lead = index
            return " ".join([_SCALARS[name], *self._arguments(term, lead)]), APPLY
        places = [i for i, axis in zip(index, term.axes, strict=True) if axis is not None]
        head, atomic = self._head(term, places)
        return head, 0 if atomic else APPLY

    def _head(self, term: Term, places: list[str | None]) -> tuple[str, bool]:
        """A function applied to as many of its places as are given."""
        name, detail = term.operation.name, term.operation.detail
        given = [str(place) for place in places]
        if name == "field":
            return " ".join([identifier(detail), *given]), not given
        if name == "bound":
            return " ".join([self._bound[term], *given]), not given
        if name == "run":
            return " ".join([self._run(term), *given]), False
        if name == "after":
            return f"S {self.atom(term.arguments[0])}", False
        if name == "entry":
            schedule, place = term.arguments
            return " ".join([self.atom_of(schedule), self.atom(place), *given]), False
        if name == "call":
            self._define(detail)
            arguments = [self.function(a, ()) for a in term.arguments]
            sizes = _sizes(detail.parameters, detail.body)
            return " ".join([detail.name, *sizes, *arguments, *given]), False
        if name in _VECTORS:
            # The leading axes, if any, choose the row; the last place is the action.
            arguments = self._arguments(term, tuple(places[:-1]))
            return " ".join([_VECTORS[name], *arguments, *given[-1:]]), False
        raise UntraceableError(f"'{name}' has no form for the proof kernel")

    def _run(self, term: Term) -> str:
        """A run, or the part of it that the term is."""
        step, places, part = term.operation.detail
        many = len(places)
        bodies, starts, count = term.arguments[:many], term.arguments[many:-1], term.arguments[-1]
        with self._binding(step, *places) as (number, *names):
            written = [self.function(body, ()) for body in bodies]
        begun, at = [self.function(start, ()) for start in starts], self.atom(count)
        if many == 1:
            return f"run (fun {number} {names[0]} => {written[0]}) {begun[0]} {at}"
        if many > 2:
            raise UntraceableError("a run of more than two parts has no form for the proof kernel")
        kind = " * ".join(type_of(place.axes, "real") for place in places)
        whole = (f"run (fun {number} (parts : {kind}) => let ({', '.join(names)}) := parts in "
                 f"({', '.join(written)})) ({', '.join(begun)}) {at}")
        return f"{('fst', 'snd')[part]} ({whole})"

    def _of_tree(self, term: Term, index: Index) -> str:
        """A function of states or responses of a token tree, at one of them."""
        name, parts = term.operation.name, term.arguments
        lead = index[: len(index) - len(_TREES[name])]
        places = index[len(lead):]
        if name == "sum_along":
            written = ["sum_along", self.function(parts[0], _aligned_lead(parts[0], lead))]
        elif name == "edge_reward":
            written = ["edge_reward h", self.function(parts[1], _aligned_lead(parts[1], lead, 1))]
        elif name in ("soft_value_at", "soft_policy"):
            _, reward, coefficient = parts
            of_responses = self.function(reward, _aligned_lead(reward, lead, 1))
            written = [f"{name} n h", self.atom(coefficient, _aligned(coefficient, lead)),
                       f"(edge_reward h {of_responses})"]
        elif name == "sum_through":
            written = ["total_through n h", self.function(parts[1], _aligned_lead(parts[1], lead, 1))]
        else:
            written = [_TREE_HEADS[name], self._policy(parts[0], lead)]
            written += [self.function(edge, _aligned_lead(edge, lead)) for edge in parts[1:]]
        return " ".join([*written, *map(str, places)])

    def _policy(self, probabilities: Term, lead: Index) -> str:
        """The logits of a policy that is given by its probabilities."""
        if probabilities.operation.name != "softmax":
            raise UntraceableError("a policy on a tree that is no softmax of logits")
        logits, *temperature = probabilities.arguments
        text = self.function(logits, _aligned_lead(logits, lead))
        if temperature:
            text = f"(fun s => tempered {self.atom(temperature[0])} ({text} s))"
        return text

    def _arguments(self, term: Term, lead: Index) -> list[str]:
        """Arguments of a function of whole rows, in the order of its definition, with n first."""
        names = term.operation.detail
        given = dict(zip(names, term.arguments, strict=True))
        temperature = given.pop("temperature", None)
        written = []
        for name, argument in given.items():
            row = self.row(argument, lead)
            if name == "logits" and temperature is not None:
                row = f"(tempered {self.atom(temperature, _aligned(temperature, lead))} {row})"
            written.append(row)
        return ["n", *written]

    # ------------------------------------------------------------ functions of an entry

    def row(self, term: Term, lead: Index) -> str:
        """A term as a function of its last axis."""
        if not term.axes or term.axes[-1] is None:
            return f"(fun _ => {self.number(term, _aligned(term, (*lead, None)))})"
        return self._abstracted(term, lead, (term.axes[-1],))

    def function(self, term: Term, lead: Index) -> str:
        """A term as a function of all axes that ``lead`` does not fix."""
        free = tuple(axis for axis in term.axes[len(lead):] if axis is not None)
        return self._abstracted(term, lead, free) if free else self.atom(term, lead)

    def _abstracted(self, term: Term, lead: Index, free: tuple[Axis, ...]) -> str:
        names = [self._bind(axis) for axis in free]
        here = iter(names)
        lead = _aligned(term, (*lead, *[None] * len(free)))[: len(term.axes) - len(free)]
        index = (*lead, *(None if axis is None else next(here) for axis in term.axes[len(lead):]))
        text = self.number(term, index)
        for axis in free:
            self._depth[axis] -= 1
        tail = " " + " ".join(names)
        head = text.removesuffix(tail)
        applied = term.operation.name in _FUNCTIONS or term.operation.name in _TREES
        unused = not any(re.search(rf"\b{name}\b", head) for name in names)
        if applied and head != text and unused and _closed(head):
            return head if re.fullmatch(r"[\w.]+", head) else f"({head})"
        return f"(fun {' '.join(names)} => {text})"

    def _bind(self, axis: Axis) -> str:
        round_, place = divmod(self._depth[axis], len(BINDERS[axis]))
        self._depth[axis] += 1
        return BINDERS[axis][place] + (str(round_) if round_ else "")

    def responses(self, probabilities: Term, index: Index) -> str:
        """The tree and the policy whose responses have these probabilities."""
        lead = _lead(probabilities, index)
        return f"n h {self._policy(probabilities.arguments[0], lead)}"

    def summed(self, term: Term, index: Index) -> str:
        """The sum over the last axis."""
        axis = term.axes[-1]
        if axis is None:
            return self.number(term, (*index, None), PRODUCT)
        return f"{SUMS[axis]} {self.row(term, index)}"

    # ------------------------------------------------------------ propositions

    def holds(self, term: Term, index: Index = ()) -> str:
        """A truth value as a proposition."""
        name, parts = term.operation.name, term.arguments
        if name in BEYOND:
            return self._beyond(term, index)
        at = [_aligned(part, index) for part in parts]
        if name == "logical_not":
            return f"~ ({self.holds(parts[0], at[0])})"
        if name in ("logical_and", "logical_or"):
            sign = "/\\" if name == "logical_and" else "\\/"
            return f"({self.holds(parts[0], at[0])}) {sign} ({self.holds(parts[1], at[1])})"
        if name in ("less", "less_equal", "equal"):
            sign = {"less": "<", "less_equal": "<=", "equal": "="}[name]
            return f"{self.number(parts[0], at[0], 69)} {sign} {self.number(parts[1], at[1], 69)}"
        if name in ("all", "any"):
            axis = parts[0].axes[-1]
            assert axis is not None
            place = self._bind(axis)
            inside, body = INSIDE[axis].format(place), self.holds(parts[0], (*index, place))
            self._depth[axis] -= 1
            if name == "all":
                return f"forall {place}, {inside} -> {body}"
            return f"exists {place}, {inside} /\\ ({body})"
        if name == "index":
            return self.holds(parts[0], _picked(term, index))
        if name == "constant":
            return "True" if term.operation.detail else "False"
        return f"{self.number(term, index, APPLY)} = true"

    def for_all(self, term: Term, sign: str | None) -> str:
        """The term beside zero, or true, at all its entries."""
        axes = [axis for axis in term.axes if axis is not None]
        names = [self._bind(axis) for axis in axes]
        here = iter(names)
        index = tuple(None if axis is None else next(here) for axis in term.axes)
        body = self.holds(term, index) if sign is None else self._beside_zero(term, index, sign)
        for axis in axes:
            self._depth[axis] -= 1
        inside = "".join(f"forall {k}, {INSIDE[axis].format(k)} -> "
                         for axis, k in zip(axes, names, strict=True))
        return inside + body

    def _beside_zero(self, term: Term, index: Index, sign: str) -> str:
        """x - y >= 0 is written y <= x."""
        if term.operation.name == "subtract":
            x, y = (self.number(t, _aligned(t, index), 69) for t in term.arguments)
        else:
            x, y = self.number(term, index, 69), "0"
        return f"{x} = {y}" if sign == "==" else f"{y} {'<' if sign == '>' else '<='} {x}"

    def atom_of(self, term: Term) -> str:
        """A parameter or a bound variable by its name."""
        if term.operation.name == "field":
            return identifier(term.operation.detail)
        if term.operation.name == "bound":
            return self._bound[term]
        raise UntraceableError("a schedule that is no parameter")

    @contextmanager
    def _binding(self, *variables: Term) -> Iterator[list[str]]:
        """Names for bound variables, apart from those in use."""
        names = []
        for variable in variables:
            wanted, taken, number = variable.operation.detail[0], set(self._bound.values()), 1
            name = wanted
            while name in taken:
                number += 1
                name = f"{wanted}{number}"
            self._bound[variable] = name
            names.append(name)
        yield names
        for variable in variables:
            del self._bound[variable]

    def _beyond(self, term: Term, index: Index) -> str:
        """A proposition of `limits`."""
        name, variable, parts = term.operation.name, term.operation.detail, term.arguments
        if name == "implies":
            return f"({self.for_all(parts[0], None)}) -> {self.for_all(parts[1], None)}"
        with self._binding(variable) as (text,):
            if name == "has_derivative":
                body, at, value = (self.number(t, _aligned(t, index)) for t in parts)
                return f"derivative (fun {text} => {body}) ({at}) ({value})"
            if name == "at_every_step":
                return f"forall {text} : nat, {self.for_all(parts[0], None)}"
            if name == "for_every":
                kind = type_of(variable.axes, "real")
                lines = [f"({self.for_all(part, None)})" for part in parts]
                return f"forall {text} : {kind}, " + " -> ".join(lines)
            body, limit = self.number(parts[0]), self.number(parts[1])
            return f"{name} (fun {text} => {body}) ({limit})"

    def _define(self, defined: Definition) -> None:
        if self.definitions.get(defined.name, defined) != defined:
            raise UntraceableError(f"two functions are called {defined.name}")
        if defined.name not in self.definitions:
            inner = Writer()
            inner.definitions = self.definitions
            inner.number_of(defined.body)
            self.definitions[defined.name] = defined

    def number_of(self, body: Term) -> str:
        """A definition's body, as a function of its axes."""
        return self.function(body, ())


def definition_text(defined: Definition, definitions: dict[str, Definition]) -> str:
    """A definition as the kernel reads it."""
    writer = Writer()
    writer.definitions = definitions
    sizes = _sizes(defined.parameters, defined.body)
    parameters = [f"({size} : nat)" for size in sizes]
    parameters += [f"({identifier(p.operation.detail)} : {type_of(p.axes, p.kind)})"
                   for p in defined.parameters]
    body = writer.number_of(defined.body)
    if body.startswith("(") and body.endswith(")") and _closed(body[1:-1]):
        body = body[1:-1]
    result = type_of(defined.body.axes, defined.body.kind)
    # A set's star before a bracket would end the comment.
    doc = defined.doc.replace("(*", "( *").replace("*)", "* )")
    return f"(** {doc} *)\nDefinition {defined.name} {' '.join(parameters)} : {result} :=\n  {body}."


def length(term: Term) -> float:
    """The number of symbols of a term that is written out."""
    known: dict[int, float] = {}

    def of(t: Term) -> float:
        if id(t) not in known:
            known[id(t)] = 1 + sum(map(of, t.arguments))
        return known[id(t)]

    return of(term)


def axes_of(terms: Iterable[Term]) -> set[Axis]:
    """All axes that terms have or speak of, arguments included."""
    seen: set[int] = set()
    found: set[Axis] = set()
    left = list(terms)
    while left:
        term = left.pop()
        if id(term) in seen:
            continue
        seen.add(id(term))
        found |= {axis for axis in term.axes if axis is not None}
        if term.operation.name == "size":
            found.add(term.operation.detail)
        left += term.arguments
        if term.operation.name == "call":
            left += [term.operation.detail.body, *term.operation.detail.parameters]
    return found


def size_names(axes: set[Axis]) -> list[str]:
    """The names of the numbers of actions, of tokens in a response, and of prompts."""
    names = ["n"] if axes & {ACTIONS, STATES, RESPONSES} else []
    names += ["h"] if axes & {STATES, RESPONSES} else []
    return names + (["prompts"] if PROMPTS in axes else [])


def _sizes(parameters: Iterable[Term], body: Term) -> list[str]:
    return size_names(axes_of([*parameters, body]))


def identifier(name: str) -> str:
    """A parameter's name, apart from the names of the library."""
    return f"{name}_" if name in RESERVED else name


def _closed(text: str) -> bool:
    """Whether every bracket is closed in the text, and none before it is opened."""
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return depth == 0


def constant_text(value: Fraction) -> str:
    """A rational number."""
    return constant_entry(value)[0]


def constant_entry(value: Fraction | bool) -> tuple[str, int]:
    """A constant, and how tightly its outermost sign binds."""
    if isinstance(value, bool):
        return ("true" if value else "false"), ATOM
    if value.denominator == 1:
        return (str(value.numerator), ATOM) if value >= 0 else (f"- {-value.numerator}", 35)
    sign = "- " if value < 0 else ""
    return f"{sign}{abs(value.numerator)} / {value.denominator}", PRODUCT


def _aligned(term: Term, index: Index) -> Index:
    """The part of an index that a term of fewer axes sees."""
    kept = index[len(index) - len(term.axes):] if term.axes else ()
    kept = (*[None] * (len(term.axes) - len(kept)), *kept)
    return tuple(None if axis is None else place
                 for axis, place in zip(term.axes, kept, strict=True))


def _picked(view: Term, index: Index) -> Index:
    """The index into an array of which a view is indexed."""
    left: Iterator[str | None] = iter(index)
    whole = view.arguments[0].axes
    axes = iter(whole)
    found: list[str | None] = []
    for entry in view.operation.detail:
        if entry is None:
            next(left)
            continue
        axis = next(axes)
        if entry == ":":
            found.append(next(left))
        elif axis is None:
            found.append(None)
        elif axis is STATES and entry == 0:
            # State 0 is the one without tokens.
            found.append("nil")
        elif isinstance(entry, int) and entry >= 0 and axis in (ACTIONS, PROMPTS):
            found.append(f"{entry}%nat")
        else:
            raise UntraceableError(f"the entry {entry}")
    return (*found, *left)


def _infix(sign: str, level: int) -> Callable[[Writer, Term, Index], tuple[str, int]]:
    def write(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
        left, right = term.arguments
        x = writer.number(left, _aligned(left, index), level)
        y = writer.number(right, _aligned(right, index), level - 1)
        return f"{x} {sign} {y}", level

    return write


def _applied(head: str) -> Callable[[Writer, Term, Index], tuple[str, int]]:
    def write(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
        arguments = [writer.atom(a, _aligned(a, index)) for a in term.arguments]
        return " ".join([head, *arguments]), APPLY

    return write


def _negative(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    return "- " + writer.number(term.arguments[0], index, 34), 35


def _power(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    base, exponent = writer.number(term.arguments[0], index, POWER - 1), term.operation.detail
    return (f"{base} ^ {exponent}", POWER) if exponent >= 0 else (f"/ {base} ^ {-exponent}", 35)


def _log1p(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    return f"ln (1 + {writer.number(term.arguments[0], index, SUM - 1)})", APPLY


def _expm1(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    return f"exp {writer.atom(term.arguments[0], index)} - 1", SUM


def _identity(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    return f"if Nat.eqb {index[-2]} {index[-1]} then 1 else 0", 200


def _conditional(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    condition, yes, no = (
        writer.number(a, _aligned(a, index)) for a in term.arguments)
    return f"if {condition} then {yes} else {no}", 200


def _total(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    if len(term.arguments) == 2:
        values, mask = term.arguments
        if (values.axes or mask.axes)[-1] is not ACTIONS:
            return writer.summed(elementwise("where", mask, values, 0 * values), index), APPLY
        index_values, index_mask = (_aligned(a, (*index, None))[:-1] for a in (values, mask))
        return f"total_on n {writer.row(mask, index_mask)} {writer.row(values, index_values)}", APPLY
    return writer.summed(term.arguments[0], index), APPLY


def _mean(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    p, values = term.arguments
    if p.axes[-1] is RESPONSES and p.operation.name == "response_probabilities":
        row = writer.row(values, _lead(values, index))
        return f"mean_responses {writer.responses(p, index)} {row}", APPLY
    if p.axes[-1] is not ACTIONS:
        return writer.summed(p * values, index), APPLY
    return f"mean n {writer.row(p, _lead(p, index))} {writer.row(values, _lead(values, index))}", APPLY


def _covariance(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    p, *values = term.arguments
    rows = " ".join(writer.row(x, _lead(x, index)) for x in values)
    if p.axes[-1] is RESPONSES and p.operation.name == "response_probabilities":
        return f"covariance_responses {writer.responses(p, index)} {rows}", APPLY
    if p.axes[-1] is not ACTIONS:
        raise UntraceableError("a covariance over something other than actions or responses of a policy")
    return f"covariance n {writer.row(p, _lead(p, index))} {rows}", APPLY


def _response_entropy(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    logits = term.arguments[0]
    return f"response_entropy n h {writer.function(logits, _aligned_lead(logits, index))}", APPLY


def _lead(term: Term, index: Index) -> Index:
    return _aligned(term, (*index, None))[:-1]


def _extremum(name: str) -> Callable[[Writer, Term, Index], tuple[str, int]]:
    def write(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
        values = term.arguments[0]
        wholes: dict[Axis | None, str] = {
            STATES: "largest_states n h", RESPONSES: "largest_responses n h"}
        whole = wholes.get(values.axes[-1])
        if whole and len(term.arguments) == 1 and name == "largest":
            return f"{whole} {writer.row(values, _lead(values, index))}", APPLY
        if whole and len(term.arguments) == 1:
            return f"- {whole} {writer.row(elementwise('negative', values), _lead(values, index))}", 35
        if values.axes[-1] is not ACTIONS:
            raise UntraceableError(f"the {name} of something other than actions, states or responses")
        written = [writer.row(t, _lead(t, index)) for t in reversed(term.arguments)]
        head = name if len(written) == 1 else f"{name}_on"
        return " ".join([head, "n", *written]), APPLY

    return write


def _reduced_truth(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    mask = term.arguments[0]
    if mask.axes[-1] is not ACTIONS:
        raise UntraceableError(f"'{term.operation.name}' over something other than actions")
    row = writer.row(mask, _lead(mask, index))
    if term.operation.name == "any":
        return f"some_on n {row}", APPLY
    return f"negb (some_on n (complement {row}))", APPLY


def _same_action(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    *_, a, b = index
    return f"Nat.eqb {a} {b}", APPLY


def _row_of_logits(head: str) -> Callable[[Writer, Term, Index], tuple[str, int]]:
    """What a function of the whole row, and of numbers of the instance, says of one action."""

    def write(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
        logits, *numbers = term.arguments
        written = [writer.row(logits, _lead(logits, index[:-1])), *map(writer.atom, numbers)]
        return " ".join([head.format(*written), str(index[-1])]), APPLY

    return write


def _log_growth(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    logits, step = (writer.row(t, _lead(t, index[:-1])) for t in term.arguments)
    after = f"log_softmax n (moved_by {logits} {step}) {index[-1]}"
    return f"{after} - log_softmax n {logits} {index[-1]}", SUM


def _running(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    """No token of the state is token 0, which ends a response."""
    return f"running (fun _ b => Nat.eqb b 0) {index[-1]}", APPLY


def _ending(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    state, token = index[-2:]
    last = f"orb (Nat.eqb {token} 0) (Nat.eqb (S (length {state})) h)"
    return f"andb (running (fun _ b => Nat.eqb b 0) {state}) ({last})", APPLY


def _natural(writer: Writer, term: Term) -> str:
    """A natural number: a constant, or a bound step."""
    if term.operation.name == "constant":
        return str(int(term.operation.detail))
    return writer.atom_of(term)


def _group_step(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    logits, correct, size, ddof = term.arguments
    numbers = " ".join(_natural(writer, t) for t in (size, ddof))
    rows = " ".join(writer.row(t, _lead(t, index[:-1])) for t in (logits, correct))
    return f"expected_group_step n {numbers} {rows} {index[-1]}", APPLY


def _group_gain(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    right, wrong, size, ddof = term.arguments
    numbers = " ".join(_natural(writer, t) for t in (size, ddof))
    return f"group_gain {numbers} {writer.atom(right, index)} {writer.atom(wrong, index)}", APPLY


def _aligned_lead(term: Term, lead: Index, own: int = 2) -> Index:
    """The part of a leading index (of prompts) that an argument with ``own`` axes of its own has."""
    return lead[len(lead) - (len(term.axes) - own):] if len(term.axes) > own else ()


_FUNCTIONS = ("field", "bound", "call", "run", "entry", "softmax", "log_softmax", "centered",
              "entropy_gradient")
"""What is written as a function applied to its places."""
_TREES: Mapping[str, tuple[Axis, ...]] = {
    "visitation": (STATES,), "response_probabilities": (RESPONSES,), "sum_along": (RESPONSES,),
    "edge_reward": (STATES, ACTIONS), "sum_through": (STATES, ACTIONS), "state_values": (STATES,),
    "action_values": (STATES, ACTIONS),
    "soft_value_at": (STATES,), "soft_policy": (STATES, ACTIONS),
}
_TREE_HEADS = {"visitation": "probability n", "response_probabilities": "probability n",
               "state_values": "value_at n h", "action_values": "action_value n h"}
_ENTRIES: Mapping[str, Callable[[Writer, Term, Index], tuple[str, int]]] = {
    "add": _infix("+", SUM), "subtract": _infix("-", SUM), "multiply": _infix("*", PRODUCT),
    "divide": _infix("/", PRODUCT), "negative": _negative, "power": _power,
    "absolute": _applied("Rabs"), "exp": _applied("exp"), "log": _applied("ln"), "log1p": _log1p,
    "expm1": _expm1, "sqrt": _applied("sqrt"), "maximum": _applied("Rmax"),
    "minimum": _applied("Rmin"), "where": _conditional, "identity": _identity, "less": _applied("less"),
    "less_equal": _applied("less_equal"), "equal": _applied("equal"), "logical_and": _applied("andb"),
    "logical_or": _applied("orb"), "logical_not": _applied("negb"), "total": _total, "mean": _mean,
    "largest": _extremum("largest"), "smallest": _extremum("smallest"), "all": _reduced_truth,
    "any": _reduced_truth, "covariance": _covariance, "response_entropy": _response_entropy,
    "sign": _applied("sign_of"), "same_action": _same_action,
    "is_likeliest": _row_of_logits("Nat.eqb (likeliest n {0})"),
    "kept_tokens": _row_of_logits("kept_tokens n {0} {1}"), "log_growth": _log_growth,
    "expected_group_step": _group_step, "group_gain": _group_gain,
    "binary_entropy": _applied("binary_entropy"), "running": _running, "ending": _ending,
}
_SCALARS = {"entropy": "entropy", "entropy_change": "entropy_change"}
"""One number for each row."""
_VECTORS = {"softmax": "softmax", "log_softmax": "log_softmax", "centered": "centered",
            "entropy_gradient": "entropy_gradient"}
"""A number for each entry of a row, computed from the whole row."""
