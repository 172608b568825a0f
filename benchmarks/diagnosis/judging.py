"""Judges programs by the bench: what they find of what was made wrong, and what they say besides.

A program's finding stands for one or several names: its own for `diagnosis`, and for the others those of
RIVALS, which reads their words generously. A cause is found if any finding has one of its right names. A
finding is false if none of its names is right, and none is true of the run by the plain criteria.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scipy.stats import binomtest

from benchmarks.diagnosis.labels import DATA, Label, groups
from entropy_theory.training_logs import sources
from entropy_theory.training_logs.logs import Run, read
from entropy_theory.training_logs.names import Quantity

NO_FAULT = frozenset(("converging", "restart", "not enough"))
TRL_NAMES: Mapping[Quantity, str] = {
    "entropy": "entropy", "reward": "reward", "score": "eval_reward", "kl_reference": "kl",
    "length": "completions/mean_length", "truncated": "completions/clipped_ratio",
    "clipped_low": "clip_ratio/low_mean", "clipped_high": "clip_ratio/high_mean",
    "clipped": "clip_ratio/region_mean", "zero_variance": "frac_reward_zero_std",
    "gradient_norm": "grad_norm", "learning_rate": "learning_rate", "loss": "loss"}
RIVALS: Mapping[str, tuple[str, ...]] = {
    # rldoctor 0.2.0
    "advantage_collapse": ("no signal",),
    "entropy_collapse": ("collapse",),
    "reward_hacking": ("held-out apart",),
    "length_pathology": ("length drift", "truncation", "dilution"),
    "clip_saturation": ("clipping",),
    "kl_drift": ("kl", "mismatch"),
    "gradient_pathology": ("schedule",),
    "reward_composition": ("length drift",),
    "plateau": ("nothing learned",),
    # rlprobe 0.1.0
    "kl_blowup": ("kl", "schedule"),
    "reward_hack_length": ("length drift",),
    "format_gaming": ("held-out apart",),
    "degenerate_groups": ("no signal",),
    "grad_pathology": ("schedule",),
    "truncation_starve": ("truncation",),
    "repetition_spiral": ("collapse",),
    "reward_std_death": ("no signal",),
    "ref_drift_asymmetry": ("kl", "mismatch"),
    # rlwatch 0.5.1 (its entropy_collapse is above)
    "kl_explosion": ("kl", "schedule"),
    "advantage_variance": ("no signal", "schedule"),
    "loss_nan": ("schedule",),
    "gradient_norm_spike": ("schedule",),
    "reward_mean_drift": ("nothing learned", "collapse"),
    # post-training-toolkit 0.2.0, from its source: the registry has an empty package of that name
    "mode_collapse_entropy": ("collapse",),
    "mode_collapse_length_variance": ("length drift", "truncation"),
    "grpo_entropy_collapse": ("collapse",),
    "grpo_entropy_drop": ("collapse",),
    "grpo_reward_collapse": ("no signal",),
    "yaml_grpo_group_reward_collapse": ("no signal",),
    "grpo_length_drift": ("length drift", "dilution"),
    "grpo_reward_length_correlation": ("length drift",),
    "grpo_clip_ratio_high": ("clipping",),
    "yaml_clip_fraction_high": ("clipping",),
    "grpo_kl_divergence": ("kl", "mismatch"),
    "kl_instability": ("kl", "schedule"),
    "kl_above_target": ("kl", "schedule"),
    "kl_volatility": ("kl", "schedule"),
    "yaml_kl_divergence_high": ("kl", "schedule"),
    "grpo_loss_divergence": ("schedule",),
    "gradient_instability": ("schedule",),
    "gradient_explosion": ("schedule",),
    "gradient_vanishing": ("no signal", "schedule"),
    "yaml_entropy_collapse": ("collapse",),
    "yaml_reward_variance_spike": ("schedule",),
    "reward_variance_spike": ("schedule",),
    "reward_hacking_suspected": ("held-out apart", "length drift"),
    "response_truncation_rate_high": ("truncation",),
    "length_collapse": ("length drift",),
    "instability_hotspot": ("schedule",),
}
"""Our names for the findings of rivals. A finding that is not listed counts for no cause."""
QUIET = frozenset(("info", "low"))
"""Severities of mild findings: they count as found where right, and as no alarm where wrong."""


@dataclass(frozen=True)
class Found:
    """A finding of a program: the names that it stands for, and whether it is an alarm."""

    names: tuple[str, ...]
    alarm: bool


Verdicts = Mapping[str, Sequence[Found]]
"""The findings of a program by run, in its own order."""


def ours(labels: Iterable[Label], folder: Path = DATA) -> Verdicts:
    """Run `diagnosis.diagnose` on every run."""
    from diagnosis import diagnose

    found = {}
    for label, others in groups(labels):
        made = diagnose(log_of(label, folder), [log_of(one, folder) for one in others])
        found[label.name] = [Found((one.name,), one.name not in NO_FAULT) for one in made.findings]
    return found


def rivals(
    labels: Iterable[Label], python: str, toolkit: str = "", folder: Path = DATA
) -> dict[str, Verdicts]:
    """Run the rivals that an environment has; each is given every log under TRL's names, ready to use."""
    runs = {label.name: records(label, folder) for label in labels}
    with tempfile.TemporaryDirectory() as place:
        source, target = Path(place) / "records.json", Path(place) / "found.json"
        source.write_text(json.dumps(runs))
        program = Path(__file__).with_name("rival_programs.py")
        subprocess.run([python, str(program), str(source), str(target), *filter(None, [toolkit])],
                       check=True, stderr=subprocess.DEVNULL)
        found = json.loads(target.read_text())
    return {program: {
        name: [Found(RIVALS.get(own, ()), severity not in QUIET) for own, severity in one]
        for name, one in by_run.items()} for program, by_run in found.items()}


