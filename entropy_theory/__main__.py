"""Claims, rules and the R-H law on the command line: ``python -m entropy_theory --help``."""

from __future__ import annotations

import dataclasses
import datetime
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import tyro

from entropy_theory.claim_jobs import ClaimJob, run
from entropy_theory.claims import all_claims, claims_in_file
from entropy_theory.support import command_line
from entropy_theory.support.command_line import Command
from entropy_theory.support.installed import installed, package_of
from entropy_theory.support.results import plain, write_text
from entropy_theory.support.user_code import module_of_file
from entropy_theory.support.user_errors import check_file, lookup, need, run_command
from entropy_theory.update_rules import GROUP, RULES, UpdateRule, described, rule_class
from entropy_theory.verification import kernel, ledger, proofs, refutations, report, rule_contract
from entropy_theory.verification.check import FULL, QUICK, Profile, checks
from entropy_theory.verification.claim import Claim
from entropy_theory.verification.expected_step import expected_step
from entropy_theory.verification.formula.plain import formulas_to_text
from entropy_theory.verification.judged import judged
from entropy_theory.verification.verdict import HOLDS, Verdict, derive

Effort = Literal["smoke", "default", "full"]
LISTED_BY = "policy-entropy claims"


def verify(
    ids: tyro.conf.Positional[tuple[str, ...]] = (),
    /,
    *,
    profile: Effort = "default",
    quick: bool = False,
    json: Path | None = None,
    jobs: int | None = None,
    seed: int = 0,
    update_ledger: bool = False,
) -> int:
    """Check claims and compare their verdicts with the accepted ledger (exit status 1 if they differ).

    The words of claims that are not checked are compared with the accepted words, too.

    Args:
        ids: claims to check; all of them by default.
        profile: smoke has smaller searches and takes well under a minute; default and full both take the
            searches of the accepted ledger.
        quick: the same as --profile smoke.
        json: write the full ledger, evidence included, to this file; "-" prints it.
        jobs: claims checked at once; one per core by default.
        seed: seed of all searches; the verdicts should not depend on it.
        update_ledger: make the verdicts of this run the accepted ones.
    """
    if update_ledger and seed:
        raise ValueError(f"the accepted ledger is that of seed 0, got {seed}: leave --seed out")
    claims, effort = _chosen(all_claims(), ids), _effort(profile, quick, seed)
    accepted = ledger.read_accepted()
    with command_line.json_output(json) as write:
        entries, problems = _check(claims, None, effort, jobs, accepted)
        write(ledger.whole(entries, config={"quick": effort.is_quick, "ids": list(claims)}, seed=seed))
    if update_ledger:
        if problems:
            raise ValueError("the accepted ledger is unchanged: resolve the problems above first")
        ledger.accept(entries, known_ids=list(all_claims()))
        return 0
    others = {i: claim for i, claim in all_claims().items() if i not in claims}
    changed = [*ledger.differences(entries, accepted, known_ids=list(all_claims())),
               *ledger.reworded(others, accepted)]
    report.print_differences(changed)
    return 1 if changed or problems else 0


def claims(
    claim_id: tyro.conf.Positional[str] = "", /, *, recheck: bool = False, json: Path | None = None
) -> int:
    """List the claims, or print one: statement, hypotheses, accepted verdict, proof and counterexample.

    Args:
        claim_id: which claim; all of them are listed by default.
        recheck: check the claim now, with the searches of `verify --quick`, and print all evidence.
        json: write the list, or the claim's entry in the accepted ledger, to this file; "-" prints it.
    """
    if not claim_id:
        command_line.print_list(("id", "source", "title"),
                                ((c.id, c.source, c.title) for c in all_claims().values()), json)
        return 0
    claim, accepted = lookup(all_claims(), claim_id, "claim", LISTED_BY), ledger.read_accepted()
    if json is not None:
        with command_line.json_output(json) as write:
            write(accepted[claim_id])
        return 0
    if recheck:
        evidence = run(_jobs({claim_id: claim}, None, QUICK, accepted), processes=1)[claim_id]
        report.print_claim(claim, evidence, derive(claim, evidence))
        return 0
    record = accepted[claim_id]
    report.print_claim(claim, proofs.evidence(claim), Verdict(
        statement=record["verdict"], printed_proof=record["printed_proof"],
        counterexample=record["counterexample"], problems=(), instead=record["instead"]))
    print("\nThis is the accepted ledger's verdict. --recheck runs the checks again.")
    return 0


def rules(name: tyro.conf.Positional[str] = "", /, *, json: Path | None = None) -> int:
    """List the update rules, or print one with its options, their defaults and meanings.

    examples:
      policy-entropy rules
      policy-entropy rules aepo
      policy-entropy rules my_rules.py:Thrifty

    Args:
        name: which rule, also one of your own; by default the package's, and those of installed
            packages, are listed.
        json: write it to this file; "-" prints it.
    """
    if not name:
        rows = [(known, kind.__module__, described.headline(kind)) for known, kind in RULES.items()]
        rows += [(point.name, point.module, f"A rule of the package {package_of(point)}.")
                 for point in installed(GROUP, RULES)]
        command_line.print_list(("name", "source", "title"), rows, json)
        return 0
    kind = rule_class(name)
    with command_line.json_output(json) as write:
        print(formulas_to_text(described.as_text(kind)))
        write(described.as_record(kind))
    return 0


