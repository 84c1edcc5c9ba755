"""F17: one bit of what all ranks are to have alike is flipped on one of them."""
import json

import lab

RANKS = 3
STEPS = 60
EVERY = 10
METHODS = {
    "allreduce": ["--communicator", "allreduce"],
    "easgd": ["--communicator", "easgd", "--tau", "5"],
    "bmuf": ["--communicator", "bmuf", "--tau", "5"],
    # Its workers have nothing alike but just behind an exchange.
    "local-sgd": ["--communicator", "local-sgd", "--tau", "10"],
}


def flip(place):
    name = sorted(METHODS)[place.index % len(METHODS)]
    repairs = place.index // len(METHODS) % 2 == 1
    rank, step = place.random.randrange(RANKS), place.random.randrange(1, STEPS - 3)
    if name == "local-sgd":
        step = max(EVERY, step // EVERY * EVERY)
    bit, element = place.random.randrange(30), place.random.randrange(1000)
    job = place.run(RANKS, ["train", *lab.SMALL, *METHODS[name], "--max-steps", STEPS, "--run-dir", place.run_dir(),
                            "--replica-hash-every", EVERY, "--on-replica-fault", "repair" if repairs else "stop",
                            "--inject-fault", f"{rank}:{step}:flip-bit:{element}:{bit}"])
    how = f"{name}, bit {bit} of element {element} on rank {rank} after step {step}"
    named = f"rank {rank} on "
    if repairs:
        lab.require(job.code == 0, f"{how}: {job.tail()}")
        summary = json.loads((place.run_dir() / "summary.json").read_text())
        lab.require(summary.get("repaired", 0) == 1, f"{how}: repaired {summary.get('repaired', 0)} times")
        lab.require(named in job.complains(), f"{how}: not named: {job.tail()}")
        return
    lab.require(job.code == 70, f"{how}: {job.tail()}")
    messages = job.messages()
    lab.require(len(messages) == 1 and named in messages[0], f"{how}: expected one message: {job.tail()}")


FAULTS = [lab.Fault("F17", "a flipped bit in one replica: the rank named, and 70 or repaired from the majority",
                    flip, quick=8, full=200)]
