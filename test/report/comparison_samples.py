"""Makes comparisons for the test of the page: the data that fills src/report/page/page.html."""
import math
import random

HOSTILE = ("<img src=x onerror=window.hostile=1></script><script>window.hostile=2</script>"
           "\"'`${window.hostile=3}\u2028\u202e&lt;")
# Maps a method to how often it sends its parameters per step.
METHODS = {"none": 0.0, "allreduce": 1.0, "easgd tau=10": 0.1, "easgd-async tau=10": 0.12, "local-sgd tau=10": 0.1,
           "gossip": 0.5}
ESTIMATES = ("accuracy", "validation", "loss", "seconds", "samples_per_second", "bytes_per_rank", "speedup", "efficiency",
             "seconds_to_target", "samples_to_target", "bytes_to_target")
PARAMETER_BYTES = 7.4e6


def interval(values):
    mean = sum(values) / len(values)
    if len(values) == 1:
        return {"n": 1, "mean": mean, "low": None, "high": None}
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
    half = {2: 12.706, 3: 4.303}[len(values)] * deviation / math.sqrt(len(values))
    return {"n": len(values), "mean": mean, "low": mean - half, "high": mean + half}


def curve(random_numbers, method, ranks, batch, steps, points, best):
    """Returns columns of `points` evaluations of a run whose accuracy approaches `best`."""
    step = [round((i + 1) * steps / points) for i in range(points)]
    rate = 400 / batch * ranks ** (-0.6 if method == "allreduce" else -0.25) * random_numbers.uniform(0.95, 1.05)
    accuracy = [best - (best - 0.3) * math.exp(-6 * s / steps) + random_numbers.gauss(0, 0.002) for s in step]
    columns = {"seconds": [s / rate for s in step], "step": step, "epoch": [s * batch * ranks / 60000 for s in step],
               "bytes": [s * PARAMETER_BYTES * METHODS[method] * 2 * (ranks - 1) / ranks for s in step]}
    return columns, accuracy, [2.2 - 2.2 * value + 0.1 for value in accuracy]


def make_run(random_numbers, variant, number, seed, points=40, steps_kept=200):
    method, ranks, batch = variant["method"], variant["ranks"], variant["batch_per_rank"]
    steps = 4 * 60000 // (batch * ranks)
    best = 0.9 - 0.004 * math.log2(ranks) * (2 if method == "gossip" else 1) - (0.01 if batch > 64 else 0)
    columns, accuracy, loss = curve(random_numbers, method, ranks, batch, steps, points, best)
    trained, _, trained_loss = curve(random_numbers, method, ranks, batch, steps, steps_kept, best)
    worse = [value - 0.01 for value in accuracy]
    apart = [] if method in ("none", "allreduce") else [0.05 * math.exp(-2 * i / points) for i in range(points)]
    good, bad = {"loss": loss, "accuracy": accuracy}, {"loss": loss, "accuracy": worse}
    evaluations = dict(columns, center=good, mean_of_workers=bad, first_worker=bad, best_worker=good, validation=bad,
                       distance_mean=apart, distance_min=[0.8 * value for value in apart],
                       distance_max=[1.2 * value for value in apart])
    return {"name": f"{method.replace(' ', '-')}-p{ranks}-b{batch}-seed{seed}", "variant": number, "seed": seed,
            "state": "finished", "why": "", "steps": dict(trained, loss=trained_loss), "evaluations": evaluations}


def make_variant(method, ranks, batch):
    settings = {"communicator": method.split()[0], "batch": str(batch), "lr": "0.05", "model": "mlp", "ranks": str(ranks)}
    return {"label": f"{method}, {ranks} ranks, batch {batch}", "method": method, "place": "", "ranks": ranks,
            "workers": ranks, "batch_per_rank": batch, "total_batch": batch * ranks, "lr": 0.05, "chosen": True,
            "why_chosen": "only one", "settings": settings, "runs": []}


def first_reached(run, column, target):
    evaluations = run["evaluations"]
    pairs = zip(evaluations[column], evaluations["center"]["accuracy"])
    return next((value for value, accuracy in pairs if accuracy >= target), None)


