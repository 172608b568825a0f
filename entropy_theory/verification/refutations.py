"""Refutations as theorems: a claim's statement is false, which the kernel proves at its counterexample.

The statement that is generated from the claim's formula is refuted; the theorem is its negation. The
proofs are generated too, from the counterexample that the ledger has accepted. The statement is taken at
that instance, and sums are written out. Intervals (coq-interval, on integers) enclose the numbers, so the
axioms stay those of the real numbers. Statement and proof are kept like those of claims, in folders of
their own called refuted.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from entropy_theory.support.results import write_text
from entropy_theory.verification import proofs
from entropy_theory.verification.claim import Claim
from entropy_theory.verification.formula.rocq_domains import DEFINED
from entropy_theory.verification.formula.rocq_words import constant_text
from entropy_theory.verification.formula.terms import UntraceableError
from entropy_theory.verification.proofs import BUILD, Proof

INSTALL = "apt install libcoq-interval"
PART = "refuted"
_NEGATION = "\n(** There is an instance at which it fails. *)\nDefinition refuted : Prop := ~ printed.\n"
_DEFINED = """
From PolicyEntropy.library Require Import Domains TreeDomains.

Theorem defined : Statements.{source}.{name}.defined.
Proof. domains. Qed.
"""
"""The text after the proof that it fails, where no other proof stands there already."""
_PROOF = """(* Generated from the counterexample of {id}. *)

From Coq Require Import Reals List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Refuting.
From Trusted.Statements.{source} Require {name}.
Import ListNotations.
Open Scope R_scope.

Theorem proved : Statements.{source}.{name}.refuted.
Proof.
  intros claim; specialize (claim {arguments}).
  refute claim {actions}%nat.
Qed.
"""


def is_installed() -> bool:
    """Whether Rocq finds coq-interval, which the proofs of refutations use."""
    try:
        found = subprocess.run(["coqc", "-where"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return False
    return (Path(found.stdout.strip()) / "user-contrib" / "Interval").is_dir()


def check_installed() -> None:
    """Raise ValueError where coq-interval is missing."""
    if not is_installed():
        raise ValueError("refutations use coq-interval, which is not installed; on Debian or Ubuntu: "
                         f"{INSTALL}")


def proof_file(claim: Claim) -> Path:
    """Where a claim's refutation is, if there is one."""
    return proofs.formal_folder() / f"proofs/claims/{_module(claim).replace('.', '/')}.v"


def proof_text(claim: Claim, counterexample: Mapping[str, Any]) -> str:
    """Return the proof that the claim's statement fails at a counterexample, as the ledger stores it.

    Raises:
        UntraceableError: the statement has no formula, or the instance is not one of its kind.
    """
    source, _, name = _module(claim).rpartition(".")
    sizes, arguments = _arguments(_printed(claim), counterexample)
    return _PROOF.format(id=claim.id, source=source, name=name, arguments="\n    ".join(arguments),
                         actions=sizes.get("n", 0))


def refutation_of(claim: Claim, counterexample: Mapping[str, Any] | None) -> Proof | None:
    """The theorem that the claim's statement is false; None without one for this counterexample."""
    path = proof_file(claim)
    try:
        if counterexample is None or not _stands(path, proof_text(claim, counterexample)):
            return None
        statement = proofs.headed(claim, _printed(claim) + _NEGATION)
    except UntraceableError:
        return None
    return proofs.gathered(f"{claim.id} ({PART})", PART, _module(claim), path, statement)


def refutations_of(
    claims: Iterable[Claim], ledger: Mapping[str, Mapping[str, Any]]
) -> list[Proof]:
    """The refutations of these claims, by the counterexamples that the ledger has accepted."""
    found = (refutation_of(claim, ledger.get(claim.id, {}).get("counterexample")) for claim in claims)
    return [proof for proof in found if proof is not None]


