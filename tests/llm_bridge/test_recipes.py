"""Guards recipes/: every file is read with types, and every run takes two steps at a small size."""

import dataclasses
import json
import re
import warnings
from pathlib import Path

import pytest
from accelerate.commands.launch import launch_command_parser

from entropy_theory.update_rules import rule_options
from llm_bridge import __main__ as command_line
from llm_bridge import recipes
from llm_bridge.commands import train as training
from llm_bridge.commands.train_config import parse_trl_options, trackers
from llm_bridge.recipes import hub_data
from llm_bridge.recipes.__main__ import data, recipes_command
from llm_bridge.trainer import InertRuleWarning
from tests.llm_bridge.language_models import tiny_llama

RUNS = {
    f"{name}:{run}": config
    for name in recipes.names() for run, config in recipes.load(name).runs.items()
}
# One of these rules, with one batch, with two, and with a controller; the others are for `make deep`.
FIRST = {config.rule: name for name, config in reversed(RUNS.items())
         if config.rule in ("kl-cov", "aepo", "aent")}


def test_the_list_says_what_the_recipes_are():
    """A count of runs, or a title, that is another file's."""
    found = map(recipes.load, recipes.names())
    assert list(recipes.listed()) == [(r.name, r.source, r.title, len(r.runs)) for r in found]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(tiny_llama(tmp_path_factory.mktemp("model") / "tiny"))


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in FIRST.values() else pytest.mark.deep) for n in RUNS],
)
def test_every_run_takes_two_steps(name, model, tmp_path):
    """An option that the trainer refuses, a batch that does not divide, a rule that fails off-policy."""
    config = dataclasses.replace(recipes.shrunk(RUNS[name], model=model), output=tmp_path / "run")
    with warnings.catch_warnings():
        # So few tokens give Clip-Cov and KL-Cov a quota of 0.
        warnings.simplefilter("ignore", InertRuleWarning)
        found = training.train(config)
    steps = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert found["status"] == "finished"
    assert [step["step"] for step in steps] == [1, 2]
    assert all(step["entropy"] > 0 for step in steps)
    kept = ("rule", "rule_options", "mini_batches", "iterations", "dtype", "tempered_fraction")
    assert all(getattr(config, key) == getattr(RUNS[name], key) for key in kept)


def test_every_rule_of_the_papers_has_a_recipe_at_both_sizes():
    for folder in ("gpu-small", "paper"):
        rules = {config.rule for name, config in RUNS.items() if name.startswith(folder)}
        assert rules >= {"grpo", "entropy-bonus", "entropy-advantage", "clip-higher", "reference-kl",
                         "clip-cov", "kl-cov", "aepo", "aent"}


def test_the_published_models_and_their_printed_batches():
    """A number moved by accident: the whole rollout, in completions, and the learning rate."""
    rollouts = {
        (config.model, config.prompts * config.mini_batches, config.samples, config.learning_rate)
        for name, config in RUNS.items() if name.startswith("paper/")
    }
    assert rollouts == {
        *((f"Qwen/{name}", 512, 8, 1e-6) for name in ("Qwen2.5-Math-7B", "Qwen2.5-7B", "Qwen3-4B")),
        ("Qwen/Qwen2.5-7B", 256, 8, 5e-7),
        ("Qwen/Qwen2.5-Math-1.5B", 512, 16, 2e-6),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", 256, 8, 1e-6),
    }


