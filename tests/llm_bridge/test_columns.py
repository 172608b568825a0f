"""Guards llm_bridge/trainer/columns.py, objective/batches.py: what rules read of TRL's rows, by hand."""

import itertools
from types import SimpleNamespace

import pytest
import torch

from entropy_theory import update_rules
from llm_bridge.objective import batches
from llm_bridge.objective.batches import prefix_states
from llm_bridge.trainer import columns as made_columns
from llm_bridge.trainer.columns import Place, target_offsets, token_weights, with_rule_columns

PLACE = Place(rank=1, ranks=2, rows=6, group_size=2)
"""The second of two ranks; of its six rows four are here."""
NAN = float("nan")


def ranks(*others: int) -> SimpleNamespace:
    """An accelerator that gathers this rank's number after those of others."""
    return SimpleNamespace(gather=lambda own: torch.stack([*map(torch.tensor, others), own]))


def trl_columns() -> dict[str, torch.Tensor]:
    """Prompts padded on the left, completions on the right."""
    return {
        "prompt_ids": torch.tensor([[0, 5], [0, 5], [5, 6], [5, 6]]),
        "prompt_mask": torch.tensor([[0, 1], [0, 1], [1, 1], [1, 1]]),
        "completion_ids": torch.tensor([[7, 8, 9], [7, 8, 0], [7, 0, 0], [8, 9, 0]]),
        "completion_mask": torch.tensor([[1, 1, 1], [1, 1, 0], [1, 0, 0], [1, 1, 0]]),
        "num_items_in_batch": torch.tensor(8),
        "advantages": torch.zeros(4),
    }


def found(**changes):
    arguments = {
        "rewards": torch.tensor([[1.0, NAN], [NAN, NAN], [0.5, 2.0], [0.0, NAN]]),
        "reward_weights": torch.tensor([2.0, 10.0]), "temperature": 1.25, "tempered": False,
        "place": PLACE, "accelerator": ranks(4),
    } | changes
    return with_rule_columns(arguments.pop("columns", trl_columns()), **arguments)


def test_rows_are_numbered_among_those_of_all_ranks():
    """The second batch goes on after the first of all ranks; its groups are the same prompts."""
    first, second = found(), found(tempered=True)
    assert first["sequence"].tolist() == [6, 7, 8, 9]
    assert second["sequence"].tolist() == [18, 19, 20, 21]
    for columns in (first, second):
        assert columns["group"].tolist() == [3, 3, 4, 4]
        assert columns["sampling_temperature"].tolist() == [1.25] * 4
        assert columns["sampling_temperature"].dtype == torch.float64
    assert first["tempered"].tolist() == [False] * 4
    assert second["tempered"].tolist() == [True] * 4


def test_rewards_are_summed_and_rows_that_none_judged_left_out():
    """Half-judged rows count with what there is; the weight is one over the tokens of all ranks."""
    columns = found()
    assert columns["reward"].tolist() == [2.0, 0.0, 21.0, 0.0]
    # 3 + 1 + 2 tokens here, 4 on the other rank.
    mask = [[1, 1, 1], [0, 0, 0], [1, 0, 0], [1, 1, 0]]
    assert columns["mask"].tolist() == [[bool(x) for x in row] for row in mask]
    assert columns["usable_tokens"].item() == 10
    assert torch.equal(columns["weight"], torch.tensor(mask).double() / 10)


def test_what_a_tool_said_is_left_out():
    columns = trl_columns() | {"tool_mask": torch.tensor([[1, 0, 1], [1, 1, 0], [1, 1, 1], [0, 1, 1]])}
    assert found(columns=columns)["mask"].int().tolist() == [[1, 0, 1], [0, 0, 0], [1, 0, 0], [0, 1, 0]]


def test_a_batch_without_tokens_weighs_nothing():
    """Not 0/0: ranks with nothing to learn from still take part."""
    columns = token_weights(torch.zeros(2, 3, dtype=torch.bool), ranks(0))
    assert columns["usable_tokens"].item() == 0
    assert torch.equal(columns["weight"], torch.zeros(2, 3, dtype=torch.float64))
    one = token_weights(torch.tensor([[True, False]]), ranks())
    assert one["weight"].tolist() == [[1.0, 0.0]]


def test_a_token_s_state_is_all_that_came_before_it():
    """The prompt without its padding and the completion so far; an answer is all of both."""
    columns = found()
    tokens = [[5, 7, 8, 9], [5, 7, 8], [5, 6, 7], [5, 6, 8, 9]]
    prompts = [1, 1, 2, 2]
    for row, (line, prompt) in enumerate(zip(tokens, prompts, strict=True)):
        alone = prefix_states(torch.tensor([line]), torch.ones(1, len(line)))[0]
        assert columns["state"][row, : len(line) - prompt].tolist() == alone[prompt:-1].tolist()
        assert columns["answer"][row] == alone[-1]


