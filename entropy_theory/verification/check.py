"""The checks of a claim, in order, and how much work and time each may take.

A check is one unit of work with a time limit: a search, a printed step, a mutant. It returns evidence
and never raises: an exception inside becomes evidence with the outcome "error".
"""

from __future__ import annotations

import dataclasses
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from entropy_theory.verification import certify, proofs, symbolic
from entropy_theory.verification.claim import (
    Claim,
    Evidence,
    Method,
    Mutant,
    Statement,
    Step,
    Target,
)
from entropy_theory.verification.floats import describe
from entropy_theory.verification.formula.terms import UntraceableError
from entropy_theory.verification.instances import Instances, from_json
from entropy_theory.verification.property_based import check_property
from entropy_theory.verification.search import Effort, search
from entropy_theory.verification.verdict import Verdict, derive


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """How much work a run does.

    Attributes:
        search: effort on the statement and its repair.
        proved_search: effort where the kernel has accepted the formula. It remains to be seen that its
            hypotheses can be met, and that floats and balls mean the same formula.
        mutant_search: effort on each mutant.
        examples: Hypothesis examples on the statement; a third of it, at least 20, on the repair.
        mutant_examples: Hypothesis examples on each mutant.
        shrink: whether Hypothesis makes a violation of the statement or the repair small; no verdict
            depends on it.
        step_seconds: limit for one printed step, one experiment, or SymPy's equations.
        check_seconds: limit for any other check; a process over its limit is killed.
        seed: of all that is drawn; at each seed every claim draws its own.
    """

    search: Effort
    proved_search: Effort
    mutant_search: Effort
    examples: int
    mutant_examples: int
    step_seconds: float
    check_seconds: float
    shrink: bool = True
    seed: int = 0

    @property
    def is_quick(self) -> bool:
        """Whether it is `QUICK`, at any seed."""
        return dataclasses.replace(self, seed=QUICK.seed) == QUICK


