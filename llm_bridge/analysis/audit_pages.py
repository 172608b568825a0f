"""Writes what an audit found for people: audit.html (plots, tables) and entropy_map.html (tokens).

Both are made from the files of a run alone (audit.json and audit/), and can be made again.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from entropy_theory.support import results
from llm_bridge.analysis import audit, kernel_record, pages, plots
from llm_bridge.analysis import tokens as audited_tokens
from llm_bridge.analysis.kernel_record import KernelRecord
from llm_bridge.analysis.tangent_kernel import RUNGS
from llm_bridge.analysis.tokens import AuditedTokens, Decode
from llm_bridge.running.run_folder import RunFolder

MAP_ROWS = 12
"""How many answers the token map shows."""
MAP_TOKENS = 400
"""How many tokens are shown of each prompt's end and of each answer's start."""
LEVELS = 5
FORECASTS = {
    "coefficients": "(i) coefficients, tabular", "entropy_gradient": "(i′) entropy gradient",
    "first_order": "(ii) first order in the logits", "second_order": "(ii) with second order",
    "exact": "(iii) exact in the logits", "accounted": "accounted, along the step",
}
"""The forecasts of an audit's summary, and what its page calls them."""
HEADS = {"parts": "{}", "by_rule": "rule {}", "by_answer": "{} answers"}
"""What the page calls a part of each division (`audit.DIVISIONS`)."""


def complete(run: Path, decode: Decode) -> dict[str, Any]:
    """Add tables and kernels to a run's audit.json, and write its two pages.

    Args:
        run: folder of a finished audit.
        decode: function from a token id to its text.

    Returns:
        The new content of audit.json.

    Raises:
        ValueError: a folder without an audit, or with one that has no tokens.
    """
    found: dict[str, Any] = results.read_json(RunFolder(run).audit)
    steps = [step["step"] for step in found["steps"]]
    tokens = [audited_tokens.read(path) for path in _files(run, "tokens", steps)]
    if not tokens:
        raise ValueError(
            f"{run} has no audit/tokens-*.npz: audit into a new folder with the audit command"
        )
    kernels = [kernel_record.read(path) for path in _files(run, "kernel", steps)]
    found |= {
        "covariance_by_difficulty": results.plain(audited_tokens.by_difficulty(tokens)),
        "covariance_table": results.plain(audited_tokens.covariance_table(tokens, decode)),
        "entropy_by_token": results.plain(audited_tokens.entropy_by_token(tokens, decode)),
        "kernel": kernel_record.summary(kernels) if kernels else None,
    }
    results.write_json(RunFolder(run).audit, found)
    results.write_text(run / "audit.html", audit_page(found, kernels, decode))
    results.write_text(run / "entropy_map.html", map_page(found, tokens[0], decode))
    return found


def _files(run: Path, kind: str, steps: Sequence[int]) -> list[Path]:
    paths = (run / "audit" / f"{kind}-{step:05d}.npz" for step in steps)
    return [path for path in paths if path.exists()]


# ---------------------------------------------------------------------------------------- audit.html


def audit_page(found: dict[str, Any], kernels: Sequence[KernelRecord], decode: Decode) -> str:
    """Return the page of plots, a whole HTML document."""
    return pages.page(
        f"Audit of {_name(found)}",
        pages.paragraph(_question(found), "soft")
        + _forecasts(found)
        + (_kernel(found["kernel"], kernels, decode) if kernels else "")
        + _difficulty(found["covariance_by_difficulty"])
        + _covariance_table(found["covariance_table"])
        + pages.section("Where this comes from", pages.provenance(found["provenance"])),
    )


def _name(found: dict[str, Any]) -> str:
    config = found["provenance"]["config"]
    task = config.get("data") or config["task"]
    return f"{Path(config['model']).name} on {Path(task).name}, {config['rule']}"


def _question(found: dict[str, Any]) -> str:
    config = found["provenance"]["config"]
    return (
        "Theorems forecast how an update moves the policy's entropy, for policies in which every logit "
        f"is a parameter of its own. Is that so here? {len(found['steps'])} optimizer steps "
        f"({config['optimizer']}, learning rate {config['learning_rate']:g}), entropy in nats per token."
    )


