"""Guards resumption: a run interrupted and resumed is the uninterrupted one, or it is refused by name."""

import itertools
import logging
import re
from pathlib import Path

import datasets
import pytest
import torch
import trl

from entropy_theory import update_rules
from llm_bridge import diagnostics
from llm_bridge.accounting.accountant import Accountant
from llm_bridge.trainer import resuming
from tests.llm_bridge.language_models import (
    PROMPTS,
    StopAt,
    grpo_trainer,
    loaded_llama,
    low_digit,
    tabular,
    tabular_trainer,
)
from tests.llm_bridge.recorded_steps import SMALL

TIMED = ("step_time", "seconds", "runtime", "per_second")


def schedule(step: int) -> float:
    return 2.5 - 0.05 * step


def moving(step: int) -> float:
    """Another schedule."""
    return 2.0


def untimed(entries):
    return [{name: value for name, value in entry.items() if not any(part in name for part in TIMED)}
            for entry in entries]


def weights(made):
    return torch.cat([weight.detach().flatten() for weight in made.model.parameters()])


CASES = {
    "Adam, decaying rate": ("grpo", {}, {"optim": "adamw_torch", "lr_scheduler_type": "linear"}),
    "SGD with momentum": ("gspo", SMALL["gspo"], {"optim_args": "momentum=0.9", "micro_batches": 2}),
    "AEPO's switch, dynamic sampling": ("aepo", {"target": 2.2}, {"resampling_rounds": 2}),
    "AEPO's temperature, a moving target": (
        "aepo", {"target_schedule": schedule, "control": "proportional"}, {}),
    "adaptive coefficient": ("aent", {}, {"learning_rate": 2.0}),
    "coefficient by integral": ("entropy-bonus", {"target": 2.2, "coefficient": 0.1}, {}),
    "coefficient by forecasts of a moving target": (
        "diverse-bonus", {"target_schedule": schedule, "coefficient": 0.1, "hold": "forecast"}, {}),
    "network covariance": ("clip-cov", {**SMALL["clip-cov"], "covariance": "network"}, {}),
    "a reference that follows": ("reference-kl", {"coefficient": 0.3}, {
        "sync_ref_model": True, "ref_model_sync_steps": 1}),
    "reference, two steps a generation": (
        "reference-kl", {"coefficient": 0.1, "base": update_rules.get("kl-cov", ratio=0.2)},
        {"num_iterations": 2}),
    "shuffled, its third epoch, accounted": (
        "grpo", {}, {"steps": 2, "repeats": 2, "shuffle_dataset": True, "account": 2}),
}
LONG, CUT = 6, 4


def trainer_of(case, folder, **more):
    name, of_rule, options = CASES[case]
    options = {"steps": LONG, "max_steps": LONG, **options, **more}
    account = options.pop("account", 0)
    records = []
    made = tabular_trainer(folder, update_rules.get(name, **of_rule), on_step=records.append,
                           samples=4, **options)
    if account:
        made.add_callback(Accountant(made, every=account))
    return made, records


def cut_and_resumed(make, folder, **options):
    """A run stopped after the step of its checkpoint, and the one that goes on from there."""
    saving = {"save_strategy": "steps", "save_steps": CUT, **options}
    first, before = make(folder, **saving)
    first.add_callback(StopAt(CUT))
    first.train()
    again, after = make(folder, **saving)
    again.train(resume_from_checkpoint=str(folder / f"checkpoint-{CUT}"))
    return again, before + after


def assert_same_run(again, records, whole, expected):
    assert weights(again).equal(weights(whole))
    assert untimed(records) == untimed(expected)
    lines, expected = (untimed(made.state.log_history) for made in (again, whole))
    if hasattr(again, "_initial_global_step"):  # transformers 5.24: its last line is of one call of train
        of_call, losses = lines[-1].pop("train_loss"), [line["loss"] for line in lines if "loss" in line]
        expected[-1].pop("train_loss")
        if len(losses) == LONG:
            assert of_call == pytest.approx(sum(losses[CUT:]) / (LONG - CUT), rel=1e-6)
    assert lines == expected


@pytest.mark.parametrize(("case", "every"), list(zip(
    CASES, itertools.cycle((1, 3, 5)), strict=False)))
def test_a_resumed_run_is_the_uninterrupted_one(tmp_path, case, every):
    """Weight for weight, record for record, and line for line of the log, whose lines are means."""
    whole, expected = trainer_of(case, tmp_path / "whole", logging_steps=every)
    whole.train()

    def make(folder, **options):
        return trainer_of(case, folder, logging_steps=every, **options)

    assert_same_run(*cut_and_resumed(make, tmp_path / "cut"), whole, expected)


