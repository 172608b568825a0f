"""The console script: one dialect, errors in one line before anything heavy is imported."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import entropy_theory
from entropy_theory.support import command_line, user_errors
from entropy_theory.update_rules import RULES, described
from entropy_theory.verification import report
from llm_bridge.data import rewards
from policy_entropy import __main__ as console
from tests.kills import interruptible

ROOT = Path(__file__).parents[2]


ABSENT = """
import sys
class Absent:
    def find_spec(name, *_):
        if name in {'torch', 'transformers', 'trl'}:
            raise ModuleNotFoundError(f'no {name}', name=name)
sys.meta_path.insert(0, Absent)
"""
"""Has a process find what it would where the extra llm is not installed."""


def typed(*arguments: str | Path, before: str = "", **options) -> subprocess.CompletedProcess[str]:
    """A command line in a process of its own, which says on its last line what it has imported."""
    code = (f"{before}\nimport sys, atexit; from policy_entropy.__main__ import command; "
            "heavy = {'torch', 'trl', 'transformers', 'matplotlib', 'scipy', 'sympy', 'xarray', "
            "'pandas', 'numpy.f2py'}; "
            "atexit.register(lambda: print('imported', *sorted(heavy & set(sys.modules)), "
            "file=sys.stderr)); "
            f"sys.argv = ['policy-entropy', *{list(map(str, arguments))!r}]; command()")
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT,
                          check=False, **options)


@pytest.fixture
def in_a_clashing_folder(tmp_path_factory, tmp_path):
    """Run Python in a folder with packages of our names, and return what it said; "script" is ours."""
    script = tmp_path_factory.mktemp("bin") / "policy-entropy"
    script.write_text("from policy_entropy.__main__ import command\ncommand()\n")
    for name in ("simulations", "llm_bridge", "paper_figures", "trl"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('the package of the user')")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, *(script if one == "script" else one for one in arguments)], cwd=tmp_path,
            env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    return run


def test_a_folder_of_the_users_with_our_names_does_not_hide_ours(
    in_a_clashing_folder, tmp_path, monkeypatch
):
    """In a folder with packages "simulations" and "llm_bridge" the installed commands found these."""
    (tmp_path / "calendar.py").write_text("def score(**_): return [1.0]\n")
    in_a_clashing_folder("-m", "policy_entropy", "figures")  # Python itself looks in the folder first.
    in_a_clashing_folder(
        "script", "simulate", "aepo-figure-2", "--profile", "smoke", "--output", "results")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"has that name, too: give the file, calendar\.py:"):
        rewards.get("calendar:score")


@pytest.mark.deep
def test_a_reward_of_the_users_finds_our_packages_there(in_a_clashing_folder, tmp_path):
    (tmp_path / "rewards.py").write_text("import simulations.engine\ndef score(**_): return [1.0]\n")
    in_a_clashing_folder("script", "sample", "--num-prompts", "1", "--num-samples", "1",
                         "--max-new-tokens", "2", "--reward", "rewards:score")


@pytest.fixture
def command(monkeypatch, capfd):
    """(exit status, output, errors) of a command line in this process."""

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["policy-entropy", *map(str, arguments)])
        monkeypatch.setattr("sys.path", [*sys.path])
        with pytest.raises(SystemExit) as end:
            user_errors.run_command(console.main)
        return end.value.code or 0, *capfd.readouterr()

    return run


@pytest.mark.parametrize(("arguments", "message"), [
    (["train", "--rule", "aepoo"], "unknown update rule 'aepoo': did you mean aepo, sapo, repo?"),
    (["figures", "aepo-figur-4"], "unknown figure 'aepo-figur-4': did you mean aepo-figure-4"),
    (["simulate", "aepo-figur-1"], "unknown experiment 'aepo-figur-1': did you mean aepo-figure-1"),
    (["sweep", "nothere.toml"], "nothere.toml: name a sweep file"),
])
def test_a_mistyped_name_is_answered_before_torch_is_imported(arguments, message):
    """Ten seconds of imports for a typo, or all of NumPy's modules for none of its arrays."""
    found = typed(*arguments)
    assert found.returncode == 2
    error, imported = found.stderr.splitlines()
    assert error.startswith("error: ")
    assert message in error
    assert imported == "imported"


