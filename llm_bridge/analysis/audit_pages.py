"""Writes what an audit found for people: audit.html (plots, tables) and entropy_map.html (tokens).

Both are made from the files of a run alone (audit.json and audit/), and can be made again.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from entropy_theory.support import results
from llm_bridge.analysis import audit, kernel_record, pages
from llm_bridge.analysis import tokens as audited_tokens
from llm_bridge.analysis.kernel_record import KernelRecord
from llm_bridge.analysis.pages import Answer, Figure, Section, Span, Table
from llm_bridge.analysis.tangent_kernel import RUNGS
from llm_bridge.analysis.tokens import AuditedTokens, Decode
from llm_bridge.running.run_folder import RunFolder

MAP_ROWS = 12
"""How many answers the token map shows."""
MAP_TOKENS = 400
"""How many tokens are shown of each prompt's end and of each answer's start."""
FORECASTS = {
    "coefficients": "(i) coefficients, tabular", "entropy_gradient": "(i′) entropy gradient",
    "first_order": "(ii) first order in the logits", "second_order": "(ii) with second order",
    "exact": "(iii) exact in the logits", "accounted": "accounted, along the step",
}
"""The forecasts of an audit's summary, and what its page calls them."""
HEADS = {"parts": "{}", "by_rule": "rule {}", "by_answer": "{} answers"}
"""What the page calls a part of each division (`audit.DIVISIONS`)."""
RUNG_NAMES = {
    "identity": "the tabular assumption", "own state": "any kernel within a state",
    "all states": "the whole kernel", "optimizer": "the optimizer's own step",
    "first order": "the measured logits, (ii)",
}


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
    config = found["provenance"]["config"]
    lead = (
        "Theorems forecast how an update moves the policy's entropy, for policies in which every logit "
        "is a parameter of its own. This page compares the forecasts with the measured change on "
        f"{len(found['steps'])} optimizer steps ({config['optimizer']}, learning rate "
        f"{config['learning_rate']:g}). Entropy is in nats per token."
    )
    sections = [_forecasts(found), *([_kernel(found["kernel"], kernels, decode)] if kernels else []),
                _difficulty(found["covariance_by_difficulty"]),
                _covariance_table(found["covariance_table"]), _origin(found)]
    return pages.page(f"Audit of {_name(found)}", lead, sections)


def _name(found: dict[str, Any]) -> str:
    config = found["provenance"]["config"]
    task = config.get("data") or config["task"]
    return f"{Path(config['model']).name} on {Path(task).name}, {config['rule']}"


def _origin(found: dict[str, Any]) -> Section:
    return "Where this comes from", [pages.provenance(found["provenance"])]


def _forecasts(found: dict[str, Any]) -> Section:
    steps, summary = found["steps"], found["summary"]["tokens"]
    by_token = {
        name: np.array([value for step in steps for value in step["by_token"][name]])
        for name in ("coefficients", "first_order", "exact", "measured")
    }
    # (i) is per unit learning rate, and an optimizer takes steps of its own size.
    by_token["coefficients"] *= summary["slope"]["coefficients"]
    captions = {
        "coefficients": ("(i) from the coefficients", "Tabular assumption; scaled by its best slope, "
                         f"{summary['slope']['coefficients']:.3g}."),
        "first_order": ("(ii) first order in the measured logits",
                        "Its error is that of the first order alone."),
        "exact": ("(iii) exact in the measured logits", "The measured change, as it must be."),
    }

    def scatter(axes: Any, forecast: np.ndarray) -> None:
        axes.scatter(forecast, by_token["measured"], s=7, alpha=0.45, linewidths=0, rasterized=True)
        axes.axline((0, 0), slope=1, color="#555", linestyle="--", linewidth=1)

    figures = [
        pages.figure(title, f"r = {summary['correlation'][name]:.3f}. {caption}",
                     functools.partial(scatter, forecast=by_token[name]),
                     xlabel="forecast (nats)", ylabel="measured (nats)")
        for name, (title, caption) in captions.items()
    ]
    columns = ("step", "entropy", "coefficients_exact", "entropy_gradient", "first_order", "exact",
               "accounted", "measured")
    dominant = summary["dominant"]
    return "Forecast against measurement", [
        "Each point is the entropy at one token's state. The larger error is that of the "
        f"{'first-order expansion' if dominant == 'first order' else dominant}: "
        f"{summary['tabular_error']:.2g} nats (root mean square) lie between (i) and (ii), "
        f"{summary['first_order_error']:.2g} between (ii) and (iii).",
        figures,
        "Means over each step's sequences, nats:",
        Table(["step", "entropy", "(i) exact, SGD", "(i′)", "(ii)", "(iii)", "accounted", "measured"],
              [[step.get(name) for name in columns] for step in steps]),
        *_agreement(found["summary"]["steps"]),
        *_divided(found),
    ]


