"""Guards llm_bridge/objective/batches.py: states, and the table that rules read."""

import torch

from entropy_theory.token_batch import TokenBatch
from llm_bridge.objective import batches


def test_many_prefixes_have_many_states():
    """A weak hash (of the token's low bits, say) would collide here."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, 2**17, (20000, 3), generator=generator)
    states = batches.prefix_states(ids, torch.ones_like(ids))[:, -1]
    assert len(states.unique()) == len(torch.unique(ids, dim=0))


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
    batch: TokenBatch = batches.token_batch(columns, zeros, zeros, step=0, seed=0)
    # Those columns are the ones that are sent between ranks once a row.
    assert {name for name, column in columns.items() if column.ndim == 1} == {*batches.OF_A_SEQUENCE}
    for name in batches.OF_A_SEQUENCE:
        assert torch.equal(getattr(batch, name), columns[name][:, None].expand(3, 3)), name
