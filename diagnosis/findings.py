"""The words of a diagnosis: phases, findings, remedies, and quantities that a log lacks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from entropy_theory.performance_law.trend import Trend
from entropy_theory.support.notebook import card
from entropy_theory.support.user_errors import check_choice
from entropy_theory.training_logs.names import Quantity

SCHEMA = 1
"""The version of `Diagnosis.record`; it grows when a field is renamed, removed or changes its meaning."""
Name = Literal[
    "converging", "collapse", "dilution", "explosion", "growth", "truncation", "length drift",
    "no signal", "held-out apart", "clipping", "kl", "mismatch", "schedule", "prompt order", "restart",
    "nothing learned", "not finite", "not enough",
]
"""The name of a finding."""
NAMES: tuple[Name, ...] = get_args(Name)
FOUND = 1
"""The exit status of a command where a finding of --fail-on is there; a log that cannot be read has 2."""
FAULTS: frozenset[Name] = frozenset(NAMES) - {"converging", "prompt order", "restart", "not enough"}
MEANING: Mapping[Name, str] = {
    "converging": "entropy and reward settle as training succeeds",
    "collapse": "entropy falls and buys no gain",
    "dilution": "entropy per token falls because responses grow: per response it does not fall",
    "explosion": "entropy grows and reward does not",
    "growth": "entropy grows after the gain, and no clip does it",
    "truncation": "responses are cut at the length limit",
    "length drift": "the length of responses drifts away",
    "no signal": "groups are all right or all wrong: they give no gradient",
    "held-out apart": "training reward rises, held-out score does not",
    "clipping": "the ratio clip stops tokens, more on one side",
    "kl": "the KL penalty holds the policy back",
    "mismatch": "sampler and trainer give other probabilities",
    "schedule": "the learning rate or its schedule shows in the curves",
    "prompt order": "the curve repeats the order of the prompts",
    "restart": "the run went back to an earlier step",
    "nothing learned": "neither reward nor held-out score moves",
    "not finite": "from a step on the log has no finite numbers",
    "not enough": "too few steps or quantities to tell",
}


def short(value: float) -> str:
    """Return a number with three digits, and no exponent where it is a length."""
    return f"{value:.0f}" if 999.5 <= abs(value) < 1e6 else f"{value:.3g}"


def check_names(names: Collection[str]) -> None:
    """Raise ValueError for a name that is neither a finding nor "any"."""
    for name in names:
        check_choice(name, (*NAMES, "any"), "finding")


@dataclass(frozen=True, slots=True)
class Phase:
    """Steps over which no series turns.

    Attributes:
        begin: the first step.
        end: the last step.
        begin_low: the earliest step at which the phase may have begun; `begin` in the first phase.
        begin_high: the latest.
        trend: by quantity.
    """

    begin: float
    end: float
    begin_low: float
    begin_high: float
    trend: Mapping[Quantity, Trend]


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change for one finding in one engine.

    Attributes:
        option: the engine's own option, as it is written for that engine.
        size: the value to set, and its evidence.
        cost: the price of the change.
        page: the page of the documentation that shows it, or the command that prints it.
        at: file and line of the option in the engine's source; "" where the engine is not known.
    """

    option: str
    size: str
    cost: str
    page: str
    at: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A named hypothesis about a run, with the evidence of its log for it and against it.

    Attributes:
        confidence: from 0 to 1.
        begin: the step from which it holds; None where it has no beginning.
        begin_low: the earliest such step.
        begin_high: the latest.
    """

    name: Name
    confidence: float
    begin: float | None = None
    begin_low: float | None = None
    begin_high: float | None = None
    evidence: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    remedies: tuple[Remedy, ...] = ()

    @property
    def is_fault(self) -> bool:
        """Whether something should be changed."""
        return self.name in FAULTS


@dataclass(frozen=True, slots=True)
class Missing:
    """A quantity that the log lacks, and the engine's setting that logs it."""

    quantity: str
    setting: str


@dataclass(frozen=True, slots=True)
class Taken:
    """The column that a quantity is read from, with its first and last values.

    Attributes:
        points: how many values it has.
        runners_up: other columns of the same quantity, best first.
    """

    column: str
    first: float
    last: float
    points: int
    runners_up: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The diagnosis of a run.

    Attributes:
        run: the log's path, and the run's name where it has several.
        engine: the engine that gives columns such names; "" for none.
        sentence: the diagnosis in one sentence.
        phases: in order; empty where there is too little.
        findings: the likeliest and gravest first.
        missing: quantities that would tell more, had they been logged.
        taken: by quantity.
        parts: whose doing the entropy's change is, nats (`diagnosis.whose.doers`).
        notes: parts of the log that its reader left out, changed or chose.
    """

    run: str
    engine: str
    sentence: str
    phases: tuple[Phase, ...] = ()
    findings: tuple[Finding, ...] = ()
    missing: tuple[Missing, ...] = ()
    taken: Mapping[Quantity, Taken] = field(default_factory=dict)
    parts: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        found = {f"{one.name}, {one.confidence:.0%}": "; ".join([
            *one.evidence, *(f"change {change.option}: {change.size}" for change in one.remedies)])
            for one in self.findings}
        return card(self.sentence, {"run": self.run, **found, "notes": "; ".join(self.notes)})

    @property
    def healthy(self) -> bool:
        """Whether no finding is a fault."""
        return not any(found.is_fault for found in self.findings)

    def has(self, names: Collection[str]) -> bool:
        """Whether one of some findings is there ("any": any fault)."""
        return ("any" in names and not self.healthy) or any(one.name in names for one in self.findings)

    def record(self) -> dict[str, Any]:
        """Return the diagnosis as JSON: the fields of these classes by their names, and `schema`."""
        return {"schema": SCHEMA, "healthy": self.healthy, **asdict(self)}