def _agreement(summary: dict[str, Any]) -> list[Any]:
    """Return a table of how well each forecast met the measured changes of whole steps."""
    if summary["steps"] < 3:
        return []  # two points lie on a line
    return [
        f"Each forecast of the mean against its measured change, over {summary['steps']} steps; the "
        "slope of (i) is per unit learning rate:",
        Table(["", "correlation", "slope"],
              [[title, summary["correlation"][name], summary["slope"][name]]
               for name, title in FORECASTS.items() if name in summary["correlation"]]),
    ]


def _divided(found: dict[str, Any]) -> list[Any]:
    """Return a table of what moved the mean entropy; nothing for audits made before there was one."""
    steps, sums = found["steps"], found["summary"].get("divided", {})
    columns = list(dict.fromkeys(
        (division, name) for division in audit.DIVISIONS
        for step in steps for name in step.get(division) or {}))
    if not columns:
        return []

    def row(label: Any, accounted: float | None, divided: dict[str, Any]) -> list[Any]:
        return [label, accounted,
                *((divided.get(division) or {}).get(name) for division, name in columns)]

    rows = [row(step["step"], step.get("accounted"), step) for step in steps]
    if len(steps) > 1 and sums.get("parts") is not None:
        rows.append(row("all", math.fsum(sums["parts"].values()), sums))
    return [
        "(i′) is the inner product of the gradient of the mean entropy by the parameters with the "
        "optimizer's step, without any assumption on the logits. Averaged along the step it accounts for "
        "the measured change (nats). The parts of the step add up to what is accounted for; the rules, "
        "and right and wrong answers, each add up to gradient and clipping.",
        Table(["step", "accounted",
               *(HEADS[division].format(name.replace("_", " ")) for division, name in columns)], rows),
    ]


def _kernel(summary: dict[str, Any], kernels: Sequence[KernelRecord], decode: Decode) -> Section:
    first, rungs = summary["steps"][0], summary["rungs"]
    matrix = kernels[0].kernel.matrix()
    norm = np.sqrt(np.maximum(kernels[0].kernel.diagonal(), 1e-300))
    low, high = first["diagonal_range"]
    columns = ("diagonal", "diagonal_spread", "within_state", "across_states", "contrast_within",
               "contrast_across", "diagonal_share")
    return "Are logits independent?", [
        f"Assumption B.4 says that the gradients of two logits are orthonormal: the matrix of their "
        f"inner products is the identity. At {summary['states']} states and {summary['actions']} actions "
        f"each, its diagonal is {first['diagonal']:.3g} on average, from {low:.3g} to {high:.3g}, a "
        f"spread of {first['diagonal_spread']:.0%}. Off it, two logits of a state have "
        f"{first['within_state']:.0%} and logits of two states {first['across_states']:.0%} of it (root "
        f"mean square). What moves all logits of a state alike moves no entropy: without it these are "
        f"{first['contrast_within']:.0%} and {first['contrast_across']:.0%}.",
        [pages.figure(
            "Inner products of logit gradients",
            "As cosines, first audited step: darker is closer to 1, a dash marks those below 0. Each "
            "block is a state. Under the assumption only the diagonal is dark.",
            lambda axes: _cosines(axes, matrix / np.outer(norm, norm), summary["actions"])),
         pages.figure(
            "What the forecast loses",
            "Of the measured entropy changes at these states, what each rung leaves unexplained after "
            "its best slope (root mean squares).",
            lambda axes: axes.bar([str(i + 1) for i in range(len(RUNGS))],
                                  [rungs[name]["unexplained"] for name in RUNGS]),
            xlabel="rung, see the table", ylabel="unexplained share")],
        Table(["the logits move by", "", "correlation", "slope", "unexplained", "error (nats)"],
              [[name, RUNG_NAMES[name], rungs[name]["correlation"], rungs[name]["slope"],
                rungs[name]["unexplained"], rungs[name]["error"]] for name in RUNGS]),
        "From one line to the next, one assumption less. A slope of 1 means that the size is right too; "
        "an optimizer that scales its steps reaches it from line 4 on.",
        Table(["step", "diagonal", "spread", "within", "across", "within*", "across*", "squared"],
              [[step["step"], *(step[name] for name in columns)] for step in summary["steps"]]),
        "diagonal: mean of the squared norms, and their spread over it; within a state and across "
        "states: root mean square over the mean diagonal; * without what moves all logits of a state "
        "alike; squared: share of the sum of squares that lies on the diagonal.",
        Table(["state", "its last tokens", "actions"], [
            [number, "…" + "".join(pages.token(decode(i)) for i in prefix[-6:]),
             "  ".join(pages.token(decode(int(a))) for a in actions)]
            for number, (prefix, actions) in enumerate(
                zip(kernels[0].prefixes, kernels[0].kernel.actions, strict=True), start=1)]),
    ]


