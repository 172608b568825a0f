"""Guards llm_bridge/trainer.py, rows.py and checkpoints.py: TRL takes the step that the rule says."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats
import torch
import transformers

from entropy_theory import entropy_change, policy, tabular, update_rules
from entropy_theory.targets import Nucleus, Target
from entropy_theory.token_batch import TokenBatch
from llm_bridge import rows, trainer
from tests.llm_bridge import two_processes
from tests.llm_bridge.language_models import PROMPTS, low_digit, tabular_trainer
from tests.llm_bridge.language_models import tabular as tabular_model
from tests.tolerances import FLOAT64, SAME_STEP

TOKEN_MEAN = update_rules.get("grpo", normalization="token-mean")
SMALL = {"clip-cov": {"ratio": 0.2, "lower": 0.05}, "kl-cov": {"ratio": 0.2},
         "gspo": {"clip_low": 0.1, "clip_high": 0.1}}
"""Options with which a rule acts on 24 tokens, and at a second large step on them."""
TRAINED = [(name, SMALL.get(name, {})) for name in update_rules.RULES if name != "natural-gradient"]
ON_POLICY = [(name, options) for name, options in TRAINED if name != "kl-cov"]
RULES = [*ON_POLICY, ("aepo", {"alpha": 2.0, "normalize": "positives"}),
         ("aepo", {"ablation": "untempered"}), ("aepo", {"ablation": "advantage"}),
         ("aepo", {"form": "code", "replaced_rows": 4, "base": TOKEN_MEAN}),
         ("aepo", {"control": "proportional"}),
         ("entropy-bonus", {"target": 9.0, "coefficient": 0.1, "coefficient_step": 0.2}),
         ("aent", {"warm_up_steps": 0, "coefficient": 0.1, "coefficient_high": 9.0,
                   "coefficient_step": 0.5, "removed_fraction": 0.4}),
         ("aepo", {"base": update_rules.get("entropy-bonus", target=9.0, coefficient=0.1)})]
OFF_POLICY = [*TRAINED, ("clip-cov", {**SMALL["clip-cov"], "cov_log_prob": "current"}),
              ("kl-cov", {**SMALL["kl-cov"], "cov_log_prob": "current", "coefficient": 0.5}),
              ("kl-cov", {"ratio": 0.3, "cov_log_prob": "current", "penalty": "k2",
                          "base": update_rules.get("aent", warm_up_steps=0, coefficient=0.2)}),
              ("reference-kl", {"estimator": "k1", "placement": "reward", "coefficient": 0.5}),
              ("entropy-bonus", {"target": 9.0, "base": "reference-kl"})]


class Recorder(transformers.TrainerCallback):
    """Keeps what each optimizer step was computed from."""

    def __init__(self, trainer):
        self.trainer, self.steps = trainer, []

    def on_optimizer_step(self, *_, **__):
        self.steps.append(list(self.trainer.micro_batches))


def recorded(made):
    recorder = Recorder(made)
    made.add_callback(recorder)
    made.train()
    return recorder.steps


def rebuilt_batch(parts, logits, made, rule=None, *, start=None, step=0) -> TokenBatch:
    """The step's batch from the sampled tokens alone, by other means than the trainer's.

    ``start`` are the logits of the policy that sampled, where it is not the one being trained.
    """
    start = logits if start is None else start
    rule = update_rules.get("grpo") if rule is None else rule

    def column(name):
        return np.concatenate([p.inputs[name].numpy() for p in parts])[:, None]

    state = np.concatenate([p.inputs["prompt_ids"][:, -1].numpy() for p in parts])[:, None]
    action = np.concatenate([p.inputs["completion_ids"].numpy() for p in parts])
    tempered = column("tempered")
    texts = made.processing_class.batch_decode(action.tolist(), skip_special_tokens=True)
    count = np.where(tempered, tempered.sum(), (~tempered).sum())
    coefficient = None
    controller = rule.coefficient_controller()
    if controller is not None:
        read = policy.entropy(start)
        if controller.reads == "clamped_entropy":
            read = policy.clamped_entropy(start, rule.removed_fraction)
        observed = read[state][~tempered].mean()
        coefficient = np.full(state.shape, float(controller.observe(observed)))
    return TokenBatch(
        log_prob=policy.log_softmax(logits)[state, action],
        old_log_prob=policy.log_softmax(start)[state, action],
        reference_log_prob=policy.log_softmax(start)[state, action],
        mask=np.ones(state.shape, bool), reward=np.array(low_digit(None, texts))[:, None],
        weight=1.0 / count, entropy=policy.entropy(logits)[state],
        sampling_temperature=column("sampling_temperature"), tempered=tempered, group=state,
        sequence=column("sequence"), coefficient=coefficient, state=state, action=action,
        seed=made.args.seed, step=step,
    )


def selected(parts, name):
    """(sequence, position) of the tokens that a covariance rule picked."""
    return sorted(
        (int(sequence), int(place))
        for part in parts
        for sequence, place in zip(
            part.inputs["sequence"][part.batch.prepared[name].nonzero()[:, 0]],
            part.batch.prepared[name].nonzero()[:, 1], strict=True,
        )
    )


@pytest.mark.parametrize("micro_batches", [1, 4])
@pytest.mark.parametrize(("name", "options"), RULES, ids=lambda v: str(v))
def test_trl_takes_the_simulators_step(tmp_path, name, options, micro_batches):
    """One rule, two scales, through all of TRL: SGD on a tabular policy moves its logits by exactly
    learning rate x the simulator's step, however the rows are cut (accumulation does not rescale).
    """
    rule = update_rules.get(name, **options)
    made = tabular_trainer(tmp_path, rule, micro_batches=micro_batches)
    table = made.model.table.weight
    before = table.detach().numpy().copy()
    (parts,) = recorded(made)
    assert len(parts) == micro_batches
    batch = rebuilt_batch(parts, before, made, rule)
    assert 0 < batch.reward.mean() < 1
    expected = 0.5 * tabular.logit_step(before, batch, rule)
    assert np.abs(expected).max() > 1e-2
    np.testing.assert_allclose(table.detach().numpy() - before, expected, rtol=0, atol=SAME_STEP)


def test_several_steps_on_one_generation_share_its_statistics(tmp_path):
    """With k optimizer steps a generation each step's weights are k/N: their sum is k whole steps.

    The learning rate is so small that the policy does not move between the steps: the ratio, and
    with it the sum of steps, is off by about the learning rate.
    """
    rate = 1e-9
    rule = update_rules.get("grpo")
    made = tabular_trainer(tmp_path, rule, micro_batches=2, steps=2, learning_rate=rate,
                           gradient_accumulation_steps=1, steps_per_generation=2)
    before = made.model.table.weight.detach().numpy().copy()
    first, second = recorded(made)
    batch = rebuilt_batch(first + second, before, made)
    found = (made.model.table.weight.detach().numpy() - before) / rate
    # Logits of order 1 are stored to 1e-16: 1e-7 after division by the rate.
    np.testing.assert_allclose(found, 2 * tabular.logit_step(before, batch, rule), atol=1e-6)


def test_an_off_policy_step_sees_the_policy_that_sampled(tmp_path):
    """num_iterations 2: the second step's ratios are pi over the policy of the first."""
    made = tabular_trainer(tmp_path, update_rules.get("grpo"), steps=2, num_iterations=2)
    first, second = recorded(made)
    np.testing.assert_array_equal(
        first[0].inputs["completion_ids"], second[0].inputs["completion_ids"]
    )
    np.testing.assert_array_equal(first[0].batch.log_prob, second[0].batch.old_log_prob)
    assert (first[0].batch.log_prob - second[0].batch.log_prob).abs().max() > 1e-3