def table(*, output: Path | None = None) -> int:
    """Print the accepted ledger as a Markdown table (docs/ledger.md is made by this).

    Args:
        output: write it to this file instead.
    """
    text = ledger.markdown(all_claims(), ledger.read_accepted())
    if output is None:
        print(text, end="")
    else:
        write_text(output, text)
    return 0


def sign(ids: tyro.conf.Positional[tuple[str, ...]], /) -> int:
    """Record that claims' title and words were compared with the output of `statement`.

    Args:
        ids: the claims that were read; a change of the words or of that output voids the record.
    """
    if not ids:
        raise ValueError("give the ids of the claims that were read: sign ID ...")
    ledger.sign(_chosen(all_claims(), ids).values(), on=datetime.date.today().isoformat())
    return 0


def check(
    file: tyro.conf.Positional[Path],
    /,
    *,
    profile: Effort = "default",
    quick: bool = False,
    json: Path | None = None,
    jobs: int | None = None,
    seed: int = 0,
) -> int:
    """Check the claims and the update rules in a Python file of your own.

    Exit status 1 unless all claims hold and all rules keep the clauses of every rule. A broken clause
    comes with a small batch that breaks it.

    examples:
      policy-entropy check my_claims.py
      policy-entropy check my_rules.py --profile smoke

    Args:
        file: a Python file whose module-level names hold `Claim` objects, subclasses of `UpdateRule`
            (which are checked with their defaults) or instances of them.
        profile: smoke has smaller searches; default and full are the same here.
        quick: the same as --profile smoke.
        json: write the ledger of these claims, and findings on the rules, to this file; "-" prints it.
        jobs: claims checked at once; one per core by default.
        seed: seed of all searches and batches; the verdicts should not depend on it.
    """
    effort = _effort(profile, quick, seed)
    check_file(file, "a Python file with claims or update rules")
    claims, rules = claims_in_file(file), rule_contract.rules_in(module_of_file(file))
    if not claims and not rules:
        raise ValueError(
            f"{file} has no claim and no update rule: assign one to a module-level name, my_claim = "
            "Claim(...), or define one, class Thrifty(Modifier)"
        )
    with command_line.json_output(json) as write:
        records = [_check_rule(label, rule, effort) for label, rule in rules.items()]
        entries, problems = _check(claims, str(file), effort, jobs, {}) if claims else ([], [])
        config = {"quick": effort.is_quick, "file": file.name}
        write(ledger.whole(entries, rules=records, config=config, seed=seed))
    if problems:
        raise ValueError(f"{len(problems)} problem(s) in {file}, first: {problems[0]}")
    broken = any(clause["outcome"] == "broken" for record in records for clause in record["clauses"])
    return 1 if broken or any(e["verdict"] not in HOLDS for e in entries) else 0


def statement(claim_id: tyro.conf.Positional[str], /) -> int:
    """Print the theorems that a proof of a claim has to prove in Rocq: its formula, and those beside it.

    Args:
        claim_id: which claim.
    """
    print(proofs.to_prove(lookup(all_claims(), claim_id, "claim", LISTED_BY)), end="")
    return 0


def prove(
    ids: tyro.conf.Positional[tuple[str, ...]] = (),
    /,
    *,
    refuted: bool = False,
    since: Path | None = None,
    accept: bool = False,
    json: Path | None = None,
    jobs: int | None = None,
) -> int:
    """Have the proof kernel (Rocq) check the proofs of claims; unchanged files are not compiled again.

    The verdict is that of its independent checker, coqchk. Without ids the conditions on the definitions
    are checked too. Exit status 1 if a proof is not accepted.

    examples:
      policy-entropy prove
      policy-entropy prove aepo.theorem-4.3b

    Args:
        ids: claims whose proofs are checked; all that have one by default.
        refuted: check the theorems that claims are false too, which takes four minutes more.
        since: an earlier accepted.json: pass over proofs that it records as accepted by this version of
            Rocq, and of which no file has changed since.
        accept: write refutations, and rewrite the record of accepted proofs, with their statements.
        json: write the kernel's answer on each claim to this file; "-" prints it.
        jobs: files compiled at once; one per core by default.
    """
    chosen = _chosen(all_claims(), ids)
    if refuted or accept:
        refutations.check_installed()
    if accept:
        refutations.write(chosen.values(), ledger.read_accepted())
        for change in proofs.changed_since_accepted() if ids else ():
            print(f"warning: {change}, and only {', '.join(ids)} will be checked with it: run prove "
                  "--accept without ids", file=sys.stderr)
    with (command_line.json_output(json) as write,
          command_line.keeping("files that were compiled are kept, and not compiled again")):
        results = report.print_proofs(chosen, jobs, definitions=not ids, refuting=refuted or accept,
                                      standing=None if since is None else proofs.read_record(since))
        write(results)
    if accept:
        refutations.accept_all(all_claims().values(), ledger.read_accepted())
        for proof in filter(None, map(proofs.proof_of, chosen.values())):
            for name in proof.unwitnessed:
                print(f"warning: {proof.own} has no Theorem {name}: nothing shows that the hypotheses of "
                      f"{proof.claim_id} can be met", file=sys.stderr)
    return 0 if all(result.accepted for result in results.values()) else 1