def write(claims: Iterable[Claim], ledger: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the proofs of these claims' refutations, and delete those of claims that are not refuted."""
    for claim in claims:
        counterexample = ledger.get(claim.id, {}).get("counterexample")
        path = proof_file(claim)
        if counterexample is None or not claim.statement.is_traceable():
            path.unlink(missing_ok=True)
        elif not _stands(path, text := proof_text(claim, counterexample)):
            source, _, name = _module(claim).rpartition(".")
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, text + _DEFINED.format(source=source, name=name) * (
                f"Definition {DEFINED} " in _printed(claim)))


def accept_all(claims: Iterable[Claim], ledger: Mapping[str, Mapping[str, Any]]) -> None:
    """Make what the kernel said last of these claims' proofs and refutations the committed record."""
    claims = list(claims)
    proofs.accept([proofs.sanity(), *filter(None, map(proofs.proof_of, claims)),
                   *refutations_of(claims, ledger)])


def theorem(claim: Claim, counterexample: Mapping[str, Any] | None, folder: Path = BUILD) -> str:
    """The file with the accepted theorem that this counterexample refutes the claim; "" without one."""
    proof = refutation_of(claim, counterexample)
    known = None if proof is None else proofs.said_of(proof, folder)
    return f"formal/{proof.own}" if proof and known and known["accepted"] else ""


def _stands(path: Path, proof: str) -> bool:
    """Whether the file begins with the proof; what follows is the proof that the statement is defined."""
    return path.exists() and path.read_text().startswith(proof)


def _printed(claim: Claim) -> str:
    return claim.statement.formula.rocq("printed", witnesses=False)


def _module(claim: Claim) -> str:
    return f"{PART}.{proofs.module_name(claim.id)}"


# ---------------------------------------------------------------- the instance in the kernel's words


def _arguments(statement: str, instance: Mapping[str, Any]) -> tuple[dict[str, int], list[str]]:
    """The sizes, and what the statement's variables are at an instance, in their order."""
    quantified = re.search(r"Definition printed : Prop :=\n  forall (.*),\n", statement)
    if quantified is None:
        raise UntraceableError("a statement about nothing")
    variables = [(name, kind) for names, kind in re.findall(r"\(([\w ]+) : ([^()]+)\)", quantified[1])
                 for name in names.split()]
    sizes = _sizes(instance)
    written = []
    for name, kind in variables:
        if kind == "nat":
            if name not in sizes:
                raise UntraceableError(f"a counterexample without a number '{name}'")
            written.append(f"{sizes[name]}%nat")
        else:
            written.append(_value(name, kind, instance, sizes))
    return sizes, written


def _sizes(instance: Mapping[str, Any]) -> dict[str, int]:
    """The number of actions, and of tokens of a response where the instance is a tree."""
    logits = instance.get("weights", instance.get("logits"))
    if isinstance(logits, list) and isinstance(logits[0], list):
        n, states, h = len(logits[0]), len(logits), 0
        while sum(n**t for t in range(h)) < states:
            h += 1
        return {"n": n, "h": h}
    lengths = [len(value) for value in instance.values() if isinstance(value, list)]
    return {"n": lengths[0]} if lengths else {}


def _value(name: str, kind: str, instance: Mapping[str, Any], sizes: Mapping[str, int]) -> str:
    """The value of one variable."""
    by_weights = name == "logits" and "weights" in instance
    key = "weights" if by_weights else name if name in instance else name.removesuffix("_")
    if key not in instance:
        raise UntraceableError(f"a counterexample without '{name}'")
    value, row = instance[key], "log_weights" if by_weights else "entries"
    n = sizes.get("n")
    forms = {
        "R": lambda: f"({_number(value)})" if " " in _number(value) else _number(value),
        "vector": lambda: f"({row} {_list(value)})",
        "mask": lambda: f"(marks {_list(value)})",
        "state -> vector": lambda: f"(at_states {n} [{'; '.join(f'{row} {_list(v)}' for v in value)}])",
        "state -> R": lambda: f"(at_responses {n} {_list(value)})",
        "state -> bool": lambda: f"(in_responses {n} {_list(value)})",
    }
    if kind not in forms:
        raise UntraceableError(f"a counterexample of the kind '{kind}'")
    return forms[kind]()


def _list(values: Iterable[Any]) -> str:
    return f"[{'; '.join(map(_number, values))}]"


def _number(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else constant_text(Fraction(value))
