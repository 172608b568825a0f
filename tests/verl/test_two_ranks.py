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

from entropy_theory.controllers import EntropyForecast
from llm_bridge import verl_plugin
from llm_bridge.accounting.entropy_gradient import EntropyGradient, StepRows
from llm_bridge.accounting.step_accountant import StepAccountant
from llm_bridge.head.token_statistics import TokenStatistics, from_logits
from llm_bridge.objective.loss import clamped_fraction, policy_loss
from llm_bridge.verl_batches import sequence_ids
from llm_bridge.verl_rules import compares_answers
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


def statistics(model, rows, case):
    """Of the responses' tokens, [rows, positions], each row read by itself, from plain logits."""
    prompts, responses, _ = worker_ranks.completions()
    read = []
    for row in rows:
        ids = torch.cat([prompts[row], responses[row]])[None]
        logits = model(input_ids=ids).logits[:, len(prompts[row]) - 1 : -1]
        read.append(from_logits(logits / worker_ranks.temperature(case), responses[row][None],
                                removed_fraction=clamped_fraction(rule_of(case))))
    columns = {field.name: [getattr(one, field.name) for one in read]
               for field in dataclasses.fields(TokenStatistics)}
    return TokenStatistics(**{
        name: None if column[0] is None else padded([values[0] for values in column])
        for name, column in columns.items()})


def rule_of(case):
    return verl_plugin.make_rule(*CASES[case][:2])


def accounted(model, rows, case, mask, optimizer) -> tuple[dict[str, float], float]:
    """Clip gradients, and take the step: what verl's worker should log, and the clipping's factor."""
    measure = mask / mask.sum(1, keepdim=True) / len(mask)
    gradient = EntropyGradient(model, Accelerator(cpu=True))

    def seen():
        return statistics(model, rows, case)

    slope = torch.autograd.grad((measure * seen().entropy).sum(), gradient.parameters)
    norm = float(torch.nn.utils.clip_grad_norm_(gradient.parameters, CLIP))
    clip = min(1.0, CLIP / (norm + 1e-6))
    step = StepAccountant(gradient, [StepRows(statistics=seen, measure=measure, moved={})], optimizer,
                          clip=clip)
    before = [weight.detach().clone() for weight in gradient.parameters]
    optimizer.step()
    moves = [now.detach() - was for now, was in zip(gradient.parameters, before, strict=True)]
    # What the weights did, and no optimizer was asked.
    forecast = sum(float((g * move).sum()) for g, move in zip(slope, moves, strict=True))
    account = step.finish(tokens=False).account
    assert account.forecast == pytest.approx(forecast, rel=1e-9)
    return {"entropy_gradient": forecast, "measured_entropy_change": account.measured,
            **{f"entropy_gradient/{name}": part for name, part in account.forecast_parts.items()}}, clip


def of_unit(model, batch, rule, rows, case) -> float:
    """Change of entropy per unit of the coefficient, before clipping, by plain SGD."""
    losses = [policy_loss(batch.replace(coefficient=torch.full_like(batch.weight, value)), rule)
              for value in (1.0, 0.0)]
    parameters = list(model.parameters())
    unit = torch.autograd.grad(losses[0] - losses[1], parameters, retain_graph=True, allow_unused=True)
    mask = batch.is_ordinary[: len(rows)]
    entropy = statistics(model, rows, case).entropy
    measure = mask / mask.sum(1, keepdim=True) / len(mask)
    slope = torch.autograd.grad((measure * entropy).sum(), parameters)
    return -RATE * sum(float((g * u).sum()) for g, u in zip(slope, unit, strict=True) if u is not None)


