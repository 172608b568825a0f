"""Sabotages every claim by machine and says what notices: ``python -m tests.entropy_theory.sabotage``.

A sabotage changes a claim as somebody would who wants the verdict without the mathematics: the margin
set to 1, a constant moved to the stronger side, a hypothesis dropped, a sign flipped, the proof deleted,
admitted, rested on an axiom or on a contradiction, a step's conclusion made its premise, the LaTeX
changed. What is left has to be refused or to get a lower verdict; a sabotaged statement that keeps its
verdict survives, and is reported with what the search says of it. The goal is none.

Statements are sabotaged in their formulas, so that a constant is a constant wherever it stands.
"""

from __future__ import annotations

import dataclasses
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from entropy_theory.claims import all_claims
from entropy_theory.verification import Claim, Condition, Statement, kernel, ledger, proofs
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.check import QUICK
from entropy_theory.verification.floats import evaluate
from entropy_theory.verification.formula.statement import subterms
from entropy_theory.verification.formula.terms import Term, constant, make
from entropy_theory.verification.ledger import digests
from entropy_theory.verification.search import search
from entropy_theory.verification.verdict import Verdict

FACTORS = (Fraction(19, 20), Fraction(21, 20))
"""By how much a constant is moved: one of the two makes the statement stronger, if it matters."""
SAMPLED = 256
FALSE_PREMISE = "a false premise added"
UNASKED = ("LaTeX changed", "title changed", "note changed", FALSE_PREMISE)
"""The kernel accepts these: words are not in a formula, and from what is false everything follows."""
NEVER = Condition(latex="0 < -1", value=lambda i: ar.less(constant(0), constant(-1)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Sabotage:
    """One sabotaged claim.

    Attributes:
        claim_id: whose.
        kind: what was done.
        detail: where.
        claim: the sabotaged claim.
    """

    claim_id: str
    kind: str
    detail: str
    claim: Claim


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What became of a sabotage.

    Attributes:
        sabotage: what was done.
        noticed: by what: the kernel, the verdict that its evidence gives, or the accepted ledger, which
            keeps what was said; empty for a survivor.
        said: what became of it.
    """

    sabotage: Sabotage
    noticed: str
    said: str


def established(claim: Claim) -> Statement:
    """The statement that the claim's verdict says is true."""
    return claim.statement if claim.repair is None else claim.repair


def replaced(claim: Claim, statement: Statement) -> Claim:
    """The claim with this as the statement that is said to be true."""
    part = "statement" if claim.repair is None else "repair"
    return dataclasses.replace(claim, **{part: statement})


def with_formula(statement: Statement, margin: Term, conditions: tuple[Term, ...]) -> Statement:
    """The statement with these terms in the places of its margin and its hypotheses."""
    return dataclasses.replace(
        statement, margin=lambda i: margin,
        conditions=tuple(dataclasses.replace(c, value=lambda i, term=term: term)
                         for c, term in zip(statement.conditions, conditions, strict=True)))


def rebuilt(term: Term, change: Callable[[Term], Term | None], known: dict[int, Term]) -> Term:
    """The term with some of its parts changed, within definitions too, which are written out."""
    if id(term) not in known:
        changed = change(term)
        if changed is None and term.operation.name == "call":
            defined = term.operation.detail
            given = dict(zip(defined.parameters, term.arguments, strict=True))
            body = rebuilt(defined.body, given.get, {})
            changed = rebuilt(body, change, known)
        if changed is None:
            arguments = tuple(rebuilt(part, change, known) for part in term.arguments)
            changed = make(term.operation, arguments, term.axes, term.kind)
        known[id(term)] = changed
    return known[id(term)]


def constants(statement: Statement) -> list[Term]:
    """The rational constants of a statement's conclusion other than 0, 1 and -1."""
    found = (t for t in subterms([statement.formula.conclusion.term]) if t.operation.name == "constant")
    return [t for t in dict.fromkeys(found)
            if isinstance(t.operation.detail, Fraction) and abs(t.operation.detail) not in (0, 1)]


def stronger(claim: Claim, statement: Statement) -> bool:
    """Whether the margins of a changed statement are smaller than the claim's on sampled instances."""
    batch = claim.instances.sample(np.random.default_rng(0), SAMPLED)
    try:
        before, meets = evaluate(established(claim), batch)
        after, _ = evaluate(statement, batch)
    except (ValueError, FloatingPointError):
        return False
    return bool(np.any((after < before - 1e-12) & meets))


def of_statement(claim: Claim) -> Iterator[Sabotage]:
    """Sabotages of the statement that is said to be true."""
    statement = established(claim)

    def changed(kind: str, detail: str, **parts: object) -> Sabotage:
        return Sabotage(claim_id=claim.id, kind=kind, detail=detail,
                        claim=replaced(claim, dataclasses.replace(statement, **parts)))

    yield changed("LaTeX changed", "the reading aid", latex=statement.latex + " for every model")
    yield Sabotage(claim_id=claim.id, kind="title changed", detail="",
                   claim=dataclasses.replace(claim, title=claim.title + ", in every language model"))
    if claim.repair is not None:
        note = "Whatever the model. " + claim.repair_note
        yield Sabotage(claim_id=claim.id, kind="note changed", detail="",
                       claim=dataclasses.replace(claim, repair_note=note))
    for k, condition in enumerate(statement.conditions):
        kept = statement.conditions[:k] + statement.conditions[k + 1:]
        yield changed("hypothesis dropped", condition.latex, conditions=kept)
    if not statement.is_traceable():
        yield changed("margin set to 1", "computed",
                      margin=lambda i: 1.0 + 0.0 * np.asarray(statement.margin(i), dtype=float))
        return
    formula = statement.formula
    margin = formula.conclusion.term
    hypotheses = tuple(h.term for h in formula.hypotheses)
    one = constant(0 if statement.relation == "==" else 1)
    yield Sabotage(claim_id=claim.id, kind="margin set to 1", detail="",
                   claim=replaced(claim, with_formula(statement, one, hypotheses)))
    if statement.relation != "==" and margin.kind == "real" and margin.operation.name != "several":
        yield Sabotage(claim_id=claim.id, kind="sign flipped", detail="",
                       claim=replaced(claim, with_formula(statement, -margin, hypotheses)))
    if statement.beyond is not None:
        yield changed("limit dropped", "", beyond=None)
    yield changed(FALSE_PREMISE, "", conditions=(*statement.conditions, NEVER))
    for number in constants(statement):
        for factor in FACTORS:
            moved = constant(number.operation.detail * factor, number.axes)
            other = rebuilt(margin, lambda t, a=number, b=moved: b if t is a else None, {})
            sabotaged = with_formula(statement, other, hypotheses)
            if statement.relation == "==" or stronger(claim, sabotaged):
                yield Sabotage(claim_id=claim.id, kind="constant moved",
                               detail=f"{number.operation.detail} times {factor}",
                               claim=replaced(claim, sabotaged))


TRUSTED = {
    "limsup weakened": ("Definitions.v", "u k < l + e", "u k < l + e + 100"),
    "tempered at T^2": ("Definitions.v", "fun a => z a / T", "fun a => z a / (T * T)"),
    "derivative always holds": ("Definitions.v", "derivable_pt_lim f x l", "True"),
    "every sequence has a limit": ("Definitions.v", "Rabs (u k - l) < e", "True"),
    "Rplus shadowed": ("Definitions.v", "(** * One", "Definition Rplus (x y : R) : R := x.\n(** * One"),
    "a notation": ("Definitions.v", "(** * One", 'Notation "x < y" := (x <= y) : R_scope.\n(** * One'),
    "a flag": ("Definitions.v", "(** * One", "Unset Universe Checking.\n(** * One"),
    "a proof imported": ("Definitions.v", "Open Scope",
                         "From PolicyEntropy.library Require Import Basics.\nOpen Scope"),
    "the others include oneself": ("Groups.v", "(total_over g reward - reward b)", "total_over g reward"),
    "an axiom allowed": ("Axioms.v", "P \\/ ~ P :=", "P :="),
    "another axiom": ("Axioms.v", "Classical_Prop.classic.", "Classical_Prop.other."),
    "sanity dropped": ("Sanity.v", "0 <= entropy n z <=", "entropy n z <="),
}
"""Edits of trusted files: the file, what stood there, what stands there then."""
BESIDE = {
    "a theorem beside deleted": (
        "Theorems/aepo/revival_time.v", "time_of_two_answers : Prop", "gone : bool"),
    "a theorem beside weakened": (
        "Theorems/extension/kernel_sign.v", "Definition any_parametrization : Prop :=",
        "Definition any_parametrization : Prop := True \\/"),
    "a witness beside weakened": (
        "Conditions/aent/adaptive_coefficient.v", "least <= lambda t <= most /\\", ""),
    "a domain beside always met": ("Conditions/aepo/equation_5.v", "temperature <> 0", "0 <= 0"),
}
WRITER = {
    "limits written as x = x": ("rocq.py", 'return f"{name} (fun {text} => {body}) ({limit})"',
                                'return f"({limit}) = ({limit})"'),
    "domains left out": ("rocq_domains.py", "    if not asked:", "    if asked:"),
}
"""Edits of what writes statements."""


def of_trusted(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Each edit of a trusted file in a copy of formal/, by kind, and what is then named as changed."""
    formal, writer = proofs.formal_folder(), Path(proofs.__file__).parent
    for kind, (name, was, becomes) in {**TRUSTED, **BESIDE, **WRITER}.items():
        place = folder / kind.replace(" ", "_")
        shutil.copytree(formal, place)
        shutil.copytree(writer / "formula", place / "formula")
        path = place / ("formula" if kind in WRITER else "trusted") / name
        text = path.read_text()
        assert was in text, (kind, was)
        path.write_text(text.replace(was, becomes, 1))
        with mock.patch.multiple(proofs, formal_folder=lambda place=place: place,
                                 __file__=str(place / "proofs.py")):
            yield kind, [*proofs.changed_since_accepted(),
                         *_no_longer_recorded(name.partition("/")[2])]


def _no_longer_recorded(name: str) -> list[str]:
    """Whether a claim with this place has another proof than the record."""
    found = []
    for claim in all_claims().values():
        if name and proofs.module_name(claim.id).replace(".", "/") + ".v" == name:
            proof = proofs.proof_of(claim)
            if proof is not None and proofs.read_accepted()[claim.id]["digest"] != proof.digest:
                found.append(f"{claim.id}: its proof is not the accepted one")
    return found


PROOFS = {
    "proof deleted": None,
    "proof admitted": "Theorem proved : {statement}.\nProof. Admitted.\n",
    "proof is an axiom": "Axiom proved : {statement}.\n",
    "0 = 1 as an axiom": "From Coq Require Import Lra.\nAxiom absurd : 0 = 1.\n"
                         "Theorem proved : {statement}.\nProof. exfalso; pose proof absurd; lra. Qed.\n",
    "the conclusion made a premise": "Theorem proved : {statement} -> {statement}.\nProof. auto. Qed.\n",
    "another theorem": "Theorem proved : forall x : R, 0 < x -> 0 < x.\nProof. auto. Qed.\n",
}
HEADER = ("From Coq Require Import Reals.\nFrom Trusted.Statements.{source} Require {name}.\n"
          "Open Scope R_scope.\n")


def of_proof(claim: Claim, folder: Path) -> Iterator[Sabotage]:
    """Sabotages of the kernel's proof; files are written to ``folder``."""
    proof = proofs.proof_of(claim)
    if proof is None:
        return
    source, _, name = proof.module.partition(".")
    for kind, text in PROOFS.items():
        place = folder / kind.replace(" ", "_").replace("=", "is") / source / f"{name}.v"
        place.parent.mkdir(parents=True, exist_ok=True)
        written = "" if text is None else HEADER.format(source=source, name=name) + text.format(
            statement=f"Statements.{proof.module}.{proof.part}")
        place.write_text(written)
        yield Sabotage(claim_id=claim.id, kind=kind, detail=str(place),
                       claim=dataclasses.replace(claim, proof_file=str(place)))


def verdict_of(claim: Claim) -> str:
    """How well the claim's statement is established by kernel and adversary, quickly."""
    statement = established(claim)
    accepted = any(e.outcome == "pass" for e in proofs.evidence(claim))
    if accepted and NEVER not in statement.conditions:
        return "proved"
    try:
        found = search(statement, claim.instances, QUICK.search, witnesses=claim.witnesses)
    except Exception as error:  # `judge` makes evidence of it, of an error
        return f"undecided: {error}"
    if any(e.counterexample is not None for e in found):
        return "refuted"
    if any(e.outcome != "pass" for e in found):
        return f"undecided: {found[0].detail}"
    if NEVER in statement.conditions:
        return "proved"  # by anything: from what is false everything follows
    return "verified" if statement.beyond is None else "undecided"


def attacked(sabotage: Sabotage, before: str, accepted: Mapping[str, Any]) -> Outcome:
    """Judge a sabotaged claim as the ledger would, by what the kernel has accepted so far."""
    after = verdict_of(sabotage.claim)
    if after != before:
        return Outcome(sabotage=sabotage, noticed="verdict", said=f"{before} became {after}")
    return compared(sabotage, accepted, f"still {after}")


def compared(sabotage: Sabotage, accepted: Mapping[str, Any], said: str) -> Outcome:
    """Judge a sabotaged claim that keeps its verdict: the accepted ledger knows what was said."""
    record = accepted.get(sabotage.claim_id)
    if record is None:
        return Outcome(sabotage=sabotage, noticed="", said=said)
    now = said_by(sabotage.claim)
    if digests(now) != record["says"]:
        said += ", but in other words or another formula"
    elif not np.allclose(now["samples"], record["samples"], rtol=1e-4, atol=1e-7):
        said += ", but with another margin"
    else:
        return Outcome(sabotage=sabotage, noticed="", said=said)
    return Outcome(sabotage=sabotage, noticed="accepted ledger", said=said)


def said_by(claim: Claim) -> dict[str, Any]:
    """What a claim says, as the ledger records it."""
    return ledger.entry(claim, [], Verdict(statement="", printed_proof="", instead="",
                                           counterexample=None, problems=()))


def sabotage_all(
    claims: Mapping[str, Claim], folder: Path, on_line: Callable[[str], None] = lambda line: None
) -> Iterator[Outcome]:
    """Sabotage claims in every way, and judge each sabotaged claim.

    The kernel is asked anew about every sabotaged formula that had a proof, with the old proof, and
    about every sabotaged proof. Where it is not installed they are refused unread, because nobody has
    accepted them.
    """
    accepted = ledger.read_accepted()
    proved = []
    for place, (claim_id, claim) in enumerate(claims.items()):
        before = verdict_of(claim)
        on_line(f"{place + 1} of {len(claims)}: {claim_id}, {before}")
        if before == "proved" and kernel.rocq_version() is not None:
            proved.append(claim)
            continue
        for sabotage in of_statement(claim):
            yield attacked(sabotage, before, accepted)
    plans = []
    for claim in proved:
        every = [*of_statement(claim), *of_proof(claim, folder / "proofs")]
        yield from (attacked(one, "proved", accepted) for one in every if one.kind in UNASKED)
        plans.append([one for one in every if one.kind not in UNASKED])
    if proofs.BUILD.exists():
        shutil.copytree(proofs.BUILD, folder / "build")  # a library that is compiled stays so
    # One sabotage of each claim at a time: each has the module names of its claim.
    for turn in range(max(map(len, plans), default=0)):
        now = [plan[turn] for plan in plans if turn < len(plan)]
        results = kernel.prove([s.claim for s in now], folder=folder / "build")
        on_line(f"kernel, turn {turn + 1}: {len(now)} sabotaged claims")
        for sabotage in now:
            found = results[sabotage.claim_id]
            yield (compared(sabotage, accepted, "proved by the old proof") if found.accepted
                   else Outcome(sabotage=sabotage, noticed="kernel", said=found.message))


def table(outcomes: Iterable[Outcome]) -> str:
    """Kinds of sabotage against what noticed them."""
    counts: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        counts.setdefault(outcome.sabotage.kind, Counter())[outcome.noticed or "survived"] += 1
    columns = ("kernel", "verdict", "accepted ledger", "survived")
    lines = [f"{'sabotage':32}" + "".join(f"{column:>17}" for column in columns)]
    lines += [f"{kind:32}" + "".join(f"{found[column]:17}" for column in columns)
              for kind, found in counts.items()]
    total = Counter[str]()
    for found in counts.values():
        total += found
    return "\n".join([*lines, f"{'all':32}" + "".join(f"{total[column]:17}" for column in columns)])


def main(ids: tuple[str, ...]) -> int:
    """Print the table, and each survivor; exit status 1 if there is one."""
    claims = {i: c for i, c in all_claims().items() if not ids or i in ids}
    with tempfile.TemporaryDirectory() as folder:
        outcomes = list(sabotage_all(claims, Path(folder), lambda line: print(line, file=sys.stderr)))
    print(table(outcomes))
    for o in outcomes:
        if o.noticed == "accepted ledger":
            print(f"{o.sabotage.claim_id}: {o.sabotage.kind} ({o.sabotage.detail}): {o.said}")
    survivors = [o for o in outcomes if not o.noticed]
    for o in survivors:
        print(f"survives: {o.sabotage.claim_id}: {o.sabotage.kind} ({o.sabotage.detail}): {o.said}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:])))