def _forecasts(found: dict[str, Any]) -> str:
    steps, summary = found["steps"], found["summary"]["tokens"]
    by_token = {
        name: [value for step in steps for value in step["by_token"][name]]
        for name in ("coefficients", "first_order", "exact", "measured")
    }
    # (i) is per unit learning rate, and an optimizer takes steps of its own size.
    by_token["coefficients"] = [
        v * summary["slope"]["coefficients"] for v in by_token["coefficients"]
    ]
    titles = {
        "coefficients": ("(i) from the coefficients", "Tabular assumption; scaled by its best slope, "
                         f"{summary['slope']['coefficients']:.3g}."),
        "first_order": ("(ii) first order in the measured logits",
                        "Its error is that of the first order alone."),
        "exact": ("(iii) exact in the measured logits", "The measured change, as it must be."),
    }
    figures = [
        (title, plots.scatter(
            by_token[name], by_token["measured"], x_label="forecast (nats)",
            y_label="measured (nats)", diagonal=True, described=f"{title} against measured change",
        ), f"r = {summary['correlation'][name]:.3f}. {caption}")
        for name, (title, caption) in titles.items()
    ]
    columns = ("step", "entropy", "coefficients_exact", "entropy_gradient", "first_order", "exact",
               "accounted", "measured")
    return pages.section(
        "Forecast against measurement",
        pages.paragraph(
            f"Each point is the entropy at one token's state. Of the two errors that a forecast can "
            f"have, that of the {_dominant(summary)} is larger: {summary['tabular_error']:.2g} nats "
            f"(root mean square) between (i) and (ii), {summary['first_order_error']:.2g} between (ii) "
            f"and (iii)."
        ),
        pages.panels(figures),
        pages.paragraph("Means over each step's sequences, nats:", "small"),
        pages.table(
            ["step", "entropy", "(i) exact, SGD", "(i′)", "(ii)", "(iii)", "accounted", "measured"],
            [[step.get(name) for name in columns] for step in steps],
        ),
        _agreement(found["summary"]["steps"]),
        _divided(found),
    )


def _agreement(summary: dict[str, Any]) -> str:
    """Return a table of how well each forecast met the measured changes of whole steps."""
    if summary["steps"] < 3:
        return ""  # two points lie on a line
    return pages.paragraph(
        f"Each forecast of the mean against its measured change, over {summary['steps']} steps; the "
        "slope of (i) is per unit learning rate:", "small",
    ) + pages.table(
        ["", "correlation", "slope"],
        [[title, summary["correlation"][name], summary["slope"][name]]
         for name, title in FORECASTS.items() if name in summary["correlation"]],
    )


def _divided(found: dict[str, Any]) -> str:
    """Return a table of what moved the mean entropy; nothing for audits made before there was one."""
    steps, sums = found["steps"], found["summary"].get("divided", {})
    columns = list(dict.fromkeys(
        (division, name) for division in audit.DIVISIONS
        for step in steps for name in step.get(division) or {}))
    if not columns:
        return ""

    def row(label: Any, accounted: float | None, divided: dict[str, Any]) -> list[Any]:
        return [label, accounted,
                *((divided.get(division) or {}).get(name) for division, name in columns)]

    rows = [row(step["step"], step.get("accounted"), step) for step in steps]
    if len(steps) > 1 and sums.get("parts") is not None:
        rows.append(row("all", math.fsum(sums["parts"].values()), sums))
    text = (
        "(i′) is the inner product of the gradient of the mean entropy by the parameters with the "
        "optimizer's step, without any assumption on the logits. Averaged along the step it accounts for "
        "the measured change (nats), by the parts of the step"
    )
    if any(division != "parts" for division, _ in columns):
        text += (", which add up to what is accounted for. Gradient and clipping together are divided in "
                 "two ways more: over the rules that the update rule is made of, and over right and "
                 "wrong answers")
    return pages.paragraph(f"{text}.", "small") + pages.table(
        ["step", "accounted",
         *(HEADS[division].format(name.replace("_", " ")) for division, name in columns)], rows)


def _dominant(summary: dict[str, Any]) -> str:
    dominant = summary["dominant"]
    return "first-order expansion" if dominant == "first order" else str(dominant)


