"""The papers' benchmarks by name, and the protocols of their evaluation, each with its source.

A benchmark is read from a folder, as NAME.jsonl or NAME.parquet, or else from the hub. Its rows
have a question, named prompt, problem or question, and an answer, named answer, final_answer or
solution. Answers are compared as mathematics (`rewards.math_equal`).
"""

from __future__ import annotations

import dataclasses
import os
import random
import re
from pathlib import Path
from typing import Any

from entropy_theory.support.user_errors import lookup, one_line
from llm_bridge.data import rewards, task_file, tasks

FOLDER_VARIABLE = "LLM_BRIDGE_BENCHMARKS"
QUESTIONS = ("prompt", "problem", "question")
ANSWERS = ("answer", "final_answer", "solution")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Benchmark:
    """The place of a benchmark on the hub."""

    hub: str
    split: str
    size: int
    """The number of its problems."""
    config: str | None = None


BENCHMARKS = {
    # AEPO cites HuggingFaceH4's; the others are the copies that most evaluation scripts use.
    "aime24": Benchmark(hub="HuggingFaceH4/aime_2024", split="train", size=30),
    "aime25": Benchmark(hub="math-ai/aime25", split="test", size=30),
    "amc23": Benchmark(hub="math-ai/amc23", split="test", size=40),
    "math500": Benchmark(hub="HuggingFaceH4/MATH-500", split="test", size=500),
    "gsm8k": Benchmark(hub="openai/gsm8k", config="main", split="test", size=1319),
    "minerva": Benchmark(hub="math-ai/minervamath", split="test", size=272),
    "olympiad": Benchmark(hub="math-ai/olympiadbench", split="test", size=674),
}


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Protocol:
    """How a paper samples for its printed numbers."""

    temperature: float
    samples: int
    top_p: float
    top_k: int
    """Draw from the so many most probable tokens; 0 means from all, 1 is greedy."""
    max_new_tokens: int
    prompt: str
    """The prompt, with {question} in it."""
    source: str
    """Where this is written, and which parts of it are presumed."""


STEP_BY_STEP = "{question}\nPlease reason step by step, and put your final answer within \\boxed{{}}."
# As the authors' script passes it (examples/qwen-math-7b-AEPO.sh).
THINK_FIRST = (
    "{question} You FIRST think about the reasoning process as an internal monologue and then provide "
    "the final answer.\n The reasoning process MUST BE enclosed within <think> </think> tags. The final "
    "answer MUST BE put in \\boxed{{}}."
)
_COMPETITIONS = ("aime24", "aime25", "amc23")
_CUI_SOURCE = (
    "Cui et al., arXiv 2505.22617: AIME and AMC at T = 0.6, avg@32, everything else greedy, at most "
    "8192 tokens. Presumed: top-p 1, the step-by-step prompt"
)
_CUI = Protocol(
    temperature=1.0, samples=1, top_p=1.0, top_k=1, max_new_tokens=8192, prompt=STEP_BY_STEP,
    source=_CUI_SOURCE,
)
_CUI_SAMPLED = dataclasses.replace(_CUI, temperature=0.6, samples=32, top_k=0)
_AEPO = Protocol(
    temperature=0.1, samples=1, top_p=0.95, top_k=0, max_new_tokens=8192, prompt=THINK_FIRST,
    source="AEPO, arXiv 2510.08141. Table 4: T = 0.1 for pass@1, top-p 0.95, at most 8192 tokens. "
           "Table 1: 32 samples on AIME and AMC. The prompt is that of the authors' script. "
           "Presumed: one sample on the others",
)
_AEPO_PASS_AT_K = dataclasses.replace(
    _AEPO, temperature=1.0, samples=128,
    source="AEPO, arXiv 2510.08141, Tables 2 and 4: T = 1 for pass@k, k up to 1024 on AIME and 128 on "
    "the others, top-p 0.95; the prompt is that of the authors' script. Presumed: as many samples as the "
    "largest k",
)
_AENT = Protocol(
    temperature=0.6, samples=4, top_p=0.95, top_k=20, max_new_tokens=3072, prompt=STEP_BY_STEP,
    source="AEnt, arXiv 2509.03493, section 5: T = 0.6, top-p 0.95, top-k 20, 4 samples. "
           "Presumed: the step-by-step prompt and the length of training, 3072 tokens or 7168 for "
           "the R1-Distill model",
)

PROTOCOLS: dict[str, dict[str, Protocol]] = {
    "entropy-mechanism": {
        name: _CUI_SAMPLED if name in _COMPETITIONS else _CUI for name in BENCHMARKS
    },
    "aepo": {
        name: dataclasses.replace(_AEPO, samples=32) if name in _COMPETITIONS else _AEPO
        for name in BENCHMARKS
    },
    "aepo-pass-at-k": {
        name: dataclasses.replace(_AEPO_PASS_AT_K, samples=1024) if name.startswith("aime")
        else _AEPO_PASS_AT_K for name in BENCHMARKS
    },
    "aent": dict.fromkeys(BENCHMARKS, _AENT),
}
"""The protocols, by paper and benchmark."""