SIZES = (*range(2, 17), 24, 32, 64, 128, 256, 512, 1_000, 4_096, 10_001, 32_768, 151_936)
"""Numbers of actions at which a statement without a proof is tried, up to a language model's. They
include the sampler's, as a short search may never draw some of these."""
QUICK = Profile(
    search=Effort(largest_total=10, random_cases=30_000, ascents=1, seconds=0.6, sizes=SIZES),
    proved_search=Effort(largest_total=9, random_cases=10_000, ascents=1, seconds=0.3, sizes=(64,)),
    mutant_search=Effort(largest_total=7, random_cases=8_000, ascents=1, seconds=0.3, sizes=(64,)),
    examples=30,
    mutant_examples=30,
    step_seconds=20.0,
    check_seconds=90.0,
)
FULL = Profile(
    search=Effort(largest_total=13, random_cases=1_000_000, ascents=12, seconds=5.0, sizes=SIZES),
    proved_search=Effort(largest_total=10, random_cases=100_000, ascents=2, seconds=1.0,
                         sizes=(6, 64, 1_000, 10_001, 151_936)),
    mutant_search=Effort(largest_total=9, random_cases=100_000, ascents=4, seconds=1.5,
                         sizes=(6, 64, 1_000, 10_001, 151_936)),
    examples=500,
    mutant_examples=100,
    step_seconds=60.0,
    check_seconds=300.0,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One unit of work.

    Attributes:
        method: what kind of check it is.
        target: what it is about.
        name: the step or mutant, if it is one.
        limit: seconds after which its process is killed.
        run: does the work and returns the evidence.
    """

    method: Method
    target: Target
    name: str
    limit: float
    run: Callable[[], list[Evidence]]


def judge(claim: Claim, profile: Profile = QUICK) -> Verdict:
    """Run all checks of a claim in this process and return the verdict.

    This is for notebooks and tests. The commands run the same checks in processes of their own, where a
    check that hangs is killed at its time limit; here it is not.
    """
    return derive(claim, [found for check in checks(claim, profile) for found in run_check(check)])


def checks(
    claim: Claim, profile: Profile, *, accepted_counterexample: dict[str, Any] | None = None
) -> list[Check]:
    """All checks of a claim.

    Args:
        claim: what is checked.
        profile: how much work to do.
        accepted_counterexample: the counterexample in the accepted ledger, which is re-checked by code
            that did not find it. Others need not be made small then.
    """
    if accepted_counterexample is not None:
        profile = dataclasses.replace(profile, shrink=False)
    seed = zlib.crc32(claim.id.encode(), profile.seed)
    proved = _accepted_target(claim)
    plan = _statement_checks(claim, claim.statement, profile, "statement", seed, proved == "statement")
    if claim.repair is not None:
        plan += _statement_checks(claim, claim.repair, profile, "repair", seed + 1, proved == "repair")
    plan += [_step_check(step, "experiment", profile) for step in claim.experiments]
    for printed in claim.printed_proof:
        plan.append(_step_check(printed.as_printed, "printed proof", profile))
        if printed.completed is not None:
            plan.append(_step_check(printed.completed, "printed proof", profile))
    if claim.symbolic:
        target: Target = "statement" if claim.repair is None else "repair"
        plan.append(_step_check(_symbolic_step(claim), target, profile))
    plan += _kernel_checks(claim, profile)
    if accepted_counterexample is not None:
        plan.append(_recheck(claim, accepted_counterexample, profile))
    plan += [_mutant_check(claim, mutant, profile, seed) for mutant in mutants(claim)]
    return plan


def mutants(claim: Claim) -> Sequence[Mutant]:
    """The claim's mutants; a claim that ships none gets its own conclusion reversed."""
    if claim.mutants:
        return claim.mutants
    true = claim.repair or claim.statement
    if true.relation == "==":
        wrong = dataclasses.replace(true, margin=lambda i: true.margin(i) + 1e-6)
        return (Mutant(name="right side off by 1e-6", statement=wrong),)
    wrong = dataclasses.replace(true, margin=lambda i: -true.margin(i) - 1e-9)
    return (Mutant(name="conclusion reversed", statement=wrong),)


def run_check(check: Check) -> list[Evidence]:
    """Run a check and return its evidence; an exception becomes evidence too."""
    started = time.monotonic()
    try:
        return check.run()
    except Exception as error:
        return [Evidence(method=check.method, outcome="error", target=check.target, name=check.name,
                         seconds=time.monotonic() - started,
                         detail=f"{type(error).__name__}: {error}")]


def _statement_checks(
    claim: Claim, statement: Statement, profile: Profile, target: Target, seed: int, proved: bool
) -> list[Check]:
    instances = claim.instances
    examples = profile.examples if target == "statement" and not proved else max(
        profile.examples // 3, 20)
    effort = profile.proved_search if proved else profile.search
    return [
        Check(method="search", target=target, name="", limit=profile.check_seconds,
              run=lambda: search(statement, instances, effort, seed=seed, target=target,
                                 witnesses=claim.witnesses,
                                 tight=None if proved else not claim.mutants)),
        Check(method="property", target=target, name="", limit=profile.check_seconds,
              run=lambda: check_property(statement, instances, examples, target=target,
                                         shrink=profile.shrink, seed=profile.seed)),
    ]


def _symbolic_step(claim: Claim) -> Step:
    """The equations of the statement that is said to be true, decided by SymPy."""
    statement = claim.repair or claim.statement
    return Step(name="", statement="", method="symbolic",
                check=lambda: symbolic.decide(statement.formula))


def _step_check(step: Step, target: Target, profile: Profile) -> Check:
    def run() -> list[Evidence]:
        started = time.monotonic()
        outcome, detail = step.check()
        return [Evidence(method=step.method, outcome=outcome, detail=detail, target=target,
                         name=step.name, seconds=time.monotonic() - started)]

    return Check(method=step.method, target=target, name=step.name,
                 limit=profile.step_seconds * 1.5 + 10, run=run)


def _accepted_target(claim: Claim) -> Target | None:
    """Which of the claim's statements the kernel has accepted."""
    try:
        accepted = [e.target for e in proofs.evidence(claim) if e.outcome == "pass"]
    except OSError:  # The check of the kernel's word reports it.
        return None
    return accepted[0] if accepted else None


def _kernel_checks(claim: Claim, profile: Profile) -> list[Check]:
    """One check, where the claim has a proof: what the kernel says of it."""
    if proofs.proof_file(claim) is None:
        return []
    target: Target = "statement" if claim.repair is None else "repair"
    return [Check(method="kernel", target=target, name="", limit=profile.check_seconds,
                  run=lambda: proofs.evidence(claim))]


def _recheck(claim: Claim, stored: dict[str, Any], profile: Profile) -> Check:
    def run() -> list[Evidence]:
        started = time.monotonic()
        data = {name: value for name, value in stored.items() if name != "margin_interval"}
        if unlike := _unlike(claim.instances, data):
            # It was about other instances; the ledger then differs in the claim's words too.
            return [Evidence(method="certify", outcome="skipped", detail=unlike)]
        certificate = certify.check_instance(claim.statement, from_json(data))
        refutes = certificate.status == "violated"
        return [Evidence(
            method="certify", outcome="fail" if refutes else "error", cases=1,
            seconds=time.monotonic() - started,
            detail=f"accepted counterexample {describe(data)}: {certificate.status}, margin "
                   f"{certificate.interval} at {certificate.bits} bits",
            counterexample={**data, "margin_interval": certificate.interval} if refutes else None,
        )]

    return Check(method="certify", target="statement", name="", limit=profile.check_seconds, run=run)


def _unlike(instances: Instances, data: Mapping[str, Any]) -> str:
    """Return a message if an accepted counterexample lacks fields of the claim's instances, else ""."""
    if instances.parameters is None:
        return ""
    fields = {p.name for p in instances.parameters.fields}
    stored = {"logits" if name == "weights" else name for name in data}
    return "" if fields <= stored else (
        f"the accepted counterexample has {', '.join(sorted(stored))}; the claim's instances have "
        f"{', '.join(sorted(fields))}")


def _mutant_check(claim: Claim, mutant: Mutant, profile: Profile, seed: int) -> Check:
    """Passes if a method rejects the mutant; the detail says which."""

    def run() -> list[Evidence]:
        started = time.monotonic()
        if mutant.instances is None and _same(mutant.statement, claim.repair or claim.statement):
            return [Evidence(method="mutant", outcome="fail", target="mutant", name=mutant.name,
                             detail="it is the statement itself: change what a check must notice")]
        instances = mutant.instances or claim.instances
        evidence = search(mutant.statement, instances, profile.mutant_search, seed=seed,
                          witnesses=() if mutant.instances else claim.witnesses, first_only=True)
        if all(e.outcome != "fail" for e in evidence):
            evidence += check_property(mutant.statement, instances, profile.mutant_examples,
                                       shrink=False, seed=profile.seed)
        rejecting = next((e.method for e in evidence if e.outcome == "fail"), "")
        detail = f"rejected by {rejecting}" if rejecting else "survives every check"
        return [Evidence(method="mutant", outcome="pass" if rejecting else "fail", target="mutant",
                         name=mutant.name, detail=detail, cases=sum(e.cases for e in evidence),
                         seconds=time.monotonic() - started)]

    return Check(method="mutant", target="mutant", name=mutant.name, limit=profile.check_seconds,
                 run=run)


def _same(one: Statement, other: Statement) -> bool:
    """Whether two statements say the same: by their formulas, or as far as functions can be compared."""

    def said(statement: Statement) -> Any:
        try:
            formula = statement.formula
        except UntraceableError:
            return statement.margin, statement.relation, statement.conditions
        return formula.conclusion, set(formula.hypotheses), formula.beyond

    return bool(said(one) == said(other))
