"""What we found: ten results, each with its claim, its figure and its limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from entropy_theory.verification.claim import Claim
from entropy_theory.verification.verdict import FAILED
from paper_figures.site import claims as claim_pages
from paper_figures.site.markup import badge, claim_page, figure_page, link, text


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """A result: its title, plain sentences, and claims, of which the first that holds is precise."""

    title: str
    sentence: str
    claims: tuple[str, ...]
    figures: tuple[str, ...]


RESULTS = (
    Result(title="Entropy cannot be held at an arbitrary value",
           sentence="Let each prompt have logits of its own, and let step sizes have no finite sum. "
                    "Exact steps that reinforce right answers alone then leave the entropy among these, "
                    "at most $\\log|A^*|$. Tempering leads out of a collapse among several right "
                    "answers, after a time that grows exponentially with its depth. Where prompts pull "
                    "shared parameters apart, entropy may end above $\\log|A^*|$.",
           claims=("aepo.arbitrary-entropy", "extension.entropy-ceiling",
                   "extension.sustainable-entropies", "aepo.revival-time",
                   "extension.transient-collapse", "extension.varying-step-sizes",
                   "extension.conflicting-prompts"),
           figures=("aepo-figure-1", "aepo-sustainable-targets", "reachable-entropies",
                    "aepo-figure-4")),
    Result(title="The prompt decides whether a hot second batch raises entropy",
           sentence="As temperature rises the sign of the effect changes at most once, and on some "
                    "prompts never.",
           claims=("aepo.high-temperature-raises", "extension.global-tempering",
                   "extension.sign-change-temperature", "aepo.theorem-4.3b"),
           figures=("aepo-theorem-4-3", "aepo-figure-2")),
    Result(title="In a table of logits, a step's entropy change can be forecast",
           sentence="The forecast adds up the rule's coefficients token by token. The size of its error "
                    "has a proved bound.",
           claims=("extension.score-forecast", "extension.remainder-constant"),
           figures=("exact-and-first-order", "remainder-bound")),
    Result(title="On a network the tabular forecast fails",
           sentence="Tokens share parameters there. The change is the gradient of entropy averaged along "
                    "the optimizer's step, and the tabular sign may be wrong.",
           claims=("aepo.assumption-b4", "extension.kernel-sign"),
           figures=("entropy-audit", "entropy-accounts", "independent-logits")),
    Result(title="Policy gradients do not always lower entropy",
           sentence="A covariance decides. It is positive where the reward is ordered like the policy, "
                    "and may be negative elsewhere.",
           claims=("entropy-mechanism.covariance-positive",
                   "entropy-mechanism.covariance-positive-npg"),
           figures=("covariance-sign-map", "entropy-mechanism-figure-8")),
    Result(title="Algorithms do not share one curve of performance against entropy",
           sentence="They do from symmetric starts, but that curve is not $R = b - a e^H$. Zero entropy "
                    "leaves open which answers are right.",
           claims=("entropy-mechanism.algorithm-irrelevance", "entropy-mechanism.performance-law",
                   "entropy-mechanism.ceiling", "extension.symmetric-curve"),
           figures=("entropy-mechanism-figure-6", "interventions-on-the-curve")),
    Result(title="Responses are not long actions",
           sentence="The printed entropy change of policy gradients lacks the probability of visiting "
                    "the state. With $1/|o|$ the gradient may have another direction where right "
                    "responses differ in length.",
           claims=("entropy-mechanism.theorem-1", "aepo.length-factors", "aepo.objective-gradient"),
           figures=("entropy-mechanism-figure-8", "response-length")),
    Result(title="An entropy bonus has a middle between collapse and explosion",
           sentence="Its stationary policy has an entropy strictly between that of the right answers and "
                    "that of the uniform policy.",
           claims=("aepo.collapse-or-explosion",), figures=("phase-diagrams", "aepo-figure-3")),
    Result(title="The entropy that a bonus raises decides its price",
           sentence="Among right answers the price vanishes as answers become right. A natural gradient "
                    "pays none.",
           claims=("extension.diverse-bonus-price", "extension.diverse-bonus-natural"),
           figures=("reachable-entropies", "holding-a-target-exactly")),
    Result(title="Clamping the entropy lessens its bias under one condition",
           sentence="Right tokens must be denser among the kept tokens than among all. That is necessary "
                    "and sufficient.",
           claims=("aent.clamping-reduces-bias", "extension.clamped-optimum"),
           figures=("aent-figure-6", "aent-figure-1")),
)


def page(claims: Mapping[str, Claim], figures: Sequence[Mapping[str, Any]]) -> str:
    """Return the page of the results whose claims and figures all have pages."""
    records, shown = claim_pages.records(claims), {f["name"]: f for f in figures}
    parts = ["# What we found", "",
             "Ten results that a researcher should know. Each rests on a statement with a verdict, is "
             "drawn in a figure, and holds within the scope that ends it.", ""]
    for result in RESULTS:
        if set(result.claims) <= claims.keys() and set(result.figures) <= shown.keys():
            parts += [_result(result, claims, records, shown)]
    return "\n".join(parts)


def holding(
    result: Result, claims: Mapping[str, Claim], records: Mapping[str, Mapping[str, Any]]
) -> Claim:
    """Return the claim that says a result precisely: the first with a repair or that is not refuted."""
    return next(
        claim for claim in (claims[name] for name in result.claims)
        if claim.repair or records[claim.id]["verdict"] not in FAILED)


def _precisely(claim: Claim) -> str:
    """Write what holds; a repair after what it repairs, which it may refer to."""
    claimed = f"Claimed: {text(claim.statement.latex)}\n\n" if claim.repair else ""
    return f"{claimed}What holds: {text((claim.repair or claim.statement).latex)}"


def _result(
    result: Result, claims: Mapping[str, Claim], records: Mapping[str, Mapping[str, Any]],
    shown: Mapping[str, Mapping[str, Any]],
) -> str:
    lines = [f"## {text(result.title)}", "", text(result.sentence), "",
             _precisely(holding(result, claims, records)), ""]
    for claim_id in result.claims:
        record, claim = records[claim_id], claims[claim_id]
        note = f" ({record['instead']}: {text(claim.repair_note)})" if record["instead"] else ""
        lines.append(f"- {link(claim.title, claim_page(claim_id))} "
                     f"{badge(record['verdict'])}{note}")
    for name in result.figures:
        figure = shown[name]
        headline = text(figure["headline"] or figure["ours"])
        lines.append(f"- {link(figure['label'], figure_page(name))}: {headline}")
    limits = dict.fromkeys(claims[i].scope for i in result.claims)
    return "\n".join([*lines, "", f"**Limits.** Said of: {text('; '.join(limits))}.", ""])
