"""Writes what the theorems beside statements rest on.

Those theorems (formal/trusted/Theorems) are written by hand, so their witnesses and the proposition that
they are defined come from their text. A witness turns "for all x, if p then q" into "there is an x with
p"; where q has premises of its own, for all that is named there, there is one for each chain of premises.

    python -m tests.entropy_theory.verification.conditions
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from entropy_theory.verification import proofs
from tests.entropy_theory.verification.gallina import Node, Reader

NONZERO = {"tempered": 0, "soft_policy": 2, "soft_value_at": 2, "soft_value": 2}
"""Functions of the library that divide by an argument, and its place."""
OVER_STATES = {"sum_states": "state_of", "sum_responses": "response_of", "mean_responses": "response_of"}
OVER_ACTIONS = ("sum", "mean", "total_on", "covariance", "centered")
DERIVATIVES = ("derivative", "is_derive")
PREMISE, NEW_LINE = "a premise", "\n  "
Chain = tuple[tuple[str, str], ...]
"""What is bound (its name and binder), "let" and a definition, or a premise."""
Binders = list[tuple[str, Node | None]]
HEADER = "(** What the theorems beside {module} suppose can be met; what they speak of is defined. *)"


def theorems() -> dict[str, str]:
    """The files of theorems beside statements, by the names of their modules."""
    folder = proofs.formal_folder() / "trusted" / "Theorems"
    return {".".join(path.relative_to(folder).with_suffix("").parts): path.read_text()
            for path in sorted(folder.rglob("*.v"))}


def place(module: str) -> Path:
    """Where the conditions of a module's theorems are."""
    return proofs.formal_folder() / "trusted" / "Conditions" / f"{module.replace('.', '/')}.v"


def written(module: str, text: str) -> str:
    """The file with witnesses and domains; "" if the theorems suppose nothing and are always defined."""
    writer = Conditions(text)
    parts = [part for name in re.findall(r"^Definition (\w+) : Prop", text, re.MULTILINE)
             for part in (*writer.witnesses(name), writer.defined(name)) if part]
    source, _, name = module.partition(".")
    head = [line for line in text.splitlines() if line.startswith(("From ", "Import ", "Open "))]
    head.insert(-1, f"From Trusted.Theorems.{source} Require Import {name}.")
    return "\n\n".join([HEADER.format(module=module), "\n".join(head), *parts]) + "\n" if parts else ""


