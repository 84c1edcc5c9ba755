"""A rank that is asked to leave, and goes on in another job with the bits of a loop that nobody interrupts.

    pytorch_leaving_job.py leaves FOLDER CASE        trains to the end, then again until it leaves with code 75
    pytorch_leaving_job.py returns FOLDER CASE...    goes on with each of them, and compares
"""
import copy
import sys
import time

from pytorch_cases import eave, torch

STEPS, LEFT = 14, 8  # a rank is asked to leave in this step


def make_model(inputs, outputs):
    return torch.nn.Sequential(torch.nn.Linear(inputs, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.2),
                               torch.nn.Linear(8, outputs))


class Training:
    """Dropout and the order of the evaluation take PyTorch's random numbers; a Sampler has the order of the batches."""
    method, options = "easgd", {"tau": 3}

    def __init__(self):
        torch.manual_seed(eave.rank())
        self.model = make_model(4, 3)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, 0.2, total_steps=STEPS)
        self.mean = torch.optim.swa_utils.AveragedModel(self.model)
        self.averager = eave.Averager(self.model, self.optimizer, self.method, **self.options)
        self.averagers = [self.averager]
        self.examples = torch.utils.data.DataLoader(torch.randn(8, 4, generator=torch.Generator().manual_seed(1)), shuffle=True)
        self.sampler = eave.Sampler(54 * eave.size(), 6)  # epochs of 9 steps
        self.data = torch.randn(self.sampler.length, 4, generator=torch.Generator().manual_seed(2))
        self.batches = self.draw()

    def draw(self):
        while True:
            for batch in self.sampler:
                yield self.data[batch]

    def go_on(self, folder):
        extra = self.averager.load(folder)
        for name, part in self.parts().items():
            part.load_state_dict(extra[name])

    def save(self, folder):
        self.averager.save(folder, **{name: part.state_dict() for name, part in self.parts().items()})

    def parts(self):
        return {"scheduler": self.scheduler, "mean": self.mean, "sampler": self.sampler}

    def step(self, number):
        batch = next(self.batches)
        for _ in range(2):
            (self.compute(batch).square().mean() / 2).backward()
        if self.averager.average_gradients():
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.averager.step()

    def compute(self, x):
        return self.model(x)

    def end_step(self):
        self.optimizer.zero_grad()
        self.scheduler.step()
        self.mean.update_parameters(self.model)
        self.evaluate()

    def evaluate(self):
        with self.averager.consensus() as model:
            self.sum = sum(model(torch.cat([x, x])).sum().item() for x in self.examples)

    def train(self, asks=False):
        for number in range(self.averager.steps, STEPS):
            if number >= LEFT and asks:
                ask()
            self.step(number)
            self.end_step()

    def values(self):
        kept = [self.model.state_dict(), torch.get_rng_state(), *(part.state_dict() for part in self.parts().values())]
        with self.averager.consensus():
            kept.append(copy.deepcopy(self.model.state_dict()))
        return kept

    def close(self):
        for averager in self.averagers:
            averager.close()


class Compiled(Training):
    """The step begins in step(), after the model has computed. A GradScaler changes its scale after the step."""
    method, options = "allreduce", {}

    def __init__(self):
        super().__init__()
        self.scaler = torch.amp.GradScaler("cpu", growth_interval=3)
        self.compute = torch.compile(self.model, backend="eager")

    def parts(self):
        return {**super().parts(), "scaler": self.scaler}

    def step(self, number):
        self.scaler.scale(self.compute(torch.randn(6, 4)).square().mean()).backward()
        self.scaler.step(self.averager)
        self.scaler.update()


class Gan(Training):
    """Two steps of the discriminator for each of the generator, whose averager is opened before and hears the signal."""
    options = {"tau": 3, "leave_on": None}

    def __init__(self):
        torch.manual_seed(7)
        self.generator = make_model(2, 4)
        self.generator_optimizer = torch.optim.Adam(self.generator.parameters(), lr=0.05)
        first = eave.Averager(self.generator, self.generator_optimizer, "local-sgd", tau=2)
        super().__init__()
        self.averagers.append(first)

    def go_on(self, folder):
        super().go_on(f"{folder}/discriminator")
        self.averagers[1].load(f"{folder}/generator")
        assert self.averager.steps == 2 * self.averagers[1].steps, "left within an iteration"

    def save(self, folder):
        super().save(f"{folder}/discriminator")
        self.averagers[1].save(f"{folder}/generator")

    def step(self, number):
        noise = self.generator(torch.randn(6, 2))
        (self.model(torch.randn(6, 4)) - self.model(noise.detach())).square().mean().backward()
        self.averager.step()
        if number % 2:
            self.generator_optimizer.zero_grad()
            self.model(self.generator(torch.randn(6, 2))).square().mean().backward()
            self.averagers[1].step()

    def values(self):
        return [*super().values(), self.generator.state_dict()]


class Phases(Gan):
    """The generator's first step comes after more steps of the discriminator than the ranks wait for."""
    go_on, save = Training.go_on, Training.save

    def train(self, asks=False):
        for number in range(self.averager.steps, 300):
            if number == LEFT and asks:
                ask()
            self.optimizer.zero_grad()
            self.model(torch.randn(6, 4)).square().mean().backward()
            self.averager.step()


class Anew(Training):
    """A rank is asked to leave in the last step of an averager, and the program opens another one."""

    def train(self, asks=False):
        if asks:
            while not self.averager.leaving:
                ask()
                self.step(0)
            self.close()
            self.__init__()
        super().train()


class Joined(Training):
    """The last rank has no more data when all leave."""

    def train(self, asks=False):
        has_data = STEPS if eave.rank() == 0 else LEFT
        with self.averager.join(after_step=self.end_step):
            for number in range(self.averager.steps, has_data):
                if number >= LEFT - 1 and asks:
                    ask()
                self.step(number)
                self.end_step()

    def step(self, number):
        self.compute(torch.randn(6, 4)).square().mean().backward()
        self.averager.step()

    def evaluate(self):
        pass  # join() refuses it


def ask():
    """Gives the ranks time to agree after which step they leave, which takes longer than these steps."""
    if eave.rank() == 0:
        eave.ask_to_leave()
    time.sleep(0.1)


def is_same(one, other):
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_same(each, other[name]) for name, each in one.items())
    return all(map(is_same, one, other)) if isinstance(one, (list, tuple)) else one == other


def leave(training, folder, file):
    training.train()
    torch.save(training.values(), file)
    training.close()
    training = type(training)()
    try:
        training.train(asks=True)
    except eave.Leaving:
        training.save(folder)
        print(f"rank {eave.rank()} leaves after step {training.averager.steps}", flush=True)
        raise
    raise AssertionError("nobody leaves")


def go_on(training, folder, file):
    training.go_on(folder)
    training.train()
    for number, (one, other) in enumerate(zip(torch.load(file, weights_only=False), training.values())):
        assert is_same(one, other), f"rank {eave.rank()}: other bits in part {number} of {folder}\n{one}\n{other}"
    training.close()
    print(f"rank {eave.rank()} returns")


def main():
    kinds = {"plain": Training, "compiled": Compiled, "gan": Gan, "phases": Phases, "anew": Anew, "joined": Joined}
    for case in sys.argv[3:]:
        folder = f"{sys.argv[2]}/{case}"
        do = leave if sys.argv[1] == "leaves" else go_on
        do(kinds[case](), folder, f"{folder}/straight-{eave.rank()}.pt")


main()
