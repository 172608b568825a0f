"""Guards llm_bridge/analysis/tokens.py, audit_pages.py: tables by hand, and pages that say the same."""

import dataclasses
import re

import numpy as np
import pytest
import torch

from entropy_theory import update_rules
from entropy_theory.support import pages, results
from llm_bridge import __main__ as main
from llm_bridge.analysis import audit, audit_pages
from llm_bridge.analysis import tokens as audited_tokens
from llm_bridge.analysis.tokens import AuditedTokens
from tests.llm_bridge.language_models import tabular_trainer


def tokens(**changes) -> AuditedTokens:
    """Two prompts of four samples, two tokens each; prompt 0 has one right answer, prompt 1 three."""
    rng = np.random.default_rng(0)
    mask = np.ones((8, 2), bool)
    mask[3, 1] = False
    return AuditedTokens(**{
        "step": 1, "learning_rate": 0.5,
        "prompt_ids": np.tile([[0, 1]], (8, 1)), "prompt_mask": np.ones((8, 2), bool),
        "token_ids": np.tile([[4, 5], [4, 6]], (4, 1)), "mask": mask,
        "log_prob": np.where(mask, -rng.random((8, 2)), -99.0), "entropy": np.ones((8, 2)),
        "covariance": np.where(mask, np.arange(16.0).reshape(8, 2), 1e9),
        "forecast": np.where(mask, rng.normal(size=(8, 2)), 0.0), "measured": np.zeros((8, 2)),
        "attribution": np.full((8, 2), np.nan),
        "reward": np.array([1.0, 0, 0, 0, 1, 1, 1, 0]),
        "advantage": np.array([3.0, -1, -1, -1, 1, 1, 1, -3]) / np.sqrt(3),
        "group": np.array([0] * 4 + [7] * 4), **changes,
    })


def test_difficulty_groups_by_hand():
    """Log-probabilities per token, over a prompt's samples; padding counts for nothing."""
    found = audited_tokens.by_difficulty([tokens()])
    assert [(row.accuracy, row.prompts) for row in found] == [(0.25, 1), (0.75, 1)]
    made = tokens()
    for row, rows in zip(found, (slice(0, 4), slice(4, 8)), strict=True):
        x = [np.mean(made.log_prob[i][made.mask[i]]) for i in range(8)][rows]
        a = made.advantage[rows]
        assert row.covariance == pytest.approx(np.cov(x, a, bias=True)[0, 1], rel=1e-12)
        assert row.covariance_pg == pytest.approx(np.cov(x, np.exp(x) * a, bias=True)[0, 1], rel=1e-12)
        assert row.forecast == pytest.approx(made.forecast[rows].sum(), rel=1e-12)
        assert row.covariance_error is None
    # Two steps are two prompts of each accuracy; equal ones leave no error.
    again = audited_tokens.by_difficulty([made, dataclasses.replace(made, step=2)])
    assert [(row.prompts, row.covariance_error) for row in again] == [(2, 0.0), (2, 0.0)]


def test_the_covariance_table_names_its_tokens():
    """15 tokens: the top 20 % are 3, covariances 15, 14 and 13; the padded one, 1e9, is no token."""
    rows = audited_tokens.covariance_table([tokens()], lambda i: f"<{i}>")
    by_share = {row.share: row for row in rows}
    top = by_share["top_20%"]
    assert (top.tokens, top.mean) == (3, 14.0)
    assert {kind.text: (kind.count, kind.mean) for kind in top.kinds} == {
        "<6>": (1, 15.0), "<4>": (1, 14.0), "<5>": (1, 13.0)
    }
    assert top.negative_advantage == pytest.approx(2 / 3)
    assert by_share["top_0.02%"].tokens == 1
    assert by_share["all"].tokens == 15
    assert [kind.count for kind in by_share["all"].kinds] == [8, 4, 3]


def test_answers_that_move_most_come_first_and_none_that_moves_nothing():
    """Answers of equal rewards, which have no part in a step, at the head of the page."""
    did = np.zeros((8, 2))
    did[1], did[2], did[5], did[6], did[7] = (0.0, 0.1), (0.2, 0.0), (3.0, -4.0), (1.0, 1.0), (0.0, -1.0)
    made = tokens(attribution=did)
    share = audited_tokens.relative_forecast(made)
    assert audit_pages._chosen_rows(made, share) == [5, 6, 2, 1]
    shown = audit_pages._answer(made, share, 5, np.abs(share).max(), str)
    assert shown.summary.endswith("of all that is moved 38.8% down, 29.1% up")  # 4 and 3 of 10.3
    assert [(span.effect, span.strength) for span in shown.spans] == [("raises", 87), ("lowers", 100)]
    assert audit_pages._chosen_rows(made, np.zeros((8, 2))) == []


