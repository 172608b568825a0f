"""The proof kernel: checks the proofs of claims.

A claim is proved if Rocq (Coq 8.16.1 or newer) accepts a theorem whose statement is the one generated
from the claim's formula. First the trusted files (formal/trusted, with definitions and statements) are
compiled by themselves, where no proof can be seen. Then come the proofs that are asked for and the files
they need. Then come files in which the kernel accepts each theorem as a proof of exactly its statement.
Last the independent checker, coqchk, reads all that was compiled: its report is the verdict. It must list
the axioms of the classical real numbers, by their full names, and nothing else.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropy_theory.support.results import write_json, write_text
from entropy_theory.verification import ledger, refutations
from entropy_theory.verification.claim import Claim
from entropy_theory.verification.formula.terms import UntraceableError
from entropy_theory.verification.proofs import (
    BUILD,
    INSTALL,
    ROOTS,
    Proof,
    formal_folder,
    proof_of,
    read_accepted,
    sanity,
)


class KernelError(ValueError):
    """Rocq is not installed, or accepts what is false."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """The kernel's answer to one proof.

    Attributes:
        accepted: whether it proves the statement from the axioms allowed.
        axioms: the axioms that coqchk lists.
        message: the error with file and line, where it was not accepted.
    """

    accepted: bool
    axioms: tuple[str, ...] = ()
    message: str = ""


def rocq_version() -> str | None:
    """Return the version of the Rocq that is installed, or None."""
    if any(shutil.which(name) is None for name in ("coqc", "coq_makefile", "coqchk")):
        return None
    found = subprocess.run(["coqc", "--print-version"], capture_output=True, text=True, check=False)
    return found.stdout.split()[0] if found.returncode == 0 and found.stdout else None


def axioms() -> tuple[str, ...]:
    """Return the full names of the axioms that are accepted; Axioms.v has their types compared."""
    return tuple(re.findall(r":= @([\w.]+)\.", (formal_folder() / "trusted" / "Axioms.v").read_text()))


def prove(
    claims: Iterable[Claim], *, folder: Path = BUILD, jobs: int = 2, definitions: bool = False,
    refuting: bool = False, standing: Mapping[str, Mapping[str, Any]] | None = None,
    on_line: Callable[[str], None] = lambda line: None,
) -> dict[str, Result]:
    """Have the kernel check the proofs of these claims; unchanged files are not compiled again.

    Results are kept in ``folder``/checked.json, those of other claims included.

    Args:
        claims: those without a proof are passed over.
        folder: where statements and copies of the proofs are written and compiled.
        jobs: files compiled at once.
        definitions: whether the conditions on the definitions are checked too, as "sanity".
        refuting: whether the theorems that claims are false are checked too, which need coq-interval.
        standing: a record of accepted proofs, as `proofs.read_accepted`: those that this version of Rocq
            accepted, and of which no file has changed since, are passed over.
        on_line: called with each line of progress.

    Raises:
        KernelError: Rocq is not installed, or accepts what is false.
    """
    version = rocq_version()
    if version is None:
        raise KernelError(f"Rocq is not installed; on Debian or Ubuntu: {INSTALL}")
    proofs, found = _proofs_of(list(claims), refuting)
    if definitions:
        proofs.insert(0, sanity())
    proofs = [proof for proof in proofs
              if not _stands(proof, (standing or {}).get(proof.claim_id), version)]
    folder = folder.absolute()
    # One file has all proofs of a source accepted, which saves starting Rocq for each of them. Once one
    # of them is refused, each has a file of its own, and what is refused there is not accepted.
    alone: set[str] = set()
    _refuses_the_false(folder / "false")
    while left := [proof for proof in proofs if proof.claim_id not in found]:
        files = {p.claim_id: p.place if p.source in alone else p.source for p in left}
        refused = _compiled(left, files, folder, jobs, on_line)
        listed: Sequence[str] = ()
        if not refused:
            on_line("COQCHK " + " ".join(sorted(set(files.values()))))
            listed, refused = _checked_apart(left, files, folder, jobs)
        for proof in left:
            message = refused.get(proof.claim_id, "")
            if not refused or (message and proof.source in alone):
                found[proof.claim_id] = Result(
                    accepted=not refused, axioms=tuple(listed), message=message)
        alone |= {proof.source for proof in left if proof.claim_id in refused}
    known = read_accepted(folder / "checked.json")
    known |= {p.claim_id: _record(p, found[p.claim_id], version) for p in proofs}
    write_json(folder / "checked.json", {"proofs": known})
    return found


def _proofs_of(claims: Sequence[Claim], refuting: bool) -> tuple[list[Proof], dict[str, Result]]:
    """Return the proofs of claims, and a refusal for each claim whose formula cannot be written."""
    proofs: list[Proof] = []
    found: dict[str, Result] = {}
    for claim in claims:
        try:
            proof = proof_of(claim)
        except UntraceableError as error:
            found[claim.id] = Result(accepted=False, message=f"it has a proof but no formula: {error}")
            continue
        if proof is not None:
            proofs.append(proof)
    if refuting:
        proofs += refutations.refutations_of(claims, ledger.read_accepted())
    return proofs, found


def _stands(proof: Proof, known: Mapping[str, Any] | None, version: str) -> bool:
    return known is not None and bool(known["accepted"]) and (
        known["digest"], known["rocq"]) == (proof.digest, version)


# ---------------------------------------------------------------- compiling

_LOADS = {"trusted": ("Trusted",), "proofs": ("Trusted", "PolicyEntropy"),
          "accepted": ("Trusted", "PolicyEntropy", "Accepted")}
"""The libraries at hand when a folder is compiled; trusted files have none with proofs."""
_FOLDERS = {**ROOTS, "Accepted": "accepted"}


def _load(folder: str) -> list[str]:
    return [word for root in _LOADS[folder] for word in ("-Q", _FOLDERS[root], root)]


def _run(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=folder, env=_environment(), capture_output=True, text=True,
                          check=False)


def _environment() -> dict[str, str]:
    """Without what would have Rocq find another standard library, or read a file of settings."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("COQ", "ROCQ", "XDG_", "MAKE", "MFLAGS"))}
    return kept | dict.fromkeys(("XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_CONFIG_HOME"), os.devnull)