OF_ALL = update_rules.get("entropy-bonus", target=2.0)
OF_EACH = update_rules.get("entropy-bonus", target=2.0, prompt_gain=1.5)


def test_whether_there_is_a_column_hangs_on_the_rule_alone():
    """Else one rank might gather a column that another does not have."""
    bare = [{"prompt": "2="}]
    for rule in (OF_EACH, OF_ALL, update_rules.get("entropy-bonus", prompt_gain=1.0),
                 update_rules.get("clip-cov", base=OF_EACH)):
        assert target_offsets(bare, rule).tolist() == [0.0]
    for rule in (update_rules.get("grpo"), update_rules.get("entropy-bonus"), update_rules.get("aent")):
        assert target_offsets(bare, rule) is None


def test_many_prefixes_have_many_states():
    """A weak hash (of the token's low bits, say) would collide here."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, 2**17, (20000, 3), generator=generator)
    states = prefix_states(ids, torch.ones_like(ids))[:, -1]
    assert len(states.unique()) == len(torch.unique(ids, dim=0))


def test_the_same_tokens_in_another_order_are_another_state():
    """A sum over tokens may forget their places; words of Thue and Morse confuse powers of a base."""
    orders = torch.tensor(list(itertools.permutations(range(5))))
    assert len(prefix_states(orders, torch.ones_like(orders))[:, -1].unique()) == len(orders)
    word = torch.tensor([0])
    for _ in range(12):
        word = torch.cat([word, 1 - word])
    pair = torch.stack([word, 1 - word])
    assert len(prefix_states(pair, torch.ones_like(pair))[:, -1].unique()) == 2


def test_what_belongs_to_a_sequence_is_at_all_its_positions():
    """Rules read it at the first one, whether that is masked or not."""
    mask = torch.tensor([[False, True, True], [True, True, False], [False, False, False]])
    columns = {
        "mask": mask, "weight": mask / 4.0, "reward": torch.tensor([1.0, 0.0, 0.5]),
        "group": torch.tensor([0, 0, 1]), "sequence": torch.tensor([4, 5, 6]),
        "coefficient": torch.tensor([0.1, 0.2, 0.3]), "tempered": torch.tensor([False, True, False]),
        "target_offset": torch.tensor([0.3, 0.0, -0.3]),
        "sampling_temperature": torch.tensor([1.0, 1.2, 1.0]),
        "state": torch.zeros(3, 3, dtype=torch.long),
        "completion_ids": torch.zeros(3, 3, dtype=torch.long),
    }
    zeros = torch.zeros(3, 3)
    batch = batches.token_batch(columns, zeros, zeros, step=0, seed=0)
    # Those columns are the ones that are sent between ranks once a row.
    assert {name for name, column in columns.items() if column.ndim == 1} == {*batches.OF_A_SEQUENCE}
    for name in batches.OF_A_SEQUENCE:
        assert torch.equal(getattr(batch, name), columns[name][:, None].expand(3, 3)), name


def test_ranks_and_micro_batches_get_their_own_rows_of_what_is_prepared():
    """Of twelve rows this rank, the second of three, has four in the middle, of at most two tokens."""
    numbers = torch.arange(36).reshape(12, 3)
    rule = SimpleNamespace(prepare=lambda world: SimpleNamespace(prepared={"number": numbers}))
    parts = [{"mask": torch.ones(rows, 2).bool(), "step": torch.tensor(3)} for rows in (1, 3)]
    columns = made_columns.whole(parts)
    assert columns.keys() == {"mask"}
    made_columns.prepare(rule, columns, None, rank=1)
    assert columns[batches.PREPARED + "number"].tolist() == numbers[4:8, :2].tolist()
    made_columns.deal_out(columns, parts)
    assert [part[batches.PREPARED + "number"].tolist() for part in parts] == [
        numbers[4:5, :2].tolist(), numbers[5:8, :2].tolist()]


@pytest.mark.parametrize("is_unscored", [False, True])
def test_what_is_not_scored_is_sent_once_a_row(is_unscored):
    """And what is scored token by token."""
    rows = found() | {"old_log_prob": torch.zeros(4, 3), "state": torch.zeros(4, 3, dtype=torch.long)}
    scores = torch.arange(12.0).reshape(4, 3)
    world = made_columns.world_batch(
        rows, {"log_prob": scores, "entropy": scores}, step=0, seed=0,
        accelerator=SimpleNamespace(num_processes=2, gather=lambda own: own),
        **({"is_unscored": True} if is_unscored else {}))
    assert torch.equal(world.log_prob, scores[:, :1].expand(4, 3) if is_unscored else scores)
    assert torch.equal(world.entropy, world.log_prob)