class Tables(transformers.TrainerCallback):
    """The policy before each optimizer step, and after the last."""

    def __init__(self, made):
        self.weight, self.found = made.model.table.weight, []

    def on_pre_optimizer_step(self, *_, **__):
        self.found.append(self.weight.detach().numpy().copy())

    on_train_end = on_pre_optimizer_step


def off_policy_step(parts, tables, made, rule):
    """What the simulator makes of the second step on one generation."""
    start, middle = tables[:2]
    batch = rebuilt_batch(parts, middle, made, rule, start=start, step=1)
    if not rule.prepares_every_step:
        first = rebuilt_batch(parts, start, made, rule)
        batch = batch.with_prepared(**rule.prepare(first).prepared)
    return tabular.logit_step(middle, batch, rule), batch


@pytest.mark.parametrize("micro_batches", [1, 4])
@pytest.mark.parametrize(("name", "options"), OFF_POLICY, ids=lambda v: str(v))
def test_a_second_step_on_the_same_samples_is_the_simulators(tmp_path, name, options, micro_batches):
    """Off-policy: ratios, penalties and a reference that is the starting policy come into play.

    Guards the reference model, coefficients, and a selection by the current policy, which must see
    the policy after the first step (and one by the old policy, which must not).
    """
    rule = update_rules.get(name, **options)
    made = tabular_trainer(
        tmp_path, rule, steps=2, num_iterations=2, micro_batches=micro_batches
    )
    tables = Tables(made)
    made.add_callback(tables)
    _, second = recorded(made)
    expected, _ = off_policy_step(second, tables.found, made, rule)
    # A coefficient that were observed a second time would show: tables.found[2] is after the step.
    found = tables.found[2] - tables.found[1]
    assert np.abs(found).max() > 1e-3
    np.testing.assert_allclose(found, 0.5 * expected, rtol=0, atol=SAME_STEP)


