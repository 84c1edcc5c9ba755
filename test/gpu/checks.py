"""The sections of test/gpu/run, which says what they are."""
import argparse
import json
import os
import pathlib
import re
import shutil
import sys
import tarfile
import time
import xml.etree.ElementTree

import machine
import training
from record import FAILED, LEFT_OUT, PASSED, ROOT, Record, last_words

SECTIONS = ("machine", "build", "parity", "ranks", "nccl", "errors", "memcheck", "speed")
BUILD = ROOT / "build" / "cuda"
TARGETS = ("eave", "eave_cuda", "gpu_steps", "describe_device",
           "test_cuda_kernels", "test_cuda_parity", "test_cuda", "test_cuda-parity")
BUILDING_S = 300  # of the 530 s that all of it has by default
# So much is kept for the sections that follow.
SPEED_S = {True: 120, False: 240}
COMPILE_S = 60  # the most that torch.compile gets for one case


def parse_arguments():
    parser = argparse.ArgumentParser(prog="test/gpu/run")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--only", metavar="A,B", default="")
    parser.add_argument("--without", metavar="A,B", default="")
    parser.add_argument("--seconds", type=float, default=530)
    out = os.environ.get("OUT")
    parser.add_argument("--record", type=pathlib.Path,
                        default=pathlib.Path(out) / "gpu-record.json" if out else ROOT / "build" / "gpu" / "record.json")
    try:
        arguments = parser.parse_args()
    except SystemExit as error:
        sys.exit(64 if error.code else 0)
    only, without = ([word for word in text.split(",") if word] for text in (arguments.only, arguments.without))
    for word in only + without:
        if word not in SECTIONS:
            print(f"test/gpu/run: there is no section '{word}'; there are {', '.join(SECTIONS)}", file=sys.stderr)
            sys.exit(64)
    arguments.sections = [name for name in SECTIONS if (name in only or not only) and name not in without]
    return arguments


def check_machine(record, arguments):
    """Without these nothing else can be; returns whether they are there."""
    facts = record.facts
    gpus = facts["machine"]["gpus"]
    needed = [] if gpus else ["nvidia-smi shows no GPU"]
    needed += [f"{tool} is missing" for tool in ("nvcc", "cmake", "ninja", "c++") if shutil.which(tool) is None]
    for gpu in gpus:
        print(f"  {gpu['name']}, {gpu['memory']}, driver {gpu['driver']}, compute capability {gpu['architecture']}")
    for name, version in facts["versions"].items():
        print(f"  {name}: {version or 'none'}")
    if arguments.dry_run:
        return True
    return record.note("what building needs", FAILED if needed else PASSED, 0, "; ".join(needed))


def configure_words(gpus):
    """What the build is told of this machine."""
    words = [f"-DCMAKE_CUDA_ARCHITECTURES={gpus[0]['architecture']}-real"] if gpus else []
    for variable, package, header in (("CUDNN_ROOT", "cudnn", "cudnn_version.h"), ("NCCL_ROOT", "nccl", "nccl.h")):
        found = machine.wheel_root(package, header)
        if found and variable not in os.environ:
            words.append(f"-D{variable}={found}")
    return words + ["-DEAVE_BENCH=ON", "-DEAVE_WERROR=OFF"]  # newer compilers have warnings of their own


def check_build(record, arguments):
    configure = ["cmake", "--preset", "cuda", *configure_words(record.facts["machine"]["gpus"])]
    if not record.run("configuring", configure, 90):
        return False
    jobs = len(os.sched_getaffinity(0))
    limit = BUILDING_S * max(1, int(arguments.seconds / 530))
    built = record.run("building", ["cmake", "--build", BUILD, "--parallel", jobs, "--target", *TARGETS], limit)
    record.facts["versions"] |= machine.library_versions(BUILD / "CMakeCache.txt")
    return built


