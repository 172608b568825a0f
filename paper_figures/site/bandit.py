"""The live panel in the site's colors: a page with all its views, and one view on pages of others."""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path

from entropy_theory.update_rules import RULES
from entropy_theory.verification.claim import Claim
from paper_figures.site import traced_rules
from paper_figures.site.markup import claim_page, fenced, figure_page, link, text

TEMPLATE = Path(__file__).parent / "template"
TRACED = "traced_rules.js"
FILES = ("panel.css", TRACED, "bandit.js", "views.js", "panel.js")
"""The files that the panel loads, in their order."""
WITH_SETTINGS = ("reinforce", "grpo", "entropy-bonus", "aepo", "clip-cov", "kl-cov")
"""The rules that take the panel's settings, by formulas of ``bandit.js``."""

_PATHS, _SIGN = "view=paths&at=2000", "view=rate&rules=tempered"
_TOKENS = "view=tokens&rules=grpo&batch=4"
_FIGURE_1 = f"{_PATHS}&rules=aepo&target=1.5&targets=5&logits=2,1.5,1,1,0,0,-1,-1&right=1,2,3,4"
_COLLAPSE = f"{_PATHS}&rules=grpo,reinforce&logits=2.5,0.5,0,0,0,-1&right=1"
_HOLDING = f"{_PATHS}&rules=grpo,entropy-bonus,aepo&target=0.8"
_LAW = "view=law&rules=grpo&at=12&logits=1.5,1,0.5,0.5,0,0&right=4"
LIVE = {
    **{figure_page(name): state for name, state in {
        "aepo-figure-1": _FIGURE_1, "aepo-sustainable-targets": _FIGURE_1,
        "aepo-figure-2": f"{_PATHS}&rules=tempered,reinforce", "aepo-theorem-4-3": _SIGN,
        "aepo-figure-3": f"{_PATHS}&rules=entropy-bonus,grpo&coefficient=0.2", "aepo-figure-4": _HOLDING,
        "entropy-mechanism-figures-1-3-4": _LAW, "entropy-mechanism-figure-5": _LAW,
        "entropy-mechanism-figure-8": _TOKENS, "entropy-mechanism-figure-11": _TOKENS,
        "collapse-rates": _COLLAPSE, "exact-and-first-order": f"{_SIGN}&rate=2"}.items()},
    **{claim_page(name): state for name, state in {
        "aepo.theorem-4.3b": _SIGN, "aepo.high-temperature-raises": _SIGN, "aepo.finite-step": _SIGN,
        "aepo.corollary-4.4-high": _SIGN, "extension.sign-change-temperature": _SIGN,
        "aepo.arbitrary-entropy": _FIGURE_1, "extension.sustainable-entropies": _FIGURE_1,
        "extension.entropy-ceiling": f"{_PATHS}&rules=tempered&temperature=10",
        "aepo.collapse-or-explosion": f"{_PATHS}&rules=entropy-bonus,grpo&coefficient=0.2",
        "extension.transient-collapse": f"{_PATHS}&rules=grpo&steps=6000",
        "entropy-mechanism.covariance-positive": _COLLAPSE,
        "entropy-mechanism.clip-cov": _TOKENS, "entropy-mechanism.kl-cov": _TOKENS,
        "entropy-mechanism.kl-cov-on-policy": f"{_TOKENS[:-1]}1",
        "entropy-mechanism.selected-tokens": _TOKENS,
        "entropy-mechanism.performance-law": _LAW, "entropy-mechanism.ceiling": _LAW}.items()},
}
"""The pages that have a live view, each with the panel's address of what it shows there."""


def page(claims: Mapping[str, Claim]) -> str:
    """Return the page with all views; it links to the claims among those that have a page."""

    def cited(claim_id: str, words: str) -> str:
        return f" ({link(words, claim_page(claim_id))})" if claim_id in claims else ""

    return "\n".join([
        "# A bandit to play with", "",
        "A softmax policy chooses among a few actions. Some of them are right and earn 1. Drag the "
        "logits, mark the right actions, choose rules, and press Play: all views follow the first rule's "
        "policy. The address in the browser names the state that is shown.", "",
        _panel("", ""),
        "REINFORCE on samples drawn at temperature $T$ moves entropy, to first order in the learning "
        f"rate, by{cited('aepo.theorem-4.3b', 'AEPO, Theorem 4.3')}", "",
        fenced(r"F(T) = -\sum_{a \in A^*} \pi^T_a (c_a - C), \quad c_a = \pi_a (z_a - E_{\pi} z), \quad "
               r"C = E_{\pi} c,", "{math}"),
        "negative below $T_0$ and positive above. What one step does at the rate shown is computed "
        "exactly beside it. AEPO holds a target in the sense of its Figure 1, judged on the last sixth "
        "of the steps. Mean entropy must be within .02 nats of the target, and the temperature must "
        "change ten times at least. "
        f"No entropy above $\\log |A^*|$ lasts{cited('aepo.arbitrary-entropy', 'why')}.", "",
        f"{', '.join(f'`{name}`' for name in WITH_SETTINGS)} take the settings of the panel: GRPO in "
        "groups, which the bonus, AEPO, Clip-Cov and KL-Cov build on. `tempered` is REINFORCE on samples "
        "of $\\pi^T$. Other rules run their own code with its default options, traced and printed as "
        "JavaScript. A test runs the package beside every number. Not among the rules:", "",
        *(f"- `{name}`: {text(str(reason))}" for name in RULES if name not in WITH_SETTINGS
          and not isinstance(reason := traced_rules.function(name), str)), "",
    ])


def live(name: str) -> list[str]:
    """Return the part of a page with its live view; nothing for a page that has none."""
    return ["## Live", "", _panel(LIVE[name], "../")] if name in LIVE else []


def _panel(state: str, up: str) -> str:
    """Return the panel in the state of an address, for a page whose site begins at ``up``."""
    panel = (TEMPLATE / "panel.html").read_text(encoding="utf-8").replace("HOME", f"{up}bandit.html")
    scripts = "\n".join(
        f'<script src="{up}_static/{name}"></script>' for name in FILES if name.endswith(".js"))
    return fenced(f'<link rel="stylesheet" href="{up}_static/panel.css">\n'
                  f'{panel.replace("STATE", html.escape(state))}{scripts}', "{raw} html")


def files() -> dict[str, bytes]:
    """Return the files that the panel needs, by their names in the site's static folder."""
    traced = tuple(name for name in RULES if name not in WITH_SETTINGS)
    return {name: traced_rules.script(traced).encode() if name == TRACED
            else (TEMPLATE / name).read_bytes() for name in FILES}
