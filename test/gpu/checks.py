"""The parts of test/gpu/run and their sections. test/gpu/run and README.md say what they are for."""
import argparse
import dataclasses
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time
import typing

import averager
import building
import machine
import own_gpus
import programs
import refusals
import speed
import training
import variants
from limited import Running, end_session
from record import FAILED, LEFT_OUT, PASSED, ROOT, SKIPPED, Record

SECONDS = 530  # time limit of a part; to end running programs may take 10 s more
FIRST_STEPS_GOAL_S = 180
TRAVELS_MIB = 64  # limit of the tree and the pack together, which go to a machine over a slow connection
CUT = {signal.SIGINT: "it was interrupted", signal.SIGTERM: "it was told to end"}


@dataclasses.dataclass
class Section:
    """A step of a part. If a target in `needs` is missing, it is left out. If a `gate` fails, no later section runs."""
    name: str
    check: typing.Callable
    needs: tuple = ()
    gate: bool = False


class Cut(BaseException):
    """A signal told this program to end. It holds the reason and the exit code."""

    def __init__(self, number):
        super().__init__(CUT[number])
        self.code = 128 + number


def check_machine(record, place):
    gpus, versions = record.facts["machine"]["gpus"], record.facts["versions"]
    needed = [] if gpus else ["nvidia-smi shows no GPU"]
    if gpus and not record.facts["machine"]["visible"]:
        needed.append("CUDA_VISIBLE_DEVICES is empty, which hides all GPUs")
    for tool, name in (("nvcc", "nvcc"), ("cmake", "cmake"), ("ninja", "ninja"), ("c++", "compiler")):
        if not versions[name]:
            found = shutil.which(tool)
            needed.append(f"{found} does not tell its version" if found else f"{tool} is missing")
    if not record.planning:
        for gpu in gpus:
            print(f"        {gpu['name']}, {gpu['memory']}, driver {gpu['driver']}, compute capability {gpu['architecture']}")
        print("        " + "; ".join(f"{name} {version or 'none'}" for name, version in versions.items()))
    return record.note("what building needs is there", FAILED if needed else PASSED, 0, "; ".join(needed))


def build(kind):
    return lambda record, place: place.builder.build(record, kind)


def check_first_steps(record, place):
    passed = training.check_first_steps(record, place.eave)
    name, age = f"both were compared within {FIRST_STEPS_GOAL_S} s of the start", record.age_s()
    if passed:
        record.note(name, PASSED if age <= FIRST_STEPS_GOAL_S else FAILED, 0, f"after {age:.0f} s")
    else:
        record.note(name, LEFT_OUT, 0, "not both passed")
    refusals.check_divergence(record, place.eave)


def check_own_gpus(record, place):
    library, python = place.builder.program("libeave.so"), shutil.which("python3")
    with_mpi(record, lambda: own_gpus.check_own_gpus(record, place.references, library, python))


def over_mpi(methods):
    return lambda record, place: with_mpi(record, lambda: training.check_over_mpi(record, place.references, methods))


def over_nccl(methods):
    return lambda record, place: with_mpi(record, lambda: training.check_over_nccl(record, place.references, methods))


def check_averager(record, place):
    library, python = place.builder.program("libeave.so"), shutil.which("python3")
    with_mpi(record, lambda: averager.check_averager(record, library, python))


def with_mpi(record, check):
    if why := training.lacks_mpi(record):
        record.leave_out(why, record.section)
    else:
        check()


def others(methods, but):
    return [method for method in methods if method not in but]


EAVE = ("eave", "eave_cuda")
MACHINE = Section("machine", check_machine, gate=True)
PARTS = {
    "first": ("eave builds here, trains on this GPU as on the CPU, and tells what goes wrong", (
        MACHINE,
        Section("build", build(building.FOR_FIRST_STEP)),
        Section("step", check_first_steps, EAVE),
        Section("build", build(building.FOR_PARITY), EAVE),
        Section("parity", lambda record, place: programs.check_parity(record, place.builder), EAVE + building.FOR_PARITY[1]),
        Section("errors", lambda record, place: refusals.check_errors(record, place.eave), EAVE),
        Section("variants", lambda record, place: variants.check_variants(record, place.references), EAVE),
        Section("memcheck", lambda record, place: programs.check_memory(record, place.builder), EAVE + programs.ALONE))),
    "ranks": ("ranks that average over MPI, over NCCL and by eave.Averager get the CPU's numbers; says nothing of speed", (
        MACHINE,
        Section("build", build(building.FOR_RANKS)),
        Section("own-gpus", check_own_gpus, building.FOR_RANKS[1]),
        Section("mpi", over_mpi(training.MAIN_OVER_MPI), EAVE),
        Section("nccl", over_nccl(training.MAIN_OVER_NCCL), EAVE),
        Section("averager", check_averager, building.FOR_RANKS[1]),
        Section("mpi", over_mpi(others(training.METHODS, training.MAIN_OVER_MPI)), EAVE),
        Section("nccl", over_nccl(others(training.OVER_NCCL, training.MAIN_OVER_NCCL)), EAVE))),
    "speed": ("how long a step takes, beside PyTorch on the same GPU", (
        MACHINE,
        Section("build", build(building.FOR_SPEED)),
        Section("speed", lambda record, place: speed.check_speed(record, place.builder), building.FOR_SPEED[1]))),
}
SECTIONS = list(dict.fromkeys(section.name for _, sections in PARTS.values() for section in sections))


