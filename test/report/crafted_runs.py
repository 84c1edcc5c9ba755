#!/usr/bin/env python3
"""Writes directories of crafted runs, whose reports have been wrong or could be: crafted_runs.py DIRECTORY [CASE...]

Each case is a directory of run directories, each with a metrics.jsonl (src/report/FORMATS.md). eave report reads them.
"""
import json
import math
import pathlib
import random
import sys

TRAIN_SAMPLES, BATCH, TEST_SAMPLES = 6000, 10, 1000
METHODS = {"allreduce": (0.92, 100.0, 4e8), "easgd": (0.93, 60.0, 1e8), "local-sgd": (0.91, 55.0, 4e7)}
ACCURACY = {"format": 1}


def header_of(method, ranks, seed, settings, form):
    config = {"communicator": method, "batch": str(BATCH), "lr": "0.1", "data": "digits", "batch-means": "per-rank",
              "model": "mlp", "ranks": str(ranks), "seed": str(seed), "threads": "2", "epochs": "1", **settings}
    if method == "easgd":
        config.update(tau="10", alpha="0.4")
    facts = [{"rank": rank, "host": "h", "device": "cpu", "cores": "0", "class_histogram": [1], "trains": True}
             for rank in range(ranks)]
    return {"type": "header", **form, "version": "0.1.0", "config": config, "communicator": method, "equation": "",
            "optimizer": "sgd", "learning_rate": "0.1", "model": "mlp", "parameters": 1000, "train_samples": TRAIN_SAMPLES,
            "test_samples": TEST_SAMPLES, "classes": 1, "ranks": facts}


def score_of(form, loss, value):
    return {"loss": loss, "score" if form["format"] == 2 else "accuracy": value}


def evaluation_of(form, part, ranks, seconds, loss, value):
    step = max(1, round(part * TRAIN_SAMPLES / (BATCH * ranks)))
    samples = min(TRAIN_SAMPLES, step * BATCH * ranks)
    record = {"step": step, "samples": samples, "epoch": samples / TRAIN_SAMPLES, "seconds": part * seconds,
              "evaluation_seconds": 0.5, "center": score_of(form, loss, value),
              "consensus_distance": {"min": 0.0, "mean": 0.0, "max": 0.0}}
    if form["format"] == 2:
        return dict(record, metric=form["metric"])
    same = score_of(form, loss, value)
    return dict(record, mean_of_workers=same, first_worker=same, best_worker=dict(same, rank=0))


def step_of(evaluation, before, rank, total_bytes, parts):
    past = evaluation["seconds"] - (before["seconds"] if before else 0)
    return {"type": "step", "rank": rank, "step": evaluation["step"], "samples": evaluation["samples"],
            "epoch": evaluation["epoch"], "loss": evaluation["center"]["loss"], "learning_rate": 0.1,
            "seconds": evaluation["seconds"], "computing": past * 0.6, "exchanging": past * 0.2, "waiting": past * 0.2,
            "loading": past * 0.1, "bytes": round(total_bytes / parts)}


def end_of(method, ranks, form, evaluation, seconds, total_bytes):
    times = [{"rank": rank, "computing": seconds * 0.6, "loading": seconds * 0.1, "exchanging": seconds * 0.2,
              "waiting": seconds * 0.2, "waiting_for_ranks": 0.0, "times_waited_for": 0, "seconds_waited_for": 0.0}
             for rank in range(ranks)]
    value = evaluation["center"]["score" if form["format"] == 2 else "accuracy"]
    return {"type": "end", **form, "communicator": method, "model": "mlp", "data": "digits",
            "test_score" if form["format"] == 2 else "test_accuracy": value, "seconds": seconds,
            "samples_per_second": evaluation["samples"] / seconds, "bytes_per_rank": total_bytes, "waiting_share": 0.2,
            "ranks": ranks, "workers": ranks, "steps": evaluation["step"], "epochs": evaluation["epoch"],
            "samples": evaluation["samples"], "peak_memory_bytes": 1, "exchanges": 0, "staleness": [], "checkpoints": 0,
            "checkpoint_seconds": 0.0, "times_of_ranks": times, "evaluation": evaluation}


def write_run(directory, method, ranks, seed, values, seconds, sent, losses=None, settings=None, form=None, fails=None):
    """values: the metric at evaluations at equal distances. fails: a (code, message) that ends it in place of an end."""
    form = form or ACCURACY
    lines, before = [header_of(method, ranks, seed, settings or {}, form)], None
    sent = round(sent / len(values)) * len(values)
    for i, value in enumerate(values):
        loss = losses[i] if losses else -math.log(max(value, 1e-3)) if form["format"] == 1 else math.log(value)
        evaluation = evaluation_of(form, (i + 1) / len(values), ranks, seconds, loss, value)
        lines += [step_of(evaluation, before, rank, sent, len(values)) for rank in range(ranks)]
        lines.append({"type": "evaluation", **evaluation})
        before = evaluation
    if fails:
        lines.append({"type": "failure", "code": fails[0], "message": fails[1]})
    else:
        lines.append(end_of(method, ranks, form, before, seconds, sent))
    directory.mkdir(parents=True)
    (directory / "metrics.jsonl").write_text("".join(json.dumps(line, allow_nan=False) + "\n" for line in lines))


