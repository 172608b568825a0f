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
    """A result in one sentence; the first of its claims that holds says it precisely."""

    sentence: str
    claims: tuple[str, ...]
    figures: tuple[str, ...]


RESULTS = (
    Result(sentence="Entropy cannot be held at an arbitrary value where each prompt has logits of its "
                    "own and step sizes have no finite sum: exact steps that reinforce right answers "
                    "alone leave the entropy among them, at most $\\log|A^*|$. Out of a collapse among "
                    "several right answers tempering leads, after a time that grows exponentially with "
                    "its depth. Where prompts pull shared parameters apart, entropy may end above "
                    "$\\log|A^*|$.",
           claims=("aepo.arbitrary-entropy", "extension.entropy-ceiling",
                   "extension.sustainable-entropies", "aepo.revival-time",
                   "extension.transient-collapse", "extension.varying-step-sizes",
                   "extension.conflicting-prompts"),
           figures=("aepo-figure-1", "aepo-sustainable-targets", "reachable-entropies",
                    "aepo-figure-4")),
    Result(sentence="Whether a hot second batch raises entropy depends on the prompt; as temperature "
                    "rises the sign of the effect changes at most once, and on some prompts never.",
           claims=("aepo.high-temperature-raises", "extension.global-tempering",
                   "extension.sign-change-temperature", "aepo.theorem-4.3b"),
           figures=("aepo-theorem-4-3", "aepo-figure-2")),
    Result(sentence="Where every logit is its own, what a step does to entropy can be forecast from the "
                    "rule's coefficients, token by token, with a proved bound on what is left out.",
           claims=("extension.score-forecast", "extension.remainder-constant"),
           figures=("exact-and-first-order", "remainder-bound")),
    Result(sentence="On a network it cannot, since tokens share parameters: the change is the gradient "
                    "of entropy averaged along the optimizer's step, and the tabular sign may be wrong.",
           claims=("aepo.assumption-b4", "extension.kernel-sign"),
           figures=("entropy-audit", "entropy-accounts", "independent-logits")),
    Result(sentence="Policy gradients do not always lower entropy: the covariance that decides "
                    "is positive where the reward is ordered like the policy, and may be negative "
                    "elsewhere.",
           claims=("entropy-mechanism.covariance-positive",
                   "entropy-mechanism.covariance-positive-npg"),
           figures=("covariance-sign-map", "entropy-mechanism-figure-8")),
    Result(sentence="Performance is no function of entropy across algorithms: they share a curve from "
                    "symmetric starts, which is not $R = b - a e^H$, and zero entropy does not say which "
                    "answers are right.",
           claims=("entropy-mechanism.algorithm-irrelevance", "entropy-mechanism.performance-law",
                   "entropy-mechanism.ceiling", "extension.symmetric-curve"),
           figures=("entropy-mechanism-figure-6", "interventions-on-the-curve")),
    Result(sentence="Responses are not long actions: the printed entropy change of policy gradients "
                    "lacks the probability of visiting the state, and with $1/|o|$ the gradient may "
                    "have another direction where right responses differ in length.",
           claims=("entropy-mechanism.theorem-1", "aepo.length-factors", "aepo.objective-gradient"),
           figures=("entropy-mechanism-figure-8", "response-length")),
    Result(sentence="An entropy bonus has a middle between collapse and explosion: its stationary policy "
                    "has an entropy strictly between that of the right answers and the uniform one.",
           claims=("aepo.collapse-or-explosion",), figures=("phase-diagrams", "aepo-figure-3")),
    Result(sentence="Which entropy a bonus raises decides its price: among right answers the price "
                    "vanishes as answers become right, and a natural gradient pays none.",
           claims=("extension.diverse-bonus-price", "extension.diverse-bonus-natural"),
           figures=("reachable-entropies", "holding-a-target-exactly")),
    Result(sentence="Clamping the entropy to likely tokens lessens its bias exactly where right "
                    "tokens are denser among those that are kept.",
           claims=("aent.clamping-reduces-bias", "extension.clamped-optimum"),
           figures=("aent-figure-6", "aent-figure-1")),
)


def page(claims: Mapping[str, Claim], figures: Sequence[Mapping[str, Any]]) -> str:
    """Return the page of the results whose claims and figures all have pages."""
    records, shown = claim_pages.records(claims), {f["name"]: f for f in figures}
    parts = ["# What we found", "",
             "Ten results that a researcher should know. Each stands on a statement with a verdict, "
             "shows in a figure, and holds within a scope; but for the sentence that opens it, all is "
             "generated from these.", ""]
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
    lines = [f"## {text(result.sentence)}", "",
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