def count_tests(junit):
    """(tests, failed names, tests that skipped themselves) of a JUnit file."""
    cases = list(xml.etree.ElementTree.parse(junit).getroot().iter("testcase"))
    failed = [case.get("name") for case in cases if case.get("status") == "fail"]
    skipped = [case for case in cases if "[  SKIPPED ]" in (case.findtext("system-out") or "")]
    return len(cases), failed, len(skipped)


def find_test_programs(arguments):
    """The tests that need a GPU, kernels first: ctest knows nothing of them, as they fail where there is none."""
    kernels = BUILD / "test_cuda_kernels"
    others = sorted(set(BUILD.glob("test_cuda_*")) - {kernels, BUILD / "test_cuda_plans"})
    return [kernels] + ([BUILD / "test_cuda_OTHERS"] if arguments.dry_run else others)


def judge_gtest(ended):
    """What is wrong with a test program's end; "" for nothing. Tests that all skip themselves prove nothing."""
    passed = re.search(r"\[  PASSED  \] (\d+) test", ended.text)
    failed = re.findall(r"^\[  FAILED  \] ([\w./]+)", ended.text, re.MULTILINE)
    if ended.code != 0:
        named = f"failed: {', '.join(dict.fromkeys(failed))}" if failed else last_words(ended.text)
        return f"exit code {ended.code}, {named[:400]}"
    return "" if passed and int(passed.group(1)) > 0 else "no test ran"


def check_parity(record, arguments):
    junit = record.logs / "parity.xml"
    command = ["ctest", "--test-dir", BUILD, "-L", "cuda", "-LE", "emulated|plans", "-j", 6, "--timeout", 120,
               "--no-tests=error", "--output-on-failure", "--output-junit", junit]

    def judge(ended):
        if not junit.exists():
            return f"exit code {ended.code}: {last_words(ended.text)}"
        tests, failed, skipped = count_tests(junit)
        print(f"  {tests} tests, {len(failed)} failed, {skipped} skipped by themselves", flush=True)
        if failed:
            return f"{len(failed)} of {tests} failed: {', '.join(failed[:8])}"
        good = ended.code == 0 and tests > skipped
        return "" if good else f"exit code {ended.code}, {skipped} of {tests} skipped by themselves"

    for program in find_test_programs(arguments):
        record.run(program.name, [program, "--gtest_brief=1"], 150, judge_gtest)
    record.run("ctest -L cuda", command, 240, judge)
    record.run("description of this GPU for the tests of plans", [BUILD / "describe_device"], 30)


def check_ranks(record, arguments):
    training.check_ranks(record, BUILD / "eave", arguments.quick)


def check_nccl(record, arguments):
    training.check_nccl(record, BUILD / "eave", arguments.quick)


def check_errors(record, arguments):
    training.check_errors(record, BUILD / "eave")


def check_memory(record, arguments):
    """The kernels by both tools; what else launches some, if there is time, by the first."""
    sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not arguments.dry_run and not pathlib.Path(sanitizer).exists():
        record.note("memcheck", LEFT_OUT, 0, "no compute-sanitizer")
        return
    kernels, *others = find_test_programs(arguments)
    runs = [("memcheck", kernels)] + ([] if arguments.quick else [("racecheck", kernels)])
    runs += [("memcheck", other) for other in others]
    for tool, program in runs:
        command = [sanitizer, "--tool", tool, "--error-exitcode", 9, program, "--gtest_brief=1"]
        record.run(f"{tool} {program.name}", command, 120, judge_sanitizer)


def judge_sanitizer(ended):
    found = re.findall(r"^=+ (?:Invalid|Error|Uninit|Race|ERROR SUMMARY).*", ended.text, re.MULTILINE)
    return f"exit code {ended.code}: {found[0]}" if ended.code != 0 and found else judge_gtest(ended)


