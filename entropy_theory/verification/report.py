"""Prints for the commands: the table of claims, one claim in full, and progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from entropy_theory.support import cores
from entropy_theory.support.console import Console
from entropy_theory.verification import kernel, ledger, proofs, refutations
from entropy_theory.verification.check import QUICK, checks
from entropy_theory.verification.claim import Claim, Evidence, Statement, Target
from entropy_theory.verification.floats import describe
from entropy_theory.verification.formula.plain import latex_to_text
from entropy_theory.verification.formula.terms import UntraceableError
from entropy_theory.verification.judged import judged
from entropy_theory.verification.rule_contract import BLOCKED, ClauseResult, EntropyEffect
from entropy_theory.verification.rule_contract import describe as describe_batch
from entropy_theory.verification.verdict import Verdict

_REPAIRS = {"hypothesis": "with a hypothesis", "correction": "corrected", "instead": "instead"}
STYLES = {
    "proved": "bold green", "first-order": "bold green", "verified": "green",
    "true with a hypothesis": "yellow", "corrected": "yellow", "refuted": "red",
    "fails as we read it": "red", "empirical": "cyan", "undecided": "bold magenta",
    "no counterexample found": "yellow", "vacuous": "bold magenta",
}


def print_table(
    claims: Mapping[str, Claim],
    verdicts: Mapping[str, Verdict],
    evidence: Mapping[str, Sequence[Evidence]],
) -> None:
    """Print one row for each claim, then the counterexamples, then the problems."""
    console = Console()
    table = Table(title="Ledger", title_justify="left", header_style="bold")
    for name in ("claim", "verdict", "printed"):
        table.add_column(name, no_wrap=True)
    table.add_column("evidence", overflow="fold")
    table.add_column("s", justify="right", no_wrap=True)
    for claim_id, verdict in verdicts.items():
        table.add_row(
            claim_id,
            f"[{STYLES[verdict.statement]}]{verdict.statement}[/]",
            verdict.printed_proof,
            escape(_summary(evidence[claim_id])),
            f"{sum(e.seconds for e in evidence[claim_id]):.0f}",
        )
    console.print(table)
    for claim_id, verdict in verdicts.items():
        if verdict.counterexample is not None:
            shown = f"{describe(verdict.counterexample)}, margin " + str(
                verdict.counterexample["margin_interval"])
            fails = "fails" if verdict.statement != "undecided" else (
                "is not decided, for the problems below; its check fails")
            console.print(f"{claim_id} {fails} at {escape(shown)}", soft_wrap=True, highlight=False)
            if verdict.instead:
                note = escape(latex_to_text(claims[claim_id].repair_note))
                console.print(f"    what holds ({verdict.instead}): {note}", soft_wrap=True,
                              highlight=False)
    for claim_id, verdict in verdicts.items():
        for line in verdict.problems:
            console.print(f"[bold red]problem[/] {claim_id}: {escape(line)}", soft_wrap=True)


def account(claim: Claim, verdict: Verdict) -> list[str]:
    """A claim's LaTeX, the formula that was judged, and the instances that were searched, in lines."""
    lines = [f"  says          {latex_to_text(claim.statement.latex)}"]
    lines += _beside("judged", judged(claim.statement))
    if claim.repair is not None:
        lines.append(f"  says instead  {latex_to_text(claim.repair.latex)}")
        lines += _beside("judged", judged(claim.repair))
    if verdict.searched:
        lines += _beside("searched", [verdict.searched])
    if verdict.left_open:
        lines += _beside("left open", [verdict.left_open])
    return lines


def _beside(word: str, lines: Sequence[str]) -> list[str]:
    return [f"  {'' if k else word:14}{line}" for k, line in enumerate(lines)]


def print_accounts(claims: Mapping[str, Claim], verdicts: Mapping[str, Verdict]) -> None:
    """Print of each claim of a user's own what was judged, which only its author can compare."""
    console = Console()
    for claim_id, claim in claims.items():
        console.print(f"[bold]{claim_id}[/]: {verdicts[claim_id].statement}", highlight=False)
        for row in account(claim, verdicts[claim_id]):
            console.print(row, markup=False, soft_wrap=True, highlight=False)


