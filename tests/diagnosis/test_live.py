"""Guards diagnosis/live: what is said while a run goes on, when, and how the command ends."""

import json
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from diagnosis import diagnose
from diagnosis import live as watching
from diagnosis.live import Verdicts, watch
from entropy_theory.training_logs import logs
from tests.kills import interruptible


def run_that_breaks(count=200, at=100, seed=0):
    """Healthy up to a step; then responses grow to the limit and are cut."""
    random = np.random.default_rng(seed)
    for step in range(1, count + 1):
        late = max(0, min(1, (step - at) / 10))
        yield {
            "step": step, "actor/entropy": 0.5 * step**-0.3 + 0.005 * random.random(),
            "critic/score/mean": 0.8 - 0.4 * step**-0.4 + 0.02 * random.random(),
            "response_length/mean": 200 + 400 * late + 5 * random.random(),
            "response_length/clip_ratio": 0.002 * random.random() + 0.5 * late,
        }


def test_a_verdict_is_told_when_it_changes_and_only_then():
    verdicts = Verdicts("this run", every=10)
    said = {step: text for step, record in enumerate(run_that_breaks(), 1)
            if (text := verdicts.add(record)) is not None}
    assert all(step % 10 == 0 for step in said)
    assert len(said) <= 8
    assert not any("Truncation" in text for step, text in said.items() if step <= 100)
    first = min(step for step, text in said.items() if "runcation" in text)
    assert 110 <= first <= 140
    assert re.match(rf"step {first}: .*truncation.* Change ", said[first], flags=re.S | re.I)


def test_the_words_are_those_of_a_diagnosis_of_the_whole_log(tmp_path):
    records = list(run_that_breaks())
    verdicts = Verdicts("metrics.jsonl", every=200)
    (said,) = filter(None, map(verdicts.add, records))
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    (run,) = logs.read([tmp_path / "metrics.jsonl"])
    assert diagnose(run).sentence in said
    assert verdicts.found.findings == diagnose(run).findings


def test_records_so_far_count_after_a_resumption():
    records = list(run_that_breaks())
    resumed = Verdicts("this run", every=10, records=records[:199])
    assert "runcation" in resumed.add(records[199])
    with pytest.raises(ValueError, match="every must be a whole number of at least 1, got 0"):
        Verdicts("this run", every=0)


def test_an_entropy_that_ends_changes_the_verdict():
    """Two steps without a number are enough; a held-out score may have none between evaluations."""
    verdicts = Verdicts("this run", every=1)
    said = {}
    for record in run_that_breaks(40):
        broken = {"actor/entropy": float("nan")} if record["step"] > 30 else {}
        apart = {"val-core/x/acc/mean@1": 0.5 if record["step"] % 10 == 0 else float("nan")}
        if (text := verdicts.add(record | broken | apart)) is not None:
            said[record["step"]] = text
    assert [step for step, text in said.items() if "Not finite" in text] == [32]
    assert "from step 31 on, actor/entropy is not finite" in said[32]
    assert verdicts.found.has({"any"})


def test_records_without_numbers_say_nothing():
    verdicts = Verdicts("this run", every=1)
    assert verdicts.add({"step": 1, "note": "begun"}) is None
    assert verdicts.found is None


# ------------------------------------------------------------------ the command


def write(path, records):
    with path.open("a") as log:
        log.writelines(json.dumps(one) + "\n" for one in records)


def test_a_growing_log_is_followed_until_a_finding(tmp_path, capsys, monkeypatch):
    log, records = tmp_path / "run.jsonl", list(run_that_breaks())
    parts = [records[:60], records[60:90], [], records[90:160]]

    def grow(seconds):
        assert seconds == 0.5
        write(log, parts.pop(0))

    monkeypatch.setattr(watching.time, "sleep", grow)
    assert watch((log,), every=0.5, fail_on=("truncation",)) == 1
    assert parts == []
    out, err = capsys.readouterr()
    assert err.count("waiting: ") == 1  # there was no file at first
    lines = out.strip().splitlines()
    assert lines[-1].startswith("step 160: ")
    assert "runcation" in lines[-1]
    assert lines[0].startswith("step 60: ")
    assert not any("runcation" in line for line in lines[:-1])


def test_once_looks_once(tmp_path, capsys):
    log = tmp_path / "run.jsonl"
    with pytest.raises(ValueError, match="no such file"):
        watch((log,), once=True)
    write(log, run_that_breaks(60))
    assert watch((log,), once=True, fail_on=("truncation",)) == 0
    write(log, list(run_that_breaks())[60:])
    assert watch((log,), once=True) == 0
    assert watch((log,), once=True, fail_on=("any",)) == 1
    assert capsys.readouterr().out.count("\n") == 3


@pytest.mark.parametrize(("arguments", "said"), [
    ({"fail_on": ("colapse",)}, "unknown finding 'colapse'"),
    ({"every": 0.0}, "every must be above 0 seconds"),
])
def test_what_cannot_be_watched_is_refused(tmp_path, arguments, said):
    with pytest.raises(ValueError, match=said):
        watch((tmp_path / "x",), **arguments)


def test_standard_input_and_no_log_are_refused():
    with pytest.raises(ValueError, match="standard input cannot be read again"):
        watch((watching.Path("-"),))
    with pytest.raises(ValueError, match="name the log of a run"):
        watch(())


def test_an_interrupt_ends_it_cleanly(tmp_path):
    """Also where the tests themselves run in the background, which makes programs ignore interrupts."""
    log = tmp_path / "run.jsonl"
    write(log, run_that_breaks(60))
    with subprocess.Popen(
            interruptible(sys.executable, "-m", "policy_entropy", "watch", str(log), "--every", "0.1"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().startswith("step 60: ")
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "watching ended\n")