@pytest.mark.parametrize("launcher", recipes.launchers())
def test_every_published_recipe_divides_over_every_launcher(launcher):
    """Found on the cluster, an hour later: completions that do not divide, an unknown vLLM option."""
    for name in recipes.names("paper"):
        recipe = recipes.load(name, launcher=launcher)
        for config in recipe.runs.values():
            rows, parts = config.prompts * config.samples, recipe.launcher.world * config.micro_batches
            assert (rows % parts, rows // parts) == (0, 4), name
            options = parse_trl_options(config.trl_options)
            assert options["use_vllm"]
            assert options["bf16"]


def test_commands_are_the_launchers_own(capsys):
    """An option that `accelerate launch` or `trl vllm-serve` does not have."""
    from trl.scripts.vllm_serve import ScriptArguments

    recipes_command("paper/aent-math", launcher="5-machines")
    title, fetched, server, start = capsys.readouterr().out.splitlines()
    assert title == "# AEnt (a) (AEnt, sections 4 and 5.1, and the authors' scripts)"
    assert fetched == "python -m llm_bridge.recipes data paper/aent-math"
    options = re.findall(r"--(\w+)", server)
    assert set(options) <= {field.name for field in dataclasses.fields(ScriptArguments)}
    words = start.replace("$RANK", "0").replace("$MAIN", "10.0.0.1").split()[2:]
    parsed = launch_command_parser().parse_args(words)
    assert (parsed.num_processes, parsed.num_machines) == (32, 4)
    assert Path(parsed.config_file).is_file()
    assert parsed.training_script_args[:3] == ["train", "--recipe", "paper/aent-math"]


def test_a_run_of_several_is_taken_by_its_name():
    config, recipe = recipes.run("gpu-small/aepo-targets:split-aepo-targets-target0.25-seed1")
    assert (config.rule, config.seed, recipe.launcher.world) == ("aepo", 1, 1)
    assert "target=0.25" in config.rule_options


def test_tables_are_filled_from_below_and_varied(tmp_path):
    """A recipe whose own value is overwritten by the file it is like; a combination left out."""
    (tmp_path / "_below.toml").write_text(
        "title = 'below'\nsource = 's'\n[train]\nsteps = 7\nprompts = 5\n"
        "[rule]\nname = 'aepo'\nalpha = 2\n[trl]\nwarmup_steps = 3\n"
    )
    (tmp_path / "mine.toml").write_text(
        "title = 'mine'\nlike = '_below'\n[train]\nsteps = 9\n[trl]\ntop_k = 5\n"
        "[vary]\n'rule.target' = [0.5, 1]\n'train.seed' = [0, 1]\n"
    )
    found = recipes.load(str(tmp_path / "mine.toml"))
    assert found.title == "mine"
    assert list(found.runs) == [f"mine-target{t}-seed{s}" for t in ("0.5", "1") for s in (0, 1)]
    last = found.runs["mine-target1-seed1"]
    assert (last.steps, last.prompts, last.seed) == (9, 5, 1)
    assert parse_trl_options(last.trl_options) == {"warmup_steps": 3, "top_k": 5}
    rule = rule_options.from_texts(last.rule, last.rule_options)
    assert (rule.target, rule.alpha) == (1, 2)


def test_rows_of_a_data_set_become_prompts_and_answers():
    chat = recipes.HubData(name="n", prompt="prompt.0.content", answer="reward_model.ground_truth")
    rows = [{"prompt": [{"content": "1+1?"}], "reward_model": {"ground_truth": "2"}}] * 2
    assert list(hub_data.items(chat, rows)) == [{"prompt": "1+1?", "answer": "2"}]
    boxed = recipes.HubData(name="n", answer="solution", boxed=True, instruction=" Think.", size=1)
    rows = [
        {"problem": "none", "solution": "no box"},
        {"problem": "half", "solution": r"first \boxed{1}, then \boxed{\frac{1}{2}}."},
        {"problem": "later", "solution": r"\boxed{3}"},
    ]
    assert list(hub_data.items(boxed, rows)) == [{"prompt": "half Think.", "answer": r"\frac{1}{2}"}]
    with pytest.raises(ValueError, match="no column question \\(it has problem, solution\\)"):
        list(hub_data.items(dataclasses.replace(boxed, prompt="question"), rows))
    assert hub_data.last_boxed(r"\boxed{1") is None


def test_data_sets_are_fetched_once(tmp_path, monkeypatch, capsys):
    import datasets

    asked = []

    def answer(*arguments, **options):
        asked.append(arguments)
        if len(asked) == 1:
            raise ConnectionError("no route\nto host")
        return [{"problem": "1+1?", "solution": r"\boxed{2}"}]

    monkeypatch.setattr(datasets, "load_dataset", answer)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"cannot load data set 'DigitalLearning.*\(no route\)"):
        data("paper/aent-math")
    for _ in range(2):
        data("paper/aent-math")
    assert len(asked) == 2
    line = json.loads((tmp_path / "data" / "math.jsonl").read_text())
    assert line["answer"] == "2"
    assert "boxed" in line["prompt"]
    data("gpu-small/grpo")
    assert "needs no data set" in capsys.readouterr().err


