"""Guards diagnosis/page.py: one self-contained page that says what the text says."""

import re

import numpy as np
import pytest

from diagnosis import diagnose
from diagnosis.command import diagnose as command
from diagnosis.page import page
from entropy_theory.performance_law.forecast import forecast
from entropy_theory.training_logs import logs
from tests.diagnosis.test_live import run_that_breaks, write


def read(tmp_path, name="run.jsonl", **options):
    write(tmp_path / name, run_that_breaks(**options))
    return logs.read([tmp_path / name])


def test_a_page_has_the_findings_beside_the_curves(tmp_path):
    runs = read(tmp_path)
    found = diagnose(runs[0])
    text = page(runs, [found])
    assert "<script" not in text
    assert not re.search(r"(src|href)=.?http", text)
    assert "Diagnosis of run.jsonl" in text
    assert found.sentence in text
    titles = re.findall(r"<figure><h3>(.*?)</h3><img src=\"data:image/svg\+xml;base64,", text)
    assert titles == ["Mean entropy per token, nats",
                      "Entropy of a response: per token, times length, nats",
                      "Mean training reward", "Mean response length, tokens",
                      "Share of responses cut at the length limit"]
    for finding in found.findings:
        assert f"<h3>{finding.name} ({finding.confidence:.0%})" in text
        for remedy in finding.remedies:
            assert text.count(f"Change {remedy.option}".replace("'", "&#39;")) == 1
    assert "actor/entropy" in text
    series = runs[0].series
    report = forecast(series["entropy"].value, series["reward"].value, step=series["entropy"].step)
    assert f"law       {report.verdict}".replace("'", "&#39;") in text


def test_phases_are_shaded_and_findings_marked(tmp_path, monkeypatch):
    from diagnosis import page as module

    spans, lines = [], []

    class Axes:
        def axvspan(self, begin, end, **_):
            spans.append((begin, end))

        def axvline(self, at, **_):
            lines.append(at)

        def plot(self, x, y, **_):
            assert len(x) == len(y) <= module.MOST_POINTS

    monkeypatch.setattr(module.pages, "figure", lambda title, caption, draw, **_: draw(Axes()) or (
        module.pages.Figure(title=title, caption=caption, image="")))
    runs = read(tmp_path)
    found = diagnose(runs[0])
    assert len(found.phases) > 1
    page(runs, [found])
    begins = [phase.begin for phase in found.phases]
    assert spans[:len(begins)] == list(zip(begins, [*begins[1:], found.phases[-1].end], strict=True))
    assert set(lines) == {one.begin for one in found.findings if one.begin is not None}


def test_several_runs_are_overlaid(tmp_path):
    runs = read(tmp_path, "a.jsonl") + read(tmp_path, "b.jsonl", at=1000, seed=1)
    found = [diagnose(run) for run in runs]
    text = page(runs, found)
    assert "Diagnosis of 2 runs" in text
    for number, one in enumerate(found, 1):
        assert f"<h3>{number}: {one.run}</h3>" in text
        assert one.sentence.replace("'", "&#39;") in text
    assert text.count("<figure>") == 5


def test_a_curve_that_never_moves_is_left_out(tmp_path):
    write(tmp_path / "x.jsonl", ({**record, "actor/lr": 1e-6, "actor/grad_norm": float(step % 7)}
                                 for step, record in enumerate(run_that_breaks())))
    runs = logs.read([tmp_path / "x.jsonl"])
    text = page(runs, [diagnose(runs[0])])
    assert "<h3>Norm of the gradient" in text
    assert "<h3>Learning rate" not in text


def test_the_command_writes_it(tmp_path, capsys):
    write(tmp_path / "<b>.jsonl", run_that_breaks())
    target = tmp_path / "deep" / "page.html"
    command((tmp_path / "<b>.jsonl",), html=target)
    assert f"page: {target}" in capsys.readouterr().err
    text = target.read_text()
    assert "Diagnosis of &lt;b&gt;.jsonl" in text
    assert "<b>" not in text


def test_a_run_of_three_steps_has_a_page(tmp_path):
    runs = read(tmp_path, count=3)
    assert "not enough" in page(runs, [diagnose(runs[0])]).lower()
    assert np.isfinite(runs[0].series["entropy"].value).all()


@pytest.mark.parametrize("lacking", ["actor/entropy", "response_length/mean"])
def test_without_entropy_or_length_there_is_none_of_a_response(tmp_path, lacking):
    write(tmp_path / "x.jsonl", ({name: value for name, value in record.items() if name != lacking}
                                 for record in run_that_breaks()))
    runs = logs.read([tmp_path / "x.jsonl"])
    assert "Entropy of a response" not in page(runs, [diagnose(runs[0])])