@pytest.mark.parametrize("cov_log_prob", ["old", "current"])
@pytest.mark.parametrize("name", ["clip-cov", "kl-cov"])
def test_any_cut_into_micro_batches_selects_the_same_tokens(tmp_path, name, cov_log_prob):
    """verl issue 7829: there the number of selected tokens grows with the number of micro-batches."""
    rule = update_rules.get(name, **SMALL[name], cov_log_prob=cov_log_prob)
    found, samples, shares = [], [], []
    for cut in (1, 2, 6):
        records = []
        made = tabular_trainer(
            tmp_path, rule, steps=2, num_iterations=2, micro_batches=cut, on_step=records.append
        )
        steps = recorded(made)
        found.append([selected(parts, f"{name}.selected") for parts in steps])
        samples.append(sorted(zip(
            torch.cat([p.inputs["sequence"] for p in steps[0]]).tolist(),
            torch.cat([p.inputs["completion_ids"] for p in steps[0]]).tolist(), strict=True,
        )))
        shares.append([record["selected_fraction"] for record in records])
    assert samples[0] == samples[1] == samples[2]
    assert found[0] == found[1] == found[2]
    assert [len(step) for step in found[0]] == [4, 4]  # floor(0.2 x 24)
    assert shares == [[pytest.approx(4 / 24)] * 2] * 3
    if name == "clip-cov" and cov_log_prob == "old":
        assert found[0][0] == found[0][1]


def test_groups_stay_whole_when_a_generation_takes_several_steps(tmp_path):
    """Selection by the current policy with two steps a generation: each takes half of the rows, but
    group means, covariances and shares are those of the whole generation, as with the old policy.

    The learning rate is so small that the current policy stays the old one.
    """
    found = {}
    for cov_log_prob in ("old", "current"):
        rule = update_rules.get("kl-cov", ratio=0.2, cov_log_prob=cov_log_prob)
        made = tabular_trainer(tmp_path, rule, micro_batches=4, steps=2, learning_rate=1e-12,
                               gradient_accumulation_steps=2, steps_per_generation=4)
        found[cov_log_prob] = recorded(made)
    selections = {key: [selected(parts, "kl-cov.selected") for parts in steps]
                  for key, steps in found.items()}
    assert selections["old"] == selections["current"]
    assert sum(len(step) for step in selections["old"]) == 4
    for old, current in zip(found["old"], found["current"], strict=True):
        for one, other in zip(old, current, strict=True):
            torch.testing.assert_close(one.scores, other.scores, rtol=0, atol=1e-9)


