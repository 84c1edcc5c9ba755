"""Trains a small PyTorch model by two methods, and records both runs in a directory: python_run_job.py DIRECTORY"""
import json
import math
import os
import pathlib
import sys
import warnings

import eave
import torch

STEPS, BATCH, SEED = 40, 8, 1


def refuse(call, code, words):
    try:
        call()
    except eave.Error as error:
        assert error.code == code and words in str(error), error
    else:
        sys.exit(f"this was not refused: {words}")


def train(averager, run, model, optimizer, x, y):
    for step in range(STEPS):
        first = (step * eave.size() + eave.rank()) * BATCH % len(x)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x[first:first + BATCH]), y[first:first + BATCH])
        loss.backward()
        averager.step()
        run.step(loss=loss)
        if (step + 1) % (STEPS // 2) == 0:
            with averager.consensus(), torch.no_grad():
                mean = float(torch.nn.functional.cross_entropy(model(x), y))
                run.evaluate(loss=mean, perplexity=math.exp(mean), validation_perplexity=math.exp(mean))


def train_in_turns(directory, x, y):
    """By a method with an asynchronous center, whose workers differ from it."""
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def score(scored):
        called.append(scored.weight.detach().clone())
        refuse(lambda: eave.sum_over_ranks([1.0]), 64, "each rank evaluates the whole test set in score")
        with torch.no_grad():
            return {"accuracy": (scored(x).argmax(1) == y).float().mean().requires_grad_()}

    called = []
    with eave.Averager(model, optimizer, "easgd-async", tau=4, async_order="round-robin", steps=STEPS) as averager, \
            eave.Run(directory, averager, batch=BATCH, train_samples=len(x)) as run:
        for step in range(STEPS):
            first = (step * eave.size() + eave.rank()) * BATCH % len(x)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x[first:first + BATCH]), y[first:first + BATCH]).backward()
            averager.step()
        refuse(lambda: run.evaluate_workers(lambda scored: {"perplexity": 1.0}), 64, "expected a dict with 'accuracy'")
        averager.save(directory)
        with averager.consensus():
            refuse(lambda: run.evaluate_workers(score), 64, "run.evaluate_workers within consensus()")
        run.evaluate_workers(score)
        center, mean, own = called
        assert torch.equal(own, model.weight) and not torch.equal(center, mean) and not torch.equal(own, mean)
        both = torch.tensor(eave.sum_over_ranks(own.flatten().tolist())) / eave.size()
        assert torch.allclose(both, mean.flatten(), atol=1e-6), (both, mean)


