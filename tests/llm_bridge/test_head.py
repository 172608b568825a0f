"""Guards llm_bridge/head/per_token.py, row_statistics.py and kernels/: a fused head is the plain head."""

import contextlib
import math
import os
import subprocess
import sys
from types import ModuleType

import flint
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import forward_ad

from entropy_theory import policy
from llm_bridge import head
from llm_bridge.head import per_token, row_statistics, token_statistics
from llm_bridge.head.per_token import LogitMap
from llm_bridge.head.token_statistics import has_triton
from tests.llm_bridge.memory import Tables
from tests.tolerances import FLOAT32, FLOAT64

VOCABULARY, FEATURES = 37, 5


def problem(seed: int = 0, dtype: torch.dtype = torch.float64, rows: int = 12):
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(2, rows // 2, FEATURES, dtype=dtype, generator=generator)
    weight = torch.randn(VOCABULARY, FEATURES, dtype=dtype, generator=generator)
    bias = torch.randn(VOCABULARY, dtype=dtype, generator=generator)
    ids = torch.randint(VOCABULARY, (2, rows // 2), generator=generator)
    return hidden, weight, bias, ids


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(per_token, "CHUNK_ELEMENTS", {"cpu": 3 * VOCABULARY, "cuda": 3 * VOCABULARY})
    monkeypatch.setattr(per_token, "LEAST_ROWS", 1)
    monkeypatch.setattr(row_statistics, "BLOCK_ELEMENTS", 2 * VOCABULARY)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize(("temperature", "removed_fraction"), [(1.0, 0.0), (2.0, 0.2), (1.0, 0.97)])
def test_the_fused_head_is_the_plain_one(removed_fraction, temperature):
    """Every column and every gradient, over chunks and blocks that do not divide the rows; logits
    at another temperature than log-probabilities would show."""
    hidden, weight, bias, ids = problem()
    ours = [x.clone().requires_grad_() for x in (hidden, weight, bias)]
    theirs = [x.clone().requires_grad_() for x in (hidden, weight, bias)]
    found = per_token.per_token_statistics(
        ours[0], ours[1], ids, temperature, removed_fraction, bias=ours[2]
    )
    logits = (theirs[0] @ theirs[1].T + theirs[2]) / temperature
    log_prob = policy.log_softmax(logits)
    expected = {
        "log_prob": log_prob.gather(-1, ids[..., None])[..., 0],
        "entropy": policy.entropy(logits),
        "clamped_entropy": policy.clamped_entropy(logits, removed_fraction),
        "sum_squared_prob": log_prob.exp().pow(2).sum(-1),
        "sum_squared_prob_log_prob": (log_prob.exp() ** 2 * log_prob).sum(-1),
        "sum_squared_prob_squared_log_prob": (log_prob.exp() ** 2 * log_prob**2).sum(-1),
        "log_prob_variance": policy.covariance(log_prob.exp(), log_prob, log_prob),
    }
    for name, values in expected.items():
        # Logits of about ten round at 1e-15; so do a few dozen terms.
        torch.testing.assert_close(getattr(found, name), values, rtol=1e-12, atol=0, msg=name)
    factors = {"log_prob": 1.0, "entropy": -0.7, "clamped_entropy": 0.4}
    along = torch.linspace(-1, 2, ids.numel(), dtype=torch.float64).reshape(ids.shape)
    sum((along * f * getattr(found, name)).sum() for name, f in factors.items()).backward()
    sum((along * f * expected[name]).sum() for name, f in factors.items()).backward()
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=0, atol=1e-12)


# torch's own formulas for some operations are scripts, which it warns of.
@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("removed_fraction", [None, 0.2, 0.97])
@pytest.mark.parametrize("moving", [(0,), (1,), (0, 1, 2)])
@pytest.mark.parametrize("logit_map", [LogitMap(), LogitMap(0.3), LogitMap(0.5, 2.0)], ids=str)
def test_derivatives_along_a_direction_are_inner_products_with_gradients(
    removed_fraction, moving, logit_map
):
    """Forward mode against backward mode, of both heads; a direction may leave parts where they are."""
    places = problem()[:3]
    ids = problem()[3]
    along = [torch.randn_like(x) if i in moving else torch.zeros_like(x) for i, x in enumerate(places)]

    def statistics(hidden, weight, bias, fused):
        if fused:
            columns = per_token.column_stack(
                hidden, weight, ids, bias=bias, temperature=0.7, removed_fraction=removed_fraction,
                logit_map=logit_map)
            return token_statistics.from_columns(list(columns.unbind(-1)))
        logits = (hidden @ weight.T + bias) * logit_map.scale
        if logit_map.cap is not None:
            logits = logit_map.cap * (logits / logit_map.cap).tanh()
        logits = logits / 0.7
        return token_statistics.from_logits(logits, ids, removed_fraction=removed_fraction)

    names = ["log_prob", "entropy"] + ["clamped_entropy"] * (removed_fraction is not None)
    factor = torch.linspace(-1, 2, ids.numel(), dtype=torch.float64).reshape(ids.shape)
    columns = []
    for fused in (True, False):
        with torch.no_grad(), forward_ad.dual_level():
            duals = [forward_ad.make_dual(x, a) if i in moving else x
                     for i, (x, a) in enumerate(zip(places, along, strict=True))]
            found = statistics(*duals, fused)
            both = {n: forward_ad.unpack_dual(getattr(found, n)) for n in names}
        columns.append(torch.stack([both[n].primal for n in names]))
        derivatives = {n: both[n].tangent for n in names}
        for name in names:
            ours = [x.clone().requires_grad_() for x in places]
            (factor * getattr(statistics(*ours, fused), name)).sum().backward()
            expected = sum((x.grad * a).sum() for x, a in zip(ours, along, strict=True))
            # Inner products of some hundred numbers of order 1.
            torch.testing.assert_close(
                (factor * derivatives[name]).sum(), expected, rtol=0, atol=1e-11, msg=name)
    # Both heads sum 37 terms in float64, in another order; log-probabilities of order 1.
    torch.testing.assert_close(*columns, rtol=1e-12, atol=0)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("removed_fraction", [None, 0.3])
def test_masked_tokens_are_left_out(removed_fraction):
    """A chunk's places mixed up, a token id that belongs to padding looked up, its gradient not 0."""
    hidden, weight, bias, ids = problem()
    mask = torch.arange(ids.numel()).reshape(ids.shape) % 5 != 1
    given = [x.clone().requires_grad_() for x in (hidden, weight, bias)]
    alone = [x.clone().requires_grad_() for x in (hidden[mask], weight, bias)]
    found = per_token.column_stack(
        *given[:2], torch.where(mask, ids, -7), removed_fraction=removed_fraction, bias=given[2],
        mask=mask)
    expected = per_token.column_stack(
        *alone[:2], ids[mask], removed_fraction=removed_fraction, bias=alone[2])
    # Products of five features, a few dozen terms, in another order; the gradients likewise.
    torch.testing.assert_close(found[mask], expected, rtol=1e-12, atol=0)
    assert not found[~mask].any()
    factor = torch.linspace(-1, 2, expected.numel(), dtype=torch.float64).reshape(expected.shape)
    (found[mask] * factor).sum().backward()
    (expected * factor).sum().backward()
    torch.testing.assert_close(given[0].grad[mask], alone[0].grad, rtol=0, atol=1e-12)
    assert not given[0].grad[~mask].any()
    for one, other in zip(given[1:], alone[1:], strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=0, atol=1e-12)


def test_what_the_compiler_is_told_is_what_the_head_does():
    """Shapes, dtypes, an output that is a view of an input, a gradient that only eager torch has."""
    hidden, weight, bias, ids = problem()
    given = [x.requires_grad_() for x in (hidden, weight, bias)]
    torch.library.opcheck(per_token._columns, (*given, ids, ids % 4 > 0, 0.7, 3.0, 0.3))
    torch.library.opcheck(
        per_token._columns, (*given[:2], None, ids, None, 1.0, None, None),
        test_utils=("test_schema", "test_faketensor"))
    columns, *clamp = per_token._columns(*given, ids, None, 0.7, None, 0.3)
    assert columns.requires_grad
    assert not any(column.requires_grad for column in clamp)
    fixed = [x.detach() for x in (torch.ones_like(columns), *given)]
    clamp = [column.detach() for column in clamp]
    for needs, own_bias in (([True, True, True], None), ([False, True, False], fixed[3])):
        torch.library.opcheck(
            per_token._gradient, (*fixed[:3], own_bias, ids, None, *clamp, 0.7, None, needs),
            test_utils=("test_schema", "test_faketensor"))


def test_chunks_have_as_many_tokens_as_fit(monkeypatch):
    """A CPU's, by its own number; where not one fits, `LEAST_ROWS`."""
    monkeypatch.setattr(per_token, "CHUNK_ELEMENTS", {"cpu": 3 * VOCABULARY, "cuda": 99 * VOCABULARY})
    monkeypatch.setattr(per_token, "LEAST_ROWS", 2)
    ids = torch.arange(7)
    assert list(per_token._chunks(ids, None, VOCABULARY)) == [slice(0, 3), slice(3, 6), slice(6, 9)]
    found = per_token._chunks(ids, ids != 1, 3 * VOCABULARY)
    assert [chunk.tolist() for chunk in found] == [[0, 2], [3, 4], [5, 6]]


def test_a_budget_below_one_row_of_the_weight_is_one_row(monkeypatch):
    """Where the weight is widened piece by piece, in half precision."""
    monkeypatch.setattr(per_token, "CHUNK_ELEMENTS", {"cpu": FEATURES - 1})
    hidden, weight, *_ = problem(dtype=torch.bfloat16)
    found = per_token._logits(hidden.flatten(0, -2), weight)
    assert torch.equal(found, hidden.flatten(0, -2).float() @ weight.float().T)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("trained", [(0,), (1,), (2,), (0, 2), (1, 2)], ids=str)
def test_each_part_gets_the_gradient_that_it_gets_with_all_others(trained):
    """Hidden states, weight and bias, whichever of them are trained."""
    hidden, weight, bias, ids = problem()
    along = torch.linspace(-1, 2, ids.numel(), dtype=torch.float64).reshape(ids.shape)

    def gradients(which):
        parts = [x.clone().requires_grad_(i in which) for i, x in enumerate((hidden, weight, bias))]
        found = per_token.per_token_statistics(
            parts[0], parts[1], ids, 0.7, removed_fraction=0.4, bias=parts[2])
        (along * (found.log_prob - 2 * found.entropy + 3 * found.clamped_entropy)).sum().backward()
        return [part.grad for part in parts]

    whole = gradients((0, 1, 2))
    for i, gradient in enumerate(gradients(trained)):
        assert (gradient is not None) == (i in trained)
        assert gradient is None or torch.equal(gradient, whole[i])


def test_by_default_the_temperature_is_one_and_nothing_is_removed():
    hidden, weight, bias, ids = problem()
    plain = per_token.per_token_statistics(hidden, weight, ids)
    said = per_token.per_token_statistics(hidden, weight, ids, 1.0, 0.0, bias=None)
    for name in ("log_prob", "entropy", "clamped_entropy", "log_prob_variance"):
        assert torch.equal(getattr(plain, name), getattr(said, name))
    assert torch.equal(plain.clamped_entropy, plain.entropy)
    assert torch.equal(per_token.column_stack(hidden, weight, ids),
                       per_token.column_stack(hidden, weight, ids, temperature=1.0, bias=None))
    assert not torch.allclose(
        plain.entropy, per_token.per_token_statistics(hidden, weight, ids, bias=bias).entropy)


def test_no_tokens_have_no_statistics_and_no_gradient():
    """A micro-batch of prompts alone."""
    _, weight, _, ids = problem()
    hidden = torch.zeros(2, 0, FEATURES, dtype=torch.float64, requires_grad=True)
    weight.requires_grad_()
    for fraction, columns in ((0.0, 6), (0.4, 8)):
        found = per_token.per_token_statistics(hidden, weight, ids[:, :0], removed_fraction=fraction)
        assert found.entropy.shape == found.clamped_entropy.shape == (2, 0)
        stack = per_token.column_stack(
            hidden, weight, ids[:, :0], removed_fraction=fraction or None)
        assert stack.shape == (2, 0, columns)
    found.entropy.sum().backward()
    assert torch.equal(weight.grad, torch.zeros_like(weight))


@pytest.mark.usefixtures("small_chunks")
def test_under_autocast_the_factors_are_rounded_and_nothing_else():
    """The gradients come in the precision of what they belong to; float64 stays as it is."""
    hidden, weight, bias, ids = problem(dtype=torch.float32)
    parts = [x.clone().requires_grad_() for x in (hidden, weight, bias)]
    rounded = [hidden.bfloat16().requires_grad_(), weight.bfloat16().requires_grad_(),
               bias.clone().requires_grad_()]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = per_token.per_token_statistics(*parts[:2], ids, 0.7, bias=parts[2])
        wide = per_token.per_token_statistics(hidden.double(), weight.double(), ids)
    expected = per_token.per_token_statistics(*rounded[:2], ids, 0.7, bias=rounded[2])
    assert torch.equal(found.entropy, expected.entropy)
    assert torch.equal(found.log_prob, expected.log_prob)
    assert torch.equal(
        wide.entropy, per_token.per_token_statistics(hidden.double(), weight.double(), ids).entropy)
    (found.entropy + found.log_prob).sum().backward()
    (expected.entropy + expected.log_prob).sum().backward()
    for part, other in zip(parts, rounded, strict=True):
        assert part.grad.dtype == torch.float32
        # The others' last rounding is to bfloat16.
        torch.testing.assert_close(part.grad, other.grad.float(), rtol=2**-8, atol=0)


class Device(str):
    """A processor's name, which says of itself that it is none."""

    type = "elsewhere"


class Elsewhere(torch.Tensor):
    """A tensor that is taken for one on a GPU, where rows are searched by torch and not by NumPy."""

    device = Device("cpu")


@pytest.mark.parametrize("fraction", [None, 0.0, 0.45, 0.97])
def test_rows_on_another_device_are_a_cpus(monkeypatch, fraction):
    """With ties among what is kept, tokens never taken, and all rows in one block."""
    logits = torch.tensor([
        [0.3, -1.0, 2.0, 0.7, -0.2], [0.5, 0.5, 0.5, 0.5, 0.5], [1.0, 0.0, 1.0, 0.0, 0.0],
        [0.0, -torch.inf, 1.0, -torch.inf, -torch.inf], [-40.0, 0.0, -40.0, -3.0, -3.0],
    ], dtype=torch.float64)
    ids, factors = torch.tensor([0, 4, 2, 0, 3]), torch.linspace(-1, 1, 15).double().reshape(3, 5)
    monkeypatch.setattr(row_statistics, "BLOCK_ELEMENTS", 10)
    expected, clamp = row_statistics.row_statistics(logits, ids, fraction)
    found, kept = row_statistics.row_statistics(logits.as_subclass(Elsewhere), ids, fraction)
    torch.testing.assert_close(found.as_subclass(torch.Tensor), expected, rtol=64 * FLOAT64, atol=0)
    assert (clamp is None) == (kept is None) == (fraction is None)
    more = ()
    if clamp is not None:
        more = (factors[2], clamp)
        for ours, theirs in zip(kept, clamp, strict=True):
            assert torch.equal(ours.as_subclass(torch.Tensor), theirs)
    gradients = [row_statistics.row_gradient(rows, ids, *factors[:2], *more)
                 for rows in (logits.clone(), logits.clone().as_subclass(Elsewhere))]
    torch.testing.assert_close(
        gradients[1].as_subclass(torch.Tensor), gradients[0], rtol=64 * FLOAT64, atol=FLOAT64)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
@pytest.mark.usefixtures("small_chunks")
def test_derivatives_are_those_of_the_factors_in_their_precision():
    """Under autocast of the rounded ones; else with the digits of float32, where bfloat16 keeps three."""
    hidden, weight, _, ids = problem()

    def derivatives(*factors):
        with forward_ad.dual_level(), torch.no_grad():
            duals = [forward_ad.make_dual(x, torch.ones_like(x)) for x in factors]
            return forward_ad.unpack_dual(per_token.column_stack(*duals, ids, temperature=0.7)).tangent

    single = hidden.float(), weight.float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        moved = derivatives(*single)
    assert torch.equal(moved, derivatives(*(x.bfloat16() for x in single)))
    expected = derivatives(hidden, weight)
    torch.testing.assert_close(
        derivatives(*single).double(), expected, rtol=1e-4, atol=1e-4 * float(expected.abs().max()))


def test_a_gpu_is_served_by_triton_where_it_is_installed(monkeypatch):
    assert token_statistics.rows_on(torch.device("cpu")) is row_statistics
    monkeypatch.setattr(token_statistics, "has_triton", lambda: False)
    assert token_statistics.rows_on(torch.device("cuda")) is row_statistics
    served = ModuleType("served")
    monkeypatch.setitem(sys.modules, "llm_bridge.head.triton_rows", served)
    monkeypatch.setattr(head, "triton_rows", served, raising=False)
    monkeypatch.setattr(token_statistics, "has_triton", lambda: True)
    assert token_statistics.rows_on(torch.device("cuda")) is served
    assert token_statistics.rows_on(torch.device("cpu")) is row_statistics


def test_kernels_run_on_the_gpu_that_has_their_tensors(monkeypatch):
    """Not on the current one, which another process's tensor may be on: a launch there reads garbage."""
    entered = []

    @contextlib.contextmanager
    def device(wanted):
        entered.append(wanted)
        yield

    monkeypatch.setattr(torch.cuda, "device", device)

    class Second(torch.Tensor):
        is_cuda, device = True, torch.device("cuda:1")

    with token_statistics.on_device(torch.zeros(1).as_subclass(Second)):
        assert entered == [torch.device("cuda:1")]
    with token_statistics.on_device(torch.zeros(1)):
        assert len(entered) == 1
    # Both heads, both ways.
    seen = []
    for module, name in ((per_token, "fused"), (token_statistics, "plain")):
        monkeypatch.setattr(
            module, "on_device", lambda _, name=name: seen.append(name) or contextlib.nullcontext())
    hidden, weight, _, ids = problem()
    hidden.requires_grad_()
    per_token.per_token_statistics(hidden, weight, ids).entropy.sum().backward()
    token_statistics.from_logits(hidden @ weight.T, ids).entropy.sum().backward()
    assert seen == ["fused", "fused", "plain", "plain"]


def test_triton_is_installed_if_it_can_be_imported(monkeypatch):
    look = has_triton.__wrapped__
    monkeypatch.setitem(sys.modules, "triton", ModuleType("triton"))
    assert look() is True
    monkeypatch.setitem(sys.modules, "triton", None)
    assert look() is False


@pytest.mark.usefixtures("small_chunks")
def test_half_precision_is_computed_in_float32():
    """From bfloat16 states: logits are never rounded, and the weight's gradient is summed over
    chunks in float32, where bfloat16 would lose the later chunks."""
    hidden, weight, _, ids = problem(dtype=torch.bfloat16, rows=240)
    weight.requires_grad_()
    found = per_token.per_token_statistics(hidden, weight, ids)
    wide = weight.detach().float().requires_grad_()
    expected = per_token.per_token_statistics(hidden.float(), wide, ids)
    assert found.entropy.dtype == torch.float32
    torch.testing.assert_close(found.entropy, expected.entropy, rtol=64 * FLOAT32, atol=0)
    assert bool((found.log_prob <= 0).all())
    found.entropy.sum().backward()
    expected.entropy.sum().backward()
    # Each factor of a product is rounded to bfloat16 once (2^-9); 240 terms of both signs.
    scale = float(wide.grad.abs().max())
    torch.testing.assert_close(weight.grad.float(), wide.grad, rtol=2**-8, atol=2**-8 * scale)


def exact_entropy(logits: list[float]) -> float:
    """In 400-bit ball arithmetic, by the definition."""
    precision, flint.ctx.prec = flint.ctx.prec, 400
    try:
        z = [flint.arb(x) for x in logits if x > -math.inf]
        total = sum((v.exp() for v in z), flint.arb(0))
        return float(total.log() - sum((v * v.exp() for v in z), flint.arb(0)) / total)
    finally:
        flint.ctx.prec = precision


def collapsed_rows() -> torch.Tensor:
    """Logits with gaps up to 30 and tokens that are never taken, float32."""
    generator = torch.Generator().manual_seed(1)
    rows = -torch.rand(40, 300, generator=generator)
    rows -= torch.linspace(0, 30, 40)[:, None]
    rows[torch.arange(40), torch.arange(40)] = 0
    rows[::3, 200:] = -math.inf
    return rows


@pytest.mark.parametrize("depth", [10, 4])
def test_variance_keeps_its_digits_far_below_the_top(depth):
    """A row whose mass lies below its top: the moments about the top would lose up to 3 digits."""
    logits = torch.zeros(4, 1000)
    logits[:, 1:] = -depth + 0.1 * torch.randn(4, 999, generator=torch.Generator().manual_seed(0))
    logits = torch.cat([logits] + [logits[:, 1:]] * 200, dim=1)
    found, exact = (
        token_statistics.from_logits(rows, torch.zeros(4, dtype=torch.long)).log_prob_variance
        for rows in (logits, logits.double())
    )
    log_prob = policy.log_softmax(logits.double())
    expected = policy.covariance(log_prob.exp(), log_prob, log_prob)
    torch.testing.assert_close(exact, expected, rtol=1e-12, atol=0)
    # 200,000 terms of one sign; the mean, of about 10, is rounded at 1e-7 where the gaps are 0.1 and
    # the top's is 10.
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=0)


def test_entropy_keeps_its_digits_at_collapse(monkeypatch):
    """In float32 `logsumexp - sum p x` is off by 100 % at a gap of 30; here by less than 1e-6."""
    monkeypatch.setattr(row_statistics, "BLOCK_ELEMENTS", 1)  # less than a row
    logits = collapsed_rows()
    found = token_statistics.from_logits(logits, torch.zeros(len(logits), dtype=torch.long))
    expected = torch.tensor([exact_entropy(row.tolist()) for row in logits], dtype=torch.float64)
    torch.testing.assert_close(found.entropy.double(), expected, rtol=1e-6, atol=0)


def test_a_clamp_may_keep_another_of_the_largest_logits_than_a_search_finds():
    """On a GPU any of several equal ones is found."""
    logits = torch.tensor([[1.0, 0.0, 1.0, 1.0], [0.0, 2.0, 1.0, 0.0]], dtype=torch.float64)
    kept = torch.tensor([[True, False, True, False], [True, True, False, False]])
    soft = row_statistics._soft(logits)
    assert soft.top_index.tolist() == [[0], [1]]
    other = soft._replace(top_index=torch.tensor([[3], [1]]))
    for ours, theirs in zip(row_statistics._clamped(other, kept), row_statistics._clamped(soft, kept),
                            strict=True):
        assert torch.equal(ours, theirs)
    log_prob, log_sum = row_statistics._clamped(soft, kept)
    torch.testing.assert_close(log_prob[0], torch.tensor([0.5, 0.0, 0.5, 0.0]).double())
    torch.testing.assert_close(log_sum[0], torch.tensor(math.log(2)).double())


@pytest.mark.deep
@pytest.mark.skipif(not has_triton(), reason="Triton is not installed")
@pytest.mark.parametrize("environment", [
    {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""},
    pytest.param({}, marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"))],
    ids=["interpreted", "on a GPU"])
def test_the_kernels_are_the_torch_rows(environment):
    """In a process of its own: Triton must know of its interpreter before it is imported.

    Each is launched while the GPU of its tensors is the current one.
    """
    code = "import tests.llm_bridge.triton_rows_check as check; check.main()"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=os.environ | environment, capture_output=True,
        text=True)
    assert done.returncode == 0, done.stderr[-3000:]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([-math.inf, -2.0, -0.0, 0.0, 1.0, 5.0]), min_size=2, max_size=9),
       st.floats(0, 0.999))
