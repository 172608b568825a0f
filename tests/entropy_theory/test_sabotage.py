"""Every claim is sabotaged by machine, and nothing that is left keeps its verdict."""

from __future__ import annotations

import pytest

from entropy_theory.claims import all_claims
from tests.entropy_theory import sabotage

CLAIMS = all_claims()
TELLING = ("aepo.theorem-4.3b", "entropy-mechanism.lemma-1-state")
"""Claims whose sabotages once kept the verdict, by a hollow proof."""


@pytest.mark.deep
@pytest.mark.parametrize("claim_id", TELLING)
def test_a_changed_statement_loses_its_verdict(claim_id):
    """The kernel's record is of the statement: margin, constants, hypotheses and limits."""
    found = list(sabotage.of_statement(CLAIMS[claim_id]))
    assert {"margin set to 1", "LaTeX changed"} <= {s.kind for s in found}
    accepted = sabotage.ledger.read_accepted()
    for one in found:
        outcome = sabotage.attacked(one, "proved", accepted)
        assert outcome.noticed, (one.kind, one.detail, outcome.said)


def test_a_changed_trusted_file_is_named(tmp_path):
    found = dict(sabotage.of_trusted(tmp_path))
    assert set(found) == {*sabotage.TRUSTED, *sabotage.BESIDE, *sabotage.WRITER}
    for kind, named in found.items():
        assert named, kind


@pytest.mark.deep
def test_no_sabotage_survives(tmp_path):
    outcomes = list(sabotage.sabotage_all(CLAIMS, tmp_path))
    print(sabotage.table(outcomes))
    survivors = [(o.sabotage.claim_id, o.sabotage.kind, o.sabotage.detail, o.said)
                 for o in outcomes if not o.noticed]
    assert survivors == []
