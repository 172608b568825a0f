"""The accepted ledger, docs/ledger.md and the claims are of one mind."""

from __future__ import annotations

from pathlib import Path

import pytest

from entropy_theory.claims import all_claims
from entropy_theory.verification import ledger
from entropy_theory.verification.certify import check_instance
from entropy_theory.verification.instances import from_json

CLAIMS = all_claims()
ACCEPTED = ledger.read_accepted()
PAGE = Path(__file__).parents[3] / "docs" / "ledger.md"


def test_every_claim_has_an_accepted_verdict_and_two_mutants():
    assert set(ACCEPTED) == set(CLAIMS)
    assert all(record["verdict"] != "undecided" for record in ACCEPTED.values())
    few = [i for i, claim in CLAIMS.items() if len(claim.mutants) < 2]
    assert not few


def test_the_page_is_what_the_command_prints():
    assert PAGE.read_text() == ledger.markdown(CLAIMS, ACCEPTED), (
        "run: python -m entropy_theory table --output docs/ledger.md")


@pytest.mark.parametrize("claim_id", [i for i, r in ACCEPTED.items() if r["counterexample"]])
def test_accepted_counterexamples_are_violations(claim_id):
    """Re-checked in ball arithmetic, by code that did not find them."""
    data = {k: v for k, v in ACCEPTED[claim_id]["counterexample"].items() if k != "margin_interval"}
    assert check_instance(CLAIMS[claim_id].statement, from_json(data)).status == "violated"


@pytest.mark.parametrize("claim_id", CLAIMS)
def test_a_claim_is_found_by_the_name_of_its_file(claim_id):
    """A newcomer finds Theorem 4.3 by file name; a file may hold the parts of one statement."""
    name = claim_id.split(".", 1)[1]
    files = {p.stem for p in ledger.accepted_path().parent.glob("*/*.py")}
    start = "_".join(name.replace("-", "_").replace(".", "_").split("_")[:2])
    assert any(f.startswith(start) or start.startswith(f) for f in files), (
        f"no file is named after {claim_id}")
