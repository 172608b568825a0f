"""The rooms stay readable from the ground up: no circles, no more floors, nothing more that is too large.

What is counted, and how, is in `tests.map`; ``python -m tests.map`` prints it.
"""

from collections import Counter

import pytest

from tests import map as rooms

FLOORS = {"entropy_theory": 16, "diagnosis": 9, "simulations": 16, "llm_bridge": 15,
          "paper_figures": 11, "policy_entropy": 1}
"""The most that each room has had since its modules were put into folders: lower it where it falls."""
FOLDER_FLOORS = {"entropy_theory": 11, "diagnosis": 7, "simulations": 5, "llm_bridge": 9,
                 "paper_figures": 8, "policy_entropy": 1}

TOO_LARGE = {"lines of a file": 0, "lines of a function": 0, "parameters of a function": 7}
"""The most that there have been above each limit: lower it where it falls."""


def test_the_picture_in_contributing_is_of_this_house():
    drawn = (rooms.ROOT / "CONTRIBUTING.md").read_text()
    assert rooms.picture() in drawn, "put what `python -m tests.map` prints first into CONTRIBUTING.md"


def test_no_more_grows_too_large():
    found = Counter(limit for name in rooms.ROOMS for limit, *_ in rooms.too_large(name))
    assert all(found[limit] <= most for limit, most in TOO_LARGE.items()), found


@pytest.fixture(scope="module")
def found():
    return {name: rooms.room(name) for name in rooms.ROOMS}


@pytest.mark.parametrize("name", rooms.ROOMS)
def test_no_modules_import_each_other(found, name):
    """An import for type hints alone counts: a reader has to follow it."""
    assert found[name].circles == ()


@pytest.mark.parametrize("name", rooms.ROOMS)
def test_floors_do_not_grow(found, name):
    assert found[name].floors <= FLOORS[name]
    assert found[name].folder_floors <= FOLDER_FLOORS[name]


@pytest.mark.parametrize("name", rooms.ROOMS)
def test_folders_import_one_way(found, name):
    assert found[name].folder_circles == ()


def test_a_circle_is_found_and_counts_a_floor_for_each_of_its_modules():
    """A circle taken as one floor would make the most tangled room the flattest."""
    graph = {name: frozenset(imported) for name, imported in {
        "a": "b", "b": "c", "c": "bd", "d": "", "e": "d"}.items()}
    assert list(rooms.circles(graph)) == [("b", "c")]
    assert rooms.floors(graph) == 4
