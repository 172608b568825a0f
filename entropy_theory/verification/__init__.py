"""How a claim is checked.

    claim.py reading.py what a claim is: hypotheses, conclusion, mutants; whose words it has
    instances.py        where it lives: strategies, samplers, small integers; drawn as bandit_policies.py,
                        tree_policies.py
    arithmetic.py       softmax formulas that run in float64 and in ball arithmetic alike
    symbolic.py         the equations of a formula, decided by SymPy
    property_based.py   Hypothesis: thousands of instances, shrunk to the simplest violation
    floats.py           a statement's margins on many instances
    search.py           the adversary: small integers, millions of random cases, local ascent
    sizes.py shrink.py  far larger instances; smaller counterexamples
    vacuity.py          claims that pass, whatever they say
    certify.py          signs proved in ball arithmetic (Arb); a float violation counts only then
    verdict.py          the verdict, from the evidence alone
    check.py            the list of checks of a claim and what each may cost; `judge` runs them
    judged.py           the formula, or the code, that was judged
    proofs.py kernel.py what belongs to a proof in Rocq, and what the kernel says of it
    refutations.py      counterexamples as theorems: the negation of a claim's statement
    ledger.py report.py verdicts as JSON and as tables; the accepted ledger
    rule_contract.py    what every update rule must keep, a user's too: its clauses and batches
    expected_step.py    of what its expected step is the gradient
    on_policy.py        how rules relate to policy gradient on policy

One claim in one call: ``judge(claim)`` gives its `Verdict` (quick; ``judge(claim, FULL)`` at length).
"""

from typing import NoReturn

from entropy_theory.verification.bandit_policies import bandit_instances
from entropy_theory.verification.check import FULL, QUICK, judge
from entropy_theory.verification.claim import (
    Claim,
    Condition,
    Mutant,
    PrintedStep,
    Statement,
    Step,
    experiment,
    mutant,
    variant,
    without,
)
from entropy_theory.verification.drawn_fields import GRADED_REWARD, Scalar, Vector
from entropy_theory.verification.formula.definitions import definition
from entropy_theory.verification.formula.statement import (
    ANY,
    POSITIVE,
    Parameter,
    Parameters,
    Range,
)
from entropy_theory.verification.formula.terms import ACTIONS, STATES, Term, constant, elementwise
from entropy_theory.verification.instances import (
    Batch,
    Cases,
    Instance,
    Instances,
    Margin,
    listed_instances,
)
from entropy_theory.verification.reading import Reading
from entropy_theory.verification.tree_policies import tree_instances

__all__ = [
    "ACTIONS",
    "ANY",
    "FULL",
    "GRADED_REWARD",
    "POSITIVE",
    "QUICK",
    "STATES",
    "Batch",
    "Cases",
    "Claim",
    "Condition",
    "Instance",
    "Instances",
    "Margin",
    "Mutant",
    "Parameter",
    "Parameters",
    "PrintedStep",
    "Range",
    "Reading",
    "Scalar",
    "Statement",
    "Step",
    "Term",
    "Vector",
    "bandit_instances",
    "constant",
    "definition",
    "elementwise",
    "experiment",
    "judge",
    "listed_instances",
    "mutant",
    "tree_instances",
    "variant",
    "without",
]


def __getattr__(name: str) -> NoReturn:
    if name in ("smt", "derivation"):
        raise ImportError(
            f"there is no {name} any more: proof steps decided no verdict. Remove `proof` and `negation` "
            "from the claim, and prove it in Rocq if you want it proved (docs/proofs.md)")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
