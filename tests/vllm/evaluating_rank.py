"""Run by test_evaluation on each rank: the evaluate command, in chunks of so many completions."""

import sys

from entropy_theory.support.user_errors import run_command
from llm_bridge import __main__ as main
from llm_bridge import evaluation

if __name__ == "__main__":
    evaluation.ENGINE_CHUNK = int(sys.argv.pop(1))
    sys.argv[0] = "llm_bridge"
    run_command(main.main)
