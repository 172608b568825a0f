"""Guards support/parent_process.py: nothing goes on working for a process that was killed."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from entropy_theory.support import parent_process

PARENT = (
    "import subprocess, sys, time\n"
    "from entropy_theory.support.parent_process import followed\n"
    "child = subprocess.Popen([sys.executable, '-c', sys.argv[1]], env=followed(),"
    " start_new_session=True)\n"
    "time.sleep(600)\n"
)
COMMAND = (
    "import subprocess, sys, time\n"
    "from entropy_theory.support.user_errors import run_command\n"
    "def main():\n"
    "    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    "    print('started', flush=True)\n"
    "    time.sleep(600)\n"
    "run_command(main)\n"
)


def killed(*arguments, until=b"started\n", number=signal.SIGKILL):
    """Start a process, kill it once it or its child has printed a line, and return its descendants."""
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE)
    assert process.stdout.readline() == until
    below = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    process.wait()
    process.stdout.close()
    return below


def all_ended(processes, seconds=30):
    end = time.monotonic() + seconds
    while any(is_at_work(process) for process in processes) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(is_at_work(process) for process in processes)


def is_at_work(process):
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_command_ends_with_the_one_that_started_it_and_so_does_what_it_started(number):
    below = killed("-c", PARENT, COMMAND, number=number)
    assert len(below) == 2
    assert all_ended(below)


def test_a_parent_that_was_killed_before_anyone_looked_counts_too():
    """Importing takes seconds."""
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                          capture_output=True, text=True).stdout.strip()
    done = subprocess.run([sys.executable, "-c", COMMAND], timeout=60, start_new_session=True,
                          env={**os.environ, parent_process.STARTER: gone}, capture_output=True)
    assert done.returncode == -signal.SIGKILL


def test_what_was_meant_for_another_process_is_passed_over():
    """A script between two commands passes its environment on."""
    quick = ("from entropy_theory.support.user_errors import run_command\n"
             "run_command(lambda: print('done'))")
    between = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {quick!r}], check=True)"
    done = subprocess.run([sys.executable, "-c", between], env=parent_process.followed(),
                          capture_output=True, text=True, timeout=60)
    assert done.stdout == "done\n"
    below = subprocess.run(
        [sys.executable, "-c", "import os\nfrom entropy_theory.support import parent_process\n"
         "parent_process.end_with_starter()\nprint(parent_process.STARTER in os.environ)"],
        env=parent_process.followed(), capture_output=True, text=True, timeout=60)
    assert below.stdout == "False\n", "a process of its own would take it for its starter"


def test_workers_on_claims_end_with_the_command(tmp_path):
    """Here one whose file never comes to an end."""
    claim = tmp_path / "slow_claim.py"
    claim.write_text(
        "import os, pathlib, time\n"
        f"pathlib.Path({str(tmp_path)!r}, str(os.getpid())).touch()\n"
        "if os.environ.get('SLOW'):\n"
        "    time.sleep(600)\n"
    )
    code = (
        "import os, sys, threading, time\n"
        "from pathlib import Path\n"
        "from entropy_theory import claim_jobs\n"
        "from entropy_theory.verification.check import QUICK\n"
        "os.environ['SLOW'] = '1'\n"
        "def told():\n"
        f"    while not list(Path({str(tmp_path)!r}).glob('[0-9]*')):\n"
        "        time.sleep(0.05)\n"
        "    print('started', flush=True)\n"
        "threading.Thread(target=told, daemon=True).start()\n"
        f"job = claim_jobs.ClaimJob(claim_id='slow', path={str(claim)!r}, profile=QUICK)\n"
        "claim_jobs.run({'slow': job}, processes=1)\n"
    )
    below = killed("-c", code)
    worker = int(next(tmp_path.glob("[0-9]*")).name)
    assert worker in [process.pid for process in below]
    assert all_ended(below)