def test_the_reference_is_the_starting_model(tmp_path):
    """Frozen, and only where a rule asks for it: it takes the memory of a second model."""
    made = tabular_trainer(tmp_path, update_rules.get("reference-kl", coefficient=0.1), steps=3)
    start = made.model.table.weight.detach().clone()
    steps = recorded(made)
    reference = made.reference_model.table.weight
    torch.testing.assert_close(reference.detach(), start, rtol=0, atol=0)
    assert not reference.requires_grad
    assert (made.model.table.weight.detach() - start).abs().max() > 1e-3
    part = steps[2][0]
    expected = policy.log_softmax(start)[part.inputs["prompt_ids"][:, -1:], part.batch.action]
    torch.testing.assert_close(part.batch.reference_log_prob, expected, rtol=0, atol=1e-12)
    for name in ("grpo", "aent"):
        assert tabular_trainer(tmp_path, update_rules.get(name)).reference_model is None


def test_an_adapter_s_reference_is_the_model_without_it(tmp_path):
    """No second copy of the weights: the adapter is switched off, and on again."""
    peft = pytest.importorskip("peft")
    model, _ = tabular_model()
    adapter = peft.LoraConfig(r=2, target_modules=["table"], init_lora_weights=False)
    rule = update_rules.get("reference-kl", coefficient=0.1)
    made = tabular_trainer(tmp_path, rule, model=model, peft_config=adapter)
    table = made.model.get_base_model().table
    start = table.base_layer.weight.detach().double()
    ((part,),) = recorded(made)
    assert made.reference_model is None
    states = part.inputs["prompt_ids"][:, -1:]
    expected = policy.log_softmax(start)[states, part.batch.action]
    torch.testing.assert_close(part.batch.reference_log_prob.double(), expected, rtol=0, atol=1e-5)
    assert (part.batch.log_prob - part.batch.reference_log_prob).abs().max() > 1e-3


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("kl-cov", SMALL["kl-cov"], "several optimizer steps on each batch"),
        ("clip-cov", {"ratio": 1e-3}, "raise ratio above"),
        ("entropy-bonus", {"coefficient": 0.0}, "raise it"),
        ("aent", {"removed_fraction": 0.0}, "removes nothing"),
    ],
)
def test_a_rule_that_would_do_nothing_says_so_once(tmp_path, name, options, message):
    """With the remedy; and nothing is said of a rule that acts."""
    rule = update_rules.get(name, **options)
    with pytest.warns(trainer.InertRuleWarning, match=message) as caught:
        made = tabular_trainer(tmp_path, rule)
    assert len(caught) == 1
    made.train()


@pytest.mark.parametrize("iterations", [{"num_iterations": 2}, {
    "micro_batches": 2, "gradient_accumulation_steps": 1, "steps_per_generation": 2}])
def test_kl_cov_with_several_steps_a_batch_needs_no_warning(tmp_path, iterations):
    tabular_trainer(tmp_path, update_rules.get("kl-cov", **SMALL["kl-cov"]), **iterations)


def test_the_coefficient_is_steered_by_what_the_rule_names(tmp_path):
    """AEnt reads its clamped entropy over all rows, once a generation, and the log shows both."""
    records = []
    rule = update_rules.get("aent", warm_up_steps=0, coefficient=0.1, coefficient_high=9.0,
                            coefficient_step=0.5, removed_fraction=0.4)
    made = tabular_trainer(tmp_path, rule, micro_batches=2, steps=2, num_iterations=2,
                           on_step=records.append)
    logits = made.model.table.weight.detach().numpy().copy()
    made.train()
    states = [row[-1] for row in made.processing_class(list(PROMPTS)).input_ids]
    clamped = policy.clamped_entropy(logits, 0.4)[states].mean()
    assert records[0]["clamped_entropy"] == pytest.approx(clamped, abs=64 * FLOAT64)
    expected = 0.1 - 0.5 * (clamped - 0.24)  # above the band: the bonus goes down
    assert expected < 0
    # The box's lower end.
    assert [record["coefficient"] for record in records] == [pytest.approx(6e-4)] * 2
    assert made.coefficient_controller.observations == 1


