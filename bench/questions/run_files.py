"""Writes run directories that `eave report` reads, from figures that a question has: so the report's rule of significance, its
intervals and its costs to a target are written once."""
import csv
import json
import subprocess

WINDOW = 64  # tokens of a sample, if the metric is perplexity

ACCURACY, PERPLEXITY = {"name": "accuracy", "better": "higher"}, {"name": "perplexity", "better": "lower"}
TRAINING_LOSS = {"name": "training_loss", "better": "lower"}


def quoted(case):
    """As the report shows the name."""
    return f"'{case}'"


def evaluation(point, metric, train_samples):
    """`point`: step, samples, seconds, loss, and score in the metric."""
    is_accuracy = metric == ACCURACY
    scores = {"loss": point["loss"], "accuracy" if is_accuracy else "score": point["score"]}
    return {"type": "evaluation", "step": point["step"], "samples": point["samples"], "epoch": point["samples"] / train_samples,
            "seconds": point["seconds"], "evaluation_seconds": 0.0, "center": scores, "mean_of_workers": scores,
            "first_worker": scores, "best_worker": {**scores, "rank": 0},
            "consensus_distance": {"min": 0.0, "mean": 0.0, "max": 0.0}, **({} if is_accuracy else {"metric": metric})}


def header(case, seed, metric, labels, train_samples, ranks, batch):
    config = {"communicator": case, "batch": str(batch), "lr": "1", "data": "of the question", "model": "of the question",
              "ranks": str(ranks), "seed": str(seed)}
    facts = [{"rank": rank, "host": "h", "device": "cpu", "cores": "0", "class_histogram": [1], "trains": True} for rank in range(ranks)]
    of_text = {"metric": metric, "test_labels": labels, "tokens_per_sample": WINDOW}
    return {"type": "header", "format": 1 if metric == ACCURACY else 2, "version": "0.1.0", "config": config,
            "communicator": case, "equation": "", "optimizer": "sgd", "learning_rate": "1", "model": "of the question",
            "parameters": 1, "train_samples": train_samples, "test_samples": labels, "classes": 1, "ranks": facts,
            **({} if metric == ACCURACY else of_text)}


def end(case, metric, last, ranks, bytes_per_rank):
    """`last`: the last evaluation."""
    times = [{"rank": rank, "computing": last["seconds"], "loading": 0.0, "exchanging": 0.0, "waiting": 0.0,
              "waiting_for_ranks": 0.0, "times_waited_for": 0, "seconds_waited_for": 0.0} for rank in range(ranks)]
    score = {"test_accuracy": last["center"]["accuracy"]} if metric == ACCURACY else {"test_score": last["center"]["score"]}
    return {"type": "end", "format": 1 if metric == ACCURACY else 2, "communicator": case, "model": "of the question",
            "data": "of the question", **score, "seconds": last["seconds"], "samples_per_second": last["samples"] / last["seconds"],
            "bytes_per_rank": bytes_per_rank, "waiting_share": 0.0, "ranks": ranks, "workers": ranks, "steps": last["step"],
            "epochs": last["epoch"], "samples": last["samples"], "peak_memory_bytes": 1, "exchanges": 0, "staleness": [],
            "checkpoints": 0, "checkpoint_seconds": 0.0, "times_of_ranks": times,
            "evaluation": {name: each for name, each in last.items() if name != "type"}}


def write(folder, case, seed, points, metric, labels, train_samples, batch, ranks=1, bytes_per_rank=0):
    """Writes a run that was evaluated at `points`, the last one at its end. `labels`: those of the test set."""
    ends = [evaluation(point, metric, train_samples) for point in points]
    lines = [header(case, seed, metric, labels, train_samples, ranks, batch), *ends, end(case, metric, ends[-1], ranks, bytes_per_rank)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def report(eave, place, *options):
    """What `eave report` prints of the runs in `place`/runs, and the rows of its table by the case's name as `quoted`."""
    costs = place / "table.csv"
    command = list(map(str, [eave, "report", place / "runs", "--html", "none", "--csv", costs, *options]))
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stderr}")
    with costs.open() as lines:
        return ended.stdout, {row["method"]: row for row in csv.DictReader(lines)}


def estimate(row, column):
    """Mean, low and high of a column; a bound is None after one run."""
    return [float(row[column + end]) if row[column + end] else None for end in ("", "_low", "_high")]