def print_differences(lines: Sequence[str]) -> None:
    """Print how the run differs from the accepted ledger."""
    console = Console()
    if not lines:
        console.print("All verdicts agree with the accepted ledger.")
        return
    console.print("[bold red]These claims differ from the accepted ledger:[/]")
    for line in lines:
        console.print(f"  {line}", markup=False, soft_wrap=True, highlight=False)


def print_claim(claim: Claim, evidence: Sequence[Evidence], verdict: Verdict) -> None:
    """Print a claim: statement, hypotheses, printed steps with checkers, evidence, counterexample."""
    console = Console()

    def line(text: str, indent: int = 2) -> None:
        # Not `escape`, which doubles a backslash that ends a line, as in Rocq's conjunctions.
        console.print(" " * indent + text, markup=False, soft_wrap=True, highlight=False)

    def heading(text: str) -> None:
        console.print(f"\n[bold]{escape(text)}[/]", highlight=False)

    console.print(f"[bold]{claim.id}[/]  {escape(latex_to_text(claim.title))}", highlight=False)
    line(claim.source)
    if claim.scope:
        line(f"scope: {claim.scope}")
    line(f"reading: {latex_to_text(str(claim.reading))}")
    console.print(f"  verdict [{STYLES[verdict.statement]}]{verdict.statement}[/], "
                  f"printed proof {verdict.printed_proof}", highlight=False)
    by_name = {(e.target, e.name): e for e in evidence if e.name}
    heading("Statement")
    _print_statement(line, claim.statement)
    if claim.repair is not None:
        heading(f"What holds ({_REPAIRS[claim.repair_is]}): {latex_to_text(claim.repair_note)}")
        _print_statement(line, claim.repair)
    _print_kernel(line, heading, claim, evidence)
    if claim.experiments:
        heading("Experiments")
        _print_steps(line, claim.experiments, "experiment", by_name)
    if claim.printed_proof:
        heading("Printed proof, step by step")
        for printed in claim.printed_proof:
            for step in (printed.as_printed, printed.completed):
                if step is not None:
                    _print_steps(line, (step,), "printed proof", by_name)
    searched = [e for e in evidence if not e.name and e.method != "kernel"]
    if searched:
        heading("Evidence")
    for e in searched:
        about = "" if e.target == "statement" else f" ({e.target})"
        line(f"{e.method}{about}: {e.outcome}, {e.cases} cases, {e.seconds:.1f} s: {e.detail}")
    mutants = [e for e in evidence if e.method == "mutant"]
    if mutants:
        heading("Mutants")
    for e in mutants:
        line(f"{e.name}: {e.detail}")
    heading("Counterexample")
    line(describe(verdict.counterexample) + f"  margin {verdict.counterexample['margin_interval']}"
         if verdict.counterexample else "none")
    if verdict.counterexample:
        line(f"refuted by the theorem in {theorem}"
             if (theorem := refutations.theorem(claim, verdict.counterexample))
             else "certified by ball arithmetic (Arb) alone: the kernel has no theorem of it")
    for problem in verdict.problems:
        console.print(f"[bold red]problem[/] {escape(problem)}", soft_wrap=True)


def _print_kernel(
    line: Callable[..., None], heading: Callable[[str], None], claim: Claim, evidence: Sequence[Evidence]
) -> None:
    """Print the proof kernel's answer, the statement that it read, and the axioms of the proof."""
    found = [e for e in evidence if e.method == "kernel"]
    if not found:
        return
    heading("Proof kernel")
    for e in found:
        line(f"{e.outcome}: {e.detail}")
    path = proofs.proof_file(claim)
    line(f"proof: {path}")
    try:
        line(f"assumes: {', '.join(proofs.axioms(claim)) or 'nothing'}")
        for row in proofs.to_prove(claim).splitlines():
            line(row, 4)
    except UntraceableError as error:
        line(f"no formula: {error}")