def check_speed(record, arguments):
    """Returns the table."""
    table = record.logs / "speed.json"
    table.unlink(missing_ok=True)
    left = record.left_s()
    command = [sys.executable, ROOT / "bench" / "gpu_vs_pytorch", "--program", BUILD / "gpu_steps", "--output", table,
               "--seconds", int(max(10, left - COMPILE_S - 10)), "--compile-seconds", COMPILE_S]
    command += ["--quick"] if arguments.quick else []

    def judge(ended):
        print("".join(f"    {line}\n" for line in ended.text.splitlines()), end="", flush=True)
        if not table.exists():
            return f"exit code {ended.code}: {last_words(ended.text)}"
        missed = json.loads(table.read_text())["missed"]
        return f"{len(missed)} goals missed, see the table" if missed else ""

    record.run("bench/gpu_vs_pytorch", command, left, judge, {"EAVE_COMMIT": record.facts["commit"]})
    if not table.exists():
        return None
    found = json.loads(table.read_text())
    if found["missing"]:
        record.note("the whole table", LEFT_OUT, 0, f"{len(found['missing'])} of its numbers: {found['missing'][0]}, ...")
    return found


def keep_logs(record, archive):
    with tarfile.open(archive, "w:gz") as packed:
        for pattern in ("*.log", "*.json", "*.xml"):
            for path in record.logs.glob(pattern):
                packed.add(path, path.name)


CHECKS = {"machine": check_machine, "build": check_build, "parity": check_parity, "ranks": check_ranks,
          "nccl": check_nccl, "errors": check_errors, "memcheck": check_memory, "speed": check_speed}
FIRST, LAST = ("machine", "build"), ("speed",)  # alone, and nothing after what fails of the first; the others share the time


def run_section(record, arguments, name):
    section = record.of_section(name)
    try:
        return CHECKS[name](section, arguments)
    except Exception as error:  # a mistake in these scripts: the record of all else is worth more
        return section.note("the section", FAILED, 0, f"{type(error).__name__}: {error}")


def run_together(record, arguments, names):
    with training.Pool(1 if arguments.dry_run else len(names)) as pool:
        for name in names:
            pool.submit(run_section, record, arguments, name)


def run_all(record, arguments, began):
    """All sections asked for; returns the table of the last."""
    for name in [name for name in FIRST if name in arguments.sections]:
        if not run_section(record, arguments, name):
            return record.of_section(name).note("all that follows", LEFT_OUT, 0, f"{name} failed")
    together = [name for name in arguments.sections if name not in FIRST + LAST]
    if "speed" in arguments.sections:
        record.until -= SPEED_S[arguments.quick]  # the table shall have its time
    if together:
        run_together(record, arguments, together)
    record.until = began + arguments.seconds
    return run_section(record, arguments, "speed") if "speed" in arguments.sections else None


def summarise(record, arguments, began):
    counts = {outcome: sum(check["outcome"] == outcome for check in record.checks) for outcome in (PASSED, FAILED, LEFT_OUT)}
    print(f"\n{counts[PASSED]} checks passed, {counts[FAILED]} failed, {counts[LEFT_OUT]} left out, "
          f"in {time.monotonic() - began:.0f} s; {arguments.record}")
    for check in record.checks:
        if check["outcome"] != PASSED:
            print(f"  {check['outcome']}: {check['section']}, {check['name']}: {check['detail']}")


def main():
    arguments = parse_arguments()
    began = time.monotonic()
    record = Record(began + arguments.seconds, arguments.dry_run, machine.describe())
    libraries = [os.environ.get("LD_LIBRARY_PATH", ""), *machine.find_runtime_libraries()]
    os.environ["LD_LIBRARY_PATH"] = ":".join(folder for folder in libraries if folder)
    speed = run_all(record, arguments, began) or None
    if arguments.dry_run:
        return 0
    record.write(arguments.record, speed)
    if "OUT" in os.environ:
        keep_logs(record, pathlib.Path(os.environ["OUT"]) / "gpu-logs.tar.gz")
    summarise(record, arguments, began)
    if any(check["section"] == "machine" and check["outcome"] == FAILED for check in record.checks):
        return 69
    return 0 if record.passed() else 1


if __name__ == "__main__":
    sys.exit(main())