def _kernel(
    summary: dict[str, Any], kernels: Sequence[KernelRecord], decode: Decode
) -> str:
    first, rungs = summary["steps"][0], summary["rungs"]
    matrix = kernels[0].kernel.matrix()
    norm = np.sqrt(np.maximum(kernels[0].kernel.diagonal(), 1e-300))
    low, high = first["diagonal_range"]
    text = (
        f"Assumption B.4 says that the gradients of two logits are orthonormal: the matrix of their "
        f"inner products is the identity. At {summary['states']} states and {summary['actions']} actions "
        f"each, its diagonal is {first['diagonal']:.3g} on average, from {low:.3g} to {high:.3g}, a "
        f"spread of {first['diagonal_spread']:.0%}. Off it, two logits of a state have "
        f"{first['within_state']:.0%} and logits of two states {first['across_states']:.0%} of it (root "
        f"mean square). What moves all logits of a state alike moves no entropy: without it these are "
        f"{first['contrast_within']:.0%} and {first['contrast_across']:.0%}."
    )
    steps = pages.table(
        ["step", "diagonal", "spread", "within", "across", "within*", "across*", "squared"],
        [[s["step"], *(s[name] for name in (
            "diagonal", "diagonal_spread", "within_state", "across_states", "contrast_within",
            "contrast_across", "diagonal_share"))] for s in summary["steps"]],
    )
    meaning = {
        "identity": "the tabular assumption", "own state": "any kernel within a state",
        "all states": "the whole kernel", "optimizer": "the optimizer's own step",
        "first order": "the measured logits, (ii)",
    }
    names = [
        f"{number}  …{''.join(pages.token(decode(i)) for i in prefix[-6:])}  →  "
        + "  ".join(pages.token(decode(int(a))) for a in actions)
        for number, (prefix, actions) in enumerate(
            zip(kernels[0].prefixes, kernels[0].kernel.actions, strict=True), start=1)
    ]
    ladder = pages.table(
        ["the logits move by", "", "correlation", "slope", "unexplained", "error (nats)"],
        [[name, meaning[name], rungs[name]["correlation"], rungs[name]["slope"],
          rungs[name]["unexplained"], rungs[name]["error"]] for name in RUNGS],
    )
    return pages.section(
        "Are logits independent?",
        pages.paragraph(text),
        pages.panels([
            ("Inner products of logit gradients",
             plots.matrix(matrix / np.outer(norm, norm), block=summary["actions"],
                          described="cosines of logit gradients"),
             "As cosines, first audited step: darker is closer to 1, a dash marks those below 0. Each "
             "block is a state. Under the assumption only the diagonal is dark."),
            ("What the forecast loses",
             plots.bars([str(i + 1) for i in range(len(RUNGS))],
                        [rungs[name]["unexplained"] for name in RUNGS],
                        y_label="unexplained share", x_label="rung, see the table",
                        described="unexplained share of the measured change, by rung"),
             "Of the measured entropy changes at these states, what each rung leaves unexplained after "
             "its best slope (root mean squares)."),
        ]),
        ladder,
        pages.paragraph(
            "From one line to the next, one assumption less. A slope of 1 means that the size is right "
            "too; with an optimizer that scales its steps it is not until line 4.", "small soft"),
        steps,
        pages.paragraph(
            "diagonal: mean of the squared norms, and their spread over it; within a state and across "
            "states: root mean square over the mean diagonal, * without what moves all logits of a state "
            "alike; squared: share of the sum of squares that lies on the diagonal.", "small soft"),
        "<p class='small soft'>The states, and their actions:</p>"
        + "".join(f"<p class='small'><code>{html.escape(name)}</code></p>" for name in names),
    )


def _difficulty(rows: list[dict[str, Any]]) -> str:
    labels = [f"{row['accuracy']:g}" for row in rows]

    def figure(name: str, y_label: str) -> str:
        return plots.bars(
            labels, [row[name] for row in rows], y_label=y_label, x_label="share of right answers",
            errors=[row[f"{name}_error"] for row in rows], described=f"{y_label} by accuracy",
        )

    counts = ", ".join(f"{row['prompts']} at {row['accuracy']:g}" for row in rows)
    return pages.section(
        "By difficulty of the prompt",
        pages.paragraph(
            f"As Figure 8 of Cui et al.: prompts by the share of their samples that are right, to the "
            f"nearest eighth (prompts: {counts}). Where all or none are right there is no advantage."
        ),
        pages.panels([
            ("Covariance, with the factor π",
             figure("covariance_pg", "Cov(log π, π A) (nats)"),
             "Theorem 1's form, which Figure 8 has; π of an answer is taken as the exponential of its "
             "log-probability per token. Whiskers: standard errors."),
            ("Covariance", figure("covariance", "Cov(log π, A) (nats)"),
             "Theorem 2's form, which the authors' token selection has."),
            ("Forecast entropy change", figure("forecast", "nats per learning rate"),
             "What the samples of such a prompt do to the mean entropy, by forecast (i)."),
        ]),
    )