def _effort(profile: Effort, quick: bool, seed: int) -> Profile:
    """Return the profile that the flags choose."""
    if seed < 0:
        raise ValueError(f"seed must be at least 0, got {seed}")
    if quick and profile == "full":
        raise ValueError("--quick is --profile smoke, and --profile full is given too: leave one out")
    return dataclasses.replace(QUICK if quick or profile == "smoke" else FULL, seed=seed)


def _check_rule(label: str, rule: UpdateRule, effort: Profile) -> dict[str, Any]:
    """Check a rule, print the findings, and return them as a record."""
    findings = rule_contract.check_rule(
        rule, repeats=3 if effort.is_quick else 8, seed=effort.seed)
    try:
        effect: Any = rule_contract.entropy_effect(rule, seed=effort.seed)
    except Exception as error:  # the rule's own: a broken clause tells
        effect = f"{type(error).__name__}: {error}"
    columns = sorted(rule.needs.columns)
    step: list[str] = []
    if not any(f.detail == rule_contract.BLOCKED for f in findings):
        try:
            step = expected_step(rule, seed=effort.seed)
        except Exception as error:  # as above
            step = [f"its expected step is not defined ({type(error).__name__}: {error})"]
    report.print_rule(label, findings, effect, columns, step)
    return {
        "rule": label, "name": rule.name, "entropy": plain(effect), "expected_step": step,
        "clauses": [
            {"clause": f.clause.name, "outcome": f.outcome, "detail": f.detail,
             "batch": None if f.batch is None else rule_contract.describe(f.batch, columns)}
            for f in findings
        ],
    }


def _check(
    claims: Mapping[str, Claim],
    path: str | None,
    effort: Profile,
    jobs: int | None,
    accepted: Mapping[str, dict[str, Any]],
) -> tuple[list[dict[str, Any]], list[str]]:
    """Run the checks and print the table; returns ledger entries and problems, one line each.

    Where Rocq is installed the full run has it check the proofs first; the quick one takes what it said
    last.
    """
    proves = not effort.is_quick and kernel.rocq_version() is not None
    if proves and any(map(proofs.proof_file, claims.values())):
        report.print_proofs(claims, jobs)
    plan = _jobs(claims, path, effort, accepted)
    with report.progress(claims) as on_evidence:
        evidence = run(plan, processes=jobs, on_evidence=on_evidence)
    verdicts = {claim_id: derive(claim, evidence[claim_id]) for claim_id, claim in claims.items()}
    report.print_table(claims, verdicts, evidence)
    entries = [ledger.entry(claim, evidence[i], verdicts[i]) for i, claim in claims.items()]
    if path is not None:
        report.print_accounts(claims, verdicts)
        entries = [e | {"judged": judged(claims[e["id"]].statement)} for e in entries]
    return entries, [f"{i}: {line}" for i, v in verdicts.items() for line in v.problems]


def _jobs(
    claims: Mapping[str, Claim],
    path: str | None,
    effort: Profile,
    accepted: Mapping[str, dict[str, Any]],
) -> dict[str, ClaimJob]:
    for claim_id, claim in claims.items():
        if any(check.method == "symbolic" for check in checks(claim, QUICK)):
            need(f"checking the equations of {claim_id}", "sympy")
    return {
        claim_id: ClaimJob(
            claim_id=claim_id,
            path=path,
            profile=effort,
            accepted_counterexample=accepted.get(claim_id, {}).get("counterexample"),
        )
        for claim_id in claims
    }


def _chosen(claims: dict[str, Claim], ids: tuple[str, ...]) -> dict[str, Claim]:
    return {i: lookup(claims, i, "claim", LISTED_BY) for i in ids} if ids else claims


COMMANDS = {
    name: Command(place=f"{__name__}:{function}", summary=summary)
    for name, function, summary in (
        ("verify", "verify", "check claims, and compare with the accepted ledger"),
        ("claims", "claims", "the claims, or one with what is known"),
        ("table", "table", "the accepted ledger as a Markdown table"),
        ("check", "check", "the claims and update rules in a file of your own"),
        ("rules", "rules", "the update rules, or one with its options"),
        ("prove", "prove", "the proof kernel checks proofs"),
        ("statement", "statement", "a claim as the proof kernel reads it"),
        ("sign", "sign", "record that claims' words were read against their statements"),
    )
} | {"fit": Command(place="entropy_theory.performance_law.command:fit",
                     summary="the law R = b - a exp(H) on your training log")}


def main() -> int:
    """Command-line entry point."""
    return command_line.run(
        "python -m entropy_theory",
        "Machine-checked claims about policy entropy; `fit` reads a training log.", COMMANDS)


if __name__ == "__main__":
    run_command(main)
