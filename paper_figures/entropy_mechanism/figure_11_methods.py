"""Cui et al., Figure 11: GRPO, clip-higher, Clip-Cov and KL-Cov in entropy, length and accuracy.

What the paper shows: on Qwen2.5-7B and 32B, Clip-Cov and KL-Cov keep entropy from collapse, make
responses longer, and end with more accuracy than GRPO. A referee asks what this says about the law
R = b - a e^H: do the points of these runs stay on the curve of GRPO? More entropy at equal *steps* may
only mean slower learning.

What we run: the four rules on tabular prompts (groups of eight sampled, four optimizer steps a batch,
strongest settings of Figure 12), each with logits of its own and with parameters shared by all; their
entropy when they first reach an accuracy and their accuracy when entropy first falls to a level, against
GRPO's from the same start, here and (a tenth of the tokens selected) over further families of prompts;
the length of responses on token trees where length says nothing about the reward; and a small transformer
where runs of at least two of the rules exist.

Whether it reproduces: each of the paper's three differences to GRPO is judged by its 99 % interval over
starts, which must lie above 0 for both rules in every world.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from paper_figures.data import training_curves
from paper_figures.drawing.bands import draw_mean
from paper_figures.drawing.style import MARKERS, REFERENCE, panels
from paper_figures.entropy_mechanism import methods, sweeps
from paper_figures.entropy_mechanism.methods import BASE, LOOKS, METHODS, METRICS
from paper_figures.figure import Finding, PaperFigure
from paper_figures.verdict import Criterion
from simulations.experiments.curves import mean_interval

DOTS = dict(zip(("clip-higher", *METHODS), MARKERS, strict=False))
MARGIN = 0.01  # of accuracy: closer than this counts as on GRPO's curve


def finding(table: pandas.DataFrame) -> Finding:
    """State the paper's three differences at the end of training, then the two a referee asks for."""
    numbers: dict[str, float] = {}
    last = _last(table)
    claims: dict[str, list[bool]] = {}
    for panel, word in (("entropy", "entropy"), ("reward", "accuracy"), ("length", "length")):
        gaps = _gaps(last[last["panel"] == panel], absolute=panel == "length")
        for (family, rule), row in gaps.drop(index=BASE, level="rule").iterrows():
            if rule in METHODS:
                claims.setdefault(word, []).append(bool(row["low"] > 0))
            numbers |= {f"{word}, {family}: {rule}{end}": float(row[name])
                        for end, name in (("", "mean"), (", low", "low"), (", high", "high"))}
    numbers |= {f"{word}: certain gains": float(sum(held)) for word, held in claims.items()}
    curve = _gaps(table[table["panel"] == "at equal entropy"], absolute=True)
    curve = curve[curve.index.get_level_values("rule").isin(METHODS)]
    above = curve[(curve["mean"] > MARGIN) & (curve["low"] > 0)]
    below = curve[(curve["mean"] < -MARGIN) & (curve["high"] < 0)]
    rewards = table[table["panel"].isin(["at equal reward", "families"])]
    equal = _gaps(_mean_over_x(rewards), absolute=True)
    equal = equal[equal.index.get_level_values("rule").isin(METHODS)]
    numbers |= {
        "above GRPO's curve": float(len(above)), "below GRPO's curve": float(len(below)),
        "comparisons with GRPO's curve": float(len(curve)),
        "accuracy at equal entropy: lowest": float(curve["mean"].min()),
        "accuracy at equal entropy: highest": float(curve["mean"].max()),
        "entropy at equal accuracy: lowest": float(equal["mean"].min()),
        "entropy at equal accuracy: highest": float(equal["mean"].max()),
    }
    named = "; ".join(f"{rule} with {sweeps.name(str(family))} by {row['mean']:.3f}"
                      for (family, rule), row in above.iterrows())
    text = " ".join([
        *(_sentence(numbers, str(family))
          for family in last[last["panel"] == "entropy"]["family"].unique()),
        _length_sentence(numbers),
        f"When the same accuracy is first reached, Clip-Cov and KL-Cov have "
        f"{numbers['entropy at equal accuracy: lowest']:+.2f} to "
        f"{numbers['entropy at equal accuracy: highest']:+.2f} nats beyond GRPO's. In {len(above)} of "
        f"{len(curve)} comparisons their accuracy at equal entropy is above GRPO's, by more than "
        f"{MARGIN:g} in the mean and with the 99 % interval above 0{f' ({named})' if named else ''}, in "
        f"{len(below)} below; else they slide along GRPO's curve, or cannot be told from it.",
        _transformer_sentence(table),
    ]).strip()
    criteria = [
        Criterion(says="share of the comparisons of Clip-Cov and KL-Cov with GRPO whose 99 % interval lies "
                  "above 0", value=float(np.mean(held)), relation="≥", threshold=1,
                  where=f"for {word} at the end")
        for word, held in claims.items()
    ] + _trained_criteria(table)
    won = [word for word, held in claims.items() if all(held)]
    headline = (
        f"Clip-Cov and KL-Cov end with more {' and '.join(won)} than GRPO everywhere" if won else
        "Clip-Cov and KL-Cov end beyond GRPO in some comparisons and not in others"
    ) + (
        "; at equal entropy they are mostly on GRPO's curve of reward." if len(above) < len(curve) / 2 else
        "; at equal entropy they are mostly above GRPO's curve of reward.")
    return Finding(criteria=tuple(criteria), headline=headline, text=text, numbers=numbers)


