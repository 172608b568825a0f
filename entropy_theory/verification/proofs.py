"""The proofs of claims: what belongs to each, and the record of what the kernel accepted.

A reader has to trust what lies under formal/trusted: the definitions, and the statements as they were
generated. The kernel checks what lies under formal/proofs. The record of accepted proofs
(formal/accepted.json, committed) has digests of the statement and of all files that its proof needs.
Where Rocq is not installed, a proof counts as recorded as long as all of them are unchanged. Tables then
mark it as not checked.
"""

from __future__ import annotations

import functools
import hashlib
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from entropy_theory.support.results import read_json, write_json, write_text
from entropy_theory.verification.claim import Claim, Evidence, Statement
from entropy_theory.verification.formula.rocq_domains import DEFINED
from entropy_theory.verification.formula.rocq_words import DEFINITIONS, defined_in
from entropy_theory.verification.formula.terms import UntraceableError

INSTALL = "apt install coq libcoq-stdlib libcoq-coquelicot libcoq-interval"
BUILD = Path("build") / "formal"
HEADER = """(* Generated from the formula of the claim {id} ({module}). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import {definitions}.
Open Scope R_scope.

"""


ROOTS = {"Trusted": "trusted", "PolicyEntropy": "proofs"}
"""The folder of formal/ in which modules with this first name are."""
SANITY = "sanity"
"""Where a proof's claim is meant: of the definitions."""
RECORDED = "recorded, not checked here"


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """The parts of one claim's proof.

    Attributes:
        claim_id: the claim.
        part: "statement", or "repair" where the printed statement is false, or "refuted", that it is.
        module: name of the modules of statement and proof, such as ``aepo.theorem_4_3b``.
        path: the file with the proof.
        statement: the generated text.
        needs: the text of every file that it needs, by its path below formal/.
        digest: of all of them.
    """

    claim_id: str
    part: str
    module: str
    path: Path
    statement: str
    needs: Mapping[str, str]
    digest: str

    @property
    def source(self) -> str:
        """The beginning of its module's name; proofs of one source are accepted in one file."""
        return self.module.partition(".")[0]

    @property
    def place(self) -> str:
        """Where its files are below claims and Statements, without ending."""
        return self.module.replace(".", "/")

    @property
    def own(self) -> str:
        """Where the proof itself is below formal/."""
        return "proofs/Sanity.v" if self.module == SANITY else f"proofs/claims/{self.place}.v"

    @property
    def modules(self) -> list[str]:
        """The names of all modules that it needs."""
        roots = {folder: root for root, folder in ROOTS.items()}
        return [".".join([roots[file.split("/")[0]], *file.removesuffix(".v").split("/")[1:]])
                for file in self.needs]

    @property
    def theorems(self) -> list[tuple[str, str]]:
        """Each proposition to be proved and the theorem that proves it, by their full names.

        Those are the statement, that it is defined, its witnesses as far as they are proved, what stands
        beside it, and the witnesses and domains of that.
        """
        if self.module == SANITY:
            return [(f"Trusted.Sanity.{name}", f"PolicyEntropy.Sanity.{name}")
                    for name in _stated(self.statement)]
        proved = f"PolicyEntropy.claims.{self.module}"
        stated = [name for name in _stated(self.statement) if name == DEFINED or (
            name in self.witnesses and name not in self.unwitnessed)]
        beside = [f"{folder}.{self.module}.{name}" for folder in _BESIDE
                  for name in _stated(self.needs.get(_beside(self.module, folder), ""))]
        return [(f"Trusted.Statements.{self.module}.{self.part}", f"{proved}.proved"),
                *((f"Trusted.Statements.{self.module}.{name}", f"{proved}.{name}") for name in stated),
                *((f"Trusted.{name}", f"{proved}.{name.rpartition('.')[2]}") for name in beside)]

    @property
    def witnesses(self) -> list[str]:
        """The propositions that say that what the statement supposes can be met."""
        return [name for name in _stated(self.statement) if name.startswith("witness")]

    @property
    def unwitnessed(self) -> list[str]:
        """Those of them that are not proved."""
        return [name for name in self.witnesses if f"\nTheorem {name} " not in self.needs[self.own]]


def formal_folder() -> Path:
    """Return the folder of what is trusted and what is proved."""
    return Path(str(files("entropy_theory") / "formal"))