def _refuses_the_false(folder: Path) -> None:
    """See that the programs are a kernel: coqc refuses what is false, coqchk finds what is assumed."""
    write_text(folder / "wrong.v", "Definition wrong : False := I.\n")
    write_text(folder / "axiom.v", "Axiom absurd : False.\n")
    coqc, _, coqchk = (_run(*words, folder=folder) for words in (
        ("coqc", "-q", "wrong.v"), ("coqc", "-q", "axiom.v"), ("coqchk", "-silent", "-o", "axiom")))
    if coqc.returncode == 0 or _foreign(coqchk.stdout + coqchk.stderr) != ["Axioms: axiom.absurd"]:
        name = "coqc" if coqc.returncode == 0 else "coqchk"
        raise KernelError(f"{shutil.which(name)} lets a proof of False pass, so it cannot judge proofs")


def _compiled(
    proofs: Sequence[Proof], files: Mapping[str, str], folder: Path, jobs: int,
    on_line: Callable[[str], None],
) -> dict[str, str]:
    """Compile proofs and what they need; returns why each that failed is refused.

    Args:
        proofs: those to be compiled.
        files: the file below accepted, without ending, that each claim's proof is accepted in.
        folder: where they are written and compiled; unchanged files stay as they are.
        jobs: files compiled at once.
        on_line: called with each line of progress.
    """
    wanted: dict[str, str] = {}
    for proof in proofs:
        wanted |= proof.needs
        accepted = f"accepted/{files[proof.claim_id]}.v"
        wanted[accepted] = wanted.get(accepted, "From Trusted Require Axioms.\n") + "".join([
            *(f"From {module.rpartition('.')[0]} Require {module.rpartition('.')[2]}.\n"
              for module in sorted({of.rpartition(".")[0] for pair in proof.theorems for of in pair})),
            *(f"Definition accepted_{proof.place.replace('/', '_')}_{k} : {stated} := {proved}.\n"
              for k, (stated, proved) in enumerate(proof.theorems))])
    for file, text in wanted.items():
        path = folder / file
        if not path.exists() or path.read_text() != text:
            path.with_suffix(".vo").unlink(missing_ok=True)
            write_text(path, text)
    errors: dict[str, str] = {}
    for part in _LOADS:
        of_part = [file for file in sorted(wanted) if file.startswith(part)]
        errors |= _make(part, of_part, folder, jobs, on_line)
    refused: dict[str, str] = {}
    for proof in proofs:
        accepted = f"accepted/{files[proof.claim_id]}.v"
        compiled = [(folder / file).with_suffix(".vo") for file in (accepted, *proof.needs)]
        wrong = [file for file in (*proof.needs, accepted) if file in errors]
        if wrong:
            name = proof.path if wrong[0] == proof.own else wrong[0]
            refused[proof.claim_id] = f"{name}, {errors[wrong[0]]}"
        elif not all(path.exists() and path.stat().st_mtime_ns <= compiled[0].stat().st_mtime_ns
                     for path in compiled):
            refused[proof.claim_id] = f"{proof.path} was not compiled"
    return refused


