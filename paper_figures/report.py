"""build/report/index.html: one page that opens from disk, needs no network, and holds everything.

Each section is made from files that other commands wrote. Where one is missing, the section says
which command makes it, and the rest of the page is as good as ever.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from pathlib import Path
from typing import Any

import jinja2
import matplotlib
from markupsafe import Markup

from entropy_theory.claims import all_claims
from entropy_theory.results import provenance, read_json, write_text
from paper_figures import inputs, training_table
from paper_figures.catalog import FIGURES
from paper_figures.formulas import Formulas

TEMPLATE = Path(__file__).with_name("report.html")
PACKAGES = ("numpy", "scipy", "sympy", "z3-solver", "hypothesis", "python-flint", "xarray",
            "matplotlib", "torch", "transformers", "trl", "reasoning-gym")

VERDICTS = {
    "proved": "every step machine-checked, for any number of actions",
    "verified": "no counterexample found; no proof for every number of actions",
    "first-order": "true up to a remainder of measured order and stated bound",
    "repaired": "false or unfounded as printed; true with the stated hypothesis or constant",
    "refuted": "a certified counterexample exists",
    "empirical": "a law fitted to data",
    "undecided": "the evidence does not settle it",
}
PRINTED_PROOFS = {
    "ok": "the printed proof is complete",
    "gap": "the printed proof leaves a premise unsaid; completed here",
    "wrong": "a step of the printed proof fails",
    "none": "the source prints no proof",
    "undecided": "the printed proof could not be judged in the time given",
}

CHECKS = "Evidence (fail speaks against the statement as printed)"
MUTANTS = "Wrong variants of the statement (pass: the same checks reject it)"
# The ledger opens the detail of a proof step with what is proved: "repair, step 'NAME': ...".
STEP = re.compile(r"(?:(?P<what>repair|negation|experiment|printed proof), )?"
                  r"step '(?P<name>.*?)': (?P<detail>.*)",
                  re.DOTALL)
STEPS = {
    "": "Proof, for any number of actions",
    "repair": "Proof of the repaired statement",
    "negation": "Disproof beyond the counterexample",
    "experiment": "Experiments: what long exact runs and fits show",
    "printed proof": "The printed proof: does each step follow from what is printed?",
}
SOURCES = {
    "entropy-mechanism": "The Entropy Mechanism of RL for Reasoning Language Models (Cui et al.)",
    "aepo": "Arbitrary Entropy Policy Optimization (AEPO)",
    "aent": "On Entropy Control in LLM-RL Algorithms (AEnt)",
    "later-work": "Later work",
    "extension": "Extensions, ours",
}
EVIDENCE_GROUPS = (*STEPS.values(), CHECKS, MUTANTS)


def write_report(results: Path) -> Path:
    """Write ``results/report/index.html`` and return its path.

    Args:
        results: folder with ledger.json, figures/, runs/, evaluations/ and reproduce.json, any of
            which may be missing.
    """
    page = results / "report" / "index.html"
    write_text(page, render(results))
    return page


def render(results: Path) -> str:
    """The page as HTML."""
    formulas = Formulas()
    ledger = _ledger(results, formulas)
    figures = [_figure(name, results) for name in FIGURES]
    job = _read(results / "reproduce.json")
    runs = training_table.runs_table(results)
    evaluations = inputs.evaluations(results)
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(
        ledger=ledger,
        verdict_meaning=VERDICTS,
        proof_meaning=PRINTED_PROOFS,
        figures=figures,
        paper_figures=[f for f in figures if f["source"] != "This project"],
        runs=runs,
        evaluations=[_evaluation(e) for e in evaluations],
        audits=training_table.audits_table(results),
        job=job,
        not_run=[s for s in (job or {}).get("stages", []) if s["status"] in ("failed", "skipped")],
        provenance=provenance(packages=PACKAGES),
        matplotlib_version=matplotlib.__version__,
        summary=_summary(ledger, figures, runs),
        results=str(results),
        definitions=formulas.definitions(),
    )


def _read(path: Path) -> Any:
    """A JSON file's content, or None where there is none that can be read."""
    try:
        return read_json(path)
    except ValueError:
        return None


def _ledger(results: Path, formulas: Formulas) -> dict[str, Any] | None:
    found = _read(results / "ledger.json")
    if found is None:
        return None
    claims = [_claim(claim, formulas) for claim in found["claims"]]
    counts = Counter(claim["verdict"] for claim in claims)
    prefixes = dict.fromkeys(claim["id"].split(".")[0] for claim in claims)
    return {
        "claims": claims,
        "sources": [
            (SOURCES.get(prefix, prefix), [c for c in claims if c["id"].split(".")[0] == prefix])
            for prefix in sorted(prefixes, key=lambda p: [*SOURCES, p].index(p))
        ],
        "counts": [(verdict, counts[verdict]) for verdict in VERDICTS if counts[verdict]],
        "cases": sum(claim["cases"] for claim in claims),
        "provenance": found.get("provenance", {}),
    }