def module_name(claim_id: str) -> str:
    """``aepo.theorem-4.3b`` is in ``aepo.theorem_4_3b``."""
    source, _, rest = claim_id.partition(".")
    return f"{source.replace('-', '_')}.{re.sub(r'[-.]', '_', rest)}"


def proof_file(claim: Claim) -> Path | None:
    """Return the file with a claim's proof, if there is one."""
    if claim.proof_file is not None:
        return Path(claim.proof_file)
    path = formal_folder() / "proofs" / "claims" / (module_name(claim.id).replace(".", "/") + ".v")
    return path if path.exists() else None


def statement_of(claim: Claim) -> tuple[str, Statement]:
    """Return which statement of the claim is true, and so to be proved: the printed one or the repair."""
    return ("statement", claim.statement) if claim.repair is None else ("repair", claim.repair)


def statement_text(claim: Claim) -> str:
    """Return the module with the claim's generated statement.

    Raises:
        UntraceableError: the statement has no formula, or one that cannot be written for the kernel.
    """
    part, statement = statement_of(claim)
    return headed(claim, statement.formula.rocq(part))


def headed(claim: Claim, text: str) -> str:
    """A generated statement after the definitions that it imports."""
    named = set(re.findall(r"\w+", text))
    imported = [file for file in DEFINITIONS if file == DEFINITIONS[0] or named & defined_in(file)]
    # Without a star no text ends the comment that it stands in.
    return HEADER.format(id=claim.id, module=claim.source.replace("*", ""),
                         definitions=" ".join(imported)) + text


def beside(claim: Claim) -> str:
    """The file, written by hand, of what is proved beside the claim's statement; "" without one."""
    path = formal_folder() / _beside(module_name(claim.id))
    return _text(path) if path.exists() else ""


def to_prove(claim: Claim) -> str:
    """All that a proof of the claim has to prove: its statement, and what stands beside it.

    Raises:
        UntraceableError: as `statement_text`.
    """
    return "\n".join(filter(None, [statement_text(claim), beside(claim)]))


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
    return gathered(claim.id, statement_of(claim)[0], module_name(claim.id), path, statement_text(claim))


def sanity() -> Proof:
    """Return the conditions on the definitions, with a proof that the kernel checks like a claim's."""
    return gathered(SANITY, "", SANITY, formal_folder() / "proofs" / "Sanity.v",
                    _text(formal_folder() / "trusted" / "Sanity.v"))


def gathered(claim_id: str, part: str, module: str, path: Path, statement: str) -> Proof:
    """Gather what a proof needs."""
    place = module.replace(".", "/")
    stated, proved = ("trusted/Sanity.v", "proofs/Sanity.v") if module == SANITY else (
        f"trusted/Statements/{place}.v", f"proofs/claims/{place}.v")
    needs = {stated: statement, proved: path.read_text()}
    source, _, name = module.rpartition(".")
    beside = [f"From Trusted.{folder}.{source} Require {name}." for folder in _BESIDE]
    left = [*needs.values(), "From Trusted Require Axioms.", *beside]
    while left:
        for file in _required(left.pop()):
            if file not in needs and (formal_folder() / file).exists():
                needs[file] = _text(formal_folder() / file)
                left.append(needs[file])
    whole = "\0".join(f"{file}\0{text}" for file, text in sorted(needs.items()))
    return Proof(claim_id=claim_id, part=part, module=module, path=path, statement=statement, needs=needs,
                 digest=hashlib.sha256(whole.encode()).hexdigest())


def accepted_path() -> Path:
    """Return the committed record of what the kernel accepted."""
    return formal_folder() / "accepted.json"


def read_record(path: Path) -> dict[str, dict[str, Any]]:
    """Read a record of accepted proofs that a user names, by claim.

    Raises:
        ValueError: the file is missing or is not such a record.
    """
    form = {"proofs": {...: {"accepted": bool, "digest": str, "rocq": str}}}
    return read_json(path, form | {...: object})["proofs"]


def read_accepted(path: Path | None = None) -> dict[str, dict[str, Any]]:
    """Read the record of accepted proofs, by claim; empty if there is none."""
    path = path or accepted_path()
    return read_json(path)["proofs"] if path.exists() else {}


