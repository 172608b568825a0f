"""Checks many claims at once, with one process for each claim and a time limit for each check.

A worker process runs a claim's checks in order and reports each as it starts and ends. A check that
exceeds its limit is killed with its process and recorded as a time-out. A fresh worker goes on with the
next check. So a check that hangs, in SymPy or in a user's margin, can neither stop a run nor count as
passed.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from entropy_theory.support import cores
from entropy_theory.support.parent_process import clean_context, end_with_parent
from entropy_theory.verification.check import Profile
from entropy_theory.verification.claim import Evidence

OnEvidence = Callable[[str, Evidence], None]


@dataclass(kw_only=True, slots=True)
class _Worker:
    """A process at work on one claim, and what it last said."""

    claim_id: str
    process: Any
    connection: Connection
    running: dict[str, Any] | None = None
    deadline: float = float("inf")
    closed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimJob:
    """One claim to check, by reference, so that it can be sent to another process.

    Attributes:
        claim_id: which claim.
        path: the user's file that the claim is in; None for the package's own claims.
        profile: how much work to do.
        accepted_counterexample: the ledger's counterexample, which is re-checked.
    """

    claim_id: str
    path: str | None
    profile: Profile
    accepted_counterexample: dict[str, Any] | None = None


def run(
    jobs: Mapping[str, ClaimJob],
    *,
    processes: int | None = None,
    on_evidence: OnEvidence = lambda claim_id, evidence: None,
) -> dict[str, list[Evidence]]:
    """Check all jobs; returns the evidence by claim id, in the order of ``jobs``.

    Args:
        jobs: by claim id.
        processes: how many run at once; default, one per core.
        on_evidence: called with each piece of evidence as it comes in.

    Raises:
        ValueError: processes below 1.
    """
    processes = processes if processes is not None else cores.usable()
    if processes < 1:
        raise ValueError(f"jobs must be at least 1, got {processes}")
    context = _context(ours=any(job.path is None for job in jobs.values()))
    results: dict[str, list[Evidence]] = {claim_id: [] for claim_id in jobs}
    waiting = [(claim_id, 0) for claim_id in jobs]
    workers: list[_Worker] = []
    try:
        while waiting or workers:
            while waiting and len(workers) < processes:
                claim_id, first = waiting.pop(0)
                workers.append(_start(context, jobs[claim_id], first))
            _listen(workers, results, on_evidence)
            for worker in list(workers):
                follow_up = _retire(worker, results, on_evidence)
                if follow_up is None:
                    continue
                workers.remove(worker)
                if follow_up >= 0:
                    waiting.insert(0, (worker.claim_id, follow_up))
    finally:
        for worker in workers:
            _kill(worker)
    return results


def _listen(
    workers: list[_Worker], results: dict[str, list[Evidence]], on_evidence: OnEvidence
) -> None:
    """Take the messages that are there, waiting at most until the next deadline."""
    nearest = min(worker.deadline for worker in workers)
    patience = min(1.0, max(0.0, nearest - time.monotonic()))
    ready = wait([worker.connection for worker in workers], timeout=patience)
    for worker in workers:
        if worker.connection not in ready:
            continue
        try:
            kind, payload = worker.connection.recv()
        except EOFError:
            worker.closed = True
            continue
        if kind == "start":
            worker.running = payload
            worker.deadline = time.monotonic() + payload["limit"]
        elif kind == "evidence":
            worker.deadline = float("inf")
            results[worker.claim_id] += payload
            for evidence in payload:
                on_evidence(worker.claim_id, evidence)
            worker.running = {"next": worker.running["next"]} if worker.running else None
        elif kind == "end":
            worker.running = {"next": -1}


def _retire(
    worker: _Worker, results: dict[str, list[Evidence]], on_evidence: OnEvidence
) -> int | None:
    """Collect a worker that has ended or exceeded its limit.

    Returns None while the worker is at work, -1 if its claim is finished, and otherwise the number of
    the check at which to resume.
    """
    now = time.monotonic()
    overdue = now > worker.deadline
    if not overdue and not worker.closed:
        return None
    running = worker.running or {"next": 0}
    _kill(worker)
    if running["next"] < 0:
        return -1
    if "limit" not in running:
        # It died between checks or before the first one: nothing sensible is left to run.
        evidence = Evidence(method="search", outcome="error",
                            detail=f"checker process died (exit code {worker.process.exitcode})")
    elif overdue:
        evidence = Evidence(method=running["method"], outcome="timeout", target=running["target"],
                            name=running["name"], seconds=running["limit"],
                            detail=f"killed at its limit of {running['limit']:.0f} s")
    else:
        evidence = Evidence(method=running["method"], outcome="error", target=running["target"],
                            name=running["name"],
                            detail=f"checker process died (exit code {worker.process.exitcode})")
    results[worker.claim_id].append(evidence)
    on_evidence(worker.claim_id, evidence)
    return running["next"] if "limit" in running else -1


def _start(context: Any, job: ClaimJob, first: int) -> _Worker:
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(job, first, theirs), daemon=True)
    process.start()
    theirs.close()
    return _Worker(claim_id=job.claim_id, process=process, connection=ours)


def _kill(worker: _Worker) -> None:
    if worker.process.is_alive():
        worker.process.kill()
    worker.process.join()
    worker.connection.close()


def _work(job: ClaimJob, first: int, connection: Connection) -> None:
    """Run a claim's checks in a worker process, from check number ``first`` on."""
    from entropy_theory.claims import all_claims, claims_in_file
    from entropy_theory.verification.check import checks, run_check

    end_with_parent()
    claims = all_claims() if job.path is None else claims_in_file(job.path)
    plan = checks(claims[job.claim_id], job.profile,
                  accepted_counterexample=job.accepted_counterexample)
    for index, check in enumerate(plan[first:], start=first):
        connection.send(("start", {"method": check.method, "target": check.target,
                                   "name": check.name, "limit": check.limit, "next": index + 1}))
        connection.send(("evidence", [_sendable(e) for e in run_check(check)]))
    connection.send(("end", None))
    connection.close()


def _sendable(evidence: Evidence) -> Evidence:
    return dataclasses.replace(evidence, cases=int(evidence.cases), seconds=float(evidence.seconds))


def _context(*, ours: bool) -> Any:
    """Return the way to start processes; ``ours``: some of the claims to check are the package's."""
    # Else Hypothesis would leave a folder in the one that the command was called from.
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(cache / "policy-entropy" / "hypothesis"))
    preload = ["entropy_theory.verification.check", "scipy.optimize", "hypothesis", "flint"]
    if ours:
        from entropy_theory.claims import module_names

        # A worker a claim is cheap only if nothing is left to import in it. A user's file holds few
        # claims, most of them without the symbolic proofs that these are for.
        preload += [*module_names(), "sympy"]
    return clean_context([*preload, "entropy_theory.verification.prepared"])