@pytest.mark.parametrize(("arguments", "message"), [
    (["trian"], "unknown command 'trian': did you mean train, translate?"),
    (["train", "--stesp", "3"], "unrecognized options: --stesp, 3: did you mean --steps? "
                                "(policy-entropy train --help lists the options)"),
    (["train", "--steps", "x"], "--steps must be a whole number, got 'x' (policy-entropy train --help"),
    (["train", "--config"], "error: missing value for argument '--config"),
    (["--vesion"], "unknown option '--vesion': did you mean --version"),
    (["help"], "unknown command 'help': did you mean --help?"),
    (["verify", "--seed", "1", "--update-ledger"], "that of seed 0, got 1"),
    (["verify", "nosuch"], "unknown claim 'nosuch': 'policy-entropy claims' lists them"),
    (["check", "nofile.py"], "no such file: nofile.py: name a Python file with claims or update rules"),
    (["check", "README.md", "--quick", "--profile", "full"],
     "--quick is --profile smoke, and --profile full is given too: leave one out"),
    (["train", "--rule", "aepo", "--rule-options", "alhpa=3"], "'alhpa': did you mean alpha?"),
    (["train", "--rule", "aepo", "--rule-options", "target=0.5", "target=0.7", "--dry-run"],
     "--rule-options gives target twice: leave one out"),
    (["train", "--trl-options", "warmup_stepz=1"], "'warmup_stepz': did you mean warmup_steps"),
    (["audit", "--output", "README.md"],
     "cannot write README.md/run.json: README.md is a file, and must be a folder"),
    (["train", "--log-to", "wandbb"], "unknown tracker 'wandbb': did you mean wandb"),
    (["train", "--data", "READM.md"], "no such file: READM.md: did you mean README.md?"),
    (["train", "--reward", "exat"], "unknown reward function 'exat': did you mean exact"),
    (["train", "--config", "a.toml", "--recipe", "b"], "name one of them"),
    (["simulate", "aepo_figure_1"], "unknown experiment 'aepo_figure_1': did you mean aepo-figure-1"),
    (["rules", "my_rules.py"], "is a file: name a class in it, my_rules.py:CLASS"),
    (["simulate", "aepo-figure-1", "--output", "README.md"], "cannot write README.md/aepo_figure_1.nc"),
    (["completion", "bsh"], "did you mean bash"),
])
def test_an_error_is_one_line_with_the_remedy(command, arguments, message):
    """A box of ten lines; a traceback; a name without the nearest one."""
    status, _, errors = command(*arguments)
    assert status == 2
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1
    assert message in errors


def test_figures_are_drawn_without_the_extra_of_language_models(tmp_path, simulated):
    """An import of torch for the type of an argument."""
    (tmp_path / "simulations").symlink_to(simulated("aepo_figure_2") / "simulations")
    found = typed("figures", "aepo-figure-2", "--output", tmp_path, before=ABSENT)
    assert "aepo-figure-2: seen in part: tabular" in found.stdout, found.stderr


@pytest.mark.parametrize("name", ["simulate", "figures"])
def test_a_list_needs_nothing_of_what_it_lists(name):
    """Five seconds of imports for fifty titles."""
    assert typed(name).stderr == "imported\n"


def test_debug_shows_where_an_error_arose(command):
    status, _, errors = command("rules", "--debug", "clipcov")
    assert status == 2
    assert "Traceback" in errors
    assert "in check_choice" in errors
    assert errors.splitlines()[-1].startswith("error: unknown update rule")


def test_lists_have_one_form(command, tmp_path):
    """Name, source, title with tabs between; the same as JSON; names with hyphens."""
    for name in ("claims", "rules", "simulate", "figures"):
        status, out, _ = command(name)
        assert status == 0
        rows = [line.split("\t") for line in out.splitlines()]
        assert {len(row) for row in rows} == {3}
        assert len({row[0] for row in rows}) == len(rows)
        assert not any("_" in row[0] for row in rows)
    status, out, _ = command("rules", "--json", "-")
    assert [rule["name"] for rule in json.loads(out)] == list(RULES)
    assert command("rules", "--json", tmp_path / "rules.json")[0] == 0
    assert json.loads((tmp_path / "rules.json").read_text()) == json.loads(out)


def test_a_rule_is_shown_with_each_option_its_default_and_meaning(command):
    status, out, _ = command("rules", "aepo")
    assert status == 0
    for option in described.options(RULES["aepo"]):
        assert f"{option.name} = {option.default}" in out
    assert "Mean token entropy to hold, nats." in out
    found = json.loads(command("rules", "aepo", "--json", "-")[1])
    target = next(option for option in found["options"] if option["name"] == "target")
    assert target == {"name": "target", "kind": "float", "default": "0.5",
                      "meaning": "Mean token entropy to hold, nats."}


def test_json_to_standard_output_holds_nothing_else(command, tmp_path):
    """Text between the brackets, which no reader of JSON takes."""
    law = [f"{step},{2 - step / 50},{0.9 - 0.1 * 2.718281828 ** (2 - step / 50)}" for step in range(40)]
    (tmp_path / "log.csv").write_text("step,entropy,reward\n" + "\n".join(law) + "\n")
    status, out, errors = command("fit", tmp_path / "log.csv", "--json", "-")
    assert status == 0
    assert "provenance" in json.loads(out)
    assert "R =" in errors


