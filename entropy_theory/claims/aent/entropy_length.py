r"""AEnt, Section 5.3: "a positive correlation between entropy and response length in this case".

"In this case" is an observation on a training run. Read as a rule for sampling: of two temperatures the
higher one, which has the larger entropy at every state (`aepo.lemma-4.1`), also has the larger expected
length. False: where stopping is the unlikely token, a higher temperature makes it likelier, and
responses get shorter.

True with a hypothesis (exact): if the token that ends the response is at least as likely as the other
at every state. So it is one more correlation that depends on the policy: entropy that comes from
undecided stopping lengthens responses that would have stopped, and shortens those that would have gone
on.

Two tokens, of which one ends the response, up to three tokens; the expected length is the sum of the
probabilities of the states that are reached.
"""

from __future__ import annotations

from entropy_theory.claims.aepo.response_length import STOP, responses
from entropy_theory.verification import Cases, Claim, Condition, Mutant, Scalar, Statement
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.formula.statement import POSITIVE
from entropy_theory.verification.instances import tree_instances

TEMPERATURE = Scalar(name="temperature", low=1.01, high=20.0, grid=(2,), range=POSITIVE)


def expected_length(i: Cases, temperature: Reals | None = None) -> Reals:
    """E|o| under the policy at this temperature: visits of the states in which a token is chosen."""
    table = responses(ar.token_tree(i.logits))
    if temperature is not None:
        temperature = ar.per_action(temperature)
    sampled = table.tree.response_probabilities(ar.softmax(i.logits, temperature))
    dtype = object if ar.is_exact(sampled) else float
    return ar.total(sampled @ table.states_seen.astype(dtype))


def _longer(i: Cases) -> Reals:
    return expected_length(i, i.temperature) - expected_length(i)


def _stop_is_likelier(i: Cases) -> Reals:
    """Least lead of the stop's logit over the other's, over the states."""
    return ar.smallest(i.logits[..., STOP] - i.logits[..., 1 - STOP])


HOT = Condition(latex="T > 1", value=lambda i: i.temperature - 1)
STOPS = Condition(
    latex="stopping is the likelier token at every state", value=_stop_is_likelier, relation=">=",
)

_statement = Statement(
    latex=r"A higher temperature, and so a higher entropy at each state, makes responses longer: "
          r"$E_{\pi^T}|o| \ge E_\pi|o|$ for $T > 1$.",
    margin=_longer,
    conditions=(HOT,),
)

_where_it_stops = Statement(
    latex=r"It does where stopping is the likelier of the two tokens at every state.",
    margin=_longer,
    conditions=(HOT, STOPS),
)

entropy_length = Claim(
    id="aent.entropy-length",
    source="AEnt, Section 5.3 ('a positive correlation between entropy and response length')",
    title="Higher entropy by temperature means longer responses",
    scope="tabular token tree with a token that ends the response, exact expectation",
    statement=_statement,
    instances=tree_instances(TEMPERATURE, tokens=(2, 2), horizon=(1, 3)),
    repair=_where_it_stops,
    repair_is="hypothesis",
    repair_note="hypothesis: the token that ends the response is the likelier one at every state",
    mutants=(
        Mutant(name="where stopping is the unlikelier token", statement=variant(
            _statement, conditions=(HOT, Condition(
                latex="stopping is the unlikelier token",
                value=lambda i: -ar.largest(i.logits[..., STOP] - i.logits[..., 1 - STOP]))))),
        Mutant(name="longer by a tenth", statement=variant(
            _where_it_stops, margin=lambda i: _longer(i) - expected_length(i) / 10)),
    ),
)
