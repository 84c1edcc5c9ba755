"""Runs the test programs that need a GPU: directly, through ctest, and under compute-sanitizer."""
import pathlib
import re
import shutil
import tempfile
import xml.etree.ElementTree

from record import LEFT_OUT, Lacking, Wrong, expect_0, last_words
from training import COMMON, MODELS, ON_GPU

# ctest does not know these programs, because they fail on a machine without a GPU.
ALONE = ("test_cuda_kernels", "test_cuda_parity")
NAN_TEST = "OnGpu.a_weight_that_is_no_number_shows_in_the_loss"
NAN_CHECK = "a NaN in convolution, bias and relu, fused by cuDNN or not, reaches the loss"
# ctest runs this number of tests at a time. They compare numbers and measure no times, so they may share the GPU.
AT_ONCE = 4
# cuBLAS and cuDNN make calls that fail and handle that. Kernels are checked all the same.
OWN_ERRORS_ONLY = ("--report-api-errors", "no")


def judge_gtest(ended):
    """Judges a gtest program. If no test passed, for example because all skipped themselves, it proves nothing."""
    passed = re.search(r"\[  PASSED  \] (\d+) test", ended.text)
    failed = re.findall(r"^\[  FAILED  \] ([\w./]+)", ended.text, re.MULTILINE)
    if ended.code != 0:
        named = f"failed: {', '.join(dict.fromkeys(failed))}" if failed else last_words(ended.text)
        raise Wrong(f"exit code {ended.code}, {named[:400]}")
    if not passed or int(passed.group(1)) == 0:
        raise Wrong(f"no test ran: {last_words(ended.text)}")
    return f"{passed.group(1)} tests"


def check_parity(record, builder):
    """Runs first the test of a NaN in a fused relu, then kernels and plans, then whole models and trainings."""
    parity = builder.program("test_cuda-parity")
    record.run(NAN_CHECK, [parity, f"--gtest_filter={NAN_TEST}"], 60, judge_gtest)
    for name in ALONE:
        record.run(name, [builder.program(name), "--gtest_brief=1"], 150, judge_gtest)
    check_ctest(record, builder.folder)
    record.run("description of this GPU for the tests of plans", [builder.program("describe_device")], 30, expect_0)


def check_ctest(record, folder):
    junit = folder / "gpu-parity.xml"
    if not record.planning:
        junit.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", folder, "-L", "cuda", "-LE", "emulated|plans", "-j", AT_ONCE, "--timeout", 120,
               "--no-tests=error", "--output-on-failure", "--output-junit", junit]

    def judge(ended):
        if not junit.exists():
            raise Wrong(f"exit code {ended.code}: {last_words(ended.text)}")
        tests, failed, skipped = count_tests(junit)
        if failed:
            raise Wrong(f"{len(failed)} of {tests} failed: {', '.join(failed[:8])}")
        if ended.code != 0 or tests <= skipped:
            raise Wrong(f"exit code {ended.code}, {skipped} of {tests} skipped by themselves")
        return f"{tests - skipped} tests" + (f", {skipped} more skipped by themselves" if skipped else "")

    record.run("models and trainings, ctest -L cuda", command, 240, judge)


def count_tests(junit):
    """Returns, from a JUnit file, the number of tests, the names of failed ones, and the number that skipped
    themselves."""
    cases = list(xml.etree.ElementTree.parse(junit).getroot().iter("testcase"))
    failed = [case.get("name") for case in cases if case.get("status") == "fail"]
    skipped = [case for case in cases if "[  SKIPPED ]" in (case.findtext("system-out") or "")]
    return len(cases), failed, len(skipped)


def check_memory(record, builder):
    """Runs the test of the kernels under memcheck and racecheck, three steps of training under memcheck, then the
    parity test, which launches kernels too."""
    for tool, name in (("memcheck", ALONE[0]), ("racecheck", ALONE[0])):
        sanitize(record, tool, name, [builder.program(name), "--gtest_brief=1"], judge_gtest)
    with tempfile.TemporaryDirectory() as folder:
        words = [*COMMON, *MODELS["lenet"], *ON_GPU, "--max-steps", "3", "--run-dir", f"{folder}/run"]
        sanitize(record, "memcheck", "three steps of lenet", [builder.program("eave"), "train", *words], expect_0,
                 OWN_ERRORS_ONLY)
    sanitize(record, "memcheck", ALONE[1], [builder.program(ALONE[1]), "--gtest_brief=1"], judge_gtest)


def sanitize(record, tool, name, words, judge, options=()):
    """Runs a program under a tool of compute-sanitizer. `judge` judges its own output."""
    sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"

    def judge_both(ended):
        found = re.findall(r"^=+ (?:Invalid|Error|Uninit|Race|ERROR SUMMARY).*", ended.text, re.MULTILINE)
        if "Device not supported" in ended.text:
            raise Lacking("compute-sanitizer does not support this device")
        if ended.code != 0 and found:
            raise Wrong(f"exit code {ended.code}: {found[0]}")
        return judge(ended)

    if record.planning or pathlib.Path(sanitizer).exists():
        command = [sanitizer, "--tool", tool, "--error-exitcode", 9, *options, *words]
        record.run(f"{tool} {name}", command, 120, judge_both)
    else:
        record.note(f"{tool} {name}", LEFT_OUT, 0, "there is no compute-sanitizer here")
