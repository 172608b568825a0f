"""Guards pages against what names and texts hold: no run, claim, model or completion writes HTML."""

from __future__ import annotations

import json

import pytest
from hypothesis import strategies as st

from tests.fuzzing import fuzz

SCRIPT = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
FOLDER = "<script>alert(1)<img src=x onerror=alert(2)>"
PROVENANCE = {"commit": SCRIPT, "versions": {SCRIPT: SCRIPT}, "device": SCRIPT, "seed": 0,
              "created": SCRIPT}


def is_escaped(page, *, times=1):
    """The text is there, and is no markup."""
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert page.count("&lt;script&gt;alert(1)") >= times


def test_a_comparison_of_runs(tmp_path):
    from llm_bridge.analysis import comparison

    for name in (FOLDER, "b"):
        folder = tmp_path / name
        folder.mkdir()
        options = {"model": SCRIPT, "task": SCRIPT, "rule": SCRIPT + name, "rule_options": [SCRIPT, name]}
        (folder / "run.json").write_text(json.dumps({"options": options, "status": SCRIPT}))
        (folder / "provenance.json").write_text(json.dumps(PROVENANCE))
        (folder / "metrics.jsonl").write_text("".join(
            json.dumps({"step": n, "entropy": 1 / n, "reward": 0.1 * n, "seconds": 1.0}) + "\n"
            for n in range(1, 9)))
        (folder / "evaluation.json").write_text(json.dumps(
            {"pass@1": 0.5, "intervals": {"pass@1": [0.4, 0.6]}}))
    runs = comparison.read_all([tmp_path / FOLDER, tmp_path / "b"])
    is_escaped(comparison.page(runs, [comparison.summary(run) for run in runs]), times=10)


@pytest.mark.deep
def test_prose_of_the_site_is_no_html():
    """Between stars it was passed on as it stood."""
    markdown_it = pytest.importorskip("markdown_it")
    from paper_figures.site import markup

    pieces = st.sampled_from(("<script>", "</script>", "*", "a", "`", "``", "$", "\\", "[", "](x)", "&",
                              " ", "_", "<img src=x>", "\n", "{", "}", "<!--", "!", "|"))

    def holds(parts):
        shown = markdown_it.MarkdownIt("commonmark").parse(markup.text("".join(parts)))
        kinds = {token.type for block in shown for token in (block, *(block.children or ()))}
        assert not kinds & {"html_inline", "html_block"}, markup.text("".join(parts))

    fuzz(st.lists(pieces, max_size=9), holds)
    holds(["$", "<script>", "$", "`", "<script>", "`"])  # backticks side by side
    with pytest.raises(AssertionError):
        shown = markdown_it.MarkdownIt("commonmark").parse("a<script>b")
        assert "html_inline" not in {token.type for token in shown[1].children}
