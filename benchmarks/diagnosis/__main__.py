"""Judges the diagnosis of training runs, and rivals, by runs whose cause is known by construction.

    python -m benchmarks.diagnosis                      # the judging part, `diagnosis` alone
    python -m benchmarks.diagnosis --part tuning
    python -m benchmarks.diagnosis --rivals bin/python  # and the rivals in that Python's environment
    python -m benchmarks.diagnosis --make               # the runs anew: about an hour, resumable
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from benchmarks.diagnosis import judging
from benchmarks.diagnosis.causes import PARTS, cases
from benchmarks.diagnosis.labels import labels, write_all
from benchmarks.diagnosis.making import make

RAW = Path("build/diagnosis")


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--part", choices=[*PARTS, "all"], default="judging")
    parser.add_argument("--rivals", metavar="PYTHON", help="the Python that has the rivals")
    parser.add_argument("--toolkit", metavar="FOLDER", default="", help="post-training-toolkit's source")
    parser.add_argument("--json", type=Path, help="write the counts to this file")
    parser.add_argument("--make", action="store_true", help="train and simulate the runs anew")
    parser.add_argument("--raw", type=Path, default=RAW, help="where --make keeps finished runs")
    return parser


def main() -> None:
    asked = options().parse_args()
    if asked.make:
        make(cases(), asked.raw)
        write_all(cases(), asked.raw)
        return
    chosen = labels("" if asked.part == "all" else asked.part)
    programs = {"diagnosis": judging.ours(chosen)}
    if asked.rivals:
        programs |= judging.rivals(chosen, asked.rivals, asked.toolkit)
    silent = [label.name for label in chosen if label.silent]
    heard = [label for label in chosen if not label.silent]
    print(f"{len(chosen)} runs ({asked.part}), {len(silent)} of them silent and left out: "
          f"{', '.join(silent) or 'none'}\n")
    print(judging.table(heard, programs))
    print("\n" + judging.confusion(heard, programs["diagnosis"]))
    if asked.json:
        asked.json.write_text(json.dumps({program: [asdict(one) for one in judging.score(heard, verdicts)]
                                          for program, verdicts in programs.items()}, indent=2) + "\n")


if __name__ == "__main__":
    main()
