"""Judges cases by eave report's rule of significance: 95 % intervals, and what is told apart from the best.

The report reads run directories. Each value goes there as a run that ended with it, under its case's name, so that this
rule is written once. A run holds its value twice, because the report names no winner from one evaluation: the questions
compare ends of runs of equal length, and say nothing about the way there.
"""
import pathlib
import re
import tempfile

import run_files
from run_files import quoted

SAMPLES = 1000  # of each run, which only have to be equal


def points_of(value):
    return [{"step": part, "samples": part * SAMPLES // 2, "seconds": part / 2, "loss": 1.0, "score": value} for part in (1, 2)]


def judge(eave, cases, test_samples, metric=run_files.ACCURACY):
    """`cases` maps a name to the accuracy of each seed, or to its value of another metric. None is a run that diverged, and cases with
    one are left out. Returns the report's sentence about the best one ("" if fewer than two cases are left), the name of the first one
    (None if it is not told apart from all others), and for each case its mean with the 95 % interval, whose bounds are None after one
    run."""
    whole = {name: values for name, values in cases.items() if None not in values}
    if not whole:
        return {"sentence": "", "first": None, "cases": {}}
    with tempfile.TemporaryDirectory() as place:
        for number, (name, values) in enumerate(whole.items()):
            for seed, value in enumerate(values, 1):
                run_files.write(pathlib.Path(place) / "runs" / f"{number}-{seed}", quoted(name), seed, points_of(value),
                                metric, test_samples, SAMPLES, SAMPLES)
        printed, rows = run_files.report(eave, pathlib.Path(place))
    said = next((line for line in printed.splitlines() if f"test {metric['name']}" in line), "")
    first = next((name for name in whole if f", {quoted(name)} won: " in said), None)
    return {"sentence": plain(said) if len(whole) > 1 else "", "first": first,
            "cases": {name: run_files.estimate(rows[quoted(name)], f"test_{metric['name']}") for name in whole}}


def plain(sentence):
    """Without the setting of the runs that carry the values, which is not that of the question."""
    text = sentence.partition(", ")[2].replace(" after 1 epoch", "").replace("no method won", "no case is first")
    return text[:1].upper() + text[1:]


LEAD = re.compile(r"([\d.]+) points (?:more than|over) .* \((-?[\d.]+) to (-?[\d.]+), (p [=<] [\d.e-]+)\)")


def lead(eave, one, other, test_samples):
    """How much higher the accuracies `one` are than `other`: points, their interval, p, and whether both are told apart. None if one
    run says nothing, or a run diverged."""
    if min(len(one), len(other)) < 2 or None in (*one, *other):
        return None
    found = judge(eave, {"one": one, "other": other}, test_samples)
    points, low, high = map(float, LEAD.search(found["sentence"]).groups()[:3])
    if "points more than 'other'" in found["sentence"] or "points over 'other'" in found["sentence"]:
        ends = [points, low, high]
    else:
        ends = [-points, -high, -low]
    return {"points": ends, "p": LEAD.search(found["sentence"]).group(4), "is_apart": found["first"] is not None}


def correct(leads, level=0.05):
    """Decides by Holm's correction, over all `leads` together, which are told apart; until then each was judged by itself. None stays
    None. "p < 0.001" counts as 0.001."""
    chance = {number: float(lead["p"].split()[-1]) for number, lead in enumerate(leads) if lead is not None}
    may_be = True
    for rank, number in enumerate(sorted(chance, key=chance.get)):
        may_be = may_be and chance[number] * (len(chance) - rank) <= level
        leads[number]["is_apart"] = may_be


def is_above(eave, better, worse, test_samples):
    """Whether the accuracies `better` are told apart from `worse`, and higher. None if one run says nothing."""
    found = lead(eave, better, worse, test_samples)
    return None if found is None else found["is_apart"] and found["points"][0] > 0
