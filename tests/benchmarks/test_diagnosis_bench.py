"""Guards benchmarks/diagnosis: its data and labels agree, its causes are real, its counts are right."""

import dataclasses
import json
from collections import Counter

import numpy as np
import pytest

from benchmarks.diagnosis import judging
from benchmarks.diagnosis.causes import CAUSES, PARTS, cases
from benchmarks.diagnosis.labels import DATA, labels, write_all
from benchmarks.diagnosis.making import make
from benchmarks.diagnosis.plain import shown, silent
from benchmarks.diagnosis.relabelled import logged, write
from benchmarks.diagnosis.runs import Training
from benchmarks.diagnosis.simulated import Simulation, simulated
from entropy_theory.training_logs.logs import read
from tests.daily import one_in

ALL = labels()
NEEDED = {
    "one-sided clip": "clipped_low", "length bonus": "length", "truncation": "truncated",
    "wrong temperature": "mismatch", "stale sampler": "mismatch", "top-p sampler": "mismatch",
    "KL too strong": "kl_reference", "learning rate too high": "learning_rate",
}


def test_the_labels_are_of_the_cases():
    """Nothing about a case may move, and no part may change, after its run was made."""
    by_name = {case.name: case for case in cases()}
    assert [label.name for label in ALL] == list(by_name)
    for label in ALL:
        case = by_name[label.name]
        assert (label.cause, label.part, label.source, label.engine, label.right, label.group) == (
            case.cause, case.part, case.source, case.engine, case.right, case.group)
        plain, own = (json.loads(json.dumps(dataclasses.asdict(run)))
                      for run in (type(case.run)(), case.run))
        assert own == plain | json.loads(label.options) | {"seed": label.seed, "prompts": label.prompts}


def test_every_cause_has_runs_enough_in_every_part():
    counts = Counter((label.cause, label.part) for label in ALL)
    for cause in CAUSES:
        own = {part: counts[cause.name, part] for part in PARTS}
        assert own["tuning"] >= 6, cause.name
        assert own["judging"] >= 5, cause.name
    # Of so many without an alarm Wilson's interval ends below 5 %.
    assert counts["healthy", "judging"] >= 74
    for group in {label.group for label in ALL if label.group}:
        assert len({label.part for label in ALL if label.group == group}) == 1
    assert len({label.engine for label in ALL}) >= 8


@pytest.mark.parametrize("cause", one_in(2, [cause.name for cause in CAUSES]))
def test_every_log_is_read_as_its_engine_s(cause):
    for label in ALL:
        if label.cause != cause:
            continue
        (run,) = read([DATA / label.file])
        assert run.engine == label.engine, label.name
        assert "entropy" in run.series, label.name
        # A reward of 0 at every step might be one that is centred by group.
        centred = any("is 0 at every step" in note for note in run.notes)
        assert "reward" in run.series or centred, label.name
        assert bool(run.restarts) == (cause == "restart"), label.name
        needed = NEEDED.get(cause)
        if needed and logged(label.engine, needed) and label.source == "TRL":
            assert needed in run.series, label.name
        steps = run.series["entropy"].step
        assert len(steps) >= 40, label.name
        assert np.all(np.diff(steps) == 1), label.name


def test_no_file_is_without_a_label_and_the_data_stay_small():
    files = {path.relative_to(DATA).as_posix(): path.stat().st_size for path in DATA.rglob("*.gz")}
    assert set(files) == {label.file for label in ALL}
    assert sum(files.values()) < 1_500_000


def test_a_simulated_run_can_be_made_anew():
    """The committed log is what its options give, to the last digit."""
    case = next(case for case in cases() if case.source == "simulator" and case.cause == "restart")
    label = next(label for label in ALL if label.name == case.name)
    records = simulated(case.run)
    series = judging.log_of(label).series["reward"]
    expected = {record["step"]: float(f"{record['reward']:.5g}") for record in records}
    assert dict(zip(series.step, series.value, strict=True)) == expected
    assert label.shown == tuple(sorted(shown(records)))
    assert not silent(case, records)


@pytest.mark.deep
def test_a_real_injection_can_be_made_anew(tmp_path):
    """Two steps with the sampler at another temperature: the same numbers from the same seed, twice."""
    case = next(case for case in cases() if case.cause == "wrong temperature")
    tiny = dataclasses.replace(case, run=dataclasses.replace(case.run, steps=2, prompts=2, evaluate=0))
    sound = dataclasses.replace(tiny, name="sound", run=dataclasses.replace(tiny.run, sampler=None))
    for folder in ("first", "second"):
        make([tiny, sound], tmp_path / folder)
    first, second = (json.loads((tmp_path / folder / f"{tiny.name}.json").read_text())
                     for folder in ("first", "second"))
    for one, two in zip(first, second, strict=True):
        assert {k: v for k, v in one.items() if k != "step_time"} == {
            k: v for k, v in two.items() if k != "step_time"}
    assert first[0]["sampling/sampling_logp_difference/mean"] > 0.02
    (run,) = read([write(tiny, first, tmp_path)])
    assert len(run.series["mismatch"].value) == 2


