"""AEPO, Section 5.2: "consistent improvements over RL baselines on both pass@1 and pass@k across
every benchmark".

AEPO's printed score should nowhere be below an RL baseline's of the same model, within rounding.
This is read for Table 1 (pass@1) and for Table 2 (pass@k, against GRPO). It is false for pass@1. On
Minerva, Qwen2.5-7B has 37.8 against 38.2 with Entropy-Adv. On GSM8K, Qwen3-4B has 95.0 against 95.2
with GRPO. It is true for pass@k. All six entries of Table 2 are above GRPO's, by 1.2 to 10 points.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.table_1_superior import METHOD, MODELS, rows_of
from entropy_theory.claims.printed_numbers import ahead, compared, flagged, not_behind, printed_rows

# AIME24 and AIME25, each pass@512 and pass@1024, Minerva and Olympiad pass@128; Qwen2.5-7B.
PASS_AT_K = {name.partition(", ")[2]: scores
             for name, (scores, _) in printed_rows("aepo/table_2_pass_at_k").items()}
# One row for each score, so that both tables have rows of one length.
_PASS_AT_1 = [
    {**compared(ours, theirs), "is_pass_at_k": 0}
    for model in MODELS
    for method, row in rows_of(model).items() if method not in (METHOD, model)
    for ours, theirs in zip(rows_of(model)[METHOD].split(), row.split(), strict=True)
]
_AT_K = [
    {**compared(ours, theirs), "is_pass_at_k": 1}
    for ours, theirs in zip(PASS_AT_K["+AEPO"].split(), PASS_AT_K["+GRPO"].split(), strict=True)
]
ROWS = (*_PASS_AT_1, *_AT_K)

OF_PASS_AT_K = flagged("is_pass_at_k", "the score is a pass@k of Table 2")

consistent_improvements = vf.Claim(
    id="aepo.consistent-improvements",
    source="AEPO, Section 5.2 ('consistent improvements ... across every benchmark')",
    reading=vf.Reading(
        "literal",
        "AEPO delivers consistent improvements over RL baselines on both pass@1 and pass@ k across "
        "every benchmark.", "Section 5.2"),
    title="AEPO improves on every RL baseline on every benchmark, at pass@1 and at pass@k",
    scope="printed table",
    statement=vf.Statement(
        latex=r"AEPO's score is at least each RL baseline's on every benchmark, for pass@1 and pass@k, "
              r"within rounding.",
        margin=not_behind,
    ),
    instances=vf.listed_instances(ROWS, "every score of Tables 1 and 2 against every RL baseline's"),
    repair=vf.Statement(
        latex=r"AEPO's pass@k is above GRPO's on every benchmark of Table 2, whatever the digits left "
              r"out.",
        margin=ahead,
        relation=">",
        conditions=(OF_PASS_AT_K,),
    ),
    repair_note="at pass@k, against GRPO",
)
