"""How trials are tried, counted, described and kept: for test/faults/run and test/cluster/run."""
import argparse
import datetime
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

import lab


MOST_AGAIN = 2  # failures beside others that are tried again with --later: more have another reason


def find_program(given):
    places = [given] if given else [lab.ROOT / "build" / name / "eave" for name in ("test", "cpu", ".")]
    for place in places:
        if place.exists():
            return place.resolve()
    print(f"{sys.argv[0]}: no program; build it with test/run or mpi_launch/quickstart, or name it with --eave",
          file=sys.stderr)
    sys.exit(66)


def try_once(fault, eave, index, seed, is_full):
    """Its figures."""
    directory = tempfile.mkdtemp(prefix=f"eave-{fault.name}-")
    try:
        return fault.trial(lab.Place(directory, eave, index, seed, is_full)) or {}
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def try_in_time(result, *trial):
    """Up to three times where a limit of time was missed: with --quick the machine may be one that others use too."""
    for _ in range(2):
        try:
            return try_once(*trial)
        except lab.Late as late:
            result.setdefault("late", []).append(str(late).splitlines()[0])
    return try_once(*trial)


def try_fault(fault, eave, is_full, seed):
    count = fault.full if is_full else fault.quick
    result = {"fault": fault.name, "title": fault.title, "outcome": "passed", "passed": 0, "of": count, "figures": {}}
    started = time.monotonic()
    for index in range(count):
        trial = (fault, eave, index, seed, is_full)
        try:
            for name, value in (try_once(*trial) if is_full else try_in_time(result, *trial)).items():
                result["figures"].setdefault(name, []).append(value)
            result["passed"] += 1
        except lab.Skip as reason:
            if result["outcome"] == "passed":
                result |= {"outcome": "skipped", "why": str(reason)}
            break
        except Exception as error:
            why = str(error) if isinstance(error, lab.Failed) else traceback.format_exc()
            outcome = "late" if isinstance(error, lab.Late) and not is_full else "failed"
            if result["outcome"] == "passed" or (result["outcome"], outcome) == ("late", "failed"):
                result |= {"outcome": outcome, "why": f"trial {index}: {why}"}
    result["seconds"] = round(time.monotonic() - started, 1)
    result["figures"] = {name: {"median": sorted(values)[len(values) // 2], "largest": max(values)}
                         for name, values in result["figures"].items()}
    return result


def describe(result, width):
    figures = "".join(f", {name} {each['median']:.3g} (at most {each['largest']:.3g})"
                      for name, each in result["figures"].items())
    why = f"\n    {result['why']}" if "why" in result else ""
    why += "".join(f"\n    tried again: {late}" for late in result.get("late", []))
    return (f"{result['fault']:<{width}} {result['outcome']:<8} {result['passed']}/{result['of']}  {result['title']}{figures}  "
            f"({result['seconds']} s){why}")


def circumstances(is_full, seed):
    commit = subprocess.run(["git", "-C", lab.ROOT, "describe", "--always", "--dirty"], text=True, capture_output=True)
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return {"how": "--full" if is_full else "--quick", "seed": seed, "date": datetime.date.today().isoformat(),
            "commit": commit.stdout.strip(),
            "machine": {"cpu": names[0] if names else platform.processor(), "cores": os.cpu_count()}}


def write_record(path, command, order, results):
    """In place of what the record says of the same faults; so a campaign can be stopped, and go on."""
    before = json.loads(path.read_text())["results"] if path.exists() else []
    now = {each["fault"]: each for each in before + results}
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"command": command, "results": [now[name] for name in order if name in now]}, indent=1) + "\n")
    new.replace(path)