@pytest.mark.parametrize("name", ["clip-cov", "entropy-bonus", "combined"])
def test_a_rule_that_needs_every_action_is_refused(tmp_path, name):
    exact = update_rules.get("natural-gradient")
    rule = (update_rules.combine(update_rules.get("grpo"), exact) if name == "combined"
            else update_rules.get(name, base=exact))
    for one in (exact, rule):
        with pytest.raises(ValueError, match=r"'natural-gradient' needs every action .*samples"):
            tabular_trainer(tmp_path, one)


def test_samples_are_samples_of_the_tempered_policy(tmp_path):
    """Frequencies of both batches fit pi and pi^T; those of pi^T do not fit pi (the test has power)."""
    rule = update_rules.get("aepo", temperature_high=2.0, temperature_low=2.0)
    made = tabular_trainer(tmp_path, rule, samples=1000, learning_rate=1e-12)
    logits = made.model.table.weight.detach().numpy().copy()
    ((part,),) = recorded(made)
    state = part.inputs["prompt_ids"][:, -1].numpy()
    action = part.inputs["completion_ids"][:, 0].numpy()
    tempered = part.inputs["tempered"].numpy()

    def p_value(rows, temperature):
        probabilities = policy.softmax(logits, temperature)
        observed, expected = [], []
        for one in np.unique(state):
            here = rows & (state == one)
            observed.append(np.bincount(action[here], minlength=logits.shape[1]))
            expected.append(here.sum() * probabilities[one])
        flat = np.concatenate(observed), np.concatenate(expected)
        statistic = ((flat[0] - flat[1]) ** 2 / flat[1]).sum()
        return scipy.stats.chi2.sf(statistic, len(observed) * (logits.shape[1] - 1))

    # The seed is fixed: a right sampler misses 1e-3 for one seed in a thousand.
    assert p_value(~tempered, 1.0) > 1e-3
    assert p_value(tempered, 2.0) > 1e-3
    assert p_value(tempered, 1.0) < 1e-9
    assert made.generation_config.temperature == 1.0


def test_the_second_batch_is_sampled_from_the_rules_target(tmp_path):
    """A target that is sampled by top-p changes the second batch, and only that one."""
    rule = update_rules.get("aepo", towards=Nucleus(top_p=0.5), temperature_low=1.0, target=0.0)
    made = tabular_trainer(tmp_path, rule, samples=200, learning_rate=1e-12)
    prob = policy.softmax(made.model.table.weight.detach().numpy())
    ((part,),) = recorded(made)
    state = part.inputs["prompt_ids"][:, -1].numpy()
    action = part.inputs["completion_ids"][:, 0].numpy()
    tempered = part.inputs["tempered"].numpy()
    # In the nucleus: actions above it have less than half of the probability.
    above = (prob[state] * (prob[state] > prob[state, action][:, None])).sum(-1)
    assert (above[tempered] < 0.5).all()
    assert (above[~tempered] >= 0.5).any()
    assert made.generation_config.top_p == 1.0


def test_a_target_that_cannot_be_sampled_is_refused(tmp_path):
    class Strange(Target):
        def generation_options(self):
            return {"dream": True}

    with pytest.raises(ValueError, match="samples with dream"):
        tabular_trainer(tmp_path, update_rules.get("aepo", towards=Strange()))


def test_the_switch_reads_the_true_entropy(tmp_path):
    """Full-vocabulary entropy at T = 1 of the ordinary rows, before the second batch is drawn."""
    records = []
    rule = update_rules.get("aepo", target=0.5)
    made = tabular_trainer(tmp_path, rule, on_step=records.append)
    logits = made.model.table.weight.detach().numpy().copy()
    recorded(made)
    ids = made.processing_class(list(PROMPTS)).input_ids
    expected = policy.entropy(logits)[[row[-1] for row in ids]].mean()
    assert records[0]["entropy"] == pytest.approx(expected, abs=64 * FLOAT64)
    assert made.controller.entropy == pytest.approx(expected, abs=64 * FLOAT64)
    assert records[0]["temperature"] == 0.8
    raised = tabular_trainer(tmp_path, update_rules.get("aepo", target=9.0), on_step=records.append)
    raised.train()
    assert records[1]["temperature"] == 1.2