def test_data_are_read_from_the_beginning_where_that_is_asked_for(tmp_path, caplog):
    """As in transformers: another run than the one that was interrupted, which is told."""
    logging.getLogger("llm_bridge").propagate = True
    data = datasets.Dataset.from_dict({"prompt": [f"{row}=" for row in range(3 * LONG)]})
    read = []

    def reward(prompts, completions, **_):
        read.append(prompts[0])
        return low_digit(prompts, completions)

    def make(folder, **options):
        return trainer_of("Adam, decaying rate", folder, train_dataset=data, reward=reward, **options)

    for skips, next_prompt in ((False, f"{3 * CUT}="), (True, "0=")):
        read.clear()
        cut_and_resumed(make, tmp_path / str(skips), ignore_data_skip=skips)
        assert (len(read), read[CUT]) == (LONG, next_prompt)
        assert ("from the beginning again" in caplog.text) is skips


def test_a_watched_run_goes_on_watching(tmp_path):
    """TRL's checkpoints hold no step that its log has not averaged yet; ours are not to lack any."""

    def make(folder, **options):
        records = []
        made = grpo_trainer(
            folder, *loaded_llama(tmp_path / "model"), kind=trl.RLOOTrainer, config=trl.RLOOConfig,
            steps=LONG, tokens=3, learning_rate=1e-2, optim="adamw_torch", logging_steps=3, **options)
        made.watch = diagnostics.attach(made, account_every=2, account_tokens=True,
                                        on_step=records.append)
        return made, records

    whole, expected = make(tmp_path / "whole")
    whole.train()
    again, records = cut_and_resumed(make, tmp_path / "cut")
    assert weights(again).equal(weights(whole))
    assert untimed(records) == untimed(expected)
    for name in ("forecasts", "measured", "entropy", "reward", "law"):
        assert getattr(again.watch, name) == getattr(whole.watch, name), name
    lines = [[{name: value for name, value in entry.items() if name.startswith(diagnostics.PREFIX)}
              for entry in made.state.log_history] for made in (again, whole)]
    assert lines[0] == lines[1]


def test_a_checkpoint_of_an_unwatched_run_says_that_sums_begin_there(tmp_path, caplog):
    logging.getLogger("llm_bridge").propagate = True

    def make(watched):
        made = grpo_trainer(tmp_path, *loaded_llama(tmp_path / "model"), steps=2, save_strategy="steps",
                            save_steps=1)
        if watched:
            diagnostics.attach(made)
        return made

    make(watched=False).train()
    make(watched=True).train(resume_from_checkpoint=str(tmp_path / "checkpoint-1"))
    assert "checkpoint of step 1 has no state of diagnostics" in caplog.text


def saved(folder, rule=None, **options):
    """A run of four steps, interrupted after the second, of which there is a checkpoint."""
    made = of_four_steps(folder, rule, **{"optim": "adamw_torch", **options})
    made.add_callback(StopAt(2))
    made.train()
    return str(folder / "checkpoint-2")


def of_four_steps(folder, rule=None, *, on_step=None, **options):
    return tabular_trainer(
        folder, rule or update_rules.get("grpo"), on_step=on_step,
        **{"steps": 4, "save_strategy": "steps", "save_steps": 2, "learning_rate": 0.1, **options})


def other_reward(completions, **_):
    return [float(len(text)) for text in completions]


@pytest.mark.parametrize(("changed", "said"), [
    ({"learning_rate": 0.2}, r"learning_rate was 0\.1, is 0\.2"),
    ({"repeats": 2}, "completions of a step's generation was 24, is 48"),
    ({"resampling_rounds": 1}, "resampling_rounds was 0, is 1"),
    ({"reward": other_reward}, r'reward_funcs was \["low_digit"\], is \["other_reward"\]'),
    ({"rule": update_rules.get("grpo", clip_low=0.1)}, r"rule\.clip_low was 0\.2, is 0\.1"),
    ({"max_steps": 2}, r"max_steps was 4, is 2 \(the checkpoint is that of step 2\)"),
])
def test_an_option_that_would_change_the_run_is_refused_by_name(tmp_path, changed, said):
    """transformers keeps the old rate, takes the new temperature, and fails on the momentum of SGD."""
    checkpoint = saved(tmp_path)
    again = of_four_steps(tmp_path, **{"optim": "adamw_torch", **changed})
    with pytest.raises(ValueError, match=rf"checkpoint-2 was made with.*{said}.*Give the old values"):
        again.train(resume_from_checkpoint=checkpoint)


def with_optimizer(made, **options):
    made.own_optimizer = resuming.optimizer_given(torch.optim.SGD(made.model.parameters(), **options))
    return made


