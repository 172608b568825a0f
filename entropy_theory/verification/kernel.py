"""The proof kernel: checks the proofs of claims.

A claim is proved if Rocq (Coq 8.16.1 or newer) accepts a theorem whose statement is the one generated
from the claim's formula. Proofs are in formal/claims, one file a statement; each ends with a theorem
``proved``. For the check a module with the generated statement is written beside copies of library and
proofs, everything is compiled, and a last file has the kernel accept ``proved`` as a proof of exactly
that statement and print what it assumes, which must be the axioms of the classical real numbers. A proof
of a user's own is then checked by coqchk, which compares them by their full names.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
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
    Proof,
    formal_folder,
    is_own,
    library_files,
    proof_of,
    read_accepted,
)

AXIOMS = {
    "ClassicalDedekindReals.sig_not_dec": ("Reals", "forall P : Prop, {~ ~ P} + {~ P}"),
    "ClassicalDedekindReals.sig_forall_dec": (
        "Reals", "forall P : nat -> Prop, (forall n, {P n} + {~ P n}) -> {n | ~ P n} + {forall n, P n}"),
    "FunctionalExtensionality.functional_extensionality_dep": (
        "Logic", "forall (A : Type) (B : A -> Type) (f g : forall x : A, B x), "
        "(forall x, f x = g x) -> f = g"),
    "Classical_Prop.classic": ("Logic", "forall P : Prop, P \\/ ~ P"),
}
"""The axioms of the classical real numbers, each with its folder of Rocq's standard library and its type;
no others are accepted."""


class KernelError(ValueError):
    """Rocq is not installed, or its independent checker rejects something."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What the kernel said of one proof.

    Attributes:
        accepted: whether it proves the statement from the axioms allowed.
        axioms: what it assumes.
        message: the error with file and line, where it was not accepted.
    """

    accepted: bool
    axioms: tuple[str, ...] = ()
    message: str = ""
    module: str = ""


def rocq_version() -> str | None:
    """Return the version of the Rocq that is installed, or None."""
    if shutil.which("coqc") is None or shutil.which("coq_makefile") is None:
        return None
    found = subprocess.run(["coqc", "--print-version"], capture_output=True, text=True, check=False)
    return found.stdout.split()[0] if found.returncode == 0 and found.stdout else None


# ---------------------------------------------------------------- what was accepted


# ---------------------------------------------------------------- the check itself


def prove(
    claims: Iterable[Claim], *, folder: Path = BUILD, jobs: int = 2,
    on_line: Callable[[str], None] = lambda line: None,
) -> dict[str, Result]:
    """Have the kernel check the proofs of these claims; what has not changed is not compiled again.

    So are the theorems that claims are false, where coq-interval is installed.

    Results are kept in ``folder``/checked.json, those of other claims included.

    Args:
        claims: those without a proof are passed over.
        folder: where statements and copies of the proofs are written and compiled.
        jobs: files compiled at once.
        on_line: called with each line of progress.

    Raises:
        KernelError: Rocq is not installed.
    """
    version = rocq_version()
    if version is None:
        raise KernelError(f"Rocq is not installed; on Debian or Ubuntu: {INSTALL}")
    results: dict[str, Result] = {}
    proofs: list[Proof] = []
    claims = list(claims)
    for claim in claims:
        try:
            proof = proof_of(claim)
        except UntraceableError as error:
            results[claim.id] = Result(accepted=False, message=f"it has a proof but no formula: {error}")
            continue
        if proof is not None:
            proofs.append(proof)
    if refutations.is_installed():
        proofs += refutations.refutations_of(claims, ledger.read_accepted())
    folder = folder.absolute()
    # One file has all proofs of a source accepted, which saves starting Rocq for each of them. If one of
    # them is not, each has a file of its own.
    files = {proof.claim_id: proof.module.partition(".")[0] for proof in proofs}
    _write_sources(proofs, files, folder)
    errors = _compile(folder, jobs, on_line)
    found = [_accepts(proof, files[proof.claim_id], folder, errors) for proof in proofs]
    refused = {files[proof.claim_id] for proof, result in zip(proofs, found, strict=True)
               if not result.accepted}
    if refused:
        files |= {proof.claim_id: proof.module.replace(".", "/") for proof in proofs
                  if files[proof.claim_id] in refused}
        _write_sources(proofs, files, folder)
        errors = _compile(folder, jobs, on_line)
        found = [_accepts(proof, files[proof.claim_id], folder, errors) for proof in proofs]
    results |= {proof.claim_id: result for proof, result in zip(proofs, found, strict=True)}
    results |= _checked_by_coqchk(
        {proof.claim_id: results[proof.claim_id] for proof in proofs if is_own(proof)}, folder)
    known = read_accepted(folder / "checked.json") if (folder / "checked.json").exists() else {}
    known |= {proof.claim_id: _record(proof, results[proof.claim_id], version) for proof in proofs}
    write_json(folder / "checked.json", {"proofs": known})
    return results


def _checked_by_coqchk(results: Mapping[str, Result], folder: Path) -> dict[str, Result]:
    """A user's accepted proofs as the independent checker, coqchk, leaves them.

    It tells axioms by their full names and reads compiled files alone, whatever the sources made Rocq
    print.
    """
    accepted = {claim_id: result for claim_id, result in results.items() if result.accepted}
    try:
        if accepted:
            check_again(accepted.values(), folder)
    except KernelError as error:
        return {claim_id: Result(accepted=False, axioms=result.axioms, message=str(error))
                for claim_id, result in accepted.items()}
    return accepted


def check_again(results: Iterable[Result], folder: Path = BUILD) -> str:
    """Have the independent checker (coqchk) check compiled proofs; returns its report.

    The report is kept, and returned again as long as nothing has been compiled since.

    Args:
        results: those of `prove`; what it accepted is checked.
        folder: where proofs were compiled.

    Raises:
        KernelError: it rejects something, or finds an assumption that is not accepted; with its words.
    """
    folder = folder.absolute()
    accepted = [result for result in results if result.accepted]
    modules = sorted({result.module for result in accepted})
    if not modules:
        raise KernelError("there is no accepted proof to be checked again")
    kept, first = folder / "coqchk.txt", f"{', '.join(modules)}\n"
    told = f"{len(accepted)} proofs checked again by coqchk\n"
    if kept.exists() and kept.read_text().startswith(first) and all(
            path.stat().st_mtime_ns < kept.stat().st_mtime_ns for path in folder.rglob("*.vo")):
        return told + kept.read_text().removeprefix(first)
    found = subprocess.run(["coqchk", "-silent", "-o", *_LOAD, *modules], cwd=folder,
                           capture_output=True, text=True, check=False)
    report = found.stdout + found.stderr
    if found.returncode != 0:
        raise KernelError(f"coqchk rejects a proof: {report[-2000:]}")
    foreign = _foreign_in_report(report)
    if foreign:
        raise KernelError(f"coqchk finds what is not accepted: {'; '.join(foreign)}")
    write_text(kept, first + report)
    return told + report


def _foreign_in_report(report: str) -> list[str]:
    """What coqchk lists beside the axioms that are accepted: its report has a heading a kind."""
    found, axioms_said = [], False
    for section in re.split(r"^\* ", report, flags=re.MULTILINE)[1:]:
        heading, _, said = section.partition(":")
        entries = [line.strip() for line in said.splitlines() if line.strip() not in ("", "<none>")]
        if heading == "Theory":
            continue
        axioms_said |= heading == "Axioms"
        accepted = {f"Coq.{place}.{name}" for name, (place, _) in AXIOMS.items()}
        found += [f"{heading}: {entry}" for entry in entries
                  if not (heading == "Axioms" and entry in accepted)]
    return found if axioms_said else [f"no list of axioms in {report!r}"]


_LOAD = ("-Q", "PolicyEntropy", "PolicyEntropy", "-Q", "Statements", "Statements", "-Q", "Accepted",
         "Accepted")
_TRUSTED = "".join(
    f"From Coq.{place} Require Import {name.partition('.')[0]}.\n"
    f"Definition trusted_{number} : {kind} := @Coq.{place}.{name}.\n"
    for number, (name, (place, kind)) in enumerate(AXIOMS.items()))
"""Begins a file of accepted proofs. Rocq prints a name as short as it can: after these imports, and no
others, the axioms of the standard library have one word, and anything else is printed with a dot."""
_ACCEPTED = """From Statements.{source} Require {name}.
From PolicyEntropy.claims.{source} Require {name}.
Definition accepted_{name} : Statements.{module}.{part} := PolicyEntropy.claims.{module}.proved.
"""
_ASSUMED = 'Redirect "Accepted/{said}" Print Assumptions {what}.\n'


def _record(proof: Proof, found: Result, version: str) -> dict[str, Any]:
    return {"accepted": found.accepted, "digest": proof.digest, "part": proof.part,
            "file": proof.path.name, "axioms": list(found.axioms), "message": found.message,
            "rocq": version, **({"coqchk": True} if is_own(proof) and found.accepted else {})}


def _write_sources(proofs: Iterable[Proof], files: Mapping[str, str], folder: Path) -> None:
    """Write what has changed only, so that make compiles no more than it must.

    Args:
        proofs: those to be compiled.
        files: the file below Accepted, without ending, that each claim's proof is accepted in.
        folder: where they are written.
    """
    wanted: dict[Path, str] = {}
    refuting: dict[str, list[str]] = {}
    for path in sorted((formal_folder() / "library").glob("*.v")):
        wanted[folder / "PolicyEntropy" / "library" / path.name] = path.read_text()
    for proof in proofs:
        place = proof.module.replace(".", "/") + ".v"
        source, _, name = proof.module.partition(".")
        wanted[folder / "Statements" / place] = proof.statement
        wanted[folder / "PolicyEntropy" / "claims" / place] = proof.path.read_text()
        accepted = folder / "Accepted" / f"{files[proof.claim_id]}.v"
        wanted[accepted] = wanted.get(accepted, _TRUSTED) + _ACCEPTED.format(
            source=source, name=name, module=proof.module, part=proof.part)
        if proof.part == refutations.PART:
            refuting.setdefault(files[proof.claim_id], []).append(f"accepted_{name}")
        else:
            wanted[accepted] += _ASSUMED.format(said=f"{source}/{name}", what=f"accepted_{name}")
        (folder / "Accepted" / source).mkdir(parents=True, exist_ok=True)
    # Refutations use much of coq-interval, in which it takes seconds to look for assumptions.
    for file, names in refuting.items():
        wanted[folder / "Accepted" / f"{file}.v"] += (
            f"Definition together := ({', '.join(names)}).\n"
            + _ASSUMED.format(said=f"{file}_together", what="together"))
    # Files of other claims stay: whoever asks for them next does not have to compile them again.
    for path in (folder / "PolicyEntropy" / "library").glob("*.v"):
        if path not in wanted:
            for left in path.parent.glob(f"{path.stem}.*"):
                left.unlink()
    for path, text in wanted.items():
        if not path.exists() or path.read_text() != text:
            write_text(path, text)
    lines = [*(" ".join(_LOAD[k:k + 3]) for k in range(0, len(_LOAD), 3)), "-arg -w -arg -all",
             *(str(path.relative_to(folder)) for path in sorted(wanted))]
    write_text(folder / "_CoqProject", "\n".join(lines) + "\n")


def _compile(folder: Path, jobs: int, on_line: Callable[[str], None]) -> Mapping[str, str]:
    """Compile everything; returns the first error of each file that has one."""
    subprocess.run(["coq_makefile", "-f", "_CoqProject", "-o", "Makefile"], cwd=folder, check=True,
                   capture_output=True)
    errors: dict[str, str] = {}
    with subprocess.Popen(["make", "-k", f"-j{jobs}", "--no-print-directory", "--output-sync=target"],
                          cwd=folder, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as process:
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


def _accepts(proof: Proof, file: str, folder: Path, errors: Mapping[str, str]) -> Result:
    """What was found of a proof that is to be accepted in this file below Accepted."""
    place, accepted = proof.module.replace(".", "/") + ".v", f"Accepted/{file}.v"
    for where in (f"Statements/{place}", f"PolicyEntropy/claims/{place}", accepted):
        if where in errors:
            name = proof.path if where.startswith("PolicyEntropy") else where
            return Result(accepted=False, message=f"{name}, {errors[where]}")
    compiled = (folder / accepted).with_suffix(".vo")
    sources = [folder / f"Statements/{place}", folder / f"PolicyEntropy/claims/{place}",
               folder / accepted]
    sources += [folder / "PolicyEntropy" / "library" / path.name
                for path in library_files(proof.statement, proof.path.read_text())]
    # What no longer compiles leaves an older success behind.
    if not compiled.exists() or any(
            source.stat().st_mtime_ns > compiled.stat().st_mtime_ns for source in sources):
        broken = "; ".join(f"{file}, {text}" for file, text in errors.items() if "library/" in file)
        return Result(accepted=False, message=broken or f"{proof.path} was not compiled")
    # Rocq adds the ending.
    said = folder / "Accepted" / (
        f"{file}_together.out" if proof.part == refutations.PART else f"{place.removesuffix('.v')}.out")
    text = said.read_text() if said.exists() else ""
    assumed, foreign = _assumptions(text)
    if "Closed under the global context" not in text and not assumed and not foreign:
        return Result(accepted=False, message=f"{said}: nothing is said of what the proof assumes")
    if foreign:
        return Result(accepted=False, axioms=assumed,
                      message=f"{proof.path} assumes: {'; '.join(foreign)}. Only the axioms of the "
                              "classical real numbers are accepted")
    return Result(accepted=True, axioms=assumed, module=f"Accepted.{file.replace('/', '.')}")


def _assumptions(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What `Print Assumptions` printed: the axioms that are accepted, and all else.

    Types are indented. A line that is not names something assumed: an axiom, or a check that was switched
    off ("bad is assumed to be guarded.", "Type hierarchy is collapsed").
    """
    lines = [line.strip() for line in text.splitlines() if line and not line[0].isspace()]
    said = [line for line in lines if line not in ("Axioms:", "Closed under the global context")]
    names = [re.split(r"\s*:", line)[0] for line in said]
    words = {name.partition(".")[2]: name for name in AXIOMS}
    return (tuple(words[name] for name in names if name in words),
            tuple(line for name, line in zip(names, said, strict=True) if name not in words))
