"""Writes audit.html, what an audit found for people: plots, tables, and the answers that moved entropy.

The page is made from the files of a run alone (audit.json and audit/), and can be made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from entropy_theory.support import pages, results
from entropy_theory.support.pages import Answer, Figure, Section, Span, Table
from llm_bridge.analysis import audit, kernel_record
from llm_bridge.analysis import tokens as audited_tokens
from llm_bridge.analysis.kernel_record import KernelRecord
from llm_bridge.analysis.tangent_kernel import RUNGS
from llm_bridge.analysis.tokens import AuditedTokens, Decode
from llm_bridge.running.run_folder import RunFolder

MAP_ROWS = 12
"""How many answers the page shows token by token."""
MAP_TOKENS = 400
"""How many tokens are shown of each prompt's end and of each answer's start."""
FORECASTS = {
    "coefficients": "(i) coefficients, tabular", "entropy_gradient": "(i′) entropy gradient",
    "first_order": "(ii) first order in the logits", "second_order": "(ii) with second order",
    "exact": "(iii) exact in the logits", "accounted": "accounted, along the step",
}
"""The forecasts of an audit's summary, and what its page calls them."""
HEADS = {"parts": "{}", "by_rule": "rule {}", "by_answer": "{} answers"}
"""The page's name for a part of each division (`audit.DIVISIONS`)."""
RUNG_NAMES = {
    "identity": "the tabular assumption", "own state": "any kernel within a state",
    "all states": "the whole kernel", "optimizer": "the optimizer's own step",
    "first order": "the measured logits, (ii)",
}


