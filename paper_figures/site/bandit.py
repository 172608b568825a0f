"""The page with the bandit to play with, in the site's colors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from entropy_theory.update_rules import RULES
from entropy_theory.verification.claim import Claim
from paper_figures.site import traced_rules
from paper_figures.site.markup import claim_page, fenced, link, text

TEMPLATE = Path(__file__).parent / "template"
TRACED = "traced_rules.js"
FILES = ("panel.css", TRACED, "bandit.js", "panel.js")
"""The files that the page loads, in their order."""


def page(claims: Mapping[str, Claim]) -> str:
    """Return the page; it links to the claims among those that have a page."""

    def cited(claim_id: str, words: str) -> str:
        return f" ({link(words, claim_page(claim_id))})" if claim_id in claims else ""

    panel = (TEMPLATE / "panel.html").read_text(encoding="utf-8")
    scripts = "\n".join(
        f'<script src="_static/{name}"></script>' for name in FILES if name.endswith(".js"))
    return "\n".join([
        "# A bandit to play with", "",
        "A softmax policy chooses among a few actions; some are right and earn 1. Drag the logits, mark "
        "the right actions, and watch which way entropy goes. REINFORCE on samples drawn at temperature "
        f"$T$ moves it at the rate{cited('aepo.theorem-4.3b', 'AEPO, Theorem 4.3')}", "",
        fenced(r"F(T) = -\sum_{a \in A^*} \pi^T_a (c_a - C), \quad c_a = \pi_a (z_a - E_{\pi} z), \quad "
               r"C = E_{\pi} c,", "{math}"),
        "negative below $T_0$, positive above. In the long run right actions win: a rule that reinforces "
        "them alone, at whatever temperature, is left with the entropy among them, at most "
        f"$\\log |A^*|${cited('aepo.arbitrary-entropy', 'why')}. An entropy bonus holds more and pays "
        "with wrong actions.", "",
        fenced(f'<link rel="stylesheet" href="_static/panel.css">\n{panel}{scripts}', "{raw} html"),
        "The other rules run their own code, which is traced and printed as JavaScript. Not among them:",
        "", *(f"- `{name}`: {text(str(reason))}" for name in RULES
              if not isinstance(reason := traced_rules.function(name), str)), "",
    ])


def files() -> dict[str, bytes]:
    """Return the files that the page needs, by their names in the site's static folder."""
    return {name: traced_rules.script().encode() if name == TRACED else (TEMPLATE / name).read_bytes()
            for name in FILES}