def parse_arguments():
    parser = argparse.ArgumentParser(prog="test/gpu/run")
    parser.add_argument("parts", metavar="PART", nargs="*")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--only", metavar="A,B", default="")
    parser.add_argument("--without", metavar="A,B", default="")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--build", metavar="DIR", type=pathlib.Path, default=ROOT / "build" / "cuda")
    parser.add_argument("--record", metavar="DIR", type=pathlib.Path,
                        default=pathlib.Path(os.environ.get("OUT") or ROOT / "build" / "gpu"))
    try:
        arguments = parser.parse_args()
    except SystemExit as error:
        sys.exit(64 if error.code else 0)
    only, without = ([word for word in text.split(",") if word] for text in (arguments.only, arguments.without))
    require_words("part", arguments.parts, list(PARTS))
    require_words("section", only + without, SECTIONS)
    arguments.chosen = [name for name in SECTIONS if (name in only or not only) and name not in without]
    arguments.parts = [name for name in PARTS if name in (arguments.parts or PARTS)]
    arguments.build, arguments.record = arguments.build.absolute(), arguments.record.absolute()
    return arguments


def require_words(kind, words, known):
    for word in words:
        if word not in known:
            print(f"test/gpu/run: there is no {kind} '{word}'; there are {', '.join(known)}", file=sys.stderr)
            sys.exit(64)


@dataclasses.dataclass
class Place:
    """The programs of a part, and the runs on the CPU that its checks share."""
    builder: building.Builder
    references: training.References

    @property
    def eave(self):
        return self.builder.program("eave")


def run_section(record, section, place):
    """Runs a section. Returns whether later sections may run."""
    record.begin(section.name)
    if why := place.builder.require(*section.needs):
        record.leave_out(why, section.name)
        return True
    try:
        passed = section.check(record, place)
    except Exception as error:  # a bug in these scripts must not cost the record of all other checks
        passed = record.note("the section", FAILED, 0, f"{type(error).__name__}: {error}")
    return record.planning or passed is not False or not section.gate


def run_sections(record, sections, arguments):
    """Runs the chosen sections of a part. Returns why the rest did not run, or "" if all ran."""
    with tempfile.TemporaryDirectory() as folder:
        builder = building.Builder(arguments.build, max(1, arguments.seconds / SECONDS))
        place = Place(builder, training.References(builder.program("eave"), folder))
        for section in sections:
            if section.name in arguments.chosen and not run_section(record, section, place):
                return f"{section.name} failed"
    return ""


def plan_part(name, facts, arguments, shows=False):
    record = Record(name, facts, 0, shows=shows)
    run_sections(record, PARTS[name][1], arguments)
    return record.checks


def run_part(name, facts, arguments, began):
    """Runs a part and writes its record. Returns the exit code."""
    planned, proves, code = plan_part(name, facts, arguments), PARTS[name][0], None
    if not planned:
        return 0  # none of its sections was asked for
    print(f"== {name}: {proves}; {len(planned)} checks, at most {arguments.seconds:.0f} s", flush=True)
    record = Record(name, {"proves": proves} | facts, began + arguments.seconds, arguments.record, planned, began=began)
    try:
        proven = record.finish(run_sections(record, PARTS[name][1], arguments))
    except Cut as cut:
        proven, code = record.finish(str(cut)), cut.code
    summarise(record)
    lacking = any(check["section"] == "machine" for check in record.having(FAILED))
    return code or (0 if proven else 69 if lacking else 1)


def summarise(record):
    print(f"== {record.part}: {record.result}, in {record.age_s():.0f} s")
    for outcome in (FAILED, LEFT_OUT, SKIPPED):
        for check in record.having(outcome):
            print(f"     {outcome:8} {check['section']}: {check['name']}: {check['detail']}")
    print(f"     record: {record.path}\n     output: {record.log}\n", flush=True)


def show_plan(arguments, facts):
    """Prints what would run, and how much would travel to the machine. Returns the exit code: 1 if it is too much."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for name in arguments.parts:
        if plan_part(name, facts, arguments):
            print(f"{name}: {PARTS[name][0]}; at most {arguments.seconds:.0f} s")
            plan_part(name, facts, arguments, True)
    tree, pack = machine.bytes_of_tree() / 2**20, machine.bytes_of_pack() / 2**20
    fits = tree + pack <= TRAVELS_MIB
    print(f"what travels to the machine: tree {tree:.1f} MiB + pack {pack:.1f} MiB, {'within' if fits else 'MORE THAN'} "
          f"{TRAVELS_MIB} MiB" + ("" if pack else "; there is no pack yet: test/gpu/pack makes it"))
    return 0 if fits else 1


def cut_short(number, _):
    """Handles SIGINT and SIGTERM: ends the running program, and raises Cut, so that the record says why."""
    for each in CUT:
        signal.signal(each, signal.SIG_IGN)
    if Running.process:
        end_session(Running.process, 1)
    raise Cut(number)


def main():
    arguments = parse_arguments()
    began = time.monotonic()
    facts = machine.describe()
    if arguments.dry_run:
        return show_plan(arguments, facts)
    machine.use_one_gpu(facts["machine"])
    libraries = [os.environ.get("LD_LIBRARY_PATH", ""), *machine.find_runtime_libraries()]
    os.environ["LD_LIBRARY_PATH"] = ":".join(folder for folder in libraries if folder)
    for number in CUT:
        signal.signal(number, cut_short)
    codes = []
    for name in arguments.parts:
        codes.append(run_part(name, facts, arguments, began))
        if codes[-1] >= 69:
            break  # another part would fail in the same way
        began = time.monotonic()
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
