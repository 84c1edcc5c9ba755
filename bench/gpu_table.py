"""The list of measurements of bench/gpu_vs_pytorch, in their order, and the table of results."""
import dataclasses
import json
import os
import pathlib

# Models in order of importance. For each model the larger batch in bf16 comes first.
BATCHES = {"resnet50": (256, 64), "resnet20": (512, 128), "cifar7": (512, 128), "lenet": (512, 128), "mlp": (512, 128)}
LARGE = ("resnet50", "resnet20")
# untuned: eave without --autotune, to decide whether --autotune becomes the default (CONTRIBUTING.md).
PRECISIONS, SIDES, KINDS = ("bf16", "tf32"), ("eager", "compile", "untuned"), ("steps", "update", "exchange")
# The goals: a step of eave must be this many times as fast as a step of PyTorch.
GOALS = {model: {"eager": 2.0, "compile": 1.1} for model in BATCHES} | {"resnet50": {"compile": 1.0}}
UPDATE_GOAL, EXCHANGE_GOAL = 0.85, 0.03
UPDATE_BYTES = {"plain": 20, "pull": 28, "center": 36}  # bytes read or written per parameter
UPDATE_SIZES = (25_000_000, 100_000_000)
NOT_BEGUN = "not begun"


@dataclasses.dataclass(frozen=True)
class Job:
    """One measurement. If `kind` is "steps", `case` is (model, batch, precision) and `side` is what eave is compared
    with. For "update" `case` is (number of parameters,), for "exchange" (model,)."""
    kind: str
    case: tuple
    side: str = ""

    def __str__(self):
        if self.kind == "steps":
            model, batch, precision = self.case
            return f"{model}, batch {batch}, {precision}, {self.side}"
        return f"update of {self.case[0]} parameters" if self.kind == "update" else f"exchange, {self.case[0]}"


def list_jobs(models, precisions, sides, kinds, quick):
    """The jobs, most important first, because the time may run out at any job:
    1. the first case of each large model against eager PyTorch, then against compiled PyTorch
    2. the update
    3. the cases of 1 untuned
    4. the other cases of the large models against eager PyTorch
    5. the first case of each small model against every side
    6. exchanges
    7. all remaining cases against eager PyTorch, then against compiled PyTorch, which takes longest"""
    cases = {model: [(model, batch, precision) for batch in (BATCHES[model][-1:] if quick else BATCHES[model])
                     for precision in PRECISIONS if precision in precisions] for model in BATCHES if model in models}
    large, small = ([model for model in cases if (model in LARGE) is is_large] for is_large in (True, False))

    def steps(some, side):
        return [Job("steps", case, side) for case in some]

    first = [cases[model][0] for model in large]
    order = steps(first, "eager") + steps(reversed(first), "compile")  # resnet20 compiles much faster than resnet50
    order += [Job("update", (size,)) for size in UPDATE_SIZES]
    order += steps(first, "untuned")
    order += steps([case for model in large for case in cases[model]], "eager")
    order += [job for model in small for side in SIDES for job in steps(cases[model][:1], side)]
    order += [Job("exchange", (model,)) for model in (("lenet",) if quick else ("lenet", "resnet20"))]
    order += steps([case for model in cases for case in cases[model]], "eager")
    order += steps([case for model in reversed(cases) for case in cases[model]], "compile")
    wanted = [job for job in order if job.kind in kinds and (job.kind != "steps" or job.side in sides)]
    return list(dict.fromkeys(wanted))


class Table:
    """Collects the results, and rewrites the file after each."""

    def __init__(self, path, facts, jobs):
        self.path, self.facts = path, facts
        self.left_out = {job: NOT_BEGUN for job in jobs}  # reason why each job has no result, in the order of the plan
        self.steps = {job.case: dict(zip(("model", "batch", "precision"), job.case)) for job in jobs if job.kind == "steps"}
        self.update, self.exchange, self.measured = [], [], []

    def keep(self, job):
        self.left_out.pop(job, None)
        self.measured.append(str(job))
        self.write()

    def leave_out(self, job, why):
        self.left_out[job] = why
        self.write()

    def report(self):
        goals = self.goals()
        rows = [row for row in self.steps.values() if len(row) > 3]
        return self.facts | {
            "steps": rows, "update": self.update, "exchange": self.exchange, "measured": self.measured,
            "missed": [text for reached, text in goals if reached < 1], "met": [text for reached, text in goals if reached >= 1],
            "missing": [f"{job}: {why}" for job, why in self.left_out.items()]}

    def goals(self):
        """(reached / goal, text) for every goal that the results so far can judge, worst first."""
        found = []
        for case, row in self.steps.items():
            name = f"{case[0]}, batch {case[1]}, {case[2]}"
            for side, goal in GOALS[case[0]].items():
                if ratio := row.get(f"over_{side}"):
                    found.append((ratio / goal, f"{name}: {ratio:.2f} times as fast as {side} (goal {goal})"))
            if part := row.get("memory_over_eager"):
                found.append((1 / part, f"{name}: {part:.2f} of eager's memory (goal 1)"))
        for row in self.update:
            share = row["share_of_copy"]
            found.append((share / UPDATE_GOAL, f"update of {row['parameters']}, {row['kind']}: {share:.0%} of a copy's "
                                               f"bandwidth (goal {UPDATE_GOAL:.0%})"))
        for row in self.exchange:
            share = row["share"]
            found.append(((1 + EXCHANGE_GOAL) / (1 + share),
                          f"exchange, {row['model']}: {share:+.1%} of a step (goal {EXCHANGE_GOAL:.0%})"))
        return sorted(found)

    def write(self):
        """Replaces the file atomically: readers see the former file or the new one."""
        if self.path:
            fresh = pathlib.Path(f"{self.path}.new")
            fresh.write_text(json.dumps(self.report(), indent=2) + "\n")
            os.replace(fresh, self.path)


HEADER = (f"{'model':9} {'batch':>5} {'precision':9} {'eave ms':>9} {'eager ms':>9} {'compiled':>9} {'x eager':>8} "
          f"{'x compiled':>10} {'x untuned':>9} {'MiB':>7} {'eager MiB':>9}")


def format_row(row):
    def number(name, width, digits, scale=1.0):
        return f"{row[name] * scale:{width}.{digits}f}" if name in row else f"{'-':>{width}}"

    mib = 1 / 2**20
    return (f"{row['model']:9} {row['batch']:5} {row['precision']:9} {number('eave_ms', 9, 3)} {number('eager_ms', 9, 3)} "
            f"{number('compile_ms', 9, 3)} {number('over_eager', 8, 2)} {number('over_compile', 10, 2)} "
            f"{number('over_untuned', 9, 3)} {number('eave_memory_bytes', 7, 0, mib)} {number('eager_memory_bytes', 9, 0, mib)}")