def _covariance_table(rows: list[dict[str, Any]]) -> str:
    def kinds(row: dict[str, Any]) -> pages.Markup:
        found = " ".join(
            f"<code>{html.escape(pages.token(kind['text']))}</code>&nbsp;{kind['count']}"
            for kind in row["kinds"]
        )
        more = row["n_kinds"] - len(row["kinds"])
        return pages.Markup(found + (f" and {more} more" if more > 0 else ""))

    return pages.section(
        "The largest token covariances",
        pages.paragraph(
            "As Table 1 of Cui et al.: (log π − mean)(A − mean) of each token, the largest first, and "
            "which tokens those are (text and count)."
        ),
        pages.table(
            ["tokens", "count", "mean (nats)", "A < 0", "mean log π", "which"],
            [[row["share"].replace("_", " "), row["tokens"], row["mean"],
              f"{row['negative_advantage']:.0%}", row["mean_log_prob"], kinds(row)] for row in rows],
        ),
    )


# ---------------------------------------------------------------------------------- entropy_map.html

MAP_STYLE = """
.row { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: .7rem .8rem; margin: .7rem 0; }
.text { font: 1rem/2.1 ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre-wrap;
  overflow-wrap: anywhere; margin: .2rem 0; max-width: none; }
.q { color: var(--soft); }
.t { border-top: 4px solid transparent; border-bottom: 4px solid transparent; padding: 1px 2px;
  margin: 0 1px; border-radius: 3px; }
""" + "".join(
    f".d{i} {{ background: color-mix(in srgb, var(--down) {11 * i}%, transparent); "
    f"border-bottom-color: color-mix(in srgb, var(--ink) {20 * i}%, transparent); }}\n"
    f".u{i} {{ background: color-mix(in srgb, var(--up) {11 * i}%, transparent); "
    f"border-top-color: color-mix(in srgb, var(--ink) {20 * i}%, transparent); }}\n"
    for i in range(1, LEVELS + 1)
)


def map_page(found: dict[str, Any], tokens: AuditedTokens, decode: Decode) -> str:
    """Return a page that shows, token by token, where the entropy of one step went."""
    share = audited_tokens.relative_forecast(tokens)
    largest = float(np.abs(share[tokens.mask]).max(initial=0.0))
    down, up = share[share < 0].sum(), share[share > 0].sum()
    key = (
        '<p class="text"><span class="t d5">lowers</span><span class="t d2">a little</span>'
        '<span class="t">nothing</span><span class="t u2">a little</span>'
        '<span class="t u5">raises</span></p>'
    )
    says = (
        "Each token of an answer moved the mean entropy of this step's places, through all parameters "
        "that they share: as much as is shown, in the step that was taken"
        if audited_tokens.is_attributed(tokens) else
        "Each token of an answer moves the entropy of the place where it was drawn; forecast (i) says "
        "by how much"
    )
    body = (
        pages.paragraph(
            f"{_name(found)}, step {tokens.step}. {says}. Tokens with a bar below lower entropy, "
            f"with a bar above raise it; the stronger, the more. Of all that is moved {-down:.0%} goes "
            f"down and {up:.0%} up. A prompt's tokens (grey) are not drawn, and move none.", "soft")
        + _of_the_step(found, tokens)
        + key
        + pages.section("Answers that move the most", *(
            _map_row(tokens, share, row, largest, decode) for row in _chosen_rows(tokens, share)))
        + _by_token(found["entropy_by_token"])
        + pages.section("Where this comes from", pages.provenance(found["provenance"]))
    )
    return pages.page("Where the entropy went", body, style=MAP_STYLE)


