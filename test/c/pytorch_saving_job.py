"""A rank that trains with each of some methods, saves, is killed, and goes on in another job.

    pytorch_saving_job.py WHAT FOLDER     WHAT: interrupted | resumed | more-ranks; the jobs follow each other
                                          or one-loads
"""
import os
import pathlib
import signal
import shutil
import sys

from pytorch_cases import eave, open_averager, refused, torch

SAVED, KILLED, STEPS = 9, 11, 14
NESTEROV = (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True})
ADAM = (torch.optim.AdamW, {"lr": 0.02})
METHODS = [("allreduce", ADAM, {}), ("easgd", NESTEROV, {"tau": 4}), ("diloco", ADAM, {"tau": 4}),
           ("local-sgd", NESTEROV, {"tau": 4, "compression": "int8"})]


class Training:
    """A model with dropout, whose bits depend on random numbers, with batch norm and a schedule."""

    def __init__(self, method, seed=None):
        name, (kind, settings), options = method
        torch.manual_seed(eave.rank() if seed is None else seed)
        self.model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.2),
                                         torch.nn.Linear(8, 3))
        self.optimizer = kind(self.model.parameters(), **settings)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, STEPS)
        self.averager = open_averager(self.model, self.optimizer, name, **options)

    def run(self, until):
        while self.averager.steps < until:
            numbers = torch.Generator().manual_seed(1000 * eave.rank() + self.averager.steps)
            x, y = torch.randn(6, 4, generator=numbers), torch.randint(3, (6,), generator=numbers)
            self.optimizer.zero_grad()
            torch.nn.functional.cross_entropy(self.model(x), y).backward()
            self.averager.step()
            self.scheduler.step()

    def center(self):
        with self.averager.consensus():
            return torch.nn.utils.parameters_to_vector(self.model.parameters()).detach().clone()

    def values(self):
        """All that must be the same bits: model, statistics, the optimizer's state, and the center."""
        moments = [each for state in self.optimizer.state_dict()["state"].values() for each in state.values()]
        return [*(each.clone() for each in self.model.state_dict().values()), *moments, self.center()]


def file_of(folder, number, what):
    return folder / f"{METHODS[number][0]}-{what}-{eave.rank()}.pt"


def interrupted(folder):
    for number, method in enumerate(METHODS):
        straight = Training(method)
        straight.run(STEPS)
        torch.save(straight.values(), file_of(folder, number, "straight"))
        straight.averager.close()
        training = Training(method)
        training.run(SAVED)
        training.averager.save(folder / method[0], scheduler=training.scheduler.state_dict())
        torch.save({"model": training.model.state_dict(), "optimizer": training.optimizer.state_dict(),
                    "averager": training.averager.state_dict(), "scheduler": training.scheduler.state_dict(),
                    "random": torch.get_rng_state()}, file_of(folder, number, "saved"))
        torch.save(training.center(), file_of(folder, number, "center"))
        training.run(KILLED)
        if number + 1 == len(METHODS) and eave.rank() == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        training.run(KILLED + 1)
        training.averager.close()
    raise AssertionError("a rank was to be killed")


def hold_same_bits(training, folder, number, how):
    expected = torch.load(file_of(folder, number, "straight"))
    got = training.values()
    assert len(got) == len(expected) and all(map(torch.equal, got, expected)), f"{METHODS[number][0]}, {how}: other bits"
    training.averager.close()


def load_from_files_of_ranks(training, folder, number):
    saved = torch.load(file_of(folder, number, "saved"))
    training.model.load_state_dict(saved["model"])
    training.optimizer.load_state_dict(saved["optimizer"])
    training.scheduler.load_state_dict(saved["scheduler"])
    torch.set_rng_state(saved["random"])
    training.averager.load_state_dict(saved["averager"])


def backwards(parameters, **settings):
    return torch.optim.AdamW(list(parameters)[::-1], **settings)


