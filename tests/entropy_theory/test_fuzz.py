"""Guards formulas, advantages and rules against extreme numbers, and readers against bad files.

A case fails where the answer is wrong or NaN, where an argument is changed, or where what is raised is
not what the docstring says. Oracles are ball arithmetic and identities.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import tempfile
from pathlib import Path

import flint
import numpy as np
import pytest
from hypothesis import strategies as st

from entropy_theory import (
    advantages,
    entropy_change,
    policy,
    update_rules,
)
from entropy_theory.claims import claims_in_file
from entropy_theory.performance_law import training_log
from entropy_theory.support import results, stored, user_code
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import rule_options
from entropy_theory.verification import ledger
from policy_entropy.__main__ import main
from tests.entropy_theory.test_update_rules import VARIANTS
from tests.fuzzing import (
    FLOATS,
    NOT_FINITE,
    ODD_SHAPES,
    SHAPES,
    TINY,
    Call,
    Palette,
    Reader,
    arrays,
    as_csv,
    as_json,
    as_json_lines,
    booleans,
    command_status,
    ends_well,
    finite,
    fuzz,
    holds_of,
    log_probs,
    moderate,
    nothing,
    numbers,
    ordinary,
    positive,
    reader_tests,
    scalars,
    shares,
    with_infinity,
)
from tests.user_files import HALF

# ------------------------------------------------------------------ policies

BAD = (0.0, -1.0, math.nan, -math.inf)
temperature = scalars(dataclasses.replace(positive, special=(*positive.special, *BAD)))


@st.composite
def policies(draw, **others):
    """Logits, good and bad, beside further arguments: a strategy, or a function of the shape."""
    shape = draw(st.sampled_from((*SHAPES, *SHAPES, *ODD_SHAPES)))
    found = {"logits": draw(arrays(
        shape, draw(st.sampled_from((ordinary, with_infinity, with_infinity, finite, numbers)))))}
    for name, other in others.items():
        found[name] = draw(other(shape) if callable(other) else other)
    return found


def no_policy(logits, temperature=1.0, **others):
    """Whether `policy.shift_logits` refuses."""
    if logits.ndim == 0 or logits.shape[-1] == 0:
        return True
    top = logits.max(axis=-1)
    return not np.isfinite(top).all() or not np.all(np.asarray(temperature) > 0)


def balls(logits, temperature=1.0):
    """The tempered policy of one state in ball arithmetic: [(probability, -log probability)].

    As documented, temperatures count as at least the smallest normal number, and a logit that is further
    below the largest than there are numbers as -inf.
    """
    temperature = max(float(temperature), float(np.finfo(logits.dtype).smallest_normal))
    top = logits.max()
    with np.errstate(over="ignore"):
        taken = [float(z) for z in logits if np.isfinite(z - top)]
    with flint.ctx.workprec(200):
        divided = [flint.arb(0) if temperature == math.inf
                   else (flint.arb(z) - flint.arb(float(top))) / flint.arb(temperature) for z in taken]
        weights = [z.exp() for z in divided]
        del weights[taken.index(float(top))]
        log_total = sum(weights, flint.arb(0)).log1p()
        return [((z - log_total).exp(), log_total - z) for z in divided]


def rounding_of(dtype):
    """(relative, absolute): exponents are rounded twice, and count while exp does not underflow."""
    info = np.finfo(dtype)
    deepest = -math.log(float(info.smallest_subnormal))
    return (4 * deepest + 64) * float(info.eps), 64 * float(info.smallest_normal)


def by_state(logits, result, temperature=1.0):
    states = logits.reshape(-1, logits.shape[-1])[:32]
    temperatures = np.broadcast_to(temperature, logits.shape[:-1]).ravel()[:32]
    return zip(states, temperatures, np.reshape(result, (-1, *np.shape(result)[logits.ndim - 1:]))[:32],
               strict=True)


def is_entropy(result, logits, temperature=1.0):
    relative, absolute = rounding_of(logits.dtype)
    assert np.shape(result) == logits.shape[:-1]
    for state, own, found in by_state(logits, result, temperature):
        with flint.ctx.workprec(200):
            expected = float(sum((p * depth for p, depth in balls(state, own)), flint.arb(0)).mid())
        assert abs(float(found) - expected) <= relative * expected + absolute, (found, expected)
        assert 0 <= found <= math.log(len(state)) * (1 + relative)


def are_probabilities(result, logits, temperature=1.0):
    relative, absolute = rounding_of(logits.dtype)
    assert (result.shape, result.dtype) == (logits.shape, logits.dtype)
    for state, own, found in by_state(logits, result, temperature):
        expected = iter(balls(state, own))
        for z, p in zip(state, found, strict=True):
            with np.errstate(over="ignore"):
                wanted = float(next(expected)[0].mid()) if np.isfinite(z - state.max()) else 0.0
            assert abs(float(p) - wanted) <= relative * wanted + absolute
        # Absolute: rounding of each term, and of the sum.
        assert abs(float(found.sum(dtype=np.float64)) - 1) <= relative


def masks_of(shape):
    return arrays(shape, booleans, dtypes=(np.bool_,))


def temperatures_of(shape):
    return st.one_of(temperature, arrays(shape[:-1], positive, dtypes=(np.float64,)))


def steps_of(shape):
    return st.one_of(arrays(shape, ordinary), arrays(shape, finite), arrays(shape, numbers))


tempered = policies(temperature=temperatures_of)
bare = policies()


def sums_to_zero(result, logits, **others):
    """A gradient by logits: what moves them all alike moves nothing."""
    bound = 64 * float(np.finfo(result.dtype).eps) * np.abs(result).sum(axis=-1, dtype=np.float64)
    assert (np.abs(result.sum(axis=-1, dtype=np.float64)) <= bound + rounding_of(result.dtype)[1]).all()


def bad_share(removed_fraction, n_actions):
    return not 0 <= removed_fraction < 1 or n_actions - math.floor(
        removed_fraction * n_actions + 1e-9) < 1


def not_kept(logits, removed_fraction):
    return (logits.ndim == 0 or logits.shape[-1] == 0
            or bad_share(removed_fraction, logits.shape[-1]) or bool(np.isnan(logits).any()))


def not_clamped(logits, removed_fraction):
    return not_kept(logits, removed_fraction) or no_policy(logits)


def keeps_the_largest(result, logits, removed_fraction):
    n = logits.shape[-1]
    kept = n - math.floor(removed_fraction * n + 1e-9)
    assert (result.sum(axis=-1) == kept).all()
    largest = np.sort(logits, axis=-1)[..., n - kept:]
    np.testing.assert_array_equal(np.sort(np.where(result, logits, -np.inf), axis=-1)[..., n - kept:],
                                  largest)


fractions = scalars(dataclasses.replace(shares, special=(*shares.special, 0.33, 1.5, *NOT_FINITE)))
POLICY = {
    "policy.softmax": Call(function=policy.softmax, arguments=tempered, refuses=no_policy,
                           check=are_probabilities),
    "policy.entropy": Call(function=policy.entropy, arguments=tempered, refuses=no_policy,
                           check=is_entropy),
    "policy.entropy_gradient": Call(function=policy.entropy_gradient, arguments=bare, refuses=no_policy,
                                    check=sums_to_zero),
    "policy.kept_actions": Call(
        function=policy.kept_actions, arguments=policies(removed_fraction=fractions),
        refuses=not_kept, check=keeps_the_largest),
    "policy.clamped_entropy": Call(
        function=policy.clamped_entropy, arguments=policies(removed_fraction=fractions),
        refuses=not_clamped),
    "entropy_change.exact": Call(function=entropy_change.exact, arguments=policies(step=steps_of)),
    "entropy_change.first_order": Call(
        function=entropy_change.first_order, arguments=policies(step=steps_of)),
    "entropy_change.second_order": Call(
        function=entropy_change.second_order, arguments=policies(step=steps_of)),
    "entropy_change.tempered_reinforce_rate": Call(
        function=entropy_change.tempered_reinforce_rate,
        arguments=policies(correct=masks_of, temperature=temperatures_of)),
    "entropy_change.tempered_reinforce_rate_slope": Call(
        function=entropy_change.tempered_reinforce_rate_slope,
        arguments=policies(correct=masks_of, temperature=temperatures_of)),
    "entropy_change.sign_change_temperature": Call(
        function=entropy_change.sign_change_temperature, arguments=policies(correct=masks_of), nan=True),
}

# ------------------------------------------------------------------ token batches, advantages, rules


def is_standardized(result, batch, rows):
    """An advantage is at most sqrt(n - 1) standard deviations, n rows of equal weight."""
    assert (np.abs(result[rows]) <= math.sqrt(max(batch.mask.shape[-2] - 1, 1)) * 1.01).all()


def is_gain(result, right, wrong, group_size):
    bound = math.sqrt(group_size - 1) * (1 + 8 * group_size * float(np.finfo(right.dtype).eps))
    assert (result >= 0).all()
    assert (result <= bound).all()


BATCHES = ((2, 1), (1, 1), (4, 1), (3, 2), (4, 3), (2, 4, 2), (2, 0), (0, 1))


@st.composite
def batches(draw, palette=moderate, odd=False, **further):
    """A token batch beside further arguments; ``odd`` ones hold what `UpdateRule.prepare` refuses."""
    shape = draw(st.sampled_from(BATCHES if odd else BATCHES[:6]))
    found = draw(columns(shape, palette, log_probs if not odd else numbers, odd))
    batch = TokenBatch(**found)
    given = {"batch": batch}
    if "rows" in further:
        given["rows"] = draw(st.sampled_from((batch.mask, batch.is_ordinary, batch.is_tempered)))
    given |= {name: draw(other(shape) if callable(other) else other)
              for name, other in further.items() if name != "rows"}
    return given


@st.composite
def columns(draw, shape, palette, of_probability, odd):
    """The columns of a batch, by name."""
    of_row, dtypes = (*shape[:-1], 1), (draw(st.sampled_from(FLOATS[:2])),)

    def column(values, rows=False, kind=dtypes):
        found = draw(arrays(of_row if rows else shape, values, dtypes=kind))
        return np.broadcast_to(found, shape) if rows else found

    mask = column(Palette((1.0, 1.0, 0.0), 1.0, 1.0), kind=(np.bool_,))
    count = max(int(mask.sum()), 1)
    ids = Palette((0.0, 1.0, 2.0), 0.0, 0.0)
    found = {
        "log_prob": column(of_probability), "old_log_prob": column(of_probability),
        "reward": column(palette, rows=draw(st.integers(0, 3)) > 0), "mask": mask,
        "weight": column(numbers) if odd and draw(st.booleans()) else np.full(
            shape, 1 / count, dtypes[0]),
        "entropy": column(Palette((0.0, 1.0, TINY, 700.0), 0.0, 8.0)),
        "clamped_entropy": column(Palette((0.0, 1.0, TINY, 700.0), 0.0, 8.0)),
        "reference_log_prob": column(of_probability), "sampling_temperature": column(
            Palette((1.0, 0.8), 1.0, 1.2), rows=True),
        "entropy_effect": column(palette),
        "group": column(ids, rows=True, kind=(np.int64,)), "state": column(ids, kind=(np.int64,)),
        "action": column(ids, kind=(np.int64,)),
        "sequence": np.broadcast_to(np.arange(shape[-2])[:, None], shape),
    }
    if draw(st.booleans()):
        found["tempered"] = np.broadcast_to(
            draw(arrays(of_row, booleans, dtypes=(np.bool_,))), shape)
    if odd and draw(st.integers(0, 3)) == 0:
        found["advantage"] = column(palette)
    return found


def rule_coefficients(name, batch):
    """Return the scores, state terms and metrics of a rule on a batch."""
    rule = RULES_OF[name]
    prepared = rule.prepare(batch)
    scores, terms = rule.scores(prepared), rule.state_terms(prepared)
    assert (scores[~batch.mask] == 0).all()
    return {"scores": scores, **terms, **rule.metrics(prepared)}


def are_coefficients(result, name, batch):
    for key, column in result.items():
        assert np.isfinite(column).all(), (key, column)


RULES_OF = {f"{i} {name} {options}": update_rules.get(name, **options)
            for i, (name, options) in enumerate(VARIANTS)}
OF_BATCHES = {
    name: Call(function=getattr(advantages, name), arguments=batches(rows=True), check=check)
    for name, check in {
        "group_normalized": is_standardized, "leave_one_out": nothing, "batch_normalized": nothing,
        "group_centered": nothing, "group_centered_batch_normalized": nothing, "reward": nothing,
        "without_signal": nothing, "equal_reward_groups": nothing}.items()
}
TOKENS = {
    **{f"advantages.{name}": call for name, call in OF_BATCHES.items()},
    "advantages.expected_group_normalized": Call(
        function=advantages.expected_group_normalized,
        arguments=batches(Palette((0.0, 1.0), 0.0, 1.0), rows=True, group_size=st.integers(0, 40),
                          ddof=st.integers(0, 1))),
    "advantages.group_normalization_gain": Call(
        function=advantages.group_normalization_gain,
        arguments=st.fixed_dictionaries({
            "right": arrays((4,), shares, dtypes=FLOATS[:2]),
            "group_size": st.sampled_from((-1, 0, 1, 2, 3, 8, 60, 600))}).map(
            lambda found: {**found, "wrong": 1 - found["right"]}),
        refuses=lambda group_size, **_: group_size < 2, check=is_gain),
    "update_rules.rule.UpdateRule": Call(
        function=rule_coefficients, check=are_coefficients,
        arguments=batches(numbers, odd=True, name=st.sampled_from(list(RULES_OF)))),
}


CALLS = {**POLICY, **TOKENS}


@pytest.mark.deep
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.usefixtures("unchecked_shapes")
def test_a_function_answers_right_or_says_what_is_wrong(name):
    fuzz(CALLS[name].arguments, lambda arguments: holds_of(CALLS[name], arguments))


# ------------------------------------------------------------------ readers

STEPS = range(1, 13)
RECORDS = [{"step": step, "entropy": 1.5 / step, "reward": 0.9 - 0.7 / step, "seconds": 1.0}
           for step in STEPS]
CODE = HALF.encode()
RULE = {"name": "clip-cov", "ratio": 0.002,
        "base": {"name": "aepo", "alpha": 1.5, "base": {"name": "grpo", "clip_high": 0.28},
                 "target_schedule": {"kind": "points", "points": [[0, 0.8], [100, 0.4]]},
                 "towards": {"name": "shorter-responses", "per_token": 0.02}}}


def is_run(run):
    """Numbers that can be fitted: finite, entropies at least 0, steps in order."""
    for column in (run.step, run.entropy, run.performance):
        assert np.isfinite(column).all()
    assert len(run.step) == len(run.entropy) == len(run.performance) >= 3
    assert (run.entropy >= 0).all()
    assert (np.diff(run.step) > 0).all()


@functools.cache
def events():
    """A TensorBoard event file."""
    from torch.utils.tensorboard import SummaryWriter

    with tempfile.TemporaryDirectory() as folder:
        with SummaryWriter(folder) as writer:
            for record in RECORDS:
                for tag in ("entropy", "reward"):
                    writer.add_scalar(tag, record[tag], record["step"])
        (file,) = Path(folder).iterdir()
        return file.read_bytes()


def log(name, document, write, **further):
    return Reader(read=lambda path: training_log.read([path]), name=name, document=document,
                  write=write, check=is_run, **further)


def plain_of(path):
    """What a file of JSON holds, whatever it is, for functions of plain data."""
    return stored.parsed(path.read_bytes().decode("utf-8", "replace"))


TABLE = [list(RECORDS[0]), *(list(record.values()) for record in RECORDS)]
CHART = [["Step", "a - entropy", "a - entropy__MIN", "a - reward", "b - entropy"],
         *([r["step"], r["entropy"], 0, r["reward"], 1.0] for r in RECORDS)]
READERS = {
    "training log, CSV": log("log.csv", TABLE, as_csv),
    "training log, W&B chart": log("chart.csv", CHART, as_csv),
    "training log, JSON lines": log("metrics.jsonl", RECORDS, as_json_lines),
    "training log, nested JSON lines": log(
        "verl.jsonl", [{"step": r.pop("step"), "data": {"actor": r}}
                       for r in map(dict, RECORDS)], as_json_lines),
    "training log, trainer_state.json": log(
        "trainer_state.json", {"global_step": 12, "log_history": RECORDS}, as_json),
    "training log, TensorBoard": Reader(
        read=lambda path: training_log.read([path]), name="events.out.tfevents.1", document=None,
        write=lambda _: events(), check=is_run, needs="torch.utils.tensorboard"),
    "support.results.read_json": Reader(
        read=results.read_json, name="result.json", document={"records": RECORDS}, write=as_json),
    "verification.ledger.read_accepted": Reader(
        read=ledger.read_accepted, name="ledger.json", document={"claims": [
            {"id": "a.b", "verdict": "proved", "samples": [1.0, 0.5], "says": {"title": "0a"},
             "counterexample": None}]},
        write=as_json, check=lambda found: [record["verdict"] for record in found.values()]),
    "support.results.kept_records": Reader(
        read=lambda path: results.kept_records(
            path, {"device": "cpu", "versions": {}, "seed": 0, "config": None}), name="kept.json",
        document={"provenance": {"device": "cpu", "versions": {}, "seed": 0, "config": None},
                  "records": RECORDS}, write=as_json, errors=()),
    "support.user_code.module_of_file": Reader(
        read=user_code.module_of_file, name="rules.py", document=CODE),
    "claims.claims_in_file": Reader(
        read=claims_in_file, name="claims.py", document=CODE),
    "update_rules.rule_class": Reader(
        read=lambda path: update_rules.get(f"{path}:Half"), name="rules.py", document=CODE,
        check=lambda rule: rule.scores),
    "update_rules.rule_options.from_table": Reader(
        read=lambda path: rule_options.from_table(plain_of(path)), name="rule.json", document=RULE,
        write=as_json, names_file=False, errors=(ValueError, OSError), check=lambda rule: rule.needs),
    "update_rules.rule_options.from_texts": Reader(
        read=lambda path: rule_options.from_texts(
            "clip-cov", path.read_bytes().decode("utf-8", "replace").split("\n")), name="options.txt",
        document="\n".join(rule_options.to_texts(RULE)).encode(), names_file=False,
        errors=(ValueError, OSError), check=lambda rule: rule.needs.reads),
    "policy-entropy fit": Reader(
        read=lambda path: command_status(main, "fit", str(path)), name="metrics.jsonl",
        document=RECORDS, write=as_json_lines, check=ends_well, errors=()),
}


(test_a_reader_takes_a_damaged_file_or_says_what_is_wrong,
 test_a_reader_takes_what_is_not_damaged) = reader_tests(READERS)