@pytest.mark.parametrize("name", ["grpo", "aepo"])
def test_a_step_without_positives_is_a_step_without_that_term(tmp_path, name):
    """No right answer at all: nothing moves, the log says why, nothing crashes."""
    records = []

    def never(prompts, completions, **_):
        return [0.0] * len(completions)

    made = tabular_trainer(
        tmp_path, update_rules.get(name), reward=never, on_step=records.append
    )
    before = made.model.table.weight.detach().clone()
    made.train()
    torch.testing.assert_close(made.model.table.weight.detach(), before, rtol=0, atol=0)
    assert records[0]["groups_without_signal"] == 1
    assert records[0]["tempered_positive_share"] == (0 if name == "aepo" else None)


def test_a_completion_nobody_can_judge_takes_no_part(tmp_path):
    """A reward function may return None; the row then has no weight."""

    def partly(prompts, completions, **_):
        rewards = low_digit(prompts, completions)
        return [None if i == 0 else r for i, r in enumerate(rewards)]

    made = tabular_trainer(tmp_path, update_rules.get("grpo"), reward=partly)
    ((part,),) = recorded(made)
    assert int((~part.batch.mask).sum()) == 1
    assert float(part.batch.weight.sum()) == pytest.approx(1, abs=1e-6)


def test_a_fraction_of_the_prompts(tmp_path):
    """tempered_fraction 1/4 (the authors' code): of six prompts the first two are answered again."""
    made = tabular_trainer(tmp_path, update_rules.get("aepo"), fraction=0.25, repeats=2)
    ((part,),) = recorded(made)
    tempered = part.inputs["tempered"]
    assert int(tempered.sum()) == 16
    assert len(part.inputs["group"][tempered].unique()) == 2
    for weights in (part.batch.weight[tempered], part.batch.weight[~tempered]):
        assert float(weights.sum()) == pytest.approx(1, abs=1e-6)


def test_record_of_a_step(tmp_path):
    """Each number of metrics.jsonl, computed by other means."""
    records = []
    rule = update_rules.get("entropy-bonus", coefficient=0.3)
    made = tabular_trainer(tmp_path, rule, on_step=records.append)
    before = made.model.table.weight.detach().numpy().copy()
    ((part,),) = recorded(made)
    (record,) = records
    batch = rebuilt_batch([part], before, made)
    states = np.unique(batch.state)
    answers = [len(np.unique(batch.action[batch.state == state])) for state in states]
    assert record["step"] == 1
    assert record["reward"] == pytest.approx(batch.reward.mean())
    assert record["distinct_answers"] == np.mean(answers)
    assert record["coefficient"] == 0.3
    assert record["temperature"] is None
    assert record["mean_length"] == 1
    # Under SGD on a tabular policy the forecast is the first-order change of the mean entropy.
    step = 0.5 * tabular.logit_step(before, batch, rule)
    change = entropy_change.first_order(before, step)[states].mean()
    assert record["forecast_entropy_change"] == pytest.approx(change, abs=SAME_STEP)


@pytest.mark.parametrize(
    ("option", "value"),
    [("temperature", 0.7), ("top_k", 50), ("top_p", 0.9), ("repetition_penalty", 1.1),
     ("beta", 0.04), ("entropy_coef", 0.01), ("disable_dropout", False), ("delta", 1.5),
     ("importance_sampling_level", "sequence"), ("epsilon", 0.01), ("loss_type", "dr_grpo"),
     ("scale_rewards", "none"), ("generation_kwargs", {"temperature": 0.3})],
)
def test_options_behind_the_rules_back_are_refused(tmp_path, option, value):
    named = "temperature" if option == "generation_kwargs" else option
    with pytest.raises(ValueError, match=named):
        tabular_trainer(tmp_path, update_rules.get("grpo"), **{option: value})


