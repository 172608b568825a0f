"""Writes docs/losses.md from the record: python -m llm_bridge.conformance.page > docs/losses.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from llm_bridge.conformance import engines, record
from llm_bridge.conformance.record import Row

HEAD = """\
# Losses, and the engines that have them

For those who move a loss between engines: the engine functions that equal a rule of this package,
and those that depart from it. A rule is a coefficient of each token. We compared {rows} pairs, with
{functions} functions of {engines}. The batches are random, in float64, with uneven lengths, masked
tokens, groups without signal, stale ratios and a sampler apart. Losses are compared by their
gradients at log-probabilities and entropies, and advantages by values.

In {equal} comparisons the two are *equal*: the largest difference is below 1e-10 of the largest
number, and {gap:.0e} at most. Each departure has its reason, the number that we take to be right,
and lines that show it.

```bash
policy-entropy losses            # every comparison, with the options of rule and engine
policy-entropy losses gmpo       # one rule or one engine
policy-entropy losses k3-clamp   # a departure, and how to reproduce it
policy-entropy losses --verify   # compare again, with the installed engines
make test-losses                 # compare again, with all engines, in an environment of their own
```

The engines are {versions}.

`policy-entropy losses --update-record` writes the record, and `python
-m llm_bridge.conformance.page > docs/losses.md` this page from it. prime-rl, slime, NeMo-RL and
ROLL are not on a package index. We read them, and did not call them. [Departures](departures.md)
lists where a training step here differs from TRL's or verl's by choice.

| rule | equal to | departs from |
|---|---|---|
"""


def page() -> str:
    """Return the page as Markdown."""
    rows, known = record.rows(), record.departures()
    equal = [row for row in rows if not row.departure]
    lines = [HEAD.format(
        functions=len({(row.engine, row.function) for row in rows}), rows=len(rows),
        engines=f"{len(engines.PACKAGES)} engines", equal=len(equal), gap=max(row.gap for row in equal),
        versions=", ".join(f"{each.name} {each.version}" for each in engines.PACKAGES.values()))]
    for name in sorted({_title(row) for row in rows}):
        own = [row for row in rows if _title(row) == name]
        lines.append(f"| {name} | {_functions(row for row in own if not row.departure)} "
                     f"| {_departing(own)} |\n")
    lines.append("\n## Known departures\n")
    for key, each in known.items():
        found = [row for row in rows if row.departure == key]
        lines.append(
            f"\n### {key}\n\n{_functions(found)} {each.what}. Right: {each.right}, since {each.why}. "
            f"Largest gap: {max(row.gap for row in found):.0e} of the largest number.\n\n"
            f"```text\n{each.reproduction.strip()}\n```\n")
    lines.append("\n## Functions without a rule\n\n")
    lines += [f"- {engine}, {function}: {why}\n" for engine, found in record.without_rule().items()
              for function, why in found.items()]
    return "".join(lines)


def _title(row: Row) -> str:
    estimator = row.rule.get("estimator")
    shown = row.rule["name"] in ("grpo", "reinforce") and estimator
    return f"`{row.rule['name']}`, estimator {estimator}" if shown else f"`{row.rule['name']}`"


def _functions(rows: Iterable[Row]) -> str:
    return "; ".join(_by_engine((row.engine, row.function) for row in rows))


def _departing(rows: Iterable[Row]) -> str:
    return "; ".join(_by_engine((row.engine, f"{row.function} ([{row.departure}](#{row.departure}))")
                                for row in rows if row.departure))


def _by_engine(named: Iterable[tuple[str, str]]) -> Iterator[str]:
    found: dict[str, dict[str, None]] = {}
    for engine, function in named:
        found.setdefault(engine, {})[function] = None
    return (f"{engine} {', '.join(functions)}" for engine, functions in found.items())


if __name__ == "__main__":
    print(page(), end="")
