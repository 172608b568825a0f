"""Processes: a hanging or dying check is reported, and the checks after it still run."""

from __future__ import annotations

import dataclasses

from entropy_theory.claim_jobs import ClaimJob, run
from tests.entropy_theory.verification import planted

TROUBLE = '''
import os, time
from entropy_theory.verification import Claim, Reading, Statement, Step, bandit_instances
from entropy_theory.verification import arithmetic as ar

def hang():
    time.sleep(1000)

def die():
    os._exit(3)

def stumble():
    raise RuntimeError("stumbled")

def step(name, check):
    return Step(name=name, statement="", method="experiment", check=check)

claim = Claim(
    id="mine.trouble", source="a test", title="checks that misbehave",
    reading=Reading("inferred"),
    statement=Statement(latex="H >= 0", margin=lambda i: ar.entropy(i.logits)),
    experiments=(step("hangs", hang), step("dies", die), step("stumbles", stumble),
                 step("last", lambda: ("pass", ""))),
    instances=bandit_instances(actions=(2, 3), correct=False),
)
'''


def test_trouble_is_reported_and_the_rest_goes_on(tmp_path):
    path = tmp_path / "trouble.py"
    path.write_text(TROUBLE)
    # The limit of a step is 1.5 times its own plus 10 seconds: a negative value makes it 1 second.
    profile = dataclasses.replace(planted.TINY, step_seconds=-6.0)
    seen = []
    evidence = run({"mine.trouble": ClaimJob(claim_id="mine.trouble", path=str(path), profile=profile)},
                   processes=1, on_evidence=lambda claim_id, e: seen.append(e))["mine.trouble"]
    by_name = {e.name: e for e in evidence if e.target == "experiment"}
    assert by_name["hangs"].outcome == "timeout"
    assert "killed at its limit of 1 s" in by_name["hangs"].detail
    assert by_name["dies"].outcome == "error"
    assert "exit code 3" in by_name["dies"].detail
    assert by_name["stumbles"].outcome == "error"
    assert "stumbled" in by_name["stumbles"].detail
    assert by_name["last"].outcome == "pass"
    assert {e.method for e in evidence} >= {"search", "property", "mutant"}
    assert seen == evidence