def test_a_step_without_ordinary_rows_is_recorded_without_their_means(tmp_path):
    """Small steps of a generation may hold rows of AEPO's second batch only."""
    records = []
    made = tabular_trainer(tmp_path, update_rules.get("aepo"), on_step=records.append, steps=24,
                           micro_batches=12, gradient_accumulation_steps=1,
                           steps_per_generation=12)
    made.train()
    assert len(records) == 24
    missing = [r for r in records if r["reward"] is None]
    assert missing
    assert all(np.isfinite(r["entropy"]) for r in records if r["reward"] is not None)


@pytest.mark.parametrize(("strategy", "every"), [("steps", 0.375), ("steps", 3), ("epoch", 2)])
def test_a_checkpoint_between_the_steps_of_a_generation_is_refused(strategy, every):
    options = trainer.grpo_config("unused", use_cpu=True, save_strategy=strategy, save_steps=every,
                                  num_iterations=2, max_steps=8)
    with pytest.raises(ValueError, match="save_steps"):
        trainer.check_config(options)


@pytest.mark.parametrize(
    ("setting", "value"), [("no_repeat_ngram_size", 2), ("suppress_tokens", [3]), ("min_length", 4)]
)
def test_a_checkpoints_own_sampling_settings_are_refused(tmp_path, setting, value):
    """Generation fills what a config leaves unset from the model's own, in silence."""
    model, _ = tabular_model()
    setattr(model.generation_config, setting, value)
    with pytest.raises(ValueError, match=setting):
        tabular_trainer(tmp_path, update_rules.get("grpo"), model=model)


@pytest.mark.parametrize("outer", ["entropy-bonus", "aepo"])
def test_an_expectation_over_groups_is_refused(tmp_path, outer):
    """On samples, group_size would put another estimator in the place of GRPO's, in silence."""
    exact = update_rules.get("grpo", group_size=8)
    for rule in (exact, update_rules.get(outer, base=exact), update_rules.combine(exact, exact)):
        with pytest.raises(ValueError, match=r"group_size .*exact expectation"):
            tabular_trainer(tmp_path, rule)


def test_a_generation_cut_between_optimizer_steps_is_refused(tmp_path):
    with pytest.raises(ValueError, match="steps_per_generation"):
        tabular_trainer(tmp_path, update_rules.get("grpo"), micro_batches=2,
                        gradient_accumulation_steps=4, steps_per_generation=2)


def test_equal_prefixes_share_a_state_whatever_their_padding():
    ids = torch.tensor([[0, 0, 5, 6, 7], [5, 6, 7, 9, 0], [0, 5, 6, 8, 9]])
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 0], [0, 1, 1, 1, 1]])
    states = rows.prefix_states(ids, mask)
    assert states[0, 4] == states[1, 2] == states[2, 3]  # 5 6
    assert states[0, 5] == states[1, 3]  # 5 6 7
    assert states[1, 4] == states[1, 5]  # padding on the right adds nothing
    assert len(states[1, :5].unique()) == 5
    assert states[2, 4] != states[1, 3]


