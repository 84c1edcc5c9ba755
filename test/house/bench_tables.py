"""Makes rows of the tables in bench/results/*.md from the records that they show. docs_test uses it."""
import itertools
import json
import statistics


def spread(middle, least, most, digits):
    return f"{middle:.{digits}f} ({least:.{digits}f} - {most:.{digits}f})"


def steps_on_one_core(record):
    for case in record["cases"]:
        yield (f"| {case['model']} | {case['batch']} | {case['eave']:.0f} | {case['pytorch']:.0f} ({case['pytorch_layout']}, "
               f"{case['pytorch_optimizer']}) | {spread(case['ratio'], *case['ratio_range'], 2)} | {100 * case['share_of_peak']:.0f} % |")


def steps_beside_ddp(record):
    for step in record["steps"]:
        yield (f"| {step['hosts']} | {step['rate']} | {step['model']} | {step['none_ms']:.1f} | {step['link_ms']:.1f} | {step['allreduce_ms']:.1f} | "
               f"{step['step_to_limit']['median']:.2f} | {step['ddp_ms']:.1f} | {step['eave_to_ddp']['median']:.2f} |")


def seconds_to_accuracy(record):
    for row in record["table"]:
        data = {"fashion-mnist": "Fashion-MNIST", "cifar10": "CIFAR-10"}[row["data"]]
        rate = row["rate"].replace("mbit", " Mbit/s").replace("gbit", " Gbit/s")
        seconds = " | ".join(f"{row['seconds'][method]['median']:.4g}"
                             for method in ("allreduce", "local-sgd", "easgd", "easgd-async", "ddp", "post-local-sgd"))
        yield f"| {data}, {row['ranks']} hosts, {rate} | {seconds} | {row['ratio']:.1f} |"


def exchanges_over_links(record):
    def place(row):
        return row["hosts"], row["rate"], row["tau"]

    for (hosts, rate, tau), rows in itertools.groupby(sorted(record["rows"], key=place), place):
        methods = {row["method"]: row for row in rows}
        cells = " | ".join(f"{methods[name]['step_ms']:.1f} = {methods[name]['ratio']:.2f} {methods[name]['held_against']}"
                           for name in ("easgd", "easgd-async", "easgd-async-late"))
        easgd = methods["easgd"]
        yield f"| {hosts} | {rate} | {tau} | {easgd['none_ms']:.1f} | {easgd['link_ms_per_step']:.1f} | {cells} |"


def codecs(record):
    for row in record["rows"]:
        accuracy = spread(row["accuracy"], row["accuracy_min"], row["accuracy_max"], 2)
        rate = spread(row["samples_per_second"], row["samples_per_second_min"], row["samples_per_second_max"], 0)
        yield (f"| `{row['communicator']}` | `{row['codec']}` | {accuracy} | {rate} | {row['bytes_per_rank'] / 1e6:.1f} | "
               f"{100 * row['waiting_share']:.1f} % |")


def ratios_of_methods(record):
    for method, ratios in record["ratios"].items():
        yield f"| `{method}` | {spread(statistics.median(ratios), min(ratios), max(ratios), 3)} |"


def errors_of_plans(record):
    def case(row):
        return row["hosts"], row["model"]

    for (hosts, model), rows in itertools.groupby(sorted(record["rows"], key=case), case):
        errors = {row["communicator"]: f"{100 * row['error']:+.0f} %" for row in rows}
        cells = " | ".join(errors.get(name, "-") for name in ("allreduce", "local-sgd", "easgd", "easgd-async", "gossip", "easgd-tree"))
        yield f"| {hosts}, {model} | {cells} |"


# Each entry: page, record, and the function that makes rows of the record. If a page shows a newer record, change its
# name here.
TABLES = [
    ("compute", "2026-11-23-compute-vs-pytorch-amd", steps_on_one_core),
    ("compute", "2026-11-24-compute-vs-pytorch-amx", steps_on_one_core),
    ("compute", "2026-11-25-compute-vs-pytorch-zen5-by-place", steps_on_one_core),
    ("network-vs-ddp", "2026-11-24-network-vs-ddp", steps_beside_ddp),
    ("time-to-accuracy", "2026-11-24-time-to-accuracy", seconds_to_accuracy),
    ("exchanges", "2026-11-25-exchange-on-hosts", exchanges_over_links),
    ("compression", "2026-11-21-compression-cost", codecs),
    ("methods", "2026-11-21-method-cost-between", ratios_of_methods),
    ("methods", "2026-11-21-method-cost-slow-rank", ratios_of_methods),
    ("plan", "2026-11-28-plan-validation", errors_of_plans),
]


def missing_rows(results):
    """`results` is the directory of pages and records."""
    for page, record, rows in TABLES:
        lines = (results / f"{page}.md").read_text().splitlines()
        for row in rows(json.loads((results / f"{record}.json").read_text())):
            if row not in lines:
                yield f"{page}.md does not have this row, as {record}.json has it: {row}"
