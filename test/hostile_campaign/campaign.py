"""Runs trials in several processes, prints each result when it comes, and keeps all in a record."""
import argparse
import json
import multiprocessing
import os
import pathlib
import queue
import shutil
import sys
import tempfile
import time

import bases
import kinds
import namespaces
import read_model
import trial
import trials  # of test/lab

STRIDE = 1_000_000


def parse(text):
    parser = argparse.ArgumentParser(prog="test/hostile", description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", action="append", choices=sorted(kinds.KINDS), default=[])
    parser.add_argument("--only", type=int, metavar="SEED")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--eave", type=pathlib.Path)
    parser.add_argument("--record", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=max(1, min(8, len(os.sched_getaffinity(0)))))
    parser.add_argument("--budget", type=float, default=float("inf"))
    return parser.parse_args()


def seeds_of(arguments):
    """Returns the seeds of the trials that are still to do, and the recorded results of those that are done."""
    if arguments.only is not None:
        return [arguments.only], []
    done = []
    if arguments.record and arguments.record.exists():
        done = [json.loads(line) for line in arguments.record.read_text().splitlines() if line.endswith("}")]
    wanted = [arguments.seed * STRIDE + i for i in range(arguments.trials)]
    done = [each for each in done if each["seed"] in set(wanted)]
    known = {each["seed"] for each in done}
    return [seed for seed in wanted if seed not in known], done


def work(number, arguments, base, directory, todo, results):
    """A worker process: runs trials until none is left or its time budget is over."""
    has_own_mounts = namespaces.enter(directory)
    started = time.monotonic()
    while time.monotonic() - started < arguments.budget:
        try:
            seed = todo.get_nowait()
        except queue.Empty:
            break
        results.put(trial.run(seed, arguments.kind, base, directory / f"{number}-{seed}", has_own_mounts, arguments.keep))
    results.put(None)


def describe(result, arguments):
    kind = "".join(f" --kind {each}" for each in arguments.kind)
    again = f"test/hostile --only {result['seed']}{kind}"
    why = "".join(f"\n    {each}" for each in result["why"])
    commands = "".join(f"\n    $ {each}" for each in result["commands"])
    said = "".join(f"\n    | {line}" for line in result["said"][:8])
    return f"FAILED {result['seed']} {result['kind']}: {result['what']}{why}{commands}{said}\n    again: {again}"


def collect(arguments, jobs, results, found):
    record = open(arguments.record, "a", encoding="utf-8") if arguments.record else None
    open_jobs = jobs
    while open_jobs:
        result = results.get()
        if result is None:
            open_jobs -= 1
            continue
        found.append(result)
        if record:
            record.write(json.dumps(result, ensure_ascii=True) + "\n")
            record.flush()
        if result["outcome"] == "failed":
            print(ascii(describe(result, arguments))[1:-1].replace("\\n", "\n"), flush=True)
        elif arguments.only is not None:
            print(f"{result['outcome']} {result['seed']} {result['kind']}: {ascii(result['what'])} {result['codes']}")


def run_all(arguments, eave, todo, found):
    directory = pathlib.Path(tempfile.mkdtemp(prefix="eh-", dir="/tmp"))
    context = multiprocessing.get_context("fork")
    try:
        base = bases.Bases(directory / "good", eave)
        base.make()
        tasks, results = context.Queue(), context.Queue()
        for seed in todo:
            tasks.put(seed)
        jobs = max(1, min(arguments.jobs, len(todo)))
        workers = [context.Process(target=work, args=(i, arguments, base, directory, tasks, results)) for i in range(jobs)]
        for worker in workers:
            worker.start()
        collect(arguments, jobs, results, found)
        for worker in workers:
            worker.join()
        tasks.cancel_join_thread()  # with --budget, tasks that no worker takes may be left
    finally:
        if arguments.keep:
            print(f"files are in {directory}")
        else:
            shutil.rmtree(directory, ignore_errors=True)


def summarize(found):
    """Prints counts of each kind, and which trials were left out."""
    for kind in sorted({each["kind"] for each in found}):
        of_kind = [each for each in found if each["kind"] == kind]
        codes = {}
        for each in of_kind:
            for code in each["codes"]:
                codes[code] = codes.get(code, 0) + 1
        ends = " ".join(f"{code}:{count}" for code, count in sorted(codes.items()))
        print(f"{kind:<12} {sum(each['outcome'] == 'passed' for each in of_kind):>5}/{len(of_kind):<5} exit codes {ends}")
    skips = sorted({each["why"][0] for each in found if each["outcome"] == "skipped"})
    for why in skips:
        print(f"skipped: {why}")
    if read_model.safetensors is None:
        print("skipped: the official safetensors package is not installed; our own strict reader judged alone")


def main(text):
    arguments = parse(text)
    eave = trials.find_program(arguments.eave)
    todo, found = seeds_of(arguments)
    print(f"seed {arguments.seed}, {len(todo)} trials", flush=True)
    if todo and os.geteuid() == 0 and not namespaces.can_enter():
        print("test/hostile: as root, eave could replace files and devices of this machine, and no mounts of a job's own can be "
              "made here to prevent it; run it as another user", file=sys.stderr)
        sys.exit(69)
    if todo:
        run_all(arguments, eave, todo, found)
    summarize(found)
    failed = sum(each["outcome"] == "failed" for each in found)
    print(f"{sum(each['outcome'] == 'passed' for each in found)} passed, {failed} failed")
    sys.exit(1 if failed else 0)
