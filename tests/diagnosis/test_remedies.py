"""Guards remedies.toml: every fault has remedies, in words that name an engine, a page and a source."""

import re
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from diagnosis.findings import FAULTS
from diagnosis.remedies import missing, remedies
from entropy_theory.training_logs.names import engines
from entropy_theory.update_rules import RULES

DOCS = Path(__file__).parents[2] / "docs"
TABLE = tomllib.loads(files("diagnosis").joinpath("remedies.toml").read_text(encoding="utf-8"))


def test_every_fault_has_a_remedy_and_every_action_a_finding():
    assert set(TABLE["findings"]) == FAULTS | {"prompt order"}
    used = {name for names in TABLE["findings"].values() for name in names}
    assert used == set(TABLE["actions"])


@pytest.mark.parametrize("name", TABLE["actions"])
def test_an_action_names_known_engines_an_existing_page_and_lines_of_sources(name):
    action = TABLE["actions"][name]
    assert set(action["options"]) <= set(engines())
    folder, _, rule = action["page"].rpartition("/")
    assert (DOCS / f"{action['page']}.md").exists() or (folder == "rules" and rule in RULES)
    for option in action["options"].values():
        assert not option["at"] or re.fullmatch(r"[\w./-]+:\d+", option["at"])
        assert option["option"]


@pytest.mark.parametrize("finding", sorted(FAULTS))
@pytest.mark.parametrize("engine", ["verl", "trl", "openrlhf"])
def test_the_engines_that_most_people_use_have_an_option_of_their_own(finding, engine):
    found = remedies(finding, engine)
    assert found
    assert all(any(sign in one.option for sign in ("=", "--")) for one in found)


def test_an_unknown_engine_gets_words():
    assert remedies("truncation", "")[0].option == "raise length limit"


def test_no_option_of_another_engine_is_named():
    """OpenRLHF has no option that weighs all tokens alike."""
    assert all("loss_agg" not in one.option for one in remedies("length drift", "openrlhf"))


def test_a_page_is_named_where_a_reader_finds_it():
    """The site's pages of rules are in no checkout: a command prints them."""
    shown = {one.page for finding in FAULTS for one in remedies(finding, "verl")}
    assert "policy-entropy rules clip-higher" in shown
    files_of = {one for one in shown if not one.startswith("policy-entropy rules ")}
    assert all((DOCS.parent / one).exists() for one in files_of)


def test_changes_that_no_other_page_shows_are_in_the_how_to():
    page = (DOCS / "how_to" / "diagnose.md").read_text(encoding="utf-8")
    section = page.partition("## What to change")[2].partition("\n## ")[0]
    listed = set(re.findall(r"^\| ([a-z ]+) \|", section, re.MULTILINE))
    assert listed - {"change"} == {name.replace("-", " ") for name, action in TABLE["actions"].items()
                                   if action["page"] == "how_to/diagnose"}


def test_a_sum_over_the_response_lacks_its_length_and_no_setting():
    lacks = missing(frozenset(("entropy_sum", "reward")), "verl", has_parts=True)
    assert lacks[0].setting == "the mean response length beside the sum that is logged"


def test_what_a_log_lacks_is_said_with_the_setting_that_logs_it():
    lacks = missing(frozenset(("reward", "length")), "verl", has_parts=False)
    found = {one.quantity: one.setting for one in lacks}
    settings = " ".join(found.values())
    for option in ("calculate_entropy", "test_freq", "calculate_log_probs", "forecast_every"):
        assert option in settings
    assert not any("training reward" in quantity for quantity in found)


@pytest.mark.parametrize("engine", ["trl", "verl", "openrlhf", "skyrl"])
def test_the_page_on_growth_has_the_options_of_its_engines(engine):
    page = (DOCS / "why_entropy_grows.md").read_text(encoding="utf-8")
    for name in TABLE["findings"]["growth"]:
        option = TABLE["actions"][name]["options"].get(engine, {"option": ""})["option"]
        for word in option.split():
            assert word.removeprefix("actor_rollout_ref.") in page