class Conditions:
    """What the propositions of one file rest on.

    Args:
        text: the file; what it imports from statements is read too.
    """

    def __init__(self, text: str) -> None:
        self._nodes: dict[str, tuple[Reader, Node]] = {}
        for other in (*_imported(text), text):
            reader = Reader(other)
            self._nodes |= {name: (reader, node) for name, node in reader.definitions().items()}
        self._reader = Reader("")
        self._domains: dict[str, str] = {}
        self._bound: list[str] = []

    # ------------------------------------------------------------ witnesses

    def witnesses(self, name: str) -> list[str]:
        """That each chain of premises of a proposition can be met."""
        self._reader, node = self._nodes[name]
        chains = dict.fromkeys(filter(None, map(_until_last_premise, self._chains(node))))
        chains = [c for c in chains if not any(c != d and c == d[:len(c)] for d in chains)]
        return [f"Definition {name}_witness{f'_{k}' if k else ''} : Prop :=\n  {self._exists(chain)}."
                for k, chain in enumerate(chains)]

    def _chains(self, node: Node) -> Iterator[Chain]:
        """Binders, definitions and premises on the way to each conclusion."""
        kind, *parts = node
        if kind == "forall":
            here = tuple((name, self._binder(name, type_)) for name, type_ in parts[0])
            yield from ((*here, *rest) for rest in self._chains(parts[1]))
        elif kind == "match" and len(parts[1]) == 1:
            yield from ((("let", self._let(node)), *rest) for rest in self._chains(parts[1][0][1]))
        elif kind == "infix" and parts[0] == "->":
            premise = self._reader.text(parts[1])
            yield from (((PREMISE, premise), *rest) for rest in self._chains(parts[2]))
        elif kind == "infix" and parts[0] == "/\\":
            yield from self._chains(parts[1])
            yield from self._chains(parts[2])
        else:
            yield ()

    def _exists(self, chain: Chain) -> str:
        """The chain as one proposition; what no premise speaks of is left out."""
        said = ""
        for kind, text in reversed(chain):
            if kind == PREMISE:
                said = " /\\\n  ".join(filter(None, [_joined(text), said]))
            elif kind == "let":
                said = f"{text}\n  {said}" if _mentions(said, text.split()[1]) else said
            elif _mentions(said, kind):
                said = f"exists {text}{said[6:] if said.startswith('exists ') else f',{NEW_LINE}{said}'}"
        return said

    # ------------------------------------------------------------ domains

    def defined(self, name: str) -> str:
        """That a proposition is defined, with what that uses; "" if it always is."""
        known = set(self._domains)
        self._reader, node = self._nodes[name]
        found = self._of(node)
        own = [text for of, text in self._domains.items() if of not in known and text]
        return "\n\n".join([*own, f"Definition {name}_defined : Prop :=\n  {found}."]) if found else ""

    def _of(self, node: Node) -> str:
        """What has to hold for an expression to be defined; "" if nothing."""
        kind, *parts = node
        if kind in ("forall", "exists", "fun"):
            return self._within(parts[0], parts[1], guarded=kind == "exists")
        if kind == "match" and len(parts[1]) == 1:
            pattern, body = parts[1][0]
            self._bound.append(pattern[1])
            found = self._of(body)
            self._bound.pop()
            if _mentions(found, pattern[1]):
                found = f"{self._let(node)}\n  {found}"
            return _all(self._of(parts[0]), found)
        if kind == "match":
            assert not any(self._of(body) for _, body in parts[1]), "a case that is not always defined"
            return self._of(parts[0])
        if kind == "if":
            truth = self._reader.text(parts[0])
            return _all(self._of(parts[0]), _under(f"{truth} = true", self._of(parts[1])),
                        _under(f"{truth} = false", self._of(parts[2])))
        if kind == "infix":
            sign, left, right = parts
            found = self._of(right)
            return _all(self._of(left), _under(self._reader.text(left), found) if sign == "->" else found,
                        self._nonzero(right) if sign == "/" else "")
        if kind == "prefix":
            return _all(self._of(parts[1]), self._nonzero(parts[1]) if parts[0] == "/" else "")
        if kind == "list":
            return _all(*map(self._of, parts[0]))
        if kind in ("apply", "name"):
            return self._applied(*(parts if kind == "apply" else (node, [])))
        return ""

    def _within(self, binders: Binders, body: Node, *, guarded: bool = False) -> str:
        """For all values of what is bound; of what there is, where the comparisons before it hold."""
        self._bound += [name for name, _ in binders]
        if guarded and body[:2] == ("infix", "/\\") and body[2][:2] in (("infix", "<"), ("infix", "<=")):
            found = _all(self._of(body[2]), _under(self._reader.text(body[2]), self._of(body[3])))
        else:
            found = self._of(body)
        del self._bound[len(self._bound) - len(binders):]
        named = [self._binder(*binder) for binder in binders if _mentions(found, binder[0])]
        return f"forall {' '.join(named)},\n  {found}" if named else found

    def _nonzero(self, node: Node) -> str:
        return "" if _is_positive(node) else f"{self._reader.text(node)} <> 0"

    def _applied(self, head: Node, arguments: list[Node]) -> str:
        """A function at its arguments: those that are functions count where it takes their values."""
        name = head[1] if head[0] == "name" and head[1] not in self._bound else ""
        texts = [_bracketed(self._reader.text(argument)) for argument in arguments]
        found = [self._argument(name, argument, texts) for argument in arguments]
        if name in ("ln", "sqrt") and not _is_positive(arguments[0]):
            found.append(f"0 {'<' if name == 'ln' else '<='} {self._reader.text(arguments[0])}")
        if name in NONZERO:
            found.append(f"{texts[NONZERO[name]]} <> 0")
        if name in self._nodes and self._domain_of(name):
            count = len(_parameters(self._nodes[name][1]))
            found.append(" ".join([f"{name}_defined", *texts[:count]]))
        return _all("" if head[0] == "name" else self._of(head), *found)

    def _argument(self, name: str, argument: Node, texts: list[str]) -> str:
        found = self._of(argument)
        if argument[0] != "fun" or not found.startswith("forall "):
            return found
        bound = argument[1][0][0]
        guards = {
            **dict.fromkeys(DERIVATIVES, "{0} = {2}"), **dict.fromkeys(OVER_ACTIONS, "({0} < {1})%nat"),
            **{k: f"{within} {{1}} {{2}} {{0}}" for k, within in OVER_STATES.items()},
            "is_RInt": "{2} <= {0} <= {3}"}
        head = f"forall {bound},\n  "
        if name not in guards or not found.startswith(head):
            return found
        return f"{head}{guards[name].format(bound, *texts)} ->\n  {found.removeprefix(head)}"

    def _domain_of(self, name: str) -> str:
        """The proposition that a definition is defined, which stands before those that use it."""
        if name not in self._domains:
            outer, (self._reader, node) = (self._reader, self._bound), self._nodes[name]
            self._bound = [parameter for parameter, _ in _parameters(node)]
            found = self._of(node[2] if self._bound else node)
            binders = " ".join(self._binder(*parameter) for parameter in _parameters(node))
            self._reader, self._bound = outer
            self._domains[name] = found and f"Definition {name}_defined {binders} : Prop :=\n  {found}."
        return self._domains[name]

    # ------------------------------------------------------------ texts

    def _binder(self, name: str, type_: Node | None) -> str:
        return name if type_ is None else f"({name} : {self._reader.text(type_)})"

    def _let(self, node: Node) -> str:
        _, value, [(pattern, _)] = node
        if value[0] == "fun" and id(value) not in self._reader.spans:
            binders = " ".join(self._binder(*parameter) for parameter in value[1])
            return f"let {pattern[1]} {binders} := {self._reader.text(value[2])} in"
        return f"let {pattern[1]} := {self._reader.text(value)} in"


