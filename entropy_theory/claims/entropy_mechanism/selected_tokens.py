r"""Entropy Mechanism: the tokens that Clip-Cov and KL-Cov select are the confident, correct ones.

The methods take the tokens with a large cross product :math:`K_i = (\log \pi_i -
\operatorname{mean})(A_i - \operatorname{mean})`, with means over the batch: "Restrict the update of
high-covariance tokens". It is read as a statement that those tokens are likely and well rewarded. The
slides do not describe the tokens with a high covariance. Their Closing Thoughts have "most RL is just
reinforcing the self confidence of LLMs".

But :math:`K_i > 0` has two branches. The other branch, unlikely tokens with a low advantage, is the
only one with an unbounded factor. Since :math:`\log \pi_i \le 0`, the confident branch is bounded by

.. math::

    K_i \le \operatorname{mean} \operatorname{NLL} \cdot (A_i - \operatorname{mean} A),\quad
    \operatorname{mean} \operatorname{NLL} = -\operatorname{mean} \log \pi.

This is proved for every batch: if :math:`\operatorname{mean} \operatorname{NLL} \cdot \max(A -
\operatorname{mean} A)` is below the threshold :math:`\omega_{\text{low}}`, every selected token is
unlikelier than the (geometric) mean and has a below-average advantage. So the methods spare rare tokens
from being pushed down.

With groups of 8 the advantage is at most :math:`\sqrt{7} = 2.65`. Qwen2.5-7B at the start has a mean
NLL of 0.36. With a mean advantage near 0 (above -0.13) and :math:`\omega_{\text{low}} = 1`, no other
token can be selected. The hypothesis fails for batches of high entropy (with these advantages, mean NLL
above 0.38).

Clip-Cov is idle where no token lies in :math:`[\omega_{\text{low}}, \omega_{\text{high}}]`, and where
its quota :math:`\lfloor r N \rfloor` is zero. For r = 0.0002 these are batches of fewer than 5000
tokens. Code that takes at least one token is never idle for this reason.
"""

from collections.abc import Iterator

import numpy as np
from hypothesis import strategies as st

from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar

# ---------------------------------------------------------------- batches of tokens

SURPRISALS = (0, 1, 2, 4)
ADVANTAGES = (-1, 1, 2)
MOST_TOKENS = 6


def _sample(generator: np.random.Generator, size: int) -> vf.Batch:
    n = int(generator.integers(2, MOST_TOKENS + 1))
    scale = np.exp(generator.uniform(-3, 1, (size, 1)))
    batch = {
        "surprisal": scale * generator.standard_gamma(0.5, (size, n)),
        "advantage": np.exp(generator.uniform(-1, 1, (size, 1))) * generator.normal(size=(size, n)),
        "lower": np.exp(generator.uniform(-3, 1, size)),
    }
    # Where the largest K is above mean NLL * max(A - mean A), every other threshold lies between the two.
    drawn = vf.Cases(**batch)
    bound = _mean_surprisal(drawn) * ar.largest(_deviation(drawn.advantage))
    most = ar.largest(_cross_product(drawn))
    between = bound + generator.uniform(0.01, 0.99, size) * (most - bound)
    confident = (most > bound) & (generator.random(size) < 0.5)
    return {**batch, "lower": np.where(confident, between, batch["lower"])}


def _enumerate(largest_total: int) -> Iterator[vf.Batch]:
    for n in range(2, min(largest_total, 4)):
        rows = [(s, a) for s in np.ndindex(*(len(SURPRISALS),) * n)
                for a in np.ndindex(*(len(ADVANTAGES),) * n)]
        yield {
            "surprisal": np.array([[SURPRISALS[k] for k in s] for s, _ in rows], dtype=float),
            "advantage": np.array([[ADVANTAGES[k] for k in a] for _, a in rows], dtype=float),
            "lower": np.ones(len(rows)),
        }


def _case(pairs: list[tuple[float, float]], lower: float) -> dict[str, list[float] | float]:
    return {"surprisal": [s for s, _ in pairs], "advantage": [a for _, a in pairs], "lower": lower}


def _tokens(
    surprisals: st.SearchStrategy[float], advantages: st.SearchStrategy[float], fewest: int
) -> st.SearchStrategy[list[tuple[float, float]]]:
    return st.lists(st.tuples(surprisals, advantages), min_size=fewest, max_size=MOST_TOKENS)


# A confident batch with one rare, punished token at the end, or any batch.
_USUAL = st.builds(
    lambda common, rare: [*common, rare],
    _tokens(st.sampled_from((0.0, 0.125)), st.sampled_from((1.0, 0.5)), 2),
    st.tuples(st.sampled_from((4.0, 8.0)), st.sampled_from((-1.0, -0.5))),
)
_ANY = _tokens(
    st.one_of(st.sampled_from(SURPRISALS).map(float), st.floats(0, 8)),
    st.one_of(st.sampled_from(ADVANTAGES).map(float), st.floats(-3, 3)), 2,
)

