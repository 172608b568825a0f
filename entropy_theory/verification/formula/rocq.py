"""Terms in the language of the proof kernel, with the names of formal/trusted/Definitions.v."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from entropy_theory.verification.formula.definitions import Definition
from entropy_theory.verification.formula.indices import (
    Index,
    aligned,
    aligned_lead,
    lead_of,
    picked,
)
from entropy_theory.verification.formula.rocq_operations import ENTRIES
from entropy_theory.verification.formula.rocq_words import (
    APPLY,
    ATOM,
    BEYOND,
    BINDERS,
    INSIDE,
    PRODUCT,
    SUMS,
    constant_entry,
    identifier,
    is_closed,
    parameters_of,
    sizes_of,
    type_of,
)
from entropy_theory.verification.formula.terms import (
    ACTIONS,
    RESPONSES,
    STATES,
    Axes,
    Axis,
    Term,
    UntraceableError,
)


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
            names = {"actions": "n", "horizon": "h"}
            return f"INR {names.get(detail.name, detail.name)}", APPLY
        if name == "index":
            return self._entry(term.arguments[0], picked(term, index))
        if name == "last_axis_first":
            return self._entry(term.arguments[0], (*index[1:], index[0]))
        if name == "number_of":
            return f"INR {self.atom(term.arguments[0])}", APPLY
        if name in ENTRIES:
            return ENTRIES[name](self, term, index)
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
            sizes = sizes_of(detail.parameters, detail.body)
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
        with self.binding(step, *places) as (number, *names):
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
            written = ["sum_along", self.function(parts[0], aligned_lead(parts[0], lead))]
        elif name == "edge_reward":
            written = ["edge_reward h", self.function(parts[1], aligned_lead(parts[1], lead, 1))]
        elif name in ("soft_value_at", "soft_policy"):
            _, reward, coefficient = parts
            of_responses = self.function(reward, aligned_lead(reward, lead, 1))
            written = [f"{name} n h", self.atom(coefficient, aligned(coefficient, lead)),
                       f"(edge_reward h {of_responses})"]
        elif name == "sum_through":
            written = ["total_through n h", self.function(parts[1], aligned_lead(parts[1], lead, 1))]
        else:
            written = [_TREE_HEADS[name], self._policy(parts[0], lead)]
            written += [self.function(edge, aligned_lead(edge, lead)) for edge in parts[1:]]
        return " ".join([*written, *map(str, places)])

    def _policy(self, probabilities: Term, lead: Index) -> str:
        """The logits of a policy that is given by its probabilities."""
        if probabilities.operation.name != "softmax":
            raise UntraceableError("a policy on a tree that is not a softmax of logits")
        logits, *temperature = probabilities.arguments
        text = self.function(logits, aligned_lead(logits, lead))
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
                row = f"(tempered {self.atom(temperature, aligned(temperature, lead))} {row})"
            written.append(row)
        return ["n", *written]

    # ------------------------------------------------------------ functions of an entry

    def row(self, term: Term, lead: Index) -> str:
        """A term as a function of its last axis."""
        if not term.axes or term.axes[-1] is None:
            return f"(fun _ => {self.number(term, aligned(term, (*lead, None)))})"
        return self._abstracted(term, lead, (term.axes[-1],))

    def function(self, term: Term, lead: Index) -> str:
        """A term as a function of all axes that ``lead`` does not fix."""
        free = tuple(axis for axis in term.axes[len(lead):] if axis is not None)
        return self._abstracted(term, lead, free) if free else self.atom(term, lead)

    def _abstracted(self, term: Term, lead: Index, free: tuple[Axis, ...]) -> str:
        names = [self._bind(axis) for axis in free]
        here = iter(names)
        lead = aligned(term, (*lead, *[None] * len(free)))[: len(term.axes) - len(free)]
        index = (*lead, *(None if axis is None else next(here) for axis in term.axes[len(lead):]))
        text = self.number(term, index)
        for axis in free:
            self._depth[axis] -= 1
        tail = " " + " ".join(names)
        head = text.removesuffix(tail)
        applied = term.operation.name in _FUNCTIONS or term.operation.name in _TREES
        unused = not any(re.search(rf"\b{name}\b", head) for name in names)
        if applied and head != text and unused and is_closed(head):
            return head if re.fullmatch(r"[\w.]+", head) else f"({head})"
        return f"(fun {' '.join(names)} => {text})"

    def _bind(self, axis: Axis) -> str:
        round_, place = divmod(self._depth[axis], len(BINDERS[axis]))
        self._depth[axis] += 1
        return BINDERS[axis][place] + (str(round_) if round_ else "")

    def responses(self, probabilities: Term, index: Index) -> str:
        """The tree and the policy whose responses have these probabilities."""
        lead = lead_of(probabilities, index)
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
        at = [aligned(part, index) for part in parts]
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
            return self.holds(parts[0], picked(term, index))
        if name == "constant":
            return "True" if term.operation.detail else "False"
        return f"{self.number(term, index, APPLY)} = true"

    def for_all(self, term: Term, sign: str | None) -> str:
        """The term beside zero, or true, at all its entries."""
        with self.places(term.axes) as (index, inside):
            return inside + (
                self.holds(term, index) if sign is None else self._beside_zero(term, index, sign))

    @contextmanager
    def places(self, axes: Axes) -> Iterator[tuple[Index, str]]:
        """A name for an entry along each axis, and that something holds for all of them."""
        index = tuple(None if axis is None else self._bind(axis) for axis in axes)
        named = [(axis, k) for axis, k in zip(axes, index, strict=True) if axis is not None]
        yield index, "".join(f"forall {k}, {INSIDE[axis].format(k)} -> " for axis, k in named)
        for axis, _ in named:
            self._depth[axis] -= 1

    def _beside_zero(self, term: Term, index: Index, sign: str) -> str:
        """x - y >= 0 is written y <= x."""
        if term.operation.name == "subtract":
            x, y = (self.number(t, aligned(t, index), 69) for t in term.arguments)
        else:
            x, y = self.number(term, index, 69), "0"
        return f"{x} = {y}" if sign == "==" else f"{y} {'<' if sign == '>' else '<='} {x}"

    def atom_of(self, term: Term) -> str:
        """A parameter or a bound variable by its name."""
        if term.operation.name == "field":
            return identifier(term.operation.detail)
        if term.operation.name == "bound":
            return self._bound[term]
        raise UntraceableError("a schedule that is not a parameter")

    @contextmanager
    def binding(self, *variables: Term) -> Iterator[list[str]]:
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
        with self.binding(variable) as (text,):
            if name == "has_derivative":
                body, at, value = (self.number(t, aligned(t, index)) for t in parts)
                return f"derivative (fun {text} => {body}) ({at}) ({value})"
            if name == "at_every_step":
                return f"forall {text} : nat, {self.for_all(parts[0], None)}"
            if name == "for_every":
                kind = type_of(variable.axes, "real")
                lines = [f"({self.for_all(part, None)})" for part in parts]
                return f"forall {text} : {kind}, " + " -> ".join(lines)
            body, limit = self.number(parts[0]), self.number(parts[1])
            return f"{name} (fun {text} => {body}) ({limit})"

    def met(self, term: Term) -> str:
        """That the premises within a proposition of `limits` can be met; empty where it has none."""
        name, variable, parts = term.operation.name, term.operation.detail, term.arguments
        if name == "implies":
            said = [f"({self.for_all(parts[0], None)})", self.met(parts[1])]
            return " /\\ ".join(filter(None, said))
        if name not in ("for_every", "at_every_step"):
            return ""
        with self.binding(variable) as (text,):
            kind = type_of(variable.axes, "real") if name == "for_every" else "nat"
            said = [*(f"({self.for_all(part, None)})" for part in parts[:-1]), self.met(parts[-1])]
        inner = " /\\ ".join(filter(None, said))
        return f"(exists {text} : {kind}, {inner})" if inner else ""

    def _define(self, defined: Definition) -> None:
        if self.definitions.get(defined.name, defined) != defined:
            raise UntraceableError(f"two functions are called {defined.name}")
        if defined.name not in self.definitions:
            self.fresh().number_of(defined.body)
            self.definitions[defined.name] = defined

    def fresh(self) -> Writer:
        """A writer of the same definitions, with all names of bound variables."""
        found = Writer()
        found.definitions = self.definitions
        return found

    def number_of(self, body: Term) -> str:
        """A definition's body, as a function of its axes."""
        return self.function(body, ())


