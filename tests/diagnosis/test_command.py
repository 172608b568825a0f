"""Guards `policy-entropy diagnose`: its sentence, screen, JSON, exit status and errors."""

import json
from pathlib import Path

import numpy as np
import pytest

from diagnosis.command import diagnose
from diagnosis.findings import SCHEMA
from diagnosis.text import WIDTH
from tests.diagnosis.runs import COLUMNS, healthy, late

COLUMN = {name: column for name, column in COLUMNS.items() if name in healthy(0)}

OF_ENGINES = {
    "trl": {"entropy": "entropy", "reward": "reward", "length": "completions/mean_length",
            "truncated": "completions/clipped_ratio", "gradient_norm": "grad_norm"},
    "openrlhf": {"entropy": "entropy_loss", "reward": "reward", "length": "response_length",
                 "truncated": "truncated", "gradient_norm": "actor_grad_norm"},
}


def growing():
    series = healthy(0)
    series["length"] = late(series["length"], 3)
    series["truncated"] = series["truncated"] + late(np.full(200, 0.01), 40) - 0.01
    return series


def written(path, series, **more):
    """A file log of verl's: a record per step."""
    steps = len(series["entropy"])
    rows = [{"step": step + 1, "data": {COLUMN[name]: value[step] for name, value in series.items()}
             | {name: value[step] for name, value in more.items()}} for step in range(steps)]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def test_a_run_is_on_a_screen(tmp_path, capsys):
    assert diagnose((written(tmp_path / "a.jsonl", growing()),)) == 0
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert "in the columns of verl" in lines[0]
    assert lines[2].startswith("Length drift: from step 12")
    assert len(lines) <= 60
    assert max(map(len, lines)) <= WIDTH
    for part in ("data.max_response_length", "phases", "actor/entropy", "not in the log",
                 # An option is not cut where it would no longer be one.
                 "+reward.reward_kwargs.overlong_buffer_cfg.enable=True\n"):
        assert part in text
    assert text.count("See docs/how_to/diagnose.md") == 1
    assert text.count("the share cut at the limit goes from") == 1


def test_several_runs_stand_side_by_side(tmp_path, capsys):
    logs = tuple(written(tmp_path / f"{name}.jsonl", series)
                 for name, series in (("a", growing()), ("b", healthy(1))))
    assert diagnose(logs) == 0
    text = capsys.readouterr().out
    head, first, second, *_ = text.splitlines()
    assert head.split() == ["entropy", "reward", "length", "score", "truncated", "findings"]
    assert "truncation" in first
    assert second.endswith("converging")
    assert text.index("a.jsonl: Length drift") < text.index("b.jsonl: Converging")


def test_notes_stand_beside_several_runs_too(tmp_path, capsys):
    broken = healthy(0)
    broken["entropy"][150:] = np.nan
    diagnose((written(tmp_path / "a.jsonl", broken), written(tmp_path / "b.jsonl", healthy(1))))
    assert "   note: 50 values of 'actor/entropy' are not finite" in capsys.readouterr().out


def test_the_json_has_a_schema_and_every_run(tmp_path, capsys):
    file = tmp_path / "found.json"
    diagnose((written(tmp_path / "a.jsonl", growing()),), json=file)
    found = json.loads(file.read_text())
    assert found["schema"] == 1
    (only,) = found["runs"]
    assert only["engine"] == "verl"
    assert not only["healthy"]
    assert only["taken"]["entropy"]["column"] == "actor/entropy"
    assert only["findings"][0]["remedies"][0]["at"].startswith("verl/")


FIELDS = {
    "schema": int, "healthy": bool, "run": str, "engine": str, "sentence": str, "notes": [str],
    "phases": [{"begin": float, "end": float, "begin_low": float, "begin_high": float, "trend": {
        str: {"first": float, "last": float, "direction": int, "p": float}}}],
    "findings": [{
        "name": str, "confidence": float, "begin": (float, None), "begin_low": (float, None),
        "begin_high": (float, None), "evidence": [str], "against": [str],
        "remedies": [{"option": str, "size": str, "cost": str, "page": str, "at": str}]}],
    "missing": [{"quantity": str, "setting": str}],
    "taken": {str: {"column": str, "first": float, "last": float, "points": int, "runners_up": [str]}},
    "parts": {str: float},
}
"""The schema 1, as docs/how_to/diagnose.md has it."""


def assert_is(value, schema):
    if isinstance(schema, dict):
        named = str not in schema
        if named:
            assert set(value) == set(schema)
        for name, one in value.items():
            assert_is(one, schema[name] if named else schema[str])
    elif isinstance(schema, list):
        for one in value:
            assert_is(one, schema[0])
    elif isinstance(schema, tuple):
        assert value is None or isinstance(value, schema[0])
    else:
        assert isinstance(value, (float, int) if schema is float else schema), (value, schema)


