"""Guards what the room's errors are and what they say (tests/errors.py)."""

from pathlib import Path

from tests.errors import Errors

ERRORS = Errors(Path(__file__).with_name("errors.txt"))
test_what_is_wrong_is_told = ERRORS.test()

if __name__ == "__main__":
    ERRORS.write()