@pytest.mark.parametrize(("change", "expected"), [
    ({"reward": "never"}, {"frac_reward_zero_std": 1.0, "reward": 0.0}),
    ({"longest": 3}, {"completions/clipped_ratio": 1.0, "reward": 0.0}),
    ({"longest": 12, "rambling": 1, "trl": {"beta": 2.0}}, {"kl": 0.0}),
])
def test_what_is_made_wrong_is_made_wrong(change, expected):
    from benchmarks.diagnosis.training import train

    (record,) = train(Training(steps=1, prompts=1, **change))
    assert {name: record[name] for name in expected} == pytest.approx(expected, abs=1e-9)


# ------------------------------------------------------------------ counting


def found(*names, alarm=True):
    return [judging.Found((name,), alarm) for name in names]


def test_counts_of_found_first_and_false():
    chosen = [dataclasses.replace(ALL[0], name=str(i), cause="KL too strong", right=("kl",),
                                  shown=("truncation",)) for i in range(4)]
    (counted,) = judging.score(chosen, {
        "0": found("kl"), "1": found("truncation", "kl"), "2": found("collapse"),
        "3": found("converging", alarm=False)})
    assert counted == judging.Score("KL too strong", 4, found=2, first=1, false=1, alarms=3)


def test_a_finding_of_several_names_is_false_only_if_none_is_true():
    chosen = [dataclasses.replace(ALL[0], name="0", cause="healthy", right=(), shown=("truncation",))]
    (counted,) = judging.score(chosen, {"0": [judging.Found(("length drift", "truncation"), True)]})
    assert (counted.false, counted.alarms) == (0, 1)


def test_causes_that_no_rival_has_a_name_for_are_counted_apart():
    chosen = [dataclasses.replace(ALL[0], name=cause, cause=cause, right=(right,))
              for cause, right in (("healthy", ""), ("restart", "restart"), ("KL too strong", "kl"))]
    table = judging.table(chosen, {
        "diagnosis": {"healthy": [], "restart": found("restart"), "KL too strong": []}})
    rows = dict(line.strip("| ").split(" | ", 1) for line in table.splitlines()[2:])
    assert rows["**all causes**"].startswith("1/2 ")
    assert rows["causes that a rival has a name for"].startswith("0/1 ")


def test_the_published_counts_are_those_of_today():
    heard = [label for label in ALL if label.part == "judging" and not label.silent]
    ours = judging.table(heard, {"diagnosis": judging.ours(heard)}).splitlines()[2:]
    published = (DATA.parents[2] / "docs/diagnosis_measured.md").read_text()
    for row in ours:
        assert row.removesuffix("|") in published, row


def test_a_run_that_is_not_made_anew_keeps_its_label(tmp_path):
    some = [case for case in cases() if isinstance(case.run, Simulation)][:3]
    make(some, tmp_path / "raw")
    write_all(some, tmp_path / "raw", tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.glob("*.csv")}
    (tmp_path / "raw" / f"{some[1].name}.json").unlink()
    write_all(some, tmp_path / "raw", tmp_path)
    assert before == {path: path.read_bytes() for path in tmp_path.glob("*.csv")}


def test_interval_of_a_share():
    """Wilson's interval of 9 in 10, as in Newcombe (1998), Table I's method: .596 to .982."""
    assert judging.share(9, 10) == "9/10 (60 to 98 %)"


def test_rivals_are_given_a_log_under_trl_s_names():
    for engine in ("trl", "verl", "slime"):
        label = next(label for label in ALL if label.engine == engine)
        records = judging.records(label)
        assert {"step", "entropy", "grad_norm"} <= set(records[3])
        assert sum("reward" in record for record in records) >= len(records) // 5


def test_everything_is_written_anew_alike(tmp_path):
    some = [case for case in cases() if isinstance(case.run, Simulation)][:3]
    make(some, tmp_path / "raw")
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        write_all(some, tmp_path / "raw", tmp_path / folder)
    one, two = ({path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
                for folder in (tmp_path / "one", tmp_path / "two"))
    assert one == two
    assert [label.name for label in labels(folder=tmp_path / "one")] == [case.name for case in some]