def test_the_record_adds_up_to_the_forecast(tmp_path):
    """Tokens' parts of the mean entropy, tempered rows' included; measured changes at their places."""
    made = tabular_trainer(tmp_path, update_rules.get("aepo"), steps=1, micro_batches=2)
    auditor = audit.Auditor(made, details=audit.Details(folder=tmp_path / "audit", kernel_states=0))
    made.add_callback(auditor)
    made.train()
    (step,) = auditor.steps
    record = audited_tokens.read(tmp_path / "audit" / "tokens-00001.npz")
    assert record.mask.shape == (24, 1)
    assert record.forecast.sum() == pytest.approx(step.coefficients, rel=1e-12)
    assert record.measured.mean() == pytest.approx(step.measured, rel=1e-12)
    assert sorted(record.measured.ravel()) == pytest.approx(sorted(step.by_token["measured"]), abs=1e-15)
    for group in np.unique(record.group):
        inside = record.advantage[record.group == group]
        assert inside.mean() == pytest.approx(0, abs=1e-12)
        assert inside.std() == pytest.approx(1)
    assert record.covariance.mean() == pytest.approx(
        np.cov(record.log_prob.ravel(), record.advantage, bias=True)[0, 1], rel=1e-6  # float32 weights
    )
    assert not list((tmp_path / "audit").glob("kernel-*"))


@pytest.mark.deep
def test_the_audit_command_writes_json_and_a_page(audited, capsys, monkeypatch):
    """Self-contained, whatever the tokens are; run again, it makes the page of the finished audit."""
    monkeypatch.setattr("sys.argv", ["llm_bridge"])
    run, options, said = audited
    found = results.read_json(run / "audit.json")
    assert found["kernel"]["states"] == 2
    assert set(found["kernel"]["rungs"]) == {"identity", "own state", "all states", "optimizer",
                                             "first order"}
    assert [s["step"] for s in found["kernel"]["steps"]] == [1, 2]
    assert found["provenance"]["config"]["kernel_actions"] == 2
    assert sum(row["prompts"] for row in found["covariance_by_difficulty"]) == 8
    table = {row["share"]: row for row in found["covariance_table"]}
    assert table["all"]["tokens"] == sum(step["tokens"] for step in found["steps"])
    text = (run / "audit.html").read_text()
    assert "<script" not in text
    assert not re.search(r"(src|href|url)\s*[=(]\s*[\"']?(https?:)?//", text)
    assert "&lt;eos&gt;" in text
    assert "nan" not in re.sub(r'<style>.*?</style>|base64,[^"]*', "", text, flags=re.S).lower()
    # Of two steps nothing can be said of correlation.
    assert "(i′) entropy gradient" not in text
    # What the command prints are the sums that the page has.
    divided = found["summary"]["divided"]
    assert (f"; grpo {divided['by_rule']['grpo']:+.3g}; right {divided['by_answer']['right']:+.3g}, "
            f"wrong {divided['by_answer']['wrong']:+.3g}\n") in said
    (run / "audit.html").unlink()
    main.audit(options)
    assert "already finished" in capsys.readouterr().err
    assert (run / "audit.html").exists()
    assert results.read_json(run / "audit.json") == found


def test_a_page_escapes_what_it_shows_and_aligns_numbers():
    """A run that writes HTML; a number that is shown as text, or None as a number."""
    text = pages.page("<t>", "<l>", [("<h>", [
        "<q>", pages.Table(["<a>", "n"], [["x<y", -1.0], ["z", None]]),
        [pages.figure("<f>", "<c>", lambda axes: axes.plot([0, 1], [1, 0], label="<b>"), ylabel="<y>")],
        pages.Answer(spans=[pages.Span(text="<s>", strength=7, effect="raises")])])])
    for name in "tlhqafcs":
        assert f"&lt;{name}&gt;" in text
        assert f"<{name}>" not in text
    assert text.count('class="number"') == 3
    assert '<td class="number">−1</td>' in text
    assert '<td class="number">–</td>' in text
    assert '<span class="raises" style="--strength: 7%"' in text
    assert pages.token(" a\n") == "␣a↵"


def test_a_step_on_one_group_of_tokens_alone():
    """Completions without any token (all cut off) leave the record."""
    from entropy_theory.token_batch import TokenBatch

    mask = torch.tensor([[True, True], [False, False], [True, False]])
    column = torch.zeros(3, 2, dtype=torch.float64)
    batch = TokenBatch(
        log_prob=column - 1, old_log_prob=column, reward=column + torch.tensor([[1.0], [5], [0]]),
        mask=mask, weight=mask.double() / 3, entropy=column + 1,
        group=torch.zeros(3, 2, dtype=torch.int64), state=torch.arange(6).reshape(3, 2),
    )
    rows = {name: torch.zeros(3, 2, dtype=torch.int64)
            for name in ("prompt_ids", "prompt_mask", "completion_ids")}
    found = audited_tokens.record(rows, batch, torch.ones(3, 2), step=1, learning_rate=1.0)
    assert found.reward.tolist() == [1.0, 0.0]
    # Each sequence counts one half, its tokens evenly.
    assert found.forecast.tolist() == [[0.25, 0.25], [0.5, 0.0]]