class OneProcess:
    """A case in float64, from plain logits of whole rows: what a log should say, and the weights."""

    def __init__(self, case, model):
        self.case, self.model, self.rule = case, model, rule_of(case)
        _, responses, advantages = worker_ranks.completions()
        self.order = worker_ranks.order(case)
        self.mask = padded([torch.ones_like(r, dtype=torch.bool) for r in responses])
        self.advantages = torch.tensor(advantages)[:, None]
        self.controller = self.rule.coefficient_controller()
        self.optimizer = torch.optim.SGD(
            model.parameters(), lr=RATE, momentum=MOMENTUM, weight_decay=DECAY)
        self.forecast, self.taken = None, 0

    def columns(self, rows, width, entropy):
        """Of sequences, [rows, width], in float64."""
        def repeated(values):
            return torch.tensor(values)[rows][:, None].expand(-1, width)

        found = {"reward": repeated(worker_ranks.rewards()).double(),
                 "group": repeated(worker_ranks.groups())}
        if CASES[self.case][1].get("prompt_gain"):
            found["target_offset"] = repeated(worker_ranks.offsets()).double()
        if self.case.startswith("aepo"):
            found["tempered"] = repeated([row >= ROWS for row in range(len(self.mask))])
            found["sampling_temperature"] = torch.where(found["tempered"], 1.2, 1.0)
        return found

    def prepared(self, old, entropy):
        """What compares answers is prepared on the whole batch."""
        rows = list(range(ROWS))
        batch = verl_plugin.token_batch(
            old[rows].double(), old[rows].double(), self.advantages[rows], self.mask[rows],
            entropy=entropy[rows], seed=SEED, **self.columns(rows, old.shape[1], entropy))
        return batch.with_prepared(**self.rule.prepare(batch).prepared)

    def batch(self, run) -> tuple[float | None, list[dict[str, float]]]:
        """A step of the trainer: the coefficient, and what a log should say of each optimizer step."""
        back = torch.argsort(torch.tensor(self.order))
        old, scored = (padded([run[name][at] for at in back]) for name in ("old_log_prob", "entropy"))
        reference = padded(list(worker_ranks.reference(
            torch.nested.as_nested_tensor(list(old.unbind()), layout=torch.jagged)).unbind()))
        with torch.no_grad():
            first = statistics(self.model, range(len(self.order)), self.case)
        mask = self.mask[: len(self.order), : old.shape[1]]
        self.mask = self.mask[:, : old.shape[1]]
        if not self.taken:
            for found, expected in ((old, first.log_prob), (scored, first.entropy)):
                torch.testing.assert_close(
                    found.double()[mask], expected[mask], rtol=0, atol=SCORED)
        coefficient = None
        if self.controller is not None:
            column = getattr(first, self.controller.reads)
            shift = worker_ranks.offsets() if CASES[self.case][1].get("prompt_gain") else [0.0] * ROWS
            means = [column[row][mask[row]].mean().item() - shift[row] for row in range(ROWS)]
            coefficient = float(self.controller.observe(np.asarray(np.mean(means)), self.forecast))
        whole = self.prepared(old, first.entropy) if compares_answers(self.rule) else None
        own, each = len(self.order) // RANKS, MINI_BATCH // RANKS * len(self.order) // ROWS
        accounts, sums = [], [0.0, 0.0]
        for step in range(ROWS // MINI_BATCH):
            rows = [self.order[rank * own + step * each + at]
                    for rank in range(RANKS) for at in range(each)]
            now = statistics(self.model, rows, self.case)
            width = now.log_prob.shape[1]
            log_prob, old_now = now.log_prob, old[rows][:, :width]
            if step == 0:  # on-policy, and not but for rounding
                log_prob = log_prob - (log_prob - old_now).detach()
            batch = verl_plugin.token_batch(
                old_now, log_prob, self.advantages[rows], mask[rows][:, :width],
                entropy=now.entropy, clamped_entropy=now.clamped_entropy,
                reference_log_prob=reference[rows][:, :width], coefficient=coefficient, step=self.taken,
                seed=SEED, sequence=sequence_ids(old_now, mask[rows][:, :width]).expand(-1, width),
                **self.columns(rows, width, None))
            if whole is not None:
                batch = batch.with_prepared(**{
                    name: column[rows][:, :width] for name, column in whole.prepared.items()})
            else:
                batch = batch.with_prepared(**verl_plugin.prepared_columns(batch, self.rule))
            ordinary = [row for row in rows if row < ROWS]
            self.model.zero_grad()
            policy_loss(batch, self.rule).backward(retain_graph=True)
            grads = [p.grad.clone() for p in self.model.parameters()]
            holds = self.controller is not None and self.controller.forecasts
            unit = of_unit(self.model, batch, self.rule, ordinary, self.case) if holds else 0.0
            for parameter, grad in zip(self.model.parameters(), grads, strict=True):
                parameter.grad = grad
            found, clip = accounted(
                self.model, ordinary, self.case, mask[ordinary][:, :width], self.optimizer)
            accounts.append(found)
            sums[0] += found["entropy_gradient"] - (coefficient or 0.0) * clip * unit
            sums[1] += clip * unit
            self.taken += 1
        self.forecast = EntropyForecast(base=np.asarray(sums[0]), per_unit=np.asarray(sums[1]))
        return coefficient, accounts


@pytest.mark.parametrize("case", CASES)
def test_two_workers_of_verl_take_the_step_of_one_process(found, case):
    """Two optimizer steps on a batch, the second off-policy, two micro-batches each, uneven lengths: what
    a rule takes over all ranks (selection, groups, a controller's mean, token counts) is that of all
    ranks, and what is logged of the entropy's change; three batches where a forecast of one chooses the
    coefficient of the next."""
    run, folder = found[0][case], found[1]
    assert run["classes"] == ["llm_bridge.verl_worker.RuleTrainingWorker"] * RANKS
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float64, attn_implementation="eager")
    for name, weight in model.named_parameters():
        assert torch.equal(run["before"][name], weight.float())
    process, coefficients = OneProcess(case, model), []
    for step in run["steps"]:
        coefficient, accounts = process.batch(step)
        coefficients.append(coefficient)
        if coefficient is not None:
            # A ratio of forecasts that are each as close as the weights' changes.
            close = 1e-5 if len(coefficients) == 1 else 20 * ROUNDING * max(1.0, abs(coefficient))
            assert step["metrics"]["actor/coefficient"] == pytest.approx([coefficient] * 2, abs=close)
        check_forecasts(step["metrics"], accounts, case)
    if coefficients[-1] is not None:
        assert coefficients[-1] != CASES[case][1]["coefficient"]
    expected = {name: weight.detach() for name, weight in model.named_parameters()}
    changes = {name: expected[name] - run["before"][name] for name in expected}
    largest = max(float(change.abs().max()) for change in changes.values())
    rounded = max(float(w.abs().max()) for w in expected.values()) * 2 * 2.0**-24 / largest
    assert largest > 1e-3
    for after in run["after"]:
        for name, change in changes.items():
            off = (after[name].double() - run["before"][name] - change).abs().max()
            assert off < (len(coefficients) * ROUNDING + rounded) * largest, name


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