def protocol(paper: str, benchmark: str) -> Protocol:
    """Return the protocol of a paper for a benchmark. Raises ValueError for unknown names."""
    return lookup(lookup(PROTOCOLS, paper, "protocol"), benchmark, "benchmark of that protocol")


def load(
    name: str, *, folder: Path | None = None, prompt: str = STEP_BY_STEP, size: int | None = None,
    seed: int = 0, max_new_tokens: int = 2048,
) -> tasks.Task:
    """Load a benchmark as a task.

    Args:
        name: one of `BENCHMARKS`.
        folder: a folder with NAME.jsonl or NAME.parquet; by default that of $LLM_BRIDGE_BENCHMARKS,
            and the hub where neither is given.
        prompt: the prompt, with {question} in it.
        size: number of problems, chosen at random; all by default.
        seed: seed of that choice.

    Raises:
        ValueError: an unknown name, a missing file, a hub that cannot be read, or a row without
            question or answer.
    """
    benchmark = lookup(BENCHMARKS, name, "benchmark")
    if folder is None and os.environ.get(FOLDER_VARIABLE):
        folder = Path(os.environ[FOLDER_VARIABLE])
    rows, origin = (
        _from_hub(name, benchmark) if folder is None else _from_folder(name, benchmark, folder)
    )
    items = [_item(row, f"{origin}, row {i}") for i, row in enumerate(rows, start=1)]
    if not items:
        raise ValueError(f"{origin} has no problems")
    if size is not None and size < len(items):
        items = random.Random(seed).sample(items, size)
    return tasks.Task(
        name=name, prompts=tuple(prompt.format(question=question) for question, _ in items),
        answers=tuple(answer for _, answer in items), reward=rewards.math_equal,
        max_new_tokens=max_new_tokens,
    )


def _from_folder(
    name: str, benchmark: Benchmark, folder: Path
) -> tuple[list[dict[str, Any]], str]:
    table, lines = folder / f"{name}.parquet", folder / f"{name}.jsonl"
    if table.exists():
        import pandas

        return pandas.read_parquet(table).to_dict("records"), str(table)
    if not lines.exists():
        raise ValueError(
            f"{folder} has neither {lines.name} nor {table.name}: put the {benchmark.size} problems of "
            f"{benchmark.hub} there, one per line as " '{"problem": ..., "answer": ...}'
        )
    return [row for _, row in task_file.json_lines(lines)], str(lines)


def _from_hub(name: str, benchmark: Benchmark) -> tuple[list[dict[str, Any]], str]:
    import datasets

    try:
        found = datasets.load_dataset(benchmark.hub, benchmark.config, split=benchmark.split)
    except Exception as error:  # every layer below has its own for a network that is not there
        reason = str(error).split("\n", maxsplit=1)[0][:120]
        raise ValueError(
            f"cannot read benchmark '{name}' from the hub as {benchmark.hub} ({type(error).__name__}: "
            f"{reason}): connect, or put {name}.jsonl with "
            '{"problem": ..., "answer": ...} lines into a folder and name it with '
            f"--benchmark-folder or ${FOLDER_VARIABLE}"
        ) from error
    return [dict(row) for row in found], benchmark.hub


def _item(row: Any, where: str) -> tuple[str, str]:
    keys = sorted(row) if isinstance(row, dict) else []
    question = next((row[key] for key in QUESTIONS if key in keys), None)
    answer = next((row[key] for key in ANSWERS if key in keys and row[key] is not None), None)
    if not isinstance(question, str) or not question or answer is None:
        raise ValueError(
            f"{where}: expected a question ({', '.join(QUESTIONS)}) and an answer "
            f"({', '.join(ANSWERS)}), found {', '.join(map(one_line, keys)) or 'neither'}"
        )
    answer = final_answer(answer)
    for name, text in (("question", question), ("answer", answer)):
        task_file.check_letters(text, f"{where}: the {name}")
    return question, answer


def final_answer(answer: Any) -> str:
    """Return the answer in a form that math-verify can read, from what benchmarks store.

    It is the last \\boxed{...} of a solution, what follows GSM8K's "####", or the entries of a list;
    LaTeX is put between dollars.
    """
    if hasattr(answer, "tolist"):
        answer = answer.tolist()
    if isinstance(answer, (list, tuple)):
        return ", ".join(final_answer(part) for part in answer)
    text = str(answer).strip()
    if "####" in text:
        text = text.rpartition("####")[2].strip().replace(",", "")
    if "\\boxed" in text:
        inside = text.rpartition("\\boxed")[2].lstrip()
        bare = inside[1:] if inside.startswith("{") else (inside.split() or [text])[0]
        text = last_boxed(text) or bare
    is_plain = re.fullmatch(r"[-+]?[\d.,/ %]+", text) is not None
    return text if is_plain or "$" in text else f"${text}$"


def last_boxed(text: str) -> str | None:
    r"""What stands in the last \boxed{...} of a text, braces balanced; None where there is none.

    >>> last_boxed(r"so \boxed{1}, or rather \boxed{\frac{1}{2}}.")
    '\\frac{1}{2}'
    """
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    depth = 0
    begin = start + len("\\boxed{")
    for place in range(begin - 1, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[begin:place]
    return None
