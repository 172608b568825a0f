"""Guards pytest_plugin.py: a file of claims runs under pytest, as a user would run it."""

from __future__ import annotations

import subprocess
import sys

from tests.entropy_theory.verification.test_command_line import FALSE_CLAIM, TRUE_CLAIM


def test_a_true_and_a_false_claim_beside_a_test(tmp_path):
    """The package's own claims, imported beside, are not run again, and tests are left alone."""
    (tmp_path / "my_claims.py").write_text(
        TRUE_CLAIM + "from entropy_theory.claims.aepo.equation_6 import equation_6\n"
        + FALSE_CLAIM.replace("at_most_log_n", "too_low"))
    (tmp_path / "test_own.py").write_text("def test_one():\n    pass\n")
    files = ("my_claims.py", "test_own.py", "--claim-effort", "quick")
    run = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *files],
                         capture_output=True, text=True, timeout=300, cwd=tmp_path)
    out = run.stdout + run.stderr
    assert run.returncode == 1
    assert "1 failed, 2 passed" in out
    assert "mine.false-bound: refuted" in out
    assert "fails at weights=(1,1,1)" in out
    assert "Traceback" not in out