def rising(best, count, noise):
    return [best * (1 - 0.8 * math.exp(-5 * (i + 1) / count)) + noise for i in range(count)]


def write_methods(place, seeds=3, count=12, spread=0.004, **more):
    """Three methods with two ranks, and one rank alone."""
    random_numbers = random.Random(35)
    for method, (best, seconds, sent) in {**METHODS, "none": (0.935, 150.0, 0)}.items():
        for seed in range(1, seeds + 1):
            noise = random_numbers.uniform(-spread, spread)
            write_run(place / f"{method}-seed{seed}", method, 1 if method == "none" else 2, seed, rising(best, count, noise),
                      seconds * (1 + noise), sent, **more)


def one_seed(place):
    write_methods(place, seeds=1)


def one_evaluation(place):
    write_methods(place, count=1)


def equal_values(place):
    for method in METHODS:
        for seed in (1, 2, 3):
            write_run(place / f"{method}-seed{seed}", method, 2, seed, rising(0.9, 12, 0.0), 50.0, 1e8)


def perfect(place):
    """Accuracies at the edges of 0 and 1, whose intervals must stay between them."""
    for method, last in (("allreduce", (1.0, 1.0, 0.97)), ("easgd", (0.0, 0.02, 0.0))):
        for seed, value in enumerate(last, 1):
            write_run(place / f"{method}-seed{seed}", method, 2, seed, [value * part / 12 for part in range(1, 13)],
                      5.0 * 20 ** (seed - 2), 1e8)


def not_a_number(place):
    """One method's losses are no numbers at the end, another's runs diverged."""
    write_methods(place)
    for seed in (1, 2, 3):
        losses = [1.0] * 8 + [None] * 4
        write_run(place / f"gossip-seed{seed}", "gossip", 2, seed, rising(0.6, 12, 0.0), 50.0, 1e8, losses=losses)
        write_run(place / f"easgd-async-seed{seed}", "easgd-async", 2, seed, [0.3, 0.1], 9.0, 1e7, losses=[2.0, None],
                  fails=(76, "training diverged: the loss or gradient of step 2 is not finite"))


def missing_method(place):
    """Runs with 4 ranks lack one method, and a directory has no run that began."""
    write_methods(place)
    for method in ("allreduce", "local-sgd"):
        for seed in (1, 2, 3):
            write_run(place / f"{method}-p4-seed{seed}", method, 4, seed, rising(0.9, 12, seed / 1000), 40.0 + seed, 2e8)
    (place / "easgd-p4-seed1").mkdir()
    (place / "easgd-p4-seed1" / "metrics.jsonl").write_text("")


def perplexity(place):
    """A metric whose lower values are better."""
    form = {"format": 2, "metric": {"name": "perplexity", "better": "lower"}}
    for method, (best, seconds, sent) in METHODS.items():
        for seed in (1, 2, 3):
            values = [20 + 900 * math.exp(-i / 2) + 100 * (1 - best) + seed for i in range(12)]
            write_run(place / f"{method}-seed{seed}", method, 2, seed, values, seconds + seed, sent, form=form)


def tokens(place):
    """A metric whose higher values are better, and large."""
    form = {"format": 2, "metric": {"name": "tokens", "better": "higher"}}
    for method, (best, seconds, sent) in METHODS.items():
        for seed in (1, 2, 3):
            values = [2e9 * best * (i + 1) / 12 + seed * 1e6 for i in range(12)]
            write_run(place / f"{method}-seed{seed}", method, 2, seed, values, seconds + seed, sent, form=form,
                      losses=[2.0 - i / 12 for i in range(12)])


def runs_400(place):
    """Five methods, four numbers of ranks, four batches, five seeds."""
    random_numbers = random.Random(400)
    methods = {**METHODS, "gossip": (0.89, 50.0, 9e7), "easgd-async": (0.9, 45.0, 9e7)}
    for method, (best, seconds, sent) in methods.items():
        for ranks in (1, 2, 4, 8):
            for momentum in ("0", "0.5", "0.9", "0.99"):
                for seed in range(1, 6):
                    noise = random_numbers.uniform(-0.004, 0.004)
                    write_run(place / f"{method}-p{ranks}-m{momentum}-seed{seed}", method, ranks, seed,
                              rising(best - 0.004 * ranks - float(momentum) / 50, 20, noise),
                              seconds / ranks * (1 + noise), sent, settings={"momentum": momentum})


CASES = {case.__name__: case for case in (one_seed, one_evaluation, equal_values, perfect, not_a_number, missing_method,
                                          perplexity, tokens, runs_400)}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for name in sys.argv[2:] or CASES:
        CASES[name](pathlib.Path(sys.argv[1]) / name)


if __name__ == "__main__":
    main()