def conclude(variant, runs, target):
    """Fills in the estimates of a variant from its runs."""
    last = [{name: run["evaluations"][name][-1] for name in ("seconds", "bytes", "step")} for run in runs]
    speeds = [one["step"] * variant["total_batch"] / one["seconds"] for one in last]
    for name, model in (("accuracy", "center"), ("validation", "validation")):
        variant[name] = interval([run["evaluations"][model]["accuracy"][-1] for run in runs])
    variant["loss"] = interval([run["evaluations"]["center"]["loss"][-1] for run in runs])
    variant.update(finished=len(runs), seconds=interval([one["seconds"] for one in last]),
                   bytes_per_rank=interval([one["bytes"] for one in last]), samples_per_second=interval(speeds))
    for name, column in (("seconds", "seconds"), ("samples", "epoch"), ("bytes", "bytes")):
        reached = [first_reached(run, column, target) for run in runs]
        if name == "samples":
            reached = [None if value is None else value * 60000 for value in reached]
        variant[f"{name}_to_target"] = None if None in reached else interval(reached)
    waiting = 0.0 if variant["ranks"] == 1 else 0.3 if variant["method"] == "allreduce" else 0.04
    variant["shares"] = {"computing": 0.98 - waiting, "exchanging": waiting * 1.1, "waiting": waiting, "loading": 0.02}


def add_speed(variants):
    for variant in variants:
        alone = [one for one in variants if one["ranks"] == 1 and one["batch_per_rank"] == variant["batch_per_rank"]]
        variant["speedup"] = variant["efficiency"] = None
        if alone:
            times = variant["samples_per_second"]["mean"] / alone[0]["samples_per_second"]["mean"]
            for name, mean in (("speedup", times), ("efficiency", times / variant["ranks"])):
                variant[name] = {"n": 3, "mean": mean, "low": mean * 0.95, "high": mean * 1.05}


