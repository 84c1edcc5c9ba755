"""Makes run files of the right form in which two statements contradict each other (FORMATS.md, "What must agree")."""
import json


def _set(line, *path, to):
    for key in path[:-1]:
        line = line[key]
    line[path[-1]] = to(line[path[-1]])


def _of(lines, kind):
    return [line for line in lines if line["type"] == kind]


def _in_end(*path, to):
    return lambda rng, lines: _set(_of(lines, "end")[-1], *path, to=to)


def _in_one(kind, *path, to):
    return lambda rng, lines: _set(rng.choice(_of(lines, kind)), *path, to=to)


def _end_twice(rng, lines):
    lines.append(dict(lines[-1]))


def _line_behind_end(rng, lines):
    lines.append(dict(_of(lines, "evaluation")[-1]))


def _rank_twice(rng, lines):
    ranks = lines[0]["ranks"]
    ranks.append(dict(ranks[-1]))


def _other_header(rng, lines):
    header = json.loads(json.dumps(lines[0]))
    name, value = rng.choice([("parameters", 7), ("model", "lenet"), ("communicator", "gossip"), ("classes", 3)])
    header[name] = value
    lines.insert(rng.randrange(1, len(lines)), header)


def _backward(rng, lines):
    steps = [line for line in _of(lines, "step") if line["rank"] == 0]
    later = rng.randrange(1, len(steps))
    steps[later]["step"] = rng.randrange(1, steps[later - 1]["step"] + 1)


def _more_samples(rng, lines):
    line = rng.choice(_of(lines, "step"))
    line["samples"] *= 1000
    line["epoch"] = line["samples"] / lines[0]["train_samples"]


def _without_type(rng, lines):
    del rng.choice(lines)["type"]


def _all_waiting(rng, lines):
    _of(lines, "end")[-1]["times_of_ranks"][0][rng.choice(["computing", "loading", "waiting", "exchanging"])] = 1e9


# Another line, or another field of the same line, contradicts each of these changes.
CONTRADICTIONS = {
    "a second end": _end_twice, "a line behind the end": _line_behind_end, "a rank twice": _rank_twice,
    "another header": _other_header, "a step backward": _backward, "more samples than steps have": _more_samples,
    "a line without type": _without_type, "1e9 s of one rank": _all_waiting,
    "waiting of 1e9 s": _in_one("step", "waiting", to=lambda _: 1e9), "loading of 1e9 s": _in_one("step", "loading", to=lambda _: 1e9),
    "computing of 1e9 s": _in_one("step", "computing", to=lambda _: 1e9), "exchanging of 1e9 s": _in_one("step", "exchanging", to=lambda _: 1e9),
    "an epoch of its own": _in_one("step", "epoch", to=lambda old: old + 1), "an evaluation's epoch": _in_one("evaluation", "epoch", to=lambda old: old + 1),
    "a rank that is not there": _in_one("step", "rank", to=lambda old: old + 7),
    "a best rank that is not there": _in_one("evaluation", "best_worker", "rank", to=lambda old: old + 7),
    "the end's accuracy": _in_end("test_accuracy", to=lambda old: (old + 0.5) % 1), "the end's steps": _in_end("steps", to=lambda old: old + 1),
    "the end's evaluation": _in_end("evaluation", "center", "loss", to=lambda old: old + 1),
    "the end's evaluated step": _in_end("evaluation", "step", to=lambda old: old + 5000),
    "the end's seconds": _in_end("seconds", to=lambda old: old / 2), "the end's samples": _in_end("samples", to=lambda old: old + 1),
    "the end's rate": _in_end("samples_per_second", to=lambda old: old * 2), "the end's ranks": _in_end("ranks", to=lambda old: old + 1),
    "the end's bytes": _in_end("bytes_per_rank", to=lambda old: -1 + old // 2), "the end's method": _in_end("communicator", to=lambda old: old + "-tree"),
}


def contradict_lines(rng, run):
    path = run / "metrics.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    is_alone = len(lines[0]["ranks"]) == 1
    name = rng.choice(sorted(set(CONTRADICTIONS) - ({"the end's bytes"} if is_alone else set())))
    CONTRADICTIONS[name](rng, lines)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return f"metrics.jsonl: {name}"


def contradict_summary(rng, run):
    path = run / "summary.json"
    summary = json.loads(path.read_text())
    name = rng.choice(["bytes_per_rank", "seconds", "peak_memory_bytes", "steps", "samples", "epochs", "test_accuracy", "ranks"])
    summary[name] = (summary[name] + 0.5) % 1 if name == "test_accuracy" else summary[name] + 1
    path.write_text(json.dumps(summary))
    return f"summary.json: {name} is not that of the end"


def contradict_config(rng, run):
    path = run / "config.json"
    config = json.loads(path.read_text())
    name, value = rng.choice([("communicator", "gossip"), ("model", "lenet"), ("seed", "77"), ("batch", "77"), ("lr", "0.77")])
    config[name] = value
    path.write_text(json.dumps(config))
    return f"config.json: {name} is not that of the header"