def test_the_command_line_starts_from_a_recipe():
    """An option given on the command line that the recipe overrides; a launcher for nothing."""
    run = "gpu-small/aepo-targets:split-aepo-targets-target0.25-seed1"
    config = configured("--steps", "3", "--recipe", run, "--prompts", "2")
    assert (config.steps, config.prompts, config.seed, config.rule) == (3, 2, 1, "aepo")
    assert configured("--steps", "3") == training.TrainConfig(steps=3)
    with pytest.raises(ValueError, match="--launcher goes with --recipe"):
        configured("--launcher", "8-gpus")


def configured(*arguments, kind=training.TrainConfig):
    return command_line._config(kind, list(arguments), "train")


def test_a_config_file_of_a_users_own_is_overridden_option_by_option(tmp_path):
    """An option that replaces the file's others; options of one rule given to another."""
    path = tmp_path / "mine.toml"
    path.write_text('[rule]\nname = "aepo"\nalpha = 2.0\ntarget = 0.3\n'
                    '[train]\nsteps = 7\nprompts = 2\n[trl]\nwarmup_steps = 3\n')
    plain = configured("--config", str(path))
    assert (plain.rule, plain.steps, plain.prompts, plain.seed) == ("aepo", 7, 2, 0)
    changed = configured("--config", str(path), "--rule-options", "alpha=5", "--seed", "4",
                         "--trl-options", "top-k=5")
    rule = rule_options.from_texts(changed.rule, changed.rule_options)
    assert (rule.alpha, rule.target, changed.steps, changed.seed) == (5.0, 0.3, 7, 4)
    assert parse_trl_options(changed.trl_options) == {"warmup_steps": 3, "top_k": 5}
    assert configured("--config", str(path), "--rule", "grpo").rule_options == ()
    audit = configured("--config", str(path), kind=training.AuditConfig)
    assert (type(audit), audit.steps, audit.audit_every) == (training.AuditConfig, 7, 1)
    path.write_text('[rule]\nname = "aepo"\n[train]\nstesp = 7\n')
    with pytest.raises(ValueError, match=r"stesp.*did you mean steps"):
        configured("--config", str(path))
    path.write_text('[train]\nrecipe = "gpu-small/grpo"\n')
    with pytest.raises(ValueError, match=r"recipe is not set here but by the command line"):
        configured("--config", str(path))
    with pytest.raises(ValueError, match=r"name it \*\.toml"):
        configured("--config", "mine.yaml")


def test_several_trackers_are_a_list_like_others(tmp_path):
    """With spaces as TRL has them, with commas, and as a list in a file."""
    path = tmp_path / "mine.toml"
    path.write_text('[train]\nlog-to = ["wandb", "mlflow"]\n')
    for arguments in (("--log-to", "wandb", "mlflow"), ("--log-to", "wandb,mlflow"),
                      ("--config", str(path))):
        assert trackers(configured(*arguments)) == ["wandb", "mlflow"]
    assert trackers(configured("--log-to", "none")) == []
    assert trackers(configured("--config", str(path), "--log-to", "none")) == []


def test_options_of_trl_that_follow_from_others_are_refused(model, tmp_path):
    """Two values for one setting, one of them in silence."""
    config = training.TrainConfig(
        model=model, prompts=2, samples=4, steps=1, save_every=0, device="cpu", log_to="none",
        trl_options=("num_generations=2",), output=tmp_path / "run",
    )
    with pytest.raises(ValueError, match="option num_generations of TRL follows from the run's own"):
        training.train(config)
    found = parse_trl_options(
        ("bf16=true", "warmup_steps=10", "weight_decay=0.01", "vllm_mode=server", "bf16=none"))
    assert found == {"bf16": None, "warmup_steps": 10, "weight_decay": 0.01, "vllm_mode": "server"}