def _deviation(values: ar.Reals) -> ar.Reals:
    return deviation(values)


@vf.definition
def deviation(values: ar.Reals) -> ar.Reals:
    """Values minus their mean over the batch."""
    return values - ar.per_action(ar.total(values) / values.shape[-1])


@vf.definition
def cross_product(surprisal: ar.Reals, advantage: ar.Reals) -> ar.Reals:
    """K = (log pi - mean)(A - mean), as in the code."""
    return deviation(-surprisal) * deviation(advantage)


def _cross_product(i: vf.Cases) -> ar.Reals:
    return cross_product(i.surprisal, i.advantage)


def _selected(i: vf.Cases) -> ar.Mask:
    """Tokens with K >= omega_low."""
    return ~ar.less(_cross_product(i), ar.per_action(i.lower))


def _mean_surprisal(i: vf.Cases) -> ar.Reals:
    return ar.total(i.surprisal) / i.surprisal.shape[-1]


def _of_selected(i: vf.Cases, values: ar.Reals) -> ar.Reals:
    """Values of selected tokens, and 1 for the others."""
    return np.where(_selected(i), values, 0 * values + ar.constant(1, like=values))


SOME_SELECTED = vf.Condition(
    latex=r"some token has $K \ge \omega_{low}$",
    value=lambda i: np.any(_selected(i), axis=-1),
)
CONFIDENT_BATCH = vf.Condition(
    latex=r"$\overline{-\log\pi}\,\max_i(A_i - \bar A) < \omega_{low}$",
    value=lambda i: i.lower - _mean_surprisal(i) * ar.largest(_deviation(i.advantage)),
)
ONE_NAT = vf.Condition(
    latex=r"$\overline{-\log\pi} < \omega_{low}$", value=lambda i: i.lower - _mean_surprisal(i)
)


selected_tokens = vf.Claim(
    id="entropy-mechanism.selected-tokens",
    source="Entropy Mechanism, guidelines for entropy control ('high-covariance tokens') and Closing "
           "Thoughts, as read here",
    reading=vf.Reading(
        "inferred", "Restrict the update of high-covariance tokens",
        "slide 'Guidelines for entropy control', which does not say which tokens these are"),
    title="The tokens with high covariance are confident and correct",
    scope="a batch of sampled tokens",
    statement=vf.Statement(
        latex=r"Every token with $K = (\log\pi - \overline{\log\pi})(A - \bar A) \ge \omega_{low} > 0$ "
              r"is likelier than average and has an above-average advantage.",
        # Over selected tokens: the smaller of log pi - mean and A - mean.
        margin=lambda i: np.concatenate([_of_selected(i, _deviation(-i.surprisal)),
                                         _of_selected(i, _deviation(i.advantage))], axis=-1),
        conditions=(SOME_SELECTED,),
    ),
    instances=vf.Instances(
        strategy=st.builds(_case, st.one_of(_ANY, _USUAL), st.sampled_from((1.0, 0.5, 0.25))),
        sample=_sample,
        enumerate=_enumerate,
        movable=("advantage", "lower"),
        ranges={"lower": (0.05, 3.0)},
        parameters=vf.Parameters(fields=(
            vf.Parameter(name="surprisal", axes=(vf.ACTIONS,), range=vf.Range(low=0)),
            vf.Parameter(name="advantage", axes=(vf.ACTIONS,)),
            vf.Parameter(name="lower", range=vf.POSITIVE),
        )),
        families=f"2-{MOST_TOKENS} tokens; Gamma(1/2) surprisals -log pi of all scales, Gaussian "
                 "advantages; half the thresholds above the bound where some K is",
    ),
    repair=vf.Statement(
        latex=r"If $\overline{-\log\pi}\,\max_i(A_i - \bar A) < \omega_{low}$, every token with "
              r"$K \ge \omega_{low}$ is unlikelier than average and has a below-average advantage.",
        # Over selected tokens: the smaller of mean - log pi and mean - A.
        margin=lambda i: np.concatenate([_of_selected(i, -_deviation(-i.surprisal)),
                                         _of_selected(i, -_deviation(i.advantage))], axis=-1),
        relation=">",
        conditions=(SOME_SELECTED, CONFIDENT_BATCH),
    ),
    repair_note="the opposite: rare tokens with a low advantage, where the mean negative "
                "log-likelihood times the largest advantage is below the threshold",
    mutants=(
        vf.mutant("mean NLL < omega_low, whatever the advantages", conditions=(SOME_SELECTED, ONE_NAT)),
    ),
)
