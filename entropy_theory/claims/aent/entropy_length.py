"""AEnt, Section 5.3: "a positive correlation between entropy and response length in this case".

"In this case" is an observation on a training run. It is read as a rule for sampling. Of two
temperatures the higher one has the larger entropy at every state (`aepo.lemma-4.1`), so it should
have the larger expected length too. This is false. Where stopping is the unlikely token, a higher
temperature makes it likelier, and responses get shorter.

It is true (exactly) if at every state the token that ends the response is at least as likely as the
other token. So this correlation depends on the policy. Entropy that comes from undecided stopping
lengthens responses that would have stopped. It shortens responses that would have gone on.

There are two tokens, and one of them ends the response. With more tokens, a higher temperature also
moves probability between continuations of different lengths.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.response_length import STOP, at_temperature, lengths
from entropy_theory.verification import arithmetic as ar

TEMPERATURE = vf.Scalar(name="temperature", low=1.01, high=20.0, grid=(2,), range=vf.POSITIVE)


def expected_length(i: vf.Cases, temperature: ar.Reals | None = None) -> ar.Reals:
    """E|o| under the policy at this temperature."""
    sampled = ar.softmax(at_temperature(i.logits, temperature))
    return ar.mean(ar.token_tree(i.logits).response_probabilities(sampled), lengths(i.logits))


def _longer(i: vf.Cases) -> ar.Reals:
    return expected_length(i, i.temperature) - expected_length(i)


def _lead_of_stop(i: vf.Cases) -> ar.Reals:
    """[..., states]: the logit of the stop minus the other's."""
    return i.logits[..., STOP] - i.logits[..., 1 - STOP]


HOT = vf.Condition(latex="$T > 1$", value=lambda i: i.temperature - 1)
STOPS = vf.Condition(
    latex="stopping is at least as likely as going on, at every state", relation=">=",
    value=lambda i: ar.smallest(_lead_of_stop(i)),
)

_statement = vf.Statement(
    latex=r"A higher temperature, and so a higher entropy at each state, makes responses no shorter: "
          r"$E_{\pi^T}|o| \ge E_\pi|o|$ for $T > 1$.",
    margin=_longer,
    conditions=(HOT,),
)

entropy_length = vf.Claim(
    id="aent.entropy-length",
    source="AEnt, Section 5.3 ('a positive correlation between entropy and response length')",
    reading=vf.Reading(
        "inferred", "We observe a positive correlation between entropy and response length in this case",
        "Section 5.3, of one run: an observation, no law"),
    title="Higher entropy by temperature means no shorter responses",
    scope="tabular token tree with a token that ends the response, exact expectation",
    statement=_statement,
    instances=vf.tree_instances(TEMPERATURE, tokens=(2, 2), horizon=(1, 3), reward=None),
    repair=vf.Statement(
        latex="It does where stopping is at least as likely as going on at every state (two tokens, one "
              "of which stops).",
        margin=_longer,
        conditions=(HOT, STOPS),
    ),
    repair_is="hypothesis",
    repair_note="hypothesis: the token that ends the response is at least as likely as the other at "
                "every state",
    mutants=(
        vf.Mutant(name="where stopping is the unlikelier token", statement=vf.variant(
            _statement, conditions=(HOT, vf.Condition(
                latex="stopping is the unlikelier token",
                value=lambda i: ar.smallest(-_lead_of_stop(i)))))),
    ),
)