def print_proofs(
    claims: Mapping[str, Claim], jobs: int | None, *, definitions: bool = False, refuting: bool = False,
    standing: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, kernel.Result]:
    """Have the kernel check proofs, showing progress, and print its answer on each.

    Args:
        claims: whose.
        jobs: files compiled at once; one per core by default.
        definitions: whether the conditions on the definitions are checked too.
        refuting: whether the theorems that claims are false are checked too.
        standing: a record of proofs that are passed over while no file of theirs has changed.
    """
    console = Console(stderr=True)
    with console.status("compiling proofs") as status:

        def on_line(line: str) -> None:
            if line.startswith("COQC"):
                status.update(f"{'coqchk reads' if line.startswith('COQCHK') else 'compiling'} "
                              f"{line.partition(' ')[2]}")
                if not console.is_terminal:
                    print(line, flush=True)

        results = kernel.prove(claims.values(), jobs=jobs or cores.usable(), definitions=definitions,
                               refuting=refuting, standing=standing, on_line=on_line)
    for claim_id, result in results.items():
        if not result.accepted:
            print(f"{claim_id}: NOT accepted: {result.message}")
    by = f"accepted by Rocq {kernel.rocq_version()} and coqchk"
    of_refutations = {i: result for i, result in results.items() if i.endswith(f"({refutations.PART})")}
    of_claims = results.keys() - of_refutations.keys()
    without = [i for i in claims.keys() - of_claims if proofs.proof_file(claims[i]) is None]
    print(f"{sum(results[i].accepted for i in of_claims)} of {len(of_claims)} proofs {by}; "
          f"{len(without)} claims have none")
    if standing is not None:
        print(f"{len(claims.keys() - of_claims) - len(without)} proofs have not changed since they were "
              "accepted")
    if definitions and not refuting:
        stored = refutations.refutations_of(claims.values(), ledger.read_accepted())
        print(f"{len(list(filter(proofs.said_of, stored)))} refutations stand as recorded, not checked "
              "here (--refuted checks them)")
    if of_refutations:
        accepted = sum(result.accepted for result in of_refutations.values())
        print(f"{accepted} of {len(of_refutations)} refutations {by}")
    return results


def print_rule(
    label: str, findings: Sequence[ClauseResult], effect: EntropyEffect | str, columns: Sequence[str],
    step: Sequence[str] = (),
) -> None:
    """Print a line for each clause that a rule must keep, then the effect of its expected step.

    Under a broken clause stands the smallest batch that breaks it.

    Args:
        label: the rule's name in its file.
        findings: what `check_rule` returned.
        effect: what `entropy_effect` returned, or why it is not defined.
        columns: optional columns that the rule reads, which are shown of each batch.
        step: what `expected_step` said.
    """
    console = Console()

    def line(text: str, style: str = "") -> None:
        console.print(text, style=style or None, markup=False, soft_wrap=True, highlight=False)

    line(label, "bold")
    blocked = sum(finding.detail == BLOCKED for finding in findings)
    for finding in findings:
        clause = finding.clause
        if finding.detail == BLOCKED:
            continue
        if finding.outcome != "broken":
            line(f"  {finding.outcome:7}  {clause.promise} ({finding.detail})")
            continue
        line(f"  BROKEN   {clause.promise}", "bold red")
        line(f"           {finding.detail}")
        for row in describe_batch(finding.batch, columns) if finding.batch is not None else ():
            line(f"             {row}")
    if blocked:
        line(f"  skipped  the other {blocked} promises ({BLOCKED})")
    for said in step:
        line(f"  {said}")
    if blocked:
        return
    if isinstance(effect, str):
        line(f"  entropy, to first order: not defined on a listing of all actions ({effect})")
        return
    line(f"  entropy, to first order: falls at {effect.falls:.0%} of {effect.policies:,} random policies "
         f"(plain GRPO: {effect.grpo_falls:.0%}), its mean change {effect.ratio:.2f} times GRPO's")


