"""Problems whose answers are responses of several tokens: autoregressive policies on token trees."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from entropy_theory.policy import log_softmax, softmax
from entropy_theory.token_tree import TokenTree
from simulations.problems.bandits import check_count, check_memory, check_problem

PLACEMENTS = ("any", "every length")


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenProblem:
    """Prompts answered by responses of up to ``horizon`` tokens, some of which are right.

    The right responses of a prompt are drawn once for the problem, by ``problem_seed``. Raises ValueError
    for impossible values, naming them, and for a tree that does not fit in memory.
    """

    n_tokens: int = 3
    horizon: int = 4
    end_token: bool = True
    """Whether the last token ends a response, so that lengths vary."""
    n_correct: int = 1
    placement: str = "any"
    """How right responses are drawn. "any" draws from all responses of a prompt. "every length" draws the
    i-th from those of length 1 + i modulo the horizon, longest first, so that short and long ones are
    right."""
    accuracies: tuple[float | None, ...] = (None,)
    """The probability of a right response at the start, one entry per prompt; None leaves it as drawn."""
    scale: float = 1.0
    """Standard deviation of the logits, nats."""
    problem_seed: int = 0

    def __post_init__(self) -> None:
        tree = self.tree  # raises for n_tokens and horizon
        check_memory(
            8 * len(self.accuracies) * tree.n_states * tree.n_tokens,
            f"the logits of {len(self.accuracies)} prompts with {tree.n_states:,} prefixes of up to "
            f"{tree.horizon} tokens",
            "use a smaller horizon or fewer tokens")
        if not self.accuracies:
            raise ValueError("accuracies is empty: name one prompt at least, (None,) for one as drawn")
        if not 1 <= self.n_correct <= tree.n_responses:
            raise ValueError(
                f"n_correct must be between 1 and the {tree.n_responses} responses, got "
                f"{self.n_correct}: a prompt without a right answer gives no gradient")
        if self.placement not in PLACEMENTS:
            raise ValueError(
                f"unknown placement '{self.placement}': use one of {', '.join(PLACEMENTS)}")
        if not (math.isfinite(self.scale) and self.scale >= 0):
            raise ValueError(f"scale must be finite and at least 0, got {self.scale}")
        for accuracy in self.accuracies:
            if accuracy is not None and not 0 < accuracy < 1:
                raise ValueError(f"an accuracy must be strictly between 0 and 1, got {accuracy}")
            if accuracy is not None and self.n_correct == tree.n_responses:
                raise ValueError("every response is right: its accuracy is 1 and cannot be set")

    @property
    def tree(self) -> TokenTree:
        """The token tree of each prompt."""
        return TokenTree(self.n_tokens, self.horizon, self.end_token)

    @property
    def correct(self) -> np.ndarray:
        """Mask of the right responses, boolean [1, prompts, responses]."""
        tree = self.tree
        generator = np.random.default_rng(self.problem_seed)
        mask = np.zeros((1, len(self.accuracies), tree.n_responses), dtype=bool)
        for prompt in range(len(self.accuracies)):
            order = generator.permutation(tree.n_responses)
            if self.placement == "every length":
                order = _alternating(order, tree.lengths[order])
            mask[0, prompt, order[: self.n_correct]] = True
        return mask

    def starts(self, n_starts: int, seed: int) -> np.ndarray:
        """Starting logits [starts, prompts * states, tokens]; start i does not depend on ``n_starts``."""
        check_count("n_starts", n_starts, 1)
        check_count("seed", seed, 0)
        tree, n_prompts = self.tree, len(self.accuracies)
        shape = (n_prompts, tree.n_states, tree.n_tokens)
        check_memory(
            8 * n_starts * math.prod(shape),
            f"{n_starts} starts of {n_prompts} prompts with {tree.n_states:,} prefixes",
            "use fewer starts at a time, or a smaller tree")
        logits = np.empty((n_starts, *shape))
        for i, stream in enumerate(np.random.SeedSequence(seed).spawn(n_starts)):
            logits[i] = self.scale * np.random.default_rng(stream).normal(size=shape)
        correct = self.correct[0]
        for prompt, accuracy in enumerate(self.accuracies):
            if accuracy is not None:
                logits[:, prompt] = with_accuracy(logits[:, prompt], tree, correct[prompt], accuracy)
        flat = logits.reshape(n_starts, -1, tree.n_tokens)
        check_problem(flat, correct[None].astype(float), tree)
        return flat


def with_accuracy(
    logits: np.ndarray, tree: TokenTree, correct: np.ndarray, accuracy: float
) -> np.ndarray:
    """Return the logits changed so that right responses together have probability ``accuracy``.

    The odds among right responses and among wrong ones are kept. Policies on a tree and distributions of
    responses determine each other, so responses are reweighted. A token's new probability is proportional
    to the probability of all responses through its edge.

    Args:
        logits: [..., states, tokens].
        tree: the tree of the states.
        correct: boolean [responses].
        accuracy: strictly between 0 and 1.
    """
    p = softmax(logits)
    right = (tree.response_probabilities(p) * correct).sum(axis=-1, keepdims=True)
    factor = np.where(correct, accuracy / right, (1 - accuracy) / (1 - right))
    # From each state on, so that prefixes that are hardly ever reached keep their digits.
    _, to_go = tree.values(p, tree.edge_reward(factor))
    return log_softmax(logits) + np.log(to_go)


def _alternating(order: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Rearrange ``order`` so that lengths take turns, longest first, while there are some left."""
    place = np.empty(len(order), dtype=int)
    for length in np.unique(lengths):
        of_length = lengths == length
        place[of_length] = np.arange(of_length.sum())
    return order[np.lexsort((-lengths, place))]