def typical(points=40, target=0.88):
    """42 runs: five methods, three numbers of ranks, one rank alone, three seeds. One diverged, one was interrupted."""
    random_numbers = random.Random(6)
    variants = [make_variant("none", 1, 32)]
    several = [method for method in METHODS if method not in ("none", "gossip")]
    variants += [make_variant(method, ranks, 32) for ranks in (2, 4, 8) for method in several]
    variants.append(make_variant("gossip", 8, 32))
    runs = []
    for number, variant in enumerate(variants):
        for seed in (1, 2, 3):
            variant["runs"].append(len(runs))
            runs.append(make_run(random_numbers, variant, number, seed, points))
        conclude(variant, [runs[i] for i in variant["runs"]], target)
    add_speed(variants)
    max(variants, key=lambda one: one["samples_per_second"]["mean"])["standing"] = {"samples_per_second": "first"}
    break_off(runs[-1], points // 3, "diverged", "the loss is not a number at step 412")
    break_off(runs[-4], points // 2, "interrupted", "")
    return {"format": 1, "title": "runs/compare", "made": "2026-11-22 01:45 UTC", "version": "eave 0.1.0",
            "target": {"accuracy": target, "chosen_by": "--target"}, "differing": ["communicator", "ranks"],
            "verdict": ["With 8 ranks, easgd-async tau=10 was first at 88 % test accuracy.", *["Made up for a test."] * 4],
            "notes": ["Budgets are equal in epochs."], "left_out": [{"name": "old", "why": "metrics.jsonl: no header"}],
            "variants": variants, "runs": runs, "notebook": make_notebook(variants)}


def break_off(run, points, state, why):
    run.update(state=state, why=why)
    points = max(1, points)
    for table in (run["steps"], run["evaluations"]):
        for name, column in table.items():
            if isinstance(column, list):
                table[name] = column[:points]
            else:
                table[name] = {part: values[:points] for part, values in column.items()}
    run["evaluations"]["center"]["loss"][-1] = None


def make_notebook(variants):
    rows = []
    for number, variant in enumerate(variants):
        if variant["method"] == "allreduce":
            cell = {"variant": number, "seconds": variant["seconds"]["mean"], "accuracy": variant["accuracy"]["mean"],
                    "speedup": None}
            rows.append({"ranks": variant["ranks"], "cells": [cell, None]})
    return [{"method": "allreduce", "place": "", "kept": "batch per rank", "batches": [32, 128], "rows": rows}]


def two_batches():
    """Several batches, learning rates and places side by side, and whole families that only a wide filter shows."""
    comparison = typical(points=9)
    for values in comparison["runs"][-2]["evaluations"]["center"].values():
        values[0] = 0.0  # cannot be drawn on a logarithmic axis
    for number, variant in enumerate(comparison["variants"]):
        if number % 3 == 0:
            variant.update(batch_per_rank=128, total_batch=128 * variant["ranks"])
        if number % 5 == 2:
            variant.update(place="shape-rate=100mbit")
        if number % 3 == 1:
            widen(variant)
    other_rate = {"chosen": False, "lr": 0.1, "why_chosen": "learning rate 0.05 did better"}
    comparison["variants"] += [dict(variant, **other_rate) for variant in comparison["variants"][1::4]]
    return comparison


def scattered():
    """Costs that end in ticks with long names, and speed-ups whose two seeds lie a factor of thousands apart."""
    comparison = typical(points=9)
    for variant in comparison["variants"]:
        if variant["speedup"] and variant["ranks"] > 1:
            mean = 0.6 * variant["ranks"]
            variant["speedup"].update(n=2, mean=mean, low=mean / 3000, high=mean * 3000)
        variant["seconds"].update(mean=0.00151, low=None, high=None)
    return comparison


def lost():
    """No run of easgd finished, with either learning rate, and of allreduce none with the higher one."""
    comparison = typical(points=9)
    for variant in [one for one in comparison["variants"] if one["method"] in ("easgd tau=10", "allreduce")]:
        higher = dict(variant, label=f"{variant['label']}, lr 5", lr=5, runs=[])
        for lost in [variant, higher] if variant["method"] == "easgd tau=10" else [higher]:
            lost.update(dict.fromkeys(ESTIMATES), finished=0, chosen=False, why_chosen="no run of it finished",
                        shares=dict.fromkeys(variant["shares"], 0))
        for i in variant["runs"] if variant["method"] == "easgd tau=10" else ():
            break_off(comparison["runs"][i], 3, "diverged", "the loss is not a number")
        comparison["variants"].append(higher)
    return comparison


def widen(variant):
    """Gives a variant the wide intervals of two seeds that lie far apart, so that it says next to nothing."""
    for estimate in variant.values():
        if isinstance(estimate, dict) and "mean" in estimate:
            estimate.update(n=2, low=-5 * estimate["mean"], high=7 * estimate["mean"])


def hostile():
    comparison = typical(points=12)
    settings = {HOSTILE: HOSTILE, "__proto__x": "W" * 400, "model": HOSTILE}
    for variant in comparison["variants"]:
        variant.update(label=HOSTILE + variant["label"], method=HOSTILE + variant["method"], place=HOSTILE,
                       why_chosen=HOSTILE, settings=settings)
    for run in comparison["runs"]:
        run.update(name=HOSTILE * 3, seed=HOSTILE, why=HOSTILE)
    comparison.update(title=HOSTILE, made=HOSTILE, version=HOSTILE, verdict=[HOSTILE, "W" * 400], notes=[HOSTILE],
                      differing=[HOSTILE, "model"], left_out=[{"name": HOSTILE, "why": HOSTILE * 5}],
                      target={"accuracy": 0.88, "chosen_by": HOSTILE})
    for table in comparison["notebook"]:
        table.update(method=HOSTILE, place=HOSTILE, kept=HOSTILE)
    return comparison


def averaged():
    """Evaluations right after an average, where the distance is exactly 0: two of each run, and all of some methods."""
    comparison = typical(points=20)
    for run in comparison["runs"]:
        evaluations = run["evaluations"]
        always = run["name"].startswith(("none", "allreduce"))
        after = range(len(evaluations["seconds"])) if always else (4, 6) if run["name"].startswith("local-sgd") else ()
        for name in ("distance_mean", "distance_min", "distance_max"):
            column = evaluations[name] or [0.0] * len(evaluations["seconds"])
            evaluations[name] = [0.0 if i in after else value for i, value in enumerate(column)]
    return comparison


def unfinished():
    """One variant whose only run came to no evaluation, so nothing is known."""
    comparison = typical(points=12)
    variant = comparison["variants"][0]
    run = comparison["runs"][0]
    run.update(state="failed", why="code 76", seed=None, steps={}, evaluations={})
    variant.update(dict.fromkeys(ESTIMATES), runs=[0], finished=0, shares=dict.fromkeys(variant["shares"], 0),
                   chosen=False, why_chosen="no run of it finished")
    comparison.update(variants=[variant], runs=[run], target=None, verdict=[], notes=[], left_out=[], differing=[],
                      notebook=[])
    return comparison


def single():
    """One run of one rank."""
    comparison = typical(points=1)
    comparison.update(variants=comparison["variants"][:1], runs=comparison["runs"][:1], differing=[], target=None)
    comparison["variants"][0]["runs"] = [0]
    for name in ("accuracy", "seconds", "samples_per_second", "bytes_per_rank"):
        comparison["variants"][0][name].update(n=1, low=None, high=None)
    return comparison


def empty():
    return dict(typical(points=3), variants=[], runs=[], differing=[], verdict=[], notebook=[])


def language():
    """Of text, 64 tokens in a sample."""
    return dict(typical(), tokens_per_sample=64, metric={"name": "perplexity", "better": "lower"}, notes=[])


SAMPLES = {sample.__name__: sample for sample in (typical, two_batches, averaged, lost, scattered, hostile, unfinished, single, empty, language)}
