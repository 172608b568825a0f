"""Token trees in terms: the methods of `TokenTree` that claims use, for any vocabulary and any
horizon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from entropy_theory.token_tree import TokenTree
from entropy_theory.verification.formula.terms import (
    ACTIONS,
    RESPONSES,
    STATES,
    Axes,
    Axis,
    Operation,
    Term,
    UntraceableError,
    constant,
    make,
    size_of,
)

HORIZON = Axis("horizon")


class SymbolicTree:
    """A complete token tree of unknown size.

    Args:
        logits: whose last axes are states and tokens.
    """

    def __init__(self, logits: Term) -> None:
        if logits.axes[-2:] != (STATES, ACTIONS):
            raise UntraceableError(f"a tree of {logits}")
        self._logits = logits
        self._lead: Axes = logits.axes[:-2]
        self.n_tokens = size_of(ACTIONS)
        self.horizon = size_of(HORIZON)

    def visitation(self, probabilities: Term) -> Term:
        return self._made("visitation", (STATES,), lambda t, p: t.visitation(p), probabilities)

    def response_probabilities(self, probabilities: Term) -> Term:
        return self._made("response_probabilities", (RESPONSES,),
                          lambda t, p: t.response_probabilities(p), probabilities)

    def sum_along(self, edge: Term) -> Term:
        return self._made("sum_along", (RESPONSES,), lambda t, e: t.sum_along(e), edge)

    def edge_reward(self, reward: Term) -> Term:
        tree = self._logits

        def on_arrays(logits: Any, values: Any) -> Any:
            return TokenTree.of(logits).edge_reward(values)

        return make(Operation("edge_reward", on_arrays), (tree, reward),
                    (*reward.axes[:-1], STATES, ACTIONS))

    def sum_through(self, of_response: Term) -> Term:
        def on_arrays(logits: Any, values: Any) -> Any:
            return TokenTree.of(logits).sum_through(values)

        return make(Operation("sum_through", on_arrays), (self._logits, of_response),
                    (*of_response.axes[:-1], STATES, ACTIONS))

    def flow(self, probabilities: Term, of_response: Term) -> Term:
        return self.sum_through(self.response_probabilities(probabilities) * of_response)

    def values(self, probabilities: Term, edge: Any) -> tuple[Term, Term]:
        of_tokens = constant(edge)
        return (
            self._made("state_values", (STATES,), lambda t, p, e: t.values(p, e)[0],
                       probabilities, of_tokens),
            self._made("action_values", (STATES, ACTIONS), lambda t, p, e: t.values(p, e)[1],
                       probabilities, of_tokens),
        )

    def expectation_gradient(self, probabilities: Term, edge: Term) -> Term:
        state_values, action_values = self.values(probabilities, edge)
        weight = self.visitation(probabilities)[..., None] * probabilities
        return weight * (action_values - state_values[..., None])

    def _made(
        self, name: str, axes: Axes, evaluate: Callable[..., Any], *arguments: Term
    ) -> Term:
        def on_arrays(*values: Any) -> Any:
            return evaluate(TokenTree.of(values[0]), *values)

        return make(Operation(name, on_arrays), arguments, (*self._lead, *axes))
