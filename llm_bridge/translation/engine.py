"""An engine's options as a table, read and written both ways.

An `Engine` lists the options that decide loss and samples. `read` makes a `Recipe` of given options, and
`write` makes options of a recipe. Reading the written options back finds the parts that the engine
cannot express.
"""

from __future__ import annotations

import dataclasses
import functools
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from entropy_theory import update_rules
from entropy_theory.support.user_errors import lookup
from entropy_theory.update_rules import UpdateRule
from llm_bridge.translation.recipe import SETTINGS, Recipe, UntranslatableError, differences, parts


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """One decision, by the values of one or more options."""

    by: tuple[str, ...]
    """The options that decide."""
    of: Mapping[tuple[Any, ...], Any]
    """The decision by their values. Of several values with one decision the first is written."""

    def read(self, options: Options) -> Any:
        """Return the decision; UntranslatableError where no rule here does what the values ask for."""
        values = tuple(options[name] for name in self.by)
        if values in self.of:
            return self.of[values]
        for place, (name, value) in enumerate(zip(self.by, values, strict=True)):
            known = list(dict.fromkeys(each[place] for each in self.of))
            if value not in known:
                raise UntranslatableError(
                    f"{options.engine.name}: no rule here does what {name}={value} does (rules do what "
                    f"{', '.join(map(str, known))} do)")
        given = " with ".join(f"{name}={value}" for name, value in zip(self.by, values, strict=True))
        raise UntranslatableError(f"{options.engine.name}: no rule here does what {given} does")

    def write(self, decision: Any, made: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a decision that go with those made already; none where there are none."""
        for values, found in self.of.items():
            options = dict(zip(self.by, values, strict=True))
            agrees = all(made.get(name, value) == value for name, value in options.items())
            if found == decision and agrees:
                return options
        return {}


@dataclass(frozen=True, slots=True)
class Linear:
    """An option of a rule that is ``factor`` times the engine's plus ``shift``."""

    option: str
    factor: float = 1.0
    shift: float = 0.0
    unset: Any = None
    """The rule's value where the engine's is None."""

    def read(self, options: Options) -> Any:
        """Return the rule's value."""
        value = options[self.option]
        if value is None:
            return self.unset
        return value if (self.factor, self.shift) == (1, 0) else self.factor * value + self.shift

    def write(self, value: Any) -> Any:
        """Return the engine's value."""
        if value == self.unset:
            return None
        return value if (self.factor, self.shift) == (1, 0) else (value - self.shift) / self.factor


@dataclass(frozen=True, kw_only=True, slots=True)
class Loss:
    """A rule with the engine's options for its own."""

    rule: str
    options: Mapping[str, str | Linear] = field(default_factory=dict)
    """The engine's options by the rule's."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Options of the rule that are always so in the engine."""
    chosen: tuple[tuple[str, Choice], ...] = ()
    """Options of the rule that the values of others decide."""
    base: Loss | None = None
    """The rule that it modifies, for one such as clip-cov."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Term:
    """A modifier that options switch on: a KL penalty, an entropy bonus, a sampler correction."""

    rule: str
    on: Mapping[str, Any] = field(default_factory=dict)
    """The values of options with which it acts."""
    positive: str = ""
    """An option that must not be 0 or None for it to act."""
    absent: str = ""
    """An option that must be 0 or None for it to act."""
    options: Mapping[str, str | Linear] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    chosen: tuple[tuple[str, Choice], ...] = ()
    inert: Mapping[str, Any] = field(default_factory=dict)
    """Values of the rule's options with which it does nothing, and is left out."""
    needs: tuple[str, ...] = ()
    """Options of the rule that must be set for the term to be written."""
    shares_normalization: bool = False
    """Whether its option ``normalization`` is the loss's."""
    refusal: str = ""
    """A description of the term, where no rule here does it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Engine:
    """The options of an engine that decide its loss and its samples."""

    name: str
    version: str
    """The release whose code the names, defaults and meanings were read in."""
    style: str
    """How options are given: "flags" (``--name value``), "overrides" (``name=value``), "json", "toml"."""
    defaults: Mapping[str, Any]
    """The options by name, each with the engine's default."""
    settings: Mapping[str, str]
    """Options by the names of `SETTINGS`."""
    loss: Choice
    """The loss, a `Loss`."""
    estimator: Choice
    """(estimator of advantages, std_ddof)"""
    normalization: Choice
    """(normalization, max_length); a text for the latter is the option that holds it."""
    terms: tuple[Term, ...] = ()
    """Modifiers, innermost first."""
    fallback: Mapping[str, str] = field(default_factory=dict)
    """Options that hold where others are None."""
    never: Mapping[str, float] = field(default_factory=dict)
    """Values of options from which on a bound never binds, where None is not one of them."""
    only: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Options that act on the loss as no rule here does, but for these values."""
    joined: Mapping[str, str] = field(default_factory=dict)
    """Options whose two entries stand in one text, and what parts them; one alone is the second."""
    contradiction: Callable[[Options], str] = lambda options: ""
    """Returns what is wrong with options that do not go together; "" where nothing is."""

    @property
    def known(self) -> tuple[tuple[str, ...], frozenset[str]]:
        """The beginnings of names that are checked, and all names that begin so."""
        table = _names_table().get(self.name, {"checked": (), "names": ""})
        return tuple(table["checked"]), frozenset(table["names"].split()) | {*self.defaults}


class Options:
    """Given options over an engine's defaults, with account of those that were read.

    ``name[k]`` is the entry k of an option that is a list. A number in place of two bounds is the upper.
    """

    def __init__(self, engine: Engine, given: Mapping[str, Any]) -> None:
        checked, names = engine.known
        for name in given:
            # Hydra's plus adds an option that the engine does not have.
            if checked and name.startswith(checked) and not name.startswith("+"):
                lookup(dict.fromkeys(names), name, f"option of {engine.name} {engine.version}:")
        self.engine = engine
        self.given = {name.lstrip("+"): value for name, value in given.items()}
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        name, _, place = name.partition("[")
        self.read.add(name)
        value = self.given.get(name, self.engine.defaults[name])
        if name in self.engine.joined and value is not None:
            value = [None, *map(float, str(value).split(self.engine.joined[name]))][-2:]
        if place and value is not None:
            pair = (0.0, value) if isinstance(value, int | float) else value
            value = pair[int(place.rstrip("]"))]
        if value is None and (other := self.engine.fallback.get(f"{name}[{place}" if place else name)):
            return self[other]
        if name in self.engine.never and value is not None and value >= self.engine.never[name]:
            return None
        return value

    def has(self, name: str) -> bool:
        """Whether an option, or the one that holds in its place, was given."""
        whole = name.partition("[")[0]
        other = self.engine.fallback.get(name)
        return self.given.get(whole) is not None or (other is not None and self.has(other))


def read(engine: Engine, given: Mapping[str, Any]) -> Recipe:
    """Return the recipe that options of an engine describe.

    Args:
        engine: the engine.
        given: options by their full names; others than the engine's table has are left out.

    Raises:
        UntranslatableError: a loss that no rule here describes.
        ValueError: a value that the rule refuses.
    """
    options = Options(engine, given)
    by_default: list[str] = []
    for name, values in engine.only.items():
        Choice(by=(name,), of={(value,): None for value in values}).read(options)
    if wrong := engine.contradiction(options):
        raise ValueError(f"{engine.name}: {wrong}")
    try:
        normalization, length = engine.normalization.read(options)
        estimator, ddof = engine.estimator.read(options)
        if isinstance(length, str):
            length = int(options[length])
        shared = {"normalization": normalization, "max_length": length, "estimator": estimator,
                  "std_ddof": ddof}
        rule = _loss(engine.loss.read(options), shared, options, by_default)
        for term in engine.terms:
            if _acts(term, options):
                if term.refusal:
                    raise UntranslatableError(f"{engine.name}: no rule here does {term.refusal}")
                own = {name: choice.read(options) for name, choice in term.chosen}
                if term.shares_normalization:
                    own["normalization"] = normalization
                fixed = {**term.fixed, **own, "base": rule}
                made = _made(term.rule, term.options, fixed, options, [])
                idle = term.inert and all(
                    getattr(made, name) == value for name, value in term.inert.items())
                rule = rule if idle else made
    except UntranslatableError:
        raise
    except (TypeError, ValueError) as error:
        raise ValueError(f"{engine.name}: {error}") from None
    given_settings = {name: options[option] for name, option in engine.settings.items()}
    settings = {name: value for name, value in given_settings.items() if value not in (None, -1)}
    unread = tuple(name for name in options.given
                   if name in engine.defaults and name not in options.read)
    return Recipe(rule=rule, settings={**SETTINGS, **settings}, by_default=tuple(by_default),
                  without_effect=unread)


def write(engine: Engine, recipe: Recipe) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a recipe's options for an engine, and what they do not carry over, a line each.

    Options at the engine's default are left out.

    Raises:
        UntranslatableError: a loss that the engine does not have.
    """
    found = parts(recipe.rule)
    losses = [(values, loss) for values, loss in engine.loss.of.items()
              if list(found)[-len(_names(loss)):] == _names(loss)]
    if not losses:
        raise UntranslatableError(
            f"{engine.name} {engine.version} has no loss such as '{list(found)[-1]}'")
    made, refused = [], ""
    for values, loss in losses:
        try:
            made.append(_checked(engine, recipe, _written(engine, found, recipe.settings, values, loss)))
        except ValueError as error:
            refused = str(error)
    if not made:
        raise UntranslatableError(f"{engine.name} has nothing near it: {refused}")
    return min(made, key=lambda each: len(each[1]))


def _checked(
    engine: Engine, recipe: Recipe, written: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return options without those at their defaults, and what reading them back finds otherwise."""
    made = _gathered(engine, {name: engine.never.get(name) if value is None else value
                              for name, value in written.items()})
    made = {name: value for name, value in made.items()
            if value is not None and value != engine.defaults[name]}
    for name, other in engine.fallback.items():
        unsaid = engine.defaults.get(name, ...) is None
        if unsaid and made.get(name) == made.get(other, engine.defaults[other]):
            made.pop(name, None)
    back = read(engine, made)
    lost = [f"{place}: {_shown(here)} becomes {_shown(there)}"
            for place, here, there in differences(recipe.rule, back.rule)]
    lost += [f"{name}: {_shown(value)} becomes {_shown(back.settings[name])}"
             for name, value in recipe.settings.items() if back.settings[name] != value]
    return made, tuple(lost)


@functools.cache
def _names_table() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("names.toml").read_text(encoding="utf-8"))


def _acts(term: Term, options: Options) -> bool:
    if any(options[name] != value for name, value in term.on.items()):
        return False
    return (not term.positive or bool(options[term.positive])) and not (
        term.absent and options[term.absent])


def _loss(loss: Loss, shared: Mapping[str, Any], options: Options, by_default: list[str]) -> UpdateRule:
    fixed = {**loss.fixed, **{name: choice.read(options) for name, choice in loss.chosen}}
    if loss.base is None:
        known = {each.name for each in dataclasses.fields(update_rules.rule_class(loss.rule))}
        if lacking := [f"{name}={value}" for name, value in shared.items()
                       if value and name not in known | fixed.keys()]:
            raise UntranslatableError(f"{options.engine.name}: rule '{loss.rule}' has no {lacking[0]}")
        fixed = {**shared, **fixed}
    else:
        fixed["base"] = _loss(loss.base, shared, options, by_default)
    return _made(loss.rule, loss.options, fixed, options, by_default)


def _made(rule: str, names: Mapping[str, str | Linear], fixed: Mapping[str, Any], options: Options,
          by_default: list[str]) -> UpdateRule:
    """Make a rule, and add to ``by_default`` what the engine sets otherwise than the rule unasked."""
    known = {each.name: each.default for each in dataclasses.fields(update_rules.rule_class(rule))}
    linear = _linear(names)
    own = {name: each.read(options) for name, each in linear.items()}
    by_default += [f"{rule}.{name} = {own[name]} ({each.option})" for name, each in linear.items()
                   if not options.has(each.option) and own[name] != known[name]]
    return update_rules.get(rule, **own, **{name: fixed[name] for name in fixed if name in known})


def _written(
    engine: Engine, found: Mapping[str, UpdateRule], settings: Mapping[str, Any], values: tuple[Any, ...],
    loss: Loss,
) -> dict[str, Any]:
    """Return options that say what a rule's parts say, as nearly as the engine can."""
    made = {option: settings[name] for name, option in engine.settings.items()
            if settings[name] != SETTINGS[name] or engine.defaults[option] not in (None, -1)}
    made |= dict(zip(engine.loss.by, values, strict=True))
    inner: Any = list(found.values())[-1]
    length, ddof = getattr(inner, "max_length", None), getattr(inner, "std_ddof", 0)
    made |= engine.normalization.write((inner.normalization, length), made)
    for key, (name, option) in engine.normalization.of.items():
        if name == inner.normalization and isinstance(option, str) and length not in (None, 1):
            made |= {**dict(zip(engine.normalization.by, key, strict=True)), option: length}
    for each_ddof in (ddof, 1 - ddof):
        if chosen := engine.estimator.write((inner.estimator, each_ddof), made):
            made |= chosen
            break
    each: Loss | None = loss
    while each is not None:
        made |= _values(found[each.rule], each.options)
        for name, choice in each.chosen:
            made |= choice.write(getattr(found[each.rule], name), made)
        each = each.base
    # A term that averages otherwise is written all the same, and told as lost.
    meant = [(term, part) for term in engine.terms if (part := found.get(term.rule)) is not None
             and all(getattr(part, name) == value for name, value in term.fixed.items()
                     if name != "normalization")
             and all(getattr(part, name) is not None for name in term.needs)]
    for term in engine.terms:
        switches = {} if term.refusal else {name: False for name in term.on if term.on[name] is True}
        made |= switches
        unused = all(term.positive != other.positive for other, _ in meant)
        if not switches and term.positive in engine.defaults and unused:
            made[term.positive] = None if engine.defaults[term.positive] is None else 0.0
    for term, part in meant:
        made |= term.on
        made |= _values(part, term.options)
        for name, choice in term.chosen:
            made |= choice.write(getattr(part, name), made)
    return made


def _linear(options: Mapping[str, str | Linear]) -> dict[str, Linear]:
    return {name: Linear(option) if isinstance(option, str) else option
            for name, option in options.items()}


def _values(rule: UpdateRule, options: Mapping[str, str | Linear]) -> dict[str, Any]:
    """Return the engine's options for those of a rule."""
    return {each.option: each.write(getattr(rule, name)) for name, each in _linear(options).items()}


def _names(loss: Loss) -> list[str]:
    return [loss.rule, *(_names(loss.base) if loss.base else ())]


def _gathered(engine: Engine, made: Mapping[str, Any]) -> dict[str, Any]:
    """Join the entries of lists, which go by ``name[k]``."""
    found: dict[str, Any] = {}
    for name, value in made.items():
        whole, _, place = name.partition("[")
        if place:
            found.setdefault(whole, []).append(value)
        else:
            found[name] = value
    for name, part in engine.joined.items():
        if entries := found.get(name):
            found[name] = part.join(map(str, entries)) if len(entries) > 1 else entries[0]
    return found


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)