def _of_the_step(found: dict[str, Any], tokens: AuditedTokens) -> str:
    """Say what the whole step was to do and did; nothing for audits made before there were accounts."""
    step = next(step for step in found["steps"] if step["step"] == tokens.step)
    if step.get("entropy_gradient") is None:
        return ""
    text = (
        f"The mean entropy was to change by {_nats(step['entropy_gradient'])}, as its gradient and the "
        f"optimizer's step announce (i′); it changed by {_nats(step['measured'])}, of which "
        f"{_nats(step['accounted'])} are accounted for"
    )
    if audited_tokens.is_attributed(tokens):
        text += (f", {_nats(float(tokens.attribution[tokens.mask].sum()))} by these answers' tokens "
                 "and the rest by what else moved the weights (momentum, weight decay, a second batch)")
    return pages.paragraph(f"{text}.", "small")


def _nats(value: float) -> str:
    return f"{value:+.3g} nats".replace("-", "−")


def _chosen_rows(tokens: AuditedTokens, share: np.ndarray) -> list[int]:
    """Choose the rows that move entropy most, at most two of a prompt; none that moves nothing.

    A prompt's rows stand together, at the place of that which moves more.
    """
    moved = np.abs(share).sum(-1)
    of_prompt: dict[int, list[int]] = {}
    chosen = 0
    for row in np.argsort(-moved, kind="stable"):
        rows = of_prompt.setdefault(int(tokens.group[row]), [])
        if moved[row] > 0 and chosen < MAP_ROWS and len(rows) < 2:
            rows.append(int(row))
            chosen += 1
    return [row for rows in of_prompt.values() for row in rows]


def _map_row(
    tokens: AuditedTokens, share: np.ndarray, row: int, largest: float, decode: Decode
) -> str:
    prompt = tokens.prompt_ids[row][tokens.prompt_mask[row]][-MAP_TOKENS:]
    places = np.nonzero(tokens.mask[row])[0]
    shown = places[:MAP_TOKENS]
    spans = "".join(
        _span(decode(int(tokens.token_ids[row, t])), float(share[row, t]), largest) for t in shown
    )
    cut = f" … and {len(places) - len(shown)} more" if len(shown) < len(places) else ""
    question = "".join(_plain(decode(int(i))) for i in prompt)
    down, up = -share[row].clip(max=0).sum(), share[row].clip(min=0).sum()
    details = pages.table(
        ["token", "π", "entropy here", "share", "did to the mean", "forecast (i)",
         "measured change here", "covariance"],
        [[pages.Markup(f"<code>{html.escape(pages.token(decode(int(tokens.token_ids[row, t]))))}</code>"),
          float(np.exp(tokens.log_prob[row, t])), float(tokens.entropy[row, t]),
          f"{share[row, t]:+.3%}", _number(tokens.attribution[row, t]),
          float(tokens.learning_rate * tokens.forecast[row, t]), _number(tokens.measured[row, t]),
          float(tokens.covariance[row, t])] for t in shown],
    )
    return (
        f'<div class="row"><p class="small soft">reward {tokens.reward[row]:g}, advantage '
        f'{tokens.advantage[row]:+.2f}; of all that is moved {down:.1%} down, {up:.1%} up</p>'
        f'<p class="text"><span class="q">{question}</span>{spans}{cut}</p>'
        f'<details class="small"><summary>numbers (nats)</summary>{details}</details></div>'
    )


def _span(text: str, share: float, largest: float) -> str:
    # The root: a few tokens move most, and the others should not look like none.
    level = round(LEVELS * (abs(share) / largest) ** 0.5) if largest > 0 else 0
    kind = f" {'d' if share < 0 else 'u'}{level}" if level else ""
    return f'<span class="t{kind}" title="{share:+.3%}">{_plain(pages.token(text))}</span>'


def _plain(text: str) -> str:
    return html.escape(text)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _by_token(rows: list[dict[str, Any]]) -> str:
    lowering = [row for row in rows if row["share"] < 0][:10]
    raising = [row for row in reversed(rows) if row["share"] > 0][:10]

    def of(chosen: list[dict[str, Any]]) -> str:
        return pages.table(
            ["token", "count", "share"],
            [[pages.Markup(f"<code>{html.escape(pages.token(row['text']))}</code>"), row["count"],
              f"{row['share']:+.2%}"] for row in chosen],
        )

    return pages.section(
        "By token, over all audited steps",
        '<div class="panels"><figure><h3>Lower entropy</h3>' + of(lowering)
        + "</figure><figure><h3>Raise entropy</h3>" + of(raising) + "</figure></div>",
    )
