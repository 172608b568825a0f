"""The accepted ledger, docs/ledger.md and the claims are of one mind."""

from __future__ import annotations

from pathlib import Path

from entropy_theory.claims import all_claims
from entropy_theory.verification import ledger
from entropy_theory.verification.certify import check_instance
from entropy_theory.verification.instances import from_json

CLAIMS = all_claims()
ACCEPTED = ledger.read_accepted()
PAGE = Path(__file__).parents[3] / "docs" / "ledger.md"


def test_every_claim_has_an_accepted_verdict():
    assert set(ACCEPTED) == set(CLAIMS)
    assert all(record["verdict"] != "undecided" for record in ACCEPTED.values())


def test_the_page_is_what_the_command_prints():
    assert PAGE.read_text() == ledger.markdown(CLAIMS, ACCEPTED), (
        "run: python -m entropy_theory table --output docs/ledger.md")


def test_accepted_counterexamples_are_violations():
    """Re-checked in ball arithmetic, by code that did not find them."""
    for claim_id, record in ACCEPTED.items():
        if record["counterexample"]:
            data = {k: v for k, v in record["counterexample"].items() if k != "margin_interval"}
            found = check_instance(CLAIMS[claim_id].statement, from_json(data))
            assert found.status == "violated", claim_id


def test_a_claim_is_found_by_the_name_of_its_file():
    """A newcomer finds Theorem 4.3 by file name; a file may hold the parts of one statement."""
    files = {p.stem for p in ledger.accepted_path().parent.glob("*/*.py")}
    starts = {"_".join(i.split(".", 1)[1].replace("-", "_").replace(".", "_").split("_")[:2])
              for i in CLAIMS}
    assert [s for s in starts if not any(f.startswith(s) or s.startswith(f) for f in files)] == []