@contextmanager
def progress(claims: Mapping[str, Claim]) -> Iterator[Callable[[str, Evidence], None]]:
    """Show a progress bar, or print a line for each finished claim where there is no terminal.

    Yields a function to be called with each piece of evidence.
    """
    left = {claim_id: len(checks(claim, QUICK)) for claim_id, claim in claims.items()}
    console = Console(stderr=True)
    with Progress(
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(),
        TextColumn("{task.completed}/{task.total} checks"), TimeElapsedColumn(),
        console=console, transient=True, disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("checking", total=sum(left.values()))

        def on_evidence(claim_id: str, evidence: Evidence) -> None:
            # A certificate comes with its search and is not a check of its own.
            if evidence.method == "certify" and not evidence.name:
                return
            left[claim_id] -= 1
            bar.update(task, advance=1, description=f"checking {claim_id}")
            if left[claim_id] == 0 and not console.is_terminal:
                finished = sum(count == 0 for count in left.values())
                console.print(f"checked {claim_id} ({finished}/{len(left)})", highlight=False)

        yield on_evidence


def summarize(claim: Claim, evidence: Sequence[Evidence], verdict: Verdict) -> str:
    """Return the verdict, counterexample and problems of one claim in a few lines."""
    lines = [f"{claim.id}: {verdict.statement} ({_summary(evidence)})"]
    if verdict.counterexample is not None:
        fails = "fails" if verdict.statement != "undecided" else "not decided, see below; its check fails"
        lines.append(f"{fails} at {describe(verdict.counterexample)}, margin "
                     f"{verdict.counterexample['margin_interval']}")
    return "\n".join([*lines, *account(claim, verdict),
                      *(f"problem: {line}" for line in verdict.problems)])


def _summary(evidence: Sequence[Evidence]) -> str:
    """``kernel: pass; 60,809 searched, 150 Hypothesis: no violation; 3/3 mutants rejected``."""
    parts = []
    experiments = [e for e in evidence if e.target == "experiment"]
    if experiments:
        passed = sum(e.outcome == "pass" for e in experiments)
        parts.append(f"{passed}/{len(experiments)} experiments")
    for e in evidence:
        if e.method == "kernel" and proofs.RECORDED in e.detail:
            parts.append(f"kernel: {proofs.RECORDED}")
        elif e.method == "kernel" or (e.method == "symbolic" and e.target != "printed proof"):
            parts.append(f"{'SymPy' if e.method == 'symbolic' else e.method}: {e.outcome}")
    certified = any(e.counterexample for e in evidence if e.target == "statement")
    cases = {method: sum(e.cases for e in evidence if e.method == method)
             for method in ("search", "property")}
    found = "violation certified" if certified else "no violation"
    parts.append(f"{cases['search']:,} searched, {cases['property']:,} Hypothesis: {found}")
    mutants = [e for e in evidence if e.method == "mutant"]
    parts.append(f"{sum(e.outcome == 'pass' for e in mutants)}/{len(mutants)} mutants rejected")
    return "; ".join(parts)


def _print_statement(line: Callable[..., None], statement: Statement) -> None:
    line(f"reading aid: {latex_to_text(statement.latex)}")
    for k, row in enumerate(judged(statement)):
        line(row if k else f"formula: {row}", 6 if k else 2)
    for condition in statement.conditions:
        line(f"hypothesis: {latex_to_text(condition.latex)}")


def _print_steps(
    line: Callable[..., None],
    steps: Sequence[Any],
    target: Target,
    by_name: Mapping[tuple[Target, str], Evidence],
) -> None:
    for step in steps:
        e = by_name.get((target, step.name))
        outcome = f"{e.outcome}, {e.seconds:.2f} s: {e.detail}" if e else "not run"
        line(f"{step.name} [{step.method}]: {latex_to_text(step.statement)}")
        line(outcome, 6)