def _trained_criteria(table: pandas.DataFrame) -> list[Criterion]:
    """Ask of training runs that both rules end with more entropy, length and accuracy than GRPO."""
    runs = table[table["panel"].str.startswith("transformer")]
    if runs.empty:
        return []
    keys = ["panel", "rule", "start"]
    late = runs[runs["x"] > 0.9 * runs.groupby(keys)["x"].transform("max")]
    ends = late.groupby(["panel", "rule"])["y"].mean()
    words = {"entropy": "entropy, nats per token", "mean_length": "length, tokens", "reward": "accuracy"}
    return [
        Criterion(says=f"{rule} less GRPO over the last tenth of the steps: {word}", relation=">",
                  value=float(ends[panel, rule] - ends[panel, BASE]), threshold=0,
                  where=f"on {runs['family'].iloc[0]}")
        for name, word in words.items() for rule in METHODS
        if {(panel := f"transformer {name}", rule), (panel, BASE)} <= set(ends.index)
    ]


def _last(table: pandas.DataFrame) -> pandas.DataFrame:
    """The mean over the last tenth of each tabular run."""
    runs = table[table["panel"].isin(["entropy", "reward", "length"])]
    keys = ["panel", "family", "rule", "start"]
    late = runs[runs["x"] > 0.9 * runs.groupby(keys)["x"].transform("max")]
    return late.groupby(keys, sort=False)["y"].mean().reset_index()


def _mean_over_x(rows: pandas.DataFrame) -> pandas.DataFrame:
    return rows.groupby(["panel", "family", "rule", "start"], sort=False)["y"].mean().reset_index()


def _gaps(rows: pandas.DataFrame, *, absolute: bool = False) -> pandas.DataFrame:
    """Mean, low, high over starts of y beyond GRPO's (or of y, if that is a gap), by (family, rule)."""
    found = {}
    for family, here in rows.groupby("family", sort=False):
        wide = here.pivot_table(index="start", columns="rule", values="y", sort=False)
        for rule in wide:
            gap = wide[rule] - (0 if absolute else wide[BASE])
            found[family, rule] = mean_interval(gap.to_numpy(), level=sweeps.GAIN_LEVEL)
    return pandas.DataFrame.from_dict(
        {key: [float(v) for v in values] for key, values in found.items()}, orient="index",
        columns=["mean", "low", "high"],
    ).set_axis(pandas.MultiIndex.from_tuples(found, names=["family", "rule"]))


def _sentence(numbers: Mapping[str, float], family: str) -> str:
    def told(word: str, rule: str, digits: int) -> str:
        mean, low, high = (numbers[f"{word}, {family}: {rule}{end}"] for end in ("", ", low", ", high"))
        return f"{mean:+.{digits}f} ({low:+.{digits}f} to {high:+.{digits}f})"

    return (
        f"With {sweeps.name(family)}, Clip-Cov ends {told('entropy', 'Clip-Cov', 2)} nats and KL-Cov "
        f"{told('entropy', 'KL-Cov', 2)} beyond GRPO, in accuracy {told('accuracy', 'Clip-Cov', 3)} and "
        f"{told('accuracy', 'KL-Cov', 3)} (99 % intervals)."
    )


def _length_sentence(numbers: Mapping[str, float]) -> str:
    gaps = [value for key, value in numbers.items()
            if key.startswith("length, ") and key.endswith(METHODS)]
    return (
        f"Where length says nothing about the reward, right responses end {min(gaps):+.2f} to "
        f"{max(gaps):+.2f} tokens beyond GRPO's."
    )


def _transformer_sentence(table: pandas.DataFrame) -> str:
    runs = table[table["panel"].str.startswith("transformer")]
    if runs.empty:
        return ""
    keys = ["panel", "rule", "start"]
    late = runs[runs["x"] > 0.9 * runs.groupby(keys)["x"].transform("max")]
    ends = late.groupby(["panel", "rule"], sort=False)["y"].mean()
    seeds = runs.groupby("rule")["start"].nunique()
    pieces = [
        f"{rule} at {ends['transformer entropy', rule]:.2f} nats and "
        f"{ends['transformer reward', rule]:.2f}"
        for rule in LOOKS if ("transformer reward", rule) in ends
    ]
    return (
        f"{runs['family'].iloc[0]}: {', '.join(pieces)} of accuracy "
        f"({seeds.min()} to {seeds.max()} seeds)."
    )


