"""Guards llm_bridge/data/benchmarks.py: the papers' benchmarks and protocols; nothing is fetched here."""

import dataclasses
import json

import datasets
import pandas
import pytest

from llm_bridge import evaluation
from llm_bridge.data import benchmarks, rewards


def write(folder, name, rows):
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize(
    ("stored", "right", "wrong"),
    [
        ("She has 3.\n#### 1,234", "so \\boxed{1234}", "so \\boxed{3}"),
        ("\\frac{1}{2}", "it is $\\boxed{0.5}$", "it is $\\boxed{2}$"),
        ("First \\boxed{1}, hence \\boxed{\\frac{\\pi}{\\sqrt{2}}}.", "\\boxed{\\frac{\\pi}{\\sqrt 2}}",
         "\\boxed{1}"),
        (["$\\frac{3}{4}$"], "\\boxed{3/4}", "\\boxed{4/3}"),
        (27.0, "\\boxed{27}", "\\boxed{72}"),
        ("\\left( 3, \\frac{\\pi}{2} \\right)", "\\boxed{(3, \\frac{\\pi}{2})}", "\\boxed{(\\pi, 3)}"),
    ],
)
def test_answers_are_read_as_mathematics(stored, right, wrong):
    answer = benchmarks.final_answer(stored)
    judged = rewards.math_equal(["", ""], [right, wrong], answer=[answer, answer])
    assert judged == [1.0, 0.0], answer


def test_a_benchmark_from_a_folder(tmp_path, monkeypatch):
    write(tmp_path, "aime24", [{"problem": f"What is {i}?", "answer": f"{i:03d}"} for i in range(5)])
    task = benchmarks.load("aime24", folder=tmp_path, prompt="Q: {question} {{}}")
    assert task.prompts[4] == "Q: What is 4? {}"
    assert task.answers[4] == "004"
    assert task.judge(["", ""], ["\\boxed{4}", "\\boxed{5}"], ["004", "004"]) == [1.0, 0.0]
    some = benchmarks.load("aime24", folder=tmp_path, size=2, seed=3)
    assert len(some.prompts) == 2
    assert some.prompts == benchmarks.load("aime24", folder=tmp_path, size=2, seed=3).prompts
    monkeypatch.setenv(benchmarks.FOLDER_VARIABLE, str(tmp_path))
    assert len(benchmarks.load("aime24").prompts) == 5
    pandas.DataFrame({"question": ["Solve."], "final_answer": [["2", "3"]]}).to_parquet(
        tmp_path / "olympiad.parquet")
    assert benchmarks.load("olympiad", folder=tmp_path).answers == ("2, 3",)


def test_problems_of_the_data_are_told_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.delenv(benchmarks.FOLDER_VARIABLE, raising=False)
    with pytest.raises(ValueError, match=r"neither aime25\.jsonl nor aime25\.parquet: put the 30"):
        benchmarks.load("aime25", folder=tmp_path)
    write(tmp_path, "aime25", [{"problem": "x"}])
    with pytest.raises(ValueError, match=r"aime25\.jsonl, row 1: expected .* found problem"):
        benchmarks.load("aime25", folder=tmp_path)

    def offline(*_, **__):
        raise ConnectionError("Couldn't reach the Hub\nand much more")

    monkeypatch.setattr(datasets, "load_dataset", offline)
    with pytest.raises(ValueError, match="ConnectionError: Couldn't reach the Hub\\)") as e:
        benchmarks.load("amc23")
    assert "--benchmark-folder" in str(e.value)
    assert "\n" not in str(e.value)


def test_protocols_are_the_papers():
    """Cui et al.: avg@32 at 0.6 on competitions, else greedy; AEPO, Table 4; AEnt, section 5."""
    cui = benchmarks.PROTOCOLS["entropy-mechanism"]
    assert {name for name, p in cui.items() if p.samples == 32} == {"aime24", "aime25", "amc23"}
    assert all((p.temperature, p.top_k) == ((0.6, 0) if p.samples == 32 else (1.0, 1))
               for p in cui.values())
    aepo = benchmarks.protocol("aepo", "math500")
    assert (aepo.temperature, aepo.top_p, aepo.max_new_tokens) == (0.1, 0.95, 8192)
    assert aepo.samples == 1
    assert benchmarks.protocol("aepo", "amc23").samples == 32
    assert benchmarks.protocol("aepo-pass-at-k", "aime25").samples == 1024
    assert benchmarks.protocol("aepo-pass-at-k", "minerva").samples == 128
    aent = benchmarks.protocol("aent", "olympiad")
    assert (aent.temperature, aent.top_p, aent.top_k, aent.samples) == (0.6, 0.95, 20, 4)
    for protocols in benchmarks.PROTOCOLS.values():
        assert set(protocols) == set(benchmarks.BENCHMARKS)


def test_evaluate_by_protocol(tmp_path, monkeypatch, capsys):
    """Prompt, samples and truncation are the protocol's; what is given on the command line wins."""
    write(tmp_path, "amc23", [{"question": "1+1=", "answer": 2.0}, {"question": "2+3=", "answer": 5}])
    prompt = "{question}"  # the small model knows no letters
    monkeypatch.setitem(
        benchmarks.PROTOCOLS["aent"], "amc23",
        dataclasses.replace(benchmarks.protocol("aent", "amc23"), prompt=prompt),
    )
    config = evaluation.EvaluateConfig(
        task="amc23", protocol="aent", benchmark_folder=tmp_path, max_new_tokens=4, temperature=0.5,
        output=tmp_path / "found.json",
    )
    found = evaluation.evaluate_command(config)
    assert found["prompts"] == 2
    assert (found["temperature"], found["top_p"], found["top_k"]) == (0.5, 0.95, 20)
    assert set(found["intervals"]) == {"pass@1", "pass@2", "pass@4", "avg@4"}
    assert found["protocol"] == "aent"
    assert "2509.03493" in found["source"]
    lines = (tmp_path / "found.samples.jsonl").read_text().splitlines()
    assert len(lines) == 1 + 2 * 4
    assert "amc23: pass@1" in capsys.readouterr().out
    with pytest.raises(ValueError, match="leave the reward off"):
        evaluation.evaluate_command(
            dataclasses.replace(config, reward="exact", output=None))
