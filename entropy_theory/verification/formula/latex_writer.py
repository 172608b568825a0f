"""The writer of terms as LaTeX, and how it writes each operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction

from entropy_theory.verification.formula.definitions import Definition
from entropy_theory.verification.formula.indices import Index, aligned, picked
from entropy_theory.verification.formula.rocq_words import BEYOND
from entropy_theory.verification.formula.terms import (
    ACTIONS,
    PARAMETERS,
    PROMPTS,
    RESPONSES,
    STATES,
    STEPS,
    Axis,
    Term,
)

OR, AND, COMPARE, ADD, MULTIPLY, POWER, ATOM = range(-2, 5)
"""How tightly the outermost sign of a text binds."""
SYMBOLS: Mapping[str, str] = {
    "logits": "z", "correct": "A^{*}", "temperature": "T", "learning_rate": r"\eta", "step": "d",
    "reward": "r", "coefficient": r"\lambda", "advantage": "A", "probabilities": "p", "score": "s",
    "reference": r"z^{\mathrm{ref}}", "second_temperature": "T'",
    "temperature_high": r"T_{\mathrm{high}}",
    "temperature_low": r"T_{\mathrm{low}}", "grpo_weight": r"\kappa", "epsilon": r"\varepsilon",
    "values": "x", "mask": "M", "first_order": r"\Delta", "theta": r"\theta", "features": "F",
}
PLACES: Mapping[Axis, str] = {
    ACTIONS: "abcdefg", STATES: "suvw", RESPONSES: "yxw", PROMPTS: "qrk", PARAMETERS: "mo",
    STEPS: "ijl"}


class Writer:
    """Writes terms; it collects the definitions that they use."""

    def __init__(self) -> None:
        self.definitions: dict[str, Definition] = {}
        self._depth: Counter[Axis] = Counter()
        self._bound: dict[Term, str] = {}

    def text(self, term: Term, index: Index = (), level: int = OR) -> str:
        """The entry of a term at an index, in brackets if it binds less than ``level``."""
        text, own = self._entry(term, aligned(term, index))
        return rf"\left({text}\right)" if own < level else text

    def _entry(self, term: Term, index: Index) -> tuple[str, int]:
        name, detail, parts = term.operation.name, term.operation.detail, term.arguments
        given = [i for i in index if i is not None]
        if name == "constant":
            return number_text(detail)
        if name == "size":
            return {"actions": "n", "prompts": "|D|", "parameters": "d", "horizon": "h"}[
                detail.name], ATOM
        if name in ("field", "bound"):
            symbol = self._bound.get(term) or symbol_of(detail if name == "field" else detail[0])
            if term.kind == "mask" and given:
                return rf"{given[-1]} \in {symbol}", ADD
            return with_places(symbol, given), ATOM
        if name == "index":
            return self._entry(parts[0], picked(term, index))
        if name == "last_axis_first":
            return self._entry(parts[0], (*index[1:], index[0]))
        if name == "call":
            self._define(detail)
            inside = ", ".join(self.whole(part) for part in parts)
            return with_places(rf"\operatorname{{{word_of(detail.name)}}}({inside})", given), ATOM
        if name in _INFIX:
            sign, own, right = _INFIX[name]
            return f"{self.text(parts[0], index, own)} {sign} {self.text(parts[1], index, right)}", own
        if name in _RENDERED:
            return _RENDERED[name](self, term, index)
        if name in BEYOND:
            return self._beyond(term, index), ADD
        inside = ", ".join(self.whole(part) for part in parts)
        return with_places(rf"\operatorname{{{word_of(name)}}}({inside})", given), ATOM

    def whole(self, term: Term) -> str:
        """A term as a whole, without naming its entries where it has a name."""
        axes = [axis for axis in term.axes if axis is not None]
        if not axes:
            return self.text(term, (None,) * len(term.axes))
        if term.operation.name in ("field", "bound"):
            return self._bound.get(term) or symbol_of(
                term.operation.detail if term.operation.name == "field" else term.operation.detail[0])
        if term.operation.name in ("softmax", "log_softmax"):
            policy = self.policy(term)
            return policy if term.operation.name == "softmax" else rf"\log {policy}"
        if term.operation.name == "call":
            return self._entry(term, (None,) * len(term.axes))[0]
        with self.places(axes) as names:
            here = iter(names)
            index = tuple(None if axis is None else next(here) for axis in term.axes)
            return rf"\left({self.text(term, index)}\right)_{{{','.join(names)}}}"

    def policy(self, term: Term) -> str:
        """softmax(z) is pi, softmax(z / T) is pi^T."""
        logits, *temperature = term.arguments
        power = ""
        if temperature:
            power = f"^{{{self.text(temperature[0], (None,) * len(temperature[0].axes))}}}"
        if logits.operation.name == "field" and logits.operation.detail == "logits":
            return rf"\pi{power}"
        return rf"\pi{power}\!\left[{self.whole(logits)}\right]"

    @contextmanager
    def places(self, axes: list[Axis]) -> Iterator[list[str]]:
        """Names for places along axes, apart from those in use."""
        names = []
        for axis in axes:
            round_, place = divmod(self._depth[axis], len(PLACES[axis]))
            self._depth[axis] += 1
            names.append(PLACES[axis][place] + "'" * round_)
        yield names
        for axis in axes:
            self._depth[axis] -= 1

    def proposition(self, term: Term, sign: str | None) -> str:
        """The term beside zero, or true, at all its entries."""
        if term.operation.name == "several":
            return r",\quad ".join(self.proposition(part, sign) for part in term.arguments)
        axes = [axis for axis in term.axes if axis is not None]
        with self.places(axes) as names:
            here = iter(names)
            index = tuple(None if axis is None else next(here) for axis in term.axes)
            text = self.text(term, index) if sign is None else self._beside_zero(term, index, sign)
        return text + (rf" \quad\forall {', '.join(names)}" if names else "")

    def _beside_zero(self, term: Term, index: Index, sign: str) -> str:
        relation = {">": ">", ">=": r"\ge", "==": "="}[sign]
        if term.operation.name == "subtract":
            x, y = (self.text(part, aligned(part, index), ADD) for part in term.arguments)
            return f"{x} {relation} {y}"
        if term.operation.name == "negative":
            turned = {">": "<", ">=": r"\le", "==": "="}[sign]
            return f"{self.text(term.arguments[0], index, ADD)} {turned} 0"
        return f"{self.text(term, index, ADD)} {relation} 0"

    @contextmanager
    def binding(self, *variables: Term) -> Iterator[list[str]]:
        """Symbols for bound variables."""
        for variable in variables:
            self._bound[variable] = symbol_of(variable.operation.detail[0])
        yield [self._bound[variable] for variable in variables]
        for variable in variables:
            del self._bound[variable]

    def _beyond(self, term: Term, index: Index) -> str:
        name, variable, parts = term.operation.name, term.operation.detail, term.arguments
        if name == "implies":
            return rf"{self.proposition(parts[0], None)} \Rightarrow {self.proposition(parts[1], None)}"
        with self.binding(variable) as (symbol,):
            if name == "has_derivative":
                body, at, value = (self.text(part, aligned(part, index)) for part in parts)
                return (rf"\left.\frac{{\mathrm d}}{{\mathrm d {symbol}}}\left[{body}\right]"
                        rf"\right|_{{{symbol} = {at}}} = {value}")
            if name in ("at_every_step", "for_every"):
                lines = r" \Rightarrow ".join(self.proposition(part, None) for part in parts)
                return rf"{lines} \quad\forall {symbol}"
            head = r"\limsup" if name == "limsup_at_most" else r"\lim"
            relation = r"\le" if name == "limsup_at_most" else "="
            return (rf"{head}_{{{symbol}\to\infty}} {self.text(parts[0], (), MULTIPLY)} {relation} "
                    rf"{self.text(parts[1])}")

    def _define(self, defined: Definition) -> None:
        self.definitions.setdefault(defined.name, defined)


def symbol_of(name: str) -> str:
    """The symbol of a parameter, or its name."""
    if name in SYMBOLS:
        return SYMBOLS[name]
    escaped = name.replace("_", r"\_")
    return name if len(name) == 1 else rf"\mathit{{{escaped}}}"


def word_of(name: str) -> str:
    """The name of a function, with thin spaces."""
    return name.replace("_", r"\,")


def with_places(text: str, places: list[str]) -> str:
    """A text with the places of an entry below it."""
    written = [r"\varnothing" if p == "nil" else p.removesuffix("%nat") for p in places]
    return f"{text}_{{{','.join(written)}}}" if written else text


def number_text(value: Fraction | bool) -> tuple[str, int]:
    """A constant, and how tightly its outermost sign binds."""
    if isinstance(value, bool):
        return (r"\mathrm{true}" if value else r"\mathrm{false}"), ATOM
    if value.denominator == 1:
        return str(value.numerator), ATOM if value >= 0 else ADD
    sign = "-" if value < 0 else ""
    return rf"{sign}\tfrac{{{abs(value.numerator)}}}{{{value.denominator}}}", ATOM if value > 0 else ADD


Rendered = Callable[[Writer, Term, Index], tuple[str, int]]


def _function(head: str) -> Rendered:
    def render(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
        return head + r"\left(" + ", ".join(
            writer.text(a, aligned(a, index)) for a in term.arguments) + r"\right)", ATOM

    return render


def _fraction(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    x, y = (writer.text(a, aligned(a, index)) for a in term.arguments)
    return rf"\frac{{{x}}}{{{y}}}", ATOM


def _between(left: str, right: str) -> Rendered:
    def render(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
        return left + writer.text(term.arguments[0], index) + right, ATOM

    return render


def _negative(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    return "-" + writer.text(term.arguments[0], index, MULTIPLY), ADD


def _power(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    return f"{writer.text(term.arguments[0], index, ATOM)}^{{{term.operation.detail}}}", POWER


def _exp(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    return f"e^{{{writer.text(term.arguments[0], index)}}}", POWER


def _one_more(head: str, tail: str = "") -> Rendered:
    def render(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
        return head.format(writer.text(term.arguments[0], index, MULTIPLY)) + tail, ADD if tail else ATOM

    return render


def _cases(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    condition, yes, no = (writer.text(a, aligned(a, index)) for a in term.arguments)
    if no == "0":
        chosen = writer.text(term.arguments[1], aligned(term.arguments[1], index), MULTIPLY)
        if chosen == "1":
            return rf"\mathbf 1\!\left[{condition}\right]", ATOM
        return rf"\mathbf 1\!\left[{condition}\right]\,{chosen}", MULTIPLY
    return rf"{yes}\ \mathrm{{if}}\ {condition},\ \mathrm{{else}}\ {no}", COMPARE


def _not(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    return rf"\neg\left({writer.text(term.arguments[0], index)}\right)", ATOM


def _over(sign: str) -> Rendered:
    """A sum, maximum or quantifier over the last axis of the first argument, or over a set."""

    def render(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
        values, *mask = term.arguments
        axis = (values.axes or mask[0].axes)[-1]
        if axis is None:
            return writer.text(values, (*index, None)), MULTIPLY
        with writer.places([axis]) as (place,):
            inside = writer.text(values, aligned(values, (*index, place)), MULTIPLY)
            where = place if not mask else writer.text(mask[0], aligned(mask[0], (*index, place)))
        return rf"{sign}_{{{where}}} {inside}", ADD

    return render


def _mean(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    p, values = term.arguments
    with writer.places([values.axes[-1] or ACTIONS]) as (place,):
        inside = writer.text(values, aligned(values, (*index, place)))
    drawn = rf"{place} \sim " if p.operation.name == "response_probabilities" else ""
    return rf"\mathbb E_{{{drawn}{_under(writer, p)}}}\!\left[{inside}\right]", ATOM


def _under(writer: Writer, p: Term) -> str:
    """The distribution of an expectation; of responses it is that of the policy that makes them."""
    of = p.arguments[0] if p.operation.name == "response_probabilities" else p
    return writer.policy(of) if of.operation.name == "softmax" else writer.whole(p)


def _centered(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    p, values = term.arguments
    return (rf"{writer.text(values, aligned(values, index), ADD)} - "
            rf"\mathbb E_{{{_under(writer, p)}}} {writer.whole(values)}", ADD)


def _covariance(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    p, x, y = term.arguments
    return (rf"\operatorname{{Cov}}_{{{_under(writer, p)}}}\!\left({writer.whole(x)}, "
            rf"{writer.whole(y)}\right)", ATOM)


def _softmax(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    given = [i for i in index if i is not None]
    text = with_places(writer.policy(term), given)
    return (text, ATOM) if term.operation.name == "softmax" else (rf"\log {text}", MULTIPLY)


def _entropy(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    return rf"H({with_places(writer.policy(term), [i for i in index if i is not None])})", ATOM


def _entropy_change(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    z, d = (writer.whole(a) for a in term.arguments)
    return rf"\Delta H\!\left({z} \to {z} + {d}\right)", ATOM


def _same_action(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    *_, first, second = index
    places = (str(place).removesuffix("%nat") for place in (first, second))
    return " = ".join(places), COMPARE


def _running(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    return rf"\text{{no stop in }} {index[-1]}", COMPARE


def _ending(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    state, token = index[-2:]
    return rf"{token} \text{{ ends the response at }} {state}", COMPARE


def _log_growth(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    logits, step = (writer.whole(a) for a in term.arguments)
    text = rf"\Delta\log\pi\!\left[{logits} \to {logits} + {step}\right]"
    return with_places(text, [i for i in index[-1:] if i is not None]), ATOM


def _run(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    step, places, part = term.operation.detail
    many = len(places)
    with writer.binding(step, *places) as (_, *names):
        bodies = [writer.whole(body) for body in term.arguments[:many]]
    starts = [writer.whole(start) for start in term.arguments[many:-1]]

    def together(parts: list[str]) -> str:
        return parts[0] if many == 1 else rf"\left({', '.join(parts)}\right)"

    text = (rf"\operatorname{{run}}_{{{writer.text(term.arguments[-1])}}}\!"
            rf"\left({together(names)} \mapsto {together(bodies)};\ {together(starts)}\right)")
    given = [i for i in index if i is not None]
    return with_places(text, [names[part], *given] if many > 1 else given), ATOM


def _after(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    return f"{writer.text(term.arguments[0], index, ADD)} + 1", ADD


def _entry_of(writer: Writer, term: Term, index: Index) -> tuple[str, int]:
    schedule, step = term.arguments
    places = [place for place in index if place is not None]
    return with_places(writer.whole(schedule), [writer.text(step), *places]), ATOM


_INFIX: Mapping[str, tuple[str, int, int]] = {
    "add": ("+", ADD, ADD), "subtract": ("-", ADD, MULTIPLY), "multiply": (r"\,", MULTIPLY, MULTIPLY),
    "less": ("<", COMPARE, ADD), "less_equal": (r"\le", COMPARE, ADD), "equal": ("=", COMPARE, ADD),
    "logical_and": (r"\wedge", AND, AND), "logical_or": (r"\vee", OR, OR),
}
_RENDERED: Mapping[str, Rendered] = {
    "divide": _fraction, "negative": _negative, "power": _power, "exp": _exp,
    "absolute": _between(r"\left|", r"\right|"), "sqrt": _between(r"\sqrt{", "}"),
    "log": _function(r"\log"), "log1p": _one_more(r"\log\left(1 + {}\right)"),
    "expm1": _one_more("e^{{{}}}", " - 1"), "maximum": _function(r"\max"),
    "minimum": _function(r"\min"), "where": _cases, "logical_not": _not, "total": _over(r"\sum"),
    "largest": _over(r"\max"), "smallest": _over(r"\min"), "all": _over(r"\forall"),
    "any": _over(r"\exists"), "mean": _mean, "centered": _centered, "covariance": _covariance,
    "softmax": _softmax, "log_softmax": _softmax, "entropy": _entropy,
    "entropy_change": _entropy_change, "binary_entropy": _function("h"), "run": _run,
    "entry": _entry_of, "after": _after, "number_of": _between("", ""),
    "same_action": _same_action, "log_growth": _log_growth,
    "sign": _function(r"\operatorname{sign}"), "running": _running, "ending": _ending,
}
