"""The proofs of claims: what belongs to each, and the record of what the kernel accepted.

What was accepted is kept with digests of the statement, the proof and the library files it uses
(formal/accepted.json, committed). Where Rocq is not installed, a proof counts as accepted as long as all
of them are unchanged, and the ledger says that it was not checked again.
"""

from __future__ import annotations

import functools
import hashlib
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from entropy_theory.support.results import read_json, write_json
from entropy_theory.verification.claim import Claim, Evidence, Statement
from entropy_theory.verification.formula.terms import UntraceableError

INSTALL = "apt install coq libcoq-stdlib libcoq-coquelicot libcoq-interval"
BUILD = Path("build") / "formal"
HEADER = """(* Generated from the formula of the claim {id} ({module}). *)

From Coq Require Import Reals List Bool.
From PolicyEntropy.library Require Import Definitions.
Open Scope R_scope.

"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """What belongs to one claim's proof.

    Attributes:
        claim_id: the claim.
        part: "statement", or "repair" where the printed statement is false.
        module: name of the modules of statement and proof, such as ``aepo.theorem_4_3b``.
        path: the file with the proof.
        statement: the generated text.
        digest: of the statement, the proof and all library files that it uses.
    """

    claim_id: str
    part: str
    module: str
    path: Path
    statement: str
    digest: str


def formal_folder() -> Path:
    """Return the folder of the library and the proofs."""
    return Path(str(files("entropy_theory") / "formal"))


def module_name(claim_id: str) -> str:
    """``aepo.theorem-4.3b`` is in ``aepo.theorem_4_3b``."""
    source, _, rest = claim_id.partition(".")
    return f"{source.replace('-', '_')}.{re.sub(r'[-.]', '_', rest)}"


def proof_file(claim: Claim) -> Path | None:
    """Return the file with a claim's proof, if there is one."""
    if claim.proof_file is not None:
        return Path(claim.proof_file)
    path = formal_folder() / "claims" / (module_name(claim.id).replace(".", "/") + ".v")
    return path if path.exists() else None


def statement_of(claim: Claim) -> tuple[str, Statement]:
    """Return which statement of the claim is true, and so to be proved: the printed one or the repair."""
    return ("statement", claim.statement) if claim.repair is None else ("repair", claim.repair)


def statement_text(claim: Claim) -> str:
    """The module with the claim's generated statement.

    Raises:
        UntraceableError: the statement is no formula, or one that the kernel has no words for.
    """
    part, statement = statement_of(claim)
    # Without a star no text ends the comment that it stands in.
    header = HEADER.format(id=claim.id, module=claim.source.replace("*", ""))
    return header + statement.formula.rocq(part)


def proof_of(claim: Claim) -> Proof | None:
    """Gather what belongs to a claim's proof; None if it has none.

    Raises:
        UntraceableError: there is a proof, but the claim has no formula that it could prove.
        FileNotFoundError: the claim names a file that does not exist.
    """
    path = proof_file(claim)
    if path is None:
        return None
    if not path.exists():
        raise FileNotFoundError(f"{claim.id}: its proof file {path} does not exist")
    statement = statement_text(claim)
    return Proof(claim_id=claim.id, part=statement_of(claim)[0], module=module_name(claim.id), path=path,
                 statement=statement, digest=digest(statement, path))


def accepted_path() -> Path:
    """Return the committed record of what the kernel accepted."""
    return formal_folder() / "accepted.json"


def read_accepted(path: Path | None = None) -> dict[str, dict[str, Any]]:
    """Read the record of accepted proofs, by claim; empty if there is none."""
    path = path or accepted_path()
    return read_json(path)["proofs"] if path.exists() else {}


def evidence(claim: Claim, folder: Path = BUILD) -> list[Evidence]:
    """What the kernel says of a claim: nothing if it has no proof.

    A result of this checkout's last run counts if nothing has changed since; else the committed one.
    """
    started = time.monotonic()
    part = statement_of(claim)[0]
    try:
        proof = proof_of(claim)
    except UntraceableError as error:
        return [_found(part, "error", f"the claim has a proof but no formula: {error}", started)]
    if proof is None:
        return []
    checked = folder / "checked.json"
    for record, again in ((read_accepted(checked) if checked.exists() else {}, True),
                          (read_accepted(), False)):
        known = record.get(proof.claim_id)
        if known is None or known["digest"] != proof.digest:
            continue
        if again and known["accepted"] and is_own(proof) and not known.get("coqchk"):
            continue  # accepted by a version that did not ask coqchk
        if not known["accepted"]:
            return [_found(part, "fail", known["message"], started)]
        detail = f"accepted by Rocq {known['rocq']}: {proof.path.name}, digest {proof.digest[:12]}"
        if not again:
            detail += f"; not re-checked here (make prove, which needs Rocq: {INSTALL})"
        return [_found(part, "pass", detail, started)]
    return [_found(part, "skipped", f"{proof.path.name}: statement, proof or library have changed since "
                   f"the kernel last accepted it; run make prove (which needs Rocq: {INSTALL})", started)]


def axioms(claim: Claim, folder: Path = BUILD) -> tuple[str, ...]:
    """What the accepted proof of a claim assumes; empty without one."""
    proof = proof_of(claim)
    if proof is None:
        return ()
    checked = folder / "checked.json"
    for record in (read_accepted(checked) if checked.exists() else {}, read_accepted()):
        known = record.get(proof.claim_id)
        if known is not None and known["digest"] == proof.digest:
            return tuple(known["axioms"])
    return ()


def _found(part: str, outcome: Any, detail: str, started: float) -> Evidence:
    target: Any = part
    return Evidence(method="kernel", outcome=outcome, detail=detail, target=target,
                    seconds=time.monotonic() - started)


def accept(claims: Iterable[Claim], *, folder: Path = BUILD) -> None:
    """Make what the kernel last accepted the committed record; proofs of other claims are dropped.

    A committed record of a proof that has not changed since stays.
    """
    checked, committed = read_accepted(folder / "checked.json"), read_accepted()
    proofs = {}
    for claim in claims:
        proof = proof_of(claim)
        for record in (checked.get(claim.id), committed.get(claim.id)):
            if proof is not None and record is not None and record["digest"] == proof.digest:
                proofs[claim.id] = record
                break
    write_json(accepted_path(), {"proofs": dict(sorted(proofs.items()))})


def is_own(proof: Proof) -> bool:
    """Whether a proof is a user's own."""
    return formal_folder() not in proof.path.absolute().parents


def digest(statement: str, proof: Path) -> str:
    """A digest of the statement, the proof, and the library files that it uses, in turn."""
    text = proof.read_text()
    parts = [statement, text, *(_text(path) for path in library_files(statement, text))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def library_files(statement: str, proof: str) -> list[Path]:
    """The library files that a statement and its proof use, and those that these use."""
    folder = formal_folder() / "library"
    found: set[Path] = set()
    left = [*_required(statement), *_required(proof)]
    while left:
        path = folder / f"{left.pop()}.v"
        if path not in found and path.exists():
            found.add(path)
            left += _required(_text(path))
    return sorted(found)


@functools.cache
def _text(path: Path) -> str:
    return path.read_text()


def _required(text: str) -> list[str]:
    line = r"From\s+PolicyEntropy\.library\s+Require\s+(?:Import|Export)?\s*([\w\s]+)\."
    return [name for found in re.findall(line, text) for name in found.split()]