def _claim(claim: dict[str, Any], formulas: Formulas) -> dict[str, Any]:
    statements = _step_statements(claim["id"])
    groups: dict[str, list[dict[str, Any]]] = {title: [] for title in EVIDENCE_GROUPS}
    for evidence in claim["evidence"]:
        match = STEP.fullmatch(evidence["detail"])
        if evidence["method"] == "mutant":
            title, step, detail = MUTANTS, "", evidence["detail"]
        elif match is None:
            title, step, detail = CHECKS, "", evidence["detail"]
        else:
            title, step, detail = STEPS[match["what"] or ""], match["name"], match["detail"]
        groups[title].append({
            **evidence,
            "step": step,
            "statement": formulas.text(statements.get(step, "")),
            "detail": formulas.text(detail),
        })
    return {
        "id": claim["id"],
        "source": claim["source"],
        "title": formulas.text(claim["title"]),
        "statement": formulas.text(claim["statement"]),
        "hypotheses": [formulas.text(_as_formula(h)) for h in claim["hypotheses"]],
        "verdict": claim["verdict"],
        "printed_proof": claim["printed_proof"],
        "groups": [(title, rows) for title, rows in groups.items() if rows],
        "cases": sum(e["cases"] for e in claim["evidence"]),
        "methods": ", ".join(dict.fromkeys(e["method"] for e in claim["evidence"])),
        "counterexample": _flat(claim["counterexample"]),
    }


def _step_statements(claim_id: str) -> dict[str, str]:
    """What each proof step of a claim says, by its name; empty for a claim that is not ours."""
    claim = all_claims().get(claim_id)
    if claim is None:
        return {}
    steps = [*claim.statement.proof, *claim.negation, *claim.experiments]
    steps += claim.repair.proof if claim.repair is not None else ()
    for printed in claim.printed_proof:
        steps.append(printed.as_printed)
        steps += [printed.completed] if printed.completed is not None else []
    return {step.name: step.statement for step in steps}


def _as_formula(hypothesis: str) -> str:
    """Hypotheses may be written without dollar signs."""
    return f"${hypothesis}$" if "\\" in hypothesis and "$" not in hypothesis else hypothesis


def _flat(record: dict[str, Any] | None) -> list[tuple[str, str]]:
    if record is None:
        return []
    return [
        (name.replace("_", " "), value if isinstance(value, str) else repr(value).replace("'", ""))
        for name, value in record.items()
    ]


def _figure(name: str, results: Path) -> dict[str, Any]:
    """A figure as `build` left it; without its files, the command that makes it."""
    figure = FIGURES[name]
    folder = results / "figures"
    entry: dict[str, Any] = {
        "name": name, "source": figure.source, "title": figure.title, "paper": figure.paper,
        "ours": figure.ours, "image": None, "verdict": None, "headline": "", "text": "",
        "files": [],
    }
    found = _read(folder / f"{name}.json")
    drawing = folder / f"{name}.svg"
    if found is None or not drawing.exists():
        missing = (_read(folder / "index.json") or {}).get("missing", {})
        entry["text"] = missing.get(name, f"run `python -m paper_figures build {name}`")
        return entry
    encoded = base64.b64encode(drawing.read_bytes()).decode()
    entry.update(
        image=Markup("data:image/svg+xml;base64,{}").format(encoded),
        verdict=found["verdict"],
        headline=found["headline"],
        text=found["finding"],
        files=[
            f"figures/{name}.{extension}" for extension in ("svg", "pdf", "png", "csv", "json")
            if (folder / f"{name}.{extension}").exists()
        ],
    )
    return entry


def _evaluation(found: dict[str, Any]) -> dict[str, Any]:
    intervals = found.get("intervals", {})
    constant = found.get("constant_answer", {})
    return {
        "model": found.get("model", "?"),
        "task": found.get("task", "?"),
        "prompts": found.get("prompts"),
        "samples": found.get("num_samples"),
        "scores": [
            (name, found[name], low, high) for name, (low, high) in intervals.items() if name in found
        ],
        "entropy": found.get("entropy"),
        "constant_answer": constant.get("answer"),
        "constant_score": constant.get("score"),
        "device": found.get("provenance", {}).get("device", "cpu"),
    }


def _summary(
    ledger: dict[str, Any] | None, figures: list[dict[str, Any]], runs: list[dict[str, Any]]
) -> list[str]:
    """The few sentences at the top, from what is on the page."""
    lines = []
    if ledger is not None:
        counts = ", ".join(f"{n} {verdict}" for verdict, n in ledger["counts"])
        lines.append(
            f"{len(ledger['claims'])} statements of the theory were checked on "
            f"{ledger['cases']:,} instances: {counts}."
        )
    lines += [figure["headline"] for figure in figures if figure["headline"]]
    if runs:
        steps = sum(run["steps"] for run in runs)
        lines.append(f"{len(runs)} runs trained language models for {steps} optimizer steps in all.")
    return lines
