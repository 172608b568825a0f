"""Reads the kernel's language and computes what it says, in floats.

What is proved is the text that `formula.rocq` writes, over the definitions in `formal/trusted`. This
reader knows neither of the two: it parses both as Rocq does (levels of the notations included) and
evaluates them at an instance, so that a statement which says something else than the formula that is
searched gives other numbers.

Natural numbers are ints, and subtraction of them stops at 0; real numbers are floats; lists and pairs
are tuples; functions take one argument. Where Rocq has a number that nobody means (1 / 0, ``ln`` of what
is not positive, ``sqrt`` of what is negative) there is none here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

Environment = Mapping[str, Any]
Node = tuple[Any, ...]
TOKEN = re.compile(r"""
    (?P<number>\d+) | (?P<name>[A-Za-z_][\w']*(?:\.[A-Za-z_][\w']*)*) |
    (?P<sign>:=|=>|<->|->|<=|<>|/\\|\\/|::|\+\+|&&|\|\||%nat|[-+*/^~()\[\]{},:|.;<=])
""", re.VERBOSE)
RIGHT = {"^": 30, "::": 60, "++": 60, "/\\": 80, "\\/": 85, "<->": 95, "->": 99}
LEFT = {"*": 40, "/": 40, "&&": 40, "+": 50, "-": 50, "||": 50, "<": 70, "<=": 70, "=": 70,
        "<>": 70}
ENDS = {")", "]", "}", ",", ":=", "=>", "|", ".", ";", ":", "then", "else", "end", "with", "in", "%nat"}


class BeyondNumbersError(Exception):
    """A proposition that no finite computation decides."""


class UndefinedError(Exception):
    """A number that floats do not have: an overflow."""


class JunkError(UndefinedError):
    """A number that nobody means: a division by zero, a logarithm of what is not positive."""


@dataclass(frozen=True, slots=True)
class Proposition:
    """Whether it holds, and by how much: negative where it does not."""

    holds: bool
    margin: float


class Reader:
    """A parser of Gallina, as far as definitions and statements use it."""

    def __init__(self, text: str) -> None:
        self._text = text = _without_comments(text)
        self._places = [m.span() for m in TOKEN.finditer(text)]
        self._tokens = [text[first:last] for first, last in self._places]
        left = TOKEN.sub("", text).strip()
        if left:
            raise SyntaxError(f"no token of Gallina: {left[:40]!r}")
        self._place = 0
        self.spans: dict[int, tuple[Node, int, int]] = {}

    def text(self, node: Node) -> str:
        """An expression as it was read, in one line."""
        _, first, last = self.spans[id(node)]
        return " ".join(self._text[self._places[first][0]: self._places[last - 1][1]].split())

    def _spanned(self, first: int, node: Node) -> Node:
        self.spans.setdefault(id(node), (node, first, self._place))
        return node

    def definitions(self) -> dict[str, Node]:
        """Every definition by name, as a function of its parameters."""
        found = {}
        while self._place < len(self._tokens):
            word = self._next()
            if word not in ("Definition", "Fixpoint"):
                while self._next() != ".":
                    pass
                continue
            name = self._next()
            parameters = self._binders(":=", ":")
            if self._peek() == ":":
                self._next()
                self._expression(200)
            self._expect(":=")
            body = self._expression(200)
            self._expect(".")
            found[name] = ("fun", parameters, body) if parameters else body
        return found

    def _peek(self) -> str:
        return self._tokens[self._place] if self._place < len(self._tokens) else "."

    def _next(self) -> str:
        self._place += 1
        return self._tokens[self._place - 1]

    def _expect(self, token: str) -> None:
        if (found := self._next()) != token:
            before = " ".join(self._tokens[self._place - 12: self._place])
            raise SyntaxError(f"'{token}' expected, not '{found}', after: {before}")

    def _binders(self, *ends: str) -> list[tuple[str, Node | None]]:
        """(name, type if given) of each bound variable; what is implicit is left out."""
        found: list[tuple[str, Node | None]] = []
        while self._peek() not in ends:
            opening = self._peek()
            if opening == ":":
                self._next()
                kind = self._expression(200)
                return [(name, kind) for name, _ in found]
            if opening not in ("(", "{"):
                found.append((self._next(), None))
                continue
            self._next()
            names = []
            while self._peek() != ":":
                names.append(self._next())
            self._expect(":")
            kind = self._expression(200)
            self._expect({"(": ")", "{": "}"}[opening])
            if opening == "(":
                found += [(name, kind) for name in names]
        return found

    def _quantified(self, word: str) -> Node:
        binders = self._binders(",")
        self._expect(",")
        return (word, binders, self._expression(200))

    def _expression(self, level: int) -> Node:
        first = self._place
        left = self._spanned(first, self._prefix(level))
        while True:
            sign = self._peek()
            own = RIGHT.get(sign) or LEFT.get(sign)
            if own is None or own > level:
                return left
            self._next()
            # Comparisons do not associate at all, which their level below gives too.
            right = self._expression(own if sign in RIGHT else own - 1)
            left = self._spanned(first, ("infix", sign, left, right))

    def _prefix(self, level: int) -> Node:
        token = self._peek()
        if token in ("fun", "forall", "exists", "let", "if", "match"):
            self._next()
            return self._closed(token)
        for sign, own in (("-", 35), ("/", 35), ("~", 75)):
            if token == sign:
                if own > level:
                    raise SyntaxError(f"'{sign}' binds less than what stands before it")
                self._next()
                return ("prefix", sign, self._expression(own))
        head = self._atom()
        arguments = []
        while self._peek() not in ENDS and self._peek() not in RIGHT and self._peek() not in LEFT:
            arguments.append(self._atom())
        return ("apply", head, arguments) if arguments else head

    def _closed(self, word: str) -> Node:
        if word == "fun":
            binders = self._binders("=>")
            self._expect("=>")
            return ("fun", binders, self._expression(200))
        if word in ("forall", "exists"):
            return self._quantified(word)
        if word == "if":
            condition = self._expression(200)
            self._expect("then")
            yes = self._expression(200)
            self._expect("else")
            return ("if", condition, yes, self._expression(200))
        if word == "let":
            pattern = self._atom()
            parameters = self._binders(":=", ":")
            self._expect(":=")
            value = self._expression(200)
            self._expect("in")
            value = ("fun", parameters, value) if parameters else value
            return ("match", value, [(pattern, self._expression(200))])
        value, cases = self._expression(200), []
        self._expect("with")
        while self._peek() != "end":
            if self._peek() == "|":
                self._next()
            pattern = self._expression(200)
            self._expect("=>")
            cases.append((pattern, self._expression(200)))
        self._expect("end")
        return ("match", value, cases)

    def _atom(self) -> Node:
        first = self._place
        return self._spanned(first, self._of_atom())

    def _of_atom(self) -> Node:
        token = self._next()
        if token.isdigit():
            found: Node = ("number", int(token))
        elif token == "[":
            found = ("list", self._separated(";", "]"))
        elif token == "(":
            parts = self._separated(",", ")")
            found = parts[0] if len(parts) == 1 else ("list", parts)
        elif re.match(r"[A-Za-z_]", token):
            found = ("name", token)
        else:
            raise SyntaxError(f"unexpected '{token}'")
        if self._peek() == "%nat":
            self._next()
            found = self._natural(found)
            self.spans.pop(id(found), None)  # it stands with its brackets
        return found

    def _natural(self, node: Any) -> Any:
        """The same with the numbers in it natural ones, read at the same places."""
        if not isinstance(node, (tuple, list)):
            return node
        found = (("natural", *node[1:]) if node[:1] == ("number",)
                 else type(node)(map(self._natural, node)))
        if id(node) in self.spans:
            self.spans[id(found)] = (found, *self.spans[id(node)][1:])
        return found

    def _separated(self, sign: str, end: str) -> list[Node]:
        parts = []
        while self._peek() != end:
            parts.append(self._expression(200))
            if self._peek() == sign:
                self._next()
        self._expect(end)
        return parts


def _without_comments(text: str) -> str:
    while (start := text.rfind("(*")) >= 0:
        end = text.index("*)", start)
        text = text[:start] + " " + text[end + 2:]
    return text


# ---------------------------------------------------------------- values


class Function:
    """A function of one argument, which remembers what it returned."""

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self._compute, self._known = compute, dict[tuple[type, Any], Any]()

    def __call__(self, argument: Any) -> Any:
        key = (type(argument), argument)
        if key not in self._known:
            self._known[key] = self._compute(argument)
        return self._known[key]


def curried(compute: Callable[..., Any], count: int, given: tuple[Any, ...] = ()) -> Any:
    """A function of ``count`` arguments, given one by one."""
    if len(given) == count:
        return compute(*given)
    return Function(lambda argument: curried(compute, count, (*given, argument)))


ROUNDING = 1e-12
"""What is no further below zero than this, under a root, is zero but for rounding."""


def _ln(x: float) -> float:
    if x <= 0:
        raise JunkError(f"ln({x + 0.0})")
    return math.log(x)


def _sqrt(x: float) -> float:
    if x < -ROUNDING:
        raise JunkError(f"sqrt({x})")
    return math.sqrt(max(x, 0.0))


def _exp(x: float) -> float:
    if x > 700:
        raise UndefinedError(f"exp({x})")
    return math.exp(x)


def drawn(*places: Any) -> float:
    """A number between 1 and 2 for what a proposition binds, at these places: numbers or states."""
    flat = [float(x) for place in places for x in (place if isinstance(place, tuple) else (place,))]
    return 1.5 + 0.5 * math.sin(len(flat) + sum((k + 2) * x for k, x in enumerate(flat)))


LIBRARY: Mapping[str, Any] = {
    "true": True, "false": False, "O": 0, "S": Function(lambda k: int(k) + 1),
    "nil": (), "INR": Function(float), "IZR": Function(float), "Int_part": Function(math.floor),
    "exp": Function(_exp), "ln": Function(_ln), "sqrt": Function(_sqrt),
    "Rabs": Function(abs), "Rmax": curried(max, 2), "Rmin": curried(min, 2),
    "Rlt_dec": curried(lambda x, y: x < y, 2), "Rle_dec": curried(lambda x, y: x <= y, 2),
    "Req_EM_T": curried(lambda x, y: x == y, 2), "negb": Function(lambda x: not x),
    "andb": curried(lambda x, y: x and y, 2), "orb": curried(lambda x, y: x or y, 2),
    "Nat.eqb": curried(lambda x, y: x == y, 2), "Nat.ltb": curried(lambda x, y: x < y, 2),
    "Nat.eq_dec": None, "list_eq_dec": curried(lambda _, x, y: x == y, 3),
    "length": Function(len), "pred": Function(lambda k: max(k - 1, 0)),
    "fst": Function(lambda pair: pair[0]), "snd": Function(lambda pair: pair[1]),
    "Binomial.C": curried(lambda n, k: float(math.comb(int(n), int(k))), 2),
    "True": Proposition(True, math.inf), "False": Proposition(False, -math.inf),
}
LIMITS = {"derivative": ("derivative", (0.0, 0.1, 0.3)), "tends_to": ("tends_to", (0, 1, 2)),
          "limsup_at_most": ("limsup_at_most", (0, 1, 2))}
"""At what numbers the function within is looked at: beside a derivative's point, from 0 on of a limit."""
ARGUMENTS = {"vector": 1, "mask": 1, "policy": 2, "nat": 0, "R": 0, "state": 0}


