"""Costs to a target by `eave report`, of runs whose seconds are their steps times the seconds of a step on some network."""
import pathlib
import tempfile

import run_files
import table
from run_files import quoted

COSTS = ("seconds_to_target", "tokens_to_target")


def report(eave, cases, found, metric=run_files.PERPLEXITY):
    """`cases`: each has name, ranks, seconds of a step, bytes_per_rank, and a curve for each seed. Returns the report's sentences
    about the end and about the way to the target, and for each case by its name the metric at the end and the costs to the target:
    (mean, low, high), or None if a run did not get there."""
    with tempfile.TemporaryDirectory() as place:
        for number, case in enumerate(cases):
            for seed, curve in enumerate(case["curves"], 1):
                points = [{**point, "seconds": point["step"] * case["seconds"]} for point in curve]
                run_files.write(pathlib.Path(place) / "runs" / f"{number}-{seed}", quoted(case["name"]), seed, points,
                                metric, found["test_labels"], found["train_samples"], found["batch"], case["ranks"],
                                case["bytes_per_rank"])
        printed, rows = run_files.report(eave, pathlib.Path(place), "--target", found["target"])
    to_target = f"to test {metric['name']}"
    said = [line.replace("'", "") for line in printed.splitlines() if line.startswith("With ")]
    return {"sentence": next((line for line in said if to_target not in line), ""),
            "fastest": next((line for line in said if to_target in line), ""),
            "cases": {case["name"]: figures(case, rows[quoted(case["name"])], metric["name"]) for case in cases}}


def figures(case, row, metric):
    """With bytes_to_target: each token costs as many bytes as any other."""
    columns = {metric: f"test_{metric}"} | {name: name for name in COSTS}
    found = {name: run_files.estimate(row, column) if row[column] else None for name, column in columns.items()}
    tokens, of_token = found["tokens_to_target"], case["bytes_per_rank"] / (run_files.WINDOW * case["curves"][0][-1]["samples"])
    return found | {"bytes_to_target": tokens and [each and each * of_token for each in tokens]}


def text(values, digits, unit=1):
    """"12.3 (11.9 to 12.8)"."""
    return "not reached" if values is None else table.bounded([each and each / unit for each in values], digits)


def milliseconds(seconds):
    return "" if seconds is None else f"{1e3 * seconds:.1f}"


def scaled(judged, place, step):
    """The seconds to the target of the case that computes the same, on another clock."""
    values = judged["cases"][step["same_as"]]["seconds_to_target"]
    own = place["steps"][step["same_as"]]
    factor = step["seconds"] / (own["measured"] or own["planned"])
    return text(values and [each and each * factor for each in values], 1)
