"""Guards the verdicts on public runs: what a careful look at each saw, before the tool was run on it.

The numbers are in public_runs/, with their sources.
"""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import public_growth
from diagnosis import diagnose
from diagnosis.findings import Finding
from entropy_theory.training_logs.logs import from_records, read
from tests.diagnosis.runs import run as made

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).parent / "public_runs"

EXPECTED = {
    # Training reward climbs to .98, held-out stays near .69 from early on.
    "deepseek7b-gsm8k-grpo.csv": {"held-out apart"},
    # The same gap, but the held-out score goes on rising slowly: either may come first.
    "deepseek7b-gsm8k-ppo.csv": {"converging", "held-out apart"},
    # Responses three times as long and half of them cut; length and truncation are one event.
    "qwen2-7b-gsm8k-math-gpg.csv": {"truncation", "length drift"},
    "qwen2.5-0.5b-gsm8k-ppo-long.csv": {"converging"},
}


def diagnosed(name):
    (found,) = read([DATA / name])
    return diagnose(found)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_first_finding_is_what_a_careful_look_sees(name):
    assert diagnosed(name).findings[0].name in EXPECTED[name]


def test_answers_that_grow_at_step_156_are_dated_and_dilute():
    """Entropy per token falls by more than half there, per response it rises from 6.5 to 7.9 nats."""
    found = {one.name: one for one in diagnosed("qwen2-7b-gsm8k-math-gpg.csv").findings}
    for name in ("truncation", "length drift", "dilution"):
        assert 154 <= found[name].begin <= 158
        assert found[name].begin_high - found[name].begin_low <= 4
    assert "collapse" not in found
    assert "held-out apart" in found
    assert "training reward" in found["truncation"].against[0]
    # Entropy begins near .31 and is at .03 before responses grow: length explains the last tenth alone.
    assert found["dilution"].against[0].startswith("most of the fall came before, from 0.306 nats")
    assert found["truncation"].remedies[0].option.startswith("data.max_response_length")


def test_the_part_of_a_gain_that_reaches_the_held_out_score_is_given():
    """From step 20 on reward goes from .811 to .968 and held-out score from .648 to .695."""
    (apart,) = (one for one in diagnosed("deepseek7b-gsm8k-grpo.csv").findings)
    assert apart.against == ("the held-out score rises, too, by 30 % of the gain in training",)


def seen():
    """Each run that was looked at, with what was seen in it."""
    with (DATA / "seen.csv").open(newline="") as file:
        looked = list(csv.DictReader(file))
    records = {}
    for log in {one["log"] for one in looked}:
        with (DATA / log).open(newline="") as file:
            for row in csv.DictReader(file):
                records.setdefault((log, row.pop("run", "")), []).append(row)
    return [(one, records[one["log"], one["run"]]) for one in looked]


def agrees(looked, records):
    (found,) = from_records(records, looked["log"])
    names = {one.name for one in diagnose(found).findings}
    wanted = [set(one.split("|")) for one in looked["found"].split(";")]
    return all(one & names for one in wanted) and not names & set(looked["not"].split("|"))


def test_on_most_of_36_runs_the_tool_sees_what_was_seen_before_it_was_run():
    """None was mended by itself: these runs measure, and what is missed is on the page."""
    runs = seen()
    assert len(runs) == 36
    agreed = sum(agrees(*run) for run in runs)
    page = (ROOT / "docs" / "how_to" / "diagnose.md").read_text(encoding="utf-8")
    assert agreed == int(re.search(r"agrees\s+on\s+(\d+)\s+of\s+36", page)[1])
    broken = [run for run in runs if "converging" in run[0]["not"]]
    said = re.search(r"on\s+(\d+)\s+of\s+the\s+(\d+)\s+in\s+which", page)
    assert (sum(agrees(*run) for run in broken), len(broken)) == (int(said[1]), int(said[2]))
    assert not any(diagnose(from_records(records, one["log"])[0]).healthy for one, records in broken)


def test_growth_is_found_in_no_other_public_run():
    """Entropy falls in most of them, or grows as reward is lost."""
    others = [from_records(records, one["log"])[0] for one, records in seen()]
    others += [read([DATA / name])[0] for name in EXPECTED]
    assert len(others) == 40
    assert not any(one.name == "growth" for run in others for one in diagnose(run).findings)


LEVELS = {
    # Entropy falls as the held-out score rises, and stays down.
    ("GSM8K", 0.5): "converging", ("GSM8K", 1.5): "converging", ("MATH", 0.5): "converging",
    ("MATH", 1.5): "converging", ("MATH", 3): "converging", ("MATH", 7): "converging",
    ("MATH", 14): "converging",
    # It surges and falls to its lowest while the score dips: missed, the levels are too coarse.
    ("MATH", 72): "not enough",
    # It grows to the end, long after the held-out score has stopped rising.
    ("GSM8K", 3): "growth", ("GSM8K", 7): "growth", ("GSM8K", 14): "growth",
    ("GSM8K", 32): "growth", ("GSM8K", 72): "growth", ("MATH", 32): "growth",
}


@pytest.mark.parametrize("run", LEVELS, ids=str)
def test_the_sign_of_entropy_and_score_is_not_assumed(run):
    """One recipe, and with size entropy first falls and then grows; levels of each run's range.

    No token is clipped in any of them, and the KL of each step is 0 in every line that was read.
    """
    row = public_growth.levels().set_index(["task", "billions"]).loc[run]
    entropy, score = (0.1 + row[name] / 10 for name in ("entropy_levels", "validation_levels"))
    every = np.linspace(0, len(entropy) - 1, len(score)).round().astype(int)
    still = {"clipped": np.zeros(len(entropy)), "kl_step": np.zeros(len(entropy))}
    whole = made({"entropy": entropy, "score": np.interp(np.arange(len(entropy)), every, score), **still})
    first: Finding = diagnose(whole).findings[0]
    assert first.name == LEVELS[run]


def test_the_collapse_of_the_page_is_one_of_the_33_runs():
    rows = (DATA / "qwen2.5-7b-gsm8k-grpo-33-runs.csv").read_text().splitlines()
    alone = (DATA / "qwen2.5-7b-gsm8k-grpo-collapse.csv").read_text().splitlines()
    assert ["run," + alone[0], *("best-static-42," + row for row in alone[1:])] == [
        row for row in rows if row.startswith(("run,", "best-static-42,"))]


def test_the_page_shows_what_the_command_says():
    """Each block of the page that names a log holds the sentence about it, whole."""
    page = (ROOT / "docs" / "how_to" / "diagnose.md").read_text(encoding="utf-8")
    shown = re.findall(r"```text\npolicy-entropy diagnose (\S+)\n(.*?)```", page, re.DOTALL)
    assert len(shown) == 3
    for log, sentence in shown:
        (found,) = read([ROOT / log])
        assert diagnose(found).sentence == " ".join(sentence.split())
