"""Costs to a target by `eave report`, of runs whose seconds are their steps times the seconds of a step on some network."""
import csv
import pathlib
import subprocess
import tempfile

import run_files
from run_files import quoted

COLUMNS = {"perplexity": "test_perplexity", "seconds_to_target": "seconds_to_target", "samples_to_target": "samples_to_target"}


def report(eave, cases, found):
    """`cases`: each has name, ranks, seconds of a step, bytes_per_rank, and a curve for each seed. Returns the report's sentences
    about the end and about the way to the target, and for each case by its name what COLUMNS say: (mean, low, high), or None if a
    run did not get there."""
    with tempfile.TemporaryDirectory() as place:
        for number, case in enumerate(cases):
            for seed, curve in enumerate(case["curves"], 1):
                points = [{**point, "seconds": point["step"] * case["seconds"]} for point in curve]
                run_files.write(pathlib.Path(place) / "runs" / f"{number}-{seed}", quoted(case["name"]), seed, points,
                                run_files.PERPLEXITY, found["test_labels"], found["train_samples"], found["batch"], case["ranks"],
                                case["bytes_per_rank"])
        costs = pathlib.Path(place) / "costs.csv"
        command = [eave, "report", f"{place}/runs", "--html", "none", "--csv", costs, "--target", found["target"]]
        ended = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if ended.returncode:
            raise SystemExit(f"{' '.join(map(str, command))} ended with {ended.returncode}:\n{ended.stderr}")
        with costs.open() as lines:
            rows = {row["method"]: row for row in csv.DictReader(lines)}
    said = [line.replace("'", "") for line in ended.stdout.splitlines() if line.startswith("With ")]
    return {"sentence": next((line for line in said if "to test perplexity" not in line), ""),
            "fastest": next((line for line in said if "to test perplexity" in line), ""),
            "cases": {case["name"]: figures(case, rows[quoted(case["name"])]) for case in cases}}


def figures(case, row):
    """With bytes_to_target: each sample costs as many bytes as any other."""
    found = {name: [float(row[column + end]) if row[column + end] else None for end in ("", "_low", "_high")] if row[column] else None
             for name, column in COLUMNS.items()}
    samples, of_sample = found["samples_to_target"], case["bytes_per_rank"] / case["curves"][0][-1]["samples"]
    return found | {"bytes_to_target": samples and [each and each * of_sample for each in samples]}


def text(values, digits, unit=1):
    """"12.3 (11.9 to 12.8)"."""
    if values is None:
        return "not reached"
    mean, low, high = (each if each is None else f"{each / unit:.{digits}f}" for each in values)
    return mean if low is None else f"{mean} ({low} to {high})"


def milliseconds(seconds):
    return "" if seconds is None else f"{1e3 * seconds:.1f}"


def scaled(judged, place, step):
    """The seconds to the target of the case that computes the same, on another clock."""
    values = judged["cases"][step["same_as"]]["seconds_to_target"]
    own = place["steps"][step["same_as"]]
    factor = step["seconds"] / (own["measured"] or own["planned"])
    return text(values and [each and each * factor for each in values], 1)
