"""Writes build/report/everything.html, one page that opens from disk and needs no network.

Each section is made from files that other commands wrote. Where one is missing, the section says
which command makes it, and the rest of the page is unaffected. Template, style and scripts are
the files of page/; a policy in the page itself forbids the browser to fetch anything.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from entropy_theory.support.results import provenance, write_text
from paper_figures.data import inputs
from paper_figures.report import figures as report_figures
from paper_figures.report import runs as training_table
from paper_figures.report.formulas import Formulas
from paper_figures.report.ledger import PRINTED_PROOFS, VERDICTS, ledger
from paper_figures.verdict import RULE, STANDINGS

PAGE = Path(__file__).with_name("template")
SCRIPTS = ("bandit.js", "panel.js", "claims.js")



def write_report(results: Path) -> Path:
    """Write ``results/report/everything.html`` and return its path.

    Args:
        results: folder with ledger.json, figures/, runs/, evaluations/ and reproduce.json, any of
            which may be missing.
    """
    page = results / "report" / "everything.html"
    write_text(page, render(results))
    return page


def render(results: Path) -> str:
    """Return the page as HTML."""
    formulas = Formulas()
    found = report_figures.read_result(results / "ledger.json")
    figures = report_figures.figures(results)
    job = report_figures.read_result(results / "reproduce.json")
    runs = training_table.runs_table(results)
    script = "\n" + "".join(_file(name) for name in SCRIPTS)
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["tex"] = formulas.text
    environment.filters["code"] = _with_code
    return environment.from_string(_file("page.html")).render(
        css=Markup(_file("page.css") + _file("panel.css")),
        panel=Markup(_file("panel.html")),
        script=Markup(script),
        script_hash="sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        ledger=None if found is None else ledger(found),
        verdict_meaning=VERDICTS,
        proof_meaning=PRINTED_PROOFS,
        rule=RULE, standings=STANDINGS,
        summary={
            **report_figures.summary(figures),
            "optimizer_steps": sum(run["steps"] for run in runs),
        },
        groups=report_figures.by_source(figures),
        compared=[f for f in figures if not f["source"].startswith("This project")],
        runs=runs,
        evaluations=[_evaluation(e) for e in inputs.evaluations(results)],
        audits=training_table.audits_table(results),
        job=job,
        not_run=[s for s in (job or {}).get("stages", []) if s["status"] in ("failed", "skipped")],
        provenance=provenance(packages=training_table.PACKAGES),
        results=str(results),
        formulas=formulas,
    )


def _with_code(text: str) -> Markup:
    """Set what stands between backticks as code."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if i % 2 and i < len(parts) - 1 else part
        for i, part in enumerate(parts)
    )


def _file(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")


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