def _cosines(axes: Any, cosines: np.ndarray, block: int) -> None:
    axes.set(xticks=[], yticks=[])
    axes.imshow(np.abs(cosines), cmap="Greys", vmin=0, vmax=1)
    below, beside = np.nonzero(cosines < -0.05)
    axes.scatter(beside, below, marker="_", color=pages.COLORS[1], s=14, linewidths=1)
    for k in range(block, len(cosines), block):
        axes.axhline(k - 0.5, color="#888", linewidth=0.6, linestyle="-")
        axes.axvline(k - 0.5, color="#888", linewidth=0.6, linestyle="-")


def _difficulty(rows: list[dict[str, Any]]) -> Section:
    def bars(name: str, title: str, caption: str, ylabel: str) -> Figure:
        def draw(axes: Any) -> None:
            errors = [0.0 if row[f"{name}_error"] is None else row[f"{name}_error"] for row in rows]
            axes.bar([f"{row['accuracy']:g}" for row in rows], [row[name] for row in rows], yerr=errors,
                     capsize=3)
            axes.axhline(0, color="#555", linewidth=0.8, linestyle="-")

        return pages.figure(title, caption, draw, xlabel="share of right answers", ylabel=ylabel)

    counts = ", ".join(f"{row['prompts']} at {row['accuracy']:g}" for row in rows)
    return "By difficulty of the prompt", [
        f"As Figure 8 of Cui et al.: prompts by the share of their samples that are right, to the "
        f"nearest eighth (prompts: {counts}). Where all or none are right there is no advantage.",
        [bars("covariance_pg", "Covariance, with the factor π",
              "Theorem 1's form, which Figure 8 has; π of an answer is taken as the exponential of its "
              "log-probability per token. Whiskers: standard errors.", "Cov(log π, π A) (nats)"),
         bars("covariance", "Covariance", "Theorem 2's form, which the authors' token selection has.",
              "Cov(log π, A) (nats)"),
         bars("forecast", "Forecast entropy change", "What the samples of such a prompt do to the mean "
              "entropy, by forecast (i).", "nats per learning rate")],
    ]


def _covariance_table(rows: list[dict[str, Any]]) -> Section:
    def kinds(row: dict[str, Any]) -> str:
        more = row["n_kinds"] - len(row["kinds"])
        return " · ".join(
            [f"{pages.token(kind['text'])} {kind['count']}" for kind in row["kinds"]]
            + ([f"and {more} more"] if more > 0 else []))

    return "The largest token covariances", [
        "As Table 1 of Cui et al.: (log π − mean)(A − mean) of each token, the largest first, and "
        "which tokens those are (text and count).",
        Table(["tokens", "count", "mean (nats)", "A < 0", "mean log π", "which"],
              [[row["share"].replace("_", " "), row["tokens"], row["mean"],
                f"{row['negative_advantage']:.0%}", row["mean_log_prob"], kinds(row)] for row in rows]),
    ]


# ---------------------------------------------------------------------------------- entropy_map.html