def draw(table: pandas.DataFrame) -> Figure:
    """Draw a row for each world (entropy, accuracy, entropy at equal accuracy), and one for length."""
    families = list(table[table["panel"] == "entropy"]["family"].unique())
    transformer = table[table["panel"].str.startswith("transformer")]
    rows = len(families) + 1 + (not transformer.empty)
    figure, axes = panels(rows, 3, height=1.9)
    for i, family in enumerate(families):
        here = table[table["family"] == family]
        _lines(axes[i, 0], here[here["panel"] == "entropy"], "entropy (nats)")
        _lines(axes[i, 1], here[here["panel"] == "reward"], "accuracy (0 to 1)")
        _lines(axes[i, 2], here[here["panel"] == "at equal reward"], "nats beyond GRPO", gap=True)
        axes[i, 2].set_xlabel("accuracy (0 to 1)")
        axes[i, 0].set_title(sweeps.WORDS.get(str(family), str(family)))
    last = axes[len(families)]
    _lines(last[0], table[table["panel"] == "length"], "tokens beyond GRPO", gap=True)
    last[0].set_title("length, token trees")
    _dots(last[1], table[table["panel"] == "families"], "nats beyond GRPO")
    last[1].set_title("at equal accuracy")
    _dots(last[2], table[table["panel"] == "at equal entropy"], "accuracy beyond GRPO")
    last[2].set_title("at equal entropy")
    for j, (metric, label) in enumerate(METRICS.items() if not transformer.empty else ()):
        here = transformer[transformer["panel"] == f"transformer {metric}"]
        if here.empty:
            axes[-1, j].set_axis_off()
            continue
        _lines(axes[-1, j], here, label, seeds=True)
        if j == 0:
            axes[-1, 0].set_title(training_curves.in_two_lines(str(here["family"].iloc[0])))
    handles = [Line2D([], [], label=rule, marker=DOTS.get(rule, ""), markersize=3.5, **look)
               for rule, look in LOOKS.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(LOOKS), handlelength=3)
    return figure


def _lines(
    panel: Axes, rows: pandas.DataFrame, label: str, *, gap: bool = False, seeds: bool = False
) -> None:
    """Draw means over starts with their 95 % intervals, or over seeds with the lowest and the highest."""
    for rule, look in LOOKS.items():
        wide = rows[rows["rule"] == rule].pivot_table(index="x", columns="start", values="y")
        if wide.empty or (gap and rule == BASE):
            continue
        draw_mean(panel, wide, look, level=None if seeds else 0.95)
    if gap:
        panel.axhline(0, **REFERENCE)
    else:
        panel.set_ylim(bottom=0)
    panel.margins(x=0)
    panel.set(xlabel="optimizer step", ylabel=label)


def _dots(panel: Axes, rows: pandas.DataFrame, label: str) -> None:
    """Draw mean and 99 % interval of the gap to GRPO, grouped by family, with a mark for each rule."""
    gaps = _gaps(rows, absolute=True)
    names = list(dict.fromkeys(gaps.index.get_level_values("family")))
    for k, (rule, marker) in enumerate(DOTS.items()):
        here = gaps.xs(rule, level="rule").reindex(names)
        x = np.arange(len(names)) + 0.22 * (k - 1)
        reach = np.abs(here[["low", "high"]].to_numpy().T - here["mean"].to_numpy())
        panel.errorbar(x, here["mean"], yerr=reach, linestyle="none", marker=marker, markersize=3,
                       color=LOOKS[rule]["color"], linewidth=0.9)
    panel.axhline(0, **REFERENCE)
    panel.set_xticks(range(len(names)), [_short(name) for name in names], rotation=90)
    panel.set_ylabel(label)
    panel.tick_params(axis="x", labelsize=6.5)
    panel.grid(axis="x", visible=False)
    panel.set_xlim(-0.5, len(names) - 0.5)


def _short(family: str) -> str:
    """Shorten "five right answers, mixed" to "5 right, mixed"."""
    number, _, kind = family.partition(" right")
    kind = kind.rpartition(", ")[2].removesuffix(" parameters")
    digits = {"one": "1", "five": "5", "ten": "10"}.get(number, number)
    return f"{digits} right" + (f", {kind}" if kind else "")


FIGURE = PaperFigure(
    name="entropy-mechanism-figure-11",
    source="Cui et al., Figure 11",
    title="Clip-Cov and KL-Cov against GRPO",
    paper="Clip-Cov and KL-Cov keep entropy from collapse, make responses longer, and end with more "
    "accuracy than GRPO.",
    place="Figure 11 and its caption",
    ours="The strongest settings of Figure 12; lines are means over starts with 95 % intervals, marks "
    "means with 99 % intervals of the difference to GRPO from the same start. Families with \"hard\", "
    "\"mixed\", \"peaked\" and \"graded\" have a tenth of the tokens selected.",
    data=methods.data,
    finding=finding,
    draw=draw,
    recipes=(
        "paper/entropy-mechanism-grpo", "paper/entropy-mechanism-clip-higher",
        "paper/entropy-mechanism-clip-cov", "paper/entropy-mechanism-kl-cov", "gpu-small/grpo-off-policy",
        "gpu-small/clip-higher", "gpu-small/clip-cov", "gpu-small/kl-cov",
    ),
)