def test_a_clamp_keeps_what_the_theory_keeps(values, fraction):
    """Among ties and tokens never taken: -0 and 0 are equal, the higher index goes first."""
    logits = torch.tensor([values], dtype=torch.float64)
    count = row_statistics.kept_count(len(values), fraction)
    clamp = row_statistics.least_kept(logits, count)
    assert torch.equal(row_statistics.is_kept(logits, clamp),
                       policy.kept_actions(logits, fraction))


def test_the_gradient_of_a_weight_is_added_up_in_pieces(monkeypatch):
    """In half precision, where the sum is wider than its terms: no second table as large as it."""
    generator = torch.Generator().manual_seed(0)
    left, right = (torch.randn(7, n, generator=generator).bfloat16() for n in (11, 5))
    whole = torch.ones(11, 5)
    monkeypatch.setattr(per_token, "PRODUCT_ELEMENTS", 3 * 5)
    with Tables(5) as made:
        per_token._add_product(whole, left.T, right)
    assert made.rows == 7, "the right factor, widened, and pieces of three rows"
    torch.testing.assert_close(whole, 1 + left.float().T @ right.float(), rtol=1e-6, atol=1e-6)


@pytest.mark.deep
def test_memory_does_not_grow_with_the_vocabulary():
    """256 tokens: plain float32 logits would be 64 MiB at 65,536 words, and a few times that."""
    code = """
import torch
from llm_bridge.head import per_token
from tests.llm_bridge.memory import peak_of
torch.set_num_threads(1)
def step(tokens, size):
    hidden = torch.randn(tokens, 4, requires_grad=True)
    ids = torch.zeros(tokens, dtype=torch.long)
    found = per_token.per_token_statistics(hidden, torch.zeros(size, 4), ids, removed_fraction=0.3)
    found.entropy.sum().backward()
step(8, 64)  # loads what a first call loads
print(*(peak_of(lambda: step(256, size)) for size in (16_384, 65_536)))
"""
    # glibc keeps freed blocks of this size otherwise, some 30 MiB in holes.
    returning = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env=returning).stdout
    small, large = (int(peak) / 2**20 for peak in told.split())
    # Measured: 65 and 66 MiB, of which the weight is 1, where plain logits with autograd take 320.
    assert large < 80
    assert large - small < 8, f"{small} and {large} MiB"