def _until_last_premise(chain: Chain) -> Chain:
    """Without what is only named after the last premise."""
    last = max((k for k, (kind, _) in enumerate(chain) if kind == PREMISE), default=-1)
    return chain[:last + 1]


def _parameters(node: Node) -> list[tuple[str, Node | None]]:
    """Those of a definition; of what begins with "fun" there are none before its type."""
    return node[1] if node[0] == "fun" and all(type_ for _, type_ in node[1]) else []


def _imported(text: str) -> list[str]:
    """The statements whose definitions a file uses."""
    found = re.findall(r"From Trusted\.Statements\.(\w+) Require (?:Import )?(\w+)\.", text)
    return [(proofs.formal_folder() / "trusted" / "Statements" / source / f"{name}.v").read_text()
            for source, name in found]


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


def _is_positive(node: Node) -> bool:
    return node[0] == "number" and node[1] > 0


def _bracketed(text: str) -> str:
    return text if re.fullmatch(r"[\w.]+", text) else f"({text})"


def _all(*parts: str) -> str:
    found = list(dict.fromkeys(filter(None, parts)))
    return found[0] if len(found) == 1 else " /\\\n  ".join(map(_joined, found))


def _joined(text: str) -> str:
    """As a part of a conjunction."""
    closed = not text.startswith(("forall", "exists", "let")) and "->" not in text and "\\/" not in text
    return text if closed else f"({text})"


def _under(guard: str, found: str) -> str:
    guard = f"({guard})" if "->" in guard or guard.startswith(("forall", "exists")) else guard
    return found and f"{guard} ->\n  {found}"


def main() -> None:
    """Write the conditions of all theorems, and delete those of theorems that are gone."""
    texts = {place(module): written(module, text) for module, text in theorems().items()}
    for path in set((proofs.formal_folder() / "trusted" / "Conditions").rglob("*.v")) - {
            path for path, text in texts.items() if text}:
        path.unlink()
    for path, text in texts.items():
        if text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


if __name__ == "__main__":
    main()
