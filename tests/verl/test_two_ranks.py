"""Guards the rules, and llm_bridge/verl_forecast.py, on two ranks of verl: its actor's worker and its
FSDP2 engine, on the CPU and without Ray.

`cpu_platform` says what verl is told of the machine; all between the batch and the new weights is verl's.
"""

import contextlib
import dataclasses
import os
import socket
import subprocess
import sys

import pytest

pytest.importorskip("verl")

import numpy as np
import torch
import transformers
from accelerate import Accelerator

from llm_bridge import verl_plugin
from llm_bridge.accounting.entropy_gradient import EntropyGradient, StepRows
from llm_bridge.accounting.step_accountant import StepAccountant
from llm_bridge.head.token_statistics import TokenStatistics, from_logits
from llm_bridge.objective.loss import clamped_fraction, policy_loss
from tests.verl import worker_ranks
from tests.verl.worker_ranks import (
    CASES,
    CLIP,
    DECAY,
    EVERY_SECOND,
    FORECAST,
    LIMIT,
    MINI_BATCH,
    MOMENTUM,
    RANKS,
    RATE,
    ROWS,
    SEED,
)

ROUNDING = 1e-4
"""Of the largest change of a weight: verl's engine computes in float32, where each of a few hundred
terms of a gradient is rounded by 2^-24. A term lost on a rank, or averaged again, changes a step by
percents."""
SCORED = 1e-5
"""What float32 makes of a log-probability or an entropy of a token, nats, at most; checked below."""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What the two workers brought back, and the folder of the model that they began with.

    Each rank is a process of ours, which hands its worker what a worker group of verl's would.
    """
    folder = tmp_path_factory.mktemp("workers")
    worker_ranks.llama(folder / "model")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    said = [folder / f"rank-{rank}.txt" for rank in range(RANKS)]
    with contextlib.ExitStack() as stack:
        ranks = [stack.enter_context(subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.verl.worker_ranks", folder],
            stdout=stack.enter_context(path.open("w")), stderr=subprocess.STDOUT,
            env={**os.environ, **worker_ranks.ENVIRONMENT, "RANK": str(rank), "WORLD_SIZE": str(RANKS),
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}))
            for rank, path in enumerate(said)]
        for rank in ranks:
            stack.callback(rank.kill)
        ended = [rank.wait(timeout=LIMIT + 30) for rank in ranks]
    assert ended == [0] * RANKS, said[0].read_text()[-6000:]
    return torch.load(folder / "found.pt", weights_only=True), folder / "model"


def padded(rows: list[torch.Tensor]) -> torch.Tensor:
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)


def statistics(model, rows, rule):
    """Of the responses' tokens, [rows, positions], each row read by itself."""
    prompts, responses, _ = worker_ranks.completions()
    read = []
    for row in rows:
        ids = torch.cat([prompts[row], responses[row]])[None]
        logits = model(input_ids=ids).logits[:, len(prompts[row]) - 1 : -1]
        read.append(from_logits(
            logits, responses[row][None], removed_fraction=clamped_fraction(rule)))
    columns = {field.name: [getattr(one, field.name) for one in read]
               for field in dataclasses.fields(TokenStatistics)}
    return TokenStatistics(**{
        name: None if column[0] is None else padded([values[0] for values in column])
        for name, column in columns.items()})


def accounted(model, rows, rule, mask, optimizer) -> dict[str, float]:
    """Clip gradients, and take the step: what verl's worker should log of it, in float64."""
    measure = mask / mask.sum(1, keepdim=True) / len(mask)
    gradient = EntropyGradient(model, Accelerator(cpu=True))
    entropy = (measure * statistics(model, rows, rule).entropy).sum()
    slope = torch.autograd.grad(entropy, gradient.parameters)
    norm = float(torch.nn.utils.clip_grad_norm_(gradient.parameters, CLIP))
    assert norm > CLIP
    step = StepAccountant(
        gradient, [StepRows(statistics=lambda: statistics(model, rows, rule), measure=measure, moved={})],
        optimizer, clip=CLIP / (norm + 1e-6))
    before = [weight.detach().clone() for weight in gradient.parameters]
    optimizer.step()
    moves = [now.detach() - was for now, was in zip(gradient.parameters, before, strict=True)]
    # What the weights did, and no optimizer was asked.
    forecast = sum(float((g * move).sum()) for g, move in zip(slope, moves, strict=True))
    account = step.finish(tokens=False).account
    assert account.forecast == pytest.approx(forecast, rel=1e-9)
    return {"entropy_gradient": forecast, "measured_entropy_change": account.measured,
            **{f"entropy_gradient/{name}": part for name, part in account.forecast_parts.items()}}


