"""Guards llm_bridge/running/ranks.py, and the train command as launched in several processes."""

import dataclasses
import itertools

import pytest

from entropy_theory.support import results
from llm_bridge.commands import train as training
from llm_bridge.running import ranks
from tests.llm_bridge import forked_ranks
from tests.llm_bridge.launched_runs import SECONDS, fork, launch, numbers, seconds_since


@pytest.mark.deep
@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_process_ends_the_run_and_the_same_command_resumes_it(whole, tmp_path, rank):
    """To the last digit: weights, the optimizer, each rank's random numbers and the controller."""
    again = dataclasses.replace(whole, output=tmp_path / "again")
    failed = tmp_path / "failed"
    killed = launch(again, FAIL_AT="4", FAIL_ON=str(rank), FAILED=str(failed))
    assert seconds_since(failed) < SECONDS
    assert killed.returncode != 0
    assert sum(line.startswith("error:") for line in killed.stderr.splitlines()) <= 1
    assert "SIGKILL" in killed.stderr  # the launcher's account: who is killed says nothing
    assert "llm_bridge/commands/train.py" not in killed.stderr
    assert [record["step"] for record in numbers(again.output)] == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="a run of 2 processes, and this is one of 1"):
        training.train(again)
    assert len(numbers(again.output)) == 4
    resumed = launch(again)
    assert resumed.returncode == 0, resumed.stderr[-3000:]
    assert numbers(again.output) == numbers(whole.output)
    weights = [run.output / "model" / "model.safetensors" for run in (whole, again)]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    # Entropy moves across the target, so that the switch's state matters.
    assert {record["temperature"] for record in numbers(whole.output)} == {0.8, 1.2}


@pytest.mark.deep
@pytest.mark.parametrize(("start", "rank"), [(fork, 1), (fork, 0), (launch, 1)])
def test_an_error_on_one_rank_is_told_once_and_the_steps_before_it_are_those_of_one_process(
    config, tmp_path, start, rank
):
    """Where all rewards are equal only the bonus moves the policy, and with completions of one token
    it does so at the prompts alone: whatever each rank samples, the steps are those of one process.
    Guards the averaging of gradients and records, and what a step is when there are several ranks.
    """
    config = dataclasses.replace(
        config, rule="entropy-bonus", rule_options=("coefficient=-5",), max_new_tokens=1, steps=5,
        reward="tests.llm_bridge.rewards_that_fail:constant", optimizer="sgd", max_grad_norm=0.0,
        learning_rate=0.1, save_every=0, save_model=False, output=tmp_path / "two",
    )
    failed = tmp_path / "failed"
    shown = start(config, FAIL_AT="4", FAIL_ON=str(rank), FAILED=str(failed))
    assert seconds_since(failed) < SECONDS
    assert shown.returncode != 0
    lines = [line for line in shown.stderr.splitlines() if line.startswith("error:")]
    assert len(lines) == 1, shown.stderr[-3000:]
    assert "raised ArithmeticError: judged to death" in lines[0]
    # What follows is the launcher's own account; none of our ranks adds a traceback.
    assert "llm_bridge/commands/train.py" not in shown.stderr
    one = dataclasses.replace(config, output=tmp_path / "one")
    training.train(one)
    two, single = numbers(config.output), numbers(one.output)[:4]
    assert len(two) == 4
    entropy = [record["entropy"] for record in single]
    assert min(before - after for before, after in itertools.pairwise(entropy)) > 1e-3
    for ours, theirs in zip(two, single, strict=True):
        assert ours.keys() == theirs.keys()
        # Which of a prompt's tokens are drawn is each rank's own chance.
        for name in ours.keys() - {"distinct_answers"}:
            # float32: a step is a sum over 16 rows, in another order.
            assert ours[name] == (theirs[name] and pytest.approx(theirs[name], rel=1e-4)), name


@pytest.mark.deep
@pytest.mark.parametrize(("kind", "message"), [
    ("everywhere", "found by all"), ("agreed", "found while agreeing"),
    ("dealt out", "found at one's share"), ("alone", "found alone"),
])
def test_whoever_fails_one_rank_tells(kind, message):
    """No hang, and one line: no traceback beside it."""
    shown = forked_ranks.run("tests.llm_bridge.failing_ranks", kind, timeout=100)
    assert shown.returncode != 0
    lines = [line for line in shown.stderr.splitlines() if line.startswith("error:")]
    assert lines == [f"error: {message}"], shown.stderr[-3000:]
    assert "Traceback" not in shown.stderr


def test_a_step_that_cannot_be_dealt_out_is_refused(config, tmp_path, monkeypatch):
    """Before a folder is made or a model loaded."""
    monkeypatch.setattr(ranks, "count", lambda: 3)
    with pytest.raises(ValueError, match="2 x 3 processes does not divide the step's 16 completions"):
        training.train(dataclasses.replace(config, output=tmp_path / "run"))
    monkeypatch.setattr(ranks, "count", lambda: 2)
    with pytest.raises(ValueError, match="an audit runs in one process"):
        training.train(dataclasses.replace(config, output=tmp_path / "run", audit_every=1))


def test_one_process_needs_no_group():
    assert (ranks.count(), ranks.is_main(), ranks.is_main_of_node()) == (1, True, True)
    assert ranks.on_main(lambda: 3) == ranks.agreed(lambda: 3) == 3
    assert ranks.dealt_out([1, 2], lambda item: -item) == [-1, -2]
    with pytest.raises(KeyError), ranks.report_once():
        raise KeyError
    ranks.leave()


@pytest.mark.deep
def test_two_processes_share_one_run(whole):
    """One line a step, one model, and the number of processes on record."""
    folder = whole.output
    assert [record["step"] for record in numbers(folder)] == [1, 2, 3, 4, 5, 6]
    found = results.read_json(folder / "run.json")
    assert (found["status"], found["world_size"]) == ("finished", 2)
    assert {path.name for path in folder.iterdir()} == {
        "metrics.jsonl", "model", "provenance.json", "run.json"
    }
    assert (folder / "model" / "model.safetensors").exists()
    # A finished run is recalled, by any number of processes.
    assert training.train(whole)["status"] == "finished"


def test_a_lost_connection_is_one_clear_error(monkeypatch):
    """What remains to be said of a process that was killed, if the launcher leaves time for it."""
    monkeypatch.setattr(ranks, "count", lambda: 2)
    monkeypatch.setattr(ranks, "_speaks", lambda error: True)
    with (
        pytest.raises(OSError, match=r"Connection closed by peer.* the same command again to resume"),
        ranks.report_once(),
    ):
        raise RuntimeError("[gloo/transport/tcp/pair.cc:553] Connection closed by peer\nGLHF")
    with pytest.raises(RuntimeError, match="a bug"), ranks.report_once():
        raise RuntimeError("a bug")
