"""Judges each trial by these rules.

1. The exit code is a documented one.
2. A failure has one message, which says what happened, where, and what to do. Nothing raw reaches the terminal.
3. Nothing has changed outside of the run directory and the places that options name.
4. Processor time, time and memory stay within bounds.
5. With exit code 0 the result equals that of independent readers. Each kind brings its own check for this.
"""
import re

DOCUMENTED = {0, 64, 65, 66, 69, 71, 73, 74, 76, 78}  # from README. 70 is a bug, 75 and 128 + n belong to signals

# Bounds of one call. They are low because inputs (at most some MB) and models are small.
MOST_CPU_S, MOST_CPU_S_PER_MB = 4.0, 1.0
MOST_MEMORY_MIB, MEMORY_PER_INPUT = 320, 4

BUGS = (b"terminate called", b"Sanitizer", b"runtime error:", b"Segmentation", b"stack smashing", b"Traceback (most",
        b"internal error", b"what():", b"free(): ", b"malloc(): ", b"corrupted ", b"Assertion")
# Words that tell a person what to do. A message must hold one of them.
REMEDIES = re.compile(
    r"\b(expected|give|choose|remove|get|see|did you mean|leave|name|use|make|try|need|needs|wait|start|resume|rename|move|"
    r"bring|take|look|free|raise|lower|fewer|less|more|smaller|at most|at least|train|run|put|set|write|unset|export|"
    r"check|repair|mend|belongs?|only|must|no .* there|there (are|is)|add|drop|delete|copy|unpack|convert|save|fetch)\b|--", re.I)
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
NOT_A_FAILURE = ("eave: warning:", "eave: note:")
LOADER = b"error while loading shared libraries"  # ld.so prints it if a memory limit leaves it too little


def messages(err):
    """Returns the messages of eave, each with the lines that follow it."""
    blocks = []
    for line in err.decode("utf-8", "replace").splitlines():
        if line.startswith("eave: ") or line.startswith("-----"):
            blocks.append(line)
        elif blocks:
            blocks[-1] += "\n" + line
    return [each for each in blocks if each.startswith("eave: ") and not each.startswith(NOT_A_FAILURE)]


def judge_code(outcome, codes):
    if outcome.is_late:
        return [f"has not ended after {outcome.call.wall_s:.0f} s ({outcome.stuck})"]
    if outcome.code == 0 or outcome.code in codes:
        return []
    if outcome.code == 127 and outcome.call.limits and LOADER in outcome.err:
        return []
    return [f"ends with {outcome.code}, which is not documented for it"]


def is_output(call):
    """Returns whether the call writes a file to standard output, which may then hold any bytes."""
    return any("/dev/stdout" in str(word) for word in call.words)


def judge_words(outcome, names, may_be_silent=False):
    told = []
    for stream, text in (("output", b"" if is_output(outcome.call) else outcome.out), ("errors", outcome.err)):
        told += [f"its {stream} hold {bug.decode()!r}" for bug in BUGS if bug in text]
        try:
            raw = RAW.search(text.decode("utf-8").replace("\r\n", "\n"))  # CSV ends its lines with \r\n
            told += [f"its {stream} hold {raw.group()!a} as it is"] if raw else []
        except UnicodeDecodeError as error:
            told.append(f"its {stream} are not UTF-8: {text[max(0, error.start - 20):error.start + 20]!r}")
    by_launcher = outcome.call.ranks and outcome.call.signal  # mpirun then has its own messages and exit codes
    if outcome.code == 0 or outcome.code > 128 or outcome.is_late or by_launcher or LOADER in outcome.err:
        return told
    said = messages(outcome.err)
    if not said and may_be_silent:
        return told
    if 2 in outcome.call.closed:
        return told
    if len(said) != 1:
        return told + [f"a failure has {len(said)} messages, not one"]
    printed = (outcome.err + outcome.out).decode("utf-8", "replace")
    if names and not any(name in printed for name in names):
        told.append(f"its message names none of {names}")
    if not REMEDIES.search(printed if "lines above" in said[0] else said[0]):
        told.append("its message does not tell what to do")
    return told


def judge_bounds(outcome, input_bytes, bounds):
    megabytes = input_bytes / 1e6
    most_cpu = (MOST_CPU_S + MOST_CPU_S_PER_MB * megabytes) * max(1, outcome.call.ranks) + bounds.get("cpu_s", 0)
    most_memory = MOST_MEMORY_MIB + MEMORY_PER_INPUT * megabytes + bounds.get("memory_mib", 0)
    told = []
    if outcome.cpu_s > most_cpu:
        told.append(f"takes {outcome.cpu_s:.1f} s of processor time, at most {most_cpu:.1f} are allowed")
    if outcome.memory_mib > most_memory:
        told.append(f"takes {outcome.memory_mib:.0f} MiB, at most {most_memory:.0f} are allowed")
    if outcome.left:
        told.append(f"{len(outcome.left)} processes outlive it")
    return told


def judge_call(outcome, plan):
    told = judge_code(outcome, plan.codes) + judge_words(outcome, plan.names, plan.may_be_silent)
    told += judge_bounds(outcome, plan.input_bytes, plan.bounds)
    if outcome.call.promised and outcome.code != 0 and not told:
        told.append(f"ends with {outcome.code}, though what it was given is whole")
    return told