def train_with_a_break(directory, x, y):
    """An exception ends the first part after more steps than it saved. The second part takes these again, and the third,
    which has nothing left to do, ends the run as it was."""
    def train_part(end):
        torch.manual_seed(SEED)
        model = torch.nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with eave.Averager(model, optimizer, "easgd", tau=4) as averager:
            averager.load(directory)
            if averager.steps:
                refuse(lambda: eave.Run(directory, averager, overwrite=True), 64, "resume=True")
            with eave.Run(directory, averager, batch=BATCH, train_samples=len(x), resume=True) as run:
                for step in range(averager.steps + 1, end + 1):
                    optimizer.zero_grad()
                    loss = torch.nn.functional.cross_entropy(model(x[:BATCH]), y[:BATCH])
                    loss.backward()
                    averager.step()
                    run.step(loss=loss)
                    if step % 10 == 0:
                        averager.save(directory)
                        with averager.consensus():
                            run.evaluate(accuracy=step / 100)
                if end < STEPS:
                    raise KeyError("a break")

    for end in (STEPS // 2 + 3, STEPS, STEPS):
        try:
            train_part(end)
        except KeyError:
            assert end < STEPS


def load_while_recorded(directory):
    """The method would begin anew, and the run has recorded the old one."""
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        model(torch.ones(BATCH, 4)).sum().backward()
        averager.step()

    def record():
        with eave.Run(directory, averager, batch=BATCH):
            step()
            model.load_state_dict(model.state_dict())
            step()

    with eave.Averager(model, optimizer, "local-sgd", tau=2) as averager:
        refuse(record, 64, "load before eave.Run is opened")
        step()


def join_unequally(directory):
    """Of ranks that take steps independently, the second has fewer batches, and then none."""
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    called = []
    with eave.Averager(model, optimizer, "easgd-async", tau=2) as averager, \
            eave.Run(directory, averager, batch=BATCH, train_samples=8 * BATCH) as run:
        for batches in (5, 3), (4, 0):
            before = averager.steps
            with averager.join(after_step=lambda: called.append(1)):
                for _ in range(batches[eave.rank()]):
                    averager.begin_step(BATCH)
                    optimizer.zero_grad()
                    model(torch.ones(BATCH, 4)).pow(2).mean().backward()
                    averager.step()
            assert averager.steps - before == batches[eave.rank()] and not called, (averager.steps, called)
            with averager.consensus():
                run.evaluate(accuracy=0.5)


def fail_in_lines(directory):
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    try:
        with eave.Averager(model, optimizer) as averager, eave.Run(directory, averager):
            raise ValueError("first line\nsecond line")
    except ValueError:
        pass


def leave(directory):
    """Ends all further averagers of this job too. The save after the block belongs to the run."""
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with eave.Averager(model, optimizer) as averager:
        try:
            with eave.Run(directory, averager, batch=BATCH) as run:
                for step in range(1000):
                    optimizer.zero_grad()
                    model(torch.ones(BATCH, 4)).sum().backward()
                    averager.step()
                    if step == 3 and eave.rank() == 1:
                        eave.ask_to_leave()
            sys.exit("no rank has left")
        except eave.Leaving:
            refuse(lambda: run.step(loss=1.0), 64, "this run is closed")
            averager.save(directory)


def change_folder(directory):
    """A relative path holds although the program goes elsewhere before the run ends. The metric has the name of a loss."""
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    here = os.getcwd()
    os.chdir(directory.parent)
    with eave.Averager(model, optimizer) as averager, \
            eave.Run(directory.name, averager, metric="validation_loss", better="lower") as run:
        os.chdir(here)
        model(torch.ones(BATCH, 4)).square().mean().backward()
        averager.step()
        with averager.consensus():
            refuse(lambda: run.evaluate(validation_loss=10**400), 64, "run.evaluate: validation_loss: expected a number")
            run.evaluate(loss=0.5, validation_loss=0.25)
    evaluation = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    assert evaluation["test_score"] == 0.25, evaluation


def main():
    warnings.filterwarnings("error", message="Converting a tensor with requires_grad")
    torch.manual_seed(SEED)
    x = torch.randn(256, 4)
    y = (x.sum(1) > 0).long()
    for communicator in ("allreduce", "easgd"):
        model = torch.nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        directory = pathlib.Path(sys.argv[1]) / communicator
        with eave.Averager(model, optimizer, communicator) as averager:
            with eave.Run(directory, averager, metric="perplexity", better="lower", batch=BATCH, train_samples=len(x),
                          data="halves", config={"seed": SEED, "note": "two words", "schedule": "cosine", "model": "Linear", "optimizer": "mine"}) as run:
                train(averager, run, model, optimizer, x, y)
                refuse(lambda: run.evaluate(perplexity=1.0), 64, "within `with averager.consensus():`")
                refuse(lambda: run.step(loss=torch.ones(2)), 64, "run.step: loss: expected a number, found 'tensor([1., 1.])'")
                with averager.consensus():
                    refuse(lambda: run.evaluate(accuracy=1.0), 64, "expected perplexity=...")
                    refuse(lambda: run.evaluate(perplexity="x"), 64, "run.evaluate: perplexity: expected a number, found 'x'")
                    refuse(lambda: run.evaluate(perplexity=1.0, validation_loss=1.0), 64, "without validation_perplexity")
            refuse(lambda: run.step(loss=1.0), 64, "this run is closed")
            refuse(lambda: eave.Run(directory, averager, config={3: 4}), 64, "expected a dict whose keys are names")
            refuse(lambda: eave.Run(directory, averager, config=[1]), 64, "config=[1]; expected a dict")
            refuse(lambda: eave.Run(directory, averager, config={"x=y": 1}), 64, "config={'x=y': ...}: expected a name in one line")
            refuse(lambda: eave.Run(directory, averager, data="a\ud800"), 64, r"data=a\ud800: expected text that UTF-8 can hold")
            refuse(lambda: eave.Run(directory, averager, data="a\0b"), 64, r"data=a\x00b: expected text without a zero byte")
            refuse(lambda: eave.Run("a\ud800", averager), 64, r"run_dir=a\ud800; expected a path in UTF-8")
            refuse(lambda: eave.Run(directory, averager, every=0), 64, "settings of the run: every=0: expected a whole number")
            refuse(lambda: eave.Run("a\0b", averager), 64, r"run_dir=a\x00b; expected a path in UTF-8")
            refuse(lambda: eave.Run(3, averager), 64, "run_dir=3; expected a path in UTF-8")
            refuse(lambda: eave.Run(directory, averager), 73, "is not empty; choose another directory, or pass resume=True")
    train_in_turns(pathlib.Path(sys.argv[1]) / "in-turns", x, y)
    train_with_a_break(pathlib.Path(sys.argv[1]) / "break", x, y)
    join_unequally(pathlib.Path(sys.argv[1]) / "unequal")
    fail_in_lines(pathlib.Path(sys.argv[1]) / "lines")
    load_while_recorded(pathlib.Path(sys.argv[1]) / "loaded")
    change_folder(pathlib.Path(sys.argv[1]).resolve() / "elsewhere")
    leave(pathlib.Path(sys.argv[1]) / "left")


main()