def definition_text(defined: Definition, definitions: dict[str, Definition]) -> str:
    """A definition as the kernel reads it."""
    writer = Writer()
    writer.definitions = definitions
    body = writer.number_of(defined.body)
    if body.startswith("(") and body.endswith(")") and is_closed(body[1:-1]):
        body = body[1:-1]
    result = type_of(defined.body.axes, defined.body.kind)
    # A set's star before a bracket would end the comment.
    doc = defined.doc.replace("(*", "( *").replace("*)", "* )")
    parameters = " ".join(parameters_of(defined.parameters, defined.body))
    return f"(** {doc} *)\nDefinition {defined.name} {parameters} : {result} :=\n  {body}."


_FUNCTIONS = ("field", "bound", "call", "run", "entry", "softmax", "log_softmax", "centered",
              "entropy_gradient")
"""Operations that are written as a function applied to its places."""
_TREES: Mapping[str, tuple[Axis, ...]] = {
    "visitation": (STATES,), "response_probabilities": (RESPONSES,), "sum_along": (RESPONSES,),
    "edge_reward": (STATES, ACTIONS), "sum_through": (STATES, ACTIONS), "state_values": (STATES,),
    "action_values": (STATES, ACTIONS),
    "soft_value_at": (STATES,), "soft_policy": (STATES, ACTIONS),
}
_TREE_HEADS = {"visitation": "probability n", "response_probabilities": "probability n",
               "state_values": "value_at n h", "action_values": "action_value n h"}
_SCALARS = {"entropy": "entropy", "entropy_change": "entropy_change"}
"""One number for each row."""
_VECTORS = {"softmax": "softmax", "log_softmax": "log_softmax", "centered": "centered",
            "entropy_gradient": "entropy_gradient"}
"""A number for each entry of a row, computed from the whole row."""
