"""F15: disks that are full, and logs that cannot be written."""
import contextlib
import json
import subprocess

import lab

TRAINING = ["train", *lab.SMALL, "--checkpoint", "off", "--epochs", "10", "--evaluate-every", "1", "--tensorboard"]


@contextlib.contextmanager
def small_disk(place, kilobytes):
    """Mounts a file system of this size, which is soon full, and yields its directory."""
    directory = place.directory / "disk"
    directory.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "eave-fault", directory],
                             capture_output=True, text=True)
    if mounted.returncode != 0:
        raise lab.Skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield directory
    finally:
        subprocess.run(["umount", "-l", directory], check=True)


def lines_of(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]  # fails if a line is torn


def full_to_the_end(place):
    with small_disk(place, 200) as disk:
        job = place.run(2, [*TRAINING, "--run-dir", disk / "run"])
        lab.require_code(job, 74)
        lab.require(len(job.messages()) == 1, f"more or less than one message: {job.tail()}")
        lab.require(job.complains().count("eave: warning: cannot write") <= 2, f"more than one a log: {job.tail()}")
        lab.require("lines that could not be written" in job.complains(), f"losses are not told: {job.tail()}")
        lab.require("test accuracy" in job.says(), "the result is not printed")
        lines_of(disk / "run")


def full_for_a_while(place):
    with small_disk(place, 20000) as disk:
        filler, run = disk / "filler", disk / "run"
        job = place.start(2, [*TRAINING, "--epochs", "40", "--run-dir", run])
        try:
            job.wait_until(lambda: (run / "metrics.jsonl").exists() and b'"evaluation"' in (run / "metrics.jsonl").read_bytes())
            # The disk must be full to the last byte. Space that is left would still take some lines.
            with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as file:
                while True:
                    file.write(bytes(65536))
            job.wait_until(lambda: "cannot write" in job.complains())
            filler.unlink()
            job.wait(60)
        finally:
            if job.code is None:
                job.end()
        lab.require_code(job, 0)
        lines = lines_of(run)
        told = sum(line["lines"] for line in lines if line["type"] == "lost")
        lab.require(told > 0 and f"lacks {told} lines" in job.complains(), f"{told} lost lines are told: {job.tail()}")
        steps = [line for line in lines if line["type"] == "step"]
        expected = 2 * max(line["step"] for line in steps) + 40 + 1 + 1  # steps, evaluations, header, end
        found = len([line for line in lines if line["type"] != "lost"])
        lab.require(found + told == expected, f"{found} lines and {told} lost ones are not {expected}")


def no_output(place):
    """Sends standard output, and in some trials standard error too, to a full device."""
    which = place.random.choice([">/dev/full", ">/dev/full 2>&1"])
    job = place.run(0, [*TRAINING, "--run-dir", place.run_dir()],
                    launcher=["sh", "-c", f'exec "$@" {which}', "sh"])
    lab.require_code(job, 74)
    lab.require((place.run_dir() / "summary.json").exists(), "no summary was written")


def full(place):
    (full_for_a_while, full_to_the_end, no_output)[place.index % 3](place)


FAULTS = [lab.Fault("F15", "a full disk ends no training; losses are counted, results that fit are written", full,
                    quick=3, full=10)]
