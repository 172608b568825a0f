"""Guards pytest_plugin.py: a file of claims runs under pytest, as a user would run it."""

from __future__ import annotations

import subprocess
import sys

from tests.entropy_theory.verification.test_command_line import FALSE_CLAIM, TRUE_CLAIM


def run_pytest(folder, *files):
    run = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *files],
                         capture_output=True, text=True, timeout=300, cwd=folder)
    return run.returncode, run.stdout + run.stderr


def test_a_true_and_a_false_claim(tmp_path):
    """The package's own claims, imported beside, are not run again."""
    (tmp_path / "my_claims.py").write_text(
        TRUE_CLAIM + "from entropy_theory.claims.aepo.equation_6 import equation_6\n"
        + FALSE_CLAIM.replace("at_most_log_n", "too_low"))
    status, out = run_pytest(tmp_path, "my_claims.py")
    assert status == 1
    assert "1 failed, 1 passed" in out
    assert "mine.false-bound: refuted" in out
    assert "fails at weights=(1,1,1)" in out
    assert "Traceback" not in out


def test_tests_without_claims_are_left_alone(tmp_path):
    (tmp_path / "test_own.py").write_text("def test_one():\n    pass\n")
    status, out = run_pytest(tmp_path, "test_own.py", "--claim-effort", "full")
    assert status == 0, out