def test_the_json_has_the_fields_of_its_schema_and_no_others(tmp_path):
    """A program that reads schema 1 goes on reading: a field that changes needs another number."""
    diagnose((written(tmp_path / "a.jsonl", growing()), written(tmp_path / "b.jsonl", healthy(1))),
             json=tmp_path / "found.json")
    found = json.loads((tmp_path / "found.json").read_text())
    assert set(found) == {"schema", "provenance", "runs"}
    assert found["schema"] == SCHEMA == 1
    for one in found["runs"]:
        assert_is(one, FIELDS)
    for part in ("phases", "findings", "missing", "taken"):  # none is judged by being empty
        assert found["runs"][0][part]
    page = (Path(__file__).parents[2] / "docs" / "how_to" / "diagnose.md").read_text()
    described = page.partition("`--json FILE`")[2].partition("```")[0]
    for field in FIELDS:
        assert f"`{field}`" in described


@pytest.mark.parametrize(("fail_on", "status"), [
    ((), 0), (("any",), 1), (("truncation",), 1), (("collapse", "explosion"), 0),
    (("kl", "dilution", "truncation"), 1),
])
def test_the_exit_status_is_for_continuous_integration(tmp_path, fail_on, status):
    assert diagnose((written(tmp_path / "a.jsonl", growing()),), fail_on=fail_on) == status
    assert diagnose((written(tmp_path / "b.jsonl", healthy(1)),), fail_on=fail_on) == 0


def test_bad_input_is_one_line(tmp_path):
    empty = tmp_path / "empty.log"
    empty.write_text("nothing of training\n")
    for logs, options, message in (
            ((empty,), {}, "holds no numbers of training"),
            ((tmp_path / "no.log",), {}, "no.log"),
            ((), {}, "name a training log"),
            ((empty,), {"fail_on": ("colapse",)}, "did you mean collapse"),
            ((written(tmp_path / "a.jsonl", healthy(0)),), {"entropy": "entrpy"}, "unknown column")):
        with pytest.raises(ValueError, match=message) as caught:
            diagnose(logs, **options)
        assert "\n" not in str(caught.value)


def test_columns_can_be_named(tmp_path, capsys):
    other = 2 + 0.1 * np.sin(np.arange(200))
    diagnose((written(tmp_path / "a.jsonl", healthy(0), mine=other),), entropy="mine")
    assert "mine  2 ..." in capsys.readouterr().out


def test_times_and_repeated_steps_change_no_verdict(tmp_path):
    """A wall clock that is later by a day, and records that a resumed writer wrote twice."""
    series = growing()
    clock = np.arange(200.0)
    verdicts = []
    for name, more in (("a", {}), ("b", {"timing_s/reward": clock, "perf/time_per_step": clock + 86400})):
        file = written(tmp_path / f"{name}.jsonl", series, **more)
        diagnose((file,), json=tmp_path / "found.json")
        verdicts.append(json.loads((tmp_path / "found.json").read_text())["runs"][0]["findings"])
    lines = (tmp_path / "a.jsonl").read_text().splitlines()
    (tmp_path / "a.jsonl").write_text("\n".join(line for line in lines for _ in range(2)))
    diagnose((tmp_path / "a.jsonl",), json=tmp_path / "found.json")
    verdicts.append(json.loads((tmp_path / "found.json").read_text())["runs"][0]["findings"])
    assert verdicts[0] == verdicts[1] == verdicts[2]


def test_steps_that_are_missing_change_no_verdict(tmp_path):
    """Every seventh record is lost."""
    found = []
    for series in (growing(), healthy(1)):
        file = written(tmp_path / "a.jsonl", series)
        lines = file.read_text().splitlines()
        for kept in (lines, [line for place, line in enumerate(lines) if place % 7]):
            file.write_text("\n".join(kept))
            diagnose((file,), json=tmp_path / "found.json")
            (run,) = json.loads((tmp_path / "found.json").read_text())["runs"]
            found.append([one["name"] for one in run["findings"]])
    assert found[0] == found[1] != found[2] == found[3]


@pytest.mark.parametrize("engine", OF_ENGINES)
def test_another_engine_s_names_change_no_verdict(tmp_path, engine):
    found = []
    for series in (growing(), healthy(1)):
        own = {name: value for name, value in series.items() if name in OF_ENGINES[engine]}
        for names in (COLUMN, OF_ENGINES[engine]):
            rows = ({"step": step + 1} | {names[name]: value[step] for name, value in own.items()}
                    for step in range(200))
            (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
            diagnose((tmp_path / "a.jsonl",), json=tmp_path / "found.json")
            (run,) = json.loads((tmp_path / "found.json").read_text())["runs"]
            found.append([(one["name"], one["confidence"], one["begin"]) for one in run["findings"]])
        assert run["engine"] == engine
    assert found[0] == found[1] != found[2] == found[3]


def test_a_long_log_takes_seconds(tmp_path):
    """100,000 steps: nothing in the judgement is quadratic in them."""
    from time import process_time

    from diagnosis import diagnose as diagnosed
    from tests.diagnosis.runs import run

    long = run(healthy(0, 100_000))
    began = process_time()
    diagnosed(long)
    assert process_time() - began < 20