def reals(x: Any, y: Any) -> bool:
    return not isinstance(x, int) and not isinstance(y, int)


def computed(sign: str, x: Any, y: Any) -> Any:
    """An infix sign applied to two values."""
    if sign in ("::", "++"):
        return ((x,) if sign == "::" else x) + y
    if sign == "&&":
        return x and y
    if sign == "||":
        return x or y
    if sign == "^":
        return x ** int(y)
    if sign == "/":
        if y == 0:
            raise JunkError(f"{x + 0.0} / 0")  # which zero it is, -0.0 too, is chance
        return x / y
    if sign == "*":
        return x * y
    if sign == "+":
        return x + y
    return x - y if reals(x, y) else max(int(x) - int(y), 0)


def compared(sign: str, x: Any, y: Any) -> Proposition:
    """A comparison of two values."""
    if isinstance(x, (bool, tuple)) or isinstance(y, (bool, tuple)):
        return Proposition(x == y, math.inf if x == y else -math.inf)
    margin = -abs(x - y) if sign == "=" else float(y - x)
    return Proposition(margin > 0 if sign == "<" else margin >= 0, margin)


class Interpreter:
    """Definitions and an instance's parameters, and what expressions are there.

    Args:
        definitions: by name, as read.
        parameters: the instance's values by name.
    """

    def __init__(self, definitions: Mapping[str, Node], parameters: Environment) -> None:
        self._definitions, self._known = definitions, {**LIBRARY, **parameters}

    def of(self, node: Node, local: Environment) -> Any:
        """The value of an expression."""
        kind, *parts = node
        if kind == "number":
            return float(parts[0])
        if kind == "natural":
            return parts[0]
        if kind == "name":
            return self._named(parts[0], local)
        if kind == "apply":
            value = self.of(parts[0], local)
            for argument in parts[1]:
                value = value(self.of(argument, local))
            return value
        if kind == "fun":
            return self._function(parts[0], parts[1], local)
        if kind == "if":
            condition = self.of(parts[0], local)
            assert isinstance(condition, bool)
            return self.of(parts[1] if condition else parts[2], local)
        if kind == "match":
            return self._matched(self.of(parts[0], local), parts[1], local)
        if kind == "list":
            return tuple(self.of(part, local) for part in parts[0])
        if kind == "prefix" and parts[0] != "~":
            value = self.of(parts[1], local)
            return -value if parts[0] == "-" else computed("/", 1.0, value)
        if kind == "infix" and parts[0] not in ("<", "<=", "=", "/\\", "\\/", "->"):
            return computed(parts[0], self.of(parts[1], local), self.of(parts[2], local))
        return self.proposition(node, local)

    def _named(self, name: str, local: Environment) -> Any:
        if name in local:
            return local[name]
        if name not in self._known or (name in self._definitions and name in LIBRARY):
            self._known[name] = self.of(self._definitions[name], {})
        return self._known[name]

    def _function(self, binders: list[tuple[str, Any]], body: Node, local: Environment) -> Function:
        (name, _), *rest = binders

        def compute(argument: Any) -> Any:
            inner = {**local, name: argument}
            return self._function(rest, body, inner) if rest else self.of(body, inner)

        return Function(compute)

    def _matched(self, value: Any, cases: list[tuple[Node, Node]], local: Environment) -> Any:
        for pattern, body in cases:
            if (bound := _bound(pattern, value)) is not None:
                return self.of(body, {**local, **bound})
        raise TypeError(f"no case for {value}")

    # ------------------------------------------------------------ propositions

    def proposition(self, node: Node, local: Environment) -> Proposition:
        """Whether it holds.

        Raises:
            BeyondNumbersError: no finite computation decides it.
        """
        kind, *parts = node
        if kind == "infix" and parts[0] in ("<", "<=", "="):
            x, y = (self.of(part, local) for part in parts[1:])
            return compared(parts[0], x, y)
        if kind == "infix" and parts[0] in ("/\\", "\\/"):
            x = self.proposition(parts[1], local)
            try:
                y = self.proposition(parts[2], local)
            except JunkError:
                if x.holds == (parts[0] == "/\\"):  # else what stands first decides
                    raise
                return x
            holds = (x.holds and y.holds) if parts[0] == "/\\" else (x.holds or y.holds)
            return Proposition(holds, (min if parts[0] == "/\\" else max)(x.margin, y.margin))
        if kind == "infix" and parts[0] == "->":
            premise = self.proposition(parts[1], local)
            return self.proposition(parts[2], local) if premise.holds else LIBRARY["True"]
        if kind == "prefix":
            x = self.proposition(parts[1], local)
            return Proposition(not x.holds, -x.margin)
        if kind in ("forall", "exists"):
            return self._over(kind, parts[0], parts[1], local)
        if kind == "apply" and parts[0][1] in LIMITS:
            raise BeyondNumbersError(parts[0][1])
        found = self.of(node, local)
        if not isinstance(found, Proposition):
            raise TypeError(f"no proposition: {node}")
        return found

    def parts(self, node: Node, local: Environment) -> list[Any]:
        """What a proposition consists of, in order: its words, and the numbers beside them.

        Numbers are put in for what is bound; a function within a limit is looked at in a few places.
        """
        kind, *parts = node
        if kind == "infix" and parts[0] in ("/\\", "\\/", "->"):
            return [parts[0], *self.parts(parts[1], local), *self.parts(parts[2], local)]
        if kind == "prefix":
            return ["~", *self.parts(parts[1], local)]
        if kind in ("forall", "exists"):
            (name, type_), *rest = parts[0]
            inner: Node = (kind, rest, parts[1]) if rest else parts[1]
            if type_ is None:
                body, values = inner[3], list(self._domain(name, inner[2], local))
            else:
                body, values = inner, [2, 3] if type_ == ("name", "nat") else [
                    curried(drawn, arguments(type_))]
            return [x for value in values for x in self.parts(body, {**local, name: value})]
        if kind == "apply" and parts[0][0] == "name" and parts[0][1] in LIMITS:
            word, places = LIMITS[parts[0][1]]
            function, *numbers = (self.of(argument, local) for argument in parts[1])
            begin = numbers[0] if word == "derivative" else 0
            return [word, *(function(begin + place) for place in places), *numbers]
        if kind == "infix":
            x, y = (self.of(part, local) for part in parts[1:])
            return [bool(x)] if parts[2] == ("name", "true") else [parts[0], x, y]
        return [self.of(node, local)]

    def _over(self, kind: str, binders: list[tuple[str, Any]], body: Node, local: Environment) -> Any:
        (name, type_), *rest = binders
        inner: Node = (kind, rest, body) if rest else body
        sign = "->" if kind == "forall" else "/\\"
        # "(a < n)%nat" stands before the body, and says which values are meant.
        if type_ is not None or inner[:2] != ("infix", sign):
            raise BeyondNumbersError(name)
        found = [self.proposition(inner[3], {**local, name: value})
                 for value in self._domain(name, inner[2], local)]
        if kind == "forall":
            return Proposition(all(p.holds for p in found),
                               min((p.margin for p in found), default=math.inf))
        return Proposition(any(p.holds for p in found),
                           max((p.margin for p in found), default=-math.inf))

    def _domain(self, name: str, inside: Node, local: Environment) -> Iterator[Any]:
        if inside[:3] == ("infix", "<", ("name", name)):
            return iter(range(self.of(inside[3], local)))
        if inside[0] == "apply" and inside[1] in (("name", "state_of"), ("name", "response_of")):
            n, h = (self.of(argument, local) for argument in inside[2][:2])
            lengths = range(h) if inside[1] == ("name", "state_of") else [h]
            return (s for length in lengths for s in product(range(n), repeat=length))
        raise BeyondNumbersError(name)