def complete(run: Path, decode: Decode) -> dict[str, Any]:
    """Add tables and kernels to a run's audit.json, and write its page.

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
    results.write_text(run / "audit.html", page(found, tokens[0], kernels, decode))
    return found


def _files(run: Path, kind: str, steps: Sequence[int]) -> list[Path]:
    paths = (run / "audit" / f"{kind}-{step:05d}.npz" for step in steps)
    return [path for path in paths if path.exists()]


def page(
    found: dict[str, Any], tokens: AuditedTokens, kernels: Sequence[KernelRecord], decode: Decode
) -> str:
    """Return the page, a whole HTML document; ``tokens`` are those of the step that it shows."""
    config = found["provenance"]["config"]
    task = Path(config.get("data") or config["task"]).name
    lead = (
        f"{len(found['steps'])} optimizer steps ({config['optimizer']}, learning rate "
        f"{config['learning_rate']:g}). Entropy is in nats per token.")
    return pages.page(f"Audit of {Path(config['model']).name} on {task}, {config['rule']}", lead, [
        ("Forecast against measurement", _forecasts(found)),
        *([("Are logits independent?", _kernel(found["kernel"], kernels))] if kernels else []),
        ("By difficulty of the prompt", _difficulty(found["covariance_by_difficulty"])),
        _covariance_table(found["covariance_table"]),
        _map(tokens, decode),
        ("By token, over all audited steps", [_by_token(found["entropy_by_token"])]),
        ("Where this comes from", [pages.provenance(found["provenance"])]),
    ])


def _forecasts(found: dict[str, Any]) -> list[Any]:
    steps, summary = found["steps"], found["summary"]["tokens"]
    measured, *forecasts = (
        np.array([value for step in steps for value in step["by_token"][name]])
        for name in ("measured", "coefficients", "first_order", "exact"))
    # (i) is per unit learning rate, and an optimizer takes steps of its own size.
    forecasts[0] = forecasts[0] * summary["slope"]["coefficients"]

    def scatter(forecast: np.ndarray) -> Any:
        def draw(axes: Any) -> None:
            axes.scatter(forecast, measured, s=7, alpha=0.45, linewidths=0, rasterized=True)
            axes.axline((0, 0), slope=1, color="#555", linestyle="--", linewidth=1)
        return draw

    figures = [
        pages.figure(FORECASTS[name], f"r = {summary['correlation'][name]:.3f}.", scatter(forecast),
                     xlabel="forecast (nats)", ylabel="measured (nats)")
        for name, forecast in zip(("coefficients", "first_order", "exact"), forecasts, strict=True)
    ]
    return [
        f"Each point is the entropy at one token's state; (i) is scaled by its best slope. The larger "
        f"error is that of the {summary['dominant']}: {summary['tabular_error']:.2g} nats (root mean "
        f"square) lie between (i) and (ii), {summary['first_order_error']:.2g} between (ii) and (iii).",
        figures, *_agreement(found["summary"]["steps"]), *_steps(found),
    ]


def _agreement(summary: dict[str, Any]) -> list[Table]:
    """Return a table of how well each forecast met the measured changes of whole steps."""
    if summary["steps"] < 3:
        return []  # two points lie on a line
    return [Table([f"forecast of {summary['steps']} steps", "correlation", "slope"],
                  [[title, summary["correlation"][name], summary["slope"][name]]
                   for name, title in FORECASTS.items() if name in summary["correlation"]])]


def _steps(found: dict[str, Any]) -> list[Any]:
    """Return a table of the mean changes of each step, and of what moved the mean entropy."""
    steps = found["steps"]
    means = {"entropy": "entropy", "coefficients_exact": "(i) exact, SGD", "entropy_gradient": "(i′)",
             "first_order": "(ii)", "exact": "(iii)", "accounted": "accounted", "measured": "measured"}
    parts = list(dict.fromkeys(
        (division, name) for division in audit.DIVISIONS
        for step in steps for name in step.get(division) or {}))
    return [
        "Means over each step's sequences, nats. The parts of the step add up to what is accounted for; "
        "the rules, and right and wrong answers, each add up to gradient and clipping.",
        Table(["step", *means.values(),
               *(HEADS[division].format(name.replace("_", " ")) for division, name in parts)],
              [[step["step"], *(step.get(name) for name in means),
                *((step.get(division) or {}).get(name) for division, name in parts)] for step in steps])]


def _kernel(summary: dict[str, Any], kernels: Sequence[KernelRecord]) -> list[Any]:
    rungs, matrix = summary["rungs"], kernels[0].kernel.matrix()
    norm = np.sqrt(np.maximum(kernels[0].kernel.diagonal(), 1e-300))
    names = ("diagonal", "diagonal_spread", "within_state", "across_states", "contrast_within",
             "contrast_across", "diagonal_share")

    def cosines(axes: Any) -> None:
        axes.set(xticks=[], yticks=[])
        axes.imshow(np.abs(matrix / np.outer(norm, norm)), cmap="Greys", vmin=0, vmax=1)

    return [
        f"Assumption B.4 says that the gradients of two logits are orthonormal: the matrix of their "
        f"inner products is the identity. It is measured at {summary['states']} states and "
        f"{summary['actions']} actions each.",
        [pages.figure("Inner products of logit gradients",
                      "Absolute cosines, first audited step; each block is a state.", cosines)],
        Table(["the logits move by", "", "correlation", "slope", "unexplained", "error (nats)"],
              [[name, RUNG_NAMES[name], *(rungs[name][key] for key in (
                  "correlation", "slope", "unexplained", "error"))] for name in RUNGS]),
        "From one line to the next, one assumption less. A slope of 1 means that the size is right too.",
        Table(["step", *(name.replace("_", " ") for name in names)],
              [[step["step"], *(step[name] for name in names)] for step in summary["steps"]]),
    ]


def _difficulty(rows: list[dict[str, Any]]) -> list[Any]:
    def bars(name: str, title: str, ylabel: str) -> Figure:
        def draw(axes: Any) -> None:
            errors = [0.0 if row[f"{name}_error"] is None else row[f"{name}_error"] for row in rows]
            axes.bar([f"{row['accuracy']:g}" for row in rows], [row[name] for row in rows], yerr=errors,
                     capsize=3)
            axes.axhline(0, color="#555", linewidth=0.8, linestyle="-")

        return pages.figure(title, "Whiskers: standard errors.", draw, xlabel="share of right answers",
                            ylabel=ylabel)

    return [
        "As Figure 8 of Cui et al.: prompts by the share of their samples that are right, to the nearest "
        "eighth.",
        [bars("covariance_pg", "Covariance, with the factor π (Theorem 1)", "Cov(log π, π A) (nats)"),
         bars("covariance", "Covariance (Theorem 2)", "Cov(log π, A) (nats)"),
         bars("forecast", "Forecast (i) of the entropy change", "nats per learning rate")],
    ]


def _covariance_table(rows: list[dict[str, Any]]) -> Section:
    return "The largest token covariances", [
        "As Table 1 of Cui et al.: (log π − mean)(A − mean) of each token, and which tokens those are.",
        Table(["tokens", "count", "mean (nats)", "A < 0", "mean log π", "which"],
              [[row["share"].replace("_", " "), row["tokens"], row["mean"],
                f"{row['negative_advantage']:.0%}", row["mean_log_prob"],
                " · ".join(f"{pages.token(kind['text'])} {kind['count']}" for kind in row["kinds"])]
               for row in rows])]


def _map(tokens: AuditedTokens, decode: Decode) -> Section:
    """Show, token by token, where the entropy of one step went."""
    share = audited_tokens.relative_forecast(tokens)
    largest = float(np.abs(share[tokens.mask]).max(initial=0.0))
    says = ("what each token did to the mean entropy, through all parameters"
            if audited_tokens.is_attributed(tokens) else "forecast (i) of each token")
    return f"Where the entropy of step {tokens.step} went", [
        f"The answers that move most, by {says}. Tokens with a bar below lower entropy, with a bar above "
        "raise it; the stronger, the more.",
        *(_answer(tokens, share, row, largest, decode) for row in _chosen_rows(tokens, share))]


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
    spans = [
        # The root: a few tokens move most, and the others should not look like none.
        Span(text=pages.token(decode(int(tokens.token_ids[row, t]))),
             effect="lowers" if share[row, t] < 0 else "raises",
             strength=round(100 * (abs(share[row, t]) / (largest or 1.0)) ** 0.5),
             title=f"{share[row, t]:+.3%}, π {np.exp(tokens.log_prob[row, t]):.3g}")
        for t in places[:MAP_TOKENS]
    ]
    if len(places) > MAP_TOKENS:
        spans.append(Span(text=f" … and {len(places) - MAP_TOKENS} more"))
    down, up = abs(share[row].clip(max=0).sum()), share[row].clip(min=0).sum()
    return Answer(
        summary=f"reward {tokens.reward[row]:g}, advantage {tokens.advantage[row]:+.2f}; of all that is "
                f"moved {down:.1%} down, {up:.1%} up",
        prompt="".join(decode(int(i)) for i in prompt), spans=spans)


def _by_token(rows: list[dict[str, Any]]) -> Table:
    """Return a table of the tokens that lower entropy most, and of those that raise it most."""
    lower = [row for row in rows if row["share"] < 0][:10]
    raised = [row for row in rows if row["share"] > 0][-10:]
    return Table(["token", "count", "share"], [
        [pages.token(row["text"]), row["count"], f"{row['share']:+.2%}"] for row in (*lower, *raised)])
