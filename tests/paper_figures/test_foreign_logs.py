"""Guards data/foreign_logs.py: logs of other trainers stand beside our runs in the figures of models."""

import numpy as np

from paper_figures.data import inputs
from paper_figures.entropy_mechanism import model_runs

ENTROPY, REWARD = np.geomspace(0.5, 0.1, 40), np.linspace(0.2, 0.8, 40)


def log(entropy=ENTROPY):
    return "".join(f"step:{step} - actor/entropy:{h} - critic/score/mean:{r} - timing_s/reward:9.0\n"
                   for step, (h, r) in enumerate(zip(entropy, REWARD, strict=True), 1))


def test_a_console_log_is_drawn_beside_our_runs(tmp_path):
    (tmp_path / "training-logs").mkdir()
    (tmp_path / "training-logs" / "mine.log").write_text(log())
    (tmp_path / "training-logs" / "notes.txt").write_text("nothing of training\n")
    with inputs.reading(tmp_path) as read:
        table = model_runs.curves(tmp_path, least_steps=20)
    mine = table[table["run"] == "mine"]
    assert mine["step"].tolist() == list(range(1, 41))
    # Means of five values about each, and the line of rewards is its own mean away from the ends.
    np.testing.assert_allclose(mine["reward"].to_numpy()[2:-2], REWARD[2:-2], rtol=1e-12)
    np.testing.assert_allclose(mine["entropy"].to_numpy()[2], ENTROPY[:5].mean(), rtol=1e-12)
    shown = table.attrs["inputs"]
    assert "pretrained model" in read.evidence({"mine": shown["mine"]})
    assert shown["mine"]["log"] == "mine.log"
    assert inputs.unchanged(read.digests, tmp_path)
    (tmp_path / "training-logs" / "other.log").write_text(log())
    assert not inputs.unchanged(read.digests, tmp_path)


def test_a_log_without_entropy_or_with_few_steps_is_left_out(tmp_path):
    (tmp_path / "training-logs").mkdir()
    (tmp_path / "training-logs" / "short.log").write_text("".join(log().splitlines(keepends=True)[:10]))
    rows = "".join(f"{step},0.5\n" for step in range(40))
    (tmp_path / "training-logs" / "bare.csv").write_text("step,reward\n" + rows)
    names = set(model_runs.curves(tmp_path, least_steps=20)["run"])
    assert not names & {"short", "bare"}