def _bound(pattern: Node, value: Any) -> dict[str, Any] | None:
    """What a pattern's names stand for, or None where it does not match."""
    if pattern == ("name", "O"):
        return {} if value == 0 else None
    if pattern[0] == "apply":
        return _bound(pattern[2][0], int(value) - 1) if value > 0 else None
    if pattern == ("list", []):
        return {} if value == () else None
    if pattern[0] == "infix":
        if not value:
            return None
        first, rest = _bound(pattern[2], value[0]), _bound(pattern[3], value[1:])
        return {**(first or {}), **(rest or {})}
    if pattern[0] == "list":
        pairs = [_bound(p, v) for p, v in zip(pattern[1], value, strict=True)]
        return {name: v for pair in pairs if pair for name, v in pair.items()}
    return {pattern[1]: value}


def premises(node: Node) -> tuple[list[Node], list[Node]]:
    """(hypotheses, conclusions) of a statement whose parameters are given."""
    while node[0] == "forall" and all(kind is not None for _, kind in node[1]):
        node = node[2]
    hypotheses = []
    while node[0] == "infix" and node[1] == "->":
        hypotheses.append(node[2])
        node = node[3]
    conclusions = [node]
    while conclusions[-1][:2] == ("infix", "/\\"):
        _, _, first, rest = conclusions.pop()
        conclusions += [first, rest]
    return hypotheses, conclusions


def arguments(type_: Node) -> int:
    """How many arguments a function of this type takes."""
    if type_[:2] == ("infix", "->"):
        return 1 + arguments(type_[3])
    return ARGUMENTS[type_[1]]


def signs(conclusion: Node) -> set[str]:
    """The comparisons that a conclusion consists of, whatever they are supposed for."""
    kind, *parts = conclusion
    if kind == "forall":
        return signs(parts[1])
    if kind == "infix" and parts[0] == "->":
        return signs(parts[2])
    if kind == "infix" and parts[0] in ("/\\", "\\/"):
        return signs(parts[1]) | signs(parts[2])
    return {parts[0]} if kind == "infix" else {kind}