def map_page(found: dict[str, Any], tokens: AuditedTokens, decode: Decode) -> str:
    """Return a page that shows, token by token, where the entropy of one step went."""
    share = audited_tokens.relative_forecast(tokens)
    largest = float(np.abs(share[tokens.mask]).max(initial=0.0))
    down, up = share[share < 0].sum(), share[share > 0].sum()
    says = (
        "Each token of an answer moved the mean entropy of this step's places, through all parameters "
        "that they share: the map shows how much, in the step that was taken"
        if audited_tokens.is_attributed(tokens) else
        "Each token of an answer moves the entropy of the place where it was drawn; forecast (i) says "
        "by how much"
    )
    lead = (
        f"{_name(found)}, step {tokens.step}. {says}. Tokens with a bar below lower entropy, with a bar "
        f"above raise it; the stronger, the more. Of all that is moved {-down:.0%} goes down and "
        f"{up:.0%} up. A prompt's tokens (grey) are not drawn, and move none."
    )
    key = Answer(spans=[
        Span(text="lowers", strength=100), Span(text="a little", strength=40), Span(text="nothing"),
        Span(text="a little", effect="raises", strength=40),
        Span(text="raises", effect="raises", strength=100)])
    answers = [_answer(tokens, share, row, largest, decode) for row in _chosen_rows(tokens, share)]
    by_token = found["entropy_by_token"]
    return pages.page("Where the entropy went", lead, [
        ("The step", [*_of_the_step(found, tokens), key]),
        ("Answers that move the most", answers),
        ("By token, over all audited steps", [
            "Tokens that lower entropy most:",
            _shares([row for row in by_token if row["share"] < 0][:10]),
            "Tokens that raise entropy most:",
            _shares([row for row in reversed(by_token) if row["share"] > 0][:10])]),
        _origin(found),
    ])


def _of_the_step(found: dict[str, Any], tokens: AuditedTokens) -> list[str]:
    """Say what the whole step was to do and did; nothing for audits made before there were accounts."""
    step = next(step for step in found["steps"] if step["step"] == tokens.step)
    if step.get("entropy_gradient") is None:
        return []
    text = (
        f"The entropy's gradient and the optimizer's step forecast (i′) a change of the mean entropy by "
        f"{_nats(step['entropy_gradient'])}. It changed by {_nats(step['measured'])}, of which "
        f"{_nats(step['accounted'])} are accounted for"
    )
    if audited_tokens.is_attributed(tokens):
        text += (f", {_nats(float(tokens.attribution[tokens.mask].sum()))} by these answers' tokens "
                 "and the rest by what else moved the weights (momentum, weight decay, a second batch)")
    return [f"{text}."]


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


def _answer(
    tokens: AuditedTokens, share: np.ndarray, row: int, largest: float, decode: Decode
) -> Answer:
    prompt = tokens.prompt_ids[row][tokens.prompt_mask[row]][-MAP_TOKENS:]
    places = np.nonzero(tokens.mask[row])[0]
    shown = places[:MAP_TOKENS]
    texts = [pages.token(decode(int(tokens.token_ids[row, t]))) for t in shown]
    spans = [
        # The root: a few tokens move most, and the others should not look like none.
        Span(text=text, effect="lowers" if share[row, t] < 0 else "raises",
             strength=round(100 * (abs(share[row, t]) / (largest or 1.0)) ** 0.5),
             title=f"{share[row, t]:+.3%}")
        for text, t in zip(texts, shown, strict=True)
    ]
    if len(shown) < len(places):
        spans.append(Span(text=f" … and {len(places) - len(shown)} more"))
    down, up = abs(share[row].clip(max=0).sum()), share[row].clip(min=0).sum()
    return Answer(
        summary=f"reward {tokens.reward[row]:g}, advantage {tokens.advantage[row]:+.2f}; of all that is "
                f"moved {down:.1%} down, {up:.1%} up",
        prompt="".join(decode(int(i)) for i in prompt), spans=spans,
        numbers=Table(
            ["token", "π", "entropy here", "share", "did to the mean", "forecast (i)",
             "measured change here", "covariance"],
            [[text, float(np.exp(tokens.log_prob[row, t])), float(tokens.entropy[row, t]),
              f"{share[row, t]:+.3%}", _number(tokens.attribution[row, t]),
              float(tokens.learning_rate * tokens.forecast[row, t]), _number(tokens.measured[row, t]),
              float(tokens.covariance[row, t])] for text, t in zip(texts, shown, strict=True)]),
    )


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _shares(rows: list[dict[str, Any]]) -> Table:
    return Table(["token", "count", "share"],
                 [[pages.token(row["text"]), row["count"], f"{row['share']:+.2%}"] for row in rows])