def test_many_prefixes_have_many_states():
    """A weak hash (of the token's low bits, say) would collide here."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, 2**17, (20000, 3), generator=generator)
    states = rows.prefix_states(ids, torch.ones_like(ids))[:, -1]
    assert len(states.unique()) == len(torch.unique(ids, dim=0))


def test_plain_rows_need_no_second_forward(tmp_path, monkeypatch):
    """On-policy GRPO in one micro-batch: one forward pass a step, that of the loss."""
    calls = []
    original = trainer.EntropyTrainer.logits
    monkeypatch.setattr(
        trainer.EntropyTrainer, "logits",
        lambda self, *arguments: calls.append(1) or original(self, *arguments),
    )
    tabular_trainer(tmp_path, update_rules.get("grpo"), steps=3).train()
    assert len(calls) == 3


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory):
    """Everything that runs on two processes, in one launch."""
    folder = tmp_path_factory.mktemp("two_ranks")
    run = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone",
         "--module", "tests.llm_bridge.two_processes", str(folder)],
        cwd=Path(__file__).parents[2], env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False,
        timeout=300,  # two ranks that wait for each other would wait for ever
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return folder


def of_both_ranks(folder, name):
    """The rows of each step, the tables around them on each rank, and the log."""
    found = torch.load(folder / f"{name}.pt", weights_only=True)
    steps = [[SimpleNamespace(inputs=inputs) for inputs in step] for step in found["steps"]]
    assert [len(step) for step in steps] == [2] * len(steps)
    for first, second in steps:
        ordinary = [part.inputs["group"][~part.inputs["tempered"]] for part in (first, second)]
        assert set(ordinary[0].tolist()) & set(ordinary[1].tolist())  # a group on both ranks
    return steps, [table.numpy() for table in found["tables"]], found["records"]


def test_two_ranks_take_the_step_of_all_their_rows(two_ranks):
    """Data parallelism averages gradients, and one prompt's samples lie on both ranks: neither may
    show. Guards every statistic that a rank could compute on its own rows."""
    (parts,), tables, (record,) = of_both_ranks(two_ranks, "aepo")
    before = tables[0][0]
    made = SimpleNamespace(processing_class=tabular_model()[1], args=SimpleNamespace(seed=42))
    name, options = two_processes.AEPO
    rule = update_rules.get(name, **options)
    batch = rebuilt_batch(parts, before, made)
    expected = 0.5 * tabular.logit_step(before, batch, rule)
    assert np.abs(expected).max() > 1e-2
    for after in tables[1]:
        np.testing.assert_allclose(after - before, expected, rtol=0, atol=SAME_STEP)
    assert record["reward"] == pytest.approx(batch.reward[~batch.tempered].mean())


@pytest.mark.parametrize("name", list(two_processes.OFF_POLICY))
def test_two_ranks_select_tokens_together(two_ranks, name):
    """The quota, the means and the keys of the random choice are those of all rows, and a coefficient
    is steered by both ranks' entropy: one process with all rows picks the same tokens."""
    steps, tables, records = of_both_ranks(two_ranks, name)
    made = SimpleNamespace(processing_class=tabular_model()[1], args=SimpleNamespace(seed=42))
    rule = two_processes.off_policy_rule(name)
    start, middle = tables[0][0], tables[1][0]
    first = rule.prepare(rebuilt_batch(steps[0], start, made, rule))
    step, second = off_policy_step(steps[1], [start, middle], made, rule)
    second = second if second.prepared else rule.prepare(second)
    for parts, batch in ((steps[0], first), (steps[1], second)):
        picked = np.concatenate([part.inputs["selected"].numpy() for part in parts])
        assert picked.sum() == 4  # floor(0.2 x 24)
        np.testing.assert_array_equal(picked, batch.prepared[f"{name}.selected"])
    for before, after in zip(*tables[1:3], strict=True):
        np.testing.assert_allclose(after - before, 0.5 * step, rtol=0, atol=SAME_STEP)
    assert [record["selected_fraction"] for record in records] == [pytest.approx(4 / 24)] * 2
    if name == "kl-cov":
        chosen = torch.cat([part.inputs["coefficient"] for part in steps[1]])
        assert len(chosen.unique()) == 1
        assert float(chosen[0]) != two_processes.STEERED["coefficient"]


def test_two_ranks_watch_a_users_own_loss(two_ranks):
    """Diagnostics of a plain GRPOTrainer: gradients are averaged over ranks, rows lie on both."""
    found = torch.load(two_ranks / "diagnostics.pt", weights_only=True)
    before, after = (table.numpy() for table in found["tables"])
    states = [row[-1] for row in tabular_model()[1](list(PROMPTS)).input_ids]
    expected = entropy_change.first_order(before, after - before)[states].mean()
    (record,) = found["records"]
    assert abs(expected) > 1e-5
    assert record["forecast_entropy_change"] == pytest.approx(expected, abs=SAME_STEP)
    assert record["entropy"] == pytest.approx(policy.entropy(before)[states].mean(), abs=1e-12)