def one_process(case, run, model):
    """The coefficient, the weights after both steps, and what a log should say of each step's entropy,
    in float64, from plain logits of whole rows."""
    name, options, _ = CASES[case]
    rule = verl_plugin.make_rule(name, options)
    _, responses, advantages = worker_ranks.completions()
    mask = padded([torch.ones_like(r, dtype=torch.bool) for r in responses])
    old = padded(run["old_log_prob"])
    reference = padded(list(worker_ranks.reference(
        torch.nested.as_nested_tensor(run["old_log_prob"], layout=torch.jagged)).unbind()))
    with torch.no_grad():
        first = statistics(model, range(ROWS), rule)
    torch.testing.assert_close(old.double(), first.log_prob, rtol=0, atol=SCORED)
    torch.testing.assert_close(padded(run["entropy"]).double(), first.entropy, rtol=0, atol=SCORED)
    controller, coefficient = rule.coefficient_controller(), None
    if controller is not None:
        column = getattr(first, controller.reads)
        means = [column[row][mask[row]].mean().item() for row in range(ROWS)]
        coefficient = float(controller.observe(np.asarray(np.mean(means))))
    own, each = ROWS // RANKS, MINI_BATCH // RANKS
    optimizer = torch.optim.SGD(
        model.parameters(), lr=RATE, momentum=MOMENTUM, weight_decay=DECAY)
    accounts = []
    for step in range(ROWS // MINI_BATCH):
        rows = [rank * own + step * each + row for rank in range(RANKS) for row in range(each)]
        now = statistics(model, rows, rule)
        log_prob, old_now = now.log_prob, old[rows][:, : now.log_prob.shape[1]]
        if step == 0:  # on-policy, and not but for rounding
            log_prob = log_prob - (log_prob - old_now).detach()
        width = log_prob.shape[1]
        batch = verl_plugin.token_batch(
            old_now, log_prob, torch.tensor(advantages)[rows, None], mask[rows][:, :width],
            entropy=now.entropy, clamped_entropy=now.clamped_entropy,
            reference_log_prob=reference[rows][:, :width], coefficient=coefficient, step=step, seed=SEED)
        batch = batch.with_prepared(**verl_plugin.prepared_columns(batch, rule))
        model.zero_grad()
        policy_loss(batch, rule).backward()
        accounts.append(accounted(model, rows, rule, batch.mask, optimizer))
    return coefficient, {name: weight.detach() for name, weight in model.named_parameters()}, accounts


@pytest.mark.parametrize("case", CASES)
def test_two_workers_of_verl_take_the_step_of_one_process(found, case):
    """Two optimizer steps on a batch, the second off-policy, two micro-batches each, uneven lengths: what
    a rule takes over all ranks (selection, a controller's mean, token counts) is that of all ranks, and
    what is logged of the entropy's change."""
    run, folder = found[0][case], found[1]
    assert run["classes"] == ["llm_bridge.verl_worker.RuleTrainingWorker"] * RANKS
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float64, attn_implementation="eager")
    for name, weight in model.named_parameters():
        assert torch.equal(run["before"][name], weight.float())
    coefficient, expected, accounts = one_process(case, run, model)
    changes = {name: expected[name] - run["before"][name] for name in expected}
    largest = max(float(change.abs().max()) for change in changes.values())
    rounded = max(float(w.abs().max()) for w in expected.values()) * 2 * 2.0**-24 / largest
    assert largest > 1e-3
    for after in run["after"]:
        for name, change in changes.items():
            off = (after[name].double() - run["before"][name] - change).abs().max()
            assert off < (ROUNDING + rounded) * largest, name
    if coefficient is not None:
        assert run["metrics"]["actor/coefficient"] == pytest.approx([coefficient] * 2, abs=1e-5)
        assert coefficient != CASES[case][1]["coefficient"]
    check_forecasts(run["metrics"], accounts, case)


def check_forecasts(metrics, accounts, case) -> None:
    """Forecasts, their parts and measurements are those of one process, at the steps that are due."""
    options = CASES[case][2]
    due = accounts if FORECAST in options else accounts[:1] if EVERY_SECOND in options else []
    logged = {name: values for name, values in metrics.items() if "entropy_" in name}
    names = sorted({f"actor/{name}" for account in due for name in account})
    assert sorted(logged) == names
    for step, account in enumerate(due):
        # Of the addends: the forecast may be what is left of large ones.
        size = sum(abs(part) for name, part in account.items() if "/" in name)
        assert abs(account["entropy_gradient"]) > 1e-3
        for name, value in account.items():
            values = logged[f"actor/{name}"]
            found = values[step - (len(due) - len(values))]  # the first step has no momentum
            # A difference of two means of entropies.
            close = 2 * SCORED if name == "measured_entropy_change" else ROUNDING * size
            assert found == pytest.approx(value, abs=close), name
