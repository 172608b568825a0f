"""Guards what becomes of the trainer's arguments: streams, evaluation, a user's own sampling, images."""


import inspect

import datasets
import pytest
import trl

from entropy_theory import update_rules
from llm_bridge.trainer import trl_options
from tests.llm_bridge.language_models import PROMPTS, low_digit, tabular, tabular_trainer


def made(folder, train, **options):
    """A trainer of two steps on the tabular policy, three prompts each."""
    return tabular_trainer(folder, update_rules.get("grpo"), steps=2, train_dataset=train, **options)


def texts(prompts=PROMPTS * 2):
    return datasets.Dataset.from_dict({"prompt": list(prompts)})


def test_every_argument_of_trls_trainer_is_on_the_page():
    names = list(inspect.signature(trl.GRPOTrainer.__init__).parameters)
    assert set(names) - {"self", "args"} == set(trl_options.TRAINER_ARGUMENTS)


def test_a_stream_of_prompts_trains_as_the_dataset_does(tmp_path):
    """To the last digit: groups kept together, in the same order."""
    plain = made(tmp_path, texts())
    plain.train()
    streamed = made(tmp_path, texts().to_iterable_dataset())
    streamed.train()
    assert streamed.model.table.weight.equal(plain.model.table.weight)
    assert not streamed.model.table.weight.equal(tabular()[0].table.weight)


def test_an_evaluation_judges_and_trains_nothing(tmp_path):
    trainer = made(tmp_path, texts(), eval_dataset=texts(("4", "5")), per_device_eval_batch_size=16,
                   eval_strategy="steps", eval_steps=1)
    before = trainer.model.table.weight.detach().clone()
    found = trainer.evaluate()
    assert 0 <= found["eval_reward"] <= 1
    assert trainer.model.table.weight.equal(before)
    trainer.train()
    evaluated = [entry["step"] for entry in trainer.state.log_history if "eval_reward" in entry]
    assert evaluated[-2:] == [1, 2]


def test_a_users_own_sampling_is_what_is_judged_and_trained_on(tmp_path, monkeypatch):
    """Completions of every second prompt right, whatever the policy would draw."""
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    drawn, judged = [], []

    def rollout(prompts, trainer):
        tokenizer = trainer.processing_class
        drawn.extend("17"[index % 2] for index in range(len(prompts)))
        ids = [tokenizer.encode(text, add_special_tokens=False) for text in drawn[-len(prompts):]]
        return {"prompt_ids": [tokenizer.encode(prompt, add_special_tokens=False) for prompt in prompts],
                "completion_ids": ids, "logprobs": [[0.0]] * len(prompts)}

    def reward(prompts, completions, **_):
        judged.extend(completions)
        return low_digit(prompts, completions)

    trainer = made(tmp_path, texts(), reward=reward, rollout_func=rollout)
    before = trainer.model.table.weight.detach().clone()
    trainer.train()
    assert judged == drawn
    assert len(drawn) == 48
    moved = (trainer.model.table.weight.detach() - before).sum(0)
    one, seven = trainer.processing_class.convert_tokens_to_ids(["1", "7"])
    assert moved[one] == moved.max() > 0 > moved.min() == moved[seven]


WITH_IMAGE = [{"role": "user", "content": [
    {"type": "text", "text": "1"}, {"type": "image", "text": None}]}]


@pytest.mark.parametrize("is_stream", [False, True])
def test_images_inside_messages_are_refused(tmp_path, is_stream):
    """A tokenizer would spell them out as text; of a stream before anything of it is drawn."""
    data = datasets.Dataset.from_dict({"prompt": [WITH_IMAGE] * 6})
    with pytest.raises(ValueError, match=r"prompt of train_dataset has an image .* model's processor"):
        made(tmp_path, data.to_iterable_dataset() if is_stream else data).train()