def test_what_is_no_option_of_trl_is_compared_too(tmp_path):
    """A user's own optimizer, a schedule, other prompts, and the model that a reference is a copy of."""
    checkpoint = saved(tmp_path / "plain")
    again = with_optimizer(of_four_steps(tmp_path / "plain", optim="adamw_torch"), lr=0.3)
    with pytest.raises(ValueError, match="optimizers was null, is SGD "):
        again.train(resume_from_checkpoint=checkpoint)
    again = of_four_steps(tmp_path / "plain", optim="adamw_torch")
    again.train_dataset = datasets.Dataset.from_dict({"prompt": list(PROMPTS[::-1]) * 4})
    with pytest.raises(ValueError, match=r'train_dataset was \{"rows": 12, "digest": '):
        again.train(resume_from_checkpoint=checkpoint)
    scheduled = {"rule": update_rules.get("aepo", target_schedule=schedule)}
    checkpoint = saved(tmp_path / "scheduled", **scheduled)
    of_four_steps(tmp_path / "scheduled", optim="adamw_torch", **scheduled).train(
        resume_from_checkpoint=checkpoint)
    again = of_four_steps(tmp_path / "scheduled", optim="adamw_torch",
                          rule=update_rules.get("aepo", target_schedule=moving))
    with pytest.raises(ValueError, match=r"target_schedule was .*schedule, is .*moving"):
        again.train(resume_from_checkpoint=checkpoint)
    rule = update_rules.get("reference-kl", coefficient=0.1)
    checkpoint = saved(tmp_path / "reference", rule)
    again = of_four_steps(tmp_path / "reference", rule, optim="adamw_torch", model=tabular(seed=3)[0])
    with pytest.raises(ValueError, match=r"model was .*, is "):
        again.train(resume_from_checkpoint=checkpoint)
    # Without a reference any start will do: the checkpoint's weights take its place.
    checkpoint = saved(tmp_path / "other")
    of_four_steps(tmp_path / "other", optim="adamw_torch", model=tabular(seed=3)[0]).train(
        resume_from_checkpoint=checkpoint)


@pytest.mark.parametrize(("changed", "said"), [
    ({"logging_steps": 3}, "logging_steps was 1, is 3"),
    ({"micro_batches": 2}, "per_device_train_batch_size was 24, is 12; "
     "gradient_accumulation_steps was 1, is 2"),
])
def test_an_option_that_leaves_the_steps_alone_is_taken_and_said(tmp_path, caplog, changed, said):
    logging.getLogger("llm_bridge").propagate = True
    checkpoint, expected, records = saved(tmp_path / "cut"), [], []
    of_four_steps(tmp_path / "whole", optim="adamw_torch", on_step=expected.append).train()
    caplog.clear()
    again = of_four_steps(tmp_path / "cut", optim="adamw_torch", on_step=records.append, **changed)
    again.train(resume_from_checkpoint=checkpoint)
    (line,) = [text for text in caplog.messages if "resumed with other options" in text]
    assert re.search(said, line)
    assert [record["reward"] for record in records] == [record["reward"] for record in expected[2:]]


def test_a_run_of_steady_rate_is_made_longer_exactly(tmp_path):
    """With more prompts, the first of which are those that it had: those of the longer run."""
    records, expected, options = [], [], {"lr_scheduler_type": "constant_with_warmup", "warmup_steps": 3}
    whole = of_four_steps(tmp_path / "whole", steps=6, on_step=expected.append, **options)
    whole.train()
    of_four_steps(tmp_path / "cut", **options).train()
    again = of_four_steps(tmp_path / "cut", steps=6, on_step=records.append, **options)
    again.train(resume_from_checkpoint=True)
    assert untimed(records) == untimed(expected[4:])
    assert weights(again).equal(weights(whole))


@pytest.mark.parametrize(("options", "reason"), [
    ({"lr_scheduler_type": "linear"}, "under lr_scheduler_type='linear' the steps taken would have had"),
    ({"shuffle_dataset": True}, "prompts are drawn from all of it"),
])
def test_a_run_that_would_have_begun_otherwise_is_not_made_longer(tmp_path, options, reason):
    checkpoint = saved(tmp_path, **options)
    again = of_four_steps(tmp_path, steps=6, optim="adamw_torch", **options)
    with pytest.raises(ValueError, match=reason):
        again.train(resume_from_checkpoint=checkpoint)


def test_data_grow_only_at_their_end_and_before_they_come_round_again(tmp_path):
    def cut(folder, prompts):
        made = of_four_steps(folder, optim="adamw_torch")
        made.train_dataset = datasets.Dataset.from_dict({"prompt": prompts})
        return made

    first = cut(tmp_path / "two", list(PROMPTS))  # its second step has its first prompts again
    first.add_callback(StopAt(2))
    first.train()
    again = cut(tmp_path / "two", list(PROMPTS) * 2)
    with pytest.raises(ValueError, match="come round to its first prompts"):
        again.train(resume_from_checkpoint=True)
    checkpoint = saved(tmp_path / "others")
    again = cut(tmp_path / "others", [*PROMPTS[::-1], *PROMPTS * 5])
    with pytest.raises(ValueError, match="its first prompts are others"):
        again.train(resume_from_checkpoint=checkpoint)


def test_a_checkpoint_that_says_nothing_of_its_options_is_told(tmp_path, caplog):
    logging.getLogger("llm_bridge").propagate = True
    checkpoint = Path(saved(tmp_path))
    (checkpoint / resuming.RUN_STATE).unlink()
    of_four_steps(tmp_path, optim="adamw_torch").train(resume_from_checkpoint=str(checkpoint))
    assert "checkpoint-2 does not say with which options it was made" in caplog.text