def test_the_version_and_the_help_import_nothing_heavy():
    """Help that takes seconds."""
    version = typed("--version")
    assert version.stdout == f"policy-entropy {entropy_theory.__version__}\n"
    assert version.stderr == "imported\n"


def test_help_lists_every_command(command):
    status, out, _ = command("--help")
    assert status == 0
    for name in console.COMMANDS:
        assert f"\n  {name} " in out
    assert command()[0] == 2


def test_the_page_says_which_command_takes_which_option():
    """An option of the dialect that a command lacks without a reason, or a table of another version."""
    said = {}
    for row in re.findall(r"^\| `(\w+)` \|(.*)\|$", (ROOT / "docs" / "commands.md").read_text(), re.M):
        said[row[0]] = [cell.strip() == "yes" for cell in row[1].split("|")]
    assert list(said) == list(console.COMMANDS)
    dialect = ("output", "jobs", "profile", "seed", "json")
    for name in console.COMMANDS:
        options = inspect.signature(console.options_of(name)).parameters
        assert said[name] == [option in options for option in dialect], name


def test_a_pipe_that_closes_early_is_no_error():
    """BrokenPipeError under `| head`."""
    shell = (f"{sys.executable} -m policy_entropy claims | head -1; "
             'echo "status ${PIPESTATUS[0]}"')
    found = subprocess.run(["bash", "-c", shell], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stderr == ""
    assert len(found.stdout.splitlines()) == 2
    assert found.stdout.splitlines()[1] == "status 0"


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_output_is_no_error(closed):
    """AttributeError where there is no standard output to flush."""
    shell = f"{sys.executable} -m policy_entropy --version {closed}"
    found = subprocess.run(["bash", "-c", shell], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")


def test_a_table_into_a_closed_pipe_is_no_error(monkeypatch):
    """rich's own console ends the process with 1, which says that a verdict changed."""
    end, beginning = os.pipe()
    os.close(end)
    with contextlib.suppress(BrokenPipeError), open(beginning, "w") as closed:
        monkeypatch.setattr("sys.stdout", closed)
        with pytest.raises(BrokenPipeError):
            report.print_differences(())
        monkeypatch.undo()


@pytest.mark.parametrize(("kept", "said"), [
    ("finished runs are kept", "interrupted; finished runs are kept\n"),
    ("", "interrupted; nothing is kept\n")])
def test_ctrl_c_promises_only_what_is_kept(capsys, kept, said):
    """A promise to resume from a command that keeps nothing."""

    def stopped():
        with command_line.keeping(kept):
            raise KeyboardInterrupt

    with pytest.raises(SystemExit) as end:
        user_errors.run_command(stopped)
    assert end.value.code == 130
    assert capsys.readouterr().err == said


@pytest.mark.deep
def test_ctrl_c_in_a_sweep_keeps_what_it_says(tmp_path):
    """The second call computes what the first left."""
    path = tmp_path / "slow.toml"
    path.write_text('n_starts = 2\n[problem]\nn_actions = 50\n[rule]\nname = "grpo"\n'
                    '[dynamics]\nsteps = 100000\nsamples = { group_size = 8 }\n'
                    '[grid]\nproblem.n_correct = [1, 2, 3, 4, 5, 6]\n')
    arguments = [sys.executable, "-m", "policy_entropy", "sweep", str(path), "--jobs", "1", "--output",
                 str(tmp_path)]
    process = subprocess.Popen(
        interruptible(*arguments), cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True)
    cells = tmp_path / "slow.cells"
    while process.poll() is None and not list(cells.glob("[!.]*.nc")):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "interrupted; finished runs are kept" in errors
    again = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "runs are kept" in again.stderr


@pytest.mark.deep
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_and_options(command, shell):
    """With everything installed; what is not is completed without options."""
    status, out, _ = command("completion", shell)
    assert status == 0
    for word in (*console.COMMANDS, "learning-rate", "jobs", "recipe", "launcher"):
        assert word in out


def test_under_a_launcher_one_process_says_what_is_wrong(monkeypatch, capsys):
    """The same error eight times, or the launcher ending the one that says it."""
    from llm_bridge import __main__ as llm_bridge_commands
    from llm_bridge.running import launched

    waited = []
    monkeypatch.setattr(launched.time, "sleep", waited.append)
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(SystemExit) as end:
        user_errors.run_command(lambda: llm_bridge_commands.train(["--rule", "aepoo"]))
    assert end.value.code == 2
    assert capsys.readouterr().err == ""
    assert waited == [10.0]
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(SystemExit):
        user_errors.run_command(lambda: llm_bridge_commands.train(["--rule", "aepoo"]))
    assert "did you mean aepo, sapo, repo?" in capsys.readouterr().err
