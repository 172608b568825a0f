"""LaTeX as text for a terminal: what formulas and the statements of claims are written with."""

from __future__ import annotations

import re
import textwrap

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε",
    "zeta": "ζ", "eta": "η", "theta": "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν",
    "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "varphi": "φ", "chi": "χ",
    "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ",
    "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
}
_SIGNS = {
    **_GREEK, "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠", "approx": "≈",
    "sim": "~", "propto": "∝", "equiv": "≡", "ll": "≪", "gg": "≫", "in": "∈", "notin": "∉",
    "subset": "⊂", "subseteq": "⊆", "cap": "∩", "cup": "∪", "setminus": "∖", "emptyset": "∅",
    "varnothing": "∅", "forall": "for all ", "exists": "there is ", "neg": "not ", "wedge": "and",
    "land": "and", "vee": "or", "lor": "or", "to": "→", "leftarrow": "←", "rightarrow": "→",
    "mapsto": "↦", "uparrow": "↑", "downarrow": "↓", "Rightarrow": "⇒", "implies": "⇒", "iff": "⇔",
    "Leftrightarrow": "⇔", "infty": "∞", "cdot": "·", "times": "×", "pm": "±", "mp": "∓",
    "sum": "Σ", "prod": "Π", "int": "∫", "|": "‖",
    "nabla": "∇", "partial": "∂", "sqrt": "√", "langle": "⟨", "rangle": "⟩", "lVert": "‖", "rVert": "‖",
    "Vert": "‖", "lvert": "|", "rvert": "|", "mid": "|", "vert": "|", "ell": "ℓ", "dots": "...",
    "ldots": "...", "cdots": "...", "star": "*", "ast": "*", "prime": "'", "circ": "∘", "odot": "⊙",
    "quad": " ", "qquad": " ", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉",
}
_MARKS = {"bar": "\u0304", "overline": "\u0304", "hat": "\u0302", "widehat": "\u0302",
          "tilde": "\u0303", "dot": "\u0307"}
_WRAPPERS = {"mathrm", "mathit", "mathbf", "mathbb", "mathcal", "mathsf", "text", "textit", "textbf",
             "emph", "operatorname", "boldsymbol", "texttt", *_MARKS}
_SILENT = {"left", "right", "big", "Big", "bigl", "bigr", "Bigl", "Bigr", "displaystyle", "limits",
           "nolimits", "mathstrut", "!"}
_CASES = {r"\begin{cases}": r"\{", r"\end{cases}": r"\}", r"\\": ";", "&": ":"}
LONG = 6
"""Digits of a denominator beyond which a fraction is written as a decimal."""
_TOKEN = re.compile(r"\\[a-zA-Z]+\*?|\\.|[{}^_$~]|[^\\{}^_$~]+", re.DOTALL)


def latex_to_text(latex: str) -> str:
    """The text with its LaTeX in words and signs: ``H(\\pi) \\le \\log n`` is ``H(π) ≤ log n``."""
    latex = re.sub(r"\\(left|right)\s*\.", "", latex)
    text = _group(_TOKEN.findall(latex)[::-1])
    text = re.sub(r" *([≤≥≠≈⇒⇔∈]) *", r" \1 ", text)
    text = re.sub(r"[ \t]+", " ", text)
    return re.sub(r"(?<=[(\[]) | (?=[,)\]])", "", text).strip()


def formulas_to_text(docstring: str) -> str:
    """The docstring with its formulas, displayed and within a line, in words and signs."""
    shown = re.sub(r"\.\. math::\n\n((?: {4}.*\n|\n(?= {4}))+)", _displayed, f"{docstring}\n")
    return re.sub(r":math:`([^`]+)`", lambda formula: latex_to_text(formula[1]), shown)[:-1]


def _displayed(block: re.Match[str]) -> str:
    latex = block[1]
    for written, said in _CASES.items():
        latex = latex.replace(written, said)
    texts = (re.sub(" +([:;])", r"\1", latex_to_text(" ".join(part.split())))
             for part in latex.split("\n\n"))
    return "".join(
        textwrap.fill(text, 100, initial_indent="    ", subsequent_indent="    ") + "\n"
        for text in texts)


def _group(tokens: list[str]) -> str:
    """Return the text before the next closing brace, or the end; ``tokens`` is read from its last on."""
    parts: list[str] = []
    while tokens and (token := tokens.pop()) != "}":
        parts.append(_one(token, tokens))
    return "".join(parts)


def _argument(tokens: list[str]) -> str:
    """The next group, command or letter."""
    while tokens and tokens[-1].isspace():
        tokens.pop()
    if not tokens:
        return ""
    token = tokens.pop().lstrip()
    if token == "{":
        return _group(tokens)
    if token.startswith("\\"):
        return _one(token, tokens)
    if token[1:]:
        tokens.append(token[1:])
    return token[0]


def _one(token: str, tokens: list[str]) -> str:
    if token in ("$", "}"):
        return ""
    if token == "{":
        return _group(tokens)
    if token == "~":
        return " "
    if token in "^_":
        inside = _argument(tokens).strip()
        return inside if token == "^" and inside in ("*", "'") else token + _bracketed(inside)
    if not token.startswith("\\"):
        return token
    name = token[1:].rstrip("*")
    if name in ("frac", "tfrac", "dfrac"):
        above, below = _argument(tokens), _argument(tokens)
        if below.isdecimal() and len(below) > LONG:  # a float such as 0.1, which is this fraction
            return repr(int(above) / int(below))
        return f" {_bracketed(above)}/{_bracketed(below)} "
    if name in _WRAPPERS:
        inside = _argument(tokens)
        return inside + _MARKS.get(name, "") if len(inside) == 1 else inside
    if name == "sqrt":
        return f"√{_bracketed(_argument(tokens))}"
    if name in _SILENT:
        return ""
    if not name.isalpha() and name not in _SIGNS:
        return " " if name in ",;: " else name.replace("\\", " ")
    return _SIGNS.get(name, f" {name} ")


def _bracketed(text: str) -> str:
    text = text.strip()
    is_simple = re.fullmatch(r"[\w.*'∞∅]*|[+-]|-?\d+|\([^()]*\)|\|[^|]*\|", text)
    return text if is_simple else f"({text})"