def parse(usage, names):
    parser = argparse.ArgumentParser(usage=usage, add_help=True)
    parser.add_argument("names", nargs="*", metavar=names[0])
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_true")
    how.add_argument("--full", action="store_true")
    parser.add_argument("--eave", type=pathlib.Path)
    parser.add_argument("--record", type=pathlib.Path,
                        help="what came out, with machine and date, as JSON; what it says of others stays")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the moments and ranks that are drawn")
    parser.add_argument("--lane", help="those of this lane alone, one after another")
    parser.add_argument("--alone", choices=("no", "only"), help="without those that run with nothing beside them, or only those")
    parser.add_argument("--later", type=pathlib.Path, help="with --alone no, the names of those that missed nothing but a limit of "
                        "time, and of one or two that failed, go into this file, and decide nothing yet; with --alone only, "
                        "those in the file are tried too")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(names)
    if unknown:
        print(f"{sys.argv[0]}: nothing is called {', '.join(sorted(unknown))}; there are: {' '.join(names)}", file=sys.stderr)
        sys.exit(64)
    return arguments


def try_in_turn(faults, eave, is_full, seed, keep):
    """Tries one fault after another and prints what came out. Calls keep(results so far) after each."""
    results, around = [], circumstances(is_full, seed)
    width = max((len(fault.name) for fault in faults), default=0)
    for fault in faults:
        results.append(try_fault(fault, eave, is_full, seed) | around)
        print(describe(results[-1], width), flush=True)
        keep(results)
    return results


def try_side_by_side(faults, seed):
    """Tries the faults of each lane in a process of its own, because a process has hosts of its own. Those of the lane
    "alone" come last, with nothing beside them."""
    with tempfile.TemporaryDirectory() as directory:
        def begin(lane):
            words = [*sys.argv, f"--seed={seed}", f"--lane={lane}", f"--record={directory}/{lane}"]
            return subprocess.Popen([sys.executable, *words])

        lanes = {fault.lane for fault in faults}
        for some in (lanes - {"alone"}, lanes & {"alone"}):
            for process in [begin(lane) for lane in sorted(some)]:
                process.wait()
        kept = [each for file in pathlib.Path(directory).iterdir() for each in json.loads(file.read_text())["results"]]
    for name in sorted({fault.name for fault in faults} - {each["fault"] for each in kept}):
        print(f"{name} failed: the process of its lane ended early", flush=True)
        kept.append({"fault": name, "outcome": "failed"})
    return kept


def choose(faults, arguments):
    alone, later, lane = arguments.alone, arguments.later, arguments.lane
    delayed = later.read_text().split() if alone == "only" and later and later.exists() else []
    return [fault for fault in faults if (not arguments.names or fault.name in arguments.names)
            and (fault.full if arguments.full else fault.quick) and (lane is None or fault.lane == lane)
            and (not alone or (fault.lane == "alone") == (alone == "only") or fault.name in delayed)]


def try_all(command, usage, faults):
    """Tries those that the command line names, or all; ends the program."""
    arguments = parse(usage, [fault.name for fault in faults])
    eave = find_program(arguments.eave)
    is_lane = arguments.lane is not None
    chosen = choose(faults, arguments)
    if not is_lane:
        print(f"seed {arguments.seed}", flush=True)

    def keep(results):
        if arguments.record:
            write_record(arguments.record, command, [fault.name for fault in faults], results)

    if arguments.full or arguments.alone == "only" or len({fault.lane for fault in chosen}) < 2:
        results = try_in_turn(chosen, eave, arguments.full, arguments.seed, keep)
    else:
        results = try_side_by_side(chosen, arguments.seed)
        keep(results)
    passed, failed, late, skipped = ([result["fault"] for result in results if result["outcome"] == outcome]
                                     for outcome in ("passed", "failed", "late", "skipped"))
    if arguments.later and arguments.alone == "no":
        if len(failed) <= MOST_AGAIN:
            failed, late = [], late + failed
        arguments.later.write_text("".join(f"{name}\n" for name in late))
    else:
        failed, late = failed + late, []
    if not is_lane:
        print(f"{len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped"
              + (f", to be tried again with nothing beside: {' '.join(late)}" if late else ""))
    sys.exit(1 if failed else 0)
