"""How a claim is checked.

- `claim`, `reading`: hypotheses, conclusion and mutants of a claim, and whose words it has
- `instances`, `bandit_policies`, `tree_policies`: the sets that claims are about, and how they are drawn
- `arithmetic`: softmax formulas that run in float64 and in ball arithmetic alike
- `symbolic`: the equations of a formula, decided by SymPy
- `property_based`: thousands of instances by Hypothesis, shrunk to the simplest violation
- `floats`: a statement's margins on many instances
- `search`: the adversary, with small integers, millions of random cases and local ascent
- `sizes`, `shrink`: far larger instances; smaller counterexamples
- `vacuity`: claims that pass whatever they claim
- `certify`: signs proved in ball arithmetic (Arb); a float violation counts only then
- `verdict`: the verdict, from the evidence alone
- `check`: the list of checks of a claim and what each may cost; `judge` runs them
- `judged`: the formula, or the code, that was judged
- `proofs`, `kernel`: the parts of a proof in Rocq, and the kernel's answer to it
- `refutations`: counterexamples as theorems, the negation of a claim's statement
- `ledger`, `report`: verdicts as JSON and as tables; the accepted ledger
- `rule_contract`: clauses and batches that every update rule must keep to, a user's too
- `expected_step`: the function whose gradient a rule's expected step is
- `on_policy`: how rules relate to policy gradient on policy

One claim in one call: ``judge(claim)`` gives its `Verdict` quickly, ``judge(claim, FULL)`` at length.
"""

from typing import NoReturn

from entropy_theory.verification.bandit_policies import SOME_WRONG, bandit_instances
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
    "SOME_WRONG",
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
