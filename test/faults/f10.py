"""F10-F14: checkpoints that are cut, changed, foreign, not written, or lost when the power fails."""
import pathlib
import subprocess

import lab

EPOCHS = 4


def run_tests(place, pattern, environment=None):
    """Runs the tests that match `pattern`, from the C++ test program beside eave."""
    program = pathlib.Path(place.eave).parent / "test_train"
    if not program.exists():
        raise lab.Skip(f"{program} is not built (test/run builds it)")
    settings = {"TMPDIR": "/dev/shm"} if pathlib.Path("/dev/shm").is_dir() else {}
    ended = subprocess.run([program, f"--gtest_filter={pattern}", "--gtest_brief=1"], text=True, capture_output=True,
                           timeout=3600, env={**lab.os.environ, **settings, **(environment or {})}, check=False)
    lab.require("[  PASSED  ]" in ended.stdout, f"no test was run: {ended.stdout[-300:]}")
    lab.require(ended.returncode == 0, ended.stdout[-1500:])


def cut(place):
    run_tests(place, "Damage.of_a_file_cut_at_any_length_is_found:Damage.of_all_ends_with_each_named")


def change(place):
    run_tests(place, "Damage.of_any_bit_of_a_header_or_manifest_is_found:Damage.of_a_bit_of_the_values_is_found",
              {"EAVE_FLIPS": "100000" if place.is_full else "2000"})


def fail_writes(place):
    run_tests(place, "*WriteFaults*:RequiredCheckpoint*:NextCheckpoint*")


def cut_power(place):
    run_tests(place, "PowerLoss*")


def words(place, *more, name="run"):
    return ["train", *lab.SMALL, *lab.METHODS["easgd"], "--run-dir", place.run_dir(name), *more]


def lose_file(place):
    """If a file of the newest checkpoint is missing, the run resumes from the checkpoint before."""
    newest = lab.checkpoints(place.run_dir())[-1]
    (newest / "rank-1.state").unlink()
    job = place.run(2, words(place, "--epochs", EPOCHS, "--resume"))
    lab.require_code(job, 0)
    lab.require("passed over" in job.complains() and "rank-1.state" in job.complains(), f"not named: {job.tail()}")


def lose_all_files(place):
    for checkpoint in lab.checkpoints(place.run_dir()):
        (checkpoint / "rank-1.state").unlink()
    expect_one(place.run(2, words(place, "--epochs", EPOCHS, "--resume")), 65, "rank-1.state")


def take_other_file(place):
    """Replaces a file in all checkpoints by the same file of a run with another seed. The run ends with 65."""
    lab.require_code(place.run(2, words(place, "--epochs", 2, "--seed", 2, name="other")), 0)
    for mine, other in zip(lab.checkpoints(place.run_dir()), lab.checkpoints(place.run_dir("other"))):
        (mine / "rank-1.state").write_bytes((other / "rank-1.state").read_bytes())
    expect_one(place.run(2, words(place, "--epochs", EPOCHS, "--resume")), 65, "rank-1.state")


def take_other_run(place):
    expect_one(place.run(2, words(place, "--epochs", EPOCHS, "--resume", "--seed", 2)), 78, "seed")


def expect_one(job, code, text):
    lab.require_code(job, code)
    lab.require(len(job.messages()) == 1 and text in job.complains(), f"expected one message with {text}: {job.tail()}")


def change_ranks(place, ranks):
    """With another number of ranks, --resume is refused. With --resume elastic the run trains to its end."""
    more = words(place, "--epochs", EPOCHS)
    expect_one(place.run(ranks, [*more, "--resume"]), 78, "elastic")
    lab.require_code(place.run(ranks, [*more, "--resume", "elastic"]), 0)
    samples = [line["samples"] for line in lab.metrics_of(place.run_dir()) if line["type"] == "step" and line["rank"] == 0]
    lab.require(samples == sorted(set(samples)), "samples are seen twice")
    lab.require(max(samples) == 3000 * EPOCHS, f"ends after {max(samples)} samples")


def run_elastic_tests(place):
    run_tests(place, "*Elastic*:StepAfterSamples*")


CASES = [lose_file, take_other_run, lambda place: change_ranks(place, 3), lose_all_files, take_other_file,
         lambda place: change_ranks(place, 1), lambda place: change_ranks(place, 4), run_elastic_tests]


def mistake(place):
    case = CASES[place.index % len(CASES)]
    if case is not run_elastic_tests:
        lab.require_code(place.run(2, words(place, "--epochs", 2)), 0)
    case(place)


FAULTS = [
    lab.Fault("F10", "a checkpoint cut at every length: the newest whole one is taken", cut, quick=0, full=1),
    lab.Fault("F11", "every bit of header and manifest, and 100,000 of the values: never loaded", change, quick=0, full=1),
    lab.Fault("F12", "another run's file, a missing one, other numbers of ranks: refused, or elastic", mistake,
              quick=len(CASES) - 1, full=12),  # run_elastic_tests, the last, are tests of test/train
    lab.Fault("F13", "writing fails at every call in turn: training goes on, the next checkpoint works", fail_writes,
              quick=0, full=1),
    lab.Fault("F14", "power is lost at every call in turn: the newest committed checkpoint loads", cut_power, quick=0,
              full=1),
]
