"""A training for eave compare --program, without PyTorch: quadratic.py [WHAT-GOES-WRONG]

Each rank pulls three numbers to noisy targets. With an argument it does something that compare must tell of.
"""
import array
import os
import random
import sys
import time

import eave

WRONG = sys.argv[1] if len(sys.argv) > 1 else ""
TARGET = [1.0, -2.0, 3.0]


def score(values):
    return 1 / (1 + sum((value - target) ** 2 for value, target in zip(values, TARGET)))


def batch_of(plan):
    if WRONG == "batch" or (WRONG == "batch-of-rank-1" and eave.rank() == 1):
        return 3
    if WRONG == "read-batch":
        print(f"batch {plan.batch}")
    return 0 if WRONG in ("no-batch", "read-batch") else plan.batch


def steps_of(plan):
    return {"too-long": range(24), "too-short": range(3)}.get(WRONG, plan)


def train(averager, run, x, g, plan):
    noise = random.Random(eave.rank() + (0 if WRONG == "no-seed" else 1000 * plan.seed))
    for _ in steps_of(plan):
        averager.begin_step(plan.lr)
        for k, target in enumerate(TARGET):
            g[k] = x[k] - target + noise.gauss(0, 0.5)
        run.step(loss=sum(gradient ** 2 for gradient in g))
        if averager.before_update():
            for k in range(len(x)):
                x[k] -= plan.lr * g[k]
        averager.after_update()


def main():
    if WRONG == "no-plan":
        eave.VectorAverager(array.array("f", [0.0]), array.array("f", [0.0]))
    plan = eave.plan(lr=0.1, steps=20, batch=1)
    if not WRONG.startswith("too-"):
        print(f"seed {1 if WRONG == 'no-seed' else plan.seed}, lr {plan.lr}, steps {plan.steps}, seconds {plan.seconds}", flush=True)
    if WRONG == "error":
        raise ValueError("a mistake of its own")
    if WRONG == "hang" or (WRONG == "wait-on-seed-2" and plan.seed == 2 and not os.path.exists("go")):
        time.sleep(60)
    if WRONG == "no-averager":
        return
    x, g, consensus = (array.array("f", [0.0] * len(TARGET)) for _ in range(3))
    name, options = "easgd" if WRONG == "names" else None, {"tau": 5} if WRONG == "tau" else {}
    batch = batch_of(plan)
    with eave.VectorAverager(x, g, name, **options) as averager:
        if WRONG == "no-run":
            return
        with eave.Run("alone", averager, batch=batch, train_samples=100, overwrite=True) as run:
            train(averager, run, x, g, plan)
            averager.consensus(consensus)
            if WRONG == "diverge" and plan.lr > 0.4:
                raise eave.Error(76, "training diverged: said by the script")
            validation = {} if WRONG == "no-validation" else {"validation_accuracy": score(consensus)}
            if WRONG != "no-evaluation":
                run.evaluate(loss=0.5, accuracy=score(consensus), **validation)
        if WRONG == "two-runs":
            eave.Run("second", averager, batch=batch, overwrite=True)


main()