def log_of(label: Label, folder: Path = DATA) -> Run:
    """Read the log of a run as any user's."""
    return read([folder / label.file])[0]


def records(label: Label, folder: Path = DATA) -> list[dict[str, float]]:
    """Return a run's records under TRL's names: as they are, or from another engine's series."""
    if label.engine == "trl":
        ((_, found),) = sources.sources(folder / label.file)
        return [{name: float(value) for name, value in one.values.items()} for one in found]
    series = log_of(label, folder).series
    by_step: dict[float, dict[str, float]] = {}
    for quantity, name in TRL_NAMES.items():
        if quantity in series:
            for step, value in zip(series[quantity].step, series[quantity].value, strict=True):
                by_step.setdefault(float(step), {"step": float(step)})[name] = float(value)
    return [by_step[step] for step in sorted(by_step)]


# ------------------------------------------------------------------ tables


@dataclass(frozen=True)
class Score:
    """How a program did on the runs of one cause."""

    cause: str
    runs: int
    found: int
    first: int
    false: int
    alarms: int


def score(labels: Sequence[Label], verdicts: Verdicts) -> list[Score]:
    """Count, cause by cause, runs whose cause was found (first), with a false finding, with any alarm."""
    scores = []
    for cause in dict.fromkeys(label.cause for label in labels):
        own = [label for label in labels if label.cause == cause]
        found = [label for label in own if _hits(label, verdicts[label.name])]
        leading = [label for label in own if _hits(label, _leading(verdicts[label.name]))]
        false = [label for label in own if any(
            one.alarm and not set(one.names) & {*label.right, *label.shown}
            for one in verdicts[label.name])]
        alarms = [label for label in own if any(one.alarm for one in verdicts[label.name])]
        scores.append(Score(cause, len(own), len(found), len(leading), len(false), len(alarms)))
    return scores


def _hits(label: Label, findings: Iterable[Found]) -> bool:
    return any(set(one.names) & set(label.right) for one in findings)


def _leading(findings: Sequence[Found]) -> Sequence[Found]:
    """Return the first finding that is one of a fault, or of a restart."""
    return [one for one in findings if one.alarm or "restart" in one.names][:1]


def share(count: int, total: int) -> str:
    """Return a share with its 95 % interval of Wilson, in percent."""
    low, high = binomtest(count, total).proportion_ci(method="wilson") if total else (0.0, 1.0)
    return f"{count}/{total} ({100 * low:.0f} to {100 * high:.0f} %)"


def table(labels: Sequence[Label], programs: Mapping[str, Verdicts]) -> str:
    """Return detection by cause and program, and false findings, as a Markdown table."""
    scores = {program: {one.cause: one for one in score(labels, verdicts)}
              for program, verdicts in programs.items()}
    causes = list(dict.fromkeys(label.cause for label in labels))
    lines = [f"| cause | {' | '.join(programs)} |", "|---" * (1 + len(programs)) + "|"]
    for cause in causes:
        if cause != "healthy":
            cells = [share(own[cause].found, own[cause].runs) for own in scores.values()]
            lines.append(f"| {cause} | {' | '.join(cells)} |")
    faulty = [cause for cause in causes if cause != "healthy"]
    named = {name for names in RIVALS.values() for name in names}
    shared = [cause for cause in faulty
              if any(named & set(label.right) for label in labels if label.cause == cause)]
    for title, part, within in (
            ("**all causes**", "found", faulty), ("causes that a rival has a name for", "found", shared),
            ("named first", "first", faulty),
            ("false finding beside a cause", "false", faulty),
            ("**false alarm, healthy**", "false", ["healthy"]),
            ("any alarm, healthy", "alarms", ["healthy"])):
        cells = [share(sum(getattr(own[cause], part) for cause in within),
                       sum(own[cause].runs for cause in within)) for own in scores.values()]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def confusion(labels: Sequence[Label], verdicts: Verdicts) -> str:
    """Return how many runs of each cause had each finding, as a Markdown table, right ones in bold."""
    said = {label.name: {one.names[0] for one in verdicts[label.name] if one.names} for label in labels}
    names = [name for name, _ in Counter(name for one in said.values() for name in one).most_common()]
    lines = [f"| cause | runs | {' | '.join(names)} |", "|---" * (2 + len(names)) + "|"]
    for cause in dict.fromkeys(label.cause for label in labels):
        own = [label for label in labels if label.cause == cause]
        right = {name for label in own for name in label.right}
        counts = [sum(name in said[label.name] for label in own) for name in names]
        cells = [f"**{count}**" if name in right else str(count or "")
                 for name, count in zip(names, counts, strict=True)]
        lines.append(f"| {cause} | {len(own)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def mapping() -> str:
    """Return how rivals' findings are read, as a Markdown table."""
    lines = ["| a rival's finding | is taken for |", "|---|---|"]
    return "\n".join(lines + [f"| {own} | {', '.join(names)} |" for own, names in RIVALS.items()])