def evidence(claim: Claim, folder: Path = BUILD) -> list[Evidence]:
    """Return the kernel's evidence on a claim, empty if the claim has no proof.

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
    for record, again in ((read_accepted(checked), True),
                          (read_accepted(), False)):
        known = record.get(proof.claim_id)
        if known is None or known["digest"] != proof.digest:
            continue
        if not known["accepted"]:
            return [_found(part, "fail", known["message"], started)]
        detail = f"accepted by Rocq {known['rocq']}: {proof.path.name}, digest {proof.digest[:12]}"
        if not again:
            detail = f"{RECORDED}. Run make prove, which needs Rocq ({INSTALL}): {detail}"
        return [_found(part, "pass", detail, started)]
    return [_found(part, "skipped", f"{proof.path.name}: statement, proof or library have changed since "
                   f"the kernel last accepted it. Run make prove, which needs Rocq: {INSTALL}", started)]


def axioms(claim: Claim, folder: Path = BUILD) -> tuple[str, ...]:
    """Return the axioms that the accepted proof of a claim assumes; empty without a proof."""
    proof = proof_of(claim)
    known = None if proof is None else said_of(proof, folder)
    return () if known is None else tuple(known["axioms"])


def said_of(proof: Proof, folder: Path = BUILD) -> dict[str, Any] | None:
    """Return the kernel's last answer on a proof unchanged since, from here or else as committed."""
    for record in (read_accepted(folder / "checked.json"), read_accepted()):
        known = record.get(proof.claim_id)
        if known is not None and known["digest"] == proof.digest:
            return known
    return None


def _found(part: str, outcome: Any, detail: str, started: float) -> Evidence:
    target: Any = part
    return Evidence(method="kernel", outcome=outcome, detail=detail, target=target,
                    seconds=time.monotonic() - started)


def accept(proofs: Iterable[Proof], *, folder: Path = BUILD) -> None:
    """Make what the kernel last accepted the committed record, and write the statements beside it.

    A committed record of a proof that has not changed since stays; other proofs are dropped.
    """
    proofs = list(proofs)
    kept = {p.claim_id: known for p in proofs if (known := said_of(p, folder)) is not None}
    committed_statements = accepted_path().parent / "trusted" / "Statements"
    statements = {committed_statements / f"{p.place}.v": p.statement for p in proofs
                  if p.module != SANITY}
    for path in set(committed_statements.rglob("*.v")) - set(statements):
        path.unlink()
    for path, text in statements.items():
        write_text(path, text)
    write_json(accepted_path(), {"proofs": dict(sorted(kept.items())), "trusted": digests()})


def digests() -> dict[str, str]:
    """A digest of each file that has to be trusted or that writes statements, statements aside."""
    generator = Path(__file__).parent / "formula"
    paths = [*(formal_folder() / "trusted").glob("*.v"), *generator.glob("*.py")]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in sorted(paths)}


def changed_since_accepted() -> list[str]:
    """Return the differences of the trusted side from the accepted one, one line each."""
    known, now = read_json(accepted_path())["trusted"], digests()
    return [f"{name} changed since it was accepted" for name in sorted(known.keys() | now.keys())
            if known.get(name) != now.get(name)]


_BESIDE = ("Theorems", "Conditions")
"""Folders of what is proved beside statements: theorems; their witnesses, and that they are defined."""


def _beside(module: str, folder: str = _BESIDE[0]) -> str:
    """Where the theorems beside a statement are below formal/, if there are any, or their conditions."""
    return f"trusted/{folder}/{module.replace('.', '/')}.v"


def _stated(text: str) -> list[str]:
    """The propositions of a trusted file that are to be proved: those without parameters."""
    return re.findall(r"^Definition (\w+) : Prop", text, re.MULTILINE)


@functools.cache
def _text(path: Path) -> str:
    return path.read_text()


def _required(text: str) -> list[str]:
    """The files that a text asks for, by their paths below formal/."""
    asked = re.findall(r"From\s+(Trusted|PolicyEntropy)([\w.]*)\s+Require\s+(?:Import\s+|Export\s+)?"
                       r"([\w\s]+)\.", text)
    return [f"{ROOTS[root]}{folder.replace('.', '/')}/{name}.v"
            for root, folder, names in asked for name in names.split()]
