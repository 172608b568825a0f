"""The commands as a user types them."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import pytest

from entropy_theory import __main__ as main

TRUE_CLAIM = '''
from entropy_theory.verification import Claim, Reading, Statement, bandit_instances
from entropy_theory.verification import arithmetic as ar

at_most_log_n = Claim(
    id="mine.entropy-bound", source="textbook", title="Entropy is at most log n",
    reading=Reading("literal", "entropy is at most log n", "page 1"),
    statement=Statement(
        latex=r"$H(\\\\pi) \\\\le \\\\log n$",
        margin=lambda i: ar.log_of(i.logits.shape[-1], like=i.logits) - ar.entropy(i.logits),
    ),
    instances=bandit_instances(actions=(2, 4), correct=False),
)
'''
FALSE_CLAIM = TRUE_CLAIM.replace("log_of(i.logits.shape[-1]", "log_of(2").replace(
    "mine.entropy-bound", "mine.false-bound")
VACUOUS = TRUE_CLAIM.replace("import Claim,", "import Claim, Condition,").replace(
    "    ),\n    instances",
    "        conditions=(Condition(latex='never', value=lambda i: -1 + 0 * i.logits[..., 0]),),\n"
    "    ),\n    instances")
# 1 / 0 where there are a hundred actions or more.
PARTLY = TRUE_CLAIM.replace(
    "margin=lambda i:", "margin=lambda i: 1 / float(i.logits.shape[-1] < 100) - 1 +")
NAN = TRUE_CLAIM.replace("- ar.entropy(i.logits)", "* float('nan') * i.logits[..., 0]")


def test_list_is_one_line_a_claim():
    """In a process of its own, as a user starts it."""
    shown = subprocess.run([sys.executable, "-m", "entropy_theory", "claims"],
                           capture_output=True, text=True, timeout=300)
    status, out = shown.returncode, shown.stdout
    assert status == 0
    lines = out.splitlines()
    assert any(line.startswith("aepo.theorem-4.3b\t") and "Theorem 4.3" in line for line in lines)
    assert len(lines) == len({line.split()[0] for line in lines})


def test_verify_some(command, tmp_path):
    target = tmp_path / "deep" / "ledger.json"
    status, out, _ = command("verify", "aepo.equation-5", "aepo.corollary-4.4-high", "--quick",
                             "--json", target, "--jobs", 2)
    assert status == 0, out
    assert "agree with the accepted ledger" in out
    ledger = json.loads(target.read_text())
    assert set(ledger) == {"provenance", "claims"}
    assert [c["verdict"] for c in ledger["claims"]] == ["proved", "true with a hypothesis"]
    assert sum(ledger["claims"][1]["counterexample"]["weights"]) <= 8


def test_an_unknown_claim_names_the_nearest(command):
    status, _, err = command("verify", "aepo.lema-4.1")
    assert status == 2
    assert "aepo.lemma-4.1" in err
    assert "Traceback" not in err


def test_a_claim_is_checked_again(command):
    status, out, _ = command("claims", "aepo.lemma-4.1", "--recheck")
    assert status == 0
    for expected in ("proved", "scope:", "formula:", "Proof kernel", "Definition statement", "assumes:",
                     "Mutants", "rejected by"):
        assert expected in out


def test_a_statement_is_printed_with_the_theorems_beside_it(command):
    status, out, _ = command("statement", "aepo.corollary-4.4-low")
    assert status == 0
    for expected in ("Definition repair : Prop", "Definition relative_decrease_near_one : Prop"):
        assert expected in out


def test_a_claim_is_shown_from_the_accepted_ledger(command, monkeypatch):
    """On a core install the README's first example ended with status 2; with SymPy it took a search."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(main, "run", lambda *_, **__: pytest.fail("a check was run"))
    status, out, _ = command("claims", "aepo.theorem-4.3b")
    assert status == 0
    for expected in ("the accepted ledger's verdict", "verdict proved", "formula:"):
        assert expected in out
    assert "Evidence" not in out
    assert not set("\\{}$") & set(out.partition("Proof kernel")[0])


def test_what_was_judged_and_searched_is_printed_and_kept(command, tmp_path):
    path, target = tmp_path / "my_claims.py", tmp_path / "found.json"
    path.write_text(TRUE_CLAIM.replace("at most log n", "at least log n"))
    status, out, _ = command("check", path, "--quick", "--json", target)
    assert status == 0
    for expected in ("says          H(", "judged        log", "searched      2 to 16", "151,936 actions"):
        assert expected in out
    (record,) = json.loads(target.read_text())["claims"]
    assert record["judged"][-1] == "for all n ≥ 2"
    assert "30 Hypothesis" in record["searched"]
    assert record["left_open"] == ""


@pytest.mark.parametrize(
    ("text", "status", "expected"),
    [
        (PARTLY, 1, "no counterexample found"),
        (TRUE_CLAIM, 0, "verified"),
        (FALSE_CLAIM, 1, "weights=(1,1,1)"),
        (VACUOUS, 2, "vacuous"),
        (NAN, 2, "NaN at"),
        (TRUE_CLAIM.replace("i.logits", "i.logit"), 2, "no field 'logit'"),
        (TRUE_CLAIM + TRUE_CLAIM.replace("at_most_log_n", "again"), 2,
         "duplicate claim id 'mine.entropy-bound'"),
        ("x = 1", 2, "no claim"),
        ("1 / 0", 2, "ZeroDivisionError"),
        (TRUE_CLAIM + "raise SystemExit(0)", 2, "SystemExit"),
    ],
    ids=["partly", "true", "false", "vacuous", "nan", "misspelt", "duplicate", "empty", "broken",
         "exits"],
)
def test_check_a_file(command, tmp_path, text, status, expected):
    path = tmp_path / "my_claims.py"
    path.write_text(text)
    found, out, err = command("check", path, "--quick")
    assert found == status, out + err
    assert expected in out + err
    assert "Traceback" not in err
