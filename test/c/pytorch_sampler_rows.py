"""Rows of pytorch_matrix_job.py about data: which rank trains on which samples."""
import json

from pytorch_cases import eave, open_averager, refused, torch
from pytorch_models import network


def gather(lists):
    """Returns what all ranks give, in the order of ranks."""
    return json.loads("[" + ",".join(eave._ranks.texts_of_ranks(json.dumps(lists))) + "]")


def hold_each_sample_comes_once_in_the_order_of_eave_train():
    for length, batch_size in ((23, 4), (24, 3), (7, 2), (17, 8), (max(eave.size(), 2), 100)):
        sampler = eave.Sampler(length, batch_size, seed=5)
        for epoch in range(2):
            of_ranks = gather(list(sampler))
            assert {len(batches) for batches in of_ranks} == {len(sampler)} and all(each for row in of_ranks for each in row)
            order = [index for step in zip(*of_ranks) for batch in step for index in batch]
            assert sorted(order) == list(range(length)) and order == eave._sampler.shuffled(length, 5, epoch)
            assert all(len(batch) <= batch_size + 1 for row in of_ranks for batch in row)
    assert eave._sampler.shuffled(8, 1, 0) == [3, 1, 7, 5, 6, 0, 2, 4]  # as in test/data/sampler_test.cpp
    assert eave._sampler.shuffled(8, 1, 1) == [7, 4, 3, 6, 0, 2, 5, 1]


def hold_a_loader_goes_on_where_its_sampler_was_saved():
    data = torch.utils.data.TensorDataset(torch.arange(40.0))
    sampler = eave.Sampler(40, 3, seed=2)
    loader = torch.utils.data.DataLoader(data, batch_sampler=sampler)
    list(loader)
    batches, states = [], []
    for x, in loader:
        batches.append(x.int().tolist())
        states.append(sampler.state_dict())
    assert [sampler.state_dict(number + 1) for number in range(len(states))] == states
    for number, state in enumerate(states):
        again = eave.Sampler(40, 3, seed=9)
        again.load_state_dict(json.loads(json.dumps(state)))
        rest = [x.int().tolist() for x, in torch.utils.data.DataLoader(data, batch_sampler=again)]
        if number + 1 < len(states):
            assert rest == batches[number + 1:] and len(again) == len(states) and again.epoch == 1
        else:
            assert again.epoch == 2 and len(rest) == len(states)
    refused("39 samples, the dataset has 40", lambda: sampler.load_state_dict({**states[0], "length": 39}))


def hold_a_state_of_the_sampler_goes_on_with_other_numbers_of_ranks():
    order = eave._sampler.shuffled(40, 2, 1)
    sampler = eave.Sampler(40, 3)
    sampler.load_state_dict({"length": 40, "seed": 2, "epoch": 1, "samples": 15})
    of_ranks = gather(list(sampler))
    assert [index for step in zip(*of_ranks) for batch in step for index in batch] == order[15:]


def hold_fewer_samples_than_ranks_that_a_state_leaves_are_left_out():
    for left, epoch in ((eave.size() - 1, 1), (eave.size(), 0)):
        sampler = eave.Sampler(9, 1, seed=5)
        sampler.load_state_dict({"length": 9, "seed": 5, "epoch": 0, "samples": 9 - left})
        of_ranks = gather(list(sampler))
        assert all(each for row in of_ranks for each in row) and sampler.epoch == epoch, of_ranks


def hold_what_is_no_dataset_is_refused():
    for length, batch_size in ((0, 1), (5, 0), (5.0, 1)):
        refused("expected a whole number from 1 up", lambda: eave.Sampler(length, batch_size))
    refused("seed='x'; expected a whole number", lambda: eave.Sampler(10, 3, "x"))
    if eave.size() > 1:
        refused("expected at least one for each", lambda: eave.Sampler(eave.size() - 1, 1))


def hold_a_distributed_sampler_gives_each_rank_its_samples():
    data = torch.utils.data.TensorDataset(torch.randn(30, 4))
    sampler = torch.utils.data.DistributedSampler(data, eave.size(), eave.rank(), seed=3)
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    averager = open_averager(model, optimizer)
    seen = gather(list(sampler))
    assert sorted({index for row in seen for index in row}) == list(range(30))
    for x, in torch.utils.data.DataLoader(data, 5, sampler=sampler):
        optimizer.zero_grad()
        model(x).sum().backward()
        averager.step()