def refuse_other_models(folder):
    """Models and optimizers that take the averaged values, but not the rest. Afterwards the averager is of no use."""
    for name, shape, words in (("extra", 2, "its 'extra' is missing, this model's is of shape (2,)"),
                               ("running_mean", 9, "its '1.running_mean' is of shape (8,), this model's is of shape (9,)")):
        training = Training(METHODS[0])
        (training.model[1] if name == "running_mean" else training.model).register_buffer(name, torch.zeros(shape))
        refused(words, lambda: training.averager.load(folder / "allreduce"), code=78)
        refused("close() this Averager and make a new one", training.averager.state_dict)
        training.averager.close()
    training = Training(("allreduce", (backwards, ADAM[1]), {}))
    refused("parameter 0 in group 0 of its optimizer is '0.weight', here '3.bias'",
            lambda: training.averager.load(folder / "allreduce"), code=78)
    training.averager.close()


def refuse_other_places(folder):
    """A job that finds no checkpoint begins anew."""
    training = Training(METHODS[0])
    for place in ("checkpoint", f"checkpoint/step-{SAVED:06}"):
        refused(f"given to save(): '{folder / 'allreduce'}'", lambda: training.averager.load(folder / "allreduce" / place))
    refused("load: run_dir='x\\x00y'; expected a path", lambda: training.averager.load("x\0y"))
    training.run(1)
    refused("save: run_dir='x\\x00y'; expected a path", lambda: training.averager.save("x\0y"))
    training.averager.close()


def resumed(folder):
    for number, method in enumerate(METHODS):
        training = Training(method, seed=7)
        assert training.averager.load(folder / "none") is None
        training.scheduler.load_state_dict(training.averager.load(folder / method[0])["scheduler"])
        assert training.averager.steps == SAVED
        training.run(STEPS)
        hold_same_bits(training, folder, number, "from the checkpoint")
        training = Training(method, seed=8)
        load_from_files_of_ranks(training, folder, number)
        training.run(STEPS)
        hold_same_bits(training, folder, number, "from the files of ranks")
    anew = Training(METHODS[0])
    anew.run(1)
    if eave.rank() == 0:
        shutil.copytree(folder / "allreduce", folder / "of-another-job")
    eave.sum_over_ranks([0])
    refused("which this job has not loaded", lambda: anew.averager.save(folder / "of-another-job"))
    anew.averager.close()
    training = Training(METHODS[1])
    refused("expected tensors, numbers, text", lambda: training.averager.save(folder, extra=object()))
    refuse_other_models(folder)
    refuse_other_places(folder)
    refused("tau=4", lambda: Training(("easgd", NESTEROV, {"tau": 5})).averager.load(folder / "easgd"), code=78)
    print("resumed", flush=True)
    if eave.rank() == 0:
        load_from_files_of_ranks(training, folder, 1)  # on one rank only: the job ends
    training.run(STEPS)


def more_ranks(folder):
    for number, method in enumerate(METHODS):
        saved = [torch.load(folder / f"{method[0]}-saved-{rank}.pt")["averager"] for rank in range(2)]
        center = torch.load(folder / f"{method[0]}-center-0.pt")
        training, other = Training(method, seed=7), Training(method, seed=8)
        training.averager.load(folder / method[0])
        assert torch.equal(training.center(), center), method[0]
        is_new = eave.rank() == 2 or method[0] == "local-sgd"
        assert bool(training.optimizer.state) != (is_new and method[0] != "allreduce"), method[0]
        refused("missing", lambda: other.averager.load_state_dict(saved[:1]))
        other.averager.load_state_dict(saved)
        assert torch.equal(other.center(), center), method[0]
        training.run(STEPS)
        training.averager.close()
        other.averager.close()
    print("resumed", flush=True)


def one_loads(_folder):
    """Only the first step of this method waits for other ranks."""
    method = ("easgd-async", NESTEROV, {"tau": 4})
    training = Training(method)
    training.run(SAVED)
    state = training.averager.state_dict()
    training.averager.close()
    training = Training(method)
    if eave.rank() == 0:
        training.averager.load_state_dict(state)
    training.run(STEPS)
    training.center()


if __name__ == "__main__":
    jobs = {"interrupted": interrupted, "resumed": resumed, "more-ranks": more_ranks, "one-loads": one_loads}
    jobs[sys.argv[1]](pathlib.Path(sys.argv[2]))
