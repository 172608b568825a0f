"""Guards llm_bridge/evaluation.py on ranks: the numbers of one process, whatever is killed on the way."""

import json

import pytest

from tests.llm_bridge import forked_ranks

pytestmark = pytest.mark.deep

REWARD = '''
import os, signal
calls = 0
def ends_low(prompts, completions, **columns):
    global calls
    calls += 1
    if calls == 2 and os.environ.get("FAIL_ON") == os.environ["RANK"]:
        if os.environ["FAIL_HOW"] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise ArithmeticError("judged to death")
    return [float(text[-1:] in "01234") for text in completions]
'''
"""Of its second chunk rank $FAIL_ON makes an error or, as $FAIL_HOW says, an end."""
TASK = "\n".join(
    json.dumps({"prompt": f"{a}+{a + 3}=", "answer": f"{2 * a + 3:03d}"}) for a in range(20, 29))
OPTIONS = ("--num-samples", "4", "--batch-size", "2", "--max-new-tokens", "6", "--device", "cpu")


@pytest.fixture
def evaluate(tmp_path):
    """The command on so many ranks, nine prompts in five chunks; what it said, and what it wrote."""
    (tmp_path / "task.jsonl").write_text(TASK)
    (tmp_path / "judge.py").write_text(REWARD)

    def run(name, *options, ranks=2, **environment):
        output = tmp_path / f"{name}.json"
        shown = forked_ranks.run(
            "llm_bridge", "evaluate", "--task", str(tmp_path / "task.jsonl"), "--reward",
            f"{tmp_path / 'judge.py'}:ends_low", *OPTIONS, *options, "--output", str(output),
            ranks=ranks, **environment)
        return shown, output

    return run


def numbers(output):
    """The result without what no rerun can repeat."""
    found = json.loads(output.read_text())
    return {key: value for key, value in found.items() if key not in ("seconds", "provenance")}


def samples(output):
    return output.with_suffix(".samples.jsonl").read_text()


@pytest.mark.parametrize("sampler", ["generate", "static"])
def test_ranks_give_the_numbers_of_one_process(evaluate, sampler):
    """To the last digit, and in the order of the task: chunks drawn twice, left out, by another seed, or
    judged against another chunk's answers. One rank prints and writes."""
    outputs = []
    for ranks in (1, 2, 4):  # the fifth chunk leaves ranks idle
        shown, output = evaluate(f"on-{ranks}", "--sampler", sampler, ranks=ranks)
        assert shown.returncode == 0, shown.stderr[-3000:]
        assert shown.stdout.count("always answering") == 1
        outputs.append(output)
    assert len(samples(outputs[0]).splitlines()) == 1 + 36
    for output in outputs[1:]:
        assert numbers(output) == numbers(outputs[0])
        assert samples(output) == samples(outputs[0])


@pytest.mark.parametrize(("how", "told"), [
    ("raise", "judged to death"), ("kill", "lost the connection to another process")])
@pytest.mark.parametrize("rank", [0, 1])
def test_an_end_on_a_rank_is_told_once_and_what_was_drawn_before_is_kept(evaluate, rank, how, told):
    """The same command, on another number of ranks, goes on to the numbers of an undisturbed one."""
    _, whole = evaluate("whole", ranks=1)
    shown, output = evaluate("failed", FAIL_ON=str(rank), FAIL_HOW=how)
    assert shown.returncode != 0
    lines = [line for line in shown.stderr.splitlines() if line.startswith("error:")]
    assert len(lines) == 1, shown.stderr[-3000:]
    assert told in lines[0]
    assert len(samples(output).splitlines()) == 1 + 16  # two chunks of two prompts
    shown, output = evaluate("failed", ranks=1)
    assert shown.returncode == 0, shown.stderr[-3000:]
    assert "failed.samples.jsonl has 16 of 36 completions already" in shown.stderr
    assert numbers(output) == numbers(whole)
    assert samples(output) == samples(whole)


def test_samples_of_something_else_are_one_error_on_all_ranks(evaluate):
    evaluate("same", ranks=1)
    shown, _ = evaluate("same", "--temperature", "0.5")
    lines = [line for line in shown.stderr.splitlines() if line.startswith("error:")]
    assert len(lines) == 1, shown.stderr[-3000:]
    assert "holds samples of something else (temperature differ)" in lines[0]
