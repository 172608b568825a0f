"""pytest runs a file of claims: ``pytest my_claims.py``, one test for each `Claim` in it.

A claim passes where ``python -m entropy_theory check`` would say that it holds: the same checks, the
same time limits, in a process of their own. ``--claim-effort full`` searches at length.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--claim-effort``."""
    group = parser.getgroup("entropy-theory", "claims about policy entropy")
    group.addoption("--claim-effort", choices=("quick", "full"), default="quick",
                    help="how hard to attack each claim: quick (seconds, the default) or full")


def pytest_pycollect_makeitem(collector: Any, name: str, obj: Any) -> Any:
    """Make a test of each claim in a module; the package's own claims are not collected."""
    claim_module = sys.modules.get("entropy_theory.verification.claim")
    if claim_module is None or not isinstance(obj, claim_module.Claim):
        return None
    if any(obj is known for known in _claims_of_the_package()):
        return []
    twins = [n for n, other in vars(collector.obj).items()
             if isinstance(other, claim_module.Claim) and other.id == obj.id and other is not obj]
    if twins:
        raise collector.CollectError(
            f"duplicate claim id '{obj.id}' ({name}, {twins[0]}): give each claim its own"
        )
    return ClaimItem.from_parent(collector, name=obj.id, claim=obj)


class ClaimItem(pytest.Item):
    """One claim as a test."""

    def __init__(self, *, claim: Any, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.claim = claim

    def runtest(self) -> None:
        """Check the claim; anything but a verdict that it holds is a failure."""
        from entropy_theory.claim_jobs import ClaimJob, run
        from entropy_theory.verification.check import FULL, QUICK
        from entropy_theory.verification.report import summarize
        from entropy_theory.verification.verdict import HOLDS, derive

        profile = FULL if self.config.getoption("--claim-effort") == "full" else QUICK
        job = ClaimJob(claim_id=self.claim.id, path=str(self.path), profile=profile)
        evidence = run({self.claim.id: job}, processes=1)[self.claim.id]
        verdict = derive(self.claim, evidence)
        summary = summarize(self.claim, evidence, verdict)
        if verdict.statement not in HOLDS:
            raise ClaimFailedError(summary)
        self.add_report_section("call", "verdict", summary)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Show the verdict and the counterexample instead of a traceback."""
        if isinstance(excinfo.value, ClaimFailedError | ValueError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the file and the name under which pytest lists the test."""
        return self.path, None, f"claim {self.claim.id}"


class ClaimFailedError(AssertionError):
    """Raised where the evidence does not say that the claim holds."""


def _claims_of_the_package() -> Iterator[Any]:
    for name, module in list(sys.modules.items()):
        if name.startswith("entropy_theory.claims."):
            yield from vars(module).values()