def _make(
    part: str, files: Sequence[str], folder: Path, jobs: int, on_line: Callable[[str], None]
) -> dict[str, str]:
    """Compile files of a part where it can see no more than it may; returns each one's first error."""
    lines = [*(" ".join(_load(part)[k:k + 3]) for k in range(0, len(_load(part)), 3)),
             "-arg -q", "-arg -w", "-arg -all", *files]
    write_text(folder / f"_CoqProject.{part}", "\n".join(lines) + "\n")
    made = _run("coq_makefile", "-f", f"_CoqProject.{part}", "-o", f"Makefile.{part}", folder=folder)
    if made.returncode != 0:
        raise KernelError(f"coq_makefile: {made.stderr}")
    errors: dict[str, str] = {}
    with subprocess.Popen(["make", "-f", f"Makefile.{part}", "-k", f"-j{jobs}", "--no-print-directory",
                           "--output-sync=target"], cwd=folder, env=_environment(), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        file = ""
        for line in process.stdout:
            line = line.rstrip()
            on_line(line)
            place = re.match(r'File "\./(.*)", line (\d+)', line)
            if place:
                file = place.group(1)
                errors.setdefault(file, f"line {place.group(2)}:")
            elif file and line and not line.startswith(("make", "COQ")):
                if len(errors[file]) < 600:
                    errors[file] += f" {line.strip()}"
            else:
                file = ""
    return errors


# ---------------------------------------------------------------- the verdict


def _checked_apart(
    proofs: Sequence[Proof], files: Mapping[str, str], folder: Path, jobs: int
) -> tuple[Sequence[str], dict[str, str]]:
    """`_checked`, refutations by themselves: coq-interval, which they use, keeps coqchk for minutes."""
    parts = [[p for p in proofs if (p.part == refutations.PART) is of] for of in (True, False)]
    check = functools.partial(_checked, files=files, folder=folder)
    with ThreadPoolExecutor(jobs) as pool:
        found = list(pool.map(check, filter(None, parts)))
    return found[-1][0], {claim_id: why for _, refused in found for claim_id, why in refused.items()}


def _checked(
    proofs: Sequence[Proof], files: Mapping[str, str], folder: Path
) -> tuple[Sequence[str], dict[str, str]]:
    """Have coqchk read what was compiled; returns the axioms that it lists, and why it refuses proofs."""
    own_files = sorted({files[p.claim_id] for p in proofs})
    report = _report(own_files, folder)
    foreign = _foreign(report)
    if not foreign:
        return [name for name in axioms() if name in report], {}
    found = "coqchk finds what is not accepted: "
    refused = {p.claim_id: found + "; ".join(own) for p in proofs if (own := [
        entry for entry in foreign if any(f"{module}." in entry for module in p.modules)])}
    if not refused and len(own_files) > 1:
        for file in own_files:
            refused |= _checked([p for p in proofs if files[p.claim_id] == file], files, folder)[1]
    return (), refused or {p.claim_id: found + "; ".join(foreign) for p in proofs}


def _report(files: Sequence[str], folder: Path) -> str:
    """Return coqchk's report; it is kept as long as no compiled file has changed."""
    compiled = hashlib.sha256()
    for path in sorted(folder.rglob("*.vo")):
        compiled.update(hashlib.sha256(path.read_bytes()).digest())
    kept = folder / "coqchk" / f"{hashlib.sha256(repr(files).encode()).hexdigest()[:16]}.txt"
    first = f"{' '.join(files)} {compiled.hexdigest()}\n"
    if kept.exists() and kept.read_text().startswith(first):
        return kept.read_text().removeprefix(first)
    modules = [f"Accepted.{file.replace('/', '.')}" for file in files]
    found = _run("coqchk", "-silent", "-o", *_load("accepted"), *modules, folder=folder)
    report = found.stdout + found.stderr
    write_text(kept, first + report)
    return report


def _foreign(report: str) -> list[str]:
    """Return the items of coqchk's report, by its heading of each kind, that are not accepted axioms."""
    headings, found = set(), []
    for section in re.split(r"^\* ", report, flags=re.MULTILINE)[1:]:
        heading, _, said = section.partition(":")
        headings.add(heading)
        accepted = {"Theory": ("Set is predicative",), "Axioms": axioms()}.get(heading, ())
        entries = [line.strip() for line in said.splitlines() if line.strip() not in ("", "<none>")]
        found += [f"{heading}: {entry}" for entry in entries if entry not in accepted]
    return found if {"Theory", "Axioms"} <= headings else [f"no list of axioms in {report[-2000:]!r}"]


def _record(proof: Proof, found: Result, version: str) -> dict[str, Any]:
    return {"accepted": found.accepted, "digest": proof.digest, "part": proof.part,
            "file": proof.path.name, "axioms": list(found.axioms), "message": found.message,
            "theorems": [stated for stated, _ in proof.theorems], "rocq": version}
